//! Reads one KDL node: its arguments, properties and children, with a complaint for each that is
//! missing, of the wrong kind, unknown, or there twice.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::str::FromStr;

use kdl::{KdlEntry, KdlNode, KdlValue};
use miette::SourceSpan;

use super::complaint::{Complaints, did_you_mean, in_words};
use crate::model::{Name, Platform, TreePath, TreePathError};

/// A text of the file and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) value: &'a str,
    pub(super) span: SourceSpan,
}

/// A node's name that a block may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Child {
    /// At most once.
    Once(&'static str),
    /// Any number of times.
    Many(&'static str),
}

impl Child {
    const fn name(self) -> &'static str {
        match self {
            Self::Once(name) | Self::Many(name) => name,
        }
    }
}

/// What one node holds, taken piece by piece; what was not taken at the end is complained of.
pub(super) struct NodeReader<'a, 'c> {
    node: &'a KdlNode,
    pub(super) arguments: VecDeque<&'a KdlEntry>,
    pub(super) properties: Vec<&'a KdlEntry>,
    /// The properties that were asked for.
    known: Vec<&'static str>,
    pub(super) complaints: &'c mut Complaints,
}

/// Where a node's name stands: what complaints about the whole node point at.
pub(super) fn name_span(node: &KdlNode) -> SourceSpan {
    node.name().span()
}

impl<'a, 'c> NodeReader<'a, 'c> {
    pub(super) fn new(node: &'a KdlNode, complaints: &'c mut Complaints) -> Self {
        let mut reader = Self {
            node,
            arguments: VecDeque::new(),
            properties: Vec::new(),
            known: Vec::new(),
            complaints,
        };
        let annotations = node.entries().iter().filter_map(KdlEntry::ty).chain(node.ty());
        for annotation in annotations {
            reader.complaints.add(
                annotation.span(),
                "drystone::manifest::type_annotation",
                format!("the type annotation ({}) means nothing here", annotation.value()),
                "not used",
                "Remove it with its parentheses.",
            );
        }
        for entry in node.entries() {
            match entry.name() {
                None => reader.arguments.push_back(entry),
                Some(name) => reader.property_entry(name.value(), entry),
            }
        }
        reader
    }

    fn property_entry(&mut self, name: &str, entry: &'a KdlEntry) {
        let same = |it: &&KdlEntry| it.name().is_some_and(|other| other.value() == name);
        if self.properties.iter().any(same) {
            self.complaints.add(
                entry.span(),
                "drystone::manifest::duplicate_property",
                format!("`{name}` is given twice"),
                "the second one",
                "Keep one of them.",
            );
        } else {
            self.properties.push(entry);
        }
    }

