//! The plans of an environment's applications: how each is started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Result;
use super::build::Build;
use super::freshness::applications_of;
use crate::lock::program;
use crate::model::{BlobId, Name, Progress, Tree, TreeId};
use crate::runtime::{PlacedPackage, PlanInputs, PlannedFile, make_plan};

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
        let packages: BTreeMap<Name, PlacedPackage> = self
            .packages
            .iter()
            .map(|package| {
                let placed = PlacedPackage {
                    placement: package.placement.clone(),
                    overlay: package.overlay.clone(),
                };
                (package.name.clone(), placed)
            })
            .collect();
        let reader =
            |blob: &BlobId, executable: bool| -> PathBuf { self.store.blob_path(blob, executable) };
        let (mut plans, mut placed) = (BTreeMap::new(), Vec::new());
        for application in applications_of(self.manifest, self.environment) {
            if program(application, self.platform).is_none() {
                continue;
            }
            let left_out = application.overlays.iter().find(|overlay| {
                !packages.contains_key(&overlay.package)
                    && self.section.packages.contains_key(&overlay.package)
            });
            if let Some(overlay) = left_out {
                progress.note(&format!(
                    "application {} needs the optional package {}: build it with --with {}",
                    application.name, overlay.package, overlay.package,
                ));
                continue;
            }
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
            plans.insert(application.name.clone(), plan.to_json()?.into_bytes());
            placed.extend(plan.files);
        }
        let trees = files.values().map(Tree::id).collect();
        Ok(Planned { plans, trees, files: placed })
    }
}
