//! Decodes `package` nodes and top-level `host` nodes.

use kdl::KdlNode;
use miette::SourceSpan;

use super::complaint::Complaints;
use super::decode_environment::one_text;
use super::decode_source;
use super::node::{Child, NodeReader};
use super::package::{
    HostDescription, HostRoot, Package, PackageVersion, Provided, Requirement, Source,
};
use crate::model::{Name, TreePath, Version};

/// Decodes one `package` node, with the place of its name.
pub(super) fn package(
    node: &KdlNode,
    complaints: &mut Complaints,
) -> Option<(Package, SourceSpan)> {
    let mut reader = NodeReader::new(node, complaints);
    let span = reader.span();
    let named = reader.name("a name", "package \"zluda\" { … }");
    let known = [
        Child::Once("about"),
        Child::Once("homepage"),
        Child::Once("license"),
        Child::Many("version"),
    ];
    let (mut about, mut homepage, mut license) = (None, None, None);
    let mut versions: Vec<PackageVersion> = Vec::new();
    let mut says_version = false;
    for child in reader.children(&known) {
        match child.name().value() {
            "about" => about = one_text(child, "a line", complaints),
            "homepage" => homepage = one_text(child, "a URL", complaints),
            "license" => license = one_text(child, "a licence", complaints),
            _ => {
                says_version = true;
                if let Some((version, span)) = self::version(child, complaints) {
                    add_version(&mut versions, version, span, complaints);
                }
            }
        }
    }
    if !says_version {
        complaints.add(
            span,
            "drystone::manifest::missing_node",
            "this package has no version",
            "`version` is missing",
            "Add one: version \"1.0\" { source { url \"https://…\"; sha256 \"…\" } }.",
        );
    }
    versions.sort_by(|a, b| a.version.cmp(&b.version));
    let (name, span) = named?;
    Some((Package { name, about, homepage, license, versions }, span))
}

fn add_version(
    versions: &mut Vec<PackageVersion>,
    version: PackageVersion,
    span: SourceSpan,
    complaints: &mut Complaints,
) {
    match versions.iter().find(|it| it.version.is_same(&version.version)) {
        None => versions.push(version),
        Some(other) => complaints.add(
            span,
            "drystone::manifest::duplicate",
            format!("version \"{}\" is described twice", version.version),
            format!("means the same as \"{}\" above", other.version),
            "Keep one of them; a version for several platforms has several `source` nodes.",
        ),
    }
}

fn version(node: &KdlNode, complaints: &mut Complaints) -> Option<(PackageVersion, SourceSpan)> {
    let mut reader = NodeReader::new(node, complaints);
    let named = reader.version("version \"6-preview.69\" { … }");
    let span = reader.span();
    let known = [
        Child::Many("source"),
        Child::Many("requires"),
        Child::Many("provides"),
        Child::Many("overlay"),
    ];
    let mut sources: Vec<Source> = Vec::new();
    let (mut requires, mut provides, mut overlay) = (Vec::new(), Vec::new(), Vec::new());
    let mut says_source = false;
    for child in reader.children(&known) {
        match child.name().value() {
            "source" => {
                says_source = true;
                let source = decode_source::decode(child, complaints);
                add_source(&mut sources, source, child, complaints);
            }
            "requires" => requirement(child, &mut requires, complaints),
            "provides" => provided(child, &mut provides, complaints),
            _ => tree_paths(child, &mut overlay, "overlay \"nvcuda.dll\"", complaints),
        }
    }
    if !says_source {
        complaints.add(
            span,
            "drystone::manifest::missing_node",
            "this version has no source",
            "`source` is missing",
            "Add where its archive is: source \"x86_64-windows\" { url \"https://…\"; sha256 \"…\" }.",
        );
    }
    let (version, span) = named?;
    Some((PackageVersion { version, sources, requires, provides, overlay }, span))
}

fn add_source(
    sources: &mut Vec<Source>,
    source: Option<Source>,
    node: &KdlNode,
    complaints: &mut Complaints,
) {
    let Some(source) = source else { return };
    if sources.iter().any(|it| it.platform == source.platform) {
        let which = source
            .platform
            .map_or_else(|| String::from("all platforms"), |platform| format!("\"{platform}\""));
        complaints.add(
            super::node::name_span(node),
            "drystone::manifest::duplicate",
            format!("there are two sources for {which}"),
            "the second one",
            "Several `url` lines in one source are mirrors of one archive; keep one source for a platform.",
        );
        return;
    }
    sources.push(source);
}

