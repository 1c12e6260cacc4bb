//! Versions and ranges of versions.
//!
//! A version is dot-separated numbers, then `-pre`, then `+build`. A pre-release is before its
//! release, the build is compared for equality only, and a range takes no pre-release unless it
//! names one of the same numbers.

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

    fn compare_numbers(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let padded = |version: &Self, at: usize| version.numbers.get(at).copied().unwrap_or(0);
        (0..length)
            .map(|at| padded(self, at).cmp(&padded(other, at)))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Compares as many numbers as a prefix has; missing ones count as zero.
    fn compare_first_numbers(&self, prefix: &Self) -> Ordering {
        let mine = (0..prefix.numbers.len()).map(|at| self.numbers.get(at).copied().unwrap_or(0));
        mine.cmp(prefix.numbers.iter().copied())
    }

    /// Whether both mean the same: equal precedence and the same build.
    pub fn is_same(&self, other: &Self) -> bool {
        self.precedence(other).is_eq() && self.build == other.build
    }

    fn has_prefix(&self, prefix: &Self) -> bool {
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

/// A set of versions: comparisons that must all hold. No comparison takes any version.
///
/// The comparisons are kept sorted, each once, so that one set has one text. The order of ranges
/// is for sorting only and says nothing of the versions they take.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range(Vec<Comparison>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Comparison {
    operator: Operator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operator {
    Exact,
    Prefix,
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// Why a text is not a [`Range`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// A version in it does not parse.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// An operator other than `=`, `>=`, `>`, `<=`, `<`.
    #[error(
        "\"{0}\" begins with an operator that ranges do not have; they have =, >=, >, <= and <, joined by commas, and a trailing .*"
    )]
    Operator(String),
    /// `.*` behind a pre-release or build, which nothing follows.
    #[error("\"{0}\" has .* behind a pre-release or build; it may follow numbers only")]
    Prefix(String),
}

impl Range {
    /// The range of exactly one version.
    pub fn exact(version: Version) -> Self {
        Self(vec![Comparison { operator: Operator::Exact, version }])
    }

    /// The range of all versions.
    pub const fn any() -> Self {
        Self(Vec::new())
    }

    /// Reads a range as host components take it: a bare version is a prefix, so `6.4` takes 6.4.2.
    pub fn parse_host(text: &str) -> Result<Self, RangeError> {
        Self::parse(text, Operator::Prefix)
    }

    fn parse(text: &str, bare: Operator) -> Result<Self, RangeError> {
        if text.trim() == "*" {
            return Ok(Self::any());
        }
        text.split(',')
            .map(|part| Comparison::parse(part.trim(), bare))
            .collect::<Result<_, _>>()
            .map(Self::sorted)
    }

    fn sorted(mut comparisons: Vec<Comparison>) -> Self {
        comparisons.sort();
        comparisons.dedup();
        Self(comparisons)
    }

    /// The range of what both take. A pre-release that just one of the two names is taken where the
    /// comparisons of the other hold for it: who names a pre-release means it.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::sorted(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// Whether it provably takes no version. False does not prove that there is one.
    pub fn is_empty(&self) -> bool {
        let prereleases = self.0.iter().any(|comparison| comparison.version.is_prerelease());
        self.0
            .iter()
            .enumerate()
            .any(|(at, one)| self.0[at + 1..].iter().any(|other| one.excludes(other, prereleases)))
    }

    /// Whether every comparison of another range is one of its own: it takes nothing that the
    /// other does not.
    pub fn includes_comparisons_of(&self, other: &Self) -> bool {
        other.0.iter().all(|comparison| self.0.contains(comparison))
    }

    /// Whether it takes this version.
    pub fn contains(&self, version: &Version) -> bool {
        let named = |comparison: &Comparison| {
            comparison.version.is_prerelease()
                && comparison.version.compare_numbers(version).is_eq()
        };
        (!version.is_prerelease() || self.0.iter().any(named))
            && self.0.iter().all(|comparison| comparison.holds(version))
    }

    /// The version it takes, where it takes just one.
    pub fn as_exact(&self) -> Option<&Version> {
        match self.0.as_slice() {
            [Comparison { operator: Operator::Exact, version }] => Some(version),
            _ => None,
        }
    }
}

impl Comparison {
    fn parse(text: &str, bare: Operator) -> Result<Self, RangeError> {
        const OPERATORS: [(&str, Operator); 5] = [
            (">=", Operator::AtLeast),
            ("<=", Operator::AtMost),
            (">", Operator::Above),
            ("<", Operator::Below),
            ("=", Operator::Exact),
        ];
        for (sign, operator) in OPERATORS {
            if let Some(version) = text.strip_prefix(sign) {
                return Ok(Self { operator, version: version.trim().parse()? });
            }
        }
        if text.starts_with(['^', '~', '!']) {
            return Err(RangeError::Operator(text.to_owned()));
        }
        if let Some(prefix) = text.strip_suffix(".*") {
            let version: Version = prefix.parse()?;
            if version.is_prerelease() || version.build.is_some() {
                return Err(RangeError::Prefix(text.to_owned()));
            }
            return Ok(Self { operator: Operator::Prefix, version });
        }
        let version: Version = text.parse()?;
        // Nothing can follow a pre-release or build: it means itself alone.
        let whole = version.is_prerelease() || version.build.is_some();
        Ok(Self { operator: if whole { Operator::Exact } else { bare }, version })
    }

