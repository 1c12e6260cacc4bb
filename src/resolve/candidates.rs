//! What can meet one demand, best first, or why nothing can.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Available;
use super::error::{Asker, ResolveError};
use super::search::{Demand, State};
use crate::manifest::{Package, PackageVersion, Provided, Source};
use crate::model::{Name, Platform, Version};

/// One way to meet a demand.
pub(super) enum Candidate<'a> {
    /// What is in the graph already.
    Chosen(&'a Name),
    /// A version of a package that is not in it yet.
    Package { name: &'a Name, version: &'a PackageVersion, source: &'a Source },
    /// A declared host component, narrowed to this range.
    Host { name: &'a Name, range: crate::model::Range },
}

/// Looks for candidates.
pub(super) struct Finder<'a, 'f> {
    pub(super) platform: Platform,
    pub(super) available: Available<'a>,
    pub(super) favoured: &'f BTreeMap<Name, Version>,
    /// Which packages have a version that provides a name: those of the old lock first, then by
    /// name.
    providers: BTreeMap<&'a Name, Vec<&'a Package>>,
}

impl<'a, 'f> Finder<'a, 'f> {
    pub(super) fn new(
        platform: Platform,
        available: Available<'a>,
        favoured: &'f BTreeMap<Name, Version>,
    ) -> Self {
        let mut providers: BTreeMap<&Name, Vec<&Package>> = BTreeMap::new();
        for package in available.packages.values() {
            let provides = package.versions.iter().flat_map(|version| &version.provides);
            for name in provides.map(|one| &one.name).collect::<BTreeSet<_>>() {
                providers.entry(name).or_default().push(package);
            }
        }
        for packages in providers.values_mut() {
            packages.sort_by_key(|package| !favoured.contains_key(&package.name));
        }
        Self { platform, available, favoured, providers }
    }

    /// The candidates of a demand, best first and at least one.
    pub(super) fn candidates(
        &self,
        state: &State<'a>,
        demand: &Demand,
    ) -> Result<VecDeque<Candidate<'a>>, ResolveError> {
        if let Some((&name, chosen)) = state.packages.get_key_value(&demand.name) {
            if demand.range.contains(&chosen.version.version) {
                return Ok(VecDeque::from([Candidate::Chosen(name)]));
            }
            let mut asked = chosen.asked.clone();
            asked.push(demand.asked());
            let (name, versions) = (name.clone(), self.versions(name));
            return Err(ResolveError::Conflict { name, asked, versions });
        }
        if matches!(demand.by, Asker::Environment(_)) {
            let found: VecDeque<_> = self.of_package(&demand.name, demand).into();
            return if found.is_empty() { Err(self.why_no_package(demand)) } else { Ok(found) };
        }
        if let Some((&name, host)) = state.hosts.get_key_value(&demand.name) {
            let range = host.range.and(&demand.range);
            if range.is_empty() {
                return Err(host_conflict(state, name, demand));
            }
            return Ok(VecDeque::from([Candidate::Host { name, range }]));
        }
        let found: VecDeque<_> = chosen_providers(state, demand)
            .chain(host_providers(state, demand))
            .chain(self.of_package(&demand.name, demand))
            .chain(self.other_providers(state, demand))
            .collect();
        if found.is_empty() { Err(self.why_nothing(state, demand)) } else { Ok(found) }
    }

    fn versions(&self, name: &Name) -> Vec<Version> {
        let package = self.available.packages.get(name);
        let mut versions: Vec<Version> = package
            .into_iter()
            .flat_map(|package| &package.versions)
            .map(|version| version.version.clone())
            .collect();
        versions.sort();
        versions
    }

    /// The versions of a package that `fits` takes and that have a source: the favoured one, then
    /// the newest first.
    fn best_first(
        &self,
        package: &'a Package,
        fits: impl Fn(&PackageVersion) -> bool,
    ) -> Vec<Candidate<'a>> {
        let favoured = self.favoured.get(&package.name);
        let mut found: Vec<_> = package
            .versions
            .iter()
            .filter(|version| fits(version))
            .filter_map(|version| version.source(self.platform).map(|source| (version, source)))
            .collect();
        found.sort_by(|(a, _), (b, _)| {
            let is_favoured = |one: &PackageVersion| favoured == Some(&one.version);
            is_favoured(b).cmp(&is_favoured(a)).then_with(|| b.version.cmp(&a.version))
        });
        let name = &package.name;
        found
            .into_iter()
            .map(|(version, source)| Candidate::Package { name, version, source })
            .collect()
    }

    fn of_package(&self, name: &Name, demand: &Demand) -> Vec<Candidate<'a>> {
        let package = self.available.packages.get(name);
        let found = package.map(|package| {
            self.best_first(package, |version| demand.range.contains(&version.version))
        });
        found.unwrap_or_default()
    }

    /// Packages of other names that provide it.
    fn other_providers(&self, state: &State<'a>, demand: &Demand) -> Vec<Candidate<'a>> {
        let packages = self.providers.get(&demand.name).into_iter().flatten();
        packages
            .filter(|package| package.name != demand.name)
            .filter(|package| !state.packages.contains_key(&package.name))
            .filter(|package| !state.hosts.contains_key(&package.name))
            .flat_map(|package| self.best_first(package, |version| provides(version, demand)))
            .collect()
    }

    /// Why a package that is asked for by name cannot be had.
    fn why_no_package(&self, demand: &Demand) -> ResolveError {
        let Some(package) = self.available.packages.get(&demand.name) else {
            return ResolveError::UnknownName {
                name: demand.name.clone(),
                by: Box::new(demand.by.clone()),
                missing: "no package has that name",
                help: self.instead_of_package(&demand.name),
            };
        };
        let fitting = package.versions.iter().rfind(|one| demand.range.contains(&one.version));
        match fitting {
            Some(version) => ResolveError::NoSource {
                name: package.name.clone(),
                version: Box::new(version.version.clone()),
                platform: self.platform,
                has: version.sources.iter().filter_map(|source| source.platform).collect(),
            },
            None => ResolveError::NoVersion {
                name: package.name.clone(),
                range: demand.range.clone(),
                by: Box::new(demand.by.clone()),
                versions: self.versions(&package.name),
            },
        }
    }

    /// What to write where a name that is no package stands in a `use`.
    fn instead_of_package(&self, name: &Name) -> String {
        if self.available.hosts.contains_key(name) {
            return format!("only the machine can supply it; declare it: host \"{name}\" \"…\"");
        }
        if let Some(package) = self.providers.get(name).and_then(|packages| packages.first()) {
            return format!("use \"{}\", which provides it", package.name);
        }
        nearest(name, self.available.packages.keys()).map_or_else(
            || format!("describe it in the manifest or a catalogue: package \"{name}\" {{ … }}"),
            |near| format!("did you mean \"{near}\"?"),
        )
    }

    /// Why nothing meets a requirement.
    fn why_nothing(&self, state: &State<'a>, demand: &Demand) -> ResolveError {
        let declared = state.hosts.iter().find(|(_, host)| {
            host.description.provides.iter().any(|one| provided_fits(one, demand))
        });
        if let Some((name, _)) = declared {
            return host_conflict(state, name, demand);
        }
        let suppliers: Vec<String> = self
            .available
            .hosts
            .values()
            .filter(|host| !state.hosts.contains_key(&host.name))
            .filter(|host| {
                host.name == demand.name
                    || host.provides.iter().any(|one| provided_fits(one, demand))
            })
            .map(|host| format!("host \"{}\" \"…\"", host.name))
            .collect();
        if !suppliers.is_empty() {
            return ResolveError::UndeclaredHost {
                name: demand.name.clone(),
                range: demand.range.clone(),
                by: Box::new(demand.by.clone()),
                help: format!("declare in the environment: {}", suppliers.join(" or ")),
            };
        }
        let provided = self.provided(&demand.name);
        if !self.available.packages.contains_key(&demand.name) {
            if !provided.is_empty() {
                return ResolveError::NotProvided {
                    name: demand.name.clone(),
                    range: demand.range.clone(),
                    by: Box::new(demand.by.clone()),
                    provided,
                };
            }
            return self.unknown_name(demand);
        }
        self.why_no_package(demand)
    }

    /// Which package versions and host components provide a name at a version, in words.
    fn provided(&self, name: &Name) -> Vec<String> {
        let hosts = self.available.hosts.values().flat_map(|host| {
            let offers = host.provides.iter().filter(|one| one.name == *name);
            let fixed = offers.filter_map(|one| one.version.as_ref());
            fixed.map(move |at| format!("host \"{}\" provides {at}", host.name))
        });
        let packages = self.providers.get(name).into_iter().flatten();
        let versions = packages
            .flat_map(|package| package.versions.iter().map(move |version| (package, version)));
        let packages = versions.flat_map(|(package, version)| {
            let offers = version.provides.iter().filter(|one| one.name == *name);
            offers.map(move |one| {
                let at = one.version.as_ref().unwrap_or(&version.version);
                let lacks = version.source(self.platform).is_none();
                let no_source = if lacks {
                    format!(" (no source for {})", self.platform)
                } else {
                    String::new()
                };
                format!("\"{}\" {} provides {at}{no_source}", package.name, version.version)
            })
        });
        packages.chain(hosts).collect()
    }

    fn unknown_name(&self, demand: &Demand) -> ResolveError {
        let by_hosts = self.available.hosts.values().flat_map(|host| &host.provides);
        let known = (self.available.packages.keys())
            .chain(self.available.hosts.keys())
            .chain(self.providers.keys().copied())
            .chain(by_hosts.map(|provided| &provided.name));
        let help = nearest(&demand.name, known).map_or_else(
            || "describe it in the manifest or a catalogue, or take the requirement out".to_owned(),
            |near| format!("did you mean \"{near}\"?"),
        );
        ResolveError::UnknownName {
            name: demand.name.clone(),
            by: Box::new(demand.by.clone()),
            missing: "no package, host component or `provides` has that name",
            help,
        }
    }

    /// That no catalogue describes a host component.
    pub(super) fn unknown_host(&self, environment: &Name, name: &Name) -> ResolveError {
        let help = nearest(name, self.available.hosts.keys()).map_or_else(
            || format!("describe it in the manifest or a catalogue: host \"{name}\" {{ … }}"),
            |near| format!("did you mean \"{near}\"?"),
        );
        ResolveError::UnknownHost { name: name.clone(), environment: environment.clone(), help }
    }
}

