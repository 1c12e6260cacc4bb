//! What can go wrong in unpacking: one variant for each way an archive can lie, with the numbers.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::{ArchiveFormat, Fate, TreePathError, Vanished, VanishedFile, WindowsNameError};

/// Why an archive was not unpacked.
#[derive(Debug)]
pub struct UnpackError {
    /// The label that the caller gave the archive.
    pub archive: String,
    /// What is the matter with it.
    pub problem: Box<Problem>,
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot unpack {}: {}", self.archive, self.problem)
    }
}

impl std::error::Error for UnpackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

impl miette::Diagnostic for UnpackError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.code()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help()
    }
}

/// What is the matter with an archive, or with what was asked of it.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Problem {
    /// The archive file cannot be opened.
    #[error("cannot open \"{}\"", path.display())]
    #[diagnostic(code(drystone::unpack::open), help("fetch the archive again"))]
    Open {
        /// The archive.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another program took the archive or a content away, changed it or holds it back.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Vanished(Box<Vanished>),
    /// The system failed to read the archive file.
    #[error("reading the archive failed; nothing is known to be wrong with what it holds")]
    #[diagnostic(
        code(drystone::unpack::read),
        help("check the disk the archive lies on, then try again")
    )]
    Read {
        /// What the system said.
        source: io::Error,
    },
    /// The sink failed: a full disk, a missing permission.
    #[error("writing the content of \"{entry}\" failed; the archive is not at fault")]
    #[diagnostic(
        code(drystone::unpack::write),
        help("make room or permissions where the store lies, then try again; nothing was kept")
    )]
    Write {
        /// Whose content it was.
        entry: String,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes are no archive that is known here.
    #[error("it is no archive of a known format: it looks like {looks_like}")]
    #[diagnostic(
        code(drystone::unpack::unknown_format),
        help(
            "formats are zip, tar, tar.gz, tar.xz, tar.zst, tar.bz2 and file; a single file needs \
             `format \"file\"`; otherwise check the URL in a browser and fetch again"
        )
    )]
    UnknownFormat {
        /// A guess, for people.
        looks_like: String,
    },
    /// The declared format is not what the bytes are.
    #[error("it is declared as {declared}, but its bytes are {found}")]
    #[diagnostic(
        code(drystone::unpack::other_format),
        help("correct `format` in the source, or leave it out: it is taken from the bytes")
    )]
    OtherFormat {
        /// What the source says.
        declared: ArchiveFormat,
        /// What the bytes are.
        found: String,
    },
    /// `format "file"` without a name for it.
    #[error("it is a single file, and the source gives no name for it")]
    #[diagnostic(
        code(drystone::unpack::no_file_name),
        help("give the source a file name, or a URL that ends in one")
    )]
    NoFileName,
    /// The encoding label is unknown.
    #[error("\"{0}\" is no known encoding")]
    #[diagnostic(
        code(drystone::unpack::unknown_encoding),
        help(
            "write a WHATWG label such as \"shift_jis\", \"gbk\", \"windows-1251\" or \"euc-kr\""
        )
    )]
    UnknownEncoding(String),
    /// The compressed data or the structure of the archive is damaged.
    #[error("it is damaged{}: {reason}", at_entry(entry))]
    #[diagnostic(
        code(drystone::unpack::damaged),
        help("fetch it again; if its hash is right, it is broken upstream: report it there")
    )]
    Damaged {
        /// The entry, where one is known.
        entry: Option<String>,
        /// What does not fit.
        reason: String,
    },
    /// The data ends too early.
    #[error("it is truncated{}: {reason}", at_entry(entry))]
    #[diagnostic(
        code(drystone::unpack::truncated),
        help("fetch it again; if its hash is right, it is broken upstream: report it there")
    )]
    Truncated {
        /// The entry, where one is known.
        entry: Option<String>,
        /// What is missing.
        reason: String,
    },
    /// The content does not have the checksum the archive declares.
    #[error("\"{entry}\" has CRC-32 {found:08x}, but {declared:08x} is declared")]
    #[diagnostic(
        code(drystone::unpack::checksum),
        help("fetch it again; if its hash is right, it is broken upstream: report it there")
    )]
    Checksum {
        /// The entry.
        entry: String,
        /// In the directory of the archive.
        declared: u32,
        /// Of the content.
        found: u32,
    },
    /// The content does not have the size the archive declares.
    #[error("\"{entry}\" holds {found} bytes, but {declared} are declared")]
    #[diagnostic(
        code(drystone::unpack::size),
        help("the archive contradicts itself: fetch it again, then report it upstream")
    )]
    Size {
        /// The entry.
        entry: String,
        /// In the header or directory.
        declared: u64,
        /// At least so many are there.
        found: u64,
    },
    /// Two places of the archive say different things of one entry.
    #[error("\"{entry}\": {what} is {first} in one place and {second} in another")]
    #[diagnostic(
        code(drystone::unpack::disagreement),
        help("readers would see different files in it: do not use it, report it upstream")
    )]
    Disagreement {
        /// The entry.
        entry: String,
        /// Which of its facts.
        what: &'static str,
        /// In the directory, or in the first header.
        first: String,
        /// In the entry's own header, or in the second header.
        second: String,
    },
    /// The archive declares another number of entries than it holds.
    #[error("it declares {declared} entries and holds {found}")]
    #[diagnostic(
        code(drystone::unpack::count),
        help("the archive contradicts itself: fetch it again, then report it upstream")
    )]
    Count {
        /// In its end record.
        declared: u64,
        /// In its directory.
        found: u64,
    },
    /// Two entries share bytes of the archive.
    #[error("\"{first}\" ends at byte {end}, after \"{second}\" has begun at byte {begin}")]
    #[diagnostic(
        code(drystone::unpack::overlap),
        help("overlapping entries are how bombs are built: do not use it, report it upstream")
    )]
    Overlap {
        /// The earlier entry.
        first: String,
        /// Where it ends.
        end: u64,
        /// What begins before that.
        second: String,
        /// Where that begins.
        begin: u64,
    },
    /// Data after the end of the archive.
    #[error("data follows its end{}", at_byte(at))]
    #[diagnostic(
        code(drystone::unpack::trailing_data),
        help("it may be two archives in one file: report it upstream")
    )]
    TrailingData {
        /// Where it was found, in unpacked bytes or in bytes of the file.
        at: Option<u64>,
    },
    /// Something that is no file, directory or link, or must not be one.
    #[error("\"{entry}\" is {what}, which is refused")]
    #[diagnostic(
        code(drystone::unpack::refused),
        help(
            "leave it out with `exclude` if the environment does not need it, or report it upstream"
        )
    )]
    Refused {
        /// The entry.
        entry: String,
        /// What it is, with its article.
        what: String,
    },
    /// The archive as a whole is of a kind that is not taken.
    #[error("it is {0}, which is refused")]
    #[diagnostic(
        code(drystone::unpack::refused_archive),
        help("ask upstream for a plain archive, or repack it")
    )]
    RefusedArchive(String),
    /// A name that may not be in a tree.
    #[error("the path \"{entry}\" {reason}")]
    #[diagnostic(
        code(drystone::unpack::name),
        help("such names are refused whatever the options say: report it upstream, or repack it")
    )]
    Name {
        /// The name as the archive has it, control characters escaped.
        entry: String,
        /// Why not.
        reason: TreePathError,
    },
    /// A name whose bytes are not text in the encoding they should have.
    #[error("the name \"{entry}\" is not {encoding}")]
    #[diagnostic(
        code(drystone::unpack::name_encoding),
        help("say the right one with `encoding` if it is a zip archive, or repack it")
    )]
    NameEncoding {
        /// The name as far as it can be shown.
        entry: String,
        /// What it should be.
        encoding: String,
    },
    /// A name that Windows cannot hold.
    #[error("the path \"{entry}\" {reason}")]
    #[diagnostic(
        code(drystone::unpack::windows_name),
        help("leave it out with `exclude`, or give it another name with `rename`")
    )]
    WindowsName {
        /// The path in the tree.
        entry: String,
        /// Why not.
        reason: WindowsNameError,
    },
    /// One path twice.
    #[error("\"{second}\" lands on \"{path}\", where \"{first}\" already is")]
    #[diagnostic(
        code(drystone::unpack::duplicate),
        help(
            "check `strip` and `rename`; without them the archive holds one path twice: report it"
        )
    )]
    Duplicate {
        /// The path in the tree.
        path: String,
        /// The entry that came first.
        first: String,
        /// The entry that came later.
        second: String,
    },
    /// An entry below something that is no directory.
    #[error("\"{below}\" lies below \"{above}\", which is {what}")]
    #[diagnostic(
        code(drystone::unpack::below),
        help("writing through a file or link is refused: do not use it, report it upstream")
    )]
    Below {
        /// The lower path.
        below: String,
        /// The upper path.
        above: String,
        /// `a file` or `a link`.
        what: &'static str,
    },
    /// Two names that Windows takes for one.
    #[error("\"{first}\" and \"{second}\" are one name on Windows")]
    #[diagnostic(
        code(drystone::unpack::collision),
        help("leave one out with `exclude`, or give it another name with `rename`")
    )]
    Collision {
        /// The byte-smaller path.
        first: String,
        /// The other.
        second: String,
    },
    /// Two names that look the same and differ in their Unicode normal form.
    #[error("\"{first}\" and \"{second}\" differ only in their Unicode normal form")]
    #[diagnostic(
        code(drystone::unpack::normal_form),
        help("leave one out with `exclude`, or give it another name with `rename`")
    )]
    NormalForm {
        /// The byte-smaller path.
        first: String,
        /// The other.
        second: String,
    },
    /// A link that may not be in a tree.
    #[error("the link \"{entry}\" points to \"{target}\", {reason}")]
    #[diagnostic(
        code(drystone::unpack::link),
        help(
            "take its target in with `include`, leave the link out with `exclude`, or report it upstream"
        )
    )]
    Link {
        /// The link.
        entry: String,
        /// Its target as the archive has it.
        target: String,
        /// What is wrong with that.
        reason: String,
    },
    /// A hard link whose target is no file that was taken before it.
    #[error("the hard link \"{entry}\" is to \"{target}\", {reason}")]
    #[diagnostic(
        code(drystone::unpack::hard_link),
        help("take its target in with `include`, or leave the hard link out with `exclude`")
    )]
    HardLink {
        /// The hard link.
        entry: String,
        /// Its target.
        target: String,
        /// What is wrong with that.
        reason: &'static str,
    },
    /// The tree would be larger than allowed.
    #[error("it unpacks to more than {limit} bytes")]
    #[diagnostic(
        code(drystone::unpack::too_large),
        help("if it is meant to be that large, allow it with `max-unpacked` in the source")
    )]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// More entries than allowed.
    #[error("it holds more than {limit} entries")]
    #[diagnostic(
        code(drystone::unpack::too_many),
        help("if it is meant to hold so many, allow them with `max-entries` in the source")
    )]
    TooMany {
        /// The bound.
        limit: u64,
    },
    /// It unpacks to far more than it holds.
    #[error(
        "it unpacks to {unpacked} bytes or more from {packed}: over {limit} to 1, the mark of a bomb"
    )]
    #[diagnostic(
        code(drystone::unpack::ratio),
        help("if it is meant to be so, allow its size with `max-unpacked` in the source")
    )]
    Ratio {
        /// Bytes of the contents so far.
        unpacked: u64,
        /// Bytes of the archive.
        packed: u64,
        /// The bound.
        limit: u64,
    },
    /// A decoder would need too much memory.
    #[error("its decoder needs a window of more than {limit} bytes{}", at_entry(entry))]
    #[diagnostic(
        code(drystone::unpack::window),
        help("ask upstream for an archive with a smaller window, or repack it")
    )]
    Window {
        /// The entry, in a zip archive.
        entry: Option<String>,
        /// The bound.
        limit: u64,
    },
    /// A compression that is not known here.
    #[error("\"{entry}\" is compressed by method {method}, which is not known here")]
    #[diagnostic(
        code(drystone::unpack::method),
        help("known are stored, deflate, deflate64, bzip2, lzma, zstd and xz: repack it")
    )]
    Method {
        /// The entry.
        entry: String,
        /// The number in the directory.
        method: u16,
    },
    /// An encrypted entry.
    #[error("\"{0}\" is encrypted")]
    #[diagnostic(
        code(drystone::unpack::encrypted),
        help("ask upstream for an archive without a password, or repack it")
    )]
    Encrypted(String),
    /// `strip` leaves nothing.
    #[error("`strip {strip}` leaves nothing of it; it begins with {}", quoted(first))]
    #[diagnostic(code(drystone::unpack::strip), help("strip fewer leading parts"))]
    Strip {
        /// What was asked.
        strip: u32,
        /// The first names of the archive.
        first: Vec<String>,
    },
    /// An `include` that takes nothing.
    #[error(
        "`include \"{pattern}\"` matches nothing; after `strip` it begins with {}",
        quoted(first)
    )]
    #[diagnostic(
        code(drystone::unpack::include),
        help("`*` stays within one part of a path; all below a directory is \"directory/**\"")
    )]
    Include {
        /// What was asked.
        pattern: String,
        /// The first paths after `strip`.
        first: Vec<String>,
    },
    /// A `rename` of nothing.
    #[error("`rename \"{from}\"` matches nothing; after `strip` it begins with {}", quoted(first))]
    #[diagnostic(
        code(drystone::unpack::rename),
        help("name a file or directory as it is after `strip`, and not left out by `exclude`")
    )]
    Rename {
        /// What was asked.
        from: String,
        /// The first paths after `strip`.
        first: Vec<String>,
    },
}

