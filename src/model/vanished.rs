//! Files that another program took away, changed or holds back, told in the same words by every
//! room: which file, from which archive, and how a person brings it back.
//!
//! A virus scanner is the likely cause, and only a person can undo what it did. Nothing here ever
//! advises to switch one off, or to exclude something that nobody has looked at.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{BlobId, Family, Name, Sha256Digest, TreePath, Version};

/// How many files a message lists; `--json` has all.
const LISTED: usize = 5;
/// How many packages the help names.
const NAMED: usize = 2;

/// What another program did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was there and is gone.
    Vanished,
    /// It is there with another content.
    Changed,
    /// The system says that it holds a virus.
    Blocked,
    /// It may not be read or started, although it belongs to this user.
    Denied,
}

impl Fate {
    /// What the system's answer says of a file that something was to be done with: Windows names a
    /// virus (ERROR_VIRUS_INFECTED 225, ERROR_VIRUS_DELETED 226). Looks at the causes as well.
    pub fn told_by(error: &io::Error) -> Option<Self> {
        let told = |raw| (cfg!(windows) && matches!(raw, 225 | 226)).then_some(Self::Blocked);
        raw_codes(error).find_map(told)
    }

    /// The same where a file of this user's was to be read or started. There a plain refusal is
    /// likely to be a scanner's too: Windows answers ERROR_ACCESS_DENIED for a file that is about to
    /// be taken away, Linux EPERM where a scanner's fanotify mark says no.
    pub fn told_by_reading(error: &io::Error) -> Option<Self> {
        let refusal = if cfg!(windows) { 5 } else { 1 };
        let denied = || raw_codes(error).any(|raw| raw == refusal).then_some(Self::Denied);
        Self::told_by(error).or_else(denied)
    }

    /// The code of errors about it, which stays the same when words change.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Vanished => "drystone::file::vanished",
            Self::Changed => "drystone::file::changed",
            Self::Blocked => "drystone::file::blocked",
            Self::Denied => "drystone::file::denied",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Vanished => "vanished",
            Self::Changed => "changed",
            Self::Blocked | Self::Denied => "could not be used",
        }
    }

    /// Who is likely to have done it, in words.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Vanished => {
                "another program removed it, and an antivirus quarantine is the likely cause"
            }
            Self::Changed => {
                "it is not what its archive holds any more; a virus scanner that cleaned it, or a program that wrote to it, is the likely cause"
            }
            Self::Blocked => "the virus scanner of this machine takes it for a virus",
            Self::Denied => {
                "the system denies access to it, and a virus scanner that holds it back is the likely cause"
            }
        }
    }
}

/// The system's numbers in an error and its causes.
fn raw_codes(error: &io::Error) -> impl Iterator<Item = i32> + '_ {
    let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    let causes = std::iter::successors(inner, |&cause| cause.source());
    let below = causes.filter_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    error.raw_os_error().into_iter().chain(below)
}

/// The archive that a file came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The package.
    pub package: Name,
    /// Its version.
    pub version: Version,
    /// The file's path in the package; none for the archive itself.
    pub path_in_package: Option<TreePath>,
    /// The archive.
    pub archive: OriginArchive,
}

/// Where an archive is from and how it is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct OriginArchive {
    /// The last part of its URL.
    pub name: String,
    /// Its first URL, as the lock has it.
    pub url: String,
    /// Its hash in the lock; none before it was ever fetched.
    pub sha256: Option<Sha256Digest>,
}

impl OriginArchive {
    /// Of an archive at a URL.
    pub fn at(url: &str, sha256: Option<Sha256Digest>) -> Self {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let name = path.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(path);
        Self { name: name.to_owned(), url: url.to_owned(), sha256 }
    }
}

/// One file that something happened to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VanishedFile {
    /// What happened to it.
    pub what: Fate,
    /// Where it was on this machine, where that is known.
    pub file: Option<PathBuf>,
    /// Its path in the environment, or in the application's directory.
    pub path: Option<TreePath>,
    /// Its content.
    pub blob: Option<BlobId>,
    /// The archive it came from, once somebody who knows the lock has said so.
    #[serde(flatten)]
    pub origin: Option<Origin>,
}

impl VanishedFile {
    /// A file of which only its place on this machine is known yet.
    pub fn at(what: Fate, file: &Path) -> Self {
        Self { what, file: Some(file.to_path_buf()), path: None, blob: None, origin: None }
    }

