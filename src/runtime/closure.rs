//! The import closure: which libraries of the environment the program and the overlay need beyond
//! what lies in `app/`, so that they are found as they would be beside the original program.
//!
//! Windows: such a library is linked beside the executable, where the loader looks first. Linux:
//! its directory of the environment follows the overlay's in `LD_LIBRARY_PATH`. What is not found
//! in the environment is the system's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::error::Result;
use super::layout::{Layout, resolve};
use super::make_plan::{Note, PlanInputs};
use super::plan::{Plan, PlannedFile};
use crate::binary::{self, Imports};
use crate::manifest::Placement;
use crate::model::{BlobId, ComparedName, Entry, Family, Kind, Name, Tree, TreePath};

/// A file whose imports are to be looked at.
struct Importer {
    /// In `app/` or the environment.
    path: TreePath,
    blob: BlobId,
    executable: bool,
    /// Its directory in `app/`, if it lies there.
    directory: Option<Option<TreePath>>,
}

impl Importer {
    fn in_app(entry: &Entry) -> Option<Self> {
        Some(Self {
            path: entry.path.clone(),
            blob: entry.blob?,
            executable: entry.kind == Kind::Executable,
            directory: Some(entry.path.parent()),
        })
    }
}

/// Follows imports from the program and the overlay's files; adds to the layout or to the plan's
/// library path what they need.
pub(super) fn close(
    inputs: &PlanInputs<'_>,
    layout: &mut Layout,
    overlaid: &[TreePath],
    plan: &mut Plan,
    notes: &mut Vec<Note>,
) -> Result<()> {
    let family = inputs.platform.family();
    let by_name = names(inputs.tree, family);
    let beside = plan.program.parent();
    let mut waiting: VecDeque<Importer> = std::iter::once(&plan.program)
        .chain(overlaid)
        .filter_map(|path| layout.get(path))
        .filter_map(Importer::in_app)
        .collect();
    if let Some(first) = waiting.front_mut() {
        follow_program_link(inputs, first)?;
    }
    let overlay_paths: BTreeSet<&TreePath> = overlaid.iter().collect();
    let mut seen: BTreeSet<BlobId> = BTreeSet::new();
    while let Some(importer) = waiting.pop_front() {
        if !seen.insert(importer.blob) {
            continue;
        }
        let Some(found) = read(inputs, &importer, notes) else { continue };
        if !found.runs_on(inputs.platform) {
            if overlay_paths.contains(&importer.path) {
                let file = importer.path.clone();
                notes.push(Note::OtherMachine { file, machine: found.machine });
            }
            continue;
        }
        if let Some(rpath) = found.rpath.filter(|_| found.runpath.is_none()) {
            notes.push(Note::RpathFirst { file: importer.path.clone(), rpath });
        }
        let mut directories = vec![beside.clone()];
        directories.extend(importer.directory.clone());
        directories.extend(plan.library_path.iter().cloned());
        for library in found.libraries.iter().chain(&found.delayed) {
            if let Some(entry) = layout.find(library, &directories) {
                waiting.extend(Importer::in_app(entry));
                continue;
            }
            let candidates = candidates(inputs, &by_name, library)?;
            let Some((at, entry)) = choose(inputs, library, &importer.path, &candidates, notes)
            else {
                continue;
            };
            let Some(blob) = entry.blob else { continue };
            let executable = entry.kind == Kind::Executable;
            if family == Family::Windows {
                let Ok(name) = at.file_name().parse::<TreePath>() else { continue };
                let path = name.under(beside.as_ref());
                if layout.obstacle(&path).is_some() {
                    continue;
                }
                layout.put(Entry { path: path.clone(), ..entry.clone() });
                let directory = Some(path.parent());
                waiting.push_back(Importer { path, blob, executable, directory });
            } else {
                if !plan.environment_library_path.contains(&at.parent()) {
                    plan.environment_library_path.push(at.parent());
                }
                plan.environment_files.push(PlannedFile::of(entry));
                let path = at.clone();
                waiting.push_back(Importer { path, blob, executable, directory: None });
            }
        }
    }
    Ok(())
}

