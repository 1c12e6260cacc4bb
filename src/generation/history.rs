//! The history of an environment: every operation, in its order.
//!
//! One line of JSON an operation. What a crash left of a line, without its line break, was never
//! said and is passed over; the next operation cuts it off.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::GenerationError;
use super::record::time_text;
use super::{durable, reading};

const FORMAT: u32 = 1;

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// When.
    #[serde(with = "time_text")]
    pub time: Timestamp,
    /// What.
    #[serde(flatten)]
    pub action: Action,
}

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
pub enum Action {
    /// A build made a generation and it became current.
    Build {
        /// What was current before.
        from: Option<u64>,
        /// The new generation.
        to: u64,
    },
    /// Another generation became current.
    Rollback {
        /// What was current before; none where that could not be read.
        from: Option<u64>,
        /// What is current since.
        to: u64,
    },
    /// A generation was removed.
    Remove {
        /// Its number, which is not used again.
        generation: u64,
    },
}

/// How the current generation came to be current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing was built.
    Nothing,
    /// It was built and stayed, or nothing is known of how it came.
    Built {
        /// The one that is current.
        to: u64,
    },
    /// It was gone back to.
    RolledBack {
        /// From where, where that is known.
        from: Option<u64>,
        /// To the one that is current.
        to: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct Line {
    format: u32,
    #[serde(flatten)]
    operation: Operation,
}

impl Action {
    /// The generation it made current.
    const fn made_current(self) -> Option<u64> {
        match self {
            Self::Build { to, .. } | Self::Rollback { to, .. } => Some(to),
            Self::Remove { .. } => None,
        }
    }

    /// The highest number in it.
    const fn highest(self) -> u64 {
        match self {
            Self::Build { from, to } | Self::Rollback { from, to } => match from {
                Some(from) if from > to => from,
                _ => to,
            },
            Self::Remove { generation } => generation,
        }
    }
}

impl Operation {
    fn line(&self) -> String {
        let line = Line { format: FORMAT, operation: self.clone() };
        // Numbers and a time: there is nothing in it that JSON could not hold.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }
}

/// Reads a history's text; an error names the line.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Operation>, (usize, String)> {
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let lines = text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate();
    lines
        .map(|(at, line)| {
            let wrong = |reason: String| (at + 1, reason);
            let line: Line =
                serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
            if line.format > FORMAT {
                return Err(wrong(format!("a newer drystone wrote it (format {})", line.format)));
            }
            Ok(line.operation)
        })
        .collect()
}

/// Adds an operation.
pub(super) fn append(
    place: &dyn durable::Place,
    operation: &Operation,
) -> Result<durable::Appended, GenerationError> {
    durable::append_line(&place.path().join(reading::HISTORY), &operation.line())
}

/// How what is current came to be so. `current` is the truth: a crash may have come between the
/// last line and it.
pub(super) fn standing(current: Option<u64>, history: &[Operation]) -> Standing {
    let Some(current) = current else { return Standing::Nothing };
    let last = history.iter().rfind(|operation| operation.action.made_current() == Some(current));
    match last.map(|operation| operation.action) {
        Some(Action::Rollback { from, to }) => Standing::RolledBack { from, to },
        _ => Standing::Built { to: current },
    }
}

/// The highest number that was ever used, as far as the history knows.
pub(super) fn highest(history: &[Operation]) -> u64 {
    history.iter().map(|operation| operation.action.highest()).max().unwrap_or(0)
}
