//! The reader of lock format 1: KDL nodes to the model, every digest recomputed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use kdl::{KdlDocument, KdlNode};

use super::keys;
use super::model::{Lock, LockedApplication, LockedHost, LockedPackage, LockedPlatform};
use super::read::Fault;
use super::write::{host_seal, package_seal};
use crate::manifest::{Placement, Provided, Requirement, SourceUrl};
use crate::model::{ArchiveFormat, Name, NodeId, Platform, Rename, UnpackOptions};

type Result<T, E = Fault> = std::result::Result<T, E>;

/// Reads a whole lock. The order of its lines and its own seal are the caller's to compare.
pub(super) fn decode(document: &KdlDocument) -> Result<Lock> {
    let facts = Facts::of(document, 0);
    facts.only(&[
        "format",
        "environment",
        "unpack-rules",
        "inputs",
        "contents",
        "platform",
        "seal",
    ])?;
    let rules = number(facts.one("unpack-rules")?)?;
    let mut platforms = BTreeMap::new();
    for node in facts.all("platform") {
        let platform: Platform = parsed(node)?;
        if platforms.insert(platform, decode_platform(node, platform, rules)?).is_some() {
            return Err(Fault::new(at(node), format!("platform \"{platform}\" appears twice")));
        }
    }
    Ok(Lock {
        environment: parsed(facts.one("environment")?)?,
        unpack_rules: rules,
        inputs: parsed(facts.one("inputs")?)?,
        contents: flag(facts.one("contents")?)?,
        platforms,
    })
}

fn decode_platform(node: &KdlNode, platform: Platform, rules: u32) -> Result<LockedPlatform> {
    let facts = Facts::below(node)?;
    facts.only(&["settings", "root", "application", "host", "package"])?;
    let mut section = LockedPlatform {
        settings: parsed(facts.one("settings")?)?,
        applications: named(&facts, "application", decode_application)?,
        packages: named(&facts, "package", decode_package)?,
        hosts: named(&facts, "host", decode_host)?,
        root: parsed(facts.one("root")?)?,
    };
    check_hosts(&facts, &section, platform)?;
    check_packages(&facts, &mut section, platform, rules)?;
    if keys::root_id(&section) != section.root {
        let reason = "its root is not that of its settings, applications and nodes";
        return Err(Fault::new(at(facts.one("root")?), reason));
    }
    Ok(section)
}

fn check_hosts(facts: &Facts<'_>, section: &LockedPlatform, platform: Platform) -> Result<()> {
    for node in facts.all("host") {
        let host = parsed(node).ok().and_then(|name: Name| section.hosts.get(&name));
        if host.is_some_and(|host| keys::host_id(platform, host) != host.id) {
            return Err(Fault::new(at(node), "its id is not that of what it says"));
        }
    }
    Ok(())
}

fn check_packages(
    facts: &Facts<'_>,
    section: &mut LockedPlatform,
    platform: Platform,
    rules: u32,
) -> Result<()> {
    for node in facts.all("package") {
        let name: Name = parsed(node)?;
        let Some(package) = section.packages.get(&name) else { continue };
        let key = package.options.unpack_key(&package.sha256, rules, platform.family());
        if key != package.unpack_key {
            let reason = "its unpack key is not that of its hash and options";
            return Err(Fault::new(at(node), reason));
        }
        let id_of = |name: &Name| -> Option<NodeId> {
            let package = section.packages.get(name).map(|package| package.id);
            package.or_else(|| section.hosts.get(name).map(|host| host.id))
        };
        let mut depends = Vec::new();
        for name in &package.depends {
            let missing = || {
                Fault::new(at(node), format!("it depends on \"{name}\", which is not in the lock"))
            };
            depends.push(id_of(name).ok_or_else(missing)?);
        }
        if keys::package_id(platform, package, &depends) != package.id {
            return Err(Fault::new(at(node), "its id is not that of what it says and depends on"));
        }
    }
    Ok(())
}

