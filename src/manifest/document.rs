//! Decodes whole files: their top-level nodes, what they include, and what only shows when all of
//! them are read.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use kdl::KdlNode;
use miette::SourceSpan;

use super::application::Application;
use super::complaint::{
    Complaint, Complaints, Place, SourceFile, did_you_mean, in_words, windows_name,
};
use super::decode_application::{self, DecodedApplication};
use super::decode_environment::{self, DecodedEnvironment};
use super::decode_package;
use super::environment::{CatalogueReference, Environment};
use super::error::ManifestError;
use super::inputs::InputFile;
use super::location::resolve;
use super::node::{Child, NodeReader, known_nodes};
use super::package::{HostDescription, Package};
use super::syntax;
use super::text::{normalise, read_text};
use super::variable::HostMention;
use crate::disk::real_path;
use crate::model::{Family, Name, TreePath};

/// Files that one manifest may include.
const INCLUDE_LIMIT: usize = 1000;

/// What all files of a manifest, or one file of a catalogue, declare.
pub(super) struct Collection {
    pub(super) environments: BTreeMap<Name, Environment>,
    pub(super) applications: BTreeMap<Name, Application>,
    pub(super) packages: BTreeMap<Name, Package>,
    pub(super) hosts: BTreeMap<Name, HostDescription>,
    pub(super) catalogues: Vec<CatalogueReference>,
    pub(super) files: Vec<InputFile>,
    /// How many nodes stand at the top of the files.
    pub(super) nodes: usize,
    /// Where each application names its environment.
    environment_mentions: Vec<(Name, Place)>,
    /// Hosts that values mention, with the environment that must ask for them.
    host_mentions: Vec<(Name, HostMention)>,
    given_paths: Vec<(Name, (TreePath, Place))>,
    complaints: Complaints,
    /// The directory that relative paths start from, none for text that is no file.
    directory: Option<PathBuf>,
    /// How the directory is shown before a file's relative path.
    shown_directory: String,
}

const MANIFEST: [Child; 6] = [
    Child::Many("environment"),
    Child::Many("application"),
    Child::Many("package"),
    Child::Many("host"),
    Child::Many("catalogue"),
    Child::Many("include"),
];

const CATALOGUE: [Child; 2] = [Child::Many("package"), Child::Many("host")];

impl Collection {
    pub(super) fn new(directory: Option<PathBuf>, shown_directory: String) -> Self {
        Self {
            environments: BTreeMap::new(),
            applications: BTreeMap::new(),
            packages: BTreeMap::new(),
            hosts: BTreeMap::new(),
            catalogues: Vec::new(),
            files: Vec::new(),
            nodes: 0,
            environment_mentions: Vec::new(),
            host_mentions: Vec::new(),
            given_paths: Vec::new(),
            complaints: Complaints::new(SourceFile::new(0, "", "")),
            directory,
            shown_directory,
        }
    }

    /// Decodes the text of a manifest and what it includes. `path` is relative to the directory.
    pub(super) fn manifest(
        &mut self,
        path: &str,
        shown: &str,
        text: String,
    ) -> Result<(), ManifestError> {
        self.file(path, shown, text, &MANIFEST, "a manifest", &mut vec![path.to_owned()])?;
        self.cross_check();
        Ok(())
    }

    /// Decodes the text of one catalogue file.
    pub(super) fn catalogue(
        &mut self,
        path: &str,
        shown: &str,
        text: String,
    ) -> Result<(), ManifestError> {
        self.file(path, shown, text, &CATALOGUE, "a catalogue", &mut vec![path.to_owned()])
    }

    /// The complaints, in the order of the text.
    pub(super) fn finish(self) -> (Self, Vec<Complaint>) {
        let mut this = self;
        let none = Complaints::new(this.complaints.place(0).file);
        let complaints = std::mem::replace(&mut this.complaints, none);
        (this, complaints.into_sorted())
    }

    fn file(
        &mut self,
        path: &str,
        shown: &str,
        text: String,
        known: &[Child],
        block: &str,
        open: &mut Vec<String>,
    ) -> Result<(), ManifestError> {
        let text = normalise(&text);
        let outer = self.complaints.enter(SourceFile::new(self.files.len(), shown, &text));
        self.files.push(InputFile { path: path.to_owned(), text: text.clone() });
        let parsed = syntax::parse(&text, &mut self.complaints)
            .map_err(|source| ManifestError::Thread { path: shown.into(), source })?;
        if let Some(document) = parsed {
            self.nodes += document.nodes().len();
            for node in known_nodes(document.nodes(), known, block, &mut self.complaints) {
                self.top_level(node, path, open)?;
            }
        }
        self.complaints.enter(outer);
        Ok(())
    }

