//! Environments as the manifest describes them.

use std::collections::BTreeSet;

use crate::model::{Name, Platform, Range, TreePath};

/// A named set of packages, host components, GPU targets and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name.
    pub name: Name,
    /// One line that says what it is for.
    pub about: Option<String>,
    /// The platforms it is locked for.
    pub platforms: BTreeSet<Platform>,
    /// The packages it asks for, in the order written.
    pub uses: Vec<Use>,
    /// The host components it asks for, in the order written.
    pub hosts: Vec<HostUse>,
    /// GPU targets, such as `gfx1200`.
    pub gpus: BTreeSet<String>,
    /// Variables, in the order written: later ones see earlier ones.
    pub variables: Vec<Variable>,
    /// Which package wins at a path that several hold with different content.
    pub overrides: Vec<Override>,
}

/// `use "zluda" "6-preview.69"`: a package that an environment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The package.
    pub package: Name,
    /// The versions that will do; a bare version is exact.
    pub range: Range,
    /// Whether it is built only on `--with`.
    pub optional: bool,
    /// Only on this platform.
    pub platform: Option<Platform>,
}

/// `host "hip-sdk" "6.4"`: something only the machine can supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUse {
    /// The host component.
    pub component: Name,
    /// The versions that will do; a bare version is a prefix.
    pub range: Range,
    /// Only on this platform.
    pub platform: Option<Platform>,
}

/// `set "ZLUDA_CC" "8.6"`: a variable of the processes of an environment or application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What happens to it.
    pub action: VariableAction,
    /// Only on this platform.
    pub platform: Option<Platform>,
}

/// What happens to a variable. Values are templates: `{environment}`, `{package.<name>}`,
/// `{host.<name>}`, `{app}`, `{home}`, `{tmp}` stand for directories and are expanded at the start
/// of a process; `{{` and `}}` stand for braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariableAction {
    /// Gets this value.
    Set(String),
    /// Gets this value in front, joined by the path separator of the platform.
    Prepend(String),
    /// Gets this value behind, joined by the path separator of the platform.
    Append(String),
    /// Is absent.
    Unset,
}

/// `override "lib/x.dll" "zluda"`: which package wins at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The path inside the environment.
    pub path: TreePath,
    /// The package whose file is taken.
    pub package: Name,
}

/// `catalogue "catalogues/team.kdl"`: a file or directory of package descriptions beside the
/// manifest, relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueReference {
    /// The path as written, `/`-separated.
    pub path: String,
}
