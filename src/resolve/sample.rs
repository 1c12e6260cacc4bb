//! Small environments, packages and host components for tests.

use std::collections::BTreeMap;

use super::{Available, Graph, ResolveError, resolve};
use crate::manifest::{
    Environment, HostDescription, HostUse, Package, PackageVersion, Provided, Requirement, Source,
    SourceUrl, Use,
};
use crate::model::{Name, Platform, Range, Sha256Digest, UnpackOptions, Version};

pub(crate) const WINDOWS: Platform = Platform::X86_64Windows;
pub(crate) const LINUX: Platform = Platform::X86_64Linux;

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect(text)
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().expect(text)
}

pub(crate) fn range(text: &str) -> Range {
    text.parse().expect(text)
}

/// A version from words: `requires NAME RANGE`, `provides NAME VERSION`, one an item.
pub(crate) fn package_version(text: &str, words: &[&str]) -> PackageVersion {
    let url = SourceUrl::File(format!("archives/{text}.zip"));
    let source = Source {
        platform: None,
        urls: vec![url],
        sha256: Some(Sha256Digest::from_bytes(*blake3::hash(text.as_bytes()).as_bytes())),
        size: Some(1000),
        options: UnpackOptions::default(),
        into: None,
        overlay: None,
    };
    let mut built = PackageVersion {
        version: version(text),
        sources: vec![source],
        requires: Vec::new(),
        provides: Vec::new(),
        overlay: Vec::new(),
    };
    for each in words {
        let mut parts = each.splitn(3, ' ');
        let (word, of, rest) = (parts.next(), parts.next(), parts.next());
        let of = name(of.expect("a name"));
        match word {
            Some("requires") => {
                built.requires.push(Requirement { name: of, range: range(rest.expect("a range")) })
            }
            Some("provides") => {
                built.provides.push(Provided { name: of, version: rest.map(version) });
            }
            other => panic!("{other:?}"),
        }
    }
    built
}

/// What tests choose from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    pub(crate) packages: BTreeMap<Name, Package>,
    pub(crate) hosts: BTreeMap<Name, HostDescription>,
}

impl Shelf {
    pub(crate) fn package(mut self, text: &str, versions: Vec<PackageVersion>) -> Self {
        let mut versions = versions;
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        let name = name(text);
        let package =
            Package { name: name.clone(), about: None, homepage: None, license: None, versions };
        self.packages.insert(name, package);
        self
    }

    pub(crate) fn host(mut self, text: &str, provides: &[&str]) -> Self {
        let provides =
            provides.iter().map(|text| Provided { name: name(text), version: None }).collect();
        let host = HostDescription {
            name: name(text),
            about: None,
            homepage: None,
            provides,
            roots: Vec::new(),
            evidence: Vec::new(),
        };
        self.hosts.insert(name(text), host);
        self
    }

    pub(crate) fn available(&self) -> Available<'_> {
        Available { packages: &self.packages, hosts: &self.hosts }
    }

    pub(crate) fn resolve(&self, environment: &Environment) -> Result<Graph<'_>, ResolveError> {
        resolve(environment, WINDOWS, self.available(), &BTreeMap::new())
    }
}

/// An environment from words: `use NAME RANGE`, `optional NAME RANGE`, `host NAME RANGE`.
pub(crate) fn environment(words: &[&str]) -> Environment {
    let mut built = Environment {
        name: name("team"),
        about: None,
        platforms: [WINDOWS].into(),
        uses: Vec::new(),
        hosts: Vec::new(),
        gpus: Default::default(),
        variables: Vec::new(),
        overrides: Vec::new(),
    };
    for each in words {
        let mut parts = each.splitn(3, ' ');
        let (word, of) = (parts.next(), name(parts.next().expect("a name")));
        let rest = parts.next().expect("a range");
        match word {
            Some("host") => built.hosts.push(HostUse {
                component: of,
                range: Range::parse_host(rest).expect(rest),
                platform: None,
            }),
            word => built.uses.push(Use {
                package: of,
                range: range(rest),
                optional: word == Some("optional"),
                platform: None,
            }),
        }
    }
    built
}

/// The stack that most tests speak of.
pub(crate) fn stack() -> (Shelf, Environment) {
    let shelf = Shelf::default()
        .package(
            "zluda",
            vec![package_version(
                "6-preview.69",
                &["requires hip-runtime >=6, <8", "provides cuda-driver 13.0"],
            )],
        )
        .package(
            "libtorch",
            vec![package_version(
                "2.3.0+cu118",
                &["requires cuda-driver >=11", "requires cudnn 8.*"],
            )],
        )
        .package("cudnn", vec![package_version("8.9", &[]), package_version("9.1", &[])])
        .host("hip-sdk", &["hip-runtime"]);
    let environment = environment(&[
        "use zluda 6-preview.69",
        "optional libtorch 2.3.0+cu118",
        "host hip-sdk 6.4",
    ]);
    (shelf, environment)
}
