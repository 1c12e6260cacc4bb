//! What must hold of whatever comes out of any archive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use drystone::model::{
    BlobId, Entry, Family, FoldedPath, Kind, NoProgress, Tree, TreePath, UnpackOptions,
    check_windows_path,
};
use drystone::unpack::{UnpackError, unpack};
use tempfile::TempDir;

use super::diagnostic::draw;
use super::memory::MemorySink;

type Contents = BTreeMap<BlobId, Vec<u8>>;

/// How an archive is unpacked, said by the first byte of an input; `@` says nothing.
#[derive(Clone, Copy)]
pub struct How(u8);

impl How {
    const WINDOWS: u8 = 1;
    const STRIP: u8 = 2;
    const FORMAT: u8 = 4;
    const BOUND: u8 = 8;
    const OWN: u8 = 16;
    const PATTERNS: u8 = 32;

    /// Takes it off an input.
    pub fn of(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (how, archive) = bytes.split_first()?;
        Some((Self(*how), archive))
    }

    const fn says(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// Whether the format is declared.
    pub const fn declares_format(self) -> bool {
        self.says(Self::FORMAT)
    }

    /// What means something else for each kind of archive.
    pub const fn own(self) -> bool {
        self.says(Self::OWN)
    }

    const fn family(self) -> Family {
        if self.says(Self::WINDOWS) { Family::Windows } else { Family::Unix }
    }

    /// The options, but for the format.
    pub fn options(self) -> UnpackOptions {
        let mut options = UnpackOptions::default();
        if self.says(Self::STRIP) {
            options.strip = 1;
        }
        if self.says(Self::BOUND) {
            options.max_unpacked = Some(4096);
        }
        if self.says(Self::PATTERNS) {
            options.exclude = vec!["**/*.txt".parse().expect("a pattern")];
            options.executable = vec!["**/*.sh".parse().expect("a pattern")];
        }
        options
    }
}

/// Unpacks an archive twice: it is refused both times, or gives the same sound tree.
pub fn check(archive: &[u8], how: How, options: &UnpackOptions) {
    thread_local! {
        static DIRECTORY: TempDir = TempDir::new().expect("a directory");
    }
    DIRECTORY.with(|directory| check_in(directory.path(), archive, how, options));
}

fn check_in(directory: &Path, archive: &[u8], how: How, options: &UnpackOptions) {
    let path = directory.join("archive");
    std::fs::write(&path, archive).expect("written");
    let family = how.family();
    let first = take_out(&path, options, family);
    let files = std::fs::read_dir(directory).expect("a directory").count();
    assert_eq!(files, 1, "something was written beside the archive");
    match first {
        Err(error) => draw(error),
        Ok((tree, contents)) => {
            check_tree(&tree, options);
            check_contents(&tree, &contents);
            match family {
                Family::Windows => check_for_windows(&tree),
                Family::Unix => check_links(&tree, &contents),
            }
            let (again, _) = take_out(&path, options, family).expect("what was taken before");
            assert_eq!(again.id(), tree.id(), "another tree the second time");
        }
    }
}

fn take_out(
    path: &Path,
    options: &UnpackOptions,
    family: Family,
) -> Result<(Tree, Contents), UnpackError> {
    let sink = MemorySink::default();
    let tree = unpack(path, "thing 1.0", options, family, &sink, &NoProgress)?;
    Ok((tree, sink.into_contents()))
}

fn check_tree(tree: &Tree, options: &UnpackOptions) {
    assert_eq!(Tree::parse(&tree.to_string()).as_ref(), Ok(tree), "its text is no tree's");
    for entry in tree.entries() {
        let path = entry.path.as_str();
        let leaves = path.split('/').any(|part| matches!(part, "" | "." | ".."));
        assert!(!leaves && !path.contains(['\\', '\0', '\n']), "{path:?} leads outside");
        assert!(path.as_bytes().get(1) != Some(&b':'), "{path:?} is a drive");
    }
    if let Some(most) = options.max_unpacked {
        assert!(tree.size() <= most, "{} bytes where {most} are allowed", tree.size());
    }
}

fn check_contents(tree: &Tree, contents: &Contents) {
    for entry in tree.entries() {
        let Some(blob) = entry.blob else { continue };
        let content = contents.get(&blob).expect("a content for each entry");
        assert_eq!(content.len() as u64, entry.size, "the size of {}", entry.path);
    }
}

/// On Windows there are only files and directories, no two paths are one, and all can be written.
fn check_for_windows(tree: &Tree) {
    let mut spellings: BTreeMap<FoldedPath, &str> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    for Entry { kind, path, .. } in tree.entries() {
        assert!(matches!(kind, Kind::File | Kind::Directory), "{path} is {kind:?}");
        assert_eq!(check_windows_path(path), Ok(()), "{path}");
        assert!(paths.insert(FoldedPath::new(path.as_str())), "{path} is another's name");
        for above in path.ancestors() {
            let spelling = spellings.entry(FoldedPath::new(above)).or_insert(above);
            assert_eq!(*spelling, above, "one directory in two spellings");
        }
    }
    assert!(spellings.keys().all(|above| !paths.contains(above)), "a file with files below");
}

/// Every link leads to something in the tree, and never out of it on the way.
fn check_links(tree: &Tree, contents: &Contents) {
    for entry in tree.entries().iter().filter(|entry| entry.kind == Kind::Link) {
        let mut place: Vec<String> = Vec::new();
        let mut hops = 0;
        walk(tree, contents, &mut place, entry.path.as_str(), &mut hops);
        let reached = place.join("/");
        let below = format!("{reached}/");
        let is_there = |other: &Entry| {
            other.path.as_str() == reached || other.path.as_str().starts_with(&below)
        };
        let there = reached.is_empty() || tree.entries().iter().any(is_there);
        assert!(there, "the link {} leads to {reached}, which is not there", entry.path);
    }
}

/// Goes from a place along a path, through links, as a system does.
fn walk(tree: &Tree, contents: &Contents, place: &mut Vec<String>, path: &str, hops: &mut usize) {
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            assert!(place.pop().is_some(), "a link leads out of the tree");
            continue;
        }
        place.push(part.to_owned());
        let here: TreePath = place.join("/").parse().expect("a path below the tree");
        let Some(Entry { kind: Kind::Link, blob: Some(blob), .. }) = tree.get(&here) else {
            continue;
        };
        *hops += 1;
        assert!(*hops <= 40, "links go round at {here}");
        let target = std::str::from_utf8(&contents[blob]).expect("a target is text");
        assert!(!target.starts_with('/'), "an absolute link at {here}");
        place.pop();
        walk(tree, contents, place, target, hops);
    }
}
