//! `why`: why a package or a file is in an environment.

use serde::Serialize;

use super::diff::tree;
use super::fetch::section;
use super::graph::title;
use super::project::{Project, choose_platform};
use super::{Error, Result, Settings};
use crate::generation::Generations;
use crate::lock::{Lock, LockedPlatform};
use crate::model::{Name, NoProgress, Platform, TreePath, nearest};
use crate::store::Store;

/// Why something is in an environment.
#[derive(Debug, Serialize)]
pub struct WhyReport {
    /// What was asked about.
    pub what: String,
    /// The answer, a line each.
    pub lines: Vec<String>,
}

/// Answers for a package or host component of the lock, or for a path of the built environment.
pub fn why(settings: &Settings, what: &str, platform: Option<Platform>) -> Result<WhyReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let environment = project.environment(&manifest)?;
    let lock = project.required_lock(&environment.name)?;
    let section = section(&lock, choose_platform(environment, platform)?)?;
    let named = what.parse::<Name>().ok();
    if let Some(name) = named.filter(|name| is_node(section, name)) {
        return Ok(WhyReport { what: what.to_owned(), lines: why_node(section, &lock, &name) });
    }
    let store = project.store(&NoProgress)?;
    let generations = Generations::open(&store.environment_path(&project.id()?, &environment.name));
    let lines = match what.parse::<TreePath>() {
        Ok(path) => why_path(&store, &generations, section, &lock, &path)?,
        Err(_) => Vec::new(),
    };
    if lines.is_empty() {
        let names = section.packages.keys().chain(section.hosts.keys()).map(Name::as_str);
        let near = match nearest(what, names) {
            Some(near) => Some(near.to_owned()),
            None => near_path(&store, &generations, what)?,
        };
        let help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "\"drystone graph\" lists the packages; a path is written as it is inside the environment: PACKAGE/FILE".to_owned(),
        };
        let environment = environment.name.clone();
        return Err(Error::NothingKnown { what: what.to_owned(), environment, help });
    }
    Ok(WhyReport { what: what.to_owned(), lines })
}

fn is_node(section: &LockedPlatform, name: &Name) -> bool {
    section.packages.contains_key(name) || section.hosts.contains_key(name)
}

fn why_node(section: &LockedPlatform, lock: &Lock, name: &Name) -> Vec<String> {
    let mut lines = vec![title(section, name)];
    for path in section.paths_to(name) {
        let steps: Vec<String> = path.iter().map(|step| title(section, step)).collect();
        lines.push(format!("  environment {} → {}", lock.environment, steps.join(" → ")));
    }
    lines
}

/// Which packages hold a path, and why those are there.
fn why_path(
    store: &Store,
    generations: &Generations,
    section: &LockedPlatform,
    lock: &Lock,
    path: &TreePath,
) -> Result<Vec<String>> {
    let Some(generation) = generations.current()? else { return Ok(Vec::new()) };
    let environment = tree(store, &generation)?;
    let Some(entry) = environment.get(path) else { return Ok(Vec::new()) };
    let blob = entry.blob.map(|blob| blob.to_string()).unwrap_or_default();
    let mut lines = vec![format!("{path}  {} bytes  {blob}", entry.size)];
    for (name, identity) in &generation.packages {
        let Some(package) = section.packages.get(name) else { continue };
        let inside = match package.placement.directory() {
            Some(directory) => path.strip(directory),
            None => Some(path.clone()),
        };
        let Some(tree) = store.tree(&identity.tree)? else { continue };
        let Some(held) = inside.as_ref().and_then(|inside| tree.get(inside)) else { continue };
        let mut why = why_node(section, lock, name);
        if held.blob != entry.blob
            && let Some(first) = why.first_mut()
        {
            first.push_str(" (overridden: it holds another file there)");
        }
        lines.extend(why.into_iter().map(|line| format!("  {line}")));
    }
    Ok(lines)
}

/// A path of the built environment that was probably meant: one that is alike, else the only one
/// that ends in the same name.
fn near_path(store: &Store, generations: &Generations, what: &str) -> Result<Option<String>> {
    let Some(generation) = generations.current()? else { return Ok(None) };
    let environment = tree(store, &generation)?;
    let paths = || environment.entries().iter().map(|entry| entry.path.as_str());
    if let Some(near) = nearest(what, paths()) {
        return Ok(Some(near.to_owned()));
    }
    let last = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let mut same = paths().filter(|path| last(path) == last(what));
    Ok(match (same.next(), same.next()) {
        (Some(only), None) => Some(only.to_owned()),
        _ => None,
    })
}
