//! Tests over plain directories: contents in one folder, hard-linked into runtime directories.

#[cfg(unix)]
mod keeping;
mod planning;
mod presence;
#[cfg(unix)]
mod running;
#[cfg(unix)]
mod signals;
mod variables;
#[cfg(windows)]
mod windows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::*;
use crate::manifest::{Application, Environment, Overlay, Placement, Program, Use};
use crate::model::{BlobId, Entry, Kind, Name, Platform, Tree, TreeBuilder, TreePath};

pub(super) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub(super) fn path(text: &str) -> TreePath {
    text.parse().expect("a path")
}

pub(super) fn tree(entries: impl IntoIterator<Item = Entry>) -> Tree {
    let mut builder = TreeBuilder::default();
    for entry in entries {
        builder.add(entry).expect("an entry");
    }
    builder.finish().expect("a tree")
}

/// Contents in one folder, a tree of them realised, and the runtimes of one application.
pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) platform: Platform,
    entries: Vec<Entry>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::on(Platform::current().expect("a platform"))
    }

    pub(super) fn on(platform: Platform) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for below in ["blobs", "environment", "project/tool"] {
            std::fs::create_dir_all(directory.path().join(below)).expect("a directory");
        }
        Self { directory, platform, entries: Vec::new() }
    }

    pub(super) fn blobs(&self) -> Folder {
        Folder(self.directory.path().join("blobs"))
    }

    pub(super) fn environment(&self) -> PathBuf {
        self.directory.path().join("environment")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(super) fn runtimes(&self) -> PathBuf {
        self.project().join("tool")
    }

    pub(super) fn entry(&self, kind: Kind, at: &str, content: &[u8]) -> Entry {
        let blob = BlobId::from_bytes(*blake3::hash(content).as_bytes());
        let file = self.blobs().file(&blob);
        if !file.exists() {
            std::fs::write(&file, content).expect("a blob");
            let opened = std::fs::File::options().write(true).open(&file).expect("a blob");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800);
            opened.set_modified(time).expect("its time");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = if kind == Kind::Executable { 0o555 } else { 0o444 };
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode))
                    .expect("its mode");
            }
        }
        Entry::content(kind, content.len() as u64, blob, path(at))
    }

    /// Adds a file to the environment, realised too.
    pub(super) fn add(&mut self, kind: Kind, at: &str, content: impl AsRef<[u8]>) {
        let entry = self.entry(kind, at, content.as_ref());
        let target = entry.path.at(&self.environment());
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("a directory");
        let blob = entry.blob.expect("a blob");
        self.blobs().place(kind, &blob, entry.size, &target, false).expect("placed");
        self.entries.push(entry);
    }

    pub(super) fn tree(&self) -> Tree {
        tree(self.entries.iter().cloned())
    }

    pub(super) fn plan(
        &self,
        application: &Application,
        packages: &[(&str, &str, &[&str])],
    ) -> Result<(Plan, Vec<Note>)> {
        self.plan_with(application, packages, None)
    }

    pub(super) fn plan_with(
        &self,
        application: &Application,
        packages: &[(&str, &str, &[&str])],
        files: Option<&Tree>,
    ) -> Result<(Plan, Vec<Note>)> {
        let placed = |overlay: &[&str], at: &str| PlacedPackage {
            placement: if at == "." { Placement::Top } else { Placement::Under(path(at)) },
            overlay: overlay.iter().map(|file| path(file)).collect(),
        };
        let all: BTreeMap<Name, PlacedPackage> =
            packages.iter().map(|(key, at, overlay)| (name(key), placed(overlay, at))).collect();
        let uses = packages.iter().map(|(key, ..)| Use {
            package: name(key),
            range: "1".parse().expect("a range"),
            optional: false,
            platform: None,
        });
        let environment = Environment {
            name: name("stack"),
            about: None,
            platforms: [self.platform].into(),
            uses: uses.collect(),
            hosts: Vec::new(),
            gpus: Default::default(),
            variables: Vec::new(),
            overrides: Vec::new(),
        };
        let tree = self.tree();
        let blobs = self.blobs();
        make_plan(&PlanInputs {
            application,
            environment: &environment,
            platform: self.platform,
            tree: &tree,
            files,
            packages: &all,
            reader: &|blob, _| blobs.file(blob),
        })
    }

    /// A world with one script as the program of the application.
    pub(super) fn script(text: &str) -> (Self, Plan) {
        let mut world = Self::new();
        let (at, text) = if cfg!(windows) {
            ("tool/tool.bat", format!("@echo off\r\n{text}\r\n"))
        } else {
            ("tool/tool", format!("#!/bin/sh\n{text}\n"))
        };
        world.add(Kind::Executable, at, text);
        let (plan, _) = world.plan(&application(at), &[]).expect("a plan");
        (world, plan)
    }

    /// Runs a plan and waits for its end.
    pub(super) fn run(&self, plan: &Plan, arguments: &[&str], keep: Keep) -> Result<RunOutcome> {
        self.request(plan, arguments, keep, run)
    }

    /// Runs a plan and leaves it to itself.
    pub(super) fn detach(&self, plan: &Plan, arguments: &[&str], keep: Keep) -> Result<Detached> {
        self.request(plan, arguments, keep, run_detached)
    }

    fn request<T>(
        &self,
        plan: &Plan,
        arguments: &[&str],
        keep: Keep,
        how: impl FnOnce(&RunRequest<'_>, &dyn Placer) -> Result<T>,
    ) -> Result<T> {
        let arguments: Vec<std::ffi::OsString> =
            arguments.iter().map(std::ffi::OsString::from).collect();
        how(
            &RunRequest {
                plan,
                environment: &self.environment(),
                runtimes: &self.runtimes(),
                roots: "",
                hosts: &BTreeMap::new(),
                arguments: &arguments,
                keep,
                caller: &|| std::env::vars_os().collect(),
            },
            &self.blobs(),
        )
    }

    /// The ids of the runtime directories, sorted.
    pub(super) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> =
            list(&self.project()).expect("a list").into_iter().map(|info| info.id).collect();
        ids.sort();
        ids
    }
}

/// Contents as files named by their digests.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn file(&self, blob: &BlobId) -> PathBuf {
        self.0.join(blob.hex())
    }
}

impl Placer for Folder {
    fn place(
        &self,
        kind: Kind,
        blob: &BlobId,
        _size: u64,
        target: &Path,
        writable: bool,
    ) -> Result<(), PlaceError> {
        let source = self.file(blob);
        let placed = if kind == Kind::Link {
            #[cfg(unix)]
            {
                std::fs::read_to_string(&source)
                    .and_then(|text| std::os::unix::fs::symlink(text, target))
            }
            #[cfg(not(unix))]
            {
                Err(std::io::Error::other("no links here"))
            }
        } else if writable {
            std::fs::copy(&source, target).and_then(|_| make_writable(target))
        } else {
            std::fs::hard_link(&source, target)
        };
        placed.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => PlaceError::Missing,
            _ => PlaceError::Failed(error.into()),
        })
    }
}

fn make_writable(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

pub(super) fn application(program: &str) -> Application {
    Application {
        name: name("tool"),
        about: None,
        environment: name("stack"),
        programs: vec![Program { path: path(program), arguments: Vec::new(), platform: None }],
        files: None,
        overlays: Vec::new(),
        launch: None,
        variables: Vec::new(),
        writable: Vec::new(),
        working_directory: Default::default(),
        keep_runs: None,
        checks: Vec::new(),
    }
}

pub(super) fn overlay(package: &str, into: Option<&str>) -> Overlay {
    Overlay { package: name(package), into: into.map(path) }
}
