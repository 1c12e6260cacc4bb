//! How Windows names files: what it refuses, and when two names are one.
//!
//! Source of the rules: Microsoft, "Naming Files, Paths, and Namespaces".

use super::tree_path::TreePath;
use super::uppercase::uppercase;

/// Why Windows cannot hold a path. The messages complete "the path `…` ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowsNameError {
    /// `CON`, `nul.txt`, `COM1`, …
    #[error("holds the device name \"{0}\"")]
    Device(String),
    /// `:` names an alternate stream.
    #[error("holds \":\", which names an alternate stream on Windows")]
    Stream,
    /// One of `< > " | ? *`.
    #[error("holds {0:?}, which Windows does not allow in names")]
    Character(char),
    /// A part that ends with a dot or a space, which Windows drops.
    #[error("holds \"{0}\", whose last dot or space Windows drops")]
    Trailing(String),
    /// A part of more than 255 UTF-16 units.
    #[error("holds a part of more than 255 UTF-16 units")]
    TooLong,
}

/// Whether Windows takes this as a device, whatever its extension.
pub fn is_device_name(part: &str) -> bool {
    let base = part.split('.').next().unwrap_or(part).trim_end_matches(' ');
    let is = |name: &str| base.eq_ignore_ascii_case(name);
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].into_iter().any(is) {
        return true;
    }
    let number = base
        .split_at_checked(3)
        .filter(|(name, _)| name.eq_ignore_ascii_case("COM") || name.eq_ignore_ascii_case("LPT"));
    let number = number.map(|(_, number)| number);
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³');
    number.is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(digit))
}

/// Checks that Windows can hold a path as it is written.
pub fn check_windows_path(path: &TreePath) -> Result<(), WindowsNameError> {
    for part in path.parts() {
        if part.contains(':') {
            return Err(WindowsNameError::Stream);
        }
        if let Some(c) = part.chars().find(|c| matches!(c, '<' | '>' | '"' | '|' | '?' | '*')) {
            return Err(WindowsNameError::Character(c));
        }
        if part.ends_with(['.', ' ']) {
            return Err(WindowsNameError::Trailing(part.to_owned()));
        }
        if is_device_name(part) {
            return Err(WindowsNameError::Device(part.to_owned()));
        }
        if part.encode_utf16().count() > 255 {
            return Err(WindowsNameError::TooLong);
        }
    }
    Ok(())
}

/// A path as Windows compares it: simple uppercase per UTF-16 unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FoldedPath(Vec<u16>);

impl FoldedPath {
    /// Folds a text: a path, or one part of it.
    pub fn new(text: &str) -> Self {
        Self::of_units(text.encode_utf16())
    }

    /// Folds a name as Windows holds it: any units, also such as are no text.
    pub(super) fn of_units(units: impl Iterator<Item = u16>) -> Self {
        Self(units.map(uppercase).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), WindowsNameError> {
        check_windows_path(&text.parse().expect("a path inside a tree"))
    }

    #[test]
    fn names_that_windows_refuses_are_told_why() {
        assert_eq!(check("a/NUL.txt"), Err(WindowsNameError::Device("NUL.txt".into())));
        assert_eq!(check("com¹"), Err(WindowsNameError::Device("com¹".into())));
        assert_eq!(check("aux .h"), Err(WindowsNameError::Device("aux .h".into())));
        assert_eq!(check("a/file:stream"), Err(WindowsNameError::Stream));
        assert_eq!(check("a/b?"), Err(WindowsNameError::Character('?')));
        assert_eq!(check("a./b"), Err(WindowsNameError::Trailing("a.".into())));
        assert_eq!(check("a /b"), Err(WindowsNameError::Trailing("a ".into())));
        for device in ["con", "Prn.tar.gz", "LPT9", "COM0", "CONIN$", "conout$.log", "x/nul .c/y"] {
            assert!(matches!(check(device), Err(WindowsNameError::Device(_))), "{device}");
        }
        for c in ['<', '>', '"', '|', '?', '*'] {
            assert_eq!(check(&format!("a/b{c}d")), Err(WindowsNameError::Character(c)));
        }
        for name in ["console/auxiliary/com10.txt", "COM", ".con", " begins", "nul-and-void"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn folding_is_by_case_and_not_by_normal_form() {
        assert_eq!(FoldedPath::new("Bin/Été.DLL"), FoldedPath::new("bin/éTÉ.dll"));
        assert_ne!(FoldedPath::new("é"), FoldedPath::new("e\u{301}"));
        assert_ne!(FoldedPath::new("ß"), FoldedPath::new("SS"));
    }
}
