//! `.drystone/environment.json`: what an environment is, inside its own tree.
//!
//! It holds nothing of a machine and no time: variables stand as templates, so the same lock gives
//! the same bytes anywhere. Keys are sorted at every level; two blanks indent; one LF ends it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::manifest::{Placement, Variable, VariableAction};
use crate::model::{Name, NodeId, Platform, Version};

use super::error::ComposeError;
use super::merge::Text;

pub(super) const FORMAT: u32 = 1;

/// Where the text lies inside an environment.
pub const ENVIRONMENT_TEXT: &str = ".drystone/environment.json";

/// What the text says of an environment.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentText<'a> {
    /// The environment's name.
    pub name: &'a Name,
    /// What it is for.
    pub platform: Platform,
    /// Its GPU targets.
    pub gpus: &'a BTreeSet<String>,
    /// Its variables, in the order written; those of other platforms are left out.
    pub variables: &'a [Variable],
    /// Its packages.
    pub packages: &'a BTreeMap<Name, DescribedPackage>,
}

/// A package as the text names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedPackage {
    /// Its version.
    pub version: Version,
    /// Where it lies.
    pub placement: Placement,
    /// Its node of the lock.
    pub node: NodeId,
}

// The fields of these are in the order of their names: serde writes them as they stand.

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    gpus: &'a BTreeSet<String>,
    name: &'a Name,
    packages: BTreeMap<&'a Name, PackageLine<'a>>,
    platform: Platform,
    variables: Vec<VariableLine<'a>>,
}

#[derive(Serialize)]
struct PackageLine<'a> {
    into: &'a str,
    node: &'a NodeId,
    version: &'a Version,
}

#[derive(Serialize)]
struct VariableLine<'a> {
    action: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

impl EnvironmentText<'_> {
    /// The text, ready to be handed to [`super::compose`].
    pub fn text(&self) -> Result<Text, ComposeError> {
        let packages = self.packages.iter().map(|(name, package)| {
            let DescribedPackage { version, placement, node } = package;
            (name, PackageLine { into: placement.as_str(), node, version })
        });
        let own = |variable: &&Variable| variable.platform.is_none_or(|p| p == self.platform);
        let document = Document {
            format: FORMAT,
            gpus: self.gpus,
            name: self.name,
            packages: packages.collect(),
            platform: self.platform,
            variables: self.variables.iter().filter(own).map(variable_line).collect(),
        };
        let mut content = serde_json::to_vec_pretty(&document)
            .map_err(|error| ComposeError::Description(error.to_string()))?;
        content.push(b'\n');
        let path = ENVIRONMENT_TEXT.parse().expect("a path"); // A test parses this constant.
        Ok(Text { path, content })
    }
}

fn variable_line(variable: &Variable) -> VariableLine<'_> {
    let (action, value) = match &variable.action {
        VariableAction::Set(value) => ("set", Some(value.as_str())),
        VariableAction::Prepend(value) => ("prepend", Some(value.as_str())),
        VariableAction::Append(value) => ("append", Some(value.as_str())),
        VariableAction::Unset => ("unset", None),
    };
    VariableLine { action, name: &variable.name, value }
}
