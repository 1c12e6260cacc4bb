//! Decodes `set`, `prepend`, `append` and `unset`, and checks the placeholders of their values.

use kdl::KdlNode;
use miette::SourceSpan;

use super::complaint::{Complaints, Place};
use super::environment::{Variable, VariableAction};
use super::node::{Child, NodeReader, Text};
use crate::model::Name;

/// The nodes that say something of a variable.
pub(super) const VARIABLE_NODES: [Child; 4] =
    [Child::Many("set"), Child::Many("prepend"), Child::Many("append"), Child::Many("unset")];

/// A `{host.<name>}` in a value: whether the environment asks for it shows when all is read.
pub(super) struct HostMention {
    pub(super) host: Name,
    pub(super) place: Place,
}

/// Variables as they are collected.
#[derive(Default)]
pub(super) struct Variables {
    pub(super) variables: Vec<Variable>,
    pub(super) mentions: Vec<HostMention>,
}

/// Decodes one node of [`VARIABLE_NODES`].
pub(super) fn decode(node: &KdlNode, variables: &mut Variables, complaints: &mut Complaints) {
    let mut reader = NodeReader::new(node, complaints);
    let word = reader.word();
    let example = match word {
        "set" => "set \"ZLUDA_CC\" \"8.6\"",
        "unset" => "unset \"CUDA_PATH\"",
        "append" => "append \"PATH\" \"{environment}/tools\"",
        _ => "prepend \"PATH\" \"{host.hip-sdk}/bin\"",
    };
    let name = reader.text("the name of a variable", example);
    let name = name.filter(|text| is_variable_name(&mut reader, *text));
    let value = (word != "unset").then(|| reader.text("a value", example));
    let platform = reader.platform_property();
    if let Some(Some(text)) = value {
        template(text, &mut variables.mentions, reader.complaints);
    }
    let action = match (word, value.flatten().map(|text| text.value.to_owned())) {
        ("unset", _) => Some(VariableAction::Unset),
        ("set", Some(value)) => Some(VariableAction::Set(value)),
        ("append", Some(value)) => Some(VariableAction::Append(value)),
        ("prepend", Some(value)) => Some(VariableAction::Prepend(value)),
        _ => None,
    };
    if let (Some(name), Some(action)) = (name, action) {
        variables.variables.push(Variable { name: name.value.to_owned(), action, platform });
    }
    reader.finish();
}

fn is_variable_name(reader: &mut NodeReader<'_, '_>, text: Text<'_>) -> bool {
    let wrong = |c: char| c == '=' || c.is_whitespace() || c.is_control();
    let right = !text.value.is_empty() && !text.value.contains(wrong);
    if !right {
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            format!("\"{}\" cannot name a variable", text.value),
            "not the name of a variable",
            "The name and the value are two texts: set \"NAME\" \"value\".",
        );
    }
    right
}

const PLACEHOLDERS: &str = "There are {environment}, {package.<name>}, {host.<name>}, {app}, {home} and {tmp}; a brace itself is written twice: {{ or }}.";

/// Checks the placeholders of a value.
fn template(text: Text<'_>, mentions: &mut Vec<HostMention>, complaints: &mut Complaints) {
    let mut rest = text.value;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            rest = &brace[2..];
            continue;
        }
        let inner = brace.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((inner, after)) = inner else {
            let which = if brace.starts_with('{') { "{ that nothing closes" } else { "} alone" };
            unknown(text.span, format!("this value holds a {which}"), "", complaints);
            return;
        };
        placeholder(inner, text.span, mentions, complaints);
        rest = after;
    }
}

fn placeholder(
    inner: &str,
    span: SourceSpan,
    mentions: &mut Vec<HostMention>,
    complaints: &mut Complaints,
) {
    if matches!(inner, "environment" | "app" | "home" | "tmp") {
        return;
    }
    let (kind, name) = inner.split_once('.').unwrap_or((inner, ""));
    match (kind, name.parse::<Name>()) {
        ("package", Ok(_)) => {}
        ("host", Ok(host)) => mentions.push(HostMention { host, place: complaints.place(span) }),
        _ => {
            let known = ["environment", "package", "host", "app", "home", "tmp"];
            let near = super::complaint::did_you_mean(kind, known);
            unknown(span, format!("{{{inner}}} is not a placeholder"), &near, complaints);
        }
    }
}

fn unknown(span: SourceSpan, message: String, near: &str, complaints: &mut Complaints) {
    complaints.add(
        span,
        "drystone::manifest::unknown_placeholder",
        message,
        "in this value",
        format!("{near}{PLACEHOLDERS}"),
    );
}
