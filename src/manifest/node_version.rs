//! Reads versions and ranges of a node, and explains those that lack their quotes.

use kdl::{KdlEntry, KdlValue};
use miette::SourceSpan;

use super::node::{NodeReader, Text, written};
use crate::model::{Range, Version};

impl<'a> NodeReader<'a, '_> {
    /// The next argument as a version.
    pub(super) fn version(&mut self, example: &str) -> Option<(Version, SourceSpan)> {
        let text = self.version_text(example)?;
        let help = "A version is numbers with dots between, then -pre, then +build: \"6-preview.69\", \"2.3.0+cu118\".";
        self.parse(text, "a version", help).map(|version| (version, text.span))
    }

    /// The next argument as a range; `host` says whether a bare version is a prefix.
    pub(super) fn range(&mut self, host: bool, example: &str) -> Option<Range> {
        let text = self.version_text(example)?;
        let parsed = if host { Range::parse_host(text.value) } else { text.value.parse() };
        let help = "A range is a version, or comparisons joined by commas: \"6.4\", \">=6, <8\", \"6.*\", \"*\".";
        self.checked(text, "a range of versions", help, parsed)
    }

    /// The next argument as the text of a version or range, with what is special about them
    /// explained: without quotes a number loses its zeros and an operator becomes a property.
    fn version_text(&mut self, example: &str) -> Option<Text<'a>> {
        let Some(entry) = self.arguments.pop_front() else {
            if !self.operator_property() {
                self.missing("a version", example);
            }
            return None;
        };
        let written = written(entry);
        let quoted = written.starts_with(['"', '#']);
        match entry.value() {
            KdlValue::String(_) if quoted => self.as_text(entry, "a version"),
            KdlValue::Integer(_) | KdlValue::Float(_) => {
                let read = match entry.value() {
                    KdlValue::Float(number) => number.to_string(),
                    KdlValue::Integer(number) => number.to_string(),
                    _ => String::new(),
                };
                let label = if read == written {
                    String::from("a number, not a version")
                } else {
                    format!("a number: it would be read as {read}")
                };
                self.unquoted(entry.span(), &written, label);
                None
            }
            KdlValue::String(_) => {
                self.unquoted(entry.span(), &written, String::from("quotes are missing"));
                None
            }
            _ => self.as_text(entry, "a version"),
        }
    }

    /// Complains of `>=3.11`, which KDL reads as the property `>` with the value 3.11.
    pub(super) fn operator_property(&mut self) -> bool {
        let operator =
            |entry: &&KdlEntry| entry.name().is_some_and(|name| is_operator(name.value()));
        let Some(at) = self.properties.iter().position(operator) else {
            return false;
        };
        let entry = self.properties.remove(at);
        let name = entry.name().map_or("", |name| name.value());
        let label = format!("KDL reads a property named `{name}` here");
        self.unquoted(entry.span(), &format!("{name}={}", written(entry)), label);
        true
    }

    fn unquoted(&mut self, span: SourceSpan, written: &str, label: String) {
        self.complaints.add(
            span,
            "drystone::manifest::unquoted_version",
            format!("the version {written} is not in quotes"),
            label,
            format!("Versions are texts, so that 3.10 stays 3.10: write \"{written}\"."),
        );
    }
}

fn is_operator(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| matches!(c, '<' | '>' | '=' | '!' | '~' | '^'))
}
