//! Many downloads at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::arriving::Arriving;
use super::error::FetchError;
use super::fetcher::Fetcher;
use super::request::{Fetched, Place, Request};
use crate::model::Progress;

/// What opening the place for a request came to.
pub enum Opened<G, T> {
    /// Nothing to do: it is here, perhaps since another process fetched it a moment ago.
    Here(T),
    /// It goes into this place, which is kept from others as long as the guard lives.
    Place(G, Place),
}

impl Fetcher {
    /// Fetches several archives, a few at a time. For each, on one thread: `open` gives its place
    /// when its turn comes (and may wait for a lock), it is fetched, `finish` takes the file over.
    /// `ahead` is given each as [`Ahead`](super::Ahead) says.
    ///
    /// Results are in the order of the requests. After an error no further download starts, those
    /// under way are finished, and all errors are returned in the order of the requests.
    pub fn fetch_all<G, T, E>(
        &self,
        requests: &[Request],
        open: impl Fn(usize) -> Result<Opened<G, T>, E> + Sync,
        finish: impl Fn(usize, G, Fetched) -> Result<T, E> + Sync,
        ahead: impl Fn(usize, Arriving) + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<T>, Vec<E>>
    where
        T: Send,
        E: From<FetchError> + Send,
    {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let done = Mutex::new(Vec::new());
        let one = |index: usize| match open(index)? {
            Opened::Here(value) => Ok(value),
            Opened::Place(guard, place) => {
                let fetched = self.fetch(
                    &requests[index],
                    &place,
                    &|archive| ahead(index, archive),
                    progress,
                )?;
                finish(index, guard, fetched)
            }
        };
        let worker = || {
            while !failed.load(Ordering::Acquire) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= requests.len() {
                    break;
                }
                let result = one(index);
                if result.is_err() {
                    failed.store(true, Ordering::Release);
                }
                done.lock().unwrap_or_else(|poison| poison.into_inner()).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.options.parallel.clamp(1, requests.len().max(1)) {
                scope.spawn(worker);
            }
        });
        let mut done = done.into_inner().unwrap_or_else(|poison| poison.into_inner());
        done.sort_by_key(|(index, _)| *index);
        let mut values = Vec::new();
        let mut errors = Vec::new();
        for (_, result) in done {
            match result {
                Ok(value) => values.push(value),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(values) } else { Err(errors) }
    }
}
