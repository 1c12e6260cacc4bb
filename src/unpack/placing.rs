//! From a name in an archive to a path in the tree: normalising, `strip`, `include`, `exclude`,
//! `rename`.

use globset::GlobMatcher;

use super::error::Problem;
use crate::model::{Rename, TreePath, TreePathError, UnpackOptions};

const SHOWN: usize = 3;
/// The longest path in a tree, in bytes: `rename` can make longer ones out of two that are right.
const LONGEST_PATH: usize = 4096;

/// Applies the options of a source, and remembers which of them ever mattered.
pub(super) struct Placing<'a> {
    strip: usize,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    rename: &'a [Rename],
    renamed: Vec<bool>,
    executable: Vec<GlobMatcher>,
    seen: u64,
    kept: u64,
    first_names: Vec<String>,
    first_stripped: Vec<String>,
}

struct Pattern {
    text: String,
    matcher: GlobMatcher,
    matched: bool,
}

/// A name after the rules that no option changes: a leading `./` and a trailing `/` are gone, and
/// what remains is a path inside a tree. `None` is the top of the archive itself.
pub(super) fn archive_path(name: &str) -> Result<Option<TreePath>, Problem> {
    let mut rest = name;
    while let Some(inner) = rest.strip_prefix("./") {
        rest = inner;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest == "." || (rest.is_empty() && name.starts_with("./")) {
        return Ok(None);
    }
    match rest.parse() {
        Ok(path) => Ok(Some(path)),
        Err(reason) => Err(Problem::Name { entry: name.escape_debug().to_string(), reason }),
    }
}

impl<'a> Placing<'a> {
    pub(super) fn new(options: &'a UnpackOptions) -> Self {
        let patterns = |globs: &[crate::model::Glob]| -> Vec<Pattern> {
            globs
                .iter()
                .map(|glob| Pattern {
                    text: glob.as_str().to_owned(),
                    matcher: glob.matcher(),
                    matched: false,
                })
                .collect()
        };
        Self {
            strip: options.strip as usize,
            include: patterns(&options.include),
            exclude: patterns(&options.exclude),
            rename: &options.rename,
            renamed: vec![false; options.rename.len()],
            executable: options.executable.iter().map(crate::model::Glob::matcher).collect(),
            seen: 0,
            kept: 0,
            first_names: Vec::new(),
            first_stripped: Vec::new(),
        }
    }

    /// Where an entry lands, or `None` when the options leave it out. An error is a name that is right
    /// only before the options changed it.
    pub(super) fn place(&mut self, archive: &TreePath) -> Result<Option<TreePath>, TreePathError> {
        self.seen += 1;
        if self.first_names.len() < SHOWN {
            self.first_names.push(archive.to_string());
        }
        let Some(stripped) = self.stripped(archive).transpose()? else { return Ok(None) };
        self.kept += 1;
        if self.first_stripped.len() < SHOWN {
            self.first_stripped.push(stripped.to_string());
        }
        let mut included = self.include.is_empty();
        for pattern in &mut self.include {
            if pattern.matcher.is_match(stripped.as_str()) {
                pattern.matched = true;
                included = true;
            }
        }
        let excluded =
            self.exclude.iter().any(|pattern| pattern.matcher.is_match(stripped.as_str()));
        if !included || excluded {
            return Ok(None);
        }
        let Some((at, path)) = self.renaming(&stripped) else { return Ok(Some(stripped)) };
        self.renamed[at] = true;
        if path.as_str().len() > LONGEST_PATH {
            return Err(TreePathError::TooLong);
        }
        Ok(Some(path))
    }

    /// Where a link's target would land, whether or not it is in the archive. `None` is the top of
    /// the tree; an error is a target that `strip` takes out of it.
    pub(super) fn target(&self, archive: Option<&TreePath>) -> Result<Option<TreePath>, ()> {
        let parts = archive.map_or(0, |path| path.parts().count());
        match archive {
            Some(path) if parts > self.strip => {
                let stripped = self.stripped(path).and_then(Result::ok).ok_or(())?;
                Ok(Some(self.renaming(&stripped).map_or(stripped, |(_, path)| path)))
            }
            _ if parts == self.strip => Ok(None),
            _ => Err(()),
        }
    }

    /// Whether the source wants the execute bit on a path.
    pub(super) fn executable(&self, path: &TreePath) -> bool {
        self.executable.iter().any(|matcher| matcher.is_match(path.as_str()))
    }

    /// Complains of options that had no effect because they are wrong.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.seen > 0 && self.kept == 0 {
            let strip = u32::try_from(self.strip).unwrap_or(u32::MAX);
            return Err(Problem::Strip { strip, first: self.first_names.clone() });
        }
        let first = || self.first_stripped.clone();
        if let Some(pattern) = self.include.iter().find(|pattern| !pattern.matched) {
            return Err(Problem::Include { pattern: pattern.text.clone(), first: first() });
        }
        match self.renamed.iter().position(|renamed| !renamed) {
            Some(at) => {
                Err(Problem::Rename { from: self.rename[at].from.to_string(), first: first() })
            }
            None => Ok(()),
        }
    }

    fn stripped(&self, path: &TreePath) -> Option<Result<TreePath, TreePathError>> {
        if self.strip == 0 {
            return Some(Ok(path.clone()));
        }
        let rest = path.as_str().splitn(self.strip + 1, '/').nth(self.strip)?;
        Some(rest.parse())
    }

    fn renaming(&self, path: &TreePath) -> Option<(usize, TreePath)> {
        self.rename.iter().enumerate().find_map(|(at, rename)| {
            if *path == rename.from {
                return Some((at, rename.to.clone()));
            }
            let below = path.strip(&rename.from)?;
            Some((at, below.under(Some(&rename.to))))
        })
    }
}
