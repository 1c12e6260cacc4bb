//! Names that only Unicode normalisation makes equal: nobody can tell them apart on a screen.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use crate::model::{ComparedName, Family};

use super::error::{Collision, Holder};

/// A path with its last part in normal form; none where it is so already. The parts above stay as
/// they are, so that only names in one directory are compared.
pub(super) fn normalised(path: &str) -> Option<String> {
    let (above, last) = match path.rfind('/') {
        Some(at) => path.split_at(at + 1),
        None => ("", path),
    };
    let form: String = last.nfc().collect();
    (form != last).then(|| format!("{above}{form}"))
}

/// Finds names that differ and have one normal form. Only the lowest part that differs counts: what
/// lies below two such directories is not reported again. Costs nothing where all names are ASCII,
/// since those are not handed in.
pub(super) fn find(names: &[(String, Holder)], family: Family) -> Vec<Collision> {
    let mut by_form: BTreeMap<ComparedName, BTreeMap<ComparedName, &(String, Holder)>> =
        BTreeMap::new();
    for name in names {
        let form = normalised(&name.0).unwrap_or_else(|| name.0.clone());
        by_form
            .entry(ComparedName::new(family, &form))
            .or_default()
            .entry(ComparedName::new(family, &name.0))
            .or_insert(name);
    }
    let mut found = Vec::new();
    for alike in by_form.into_values().filter(|alike| alike.len() > 1) {
        let holders: Vec<Holder> = alike.values().map(|(_, holder)| holder.clone()).collect();
        if let Some(path) = holders.first().map(|holder| holder.path.clone()) {
            found.push(Collision { path, holders, alike: true });
        }
    }
    found
}
