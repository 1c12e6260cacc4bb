//! Archives: those the store has are taken, the others fetched, several at a time.

use std::io;
use std::path::{Path, PathBuf};

use super::project::Project;
use super::{Error, Result};
use crate::fetch::{
    Ahead, Arriving, FetchError, FetchOptions, Fetched, Fetcher, Opened, Place, Request, check_file,
};
use crate::lock::LockedPackage;
use crate::manifest::SourceUrl;
use crate::model::{Name, Origin, OriginArchive, Progress, Sha256Digest, Version};
use crate::store::{DownloadPlace, Store};

/// An archive that a verb needs.
pub(super) struct Wanted<'a> {
    pub package: &'a Name,
    pub version: &'a Version,
    pub urls: &'a [SourceUrl],
    pub sha256: Option<Sha256Digest>,
    pub size: Option<u64>,
}

impl<'a> Wanted<'a> {
    pub fn of(package: &'a LockedPackage) -> Self {
        Self {
            package: &package.name,
            version: &package.version,
            urls: &package.urls,
            sha256: Some(package.sha256),
            size: package.size,
        }
    }

    fn label(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// What it is told by when it vanishes.
    pub fn origin(&self) -> Origin {
        let url = self.urls.first().map(SourceUrl::text).unwrap_or_default();
        Origin {
            package: self.package.clone(),
            version: self.version.clone(),
            path_in_package: None,
            archive: OriginArchive::at(&url, self.sha256),
        }
    }

    /// What its download is known by while its hash may not be known yet.
    fn key(&self) -> String {
        match &self.sha256 {
            Some(sha256) => sha256.hex(),
            None => {
                let urls: Vec<String> = self.urls.iter().map(SourceUrl::text).collect();
                blake3::hash(urls.join("\n").as_bytes()).to_hex().to_string()
            }
        }
    }
}

/// An archive that is in the store now.
pub(super) struct Brought {
    pub path: PathBuf,
    pub sha256: Sha256Digest,
    pub size: u64,
    /// Where it came from in this call; none when it was here.
    pub from: Option<String>,
}

/// Brings archives into a store.
pub(super) struct Archives<'a> {
    store: &'a Store,
    directory: &'a Path,
    fetcher: Fetcher,
}

impl<'a> Archives<'a> {
    pub fn new(project: &'a Project<'_>, store: &'a Store) -> Self {
        let options = FetchOptions { offline: project.settings.offline, ..FetchOptions::default() };
        Self { store, directory: &project.directory, fetcher: Fetcher::new(options) }
    }

    /// Brings all of them; the results are in their order.
    pub fn bring(&self, wanted: &[Wanted<'_>], progress: &dyn Progress) -> Result<Vec<Brought>> {
        self.bring_ahead(wanted, |_, _| {}, progress)
    }

    /// The same, and gives each to `ahead` before it is proven to be the right one: see [`Ahead`].
    pub fn bring_ahead(
        &self,
        wanted: &[Wanted<'_>],
        ahead: impl Fn(usize, Arriving) + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<Brought>> {
        let labels: Vec<String> = wanted.iter().map(Wanted::label).collect();
        let requests: Vec<Request<'_>> =
            wanted.iter().zip(&labels).map(|(one, label)| self.request(one, label)).collect();
        let open = |at: usize| self.open(&wanted[at], &|archive| ahead(at, archive), progress);
        let finish = |_, place: DownloadPlace<'_>, fetched: Fetched| {
            let from = fetched.url.as_ref().map(SourceUrl::text);
            let path = place.finish(&fetched.sha256)?;
            Ok(Brought { path, sha256: fetched.sha256, size: fetched.size, from })
        };
        let finish = |at: usize, place: DownloadPlace<'_>, fetched| {
            finish(at, place, fetched)
                .map_err(|error: Error| error.of_archive(&wanted[at].origin()))
        };
        let brought = self.fetcher.fetch_all(&requests, open, finish, &ahead, progress);
        brought.map_err(|errors| {
            let told = errors.into_iter().map(|error| told_with_origin(error, wanted));
            Error::one_or_several(told.collect())
        })
    }

    /// Takes a file that a person brought.
    pub fn take(
        &self,
        file: &Path,
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
    ) -> Result<Brought> {
        let label = wanted.label();
        match self.open(wanted, &|_| {}, progress)? {
            Opened::Here(here) => Ok(here),
            Opened::Place(place, files) => {
                let request = self.request(wanted, &label);
                let fetched = self.fetcher.take_file(file, &request, &files, progress)?;
                let path = place.finish(&fetched.sha256)?;
                let from = Some(file.display().to_string());
                Ok(Brought { path, sha256: fetched.sha256, size: fetched.size, from })
            }
        }
    }

    fn request<'r>(&'r self, wanted: &'r Wanted<'_>, label: &'r str) -> Request<'r> {
        Request {
            label,
            urls: wanted.urls,
            sha256: wanted.sha256,
            size: wanted.size,
            directory: self.directory,
        }
    }

    /// Looks again under the lock: another process may have brought it meanwhile.
    fn open(
        &self,
        wanted: &Wanted<'_>,
        ahead: Ahead<'_>,
        progress: &dyn Progress,
    ) -> Result<Opened<DownloadPlace<'a>, Brought>> {
        if let Some(here) = self.here(wanted, ahead, progress)? {
            return Ok(Opened::Here(here));
        }
        let place = self.store.download(&wanted.key(), progress)?;
        if let Some(here) = self.here(wanted, ahead, progress)? {
            return Ok(Opened::Here(here));
        }
        if let Some(sha256) = wanted.sha256
            && self.store.archive(&sha256)?.is_some()
        {
            progress.note(&format!(
                "the archive of {} in the store is damaged; fetching it again",
                wanted.label()
            ));
            place.discard(&sha256)?;
        }
        let files =
            Place { partial: place.partial(), validator: place.validator(), aside: place.aside() };
        Ok(Opened::Place(place, files))
    }

    /// An archive that is in the store, if it still has its hash: a disk may have spoiled it since it
    /// came, and a tar archive would not notice.
    fn here(
        &self,
        wanted: &Wanted<'_>,
        ahead: Ahead<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Brought>> {
        let Some(sha256) = wanted.sha256 else { return Ok(None) };
        let Some(path) = self.store.archive(&sha256)? else { return Ok(None) };
        if let Ok(archive) = Arriving::whole(&path) {
            ahead(archive);
        }
        match check_file(&path, &sha256, None, progress) {
            Ok(size) => Ok(Some(Brought { path, sha256, size, from: None })),
            Err(FetchError::WrongFile { .. }) => Ok(None),
            // It vanished since it was looked for.
            Err(FetchError::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// An archive that vanished while it was fetched is known by the name of its file.
fn told_with_origin(error: Error, wanted: &[Wanted<'_>]) -> Error {
    let files = error.vanished();
    let names = files.iter().filter_map(|file| file.file.as_ref()?.file_name()?.to_str());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let of = |one: &&Wanted<'_>| names.iter().any(|name| name.starts_with(&one.key()));
    match wanted.iter().find(of) {
        Some(one) => error.of_archive(&one.origin()),
        None => error,
    }
}
