//! The two ways to answer: text for people, one JSON document for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::diagnostic;

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
        let mut answer = String::new();
        if self.json {
            answer = serde_json::to_string_pretty(document)?;
            answer.push('\n');
        } else {
            text(&mut answer);
        }
        print(&answer)
    }

    /// Prints an error: a document on stdout when JSON is asked for, else a diagnostic on stderr.
    pub fn error(&self, error: &miette::Report) -> io::Result<()> {
        if self.json {
            let mut answer = serde_json::to_string_pretty(&diagnostic::document(error.as_ref()))?;
            answer.push('\n');
            return print(&answer);
        }
        let rendered = format!("{error:?}");
        writeln!(io::stderr(), "{}", rendered.trim_end())
    }

    /// Says one line to people, on stderr.
    pub fn note(&self, line: &str) {
        if !self.quiet {
            // A closed stderr leaves nobody to tell.
            let _closed = writeln!(io::stderr(), "{line}");
        }
    }
}

/// Writes to stdout; a reader that went away (`drystone … | head`) is no error.
fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
