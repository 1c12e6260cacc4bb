//! How long work tells of its progress, without knowing who draws it.

/// Draws, or ignores, the progress of long work. Rooms take `&dyn Progress` as their last argument.
pub trait Progress: Send + Sync {
    /// Starts one piece of work: a label such as `fetch zluda`, and its length in bytes if known.
    fn start(&self, label: &str, length: Option<u64>) -> Box<dyn Task>;

    /// Says one line that stays on the screen, above whatever is being drawn.
    fn note(&self, line: &str);
}

/// One piece of work under way. Dropping it ends it.
pub trait Task: Send + Sync {
    /// Moves forward by this many bytes.
    fn advance(&self, bytes: u64);

    /// Sets the length once it is known.
    fn set_length(&self, length: u64);
}

/// Draws nothing.
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _label: &str, _length: Option<u64>) -> Box<dyn Task> {
        Box::new(Self)
    }

    fn note(&self, _line: &str) {}
}

impl Task for NoProgress {
    fn advance(&self, _bytes: u64) {}

    fn set_length(&self, _length: u64) {}
}
