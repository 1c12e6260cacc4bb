//! Planning: which files an application's directory gets, from where, and what an overlay replaces.

use std::collections::BTreeMap;
use std::fmt;

use super::closure::close;
use super::error::{Result, RuntimeError, nearest};
use super::layout::{Layout, Reader, find_entry, follow, link_target, resolve};
use super::plan::{Plan, PlannedFile, PlannedLaunch, ReplacedFile, planned_variables};
use crate::binary;
use crate::manifest::{Application, Environment, Overlay, Placement};
use crate::model::{ComparedName, Entry, Family, Kind, Name, Platform, Tree, TreePath};

/// The directory of an environment that is drystone's own.
const OWN_DIRECTORY: &str = ".drystone";

/// What a plan is made from.
pub struct PlanInputs<'a> {
    /// The application.
    pub application: &'a Application,
    /// Its environment, as the manifest describes it.
    pub environment: &'a Environment,
    /// The platform to plan for.
    pub platform: Platform,
    /// The environment's tree.
    pub tree: &'a Tree,
    /// The application's own files, where it has `files`.
    pub files: Option<&'a Tree>,
    /// The packages in the environment.
    pub packages: &'a BTreeMap<Name, PlacedPackage>,
    /// The path of a blob's file; the second argument says whether the executable form is meant.
    pub reader: Reader<'a>,
}

/// A package of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedPackage {
    /// Where it lies.
    pub placement: Placement,
    /// The files it places among an application's, relative to it.
    pub overlay: Vec<TreePath>,
}

/// Something a person should know of a plan that is no error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// Several different files of the environment could be the library that a file imports.
    SeveralCandidates {
        /// The library.
        library: String,
        /// The file that imports it.
        importer: TreePath,
        /// Their paths in the environment.
        candidates: Vec<TreePath>,
        /// The one taken: of the package that `use` names first.
        chosen: TreePath,
    },
    /// A file has `DT_RPATH`, which the loader searches before `LD_LIBRARY_PATH`.
    RpathFirst {
        /// The file.
        file: TreePath,
        /// What it says.
        rpath: String,
    },
    /// A file of the overlay is for another machine.
    OtherMachine {
        /// The file, in `app/`.
        file: TreePath,
        /// What it is for.
        machine: binary::Machine,
    },
    /// A binary could not be read to its end; what it imports is unknown.
    Unreadable {
        /// The file.
        file: TreePath,
        /// Why.
        reason: String,
    },
    /// A link that leads out of the application's directory to no file was left out.
    LinkLeftOut {
        /// The link, in the environment or the application's files.
        link: TreePath,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralCandidates { library, importer, candidates, chosen } => {
                let all: Vec<&str> = candidates.iter().map(TreePath::as_str).collect();
                write!(
                    f,
                    "{importer} imports {library}, which the environment holds several times: {}; {chosen} is taken, its package comes first in the order of `use`",
                    all.join(", ")
                )
            }
            Self::RpathFirst { file, rpath } => write!(
                f,
                "{file} has DT_RPATH \"{rpath}\", which is searched before the overlay: it may load other libraries"
            ),
            Self::OtherMachine { file, machine } => {
                write!(f, "{file} is built for {machine} and cannot be loaded here")
            }
            Self::Unreadable { file, reason } => {
                write!(f, "what {file} imports is unknown: {reason}")
            }
            Self::LinkLeftOut { link } => {
                write!(f, "the link {link} leads out of the application's directory; left out")
            }
        }
    }
}

/// Plans an application. Everything that would keep it from starting and can be known without the
/// machine is an error here; what a person should know besides comes as notes, sorted.
pub fn make_plan(inputs: &PlanInputs<'_>) -> Result<(Plan, Vec<Note>)> {
    let application = inputs.application;
    let family = inputs.platform.family();
    let mut notes = Vec::new();
    let declared = program_line(inputs)?;
    let program = find_program(inputs, &declared.path)?;
    let mut layout = Layout::new(family);
    let program = match inputs.files {
        Some(files) => {
            put_directory(inputs, files, None, &mut layout, &mut notes)?;
            program
        }
        None => {
            let directory = program.parent();
            put_directory(inputs, inputs.tree, directory.as_ref(), &mut layout, &mut notes)?;
            directory.and_then(|directory| program.strip(&directory)).unwrap_or(program)
        }
    };
    let mut plan = Plan::new(application, inputs.platform, inputs.tree.id(), program);
    plan.arguments.clone_from(&declared.arguments);
    if let Some((launch, file)) = planned_launch(inputs)? {
        plan.launch = Some(launch);
        plan.environment_files.push(file);
    }
    for (name, package) in inputs.packages {
        plan.packages.insert(name.clone(), package.placement.directory().cloned());
    }
    plan.variables = planned_variables(&inputs.environment.variables, inputs.platform);
    plan.variables.extend(planned_variables(&application.variables, inputs.platform));
    let mut overlaid = Vec::new();
    for overlay in &application.overlays {
        put_overlay(inputs, overlay, &mut layout, &mut plan, &mut overlaid)?;
    }
    close(inputs, &mut layout, &overlaid, &mut plan, &mut notes)?;
    plan.files = planned_files(application, layout);
    plan.replaced.sort_by(|a, b| a.path.cmp(&b.path));
    plan.environment_files.sort_by(|a, b| a.path.cmp(&b.path));
    plan.environment_files.dedup();
    notes.sort();
    notes.dedup();
    Ok((plan, notes))
}

