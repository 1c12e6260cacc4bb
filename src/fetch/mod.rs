//! Brings archives here and proves that they are the right ones.
//!
//! A [`Request`] names an archive and its mirrors, a [`Place`] the files of one download; a
//! [`Fetcher`] fills the place, and after `Ok` its partial file is complete, verified and closed.
//! Making it durable and giving it its final name is for whoever owns the place. What is resumed,
//! retried and refused is promised in `docs/fetching.md`.

mod arriving;
mod classify;
mod download;
mod error;
mod exchange;
mod fetcher;
mod local;
mod netrc;
mod options;
mod parallel;
mod partial;
mod request;
mod sniff;
mod trouble;

#[cfg(test)]
mod tests;

pub use arriving::Arriving;
pub use error::{Attempt, FetchError};
pub use fetcher::Fetcher;
pub use local::{check_file, hash_file, take_file};
pub use options::{Credentials, FetchOptions, ProxyChoice};
pub use parallel::Opened;
pub use request::{Ahead, Fetched, Place, Request};
pub use sniff::Content;
pub use trouble::{Mismatch, TlsProblem, Trouble};