fn named<T>(
    facts: &Facts<'_>,
    word: &'static str,
    decode: impl Fn(Name, &KdlNode) -> Result<T>,
) -> Result<BTreeMap<Name, T>> {
    let mut found = BTreeMap::new();
    for node in facts.all(word) {
        let name: Name = parsed(node)?;
        if found.insert(name.clone(), decode(name.clone(), node)?).is_some() {
            return Err(Fault::new(at(node), format!("{word} \"{name}\" appears twice")));
        }
    }
    Ok(found)
}

fn decode_application(_name: Name, node: &KdlNode) -> Result<LockedApplication> {
    let facts = Facts::below(node)?;
    facts.only(&["id"])?;
    Ok(LockedApplication { id: parsed(facts.one("id")?)? })
}

fn decode_host(name: Name, node: &KdlNode) -> Result<LockedHost> {
    let facts = Facts::below(node)?;
    facts.only(&["range", "id", "direct", "provides", "seal"])?;
    let host = LockedHost {
        name,
        direct: flag(facts.one("direct")?)?,
        id: parsed(facts.one("id")?)?,
        range: parsed(facts.one("range")?)?,
        provides: decode_provides(&facts)?,
    };
    check_seal(&facts, &host_seal(&host))?;
    Ok(host)
}

fn decode_package(name: Name, node: &KdlNode) -> Result<LockedPackage> {
    let facts = Facts::below(node)?;
    facts.only(&[
        "version",
        "id",
        "direct",
        "optional",
        "unpack-key",
        "url",
        "sha256",
        "size",
        "format",
        "strip",
        "include",
        "exclude",
        "executable",
        "rename",
        "encoding",
        "file-name",
        "max-unpacked",
        "max-entries",
        "into",
        "requires",
        "provides",
        "overlay",
        "depends",
        "tree",
        "seal",
    ])?;
    let requires = facts.all("requires").map(|node| {
        let [name, range] = strings(node)?;
        Ok(Requirement { name: parse(node, name)?, range: parse(node, range)? })
    });
    let package = LockedPackage {
        name,
        version: parsed(facts.one("version")?)?,
        optional: flag(facts.one("optional")?)?,
        direct: flag(facts.one("direct")?)?,
        id: parsed(facts.one("id")?)?,
        unpack_key: parsed(facts.one("unpack-key")?)?,
        urls: facts.all("url").map(decode_url).collect::<Result<_>>()?,
        sha256: parsed(facts.one("sha256")?)?,
        size: facts.maybe("size")?.map(number).transpose()?,
        options: decode_options(&facts)?,
        placement: decode_placement(facts.one("into")?)?,
        requires: requires.collect::<Result<_>>()?,
        provides: decode_provides(&facts)?,
        overlay: facts.parsed("overlay")?,
        depends: facts.parsed("depends")?,
        tree: facts.maybe("tree")?.map(parsed).transpose()?,
    };
    check_seal(&facts, &package_seal(&package))?;
    Ok(package)
}

fn check_seal(facts: &Facts<'_>, expected: &str) -> Result<()> {
    let node = facts.one("seal")?;
    let [found] = strings(node)?;
    if found == expected {
        return Ok(());
    }
    Err(Fault::new(facts.at, "its seal does not match its lines"))
}

fn decode_provides(facts: &Facts<'_>) -> Result<Vec<Provided>> {
    let provided = facts.all("provides").map(|node| match node.entries().len() {
        1 => Ok(Provided { name: parsed(node)?, version: None }),
        _ => {
            let [name, version] = strings(node)?;
            Ok(Provided { name: parse(node, name)?, version: Some(parse(node, version)?) })
        }
    });
    provided.collect()
}

fn decode_url(node: &KdlNode) -> Result<SourceUrl> {
    let [text] = strings(node)?;
    parse(node, text)
}

fn decode_placement(node: &KdlNode) -> Result<Placement> {
    match strings(node)? {
        ["."] => Ok(Placement::Top),
        [path] => parse(node, path).map(Placement::Under),
    }
}

