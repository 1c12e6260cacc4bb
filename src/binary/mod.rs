//! Binaries: what a PE or ELF file says of itself, read without running it.
//!
//! Files are hostile: reads are bounded, nothing is believed, a file that lies gives an error and
//! never a panic. This room knows nothing but `model` and `disk`.

mod elf;
mod pe;
mod window;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::model::Platform;
use window::Window;

/// How many libraries a file may name before it counts as damaged.
const MOST_LIBRARIES: usize = 4_096;

/// Why a binary could not be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum BinaryError {
    /// The file could not be opened or read.
    #[error("cannot read \"{}\"", path.display())]
    #[diagnostic(
        code(drystone::binary::read),
        help("see that the file is there and readable, then try again")
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It begins as a PE or ELF file and does not go on as one.
    #[error("\"{}\" is damaged: {reason}", path.display())]
    #[diagnostic(
        code(drystone::binary::damaged),
        help("compare the file with the one its publisher offers")
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// What a processor must be to run a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 32-bit x86.
    X86,
    /// 64-bit ARM.
    Aarch64,
    /// Another one, with the number its header holds.
    Other(u16),
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X86_64 => f.write_str("x86_64"),
            Self::X86 => f.write_str("x86 (32-bit)"),
            Self::Aarch64 => f.write_str("aarch64"),
            Self::Other(number) => write!(f, "machine {number:#06x}"),
        }
    }
}

/// What kind of binary a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryFormat {
    /// A Windows program or library.
    Pe,
    /// A Linux program or library.
    Elf,
}

impl fmt::Display for BinaryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pe => "Windows",
            Self::Elf => "ELF",
        })
    }
}

/// What a binary asks of its loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imports {
    /// PE or ELF.
    pub format: BinaryFormat,
    /// The processor it is for.
    pub machine: Machine,
    /// Libraries that must be there at its start, in the file's order, as spelled there.
    pub libraries: Vec<String>,
    /// PE: libraries that are loaded when first used.
    pub delayed: Vec<String>,
    /// ELF: `DT_SONAME`.
    pub soname: Option<String>,
    /// ELF: `DT_RPATH`, which is searched before `LD_LIBRARY_PATH`.
    pub rpath: Option<String>,
    /// ELF: `DT_RUNPATH`, which is searched after `LD_LIBRARY_PATH`.
    pub runpath: Option<String>,
    /// ELF: the loader that starts it.
    pub interpreter: Option<String>,
}

impl Imports {
    const fn new(format: BinaryFormat, machine: Machine) -> Self {
        Self {
            format,
            machine,
            libraries: Vec::new(),
            delayed: Vec::new(),
            soname: None,
            rpath: None,
            runpath: None,
            interpreter: None,
        }
    }

    /// Whether a platform can run it.
    pub const fn runs_on(&self, platform: Platform) -> bool {
        matches!(
            (platform, self.format, self.machine),
            (Platform::X86_64Windows, BinaryFormat::Pe, Machine::X86_64)
                | (Platform::X86_64Linux, BinaryFormat::Elf, Machine::X86_64)
                | (Platform::Aarch64Linux, BinaryFormat::Elf, Machine::Aarch64)
        )
    }
}

/// How reading inside a binary fails.
enum Fault {
    Io(std::io::Error),
    Damaged(String),
}

impl Fault {
    fn damaged(reason: &str) -> Self {
        Self::Damaged(reason.to_owned())
    }
}

/// What a file imports, and which machine it is for; none for a file that is neither PE nor ELF.
/// Reads a few kilobytes, however large the file is.
pub fn imports(path: &Path) -> Result<Option<Imports>, BinaryError> {
    let read = |source| BinaryError::Read { path: path.to_owned(), source };
    let file = disk::open(path).map_err(read)?;
    let mut window = Window::new(file).map_err(read)?;
    imports_of(&mut window).map_err(|fault| match fault {
        Fault::Io(source) => read(source),
        Fault::Damaged(reason) => BinaryError::Damaged { path: path.to_owned(), reason },
    })
}

fn imports_of(window: &mut Window) -> Result<Option<Imports>, Fault> {
    let Ok(start) = window.bytes::<4>(0) else { return Ok(None) };
    match start {
        [0x7f, b'E', b'L', b'F'] => elf::read(window).map(Some),
        [b'M', b'Z', ..] => pe::read(window),
        _ => Ok(None),
    }
}

#[cfg(test)]
pub(crate) mod tests;
