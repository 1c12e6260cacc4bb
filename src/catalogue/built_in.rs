//! The catalogue that is built into the program: the repository's `catalogue/*.kdl`.

use std::collections::BTreeMap;
use std::fmt;

use crate::manifest::{HostDescription, ManifestError, Package, decode_catalogue};
use crate::model::{FieldHasher, Name};

/// The files, sorted by name.
pub(super) const FILES: [(&str, &str); 3] = [
    ("hip-sdk.kdl", include_str!("../../catalogue/hip-sdk.kdl")),
    ("libtorch.kdl", include_str!("../../catalogue/libtorch.kdl")),
    ("zluda.kdl", include_str!("../../catalogue/zluda.kdl")),
];

/// The digest of the built-in catalogue: which descriptions a program was built with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision([u8; 32]);

impl Revision {
    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blake3:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Revision({self})")
    }
}

/// The revision of the catalogue that is built into this program. CRLF counts as LF.
pub fn revision() -> Revision {
    let mut hasher = FieldHasher::new("drystone 2026-12 catalogue revision v1");
    hasher.number(FILES.len() as u64);
    for (name, text) in FILES {
        hasher.field(name).field(text.replace("\r\n", "\n"));
    }
    Revision(hasher.finish())
}

/// What the built-in files describe.
pub(super) struct BuiltIn {
    pub(super) packages: BTreeMap<Name, Package>,
    pub(super) hosts: BTreeMap<Name, HostDescription>,
}

pub(super) fn load() -> Result<BuiltIn, ManifestError> {
    let mut built_in = BuiltIn { packages: BTreeMap::new(), hosts: BTreeMap::new() };
    for (name, text) in FILES {
        let file = decode_catalogue(&format!("<built-in>/{name}"), text.to_owned())?;
        built_in.packages.extend(file.packages);
        built_in.hosts.extend(file.hosts);
    }
    Ok(built_in)
}
