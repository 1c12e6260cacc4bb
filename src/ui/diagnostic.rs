//! Errors as people and programs read them.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteHandlerOpts};
use serde::Serialize;
use textwrap::{WordSeparator, WordSplitter};

use crate::model::VanishedFile;

use super::terminal::{draws_in_unicode, takes_sequences};

/// Makes every diagnostic print as this program prints them: at most 100 columns, links off,
/// colours only on a terminal that did not refuse them. Lines break at spaces alone, so that a URL or
/// a path can be copied.
pub fn install_diagnostics() {
    let installed = miette::set_hook(Box::new(|_| {
        if is_plain() {
            let theme = match draws_in_unicode() {
                true => GraphicalTheme::unicode_nocolor(),
                false => GraphicalTheme::none(),
            };
            return Box::new(
                GraphicalReportHandler::new_themed(theme)
                    .with_width(100)
                    .with_links(false)
                    .with_word_separator(WordSeparator::AsciiSpace)
                    .with_word_splitter(WordSplitter::NoHyphenation)
                    .with_break_words(false),
            );
        }
        let options = MietteHandlerOpts::new().terminal_links(false).width(100);
        let options = options.word_splitter(WordSplitter::NoHyphenation);
        Box::new(options.word_separator(WordSeparator::AsciiSpace).break_words(false).build())
    }));
    debug_assert!(installed.is_ok(), "the hook is installed once");
}

/// Whether diagnostics are printed without colours.
pub(super) fn is_plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !takes_sequences()
}

/// An error in JSON: `{ "error": … }`, its causes from the outermost to the innermost.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    error: ErrorPart<'a>,
}

#[derive(Serialize)]
struct ErrorPart<'a> {
    #[serde(flatten)]
    part: Part,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [&'a VanishedFile],
}

#[derive(Serialize)]
struct Part {
    code: Option<String>,
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Self>,
}

impl Part {
    fn new(error: &dyn Diagnostic) -> Self {
        let mut causes = Vec::new();
        let mut cause = error.source();
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        Self {
            code: error.code().map(|code| code.to_string()),
            message: error.to_string(),
            causes,
            help: error.help().map(|help| help.to_string()),
            related: error.related().into_iter().flatten().map(Self::new).collect(),
        }
    }
}

pub(super) fn document<'a>(error: &dyn Diagnostic, files: &'a [&VanishedFile]) -> Document<'a> {
    Document { error: ErrorPart { part: Part::new(error), files } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("the store is full")]
    #[diagnostic(code(drystone::test::full), help("free some room"))]
    struct Full(#[source] std::io::Error);

    #[test]
    fn a_document_holds_code_message_causes_and_help() {
        let error = Full(std::io::Error::other("no space"));
        let json = serde_json::to_value(document(&error, &[])).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({ "error": {
                "code": "drystone::test::full",
                "message": "the store is full",
                "causes": ["no space"],
                "help": "free some room",
            }})
        );
    }
}
