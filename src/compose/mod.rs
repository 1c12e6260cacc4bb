//! Composing: an environment's tree out of its packages' trees.
//!
//! Every package's entries go below its placement; what two packages hold alike is there once, what
//! they hold differently is a collision that an `override` of the manifest decides. Under
//! `.drystone/` lie the texts that describe the environment, and nothing else. This room works on
//! trees alone: it reads no file and writes none.

mod decisions;
mod difference;
mod environment_reading;
mod environment_text;
mod error;
mod folding;
mod merge;
mod normal_form;
mod path_budget;
#[cfg(test)]
mod tests;

pub use difference::{
    EnvironmentDiff, FileAt, FileChange, PackageAt, PackageChange, PackageIdentity, Side,
    difference,
};
pub use environment_reading::DescribedEnvironment;
pub use environment_text::{DescribedPackage, ENVIRONMENT_TEXT, EnvironmentText};
pub use error::{Collision, ComposeError, Holder, IdleOverride, RefusedPath};
pub use merge::{Composed, Elsewhere, Part, Text, Warning, compose};
pub use path_budget::{
    NOMINAL_ROOT_UNITS, PlacedDirectory, Started, TooLong, path_units, require_path_budget,
    too_long_to_start,
};
