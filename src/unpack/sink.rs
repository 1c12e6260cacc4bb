//! Where unpacked contents go: what this room asks of whoever keeps them.

use std::io;

use crate::model::BlobId;

/// Keeps contents. Used by several threads at once.
pub trait Sink: Sync {
    /// Starts one content. `size` is what the archive declares, where it does: room is reserved
    /// for it, and nothing is believed of it.
    fn create(&self, size: Option<u64>) -> io::Result<Box<dyn BlobWriter + '_>>;
}

/// One content being written. Dropping it without [`BlobWriter::finish`] forgets it.
pub trait BlobWriter: io::Write + Send {
    /// Ends the content: its digest and size. `executable` says which of the two forms of the blob
    /// the tree will name, so that it is written once.
    fn finish(self: Box<Self>, executable: bool) -> io::Result<(BlobId, u64)>;
}
