//! stat: how much is in the store, each content counted once, and how much it stands for.

use std::fs::Metadata;
use std::path::Path;

use crate::model::TreeId;

use super::Store;
use super::error::Result;
use super::listing;
use super::reading::metadata;
use super::tree_file;

/// How much is in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct StoreStat {
    /// Contents; the two forms of one count twice.
    pub blobs: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that they take on the disk.
    pub bytes_on_disk: u64,
    /// Trees.
    pub trees: u64,
    /// Realised directories.
    pub realised: u64,
    /// Files in them, most of them links to one content each.
    pub realised_files: u64,
    /// Bytes that they would take without sharing.
    pub realised_bytes: u64,
    /// Downloads.
    pub archives: u64,
    /// Bytes of them, unfinished ones among them.
    pub archive_bytes: u64,
    /// Environments that have a directory.
    pub environments: u64,
    /// Generations of them that hold something.
    pub generations: u64,
    /// Runtime directories.
    pub runtimes: u64,
}

impl Store {
    /// Counts what is in the store. What vanishes meanwhile is not counted.
    pub fn stat(&self) -> Result<StoreStat> {
        let mut stat = StoreStat::default();
        let layout = self.layout();
        for blob in listing::blobs(layout)? {
            if let (Some(_), Some(there)) = (blob.name, metadata(&blob.path)?) {
                stat.blobs += 1;
                stat.bytes += there.len();
                stat.bytes_on_disk += on_disk(&there);
            }
        }
        let by_name = listing::trees_by_name(layout)?;
        stat.trees = by_name.len() as u64;
        for (name, _) in listing::directories(&layout.directory("realised"))? {
            stat.realised += 1;
            let tree: Option<&TreeId> = name.get(..32).and_then(|part| by_name.get(part));
            if let Some(tree) = tree.and_then(|tree| tree_file::read(layout, tree).ok().flatten()) {
                stat.realised_files += tree.file_count() as u64;
                stat.realised_bytes += tree.size();
            }
        }
        let archives = layout.directory("archives");
        for name in listing::names(&archives)? {
            if let Some(there) = metadata(&archives.join(&name))? {
                stat.archives += u64::from(name.len() == 64);
                stat.archive_bytes += there.len();
            }
        }
        for (_, project) in listing::directories(&layout.directory("environments"))? {
            for (_, environment) in listing::directories(&project)? {
                stat.environments += 1;
                stat.generations += count_with_roots(&environment)?;
            }
        }
        for (_, project) in listing::directories(&layout.directory("runtimes"))? {
            for (_, application) in listing::directories(&project)? {
                stat.runtimes += listing::directories(&application)?.len() as u64;
            }
        }
        Ok(stat)
    }
}

fn count_with_roots(environment: &Path) -> Result<u64> {
    let generations = listing::directories(environment)?.into_iter();
    Ok(generations.filter(|(_, path)| path.join("roots").symlink_metadata().is_ok()).count() as u64)
}

#[cfg(unix)]
fn on_disk(there: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(there) * 512
}

/// What a file takes is not told without opening it.
#[cfg(windows)]
fn on_disk(there: &Metadata) -> u64 {
    there.len()
}