/// A program that is a link is read where it leads.
fn follow_program_link(inputs: &PlanInputs<'_>, program: &mut Importer) -> Result<()> {
    let tree = inputs.files.unwrap_or(inputs.tree);
    let same = |entry: &&Entry| entry.kind == Kind::Link && entry.blob == Some(program.blob);
    let links = tree.entries().iter().filter(same);
    let name = program.path.file_name().to_owned();
    for link in links.filter(|link| link.path.file_name() == name) {
        if let Some(file) = resolve(tree, &link.path, inputs.platform.family(), inputs.reader)?
            && let Some(blob) = file.blob
        {
            program.blob = blob;
            program.executable = file.kind == Kind::Executable;
            return Ok(());
        }
    }
    Ok(())
}

fn read(inputs: &PlanInputs<'_>, importer: &Importer, notes: &mut Vec<Note>) -> Option<Imports> {
    match binary::imports(&(inputs.reader)(&importer.blob, importer.executable)) {
        Ok(found) => found,
        Err(error) => {
            let file = importer.path.clone();
            notes.push(Note::Unreadable { file, reason: error.to_string() });
            None
        }
    }
}

/// The files and links of a tree by their names.
fn names(tree: &Tree, family: Family) -> BTreeMap<ComparedName, Vec<&Entry>> {
    let mut names: BTreeMap<ComparedName, Vec<&Entry>> = BTreeMap::new();
    for entry in tree.entries().iter().filter(|entry| entry.kind != Kind::Directory) {
        names.entry(ComparedName::new(family, entry.path.file_name())).or_default().push(entry);
    }
    names
}

/// The different files that a library's name can mean, each with the first path it has. Files for
/// another machine are none of them.
fn candidates<'a>(
    inputs: &PlanInputs<'a>,
    by_name: &BTreeMap<ComparedName, Vec<&'a Entry>>,
    library: &str,
) -> Result<Vec<(&'a TreePath, &'a Entry)>> {
    let family = inputs.platform.family();
    let mut found: Vec<(&TreePath, &Entry)> = Vec::new();
    for entry in by_name.get(&ComparedName::new(family, library)).into_iter().flatten() {
        let Some(file) = resolve(inputs.tree, &entry.path, family, inputs.reader)? else {
            continue;
        };
        let Some(blob) = &file.blob else { continue };
        if found.iter().any(|(_, other)| other.blob == file.blob) {
            continue;
        }
        let path = (inputs.reader)(blob, file.kind == Kind::Executable);
        let fits = match binary::imports(&path) {
            Ok(Some(imports)) => imports.runs_on(inputs.platform),
            // What cannot be read is reported when its own imports are looked at.
            Ok(None) | Err(_) => true,
        };
        if fits {
            found.push((&entry.path, file));
        }
    }
    Ok(found)
}

/// Of several candidates, the one whose package `use` names first.
fn choose<'a>(
    inputs: &PlanInputs<'_>,
    library: &str,
    importer: &TreePath,
    candidates: &[(&'a TreePath, &'a Entry)],
    notes: &mut Vec<Note>,
) -> Option<(&'a TreePath, &'a Entry)> {
    let chosen =
        *candidates.iter().min_by_key(|(path, _)| (rank(inputs, path), (*path).clone()))?;
    if candidates.len() > 1 {
        notes.push(Note::SeveralCandidates {
            library: library.to_owned(),
            importer: importer.clone(),
            candidates: candidates.iter().map(|(path, _)| (*path).clone()).collect(),
            chosen: chosen.0.clone(),
        });
    }
    Some(chosen)
}

/// The place in the order of `use` of the package that holds a path; behind all of them for a
/// package that only a requirement brought.
fn rank(inputs: &PlanInputs<'_>, path: &TreePath) -> (usize, Option<Name>) {
    let holder = inputs
        .packages
        .iter()
        .filter_map(|(name, package)| match &package.placement {
            Placement::Top => Some((0, name)),
            Placement::Under(directory) => {
                path.strip(directory).map(|_| (directory.as_str().len(), name))
            }
        })
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)))
        .map(|(_, name)| name.clone());
    let uses = &inputs.environment.uses;
    let place = uses.iter().position(|one| Some(&one.package) == holder.as_ref());
    (place.unwrap_or(uses.len()), holder)
}