    /// The node's name.
    pub(super) fn word(&self) -> &'a str {
        self.node.name().value()
    }

    pub(super) fn span(&self) -> SourceSpan {
        name_span(self.node)
    }

    pub(super) fn has_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    pub(super) fn has_children(&self) -> bool {
        self.node.children().is_some()
    }

    pub(super) fn missing(&mut self, what: &str, example: &str) {
        let word = self.word();
        self.complaints.add(
            self.span(),
            "drystone::manifest::missing_argument",
            format!("`{word}` lacks {what}"),
            format!("{what} belongs behind it"),
            format!("Write it like this: {example}"),
        );
    }

    /// The next argument as text; a complaint without one.
    pub(super) fn text(&mut self, what: &str, example: &str) -> Option<Text<'a>> {
        match self.arguments.pop_front() {
            Some(entry) => self.as_text(entry, what),
            None => {
                self.missing(what, example);
                None
            }
        }
    }

    /// The next argument as text, if there is one.
    pub(super) fn optional_text(&mut self, what: &str) -> Option<Text<'a>> {
        let entry = self.arguments.pop_front()?;
        self.as_text(entry, what)
    }

    /// All arguments that are left, at least one, as texts.
    pub(super) fn texts(&mut self, what: &str, example: &str) -> Vec<Text<'a>> {
        if self.arguments.is_empty() {
            self.missing(what, example);
        }
        self.optional_texts(what)
    }

    /// All arguments that are left as texts.
    pub(super) fn optional_texts(&mut self, what: &str) -> Vec<Text<'a>> {
        let entries = std::mem::take(&mut self.arguments);
        entries.into_iter().filter_map(|entry| self.as_text(entry, what)).collect()
    }

    pub(super) fn as_text(&mut self, entry: &'a KdlEntry, what: &str) -> Option<Text<'a>> {
        let KdlValue::String(value) = entry.value() else {
            let (kind, written) = (kind(entry.value()), written(entry));
            self.complaints.add(
                entry.span(),
                "drystone::manifest::wrong_type",
                format!("{what} is text, and this is {kind}"),
                format!("{kind}, not text"),
                format!("Put it in quotes: \"{}\".", written.trim_start_matches('#')),
            );
            return None;
        };
        if let Some(control) = value.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t') {
            self.complaints.add(
                entry.span(),
                "drystone::manifest::control_character",
                format!("{what} holds the control character U+{:04X}", u32::from(control)),
                "in here",
                "Remove it.",
            );
            return None;
        }
        Some(Text { value, span: value_span(entry) })
    }

    /// Parses a text; a complaint with the error's own words where it does not parse.
    pub(super) fn parse<T>(&mut self, text: Text<'_>, what: &str, help: &str) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.checked(text, what, help, text.value.parse())
    }

    pub(super) fn checked<T, E: Display>(
        &mut self,
        text: Text<'_>,
        what: &str,
        help: &str,
        parsed: Result<T, E>,
    ) -> Option<T> {
        parsed
            .map_err(|error| {
                self.complaints.add(
                    text.span,
                    "drystone::manifest::invalid_value",
                    error.to_string(),
                    format!("not {what}"),
                    help,
                );
            })
            .ok()
    }

    /// The next argument as a name.
    pub(super) fn name(&mut self, what: &str, example: &str) -> Option<(Name, SourceSpan)> {
        let text = self.text(what, example)?;
        let help = format!(
            "Names are up to 32 of a-z, 0-9 and -, such as {}.",
            suggested_name(text.value)
        );
        self.parse(text, "a name", &help).map(|name| (name, text.span))
    }

    /// The next argument as a path inside a tree.
    pub(super) fn tree_path(&mut self, what: &str, example: &str) -> Option<TreePath> {
        let text = self.text(what, example)?;
        self.as_tree_path(text)
    }

    pub(super) fn as_tree_path(&mut self, text: Text<'_>) -> Option<TreePath> {
        let help = "Write it relative, with / between the parts and without . or .. in it, such as \"bin/tool.exe\".";
        let parsed = text
            .value
            .parse()
            .map_err(|error: TreePathError| format!("the path \"{}\" {error}", text.value));
        self.checked(text, "a path inside a directory", help, parsed)
    }

    pub(super) fn as_platform(&mut self, text: Text<'_>) -> Option<Platform> {
        let all = || Platform::ALL.into_iter().map(Platform::as_str);
        let help = format!("{}Platforms are {}.", did_you_mean(text.value, all()), in_words(all()));
        self.parse(text, "a platform", &help)
    }

    /// The property `platform=`.
    pub(super) fn platform_property(&mut self) -> Option<Platform> {
        let text = self.text_property("platform")?;
        self.as_platform(text)
    }

    /// The next argument as a whole number within bounds.
    pub(super) fn integer(&mut self, what: &str, least: u64, most: u64) -> Option<u64> {
        let example = format!("{} {least}", self.word());
        let Some(entry) = self.arguments.pop_front() else {
            self.missing(what, &example);
            return None;
        };
        let KdlValue::Integer(number) = entry.value() else {
            self.complaints.add(
                entry.span(),
                "drystone::manifest::wrong_type",
                format!("{what} is a whole number, and this is {}", kind(entry.value())),
                "not a whole number",
                format!("Write digits without quotes: {example}."),
            );
            return None;
        };
        let fitting = u64::try_from(*number).ok().filter(|it| (least..=most).contains(it));
        if fitting.is_none() {
            self.complaints.add(
                entry.span(),
                "drystone::manifest::out_of_range",
                format!("{what} is {}, and that is out of range", written(entry)),
                "out of range",
                format!("It goes from {least} to {most}."),
            );
        }
        fitting
    }

    fn property(&mut self, name: &'static str) -> Option<&'a KdlEntry> {
        self.known.push(name);
        let same = |it: &&KdlEntry| it.name().is_some_and(|other| other.value() == name);
        let at = self.properties.iter().position(same)?;
        Some(self.properties.remove(at))
    }

    /// A property as text.
    pub(super) fn text_property(&mut self, name: &'static str) -> Option<Text<'a>> {
        let entry = self.property(name)?;
        self.as_text(entry, &format!("`{name}`"))
    }

    /// A property that is `#true` or `#false`; false without it.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        let Some(entry) = self.property(name) else { return false };
        if let KdlValue::Bool(value) = entry.value() {
            return *value;
        }
        self.complaints.add(
            entry.span(),
            "drystone::manifest::wrong_type",
            format!("`{name}` is yes or no, and this is {}", kind(entry.value())),
            "not #true or #false",
            format!("Write {name}=#true, or leave it out."),
        );
        false
    }

    /// Ends a node that has no block.
    pub(super) fn finish(mut self) {
        self.leftovers();
        if let Some(children) = self.node.children() {
            let span = children.nodes().first().map_or_else(|| self.span(), name_span);
            let word = self.word();
            self.complaints.add(
                span,
                "drystone::manifest::unexpected_block",
                format!("`{word}` has no block"),
                "does not belong here",
                "Remove the braces and what is between them.",
            );
        }
    }

    /// Ends a node that has a block: its children of known names, in order, without repeats of
    /// what may be there once.
    pub(super) fn children(mut self, known: &[Child]) -> Vec<&'a KdlNode> {
        self.leftovers();
        let nodes = self.node.children().map_or(&[][..], |children| children.nodes());
        known_nodes(nodes, known, &format!("`{}`", self.word()), self.complaints)
    }

    fn leftovers(&mut self) {
        while self.operator_property() {}
        let word = self.word();
        for entry in std::mem::take(&mut self.arguments) {
            self.complaints.add(
                entry.span(),
                "drystone::manifest::extra_argument",
                format!("`{word}` takes no further argument"),
                "one too many",
                "Remove it, or give it a line of its own.",
            );
        }
        for entry in std::mem::take(&mut self.properties) {
            let Some(name) = entry.name() else { continue };
            let near = did_you_mean(name.value(), self.known.iter().copied());
            let may = match self.known.as_slice() {
                [] => format!("`{word}` has no properties."),
                some => format!("`{word}` has {}.", in_words(some.iter().copied())),
            };
            self.complaints.add(
                name.span(),
                "drystone::manifest::unknown_property",
                format!("`{word}` has no property `{}`", name.value()),
                "unknown",
                near + &may,
            );
        }
    }
}

