//! The plans of an environment's applications: how each is started, and whether Windows could.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Result;
use super::build::Build;
use super::freshness::applications_of;
use crate::compose::{
    NOMINAL_ROOT_UNITS, PlacedDirectory, TooLong, path_units, require_path_budget,
};
use crate::lock::{LockedPackage, LockedPlatform, program};
use crate::manifest::{Application, Environment, Manifest};
use crate::model::{BlobId, Family, Name, NoProgress, Platform, Progress, Tree, TreeId, TreePath};
use crate::runtime::{PlacedPackage, Plan, PlanInputs, PlannedFile, make_plan};
use crate::store::Store;

/// The plans, as a generation records them.
pub(super) struct Planned {
    pub plans: BTreeMap<Name, Vec<u8>>,
    /// The trees of the applications' own files.
    pub trees: BTreeSet<TreeId>,
    /// What they place.
    pub files: Vec<PlannedFile>,
}

impl Build<'_> {
    /// Plans every application that has a program for the platform, and whose overlays are in the
    /// selection; others are said and left out.
    pub(super) fn plan_applications(
        &self,
        tree: &Tree,
        files: &BTreeMap<Name, Tree>,
        progress: &dyn Progress,
    ) -> Result<Planned> {
        let planning = Planning {
            store: self.store,
            manifest: self.manifest,
            environment: self.environment,
            platform: self.platform,
            section: self.section,
            packages: &self.packages,
        };
        let units = store_units(self.store);
        let (mut plans, mut placed) = (BTreeMap::new(), Vec::new());
        let mut too_long = Vec::new();
        for application in planning.applications() {
            if let Some(plan) = planning.plan(application, tree, files, progress)? {
                too_long.extend(too_long_for(&plan, units));
                plans.insert(application.name.clone(), plan.to_json()?.into_bytes());
                placed.extend(plan.files);
            }
        }
        require_path_budget(too_long)?;
        Ok(Planned { plans, trees: files.values().map(Tree::id).collect(), files: placed })
    }
}

/// What plans are made from.
pub(super) struct Planning<'a> {
    pub store: &'a Store,
    pub manifest: &'a Manifest,
    pub environment: &'a Environment,
    pub platform: Platform,
    pub section: &'a LockedPlatform,
    /// The packages in the environment.
    pub packages: &'a [&'a LockedPackage],
}

impl<'a> Planning<'a> {
    /// The applications that have a program for the platform.
    fn applications(&self) -> impl Iterator<Item = &'a Application> {
        let platform = self.platform;
        applications_of(self.manifest, self.environment)
            .filter(move |application| program(application, platform).is_some())
    }

    /// The plan of one application; none, with a word about it, where an overlay was not selected.
    fn plan(
        &self,
        application: &Application,
        tree: &Tree,
        files: &BTreeMap<Name, Tree>,
        progress: &dyn Progress,
    ) -> Result<Option<Plan>> {
        let packages = self.placed();
        let left_out = application.overlays.iter().find(|overlay| {
            !packages.contains_key(&overlay.package)
                && self.section.packages.contains_key(&overlay.package)
        });
        if let Some(overlay) = left_out {
            progress.note(&format!(
                "application {} needs the optional package {}: build it with --with {}",
                application.name, overlay.package, overlay.package,
            ));
            return Ok(None);
        }
        let reader =
            |blob: &BlobId, executable: bool| -> PathBuf { self.store.blob_path(blob, executable) };
        let (plan, notes) = make_plan(&PlanInputs {
            application,
            environment: self.environment,
            platform: self.platform,
            tree,
            files: files.get(&application.name),
            packages: &packages,
            reader: &reader,
        })?;
        for note in notes {
            progress.note(&format!("{}: {note}", application.name));
        }
        Ok(Some(plan))
    }

    fn placed(&self) -> BTreeMap<Name, PlacedPackage> {
        let placed = |package: &&LockedPackage| {
            let placed = PlacedPackage {
                placement: package.placement.clone(),
                overlay: package.overlay.clone(),
            };
            (package.name.clone(), placed)
        };
        self.packages.iter().map(placed).collect()
    }

    /// Checks, without the applications' own files, that Windows could start every application from a
    /// store whose path has this many units, and load what lies beside it.
    pub(super) fn check_lengths(&self, tree: &Tree, store_units: usize) -> Result<()> {
        let mut too_long = too_long_in(self.environment, tree, self.platform, store_units);
        for application in self.applications() {
            if application.files.is_some() {
                let directory = PlacedDirectory::runtime(store_units, &application.name);
                let paths = self.declared(application);
                too_long.extend(directory.too_long(&paths, paths.first(), self.platform));
            } else if let Some(plan) =
                self.plan(application, tree, &BTreeMap::new(), &NoProgress)?
            {
                too_long.extend(too_long_for(&plan, store_units));
            }
        }
        Ok(require_path_budget(too_long)?)
    }

    /// The paths in its directory that an application's description names: its program first, then
    /// those of its overlays.
    fn declared(&self, application: &Application) -> Vec<TreePath> {
        let Some(program) = program(application, self.platform) else { return Vec::new() };
        let mut paths = vec![program.path.clone()];
        for overlay in &application.overlays {
            let Some(package) = self.section.packages.get(&overlay.package) else { continue };
            let directory = overlay.into.clone().or_else(|| program.path.parent());
            let names = package.overlay.iter().filter_map(|file| file.file_name().parse().ok());
            paths.extend(names.map(|name: TreePath| name.under(directory.as_ref())));
        }
        paths
    }
}

/// What Windows could not use of an environment where it is realised.
pub(super) fn too_long_in(
    environment: &Environment,
    tree: &Tree,
    platform: Platform,
    store_units: usize,
) -> Vec<TooLong> {
    let directory = PlacedDirectory::realised(store_units, &environment.name);
    directory.too_long(tree.entries().iter().map(|entry| &entry.path), None, platform)
}

/// What Windows could not use of an application's runtime directory, or of what starts it.
pub(super) fn too_long_for(plan: &Plan, store_units: usize) -> Vec<TooLong> {
    let directory = PlacedDirectory::runtime(store_units, &plan.application);
    let paths = plan.files.iter().map(|file| &file.path);
    let mut too_long = directory.too_long(paths, Some(&plan.program), plan.platform);
    if let Some(launch) = &plan.launch {
        let environment = PlacedDirectory::realised(store_units, &plan.environment);
        let program = Some(&launch.program);
        too_long.extend(environment.too_long(program, program, plan.platform));
    }
    too_long
}

/// The UTF-16 units of the store's path where Windows reads it; elsewhere those it is taken to have.
pub(super) fn store_units(store: &Store) -> usize {
    match Family::current() {
        Family::Windows => path_units(store.root()),
        Family::Unix => NOMINAL_ROOT_UNITS,
    }
}
