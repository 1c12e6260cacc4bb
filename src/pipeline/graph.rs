//! `graph`: the dependency graph of a lock as text.

use std::collections::BTreeSet;

use serde::Serialize;

use super::fetch::section;
use super::project::{Project, choose_platform};
use super::{Result, Settings};
use crate::lock::LockedPlatform;
use crate::model::{Name, Platform};

/// The dependency graph of a lock.
#[derive(Debug, Serialize)]
pub struct GraphReport {
    /// The environment.
    pub environment: Name,
    /// The platform.
    pub platform: Platform,
    /// The nodes and whom each needs.
    pub nodes: Vec<GraphNode>,
    /// The same as an indented text, a line each.
    pub lines: Vec<String>,
}

/// One node.
#[derive(Debug, Serialize)]
pub struct GraphNode {
    /// Its name.
    pub name: Name,
    /// `package` or `host`.
    pub kind: &'static str,
    /// Its version, or the versions that will do for a host component.
    pub version: String,
    /// Whether it is built only on `--with`.
    pub optional: bool,
    /// Whom it needs.
    pub depends: Vec<Name>,
}

/// The graph of the lock as it is; the manifest only says which environment.
pub fn graph(settings: &Settings, platform: Option<Platform>) -> Result<GraphReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let environment = project.environment(&manifest)?;
    let lock = project.required_lock(&environment.name)?;
    let platform = choose_platform(environment, platform)?;
    let section = section(&lock, platform)?;
    let mut lines = Vec::new();
    let mut shown = BTreeSet::new();
    let names: Vec<&Name> = section.packages.keys().chain(section.hosts.keys()).collect();
    let direct: Vec<&Name> = names.iter().copied().filter(|name| section.is_direct(name)).collect();
    for (at, name) in direct.iter().enumerate() {
        let last = at + 1 == direct.len();
        branch(section, name, "", last, &mut shown, &mut lines);
    }
    Ok(GraphReport {
        environment: environment.name.clone(),
        platform,
        nodes: nodes(section),
        lines,
    })
}

/// Draws a node and what it needs; what was drawn before is not drawn again.
fn branch<'l>(
    section: &'l LockedPlatform,
    name: &'l Name,
    indent: &str,
    last: bool,
    shown: &mut BTreeSet<&'l Name>,
    lines: &mut Vec<String>,
) {
    let first = shown.insert(name);
    let depends = section.depends(name);
    let again = if !first && !depends.is_empty() { " (see above)" } else { "" };
    let corner = if last { "└─ " } else { "├─ " };
    lines.push(format!("{indent}{corner}{}{again}", title(section, name)));
    if !first {
        return;
    }
    let deeper = format!("{indent}{}", if last { "   " } else { "│  " });
    for (at, needed) in depends.iter().enumerate() {
        branch(section, needed, &deeper, at + 1 == depends.len(), shown, lines);
    }
}

/// A node in words: `zluda 6-preview.69`, `host hip-sdk 6.4.*`.
pub(super) fn title(section: &LockedPlatform, name: &Name) -> String {
    if let Some(package) = section.packages.get(name) {
        let optional = if package.optional { " (optional)" } else { "" };
        return format!("{name} {}{optional}", package.version);
    }
    match section.hosts.get(name) {
        Some(host) => format!("host {name} {}", host.range),
        None => name.to_string(),
    }
}

fn nodes(section: &LockedPlatform) -> Vec<GraphNode> {
    let packages = section.packages.values().map(|package| GraphNode {
        name: package.name.clone(),
        kind: "package",
        version: package.version.to_string(),
        optional: package.optional,
        depends: package.depends.clone(),
    });
    let hosts = section.hosts.values().map(|host| GraphNode {
        name: host.name.clone(),
        kind: "host",
        version: host.range.to_string(),
        optional: false,
        depends: Vec::new(),
    });
    packages.chain(hosts).collect()
}
