//! Trees: canonical sorted text that says which path holds which content.
//!
//! ```text
//! drystone-tree 1
//! d 0 - empty
//! f 12 <64 hex> lib/readme.txt
//! l 5 <64 hex> lib/latest
//! x 4096 <64 hex> bin/tool
//! ```
//!
//! One line an entry, sorted by the bytes of the path: kind, size in bytes, blob, path. A package's
//! content and an environment are both trees; a tree's digest covers this text and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use super::digest::{BlobId, FieldHasher, TreeId};
use super::tree_path::TreePath;

const HEADER: &str = "drystone-tree 1\n";

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An empty directory.
    Directory,
    /// A file.
    File,
    /// A link: its blob is the target's text, relative, `/`-separated, inside the tree.
    Link,
    /// A file with the execute bit.
    Executable,
}

impl Kind {
    const fn letter(self) -> char {
        match self {
            Self::Directory => 'd',
            Self::File => 'f',
            Self::Link => 'l',
            Self::Executable => 'x',
        }
    }

    /// Whether it is a file, executable or not.
    pub const fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// One line of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Bytes of its content; zero for a directory.
    pub size: u64,
    /// Its content; none for a directory.
    pub blob: Option<BlobId>,
    /// Where it lies.
    pub path: TreePath,
}

impl Entry {
    /// An empty directory.
    pub const fn directory(path: TreePath) -> Self {
        Self { kind: Kind::Directory, size: 0, blob: None, path }
    }

    /// A file, an executable or a link with its content.
    pub const fn content(kind: Kind, size: u64, blob: BlobId, path: TreePath) -> Self {
        Self { kind, size, blob: Some(blob), path }
    }
}

/// A tree: sorted, without duplicates, no entry below a file.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    /// Its digest, once somebody asked: a tree of ten thousand entries is a megabyte of text.
    id: OnceLock<TreeId>,
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Tree {}

/// Why entries or a text are not a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Two entries have one path.
    #[error("\"{0}\" appears twice")]
    Duplicate(TreePath),
    /// A path lies below something that is a file or a link.
    #[error("\"{below}\" lies below \"{file}\", which is no directory")]
    BelowFile {
        /// The lower path.
        below: TreePath,
        /// The file or link above it.
        file: String,
    },
    /// The text is not what a tree's text looks like.
    #[error("line {line} of the tree: {reason}")]
    Text {
        /// Counted from one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// How two trees differ at one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference<'a> {
    /// Only in the second.
    Added(&'a Entry),
    /// Only in the first.
    Removed(&'a Entry),
    /// In both, with another kind or content.
    Changed(&'a Entry, &'a Entry),
}

impl Difference<'_> {
    /// The path it is about.
    pub const fn path(&self) -> &TreePath {
        match self {
            Self::Added(entry) | Self::Removed(entry) | Self::Changed(entry, _) => &entry.path,
        }
    }
}

impl Tree {
    /// The tree of these entries, in any order, each path once. Directories that are not empty lose
    /// their line.
    pub fn of(mut entries: Vec<Entry>) -> Result<Self, TreeError> {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let twice = entries.array_windows().find(|[a, b]| a.path == b.path);
        match twice {
            Some([path, _]) => Err(TreeError::Duplicate(path.path.clone())),
            None => Self::of_sorted(entries),
        }
    }

    fn of_sorted(mut entries: Vec<Entry>) -> Result<Self, TreeError> {
        let filled = filled_directories(&entries)?;
        if !filled.is_empty() {
            let mut at = 0..;
            entries.retain(|_| at.next().is_none_or(|at| !filled.contains(&at)));
        }
        Ok(Self { entries, id: OnceLock::new() })
    }

    /// Its entries, sorted by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at a path.
    pub fn get(&self, path: &TreePath) -> Option<&Entry> {
        self.entries.binary_search_by(|entry| entry.path.cmp(path)).ok().map(|at| &self.entries[at])
    }

    /// Bytes of all its files.
    pub fn size(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.kind.is_file()).map(|entry| entry.size).sum()
    }

    /// How many files it holds, executables among them.
    pub fn file_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.kind.is_file()).count()
    }

    /// The digest of its text.
    pub fn id(&self) -> TreeId {
        *self.id.get_or_init(|| tree_id(&self.to_string()))
    }

    /// Reads a tree's text. Only the canonical text is taken, so a text has one digest.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let wrong = |line: usize, reason: &str| TreeError::Text { line, reason: reason.to_owned() };
        let body = text
            .strip_prefix(HEADER)
            .ok_or_else(|| wrong(1, "the header \"drystone-tree 1\" is missing"))?;
        if !body.is_empty() && !body.ends_with('\n') {
            return Err(wrong(text.lines().count(), "the text ends in the middle of a line"));
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(body.len() / 128);
        for (at, line) in body.split_terminator('\n').enumerate() {
            let entry = parse_line(line).map_err(|reason| wrong(at + 2, &reason))?;
            if entries.last().is_some_and(|previous| previous.path >= entry.path) {
                return Err(wrong(at + 2, "its path does not come after the one before it"));
            }
            entries.push(entry);
        }
        if !filled_directories(&entries)?.is_empty() {
            return Err(wrong(1, "a directory that is not empty has a line of its own"));
        }
        // The text is the canonical one, so its digest is the tree's.
        Ok(Self { entries, id: OnceLock::from(tree_id(text)) })
    }

    /// What changed from this tree to another, sorted by path.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<Difference<'a>> {
        let (mut before, mut after) =
            (self.entries.iter().peekable(), other.entries.iter().peekable());
        let mut found = Vec::new();
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return found,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { after.next() } else { None };
            match (old, new) {
                (Some(old), None) => found.push(Difference::Removed(old)),
                (None, Some(new)) => found.push(Difference::Added(new)),
                (Some(old), Some(new)) if old != new => found.push(Difference::Changed(old, new)),
                _ => {}
            }
        }
    }
}

