//! Versions: dot-separated numbers, then `-pre`, then `+build`.
//!
//! A pre-release is before its release; the build is compared for equality only.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version, parsed once. Its text is kept as written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    text: String,
    numbers: Vec<u64>,
    pre: Vec<Identifier>,
    build: Option<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Identifier {
    Number(u64),
    Word(String),
}

/// Why a text is not a [`Version`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Nothing was written.
    #[error("a version cannot be empty")]
    Empty,
    /// A part before `-` or `+` is not a number, or does not fit 64 bits.
    #[error(
        "\"{part}\" in version \"{version}\" is not a number: a version is numbers with dots between, then -pre, then +build"
    )]
    Number {
        /// The whole text.
        version: String,
        /// The part that is not a number.
        part: String,
    },
    /// A part of `-pre` or `+build` is empty or holds other characters than `a-z A-Z 0-9 - .`.
    #[error(
        "\"{part}\" in version \"{version}\" may hold only letters, digits, - and dots, and no empty part"
    )]
    Identifier {
        /// The whole text.
        version: String,
        /// The part that is not allowed.
        part: String,
    },
    /// More than 64 bytes.
    #[error("version \"{0}\" has more than 64 characters")]
    TooLong(String),
}

impl Version {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// Whether it has a pre-release or a build, behind which nothing can follow: as a prefix it means
    /// itself alone.
    pub(super) fn is_whole(&self) -> bool {
        self.is_prerelease() || self.build.is_some()
    }

    /// Which of two is later, the build aside; missing numbers count as zero.
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.compare_numbers(other).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            }
        })
    }

    pub(super) fn compare_numbers(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let padded = |version: &Self, at: usize| version.numbers.get(at).copied().unwrap_or(0);
        (0..length)
            .map(|at| padded(self, at).cmp(&padded(other, at)))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Compares as many numbers as a prefix has; missing ones count as zero.
    pub(super) fn compare_first_numbers(&self, prefix: &Self) -> Ordering {
        let mine = (0..prefix.numbers.len()).map(|at| self.numbers.get(at).copied().unwrap_or(0));
        mine.cmp(prefix.numbers.iter().copied())
    }

    /// Whether both mean the same: equal precedence and the same build.
    pub fn is_same(&self, other: &Self) -> bool {
        self.precedence(other).is_eq() && self.build == other.build
    }

    /// Its numbers, without `-pre` and `+build`.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    pub(super) fn has_prefix(&self, prefix: &Self) -> bool {
        self.numbers.len() >= prefix.numbers.len()
            && self.numbers.iter().zip(&prefix.numbers).all(|(a, b)| a == b)
    }
}

impl Ord for Version {
    /// By precedence; versions that differ only in how they are written or built stand by text.
    fn cmp(&self, other: &Self) -> Ordering {
        self.precedence(other).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn identifiers<'a>(version: &str, text: &'a str) -> Result<Vec<&'a str>, VersionError> {
    text.split('.')
        .map(|part| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
            if part.is_empty() || !part.chars().all(allowed) {
                return Err(VersionError::Identifier {
                    version: version.to_owned(),
                    part: part.to_owned(),
                });
            }
            Ok(part)
        })
        .collect()
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > 64 {
            return Err(VersionError::TooLong(text.to_owned()));
        }
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (text, None),
        };
        let (release, pre) = match rest.split_once('-') {
            Some((release, pre)) => (release, Some(pre)),
            None => (rest, None),
        };
        let numbers = release
            .split('.')
            .map(|part| {
                let digits = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
                part.parse().ok().filter(|_| digits).ok_or_else(|| VersionError::Number {
                    version: text.to_owned(),
                    part: part.to_owned(),
                })
            })
            .collect::<Result<Vec<u64>, _>>()?;
        if let Some(build) = build {
            identifiers(text, build)?;
        }
        let pre = match pre {
            Some(pre) => identifiers(text, pre)?
                .into_iter()
                .map(|part| match part.parse() {
                    Ok(number) if part.bytes().all(|digit| digit.is_ascii_digit()) => {
                        Identifier::Number(number)
                    }
                    _ => Identifier::Word(part.to_owned()),
                })
                .collect(),
            None => Vec::new(),
        };
        Ok(Self { text: text.to_owned(), numbers, pre, build: build.map(str::to_owned) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl serde::Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect(text)
    }

    #[test]
    fn versions_stand_in_order() {
        let texts = ["5", "6-alpha", "6-preview.9", "6-preview.69", "6", "6.0.1", "6.4", "6.10"];
        let versions: Vec<Version> = texts.iter().map(|text| version(text)).collect();
        assert!(versions.is_sorted());
        assert!(version("6").precedence(&version("6.0.0")).is_eq());
        assert!(version("2.3.0+cu118").precedence(&version("2.3.0+cpu")).is_eq());
        assert!(!version("2.3.0+cu118").is_same(&version("2.3.0+cpu")));
    }

    #[test]
    fn what_is_no_version_is_refused_with_the_part() {
        assert_eq!("".parse::<Version>(), Err(VersionError::Empty));
        for (text, wrong) in [
            ("6..4", ""),
            ("v6", "v6"),
            ("6.x", "x"),
            ("99999999999999999999", "99999999999999999999"),
        ] {
            assert!(
                matches!(text.parse::<Version>(), Err(VersionError::Number { part, .. }) if part == wrong),
                "{text}"
            );
        }
        assert!(matches!("1-a..b".parse::<Version>(), Err(VersionError::Identifier { .. })));
        assert!(matches!("1+a_b".parse::<Version>(), Err(VersionError::Identifier { .. })));
    }
}
