//! `<store>/format`: which layout a store has, who may read and write it, whose it is.
//!
//! ```text
//! drystone-store 1
//! minimum-reader 1
//! minimum-writer 1
//! id <16 characters of base32>
//! owner uid:1000
//! check <64 hex: BLAKE3 of the lines above>
//! ```
//!
//! It is read before anything else of the store is touched. The first three lines keep their form
//! in every future layout, so that an old drystone can say what it does not understand.

use std::io;
use std::path::Path;

use super::error::{At, Result, StoreError};
use super::layout::{Layout, is_base32};
use crate::disk;

/// The layout that this drystone writes.
pub(super) const LAYOUT: u32 = 1;

/// What `format` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) layout: u32,
    pub(super) minimum_reader: u32,
    pub(super) minimum_writer: u32,
    pub(super) id: String,
    pub(super) owner: String,
}

impl Format {
    /// What a new store of this owner says.
    pub(super) fn new(id: String, owner: String) -> Self {
        Self { layout: LAYOUT, minimum_reader: LAYOUT, minimum_writer: LAYOUT, id, owner }
    }

    pub(super) fn text(&self) -> String {
        let body = format!(
            "drystone-store {}\nminimum-reader {}\nminimum-writer {}\nid {}\nowner {}\n",
            self.layout, self.minimum_reader, self.minimum_writer, self.id, self.owner
        );
        let check = blake3::hash(body.as_bytes());
        format!("{body}check {check}\n")
    }

    /// Reads the file; `None` when there is none. A layout that may not be read is refused here.
    pub(super) fn read(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.format();
        let text = match disk::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("read", &path, error)),
        };
        let damaged =
            |reason: &str| StoreError::FormatDamaged { path: path.clone(), reason: reason.into() };
        let mut lines = text.lines();
        let mut number = |name: &str| {
            let value = lines.next()?.strip_prefix(name)?.strip_prefix(' ')?;
            value.parse::<u32>().ok()
        };
        let (Some(number), Some(minimum_reader), Some(minimum_writer)) =
            (number("drystone-store"), number("minimum-reader"), number("minimum-writer"))
        else {
            return Err(damaged("it does not begin with the layout and who may read and write it"));
        };
        if minimum_reader > LAYOUT {
            return Err(newer(layout.root(), number, minimum_reader, "read"));
        }
        let mut field =
            |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        let (Some(id), Some(owner)) = (field("id"), field("owner")) else {
            return Err(damaged("the store's id or owner is missing"));
        };
        let format = Self { layout: number, minimum_reader, minimum_writer, id, owner };
        let whole = number > LAYOUT || (is_base32(&format.id, 16) && format.text() == text);
        if whole { Ok(Some(format)) } else { Err(damaged("its check does not fit its lines")) }
    }

    /// Refuses a layout that may be read and not written.
    pub(super) fn check_writable(&self, root: &Path) -> Result<()> {
        if self.minimum_writer > LAYOUT {
            return Err(newer(root, self.layout, self.minimum_writer, "written"));
        }
        Ok(())
    }

    /// Writes the file durably, by rename from `staging`.
    pub(super) fn write(&self, layout: &Layout, staging: &Path) -> Result<()> {
        let staged = staging.join("format");
        disk::write_synced(&staged, self.text().as_bytes(), 0o600)?;
        let path = layout.format();
        disk::rename(&staged, &path).at("put in place", &path)?;
        Ok(disk::sync_directory(layout.root())?)
    }
}

fn newer(root: &Path, layout: u32, minimum: u32, what: &'static str) -> StoreError {
    StoreError::Newer { path: root.to_path_buf(), layout, minimum, known: LAYOUT, what }
}
