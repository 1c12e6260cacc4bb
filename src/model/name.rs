//! Names of environments, applications, packages and host components.

use std::fmt;
use std::str::FromStr;

use super::windows_name::is_device_name;

/// A name: `[a-z0-9][a-z0-9-]{0,31}` and no Windows device name, so that it can be a file name
/// anywhere and two names never differ by case alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was written.
    #[error("a name cannot be empty")]
    Empty,
    /// More than 32 characters.
    #[error("\"{0}\" has more than 32 characters")]
    TooLong(String),
    /// A character outside `a-z 0-9 -`, or a leading `-`.
    #[error(
        "\"{name}\" holds {found:?}: a name is made of a-z, 0-9 and -, and does not begin with -"
    )]
    Character {
        /// The whole text.
        name: String,
        /// The first character that is not allowed.
        found: char,
    },
    /// `con`, `nul`, `com1`, …
    #[error("\"{0}\" is a device name on Windows and cannot name a file there")]
    Device(String),
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let allowed =
            |at: usize, c: char| matches!(c, 'a'..='z' | '0'..='9') || (c == '-' && at > 0);
        if let Some((_, found)) = text.char_indices().find(|&(at, c)| !allowed(at, c)) {
            return Err(NameError::Character { name: text.to_owned(), found });
        }
        if text.len() > 32 {
            return Err(NameError::TooLong(text.to_owned()));
        }
        if is_device_name(text) {
            return Err(NameError::Device(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl AsRef<[u8]> for Name {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_file_system_can_hold() {
        for good in ["zluda", "7zip", "hip-sdk", "a", &"a".repeat(32)] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        assert_eq!("".parse::<Name>(), Err(NameError::Empty));
        assert!(matches!("Zluda".parse::<Name>(), Err(NameError::Character { found: 'Z', .. })));
        assert!(matches!("-a".parse::<Name>(), Err(NameError::Character { found: '-', .. })));
        assert!(matches!("a/b".parse::<Name>(), Err(NameError::Character { found: '/', .. })));
        assert!(matches!("a".repeat(33).parse::<Name>(), Err(NameError::TooLong(_))));
        assert_eq!("com1".parse::<Name>(), Err(NameError::Device("com1".into())));
    }
}
