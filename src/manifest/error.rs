//! Why a manifest or catalogue could not be read.

use std::io;
use std::path::PathBuf;

use super::complaint::Complaint;

/// Why a manifest or catalogue could not be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ManifestError {
    /// There is no such file.
    #[error("there is no manifest at {}", path.display())]
    #[diagnostic(
        code(drystone::manifest::missing),
        help("`drystone init` writes a first one here; `--project DIR` names another directory.")
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// A directory stands where the file should be.
    #[error("{} is a directory, not a file", path.display())]
    #[diagnostic(
        code(drystone::manifest::directory),
        help("Name the file itself, such as env.kdl inside it.")
    )]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("{} could not be read", path.display())]
    #[diagnostic(
        code(drystone::manifest::read),
        help("Check that the file is there and that you may read it.")
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is larger than any manifest.
    #[error("{} has {size} bytes; a manifest or catalogue may have {limit}", path.display())]
    #[diagnostic(
        code(drystone::manifest::too_large),
        help("Is it the right file? A large manifest can be split with `include \"other.kdl\"`.")
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The most it may have.
        limit: u64,
    },
    /// The file is not UTF-8.
    #[error("{} is not UTF-8 text: {found}", path.display())]
    #[diagnostic(
        code(drystone::manifest::encoding),
        help(
            "Save it as UTF-8. In Windows PowerShell: `Set-Content -Encoding utf8`; in an editor: \"Save with encoding\"."
        )
    )]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// The file declares nothing.
    #[error("{} declares nothing", path.display())]
    #[diagnostic(
        code(drystone::manifest::empty),
        help(
            "`drystone init` writes a commented starter; the least is `environment \"name\" {{ platform \"x86_64-linux\" }}`."
        )
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The parser's thread could not be started.
    #[error("no thread could be started to read {}", path.display())]
    #[diagnostic(
        code(drystone::manifest::thread),
        help("The machine is short of memory or threads; try again when it is less busy.")
    )]
    Thread {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The text is wrong in one or several places.
    #[error("{file} has {}", count(complaints.len()))]
    #[diagnostic(code(drystone::manifest::invalid))]
    Invalid {
        /// The file, by the name it was given.
        file: String,
        /// What is wrong, in the order of the text.
        #[related]
        complaints: Vec<Complaint>,
    },
}

fn count(complaints: usize) -> String {
    match complaints {
        1 => String::from("a mistake"),
        many => format!("{many} mistakes"),
    }
}
