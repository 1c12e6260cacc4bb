//! Records of what was unpacked: `unpacked/ab/<hex of the unpack key>`.
//!
//! Each says which tree an archive became, and how, so that a repair can unpack it again. One JSON
//! object in a line, `format` 1. A record that can't be read is as good as none: the archive is
//! unpacked again and the record written anew.

use std::io;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::model::{ArchiveFormat, Family, Rename, Sha256Digest, TreeId, UnpackKey, UnpackOptions};

use super::error::{Result, StoreError};
use super::layout::Layout;

/// What was unpacked into which tree, and how: enough to do it again for a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackRecord {
    /// What the record is kept under.
    pub key: UnpackKey,
    /// The archive.
    pub source: Sha256Digest,
    /// How it was unpacked.
    pub options: UnpackOptions,
    /// The number of the rules.
    pub rules: u32,
    /// For which way of files.
    pub family: Family,
    /// What came out.
    pub tree: TreeId,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Text {
    format: u32,
    key: UnpackKey,
    source: Sha256Digest,
    rules: u32,
    family: String,
    tree: TreeId,
    archive_format: Option<String>,
    strip: u32,
    include: Vec<String>,
    exclude: Vec<String>,
    rename: Vec<(String, String)>,
    executable: Vec<String>,
    encoding: Option<String>,
    file_name: Option<String>,
    max_unpacked: Option<u64>,
    /// Left out where the source does not say: records without it stay what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_entries: Option<u64>,
}

impl UnpackRecord {
    /// The canonical text of the record.
    pub(super) fn text(&self) -> Result<String> {
        let options = &self.options;
        let globs = |globs: &[crate::model::Glob]| {
            globs.iter().map(|glob| glob.as_str().to_owned()).collect()
        };
        let text = Text {
            format: 1,
            key: self.key,
            source: self.source,
            rules: self.rules,
            family: self.family.as_str().to_owned(),
            tree: self.tree,
            archive_format: options.format.map(|format| format.as_str().to_owned()),
            strip: options.strip,
            include: globs(&options.include),
            exclude: globs(&options.exclude),
            rename: options
                .rename
                .iter()
                .map(|rename| (rename.from.to_string(), rename.to.to_string()))
                .collect(),
            executable: globs(&options.executable),
            encoding: options.encoding.clone(),
            file_name: options.file_name.as_ref().map(ToString::to_string),
            max_unpacked: options.max_unpacked,
            max_entries: options.max_entries,
        };
        let text =
            serde_json::to_string(&text).map_err(|_| StoreError::Name { text: self.key.hex() })?;
        Ok(text + "\n")
    }

    /// Reads a record's text; `None` when it is not one, or not of this key.
    pub(super) fn parse(text: &[u8], key: &UnpackKey) -> Option<Self> {
        let text: Text = serde_json::from_slice(text).ok()?;
        let globs = |globs: Vec<String>| {
            globs.iter().map(|glob| glob.parse().ok()).collect::<Option<Vec<_>>>()
        };
        let options = UnpackOptions {
            format: match text.archive_format {
                Some(format) => Some(ArchiveFormat::from_text(&format)?),
                None => None,
            },
            strip: text.strip,
            include: globs(text.include)?,
            exclude: globs(text.exclude)?,
            rename: text
                .rename
                .iter()
                .map(|(from, to)| Some(Rename { from: from.parse().ok()?, to: to.parse().ok()? }))
                .collect::<Option<_>>()?,
            executable: globs(text.executable)?,
            encoding: text.encoding,
            file_name: match text.file_name {
                Some(name) => Some(name.parse().ok()?),
                None => None,
            },
            max_unpacked: text.max_unpacked,
            max_entries: text.max_entries,
        };
        let family = [Family::Unix, Family::Windows]
            .into_iter()
            .find(|family| family.as_str() == text.family)?;
        let right = text.format == 1
            && text.key == *key
            && options.unpack_key(&text.source, text.rules, family) == *key;
        right.then_some(Self {
            key: text.key,
            source: text.source,
            options,
            rules: text.rules,
            family,
            tree: text.tree,
        })
    }
}

/// The record of a key, if there is one that can be read.
pub(super) fn read(layout: &Layout, key: &UnpackKey) -> Result<Option<UnpackRecord>> {
    let path = layout.unpacked(key);
    match disk::read(&path) {
        Ok(text) => Ok(UnpackRecord::parse(&text, key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", &path, error)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::store) fn record(tree: TreeId) -> UnpackRecord {
        let source = Sha256Digest::from_bytes([7; 32]);
        let options = UnpackOptions {
            format: Some(ArchiveFormat::Zip),
            strip: 1,
            include: vec!["a\n*\".dll".parse().expect("a pattern")],
            rename: vec![Rename {
                from: "a b".parse().expect("a path"),
                to: "c".parse().expect("a path"),
            }],
            encoding: Some("shift_jis".to_owned()),
            file_name: Some("é".parse().expect("a path")),
            max_unpacked: Some(9),
            ..UnpackOptions::default()
        };
        let key = options.unpack_key(&source, 1, Family::Windows);
        UnpackRecord { key, source, options, rules: 1, family: Family::Windows, tree }
    }

    #[test]
    fn a_record_survives_its_text_and_a_changed_one_is_none() {
        let record = record(TreeId::from_bytes([3; 32]));
        let text = record.text().expect("a text");
        assert_eq!(text.lines().count(), 1);
        assert_eq!(UnpackRecord::parse(text.as_bytes(), &record.key), Some(record.clone()));
        assert!(!text.contains("max-entries"), "{text}");
        let mut bounded = record.clone();
        bounded.options.max_entries = Some(12);
        let text_bounded = bounded.text().expect("a text");
        assert_eq!(UnpackRecord::parse(text_bounded.as_bytes(), &record.key), Some(bounded));
        for damaged in [
            text.replace("\"strip\":1", "\"strip\":2"),
            text.replace("\"format\":1", "\"format\":2"),
            text.replace("windows", "unix"),
            text[..text.len() / 2].to_owned(),
            String::new(),
        ] {
            assert_eq!(UnpackRecord::parse(damaged.as_bytes(), &record.key), None, "{damaged}");
        }
        let other = UnpackKey::from_bytes([0; 32]);
        assert_eq!(UnpackRecord::parse(text.as_bytes(), &other), None);
    }
}