/// Which of sorted entries are directories that have something in them. Nothing lies below a file.
fn filled_directories(entries: &[Entry]) -> Result<BTreeSet<usize>, TreeError> {
    let mut filled = BTreeSet::new();
    let mut checked = None;
    for Entry { path, .. } in entries {
        // Neighbours mostly lie in one directory: what is above them is looked at once.
        let parent = path.as_str().rsplit_once('/').map(|(parent, _)| parent);
        if parent == checked {
            continue;
        }
        checked = parent;
        for above in path.ancestors() {
            let Ok(at) = entries.binary_search_by(|entry| entry.path.as_str().cmp(above)) else {
                continue;
            };
            if entries[at].kind != Kind::Directory {
                return Err(TreeError::BelowFile { below: path.clone(), file: above.to_owned() });
            }
            filled.insert(at);
        }
    }
    Ok(filled)
}

/// The digest of a tree's text.
fn tree_id(text: &str) -> TreeId {
    TreeId::from_bytes(FieldHasher::new("drystone 2026-12 tree v1").field(text).finish())
}

fn parse_line(line: &str) -> Result<Entry, String> {
    let mut fields = line.splitn(4, ' ');
    let (Some(kind), Some(size), Some(blob), Some(path)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err("it does not hold kind, size, blob and path".to_owned());
    };
    let path: TreePath = path.parse().map_err(|error| format!("the path \"{path}\" {error}"))?;
    if kind == "d" {
        return match (size, blob) {
            ("0", "-") => Ok(Entry::directory(path)),
            _ => Err("a directory has size 0 and the blob \"-\"".to_owned()),
        };
    }
    let kind = match kind {
        "f" => Kind::File,
        "x" => Kind::Executable,
        "l" => Kind::Link,
        _ => return Err(format!("\"{kind}\" is no kind of entry")),
    };
    let canonical =
        size == "0" || (!size.starts_with('0') && size.bytes().all(|b| b.is_ascii_digit()));
    let size =
        size.parse().ok().filter(|_| canonical).ok_or_else(|| format!("\"{size}\" is no size"))?;
    let blob = BlobId::from_hex(blob).map_err(|error| error.to_string())?;
    Ok(Entry::content(kind, size, blob, path))
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(HEADER.len() + self.entries.len() * 128);
        text.push_str(HEADER);
        for Entry { kind, size, blob, path } in &self.entries {
            text.push(kind.letter());
            write!(text, " {size} ")?;
            match blob {
                Some(blob) => blob.push_hex(&mut text),
                None => text.push('-'),
            }
            text.push(' ');
            text.push_str(path.as_str());
            text.push('\n');
        }
        f.write_str(&text)
    }
}

/// Collects entries in any order into a [`Tree`].
#[derive(Debug, Default)]
pub struct TreeBuilder {
    entries: BTreeMap<TreePath, Entry>,
}

