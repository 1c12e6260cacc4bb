//! How much may come out of one archive.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::Problem;
use crate::model::UnpackOptions;

/// Entries one archive may hold, and a tree after its links were expanded, when the source does not
/// say.
const MAX_ENTRIES: u64 = 2_000_000;
/// Bytes a tree may hold when the source does not say.
pub(super) const MAX_UNPACKED: u64 = 64 << 30;
/// Unpacked bytes for each byte of the archive. GPU libraries stay under 10.
pub(super) const MAX_RATIO: u64 = 200;
/// Unpacked bytes below which the ratio does not matter.
pub(super) const RATIO_FROM: u64 = 256 << 20;
/// The largest window of a decoder.
pub(super) const MAX_WINDOW: u64 = 128 << 20;

/// How many entries an archive may hold, and a tree after its links were expanded.
#[derive(Debug, Clone, Copy)]
pub(super) struct MostEntries(u64);

impl MostEntries {
    /// What the source allows, or the usual.
    pub(super) fn of(options: &UnpackOptions) -> Self {
        Self(options.max_entries.unwrap_or(MAX_ENTRIES))
    }

    /// Refuses more than that.
    pub(super) const fn check(self, entries: u64) -> Result<(), Problem> {
        if entries > self.0 { Err(Problem::TooMany { limit: self.0 }) } else { Ok(()) }
    }
}

/// Counts what comes out, from several threads.
pub(super) struct Bounds {
    /// The bound on entries, which others count.
    pub(super) most_entries: MostEntries,
    limit: u64,
    packed: u64,
    check_ratio: bool,
    unpacked: AtomicU64,
    linked: AtomicU64,
    passed: AtomicU64,
}

impl Bounds {
    /// `packed` is the size of the archive. A limit that the source states replaces the ratio too.
    pub(super) fn new(options: &UnpackOptions, packed: u64) -> Self {
        let limit = options.max_unpacked;
        Self {
            most_entries: MostEntries::of(options),
            limit: limit.unwrap_or(MAX_UNPACKED),
            packed,
            check_ratio: limit.is_none(),
            unpacked: AtomicU64::new(0),
            linked: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Counts bytes about to be written.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Problem> {
        let before = self.unpacked.fetch_add(bytes, Ordering::Relaxed);
        self.check(before.saturating_add(bytes))
    }

    /// Whether so many bytes more would be too many, without counting them.
    pub(super) fn foresee(&self, bytes: u64) -> Result<(), Problem> {
        self.check(self.unpacked.load(Ordering::Relaxed).saturating_add(bytes))
    }

    /// Counts bytes that the tree has once more under another name, without being written again.
    pub(super) fn link(&self, bytes: u64) -> Result<(), Problem> {
        self.linked.fetch_add(bytes, Ordering::Relaxed);
        self.foresee(0)
    }

    /// Counts bytes of the archive that land nowhere: decompressing them is work all the same. What
    /// the source says of its tree says nothing of them.
    pub(super) fn pass(&self, bytes: u64) -> Result<(), Problem> {
        let passed = self.passed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let limit = self.limit.max(MAX_UNPACKED);
        if passed > limit {
            return Err(Problem::TooLarge { limit });
        }
        self.check_ratio(passed)
    }

    fn check(&self, unpacked: u64) -> Result<(), Problem> {
        if unpacked.saturating_add(self.linked.load(Ordering::Relaxed)) > self.limit {
            return Err(Problem::TooLarge { limit: self.limit });
        }
        self.check_ratio(unpacked)
    }

    fn check_ratio(&self, unpacked: u64) -> Result<(), Problem> {
        if self.check_ratio && unpacked > RATIO_FROM && unpacked / MAX_RATIO > self.packed {
            return Err(Problem::Ratio { unpacked, packed: self.packed, limit: MAX_RATIO });
        }
        Ok(())
    }
}
