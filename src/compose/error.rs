//! What keeps packages from becoming one environment, said all at once.

use std::fmt;

use crate::model::{Kind, Name, Platform, TreeError, TreePath};

use super::path_budget::TooLong;

/// How many of a list are shown before the rest is counted.
const SHOWN: usize = 10;

/// Why packages do not make an environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum ComposeError {
    /// Paths that packages may not hold at their place.
    #[error("{} of the packages cannot be placed:\n{}", count(refused.len(), "path"), Shown(refused))]
    #[diagnostic(
        code(drystone::compose::path),
        help(
            "leave the file out or give it another name with `exclude` or `rename` in the package's source, or place the package elsewhere with `into`"
        )
    )]
    Refused {
        /// Each of them, sorted.
        refused: Vec<RefusedPath>,
    },
    /// Paths that several packages hold with different content.
    #[error(
        "{} held by more than one package:\n{}{}",
        count_are(collisions.len(), "path"),
        Shown(collisions),
        also_idle(idle)
    )]
    #[diagnostic(
        code(drystone::compose::collision),
        help(
            "say in the environment which package wins, one line for each path: {}\nor place a package elsewhere with `into`",
            example(collisions)
        )
    )]
    Collisions {
        /// Each of them, sorted by path.
        collisions: Vec<Collision>,
        /// Overrides that decide nothing: often a path that is spelled wrong.
        idle: Vec<IdleOverride>,
    },
    /// Overrides that decide nothing.
    #[error("{} nothing:\n{}", overrides_decide(idle.len()), Shown(idle))]
    #[diagnostic(
        code(drystone::compose::override_idle),
        help("remove the line from the environment, or correct its path or package")
    )]
    IdleOverrides {
        /// Each of them, in the order written.
        idle: Vec<IdleOverride>,
    },
    /// Paths that Windows cannot start or open at the place they would lie.
    #[error("{} too long for Windows:\n{}", count_are(too_long.len(), "path"), Shown(too_long))]
    #[diagnostic(
        code(drystone::compose::path_budget),
        help(
            "use a store with a shorter path (--store or DRYSTONE_STORE), or shorten the paths with `strip`, `rename` or `into` in the package's source; a shorter name of the environment or the application helps as well"
        )
    )]
    PathBudget {
        /// Each of them, sorted by path.
        too_long: Vec<TooLong>,
    },
    /// A text of drystone's own that does not lie below `.drystone/`.
    #[error("the text \"{path}\" does not lie below \".drystone/\"")]
    #[diagnostic(
        code(drystone::compose::text),
        help("this is a fault of drystone; please report it")
    )]
    Text {
        /// Where it was to lie.
        path: TreePath,
    },
    /// `.drystone/environment.json` could not be written as JSON.
    #[error("the description of the environment cannot be written: {0}")]
    #[diagnostic(
        code(drystone::compose::description),
        help("this is a fault of drystone; please report it")
    )]
    Description(String),
    /// What was decided is no tree all the same.
    #[error("the packages do not make a tree: {0}")]
    #[diagnostic(
        code(drystone::compose::tree),
        help("this is a fault of drystone; please report it")
    )]
    Tree(#[from] TreeError),
}

/// A path that may not be held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// The package that holds it.
    pub package: Name,
    /// The path inside the environment.
    pub path: TreePath,
    /// Why not; completes "the path `…` ".
    pub reason: String,
}

impl fmt::Display for RefusedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" of {} {}", self.path, self.package, self.reason)
    }
}

/// A path that several packages hold, and that no override decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The path inside the environment.
    pub path: TreePath,
    /// Who holds it and as what: at least two.
    pub holders: Vec<Holder>,
    /// Whether the names are the same only after Unicode normalisation; no override helps then.
    pub alike: bool,
}

/// A package that holds a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The package.
    pub package: Name,
    /// The path as it spells it.
    pub path: TreePath,
    /// What it is there.
    pub kind: Kind,
    /// Bytes of its content; zero for a directory.
    pub size: u64,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\":", self.path)?;
        for (at, holder) in self.holders.iter().enumerate() {
            let separator = if at == 0 { " " } else { ", " };
            write!(f, "{separator}{} has {}", holder.package, what(holder))?;
            if holder.path != self.path || self.alike {
                write!(f, " spelled {}", spelling(&holder.path, self.alike))?;
            }
        }
        if self.alike {
            write!(f, " (the same name after Unicode normalisation; rename one of them)")?;
        }
        Ok(())
    }
}

fn what(holder: &Holder) -> String {
    match holder.kind {
        Kind::Directory => "a directory".to_owned(),
        Kind::Link => "a link".to_owned(),
        Kind::File => format!("a file of {} bytes", holder.size),
        Kind::Executable => format!("an executable of {} bytes", holder.size),
    }
}

/// A path in quotes; names that look alike with the characters that tell them apart written out.
fn spelling(path: &TreePath, written_out: bool) -> String {
    if !written_out {
        return format!("\"{path}\"");
    }
    let text: String = path
        .as_str()
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("{{U+{:04X}}}", u32::from(c)) })
        .collect();
    format!("\"{text}\"")
}

/// An override without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleOverride {
    /// Its path.
    pub path: TreePath,
    /// Its package.
    pub package: Name,
    /// Why it decides nothing.
    pub reason: String,
}

impl fmt::Display for IdleOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "override \"{}\" \"{}\": {}", self.path, self.package, self.reason)
    }
}

/// A list, one line an item, cut after ten with the count of the rest.
struct Shown<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Shown<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, item) in self.0.iter().take(SHOWN).enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}  {item}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            rest => write!(f, "\n  and {rest} more"),
        }
    }
}

/// Why a platform cannot hold a path; completes "the path `…` ".
pub(super) fn windows_reason(error: &impl fmt::Display, platform: Platform) -> String {
    format!("cannot be on {platform}: it {error}")
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn count_are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}

fn overrides_decide(number: usize) -> String {
    if number == 1 { "1 override decides".to_owned() } else { format!("{number} overrides decide") }
}

fn also_idle(idle: &[IdleOverride]) -> String {
    if idle.is_empty() {
        return String::new();
    }
    format!("\nand {} nothing:\n{}", overrides_decide(idle.len()), Shown(idle))
}

/// A line that a person can copy: the first path with the last of its packages.
fn example(collisions: &[Collision]) -> String {
    let decidable = collisions.iter().find(|collision| !collision.alike);
    match decidable.and_then(|collision| Some((&collision.path, collision.holders.last()?))) {
        Some((path, holder)) => format!("override \"{path}\" \"{}\"", holder.package),
        None => "override \"path\" \"package\"".to_owned(),
    }
}
