//! Decodes `environment` nodes.

use std::collections::BTreeSet;

use kdl::KdlNode;
use miette::SourceSpan;

use super::complaint::Complaints;
use super::environment::{Environment, HostUse, Override, Use};
use super::node::{Child, NodeReader};
use super::variable::{self, HostMention, VARIABLE_NODES, Variables};

/// A decoded environment, and what has to be checked once all files are read.
pub(super) struct DecodedEnvironment {
    pub(super) environment: Environment,
    pub(super) name_span: SourceSpan,
    pub(super) mentions: Vec<HostMention>,
}

const CHILDREN: [Child; 6] = [
    Child::Once("about"),
    Child::Many("platform"),
    Child::Many("use"),
    Child::Many("host"),
    Child::Many("gpu"),
    Child::Many("override"),
];

/// Decodes one `environment` node.
pub(super) fn decode(node: &KdlNode, complaints: &mut Complaints) -> Option<DecodedEnvironment> {
    let mut reader = NodeReader::new(node, complaints);
    let span = reader.span();
    let named = reader.name("a name", "environment \"my-env\" { … }");
    let known: Vec<Child> = CHILDREN.into_iter().chain(VARIABLE_NODES).collect();
    let mut platforms = BTreeSet::new();
    let (mut uses, mut hosts, mut overrides) = (Vec::new(), Vec::new(), Vec::new());
    let (mut about, mut gpus, mut variables) = (None, BTreeSet::new(), Variables::default());
    let mut says_platform = false;
    for child in reader.children(&known) {
        match child.name().value() {
            "about" => about = one_text(child, "a line", complaints),
            "platform" => {
                says_platform = true;
                platform(child, &mut platforms, complaints);
            }
            "use" => package_use(child, &mut uses, complaints),
            "host" => host_use(child, &mut hosts, complaints),
            "gpu" => gpu(child, &mut gpus, complaints),
            "override" => override_node(child, &mut overrides, complaints),
            _ => variable::decode(child, &mut variables, complaints),
        }
    }
    if !says_platform {
        complaints.add(
            span,
            "drystone::manifest::no_platform",
            "this environment says no platform",
            "`platform` is missing",
            "Add what it is for: platform \"x86_64-windows\" \"x86_64-linux\" (or one of them).",
        );
    }
    let (name, name_span) = named?;
    let environment = Environment {
        name,
        about,
        platforms,
        uses,
        hosts,
        gpus,
        variables: variables.variables,
        overrides,
    };
    Some(DecodedEnvironment { environment, name_span, mentions: variables.mentions })
}

/// The one text of a node such as `about "…"`.
pub(super) fn one_text(node: &KdlNode, what: &str, complaints: &mut Complaints) -> Option<String> {
    let mut reader = NodeReader::new(node, complaints);
    let example = format!("{} \"…\"", reader.word());
    let text = reader.text(what, &example);
    reader.finish();
    text.map(|text| text.value.to_owned())
}

fn platform(
    node: &KdlNode,
    platforms: &mut BTreeSet<crate::model::Platform>,
    complaints: &mut Complaints,
) {
    let mut reader = NodeReader::new(node, complaints);
    for text in reader.texts("a platform", "platform \"x86_64-windows\" \"x86_64-linux\"") {
        if let Some(platform) = reader.as_platform(text)
            && !platforms.insert(platform)
        {
            repeated(&mut reader, text.span, &format!("the platform \"{platform}\""));
        }
    }
    reader.finish();
}

fn repeated(reader: &mut NodeReader<'_, '_>, span: SourceSpan, what: &str) {
    reader.complaints.add(
        span,
        "drystone::manifest::duplicate",
        format!("{what} is named twice"),
        "the second time",
        "Keep one of them.",
    );
}

fn package_use(node: &KdlNode, uses: &mut Vec<Use>, complaints: &mut Complaints) {
    const EXAMPLE: &str = "use \"zluda\" \"6-preview.69\"";
    let mut reader = NodeReader::new(node, complaints);
    let package = reader.name("a package", EXAMPLE);
    let range = if package.is_some() || reader.has_arguments() {
        reader.range(false, EXAMPLE)
    } else {
        None
    };
    let (optional, platform) = (reader.flag("optional"), reader.platform_property());
    if let Some((package, span)) = package {
        let overlaps = |it: &Use| {
            it.package == package
                && (it.platform.is_none() || platform.is_none() || it.platform == platform)
        };
        if uses.iter().any(overlaps) {
            repeated(&mut reader, span, &format!("the package \"{package}\""));
        } else if let Some(range) = range {
            uses.push(Use { package, range, optional, platform });
        }
    }
    reader.finish();
}

fn host_use(node: &KdlNode, hosts: &mut Vec<HostUse>, complaints: &mut Complaints) {
    const EXAMPLE: &str = "host \"hip-sdk\" \"6.4\"";
    let mut reader = NodeReader::new(node, complaints);
    let component = reader.name("a host component", EXAMPLE);
    let range = if component.is_some() || reader.has_arguments() {
        reader.range(true, EXAMPLE)
    } else {
        None
    };
    let platform = reader.platform_property();
    if let Some((component, span)) = component {
        let overlaps = |it: &HostUse| {
            it.component == component
                && (it.platform.is_none() || platform.is_none() || it.platform == platform)
        };
        if hosts.iter().any(overlaps) {
            repeated(&mut reader, span, &format!("the host component \"{component}\""));
        } else {
            // A range that does not parse was complained of; the name still answers mentions.
            let range = range.unwrap_or_else(crate::model::Range::any);
            hosts.push(HostUse { component, range, platform });
        }
    }
    reader.finish();
}

fn gpu(node: &KdlNode, gpus: &mut BTreeSet<String>, complaints: &mut Complaints) {
    let mut reader = NodeReader::new(node, complaints);
    for text in reader.texts("a GPU target", "gpu \"gfx1200\"") {
        let right = text.value.len() <= 32
            && text.value.starts_with(|c: char| c.is_ascii_lowercase())
            && text.value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !right {
            reader.complaints.add(
                text.span,
                "drystone::manifest::invalid_value",
                format!("\"{}\" is not a GPU target", text.value),
                "not a GPU target",
                "Targets are what the compiler calls them, such as \"gfx1200\" for a Radeon RX 9060 XT.",
            );
        } else if !gpus.insert(text.value.to_owned()) {
            repeated(&mut reader, text.span, &format!("the GPU target \"{}\"", text.value));
        }
    }
    reader.finish();
}

fn override_node(node: &KdlNode, overrides: &mut Vec<Override>, complaints: &mut Complaints) {
    const EXAMPLE: &str = "override \"lib/x.dll\" \"zluda\"";
    let mut reader = NodeReader::new(node, complaints);
    let span = reader.span();
    let path = reader.tree_path("a path", EXAMPLE);
    let package = reader.name("a package", EXAMPLE);
    if let (Some(path), Some((package, _))) = (path, package) {
        if overrides.iter().any(|it| it.path == path) {
            repeated(&mut reader, span, &format!("the path \"{path}\""));
        } else {
            overrides.push(Override { path, package });
        }
    }
    reader.finish();
}