    fn top_level(
        &mut self,
        node: &KdlNode,
        path: &str,
        open: &mut Vec<String>,
    ) -> Result<(), ManifestError> {
        let complaints = &mut self.complaints;
        match node.name().value() {
            "environment" => {
                if let Some(decoded) = decode_environment::decode(node, complaints) {
                    self.environment(decoded);
                }
            }
            "application" => {
                if let Some(decoded) = decode_application::decode(node, complaints) {
                    self.application(decoded);
                }
            }
            "package" => {
                if let Some((package, span)) = decode_package::package(node, complaints) {
                    let name = package.name.clone();
                    insert(&mut self.packages, name, package, "package", span, complaints);
                }
            }
            "host" => {
                if let Some((host, span)) = decode_package::host(node, complaints) {
                    let name = host.name.clone();
                    insert(&mut self.hosts, name, host, "host component", span, complaints);
                }
            }
            "catalogue" => self.catalogue_reference(node, path),
            _ => self.include(node, path, open)?,
        }
        Ok(())
    }

    fn environment(&mut self, decoded: DecodedEnvironment) {
        let DecodedEnvironment { environment, name_span, mentions } = decoded;
        let name = environment.name.clone();
        self.host_mentions.extend(mentions.into_iter().map(|it| (name.clone(), it)));
        let complaints = &mut self.complaints;
        insert(&mut self.environments, name, environment, "environment", name_span, complaints);
    }

    fn application(&mut self, decoded: DecodedApplication) {
        let DecodedApplication { application, name_span, environment_place, mentions, given } =
            decoded;
        let environment = application.environment.clone();
        self.given_paths.extend(given.into_iter().map(|it| (environment.clone(), it)));
        self.host_mentions.extend(mentions.into_iter().map(|it| (environment.clone(), it)));
        self.environment_mentions.push((environment, environment_place));
        let name = application.name.clone();
        let complaints = &mut self.complaints;
        insert(&mut self.applications, name, application, "application", name_span, complaints);
    }

    /// The path of a `catalogue` or `include` node, from the manifest's directory.
    fn reference(&mut self, node: &KdlNode, path: &str) -> Option<(String, SourceSpan)> {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut reader = NodeReader::new(node, &mut self.complaints);
        let example = format!("{} \"parts/other.kdl\"", reader.word());
        let text = reader.text("a path", &example)?;
        let resolved = match resolve(directory, text.value) {
            Ok(resolved) => Some((resolved, text.span)),
            Err(refusal) => {
                reader.complaints.add(
                    text.span,
                    "drystone::manifest::path",
                    refusal.message,
                    refusal.label,
                    refusal.help,
                );
                None
            }
        };
        reader.finish();
        resolved
    }

    fn catalogue_reference(&mut self, node: &KdlNode, path: &str) {
        let Some((path, span)) = self.reference(node, path) else { return };
        if self.catalogues.iter().any(|it| it.path == path) {
            duplicate("catalogue", &path, span, &mut self.complaints);
        } else if self.inside(&path, span).is_some() {
            self.catalogues.push(CatalogueReference { path });
        }
    }

    fn include(
        &mut self,
        node: &KdlNode,
        path: &str,
        open: &mut Vec<String>,
    ) -> Result<(), ManifestError> {
        let Some((path, span)) = self.reference(node, path) else { return Ok(()) };
        if let Some(at) = open.iter().position(|it| *it == path) {
            let mut round: Vec<&str> = open[at..].iter().map(String::as_str).collect();
            round.push(&path);
            self.complaints.add(
                span,
                "drystone::manifest::include_cycle",
                format!("files include each other in a circle: {}", round.join(" → ")),
                "closes the circle",
                "Remove one of these `include` lines.",
            );
            return Ok(());
        }
        if self.files.iter().any(|file| file.path == path) {
            duplicate("file", &path, span, &mut self.complaints);
            return Ok(());
        }
        if self.files.len() > INCLUDE_LIMIT || open.len() >= 64 {
            self.complaints.add(
                span,
                "drystone::manifest::include",
                "too many files are included",
                "one too many",
                "Put more into one file.",
            );
            return Ok(());
        }
        let Some(file) = self.inside(&path, span) else { return Ok(()) };
        match read_text(&file) {
            Ok(text) => {
                let shown = format!("{}{path}", self.shown_directory);
                open.push(path.clone());
                self.file(&path, &shown, text, &MANIFEST, "a manifest", open)?;
                open.pop();
            }
            Err(error) => self.complaints.add(
                span,
                "drystone::manifest::include",
                include_message(&path, &error),
                "included here",
                "Paths are relative to the file that includes; correct it, or remove the line.",
            ),
        }
        Ok(())
    }