fn program_line<'a>(inputs: &PlanInputs<'a>) -> Result<&'a crate::manifest::Program> {
    let programs = &inputs.application.programs;
    let own = programs.iter().find(|program| program.platform == Some(inputs.platform));
    own.or_else(|| programs.iter().find(|program| program.platform.is_none())).ok_or_else(|| {
        RuntimeError::NoProgram {
            application: inputs.application.name.clone(),
            platform: inputs.platform,
        }
    })
}

/// The program's path as the tree spells it, once it is known to be one that can be started.
fn find_program(inputs: &PlanInputs<'_>, path: &TreePath) -> Result<TreePath> {
    let application = &inputs.application.name;
    let (tree, place) = match inputs.files {
        Some(files) => (files, "its files".to_owned()),
        None => (inputs.tree, format!("the environment \"{}\"", inputs.environment.name)),
    };
    let program = program_in(inputs, tree, place, path)?;
    let Some(target) = resolve(tree, &program, inputs.platform.family(), inputs.reader)? else {
        return Ok(program);
    };
    let Some(blob) = &target.blob else { return Ok(program) };
    if inputs.platform.family() == Family::Unix && target.kind != Kind::Executable {
        return Err(RuntimeError::NotExecutable {
            application: application.clone(),
            program: program.clone(),
            help: match inputs.files {
                Some(_) => "make the file executable (chmod +x), then build again",
                None => {
                    "say executable \"GLOB\" in its package's source, then lock and build again"
                }
            },
        });
    }
    let file = (inputs.reader)(blob, target.kind == Kind::Executable);
    match binary::imports(&file)? {
        Some(found) if !found.runs_on(inputs.platform) => Err(RuntimeError::WrongMachine {
            program,
            format: found.format,
            machine: found.machine,
            platform: inputs.platform,
        }),
        _ => Ok(program),
    }
}

fn program_in(
    inputs: &PlanInputs<'_>,
    tree: &Tree,
    place: String,
    path: &TreePath,
) -> Result<TreePath> {
    let family = inputs.platform.family();
    let there = match find_entry(tree, path, family) {
        Some(entry) if entry.kind == Kind::Directory => None,
        Some(entry) => resolve(tree, path, family, inputs.reader)?.map(|_| entry.path.clone()),
        None => resolve(tree, path, family, inputs.reader)?.map(|entry| entry.path.clone()),
    };
    there.ok_or_else(|| RuntimeError::ProgramNotFound {
        application: inputs.application.name.clone(),
        program: path.clone(),
        place,
        near: nearest(path.as_str(), file_paths(tree)),
    })
}

fn file_paths(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.entries()
        .iter()
        .filter(|entry| entry.kind != Kind::Directory)
        .map(|entry| entry.path.as_str())
}

/// The program that starts it, and the file that this is in the environment.
fn planned_launch(inputs: &PlanInputs<'_>) -> Result<Option<(PlannedLaunch, PlannedFile)>> {
    let Some(launch) = &inputs.application.launch else { return Ok(None) };
    let place = format!("the environment \"{}\"", inputs.environment.name);
    let program = program_in(inputs, inputs.tree, place, &launch.program)?;
    let family = inputs.platform.family();
    let Some(file) = resolve(inputs.tree, &program, family, inputs.reader)? else {
        return Ok(None); // It was just resolved.
    };
    let file = PlannedFile::of(file);
    Ok(Some((PlannedLaunch { program, arguments: launch.arguments.clone() }, file)))
}

/// Takes what lies below a directory of a tree. A link that stays inside stays a link; one that
/// leads out becomes the file it leads to.
fn put_directory(
    inputs: &PlanInputs<'_>,
    tree: &Tree,
    directory: Option<&TreePath>,
    layout: &mut Layout,
    notes: &mut Vec<Note>,
) -> Result<()> {
    let family = inputs.platform.family();
    for entry in tree.entries() {
        let path = match directory {
            Some(directory) => entry.path.strip(directory),
            None => Some(entry.path.clone()),
        };
        let Some(path) = path else { continue };
        if path.parts().next() == Some(OWN_DIRECTORY) {
            continue;
        }
        let mut taken = entry;
        if entry.kind == Kind::Link && directory.is_some() {
            let target = follow(&entry.path, &link_target(entry, inputs.reader)?);
            let inside =
                |target: &TreePath| directory.is_some_and(|top| target.strip(top).is_some());
            if !target.as_ref().is_some_and(inside) {
                match resolve(tree, &entry.path, family, inputs.reader)? {
                    Some(file) => taken = file,
                    None => {
                        notes.push(Note::LinkLeftOut { link: entry.path.clone() });
                        continue;
                    }
                }
            }
        }
        layout.put(Entry { path, ..taken.clone() });
    }
    Ok(())
}

