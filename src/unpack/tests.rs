//! What unpacking must do, on archives written here: by the zip and tar crates, or by hand where
//! they are hostile.

mod bytes;
mod hostile;
mod links;
mod mutations;
mod options;
mod round_trip;
mod tars;
mod zips;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{BlobWriter, Problem, Sink, UnpackError, unpack};
use crate::model::{BlobId, Family, Kind, NoProgress, Progress, Task, Tree, UnpackOptions};

/// Keeps contents in memory and remembers what was finished.
#[derive(Default)]
struct MemorySink {
    blobs: Mutex<BTreeMap<BlobId, Vec<u8>>>,
    finished: Mutex<Vec<(BlobId, bool)>>,
    full: AtomicBool,
}

struct MemoryWriter<'a> {
    sink: &'a MemorySink,
    content: Vec<u8>,
}

impl Sink for MemorySink {
    fn create(&self, _size: Option<u64>) -> io::Result<Box<dyn BlobWriter + '_>> {
        Ok(Box::new(MemoryWriter { sink: self, content: Vec::new() }))
    }
}

impl Write for MemoryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.sink.full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for MemoryWriter<'_> {
    fn finish(self: Box<Self>, executable: bool) -> io::Result<(BlobId, u64)> {
        let blob = BlobId::from_bytes(*blake3::hash(&self.content).as_bytes());
        let size = self.content.len() as u64;
        self.sink.finished.lock().expect("unpoisoned").push((blob, executable));
        self.sink.blobs.lock().expect("unpoisoned").insert(blob, self.content);
        Ok((blob, size))
    }
}

/// Remembers what was said.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn start(&self, label: &str, length: Option<u64>) -> Box<dyn Task> {
        NoProgress.start(label, length)
    }

    fn note(&self, line: &str) {
        self.0.lock().expect("unpoisoned").push(line.to_owned());
    }
}

/// One unpacking of bytes.
struct Unpacking<'a> {
    bytes: &'a [u8],
    options: UnpackOptions,
    family: Family,
    sink: MemorySink,
    notes: Notes,
}

impl<'a> Unpacking<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            options: UnpackOptions::default(),
            family: Family::Unix,
            sink: MemorySink::default(),
            notes: Notes::default(),
        }
    }

    fn windows(bytes: &'a [u8]) -> Self {
        Self { family: Family::Windows, ..Self::new(bytes) }
    }

    fn with(mut self, change: impl FnOnce(&mut UnpackOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn run(&self) -> Result<Tree, UnpackError> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("archive");
        std::fs::write(&path, self.bytes).expect("a writable file");
        unpack(&path, "thing 1.0", &self.options, self.family, &self.sink, &self.notes)
    }

    /// The problem there must be.
    fn problem(&self) -> Problem {
        match self.run() {
            Ok(tree) => panic!("it was unpacked:\n{tree}"),
            Err(error) => *error.problem,
        }
    }

    /// The message there must be.
    fn message(&self) -> String {
        self.problem().to_string()
    }

    /// The tree with contents, a line an entry: `f path = content`.
    fn listing(&self) -> Vec<String> {
        let tree = self.run().unwrap_or_else(|error| panic!("{error}: {:?}", error.problem));
        self.show(&tree)
    }

    fn show(&self, tree: &Tree) -> Vec<String> {
        let blobs = self.sink.blobs.lock().expect("unpoisoned");
        tree.entries()
            .iter()
            .map(|entry| {
                let letter = match entry.kind {
                    Kind::Directory => return format!("d {}", entry.path),
                    Kind::File => 'f',
                    Kind::Link => 'l',
                    Kind::Executable => 'x',
                };
                let content = &blobs[&entry.blob.expect("a content")];
                assert_eq!(content.len() as u64, entry.size);
                format!("{letter} {} = {}", entry.path, String::from_utf8_lossy(content))
            })
            .collect()
    }
}
