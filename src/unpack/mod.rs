//! Unpacking: an archive becomes a tree, its contents go into a sink.
//!
//! Archives are hostile. This room decides what may come out of one, and knows nothing of where
//! the contents go.

mod sink;

pub use sink::{BlobWriter, Sink};