    /// A content that belongs to a path in the environment or the application's directory.
    pub fn of(what: Fate, path: &TreePath, blob: Option<BlobId>) -> Self {
        Self { what, file: None, path: Some(path.clone()), blob, origin: None }
    }

    /// What people call it, with the package it is of.
    pub fn name(&self) -> String {
        let of = self.origin.as_ref();
        let inside = of.and_then(|origin| origin.path_in_package.as_ref());
        let name = match (of, inside.or(self.path.as_ref()), &self.file) {
            (Some(origin), None, _) => format!("the archive \"{}\"", origin.archive.name),
            (_, Some(path), _) => format!("\"{}\"", self.path.as_ref().unwrap_or(path)),
            (None, None, Some(file)) => format!("\"{}\"", file.display()),
            (None, None, None) => "a file".to_owned(),
        };
        match of {
            Some(Origin { package, version, .. }) => format!("{name} of {package} {version}"),
            None => name,
        }
    }
}

/// Files that another program took away, changed or holds back; an error of every room that opens
/// or starts files.
#[derive(Debug)]
pub struct Vanished {
    /// Which ones; never none.
    pub files: Vec<VanishedFile>,
    /// When: completes "it vanished …".
    pub moment: Cow<'static, str>,
    /// What the system said.
    pub source: Option<io::Error>,
}

impl Vanished {
    /// Several files, at one moment.
    pub fn files(files: Vec<VanishedFile>, moment: &'static str) -> Box<Self> {
        Box::new(Self { files, moment: Cow::Borrowed(moment), source: None })
    }

    /// One file.
    pub fn file(file: VanishedFile, moment: &'static str) -> Box<Self> {
        Self::files(vec![file], moment)
    }

    /// What the system answered when a step was to be done with a file.
    pub fn answered(what: Fate, step: &str, file: &Path, source: io::Error) -> Box<Self> {
        let moment = Cow::Owned(format!("when drystone tried to {step} it"));
        Box::new(Self { files: vec![VanishedFile::at(what, file)], moment, source: Some(source) })
    }

    /// All of it in lines, for where it is no error: the message, and what to do.
    pub fn in_lines(&self) -> String {
        format!("{self}\n{}", self.advice())
    }

    /// What to do, for people on this system.
    pub fn advice(&self) -> String {
        self.help_for(Family::current())
    }

    fn what(&self) -> Fate {
        self.files.first().map_or(Fate::Vanished, |file| file.what)
    }

    /// The help for a system's people; every system has the same steps and its own places.
    fn help_for(&self, family: Family) -> String {
        let mut help = String::new();
        if let [VanishedFile { file: Some(file), .. }] = self.files.as_slice() {
            let _ = writeln!(help, "it was at {}", file.display());
        }
        let origins = self.files.iter().filter_map(|file| file.origin.as_ref());
        let origins: BTreeSet<_> =
            origins.map(|origin| (&origin.package, &origin.version, &origin.archive)).collect();
        for (package, version, archive) in origins.iter().take(NAMED) {
            let _ = write!(help, "{package} {version} comes from {}", archive.url);
            let _ = match archive.sha256 {
                Some(sha256) => writeln!(
                    help,
                    "\n  {sha256}\n  The lock names this hash, and nothing else is ever unpacked: it is what was published there"
                ),
                None => writeln!(help, "; its hash is not known yet"),
            };
        }
        if self.what() == Fate::Changed {
            help.push_str("\"drystone store verify --repair\" brings it back as it was. If it changes again:\n");
        }
        help.push_str(match family {
            Family::Windows => {
                "1. See what was found: Windows Security → Virus & threat protection → Protection history, or the quarantine of another scanner\n"
            }
            Family::Unix => {
                "1. See what was found: the log and the quarantine of this machine's virus scanner, or ask who looks after it; a clean-up script may also have removed it\n"
            }
        });
        help.push_str(match family {
            Family::Windows => "2. If you trust its publisher, choose Restore there; ",
            Family::Unix => "2. If you trust its publisher, restore it from there; ",
        });
        help.push_str("then run \"drystone build\", or \"drystone store verify --repair\"\n");
        help.push_str("3. Report it to the scanner's vendor as a false positive, with the address and the hash of the archive\n");
        help.push_str("Leave the scanner on: docs/antivirus.md says what else helps");
        help
    }
}