fn decode_options(facts: &Facts<'_>) -> Result<UnpackOptions> {
    let format = facts.maybe("format")?.map(|node| {
        let [text] = strings(node)?;
        let unknown = || Fault::new(at(node), format!("\"{text}\" is no format of archives"));
        ArchiveFormat::from_text(text).ok_or_else(unknown)
    });
    let rename = facts.all("rename").map(|node| {
        let [from, to] = strings(node)?;
        Ok(Rename { from: parse(node, from)?, to: parse(node, to)? })
    });
    let encoding = facts.maybe("encoding")?.map(|node| strings(node).map(|[text]| text.to_owned()));
    Ok(UnpackOptions {
        format: format.transpose()?,
        strip: facts.maybe("strip")?.map(number).transpose()?.unwrap_or(0),
        include: facts.parsed("include")?,
        exclude: facts.parsed("exclude")?,
        rename: rename.collect::<Result<_>>()?,
        executable: facts.parsed("executable")?,
        encoding: encoding.transpose()?,
        file_name: facts.maybe("file-name")?.map(parsed).transpose()?,
        max_unpacked: facts.maybe("max-unpacked")?.map(number).transpose()?,
        max_entries: facts.maybe("max-entries")?.map(number).transpose()?,
    })
}

/// The lines of one block.
struct Facts<'d> {
    nodes: &'d [KdlNode],
    at: usize,
}

impl<'d> Facts<'d> {
    fn of(document: &'d KdlDocument, at: usize) -> Self {
        Self { nodes: document.nodes(), at }
    }

    fn below(node: &'d KdlNode) -> Result<Self> {
        let children =
            node.children().ok_or_else(|| Fault::new(at(node), "its lines are missing"))?;
        Ok(Self::of(children, at(node)))
    }

    fn only(&self, words: &[&str]) -> Result<()> {
        match self.nodes.iter().find(|node| !words.contains(&node.name().value())) {
            Some(node) => {
                let reason = format!("`{}` is no word of locks here", node.name().value());
                Err(Fault::new(at(node), reason))
            }
            None => Ok(()),
        }
    }

    fn all(&self, word: &'static str) -> impl Iterator<Item = &'d KdlNode> + use<'d> {
        self.nodes.iter().filter(move |node| node.name().value() == word)
    }

    fn maybe(&self, word: &'static str) -> Result<Option<&'d KdlNode>> {
        let mut found = self.all(word);
        let first = found.next();
        match found.next() {
            Some(second) => Err(Fault::new(at(second), format!("`{word}` appears twice"))),
            None => Ok(first),
        }
    }

    fn one(&self, word: &'static str) -> Result<&'d KdlNode> {
        self.maybe(word)?
            .ok_or_else(|| Fault::new(self.at, format!("its line `{word}` is missing")))
    }

    fn parsed<T: FromStr<Err: Display>>(&self, word: &'static str) -> Result<Vec<T>> {
        self.all(word).map(parsed).collect()
    }
}

fn at(node: &KdlNode) -> usize {
    node.name().span().offset()
}

fn strings<const COUNT: usize>(node: &KdlNode) -> Result<[&str; COUNT]> {
    let texts: Option<Vec<&str>> = node
        .entries()
        .iter()
        .map(|entry| entry.value().as_string().filter(|_| entry.name().is_none()))
        .collect();
    texts.and_then(|texts| texts.try_into().ok()).ok_or_else(|| {
        let word = node.name().value();
        Fault::new(at(node), format!("`{word}` takes {COUNT} quoted text(s)"))
    })
}

fn parse<T: FromStr<Err: Display>>(node: &KdlNode, text: &str) -> Result<T> {
    text.parse().map_err(|error: T::Err| Fault::new(at(node), error.to_string()))
}

fn parsed<T: FromStr<Err: Display>>(node: &KdlNode) -> Result<T> {
    let [text] = strings(node)?;
    parse(node, text)
}

fn number<T: TryFrom<i128>>(node: &KdlNode) -> Result<T> {
    let value = match node.entries() {
        [entry] if entry.name().is_none() => entry.value().as_integer(),
        _ => None,
    };
    value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| {
        Fault::new(at(node), format!("`{}` takes one number in its bounds", node.name().value()))
    })
}

fn flag(node: &KdlNode) -> Result<bool> {
    let value = match node.entries() {
        [entry] if entry.name().is_none() => entry.value().as_bool(),
        _ => None,
    };
    let word = node.name().value();
    value.ok_or_else(|| Fault::new(at(node), format!("`{word}` takes #true or #false")))
}
