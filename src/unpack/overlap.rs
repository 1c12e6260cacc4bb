//! Producing bytes on one thread while another consumes them.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::content::CHUNK;
use super::error::Problem;

/// Buffers under way; with the two at the ends they are all the memory this takes.
const BUFFERS: usize = 4;

/// Runs `produce` on a thread of its own and `consume` here, with what it sends, in order. The
/// consumer's failure is told first: the producer then stops because nobody listens.
pub(super) fn overlapped(
    produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Problem>) -> Result<(), Problem> + Send,
    consume: &mut dyn FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (full, filled) = sync_channel::<Vec<u8>>(BUFFERS);
    let (back, emptied) = sync_channel::<Vec<u8>>(BUFFERS + 2);
    std::thread::scope(|scope| {
        let producer = scope.spawn(move || {
            let mut sender = Sender { full, emptied, current: Vec::new() };
            produce(&mut |bytes| sender.send(bytes))?;
            sender.flush()
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
    filled: Receiver<Vec<u8>>,
    back: &SyncSender<Vec<u8>>,
    consume: &mut dyn FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for mut buffer in filled {
        consume(&buffer)?;
        buffer.clear();
        // A producer that has ended wants no buffer back.
        let _ = back.try_send(buffer);
    }
    Ok(())
}

struct Sender {
    full: SyncSender<Vec<u8>>,
    emptied: Receiver<Vec<u8>>,
    current: Vec<u8>,
}

impl Sender {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if self.current.len() + bytes.len() > CHUNK {
            self.flush()?;
        }
        if self.current.capacity() == 0 {
            self.current = self.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        }
        self.current.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Problem> {
        if self.current.is_empty() {
            return Ok(());
        }
        self.full
            .send(std::mem::take(&mut self.current))
            .map_err(|_| Problem::damaged("the writer stopped"))
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