impl TreeBuilder {
    /// Adds an entry. A path may appear once; a directory may be said again.
    pub fn add(&mut self, entry: Entry) -> Result<(), TreeError> {
        match self.entries.get(&entry.path) {
            Some(there) if there.kind == Kind::Directory && entry.kind == Kind::Directory => Ok(()),
            Some(_) => Err(TreeError::Duplicate(entry.path)),
            None => {
                self.entries.insert(entry.path.clone(), entry);
                Ok(())
            }
        }
    }

    /// The entry added at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The tree. Directories that turned out not to be empty lose their line.
    pub fn finish(self) -> Result<Tree, TreeError> {
        Tree::of_sorted(self.entries.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> TreePath {
        text.parse().expect("a path")
    }

    fn file(text: &str, content: &[u8]) -> Entry {
        let blob = BlobId::from_bytes(*blake3::hash(content).as_bytes());
        Entry::content(Kind::File, content.len() as u64, blob, path(text))
    }

    fn tree(entries: impl IntoIterator<Item = Entry>) -> Result<Tree, TreeError> {
        let mut builder = TreeBuilder::default();
        for entry in entries {
            builder.add(entry)?;
        }
        builder.finish()
    }

    #[test]
    fn filled_directories_lose_their_line_and_files_hold_nothing() {
        let filled = tree([Entry::directory(path("a")), file("a/b", b"x")]).expect("a tree");
        assert_eq!(filled.entries().len(), 1);
        assert!(matches!(
            tree([file("a", b""), file("a/b", b"x")]),
            Err(TreeError::BelowFile { .. })
        ));
        assert!(matches!(tree([file("a", b""), file("a", b"x")]), Err(TreeError::Duplicate(_))));
    }

    #[test]
    fn only_the_canonical_text_is_taken() {
        let text = tree([file("a", b"1"), file("b", b"2")]).expect("a tree").to_string();
        assert!(Tree::parse(&text).is_ok());
        for damaged in [
            text.replace("drystone-tree 1", "drystone-tree 2"),
            text.replace("f 1 ", "f 01 "),
            text.replace("f 1 ", "q 1 "),
            text.replace(" a\n", " z\n"),
            text.replace(" b\n", " a\n"),
            text.replace(" b\n", " ../b\n"),
            text[..text.len() - 1].to_owned(),
            format!("{text}\n"),
            text.replace('\n', "\r\n"),
        ] {
            assert!(matches!(Tree::parse(&damaged), Err(TreeError::Text { .. })), "{damaged}");
        }
    }

    #[test]
    fn differences_are_a_merge_of_two_sorted_lists() {
        let before = tree([file("a", b"1"), file("b", b"2"), file("c", b"3")]).expect("a tree");
        let after = tree([file("b", b"2"), file("c", b"4"), file("d", b"5")]).expect("a tree");
        let found: Vec<String> = before
            .differences(&after)
            .iter()
            .map(|difference| match difference {
                Difference::Added(entry) => format!("+{}", entry.path),
                Difference::Removed(entry) => format!("-{}", entry.path),
                Difference::Changed(entry, _) => format!("~{}", entry.path),
            })
            .collect();
        assert_eq!(found, ["-a", "~c", "+d"]);
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let part =
            "[a-zA-Z0-9 ._é中-]{1,8}".prop_filter("a part", |part| part != "." && part != "..");
        let text = proptest::collection::vec(part, 1..5).prop_map(|parts| path(&parts.join("/")));
        (text, 0u8..4, any::<u64>(), any::<[u8; 32]>()).prop_map(|(path, kind, size, blob)| {
            let blob = BlobId::from_bytes(blob);
            match kind {
                0 => Entry::directory(path),
                1 => Entry::content(Kind::File, size, blob, path),
                2 => Entry::content(Kind::Link, size, blob, path),
                _ => Entry::content(Kind::Executable, size, blob, path),
            }
        })
    }

    proptest! {
        #[test]
        fn any_tree_survives_its_text_whatever_the_order(entries in proptest::collection::vec(any_entry(), 0..40)) {
            if let Ok(first) = tree(entries.clone()) {
                let text = first.to_string();
                prop_assert_eq!(Tree::parse(&text).expect("its own text"), first.clone());
                let mut reversed = entries;
                reversed.reverse();
                prop_assert_eq!(tree(reversed).expect("the same entries").id(), first.id());
            }
        }
    }
}
