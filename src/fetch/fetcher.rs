//! Fetches one archive: what is here already, then mirror after mirror.

use std::sync::OnceLock;

use super::arriving::Arriving;
use super::download::Download;
use super::error::{Attempt, FetchError};
use super::exchange::Web;
use super::local::{CopyFailed, copy_verified, take_file};
use super::options::FetchOptions;
use super::partial::Partial;
use super::request::{Ahead, Fetched, Place, Request};
use super::trouble::Trouble;
use crate::manifest::SourceUrl;
use crate::model::Progress;

/// Fetches archives; one for a whole command, shared by its threads. The HTTP client is made when
/// the first address needs it.
pub struct Fetcher {
    pub(super) options: FetchOptions,
    web: OnceLock<Web>,
}

impl Fetcher {
    /// A fetcher with these settings.
    pub const fn new(options: FetchOptions) -> Self {
        Self { options, web: OnceLock::new() }
    }

    /// Fetches one archive into its place, and lets others begin to work with it. After `Ok` the
    /// place's partial file is complete, verified and closed. After an error it holds what can be
    /// continued.
    pub fn fetch(
        &self,
        request: &Request,
        place: &Place,
        ahead: Ahead<'_>,
        progress: &dyn Progress,
    ) -> Result<Fetched, FetchError> {
        if request.urls.is_empty() {
            return Err(FetchError::NoSource { label: request.label.to_owned() });
        }
        if let Some(fetched) = self.complete_already(request, place, progress)? {
            tell(ahead, request, place)?;
            return Ok(fetched);
        }
        let mut attempts = Vec::new();
        for source in request.urls {
            if self.options.cancelled() {
                return Err(FetchError::Cancelled { label: request.label.to_owned() });
            }
            match self.try_source(source, request, place, ahead, progress)? {
                Ok(fetched) => return Ok(Fetched { url: Some(source.clone()), ..fetched }),
                Err(attempt) => {
                    if attempts.len() + 1 < request.urls.len() {
                        let label = request.label;
                        progress.note(&format!("{label}: {attempt}; trying the next mirror"));
                    }
                    attempts.push(attempt);
                }
            }
        }
        if attempts.iter().all(|attempt| attempt.trouble == Trouble::Offline) {
            return Err(FetchError::Offline {
                label: request.label.to_owned(),
                size: request.size,
                url: request.urls[0].text(),
                help: if request.sha256.is_some() {
                    "run the command once without --offline, or bring the file and give it with `drystone fetch --from FILE`"
                } else {
                    "nobody published its hash, so it must be fetched once: run the command without --offline, or add its `sha256` to the source"
                },
            });
        }
        Err(FetchError::unavailable(request.label, request.sha256.is_some(), attempts))
    }

    /// Takes a file brought by hand into the place, if it is the right one; see [`take_file`].
    pub fn take_file(
        &self,
        from: &std::path::Path,
        request: &Request,
        place: &Place,
        progress: &dyn Progress,
    ) -> Result<Fetched, FetchError> {
        take_file(from, request, place, &self.options, progress)
    }

    /// Whether an earlier run ended after the last byte and before the end.
    fn complete_already(
        &self,
        request: &Request,
        place: &Place,
        progress: &dyn Progress,
    ) -> Result<Option<Fetched>, FetchError> {
        let (Some(sha256), Ok(metadata)) = (request.sha256, std::fs::metadata(&place.partial))
        else {
            return Ok(None);
        };
        if metadata.len() == 0 || request.size.is_none_or(|size| size != metadata.len()) {
            return Ok(None);
        }
        let partial = Partial::open(place, request, &self.options, progress)?;
        if partial.sha256() != sha256 {
            return Ok(None);
        }
        let size = partial.length();
        partial.finish()?;
        Ok(Some(Fetched { sha256, size, url: None }))
    }

    fn try_source(
        &self,
        source: &SourceUrl,
        request: &Request,
        place: &Place,
        ahead: Ahead<'_>,
        progress: &dyn Progress,
    ) -> Result<Result<Fetched, Attempt>, FetchError> {
        let given_up = |trouble, tries| Ok(Err(Attempt { url: source.text(), tries, trouble }));
        let url = match source {
            SourceUrl::File(path) => {
                let path = request.directory.join(path);
                return match copy_verified(&path, request, place, &self.options, ahead, progress) {
                    Ok(fetched) => Ok(Ok(fetched)),
                    Err(CopyFailed::Source(trouble)) => given_up(trouble, 1),
                    Err(CopyFailed::Fatal(error)) => Err(error),
                };
            }
            SourceUrl::Web(_) if self.options.offline => return given_up(Trouble::Offline, 0),
            SourceUrl::Web(url) => url,
        };
        let web = self.web()?;
        let mut partial = Partial::open(place, request, &self.options, progress)?;
        if partial.length() > 0 && request.sha256 == Some(partial.sha256()) {
            let fetched = Fetched { sha256: partial.sha256(), size: partial.length(), url: None };
            partial.finish()?;
            tell(ahead, request, place)?;
            return Ok(Ok(fetched));
        }
        // The whole length and yet the wrong hash: there is nothing to continue.
        if request.size == Some(partial.length()) {
            partial.reset()?;
        }
        let download = Download { web, options: &self.options, request, url, progress };
        match download.run(&mut partial)? {
            Ok(()) => {
                let fetched =
                    Fetched { sha256: partial.sha256(), size: partial.length(), url: None };
                partial.finish()?;
                tell(ahead, request, place)?;
                Ok(Ok(fetched))
            }
            Err(failed) => given_up(failed.trouble, failed.tries),
        }
    }

    fn web(&self) -> Result<&Web, FetchError> {
        if let Some(web) = self.web.get() {
            return Ok(web);
        }
        // Two threads may both make one; the second is dropped.
        let web = Web::new(&self.options)?;
        Ok(self.web.get_or_init(|| web))
    }
}

/// Hands on a partial file that is complete.
fn tell(ahead: Ahead<'_>, request: &Request, place: &Place) -> Result<(), FetchError> {
    let path = &place.partial;
    let archive = Arriving::whole(path)
        .map_err(|error| FetchError::disk(request.label, "open", path, error))?;
    ahead(archive);
    Ok(())
}
