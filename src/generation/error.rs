//! What can go wrong with generations.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::store::StoreError;

/// Why generations cannot be read or written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum GenerationError {
    /// A file or directory could not be worked with.
    #[error("cannot {step} {}", path.display())]
    #[diagnostic(
        code(drystone::generation::io),
        help(
            "{}",
            disk::advice(
                source,
                "see the cause above; the generations that were there are untouched"
            )
        )
    )]
    Io {
        /// What was being done; completes "cannot …".
        step: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store could not write into the environment's directory.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// There is nothing to go back from.
    #[error("nothing was built yet in {}", directory.display())]
    #[diagnostic(code(drystone::generation::none), help("run `drystone build`"))]
    None {
        /// The environment's directory.
        directory: PathBuf,
    },
    /// A number that no generation has.
    #[error("there is no generation {number}{}", there(numbers))]
    #[diagnostic(
        code(drystone::generation::unknown),
        help("`drystone history` lists the generations")
    )]
    Unknown {
        /// The number asked for.
        number: u64,
        /// The numbers there are.
        numbers: Vec<u64>,
    },
    /// Going back from a generation that was made from nothing.
    #[error("generation {current} has no parent to go back to{}", there(numbers))]
    #[diagnostic(
        code(drystone::generation::no_parent),
        help("name another one: `drystone rollback --to N`")
    )]
    NoParent {
        /// The current generation.
        current: u64,
        /// The numbers there are.
        numbers: Vec<u64>,
    },
    /// Going back to a generation that was removed.
    #[error(
        "generation {parent}, which generation {current} was made from, was removed{}",
        there(numbers)
    )]
    #[diagnostic(
        code(drystone::generation::parent_removed),
        help("name another one: `drystone rollback --to N`")
    )]
    ParentRemoved {
        /// The current generation.
        current: u64,
        /// Its parent.
        parent: u64,
        /// The numbers there are.
        numbers: Vec<u64>,
    },
    /// A generation whose record cannot be read.
    #[error("generation {number} is damaged: {}: {reason}", path.display())]
    #[diagnostic(
        code(drystone::generation::damaged),
        help(
            "the other generations can be used: `drystone history` lists them, `drystone rollback --to N` goes to one of them, `drystone build` makes a new one"
        )
    )]
    Damaged {
        /// Its number.
        number: u64,
        /// The file that is wrong.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A generation that a newer drystone wrote.
    #[error(
        "generation {number} was written by a newer drystone: its record has format {format}, this drystone reads up to 2"
    )]
    #[diagnostic(
        code(drystone::generation::newer),
        help("update drystone, or go to another generation with `drystone rollback --to N`")
    )]
    Newer {
        /// Its number.
        number: u64,
        /// The format of its record.
        format: u64,
    },
    /// `current` holds no number.
    #[error("{} does not hold the number of a generation", path.display())]
    #[diagnostic(
        code(drystone::generation::current),
        help("choose one: `drystone history` lists them, `drystone rollback --to N` sets it")
    )]
    DamagedCurrent {
        /// The file.
        path: PathBuf,
    },
    /// A whole line of the history cannot be read.
    #[error("line {line} of {} cannot be read: {reason}", path.display())]
    #[diagnostic(
        code(drystone::generation::history),
        help(
            "the generations are not touched by this: move the file aside and the history begins anew"
        )
    )]
    DamagedHistory {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The current generation cannot be removed.
    #[error("generation {number} is current and cannot be removed")]
    #[diagnostic(
        code(drystone::generation::remove_current),
        help("go to another one first: `drystone rollback --to N`")
    )]
    RemoveCurrent {
        /// Its number.
        number: u64,
    },
    /// Restoring would write through a link.
    #[error("{} lies behind a link that leads out of the project", path.display())]
    #[diagnostic(
        code(drystone::generation::outside),
        help("nothing was written: replace the link by a file or directory of the project")
    )]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// Restoring would lose what nobody kept.
    #[error("these files have changes that no generation holds: {}", list(files))]
    #[diagnostic(
        code(drystone::generation::unsaved),
        help(
            "keep them (commit them, or run `drystone build` to record them), or restore with --force: each is then kept beside as `<name>.before-rollback`"
        )
    )]
    Unsaved {
        /// The files, as they lie beside the manifest.
        files: Vec<PathBuf>,
    },
}

/// The crate's way to say what a step on a path came to.
pub(super) trait Step<T> {
    /// Names the step and the path in the error.
    fn step(self, step: &'static str, path: &Path) -> Result<T, GenerationError>;
}

impl<T> Step<T> for io::Result<T> {
    fn step(self, step: &'static str, path: &Path) -> Result<T, GenerationError> {
        self.map_err(|source| GenerationError::Io { step, path: path.to_owned(), source })
    }
}

fn there(numbers: &[u64]) -> String {
    match numbers {
        [] => "; there are none".to_owned(),
        [one] => format!("; there is only {one}"),
        [all @ .., last] => {
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            format!("; there are {} and {last}", all.join(", "))
        }
    }
}

fn list(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl From<crate::disk::DiskError> for GenerationError {
    fn from(crate::disk::DiskError { step, path, source }: crate::disk::DiskError) -> Self {
        Self::Io { step, path, source }
    }
}
