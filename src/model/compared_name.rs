//! A name as its platform compares it: by its bytes on Unix, whatever its case on Windows.

use std::ffi::{OsStr, OsString};

use super::{Family, FoldedPath};

/// A path, one part of a path, or the name of a variable: equal where the platform takes two for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparedName {
    /// By its bytes.
    Exact(OsString),
    /// By folded case.
    Folded(FoldedPath),
}

impl ComparedName {
    /// The name as the platforms of this family compare it.
    pub fn new(family: Family, name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        match family {
            Family::Unix => Self::Exact(name.to_owned()),
            Family::Windows => Self::Folded(folded(name)),
        }
    }
}

/// Windows holds names as any units, also such as are no text.
#[cfg(windows)]
fn folded(name: &OsStr) -> FoldedPath {
    FoldedPath::of_units(std::os::windows::ffi::OsStrExt::encode_wide(name))
}

/// A name for Windows is text wherever it comes from on another system: a lock, a plan, an archive.
#[cfg(unix)]
fn folded(name: &OsStr) -> FoldedPath {
    FoldedPath::new(&name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_counts_on_unix_and_not_on_windows() {
        let same =
            |family, one, other| ComparedName::new(family, one) == ComparedName::new(family, other);
        assert!(same(Family::Windows, "Path", "PATH"));
        assert!(same(Family::Windows, "größe/Ä", "GRÖßE/ä"));
        assert!(!same(Family::Windows, "straße", "STRASSE"));
        assert!(!same(Family::Unix, "Path", "PATH"));
        assert!(same(Family::Unix, "Path", "Path"));
    }

    #[cfg(windows)]
    #[test]
    fn units_that_are_no_text_are_kept_apart() {
        use std::os::windows::ffi::OsStringExt;
        let name = |unit| ComparedName::new(Family::Windows, OsString::from_wide(&[0x61, unit]));
        assert_ne!(name(0xD800), name(0xD801));
        assert_eq!(name(0xD800), name(0xD800));
    }
}