fn requirement(node: &KdlNode, requires: &mut Vec<Requirement>, complaints: &mut Complaints) {
    const EXAMPLE: &str = "requires \"hip-runtime\" \">=6, <8\"";
    let mut reader = NodeReader::new(node, complaints);
    let name = reader.name("what is required", EXAMPLE);
    let range =
        if name.is_some() || reader.has_arguments() { reader.range(false, EXAMPLE) } else { None };
    if let Some((name, span)) = name {
        if requires.iter().any(|it| it.name == name) {
            twice(span, &name, "required", complaints_of(&mut reader));
        } else if let Some(range) = range {
            requires.push(Requirement { name, range });
        }
    }
    reader.finish();
}

fn complaints_of<'r>(reader: &'r mut NodeReader<'_, '_>) -> &'r mut Complaints {
    reader.complaints
}

fn twice(span: SourceSpan, name: &Name, what: &str, complaints: &mut Complaints) {
    complaints.add(
        span,
        "drystone::manifest::duplicate",
        format!("\"{name}\" is {what} twice"),
        "the second time",
        "Keep one of them; comparisons of one range are joined by commas: \">=6, <8\".",
    );
}

fn provided(node: &KdlNode, provides: &mut Vec<Provided>, complaints: &mut Complaints) {
    const EXAMPLE: &str = "provides \"cuda-driver\" \"13.0\"";
    let mut reader = NodeReader::new(node, complaints);
    let name = reader.name("what is provided", EXAMPLE);
    let says_version = reader.has_arguments();
    let version: Option<Version> =
        if says_version { reader.version(EXAMPLE).map(|(version, _)| version) } else { None };
    if let Some((name, span)) = name {
        if provides.iter().any(|it| it.name == name) {
            twice(span, &name, "provided", complaints_of(&mut reader));
        } else {
            provides.push(Provided { name, version });
        }
    }
    reader.finish();
}

/// The paths of a node such as `overlay "a" "b"`, each once.
pub(super) fn tree_paths(
    node: &KdlNode,
    paths: &mut Vec<TreePath>,
    example: &str,
    complaints: &mut Complaints,
) {
    let mut reader = NodeReader::new(node, complaints);
    for text in reader.texts("a path", example) {
        let Some(path) = reader.as_tree_path(text) else { continue };
        if paths.contains(&path) {
            reader.complaints.add(
                text.span,
                "drystone::manifest::duplicate",
                format!("\"{path}\" is named twice"),
                "the second time",
                "Keep one of them.",
            );
        } else {
            paths.push(path);
        }
    }
    reader.finish();
}

/// Decodes one top-level `host` node, with the place of its name.
pub(super) fn host(
    node: &KdlNode,
    complaints: &mut Complaints,
) -> Option<(HostDescription, SourceSpan)> {
    let mut reader = NodeReader::new(node, complaints);
    let named = reader.name("a name", "host \"hip-sdk\" { … }");
    if !reader.has_children() && reader.has_arguments() {
        let span = reader.span();
        reader.complaints.add(
            span,
            "drystone::manifest::misplaced_node",
            "an environment asks for a host component; this stands outside of one",
            "belongs into an environment",
            "Move it into `environment \"…\" { … }`; a `host` at the top describes a component: host \"hip-sdk\" { root variable=\"HIP_PATH\" }.",
        );
        return None;
    }
    let known = [
        Child::Once("about"),
        Child::Once("homepage"),
        Child::Many("provides"),
        Child::Many("root"),
        Child::Many("evidence"),
    ];
    let (mut about, mut homepage) = (None, None);
    let (mut provides, mut roots, mut evidence) = (Vec::new(), Vec::new(), Vec::new());
    for child in reader.children(&known) {
        match child.name().value() {
            "about" => about = one_text(child, "a line", complaints),
            "homepage" => homepage = one_text(child, "a URL", complaints),
            "provides" => provided(child, &mut provides, complaints),
            "root" => root(child, &mut roots, complaints),
            _ => tree_paths(child, &mut evidence, "evidence \"bin/rocblas.dll\"", complaints),
        }
    }
    let (name, span) = named?;
    Some((HostDescription { name, about, homepage, provides, roots, evidence }, span))
}

fn root(node: &KdlNode, roots: &mut Vec<HostRoot>, complaints: &mut Complaints) {
    let mut reader = NodeReader::new(node, complaints);
    let variable = reader.text_property("variable").map(|text| text.value.to_owned());
    let directory = match variable {
        Some(_) => None,
        None => reader
            .text("a directory or variable=\"…\"", "root variable=\"HIP_PATH\"")
            .map(|text| text.value.replace('\\', "/")),
    };
    roots.extend(variable.map(HostRoot::Variable));
    roots.extend(directory.map(HostRoot::Directory));
    reader.finish();
}
