//! Why the catalogue could not be joined.

use std::io;
use std::path::PathBuf;

use crate::manifest::ManifestError;

/// Why the catalogue could not be joined.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CatalogueError {
    /// A catalogue file could not be read, or its text is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] ManifestError),
    /// The manifest names a catalogue that is not there.
    #[error("the catalogue {path} that the manifest names is not at {}", at.display())]
    #[diagnostic(
        code(drystone::catalogue::missing),
        help("Correct the path in `catalogue \"{path}\"`: it is relative to the manifest.")
    )]
    Missing {
        /// The path from the manifest's directory.
        path: String,
        /// Where that is.
        at: PathBuf,
    },
    /// A catalogue's directory could not be listed.
    #[error("the directory {} of a catalogue could not be read", path.display())]
    #[diagnostic(
        code(drystone::catalogue::directory),
        help("Check that you may read the directory and what is in it.")
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A directory that is named as a catalogue has no catalogue files.
    #[error("the catalogue {path} is a directory without .kdl files")]
    #[diagnostic(
        code(drystone::catalogue::empty),
        help("Name a directory that has them, or the file itself.")
    )]
    Empty {
        /// The path from the manifest's directory.
        path: String,
    },
    /// A file of a catalogue is a link that leaves the manifest's directory.
    #[error("{path} is a link that leaves the manifest's directory")]
    #[diagnostic(
        code(drystone::catalogue::outside),
        help(
            "Copy what it names beside the manifest, so that it comes along when the directory is cloned."
        )
    )]
    Outside {
        /// The path from the manifest's directory.
        path: String,
    },
    /// Two catalogues beside the manifest describe one thing in two ways.
    #[error("\"{name}\" is described differently in {first} and in {second}")]
    #[diagnostic(
        code(drystone::catalogue::conflict),
        help("Keep one of the two; neither is nearer than the other.")
    )]
    Conflict {
        /// The package or host component.
        name: String,
        /// One file, from the manifest's directory.
        first: String,
        /// The other.
        second: String,
    },
}