/// Those of the nodes whose names are known in this block; complaints for the others, and for
/// repeats of what may be there once.
pub(super) fn known_nodes<'a>(
    nodes: &'a [KdlNode],
    known: &[Child],
    block: &str,
    complaints: &mut Complaints,
) -> Vec<&'a KdlNode> {
    let mut kept = Vec::new();
    let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
    for node in nodes {
        let word = node.name().value();
        match known.iter().find(|child| child.name() == word) {
            None => {
                let names = || known.iter().map(|child| child.name());
                complaints.add(
                    name_span(node),
                    "drystone::manifest::unknown_node",
                    format!("{block} has no node `{word}`"),
                    "unknown",
                    format!("{}It may hold {}.", did_you_mean(word, names()), in_words(names())),
                );
            }
            Some(Child::Once(_)) if seen.insert(word, ()).is_some() => complaints.add(
                name_span(node),
                "drystone::manifest::repeated_node",
                format!("{block} has `{word}` twice"),
                "the second one",
                "Keep one of them.",
            ),
            Some(_) => kept.push(node),
        }
    }
    kept
}

fn kind(value: &KdlValue) -> &'static str {
    match value {
        KdlValue::String(_) => "text",
        KdlValue::Integer(_) | KdlValue::Float(_) => "a number",
        KdlValue::Bool(_) => "yes or no",
        KdlValue::Null => "nothing",
    }
}

/// A value as it stands in the file.
pub(super) fn written(entry: &KdlEntry) -> String {
    match entry.format() {
        Some(format) if !format.value_repr.is_empty() => format.value_repr.clone(),
        _ => entry.value().to_string(),
    }
}

/// Where an entry's value stands: behind the name, where it has one.
fn value_span(entry: &KdlEntry) -> SourceSpan {
    let whole = entry.span();
    let Some(name) = entry.name() else { return whole };
    let skipped = (name.span().offset() + name.span().len() + 1).saturating_sub(whole.offset());
    if skipped >= whole.len() {
        return whole;
    }
    (whole.offset() + skipped, whole.len() - skipped).into()
}

/// A name that this text could become.
fn suggested_name(text: &str) -> String {
    let lower = text.to_lowercase().replace(['_', ' ', '.', '/'], "-");
    let kept: String = lower
        .chars()
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
        .collect();
    let cut: String = kept.trim_matches('-').chars().take(32).collect();
    if cut.parse::<Name>().is_ok() { format!("\"{cut}\"") } else { String::from("\"my-tool\"") }
}