    /// The file or directory behind a path below the manifest's directory, unless a link leads out
    /// of it.
    fn inside(&mut self, path: &str, span: SourceSpan) -> Option<PathBuf> {
        let Some(directory) = &self.directory else {
            self.complaints.add(
                span,
                "drystone::manifest::include",
                "other files cannot be named here",
                "not here",
                "Only a manifest that is a file names others.",
            );
            return None;
        };
        let file = directory.join(path);
        // What does not exist is said when it is read.
        if let (Ok(real), Ok(root)) = (real_path(&file), real_path(directory))
            && !real.starts_with(root)
        {
            self.complaints.add(
                span,
                "drystone::manifest::path",
                format!("{path} is a link that leaves the manifest's directory"),
                "leaves the directory",
                "Copy what it names beside the manifest, so that it comes along when the directory is cloned.",
            );
            return None;
        }
        Some(file)
    }

    /// Paths that applications give files: names on every platform of their environment.
    fn check_given_paths(&mut self) {
        for (environment, (path, place)) in std::mem::take(&mut self.given_paths) {
            let on_windows = self.environments.get(&environment).is_some_and(|environment| {
                environment.platforms.iter().any(|it| it.family() == Family::Windows)
            });
            if let Some(message) = windows_name(&path).filter(|_| on_windows) {
                self.complaints.add_at(
                    place,
                    "drystone::manifest::windows_name",
                    message,
                    "not a name on Windows",
                    format!(
                        "Choose another name: the environment \"{environment}\" is for Windows."
                    ),
                );
            }
        }
    }

    /// What names things of other nodes: known environments, hosts an environment asks for.
    fn cross_check(&mut self) {
        self.check_given_paths();
        for (name, place) in std::mem::take(&mut self.environment_mentions) {
            if self.environments.contains_key(&name) {
                continue;
            }
            let known = || self.environments.keys().map(Name::as_str);
            let help = match self.environments.is_empty() {
                true => {
                    format!("Declare it: environment \"{name}\" {{ platform \"x86_64-windows\" }}.")
                }
                false => format!(
                    "{}Environments here: {}.",
                    did_you_mean(name.as_str(), known()),
                    in_words(known())
                ),
            };
            self.complaints.add_at(
                place,
                "drystone::manifest::unknown_environment",
                format!("there is no environment \"{name}\""),
                "unknown",
                help,
            );
        }
        for (environment, HostMention { host, place }) in std::mem::take(&mut self.host_mentions) {
            let Some(environment) = self.environments.get(&environment) else { continue };
            if environment.hosts.iter().any(|it| it.component == host) {
                continue;
            }
            let known = || environment.hosts.iter().map(|it| it.component.as_str());
            let near = did_you_mean(host.as_str(), known());
            self.complaints.add_at(
                place,
                "drystone::manifest::unknown_host",
                format!("the environment \"{}\" asks for no host \"{host}\"", environment.name),
                format!("{{host.{host}}} in this value"),
                format!(
                    "{near}It asks for {}; add host \"{host}\" \"*\" to it if that is meant.",
                    in_words(known())
                ),
            );
        }
    }
}

fn include_message(path: &str, error: &ManifestError) -> String {
    match error {
        ManifestError::Missing { .. } => format!("the included file {path} does not exist"),
        ManifestError::Directory { .. } => format!("{path} is a directory, not a file"),
        ManifestError::Encoding { found, .. } => format!("{path} is not UTF-8 text: {found}"),
        ManifestError::Read { source, .. } => format!("{path} could not be read: {source}"),
        other => other.to_string(),
    }
}

fn insert<T>(
    into: &mut BTreeMap<Name, T>,
    name: Name,
    value: T,
    what: &str,
    span: SourceSpan,
    complaints: &mut Complaints,
) {
    match into.entry(name) {
        Entry::Occupied(known) => duplicate(what, known.key().as_str(), span, complaints),
        Entry::Vacant(place) => {
            place.insert(value);
        }
    }
}

fn duplicate(what: &str, name: &str, span: SourceSpan, complaints: &mut Complaints) {
    complaints.add(
        span,
        "drystone::manifest::duplicate",
        format!("the {what} \"{name}\" is here twice"),
        "the second one",
        "Keep one of them, or give one another name.",
    );
}

/// A path's directory, for use and as shown before relative paths.
pub(super) fn directory_of(path: &Path) -> (PathBuf, String) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let shown = parent.map(|parent| format!("{}/", parent.display())).unwrap_or_default();
    let directory = parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    (std::path::absolute(&directory).unwrap_or(directory), shown)
}
