//! Producing bytes on one thread while another consumes them.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::content::CHUNK;
use super::error::Problem;

/// Buffers under way; with the two at the ends they are all the memory this takes.
const BUFFERS: usize = 4;

/// Where bytes go as they are made: into room that is asked for, so that nobody copies them.
pub(super) trait Output {
    /// Room for at least one byte.
    fn room(&mut self) -> Result<&mut [u8], Problem>;

    /// Says how much of the room was filled, from its beginning.
    fn filled(&mut self, length: usize) -> Result<(), Problem>;
}

/// Output that is taken where it was made.
pub(super) struct Taken<'a, T> {
    buffer: &'a mut [u8],
    take: T,
}

impl<'a, T: FnMut(&[u8]) -> Result<(), Problem>> Taken<'a, T> {
    /// Output into this buffer, given to `take` each time.
    pub(super) const fn new(buffer: &'a mut [u8], take: T) -> Self {
        Self { buffer, take }
    }
}

impl<T: FnMut(&[u8]) -> Result<(), Problem>> Output for Taken<'_, T> {
    fn room(&mut self) -> Result<&mut [u8], Problem> {
        Ok(self.buffer)
    }

    fn filled(&mut self, length: usize) -> Result<(), Problem> {
        (self.take)(&self.buffer[..length])
    }
}

/// Runs `produce` on a thread of its own and `consume` here, with what it makes, in order. The
/// consumer's failure is told first: the producer then stops because nobody listens.
pub(super) fn overlapped(
    produce: impl FnOnce(&mut dyn Output) -> Result<(), Problem> + Send,
    consume: &mut dyn FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (full, filled) = sync_channel::<(Vec<u8>, usize)>(BUFFERS);
    let (back, emptied) = sync_channel::<Vec<u8>>(BUFFERS + 2);
    std::thread::scope(|scope| {
        let producer = scope.spawn(move || {
            let mut sent = Sent { full, emptied, buffer: vec![0; CHUNK], length: 0 };
            produce(&mut sent)?;
            sent.send()
        });
        let consumed = drain(filled, &back, consume);
        let produced = match producer.join() {
            Ok(produced) => produced,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        consumed.and(produced)
    })
}

fn drain(
    filled: Receiver<(Vec<u8>, usize)>,
    back: &SyncSender<Vec<u8>>,
    consume: &mut dyn FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for (buffer, length) in filled {
        consume(&buffer[..length])?;
        // A producer that has ended wants no buffer back.
        let _ = back.try_send(buffer);
    }
    Ok(())
}

/// Output that is sent away a buffer at a time.
struct Sent {
    full: SyncSender<(Vec<u8>, usize)>,
    emptied: Receiver<Vec<u8>>,
    buffer: Vec<u8>,
    length: usize,
}

impl Sent {
    fn send(&mut self) -> Result<(), Problem> {
        if self.length == 0 {
            return Ok(());
        }
        let next = self.emptied.try_recv().unwrap_or_else(|_| vec![0; CHUNK]);
        let full = (std::mem::replace(&mut self.buffer, next), std::mem::take(&mut self.length));
        self.full.send(full).map_err(|_| Problem::damaged("the writer stopped"))
    }
}

impl Output for Sent {
    fn room(&mut self) -> Result<&mut [u8], Problem> {
        if self.length == self.buffer.len() {
            self.send()?;
        }
        Ok(&mut self.buffer[self.length..])
    }

    fn filled(&mut self, length: usize) -> Result<(), Problem> {
        self.length += length;
        Ok(())
    }
}

/// Refills a spent buffer with the next bytes; leaves it empty at the end.
type Refill<'a> = dyn FnMut(&mut Vec<u8>) -> Result<(), Problem> + 'a;

/// Bytes that are looked at in place, a buffer at a time.
pub(super) struct Chunks<'a> {
    source: Box<Refill<'a>>,
    buffer: Vec<u8>,
    at: usize,
    position: u64,
    ended: bool,
}

impl<'a> Chunks<'a> {
    /// The bytes of a reader, read on this thread.
    pub(super) fn of(mut reader: impl Read + 'a) -> Self {
        Self::from_source(move |buffer| {
            fill_from(&mut reader, buffer).map_err(|error| Problem::decoding(error, None))
        })
    }

    /// `source` is given the spent buffer and leaves it empty at the end.
    fn from_source(source: impl FnMut(&mut Vec<u8>) -> Result<(), Problem> + 'a) -> Self {
        Self { source: Box::new(source), buffer: Vec::new(), at: 0, position: 0, ended: false }
    }

    /// The next bytes; none at the end.
    pub(super) fn ready(&mut self) -> Result<&[u8], Problem> {
        if self.at == self.buffer.len() && !self.ended {
            self.at = 0;
            (self.source)(&mut self.buffer)?;
            self.ended = self.buffer.is_empty();
        }
        Ok(&self.buffer[self.at..])
    }

    /// Goes on behind bytes that were looked at.
    pub(super) fn consume(&mut self, length: usize) {
        self.at += length;
        self.position += length as u64;
    }

    /// Bytes consumed so far.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Copies until the target is full or the bytes end, and says how many there were.
    pub(super) fn fill(&mut self, target: &mut [u8]) -> Result<usize, Problem> {
        let mut done = 0;
        while done < target.len() {
            let bytes = self.ready()?;
            if bytes.is_empty() {
                break;
            }
            let length = bytes.len().min(target.len() - done);
            target[done..done + length].copy_from_slice(&bytes[..length]);
            self.consume(length);
            done += length;
        }
        Ok(done)
    }
}

/// Fills a buffer with the next bytes of a reader; leaves it empty at the end.
fn fill_from(reader: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.resize(CHUNK, 0);
    let mut done = 0;
    while done < CHUNK {
        match reader.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(length) => done += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                buffer.clear();
                return Err(error);
            }
        }
    }
    buffer.truncate(done);
    Ok(())
}

/// Decompresses on a thread of its own, ahead of `consume`, which works on this one. The reader is
/// opened over there, so that it need not be `Send`.
pub(super) fn read_ahead<'r, T>(
    open: impl FnOnce() -> io::Result<Box<dyn Read + 'r>> + Send,
    consume: impl FnOnce(&mut Chunks<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let (full, filled) = sync_channel::<io::Result<Vec<u8>>>(BUFFERS);
    let (back, emptied) = sync_channel::<Vec<u8>>(BUFFERS + 2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let produced = open().and_then(|mut reader| {
                loop {
                    let mut buffer = emptied.try_recv().unwrap_or_default();
                    fill_from(&mut *reader, &mut buffer)?;
                    // An empty buffer is the end; a consumer that has gone wants no more.
                    if buffer.is_empty() || full.send(Ok(buffer)).is_err() {
                        return Ok(());
                    }
                }
            });
            if let Err(error) = produced {
                // Nobody listens any more only when the consumer has failed already.
                let _ = full.send(Err(error));
            }
        });
        let mut chunks = Chunks::from_source(move |buffer| {
            let spent = std::mem::take(buffer);
            // A producer that has ended wants no buffer back.
            let _ = back.try_send(spent);
            match filled.recv() {
                Ok(Ok(next)) => *buffer = next,
                Ok(Err(error)) => return Err(super::tar::decoding(error)),
                Err(_) => {}
            }
            Ok(())
        });
        consume(&mut chunks)
    })
}