fn at_entry(entry: &Option<String>) -> String {
    entry.as_ref().map(|entry| format!(" at \"{entry}\"")).unwrap_or_default()
}

fn at_byte(at: &Option<u64>) -> String {
    at.map(|at| format!(" at byte {at}")).unwrap_or_default()
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    if quoted.is_empty() { "nothing".to_owned() } else { quoted.join(", ") }
}

impl UnpackError {
    /// An archive cannot be opened that was there when somebody asked for it to be unpacked.
    pub fn opening(archive: String, path: &Path, source: io::Error) -> Self {
        Self { archive, problem: Box::new(Problem::open(path, source)) }
    }
}

impl Problem {
    fn open(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            let file = VanishedFile::at(Fate::Vanished, path);
            return Self::Vanished(Vanished::file(file, "before it was unpacked"));
        }
        match Fate::told_by_reading(&source) {
            Some(fate) => Self::Vanished(Vanished::answered(fate, "open", path, source)),
            None => Self::Open { path: path.to_owned(), source },
        }
    }

    /// A problem with the archive at a path, which a scanner may hold back after it was opened.
    pub(super) fn of_archive(self, path: &Path) -> Self {
        let Self::Read { source } = self else { return self };
        match Fate::told_by_reading(&source) {
            Some(fate) => Self::Vanished(Vanished::answered(fate, "read", path, source)),
            None => Self::Read { source },
        }
    }

    /// The sink did not take a content.
    pub(super) fn write(entry: &str, source: io::Error) -> Self {
        let Some(fate) = Fate::told_by(&source) else {
            return Self::Write { entry: entry.to_owned(), source };
        };
        let path = entry.trim_end_matches('/').parse().ok();
        let file = VanishedFile { what: fate, file: None, path, blob: None, origin: None };
        let mut vanished = Vanished::file(file, "while it was unpacked");
        vanished.source = Some(source);
        Self::Vanished(vanished)
    }

    /// What a failed read or decode of the archive means: the system's fault or the archive's.
    pub(super) fn decoding(error: io::Error, entry: Option<&str>) -> Self {
        let entry = entry.map(str::to_owned);
        let reason = error.to_string();
        if error.raw_os_error().is_some() {
            return Self::Read { source: error };
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let reason = "the compressed data ends too early".to_owned();
                Self::Truncated { entry, reason }
            }
            _ => Self::Damaged { entry, reason },
        }
    }

    /// The structure contradicts the format, outside any entry.
    pub(super) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged { entry: None, reason: reason.into() }
    }
}