/// Places a package's overlay files, by their file names, beside the executable or in `into`.
fn put_overlay(
    inputs: &PlanInputs<'_>,
    overlay: &Overlay,
    layout: &mut Layout,
    plan: &mut Plan,
    overlaid: &mut Vec<TreePath>,
) -> Result<()> {
    let application = &inputs.application.name;
    let name = &overlay.package;
    let package = inputs.packages.get(name).ok_or_else(|| RuntimeError::OverlayPackage {
        application: application.clone(),
        package: name.clone(),
        environment: inputs.environment.name.clone(),
        near: nearest(name.as_str(), inputs.packages.keys().map(Name::as_str)),
    })?;
    if package.overlay.is_empty() {
        return Err(RuntimeError::NoOverlay {
            application: application.clone(),
            package: name.clone(),
        });
    }
    let beside = plan.program.parent();
    let directory = overlay.into.clone().or_else(|| beside.clone());
    let mut placed: BTreeMap<ComparedName, Entry> = BTreeMap::new();
    for file in &package.overlay {
        let source = overlay_file(inputs, name, package, file)?;
        let own_name: TreePath = file_name(file);
        let path = own_name.under(directory.as_ref());
        let key = ComparedName::new(inputs.platform.family(), own_name.as_str());
        if let Some(same) = placed.get(&key) {
            if same.blob == source.blob {
                continue;
            }
            return Err(RuntimeError::OverlayTwice {
                package: name.clone(),
                name: own_name.as_str().to_owned(),
            });
        }
        placed.insert(key, source.clone());
        if let Some(reason) = layout.obstacle(&path) {
            return Err(RuntimeError::OverlayPlace { path, package: name.clone(), reason });
        }
        let before = layout.put(Entry { path: path.clone(), ..source.clone() });
        let path = before.as_ref().map_or(path, |before| before.path.clone());
        record_replacement(plan, before.as_ref(), source, name);
        if !overlaid.contains(&path) {
            overlaid.push(path);
        }
    }
    let searched = match inputs.platform.family() {
        Family::Unix => &mut plan.library_path,
        Family::Windows if directory == beside => return Ok(()),
        Family::Windows => &mut plan.search_path,
    };
    if !searched.contains(&directory) {
        searched.push(directory);
    }
    Ok(())
}

fn overlay_file<'a>(
    inputs: &PlanInputs<'a>,
    name: &Name,
    package: &PlacedPackage,
    file: &TreePath,
) -> Result<&'a Entry> {
    let top = package.placement.directory();
    let path = file.under(top);
    let found = resolve(inputs.tree, &path, inputs.platform.family(), inputs.reader)?;
    found.ok_or_else(|| {
        let own: Vec<TreePath> = inputs
            .tree
            .entries()
            .iter()
            .filter(|entry| entry.kind != Kind::Directory)
            .filter_map(|entry| top.map_or(Some(entry.path.clone()), |top| entry.path.strip(top)))
            .collect();
        RuntimeError::OverlayFile {
            package: name.clone(),
            file: file.clone(),
            near: nearest(file.as_str(), own.iter().map(TreePath::as_str)),
        }
    })
}

/// The last part of a path, as a path.
fn file_name(path: &TreePath) -> TreePath {
    path.parent().and_then(|parent| path.strip(&parent)).unwrap_or_else(|| path.clone())
}

/// Remembers what an overlay replaced; of several overlays on one file, the first content and the
/// last one.
fn record_replacement(plan: &mut Plan, before: Option<&Entry>, after: &Entry, package: &Name) {
    let (Some(before), Some(new)) = (before, after.blob) else { return };
    let Some(old) = before.blob.filter(|old| *old != new) else { return };
    match plan.replaced.iter_mut().find(|replaced| replaced.path == before.path) {
        Some(replaced) => {
            replaced.after = new;
            replaced.package = package.clone();
        }
        None => plan.replaced.push(ReplacedFile {
            path: before.path.clone(),
            before: old,
            after: new,
            package: package.clone(),
        }),
    }
}

fn planned_files(application: &Application, layout: Layout) -> Vec<PlannedFile> {
    let writable: Vec<_> = application.writable.iter().map(|glob| glob.matcher()).collect();
    let planned = |entry: Entry| PlannedFile {
        writable: entry.kind.is_file()
            && writable.iter().any(|glob| glob.is_match(entry.path.as_str())),
        path: entry.path,
        kind: entry.kind.into(),
        size: entry.size,
        blob: entry.blob,
    };
    layout.into_entries().into_iter().map(planned).collect()
}
