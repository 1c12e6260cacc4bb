//! A sink that keeps contents in memory, is full soon, and remembers what was declared of them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use drystone::model::BlobId;
use drystone::unpack::{BlobWriter, Sink};

/// Bytes after which it is full: a fuzzer finds bombs at once.
const ROOM: u64 = 8 << 20;

/// Keeps contents in memory.
#[derive(Default)]
pub struct MemorySink {
    contents: Mutex<BTreeMap<BlobId, Vec<u8>>>,
    written: AtomicU64,
    /// Contents that were finished with another size than was declared: declared, then finished.
    lies: Mutex<Vec<(u64, u64)>>,
}

impl MemorySink {
    /// What was finished.
    pub fn into_contents(self) -> BTreeMap<BlobId, Vec<u8>> {
        let lies = self.lies.into_inner().expect("unpoisoned");
        assert!(lies.is_empty(), "sizes that were declared, and those that came: {lies:?}");
        self.contents.into_inner().expect("unpoisoned")
    }
}

struct MemoryWriter<'a> {
    sink: &'a MemorySink,
    declared: Option<u64>,
    content: Vec<u8>,
}

impl Sink for MemorySink {
    fn create(&self, size: Option<u64>) -> io::Result<Box<dyn BlobWriter + '_>> {
        Ok(Box::new(MemoryWriter { sink: self, declared: size, content: Vec::new() }))
    }
}

impl Write for MemoryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len() as u64;
        if self.sink.written.fetch_add(length, Ordering::Relaxed) + length > ROOM {
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
    fn finish(self: Box<Self>, _executable: bool) -> io::Result<(BlobId, u64)> {
        let size = self.content.len() as u64;
        if let Some(declared) = self.declared.filter(|declared| *declared != size) {
            self.sink.lies.lock().expect("unpoisoned").push((declared, size));
        }
        let blob = BlobId::from_bytes(*blake3::hash(&self.content).as_bytes());
        self.sink.contents.lock().expect("unpoisoned").insert(blob, self.content);
        Ok((blob, size))
    }
}