impl fmt::Display for Vanished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, moment) = (self.what(), &self.moment);
        if let [one] = self.files.as_slice() {
            return write!(f, "{} {} {moment}: {}", one.name(), was(what), what.cause());
        }
        let number = self.files.len();
        write!(f, "{number} files {} {moment}; of each: {}", were(what), what.cause())?;
        for file in self.files.iter().take(LISTED) {
            write!(f, "\n  {}", file.name())?;
            if file.what != what {
                write!(f, " ({})", file.what.verb())?;
            }
        }
        match number.saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

fn was(what: Fate) -> &'static str {
    if what == Fate::Changed { "was changed" } else { what.verb() }
}

fn were(what: Fate) -> &'static str {
    if what == Fate::Changed { "were changed" } else { what.verb() }
}

impl Error for Vanished {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as &(dyn Error + 'static))
    }
}

impl miette::Diagnostic for Vanished {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.what().code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miette::Diagnostic;

    fn of_zluda(path: &str) -> VanishedFile {
        let url = "https://example.org/a/zluda.zip?raw=1";
        let archive = OriginArchive::at(url, Some(Sha256Digest::from_bytes([7; 32])));
        let origin = Origin {
            package: "zluda".parse().expect("a name"),
            version: "6-preview.69".parse().expect("a version"),
            path_in_package: Some("nvcuda.dll".parse().expect("a path")),
            archive,
        };
        let path: TreePath = path.parse().expect("a path");
        VanishedFile { origin: Some(origin), ..VanishedFile::of(Fate::Vanished, &path, None) }
    }

    #[test]
    fn a_message_names_file_package_and_cause_and_the_help_archive_and_steps() {
        let gone = Vanished::file(of_zluda("zluda/nvcuda.dll"), "since it was built");
        assert_eq!(
            gone.to_string(),
            "\"zluda/nvcuda.dll\" of zluda 6-preview.69 vanished since it was built: another program removed it, and an antivirus quarantine is the likely cause"
        );
        for family in [Family::Windows, Family::Unix] {
            let help = gone.help_for(family);
            for part in ["zluda.zip", "sha256:0707", "false positive", "\"drystone build\""] {
                assert!(help.contains(part), "no {part} in {help}");
            }
            let windows = help.contains("Protection history") && help.contains("choose Restore");
            assert_eq!(windows, family == Family::Windows, "{help}");
            for word in ["exclude", "exclusion", "disable", "switch it off", "turn off"] {
                assert!(!help.contains(word), "{word} in {help}");
            }
        }
        assert_eq!(gone.code().expect("a code").to_string(), "drystone::file::vanished");
    }

    #[test]
    fn many_files_stay_on_one_screen_and_the_document_has_all() {
        let files = (0..40).map(|number| of_zluda(&format!("zluda/{number}.dll"))).collect();
        let gone = Vanished::files(files, "since they were built");
        assert_eq!(gone.to_string().lines().count(), 2 + LISTED);
        assert!(gone.to_string().contains("and 35 more"));
        let json = serde_json::to_value(&gone.files).expect("JSON");
        assert_eq!(json.as_array().map(Vec::len), Some(40));
        assert_eq!(json[0]["package"], "zluda");
        assert_eq!(json[0]["what"], "vanished");
        assert_eq!(json[0]["path"], "zluda/0.dll");
        assert_eq!(json[0]["archive"]["name"], "zluda.zip");
    }

    #[test]
    fn what_the_system_says_of_a_virus_is_understood_also_as_a_cause() {
        let denied = if cfg!(windows) { 5 } else { 1 };
        for raw in [225, 226] {
            let error = io::Error::from_raw_os_error(raw);
            assert_eq!(Fate::told_by(&error), cfg!(windows).then_some(Fate::Blocked));
            let around =
                io::Error::other(*Vanished::answered(Fate::Blocked, "open", Path::new("x"), error));
            assert_eq!(Fate::told_by(&around), cfg!(windows).then_some(Fate::Blocked));
        }
        let error = io::Error::from_raw_os_error(denied);
        assert_eq!(Fate::told_by(&error), None);
        assert_eq!(Fate::told_by_reading(&error), Some(Fate::Denied));
        assert_eq!(Fate::told_by_reading(&io::ErrorKind::NotFound.into()), None);
    }
}
