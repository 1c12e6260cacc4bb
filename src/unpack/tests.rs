//! What unpacking must do.
