//! Ranges of versions: comparisons that must all hold.
//!
//! A range takes no pre-release unless it names one of the same numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::version::{Version, VersionError};

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
            if version.is_whole() {
                return Err(RangeError::Prefix(text.to_owned()));
            }
            return Ok(Self { operator: Operator::Prefix, version });
        }
        let version: Version = text.parse()?;
        let operator = if version.is_whole() { Operator::Exact } else { bare };
        Ok(Self { operator, version })
    }

    /// Whether no version can hold for both; `self` stands before `other` in a sorted range.
    fn excludes(&self, other: &Self, prereleases: bool) -> bool {
        use Operator::{Above, AtLeast, AtMost, Below, Exact, Prefix};
        let (mine, its) = (&self.version, &other.version);
        match (self.operator, other.operator) {
            (Exact, Exact) => !mine.is_same(its),
            (Exact, Prefix) => mine.compare_first_numbers(its).is_ne(),
            (Exact, _) => !other.holds(mine),
            (Prefix, Prefix) => mine.numbers().iter().zip(its.numbers()).any(|(a, b)| a != b),
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