    /// Whether no version can hold for both; `self` stands before `other` in a sorted range.
    fn excludes(&self, other: &Self, prereleases: bool) -> bool {
        use Operator::{Above, AtLeast, AtMost, Below, Exact, Prefix};
        let (mine, its) = (&self.version, &other.version);
        match (self.operator, other.operator) {
            (Exact, Exact) => !mine.is_same(its),
            (Exact, Prefix) => mine.compare_first_numbers(its).is_ne(),
            (Exact, _) => !other.holds(mine),
            (Prefix, Prefix) => mine.numbers.iter().zip(&its.numbers).any(|(a, b)| a != b),
            (Prefix, AtLeast | Above) => its.compare_first_numbers(mine).is_gt(),
            (Prefix, AtMost | Below) => match its.compare_numbers(mine) {
                Ordering::Less => true,
                // Only a pre-release of the prefix itself could still be below.
                Ordering::Equal => other.operator == Below && !prereleases,
                Ordering::Greater => false,
            },
            (AtLeast | Above, AtMost | Below) => match mine.precedence(its) {
                Ordering::Less => false,
                Ordering::Equal => (self.operator, other.operator) != (AtLeast, AtMost),
                Ordering::Greater => true,
            },
            _ => false,
        }
    }

    fn holds(&self, version: &Version) -> bool {
        let ordering = version.precedence(&self.version);
        match self.operator {
            Operator::Exact => version.is_same(&self.version),
            Operator::Prefix => version.has_prefix(&self.version),
            Operator::AtLeast => ordering.is_ge(),
            Operator::Above => ordering.is_gt(),
            Operator::AtMost => ordering.is_le(),
            Operator::Below => ordering.is_lt(),
        }
    }
}

impl FromStr for Range {
    type Err = RangeError;

    /// Reads a range as `use` and `requires` take it: a bare version is exact.
    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text, Operator::Exact)
    }
}

impl fmt::Display for Range {
    /// The canonical text: reads back to the same range with [`Range::from_str`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("*");
        }
        for (at, Comparison { operator, version }) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match operator {
                Operator::Exact => write!(f, "{version}")?,
                Operator::Prefix => write!(f, "{version}.*")?,
                Operator::AtLeast => write!(f, ">={version}")?,
                Operator::Above => write!(f, ">{version}")?,
                Operator::AtMost => write!(f, "<={version}")?,
                Operator::Below => write!(f, "<{version}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect(text)
    }

    fn range(text: &str) -> Range {
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

    #[test]
    fn ranges_take_what_they_say() {
        assert!(range(">=6, <8").contains(&version("7.2.1")));
        assert!(!range(">=6, <8").contains(&version("8")));
        assert!(!range(">=6, <8").contains(&version("7-preview.2")));
        assert!(range(">=6-preview.60").contains(&version("6-preview.69")));
        assert!(!range(">=6-preview.60").contains(&version("7-preview.1")));
        assert!(range("6.4").contains(&version("6.4.0")));
        assert!(!range("6.4").contains(&version("6.4.2")));
        assert!(range("2.3.0+cu118").contains(&version("2.3.0+cu118")));
        assert!(!range("2.3.0").contains(&version("2.3.0+cu118")));
        assert!(range("*").contains(&version("1")));
        assert!(!range("*").contains(&version("1-pre")));
    }

    #[test]
    fn a_bare_version_is_a_prefix_for_a_host() {
        let host = Range::parse_host("6.4").expect("6.4");
        assert!(host.contains(&version("6.4.2")));
        assert!(host.contains(&version("6.4.50101")));
        assert!(!host.contains(&version("6.40")));
        assert!(!host.contains(&version("6")));
        assert_eq!(host.to_string(), "6.4.*");
        assert_eq!(range(&host.to_string()), host);
    }

    #[test]
    fn nothing_follows_a_pre_release_or_build() {
        assert!(matches!("2.3.0+cu118.*".parse::<Range>(), Err(RangeError::Prefix(_))));
        assert!(matches!("6-preview.*".parse::<Range>(), Err(RangeError::Prefix(_))));
        let host = Range::parse_host("2.3.0+cu118").expect("a range");
        assert!(host.contains(&version("2.3.0+cu118")) && !host.contains(&version("2.3.0+cpu")));
        assert_eq!(range(&host.to_string()), host);
    }

    #[test]
    fn one_set_of_comparisons_has_one_text() {
        assert_eq!(range("<8, >=6, <8"), range(">=6, <8"));
        assert_eq!(range("<8, >=6").and(&range("6.4.*, >=6")).to_string(), "6.4.*, >=6, <8");
        assert_eq!(range("*").and(&range("*")).to_string(), "*");
        assert!(range(">=6, <8, 6.4.*").includes_comparisons_of(&range("<8")));
        assert!(!range(">=6").includes_comparisons_of(&range("<8")));
    }

    #[test]
    fn only_ranges_that_cannot_hold_are_empty() {
        for text in [
            "1, 2",
            "1+a, 1+b",
            "6.4, 6.5.*",
            "6.4.*, 6.5.*",
            "6.4.*, >=7",
            "6.4.*, >6.5",
            "6.4.*, <6.4",
            "6.4.*, <=6.3",
            ">6, <6.0",
            ">=6, <6",
            ">7, <=6",
            "5, >=6",
        ] {
            assert!(range(text).is_empty(), "{text}");
        }
        for (text, taken) in [
            ("1, 1.0", "1"),
            ("6.4, 6.4.0.*", "6.4.0"),
            ("6.4.*, 6.*", "6.4.2"),
            ("6.4.*, >6.4", "6.4.1"),
            ("6.4.*, <=6.4", "6.4"),
            ("6.4.*, <6.4, >6.4-a", "6.4-b"),
            (">=6, <=6", "6"),
            ("*", "1"),
        ] {
            assert!(!range(text).is_empty(), "{text}");
            assert!(range(text).contains(&version(taken)), "{text} takes {taken}");
        }
    }

    #[test]
    fn foreign_operators_are_named() {
        assert!(matches!("^1.2".parse::<Range>(), Err(RangeError::Operator(_))));
    }
}
