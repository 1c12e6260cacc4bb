//! Paths inside trees: relative, `/`-separated, and never able to leave the tree.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A path inside a tree: UTF-8, relative, `/` between its parts, no empty part, no `.` or `..`, no
/// backslash, no control character, no drive. It can be joined to any directory without leaving it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(String);

/// Why a text is not a [`TreePath`]. The messages complete "the path `…` ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreePathError {
    /// Nothing, or only separators.
    #[error("is empty")]
    Empty,
    /// Begins with `/`.
    #[error("is absolute; paths inside a tree are relative")]
    Absolute,
    /// `C:…`, `\\server\share`, `\\?\…`.
    #[error("names a drive, a server or a device")]
    Drive,
    /// Holds `\`, a separator on Windows.
    #[error("holds a backslash, which is a separator on Windows; write / between the parts")]
    Backslash,
    /// Holds a part `..`.
    #[error("holds \"..\" and could leave its directory")]
    Parent,
    /// Holds an empty part or `.`.
    #[error("holds an empty part or \".\"")]
    Part,
    /// Holds NUL, a line break or another control character.
    #[error("holds a control character")]
    Control,
    /// A part of more than 255 bytes, or more than 4,096 in all.
    #[error("is too long: 255 bytes a part and 4,096 in all are what file systems take")]
    TooLong,
}

impl TreePath {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its parts, from the root.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last part.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The directory it lies in; none at the top of the tree.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Every directory above it, from the nearest to the top.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let (parent, _) = rest.rsplit_once('/')?;
            rest = parent;
            Some(parent)
        })
    }

    /// This path below another.
    pub fn under(&self, directory: Option<&Self>) -> Self {
        match directory {
            Some(directory) => Self(format!("{}/{}", directory.0, self.0)),
            None => self.clone(),
        }
    }

    /// What remains of it below a directory, if it lies below.
    pub fn strip(&self, directory: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(&directory.0)?.strip_prefix('/')?;
        Some(Self(rest.to_owned()))
    }

    /// Where it lies below a directory of the machine.
    pub fn at(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.parts());
        path
    }
}

/// Whether a text is a path, in one pass: nearly all are. What is wrong with the others is looked
/// for afterwards.
fn is_sound(text: &[u8]) -> bool {
    if text.len() > 4096 || text.get(1) == Some(&b':') {
        return false;
    }
    text.split(|&byte| byte == b'/').all(|part| {
        !matches!(part, b"" | b"." | b"..")
            && part.len() <= 255
            && part.iter().all(|&byte| byte >= b' ' && byte != b'\\' && byte != 0x7f)
    })
}

impl FromStr for TreePath {
    type Err = TreePathError;

    fn from_str(text: &str) -> Result<Self, TreePathError> {
        let bytes = text.as_bytes();
        if is_sound(bytes) {
            return Ok(Self(text.to_owned()));
        }
        if text.is_empty() {
            return Err(TreePathError::Empty);
        }
        if text.chars().any(|c| c < ' ' || c == '\u{7f}') {
            return Err(TreePathError::Control);
        }
        if text.starts_with(r"\\")
            || (bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':')
        {
            return Err(TreePathError::Drive);
        }
        if text.contains('\\') {
            return Err(TreePathError::Backslash);
        }
        if text.starts_with('/') {
            return Err(TreePathError::Absolute);
        }
        if text.split('/').any(|part| part == "..") {
            return Err(TreePathError::Parent);
        }
        if text.split('/').any(|part| part.is_empty() || part == ".") {
            return Err(TreePathError::Part);
        }
        if text.len() > 4096 || text.split('/').any(|part| part.len() > 255) {
            return Err(TreePathError::TooLong);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl AsRef<[u8]> for TreePath {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::borrow::Borrow<str> for TreePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for TreePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for TreePath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_out_of_a_tree_is_refused() {
        for (text, expected) in [
            ("", TreePathError::Empty),
            ("/etc/passwd", TreePathError::Absolute),
            ("../x", TreePathError::Parent),
            ("a/../../x", TreePathError::Parent),
            ("a//b", TreePathError::Part),
            ("a/", TreePathError::Part),
            ("./a", TreePathError::Part),
            ("C:/x", TreePathError::Drive),
            ("C:x", TreePathError::Drive),
            (r"\\server\share", TreePathError::Drive),
            (r"\\?\C:\x", TreePathError::Drive),
            (r"a\..\x", TreePathError::Backslash),
            ("a\nb", TreePathError::Control),
            ("a\0b", TreePathError::Control),
            (&"a".repeat(256), TreePathError::TooLong),
        ] {
            assert_eq!(text.parse::<TreePath>(), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn paths_join_and_part() {
        let path: TreePath = "torch/lib/c10.dll".parse().expect("path");
        assert_eq!(path.file_name(), "c10.dll");
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["torch/lib", "torch"]);
        let torch: TreePath = "torch".parse().expect("path");
        let below = path.strip(&torch).expect("below");
        assert_eq!(below.as_str(), "lib/c10.dll");
        assert_eq!(below.under(Some(&torch)), path);
        assert_eq!("torchvision/x".parse::<TreePath>().expect("path").strip(&torch), None);
        assert_eq!(
            path.at(Path::new("root")),
            Path::new("root").join("torch").join("lib").join("c10.dll")
        );
    }
}