fn provides(version: &PackageVersion, demand: &Demand) -> bool {
    version.provides.iter().any(|one| {
        one.name == demand.name
            && demand.range.contains(one.version.as_ref().unwrap_or(&version.version))
    })
}

/// Whether a host component can stand for what is required; without a version its own counts.
fn provided_fits(provided: &Provided, demand: &Demand) -> bool {
    provided.name == demand.name
        && provided.version.as_ref().is_none_or(|version| demand.range.contains(version))
}

fn chosen_providers<'a>(state: &State<'a>, demand: &Demand) -> impl Iterator<Item = Candidate<'a>> {
    let fitting = state.packages.iter().filter(|(_, chosen)| provides(chosen.version, demand));
    fitting.map(|(&name, _)| Candidate::Chosen(name))
}

fn host_providers<'a>(state: &State<'a>, demand: &Demand) -> impl Iterator<Item = Candidate<'a>> {
    state.hosts.iter().filter_map(|(&name, host)| {
        let one = host.description.provides.iter().find(|one| provided_fits(one, demand))?;
        let range = match one.version {
            Some(_) => host.range.clone(),
            None => host.range.and(&demand.range),
        };
        (!range.is_empty()).then_some(Candidate::Host { name, range })
    })
}

fn host_conflict(state: &State<'_>, name: &Name, demand: &Demand) -> ResolveError {
    let mut asked = state.hosts.get(name).map(|host| host.asked.clone()).unwrap_or_default();
    asked.push(demand.asked());
    ResolveError::HostConflict { name: name.clone(), asked }
}

/// The known name that this one is likely a misspelling of.
fn nearest<'n>(name: &Name, known: impl Iterator<Item = &'n Name>) -> Option<&'n Name> {
    let distance = |other: &Name| strsim::damerau_levenshtein(name.as_str(), other.as_str());
    let known: BTreeSet<&Name> = known.collect();
    let (found, near) = known
        .into_iter()
        .map(|other| (other, distance(other)))
        .min_by_key(|&(_, distance)| distance)?;
    (near <= (name.as_str().len() / 3).max(1)).then_some(found)
}
