//! The two ways to answer: text for people, one JSON document for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::diagnostic;
use super::harmless::{harmless, harmless_coloured, harmless_json};
use crate::model::VanishedFile;

/// Where a command's results go, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// One JSON document instead of text.
    pub json: bool,
    /// No notes and no progress.
    pub quiet: bool,
}

impl Output {
    /// Prints a report: the document when JSON is asked for, else what `text` writes.
    pub fn report<T: Serialize>(
        &self,
        document: &T,
        text: impl FnOnce(&mut String),
    ) -> io::Result<()> {
        if self.json {
            return print_json(document);
        }
        let mut answer = String::new();
        text(&mut answer);
        print(&harmless(&answer))
    }

    /// Prints an error: a document on stdout when JSON is asked for, with the files that it is about
    /// where such vanished; else a diagnostic on stderr.
    pub fn error(&self, error: &miette::Report, vanished: &[&VanishedFile]) -> io::Result<()> {
        if self.json {
            return print_json(&diagnostic::document(error.as_ref(), vanished));
        }
        let rendered = format!("{error:?}");
        let rendered = rendered.trim_end();
        let shown = match diagnostic::is_plain() {
            true => harmless(rendered),
            false => harmless_coloured(rendered),
        };
        writeln!(io::stderr(), "{shown}")
    }

    /// Says one line to people, on stderr.
    pub fn note(&self, line: &str) {
        if !self.quiet {
            // A closed stderr leaves nobody to tell.
            let _closed = writeln!(io::stderr(), "{}", harmless(line));
        }
    }
}

fn print_json<T: Serialize>(document: &T) -> io::Result<()> {
    let mut answer = serde_json::to_string_pretty(document)?;
    answer.push('\n');
    print(&harmless_json(&answer))
}

/// Writes to stdout; a reader that went away (`drystone … | head`) is no error.
fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
