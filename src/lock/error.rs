//! What can be wrong with a lock, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{NamedSource, SourceSpan};

use crate::disk;
use crate::model::{Name, Platform, Version};

/// Why a lock cannot be read, made or saved.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LockError {
    /// Reading the file failed.
    #[error("the lock {} cannot be read", .path.display())]
    #[diagnostic(
        code(drystone::lock::unreadable),
        help("{}", disk::advice(source, "see that it is a file that you may read"))
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Writing the file failed; what was there stays.
    #[error("the lock cannot be written: could not {step} {}", .path.display())]
    #[diagnostic(
        code(drystone::lock::unwritable),
        help(
            "{}",
            disk::advice(
                source,
                "see that its directory may be written and has room; the old file is untouched"
            )
        )
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Which step.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The file is no UTF-8.
    #[error("the lock {} is not UTF-8 text", .path.display())]
    #[diagnostic(
        code(drystone::lock::encoding),
        help(
            "restore the file from version control, or delete it and run `drystone lock`, which makes a new one"
        )
    )]
    Encoding {
        /// The file.
        path: PathBuf,
    },
    /// A later program wrote it.
    #[error(
        "{file} has {what} {found}: it was made by a newer drystone; this one knows up to {known}"
    )]
    #[diagnostic(code(drystone::lock::newer), help("install a newer drystone"))]
    Newer {
        /// The file.
        file: String,
        /// `format` or `unpack rules`.
        what: &'static str,
        /// The number of it.
        found: u64,
        /// The latest that this program knows.
        known: u64,
    },
    /// Version control left its markers in it.
    #[error("{file} is badly merged: line {line} is a conflict marker of version control")]
    #[diagnostic(
        code(drystone::lock::badly_merged),
        help("take either side whole, merge env.kdl, then run `drystone lock`")
    )]
    BadlyMerged {
        /// The file.
        file: String,
        /// Counted from one.
        line: usize,
        /// The text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where.
        #[label("left by a merge")]
        at: SourceSpan,
    },
    /// It is not what drystone wrote.
    #[error("{file} is damaged or was edited by hand, at {place} (line {line}): {reason}")]
    #[diagnostic(
        code(drystone::lock::damaged),
        help(
            "restore the file from version control, change env.kdl instead, then run `drystone lock`; with the file deleted, `drystone lock` makes a new one"
        )
    )]
    Damaged {
        /// The file.
        file: String,
        /// The node, such as `package "zluda" of platform "x86_64-windows"`.
        place: String,
        /// Counted from one.
        line: usize,
        /// What is wrong.
        reason: String,
        /// The text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where.
        #[label("here")]
        at: SourceSpan,
    },
    /// A source without a published hash whose hash was not recorded either.
    #[error("the source of package \"{name}\" {version} for {platform} has no hash")]
    #[diagnostic(
        code(drystone::lock::no_hash),
        help("`drystone lock` without --offline fetches it once and records its hash")
    )]
    NoHash {
        /// The package.
        name: Name,
        /// Its version.
        version: Box<Version>,
        /// The platform.
        platform: Platform,
    },
}
