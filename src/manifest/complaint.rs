//! Complaints: what is wrong at one place of a manifest or catalogue, and what to write instead.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};

use super::location::masked;
use crate::model::{TreePath, check_windows_path};

/// One file's text under the name a person knows it by.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Its place in the order of reading: complaints are sorted by it.
    order: usize,
    named: NamedSource<String>,
}

impl SourceFile {
    /// Keeps a text for drawing, its secrets masked: complaints reach logs.
    pub(super) fn new(order: usize, shown: &str, text: &str) -> Arc<Self> {
        let named = NamedSource::new(shown, masked(text)).with_language("KDL");
        Arc::new(Self { order, named })
    }
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Arc<SourceFile>,
    pub(super) span: SourceSpan,
}

/// What is wrong at one place, why, and what to write instead. Displays as one sentence; drawn by
/// `miette` it shows the lines it is about.
#[derive(Debug)]
pub struct Complaint {
    place: Place,
    code: &'static str,
    message: String,
    label: String,
    help: String,
}

impl Complaint {
    /// The stable code, such as `drystone::manifest::unknown_node`.
    pub fn code_text(&self) -> &'static str {
        self.code
    }

    /// What to write instead.
    pub fn help_text(&self) -> &str {
        &self.help
    }

    /// The file, by the name it was given.
    pub fn file(&self) -> &str {
        self.place.file.named.name()
    }

    /// The bytes of the file that it is about.
    pub fn span(&self) -> SourceSpan {
        self.place.span
    }
}

/// Why Windows cannot hold a path, if so, as a sentence.
pub(super) fn windows_name(path: &TreePath) -> Option<String> {
    check_windows_path(path).err().map(|error| format!("the path \"{path}\" {error}"))
}

/// The longest line that is drawn, in bytes: longer ones would flood the screen.
const LONGEST_LINE: usize = 400;

impl Complaint {
    /// Whether the lines around it can be shown; a message says all that matters without them.
    fn is_drawable(&self) -> bool {
        let text = self.place.file.named.inner().as_bytes();
        let at = self.place.span.offset().min(text.len());
        let line_break = |byte: &u8| *byte == b'\n';
        let before = text[..at].iter().rev();
        let start = at - before.clone().position(line_break).unwrap_or(at);
        let above = text[..start.saturating_sub(1)].iter().rev().position(line_break);
        let first = above.map_or(0, |back| start.saturating_sub(1) - back);
        let mut lines = text[first..].split(|byte| *byte == b'\n').take(3);
        lines.all(|line| line.len() <= LONGEST_LINE)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Complaint {}

impl Diagnostic for Complaint {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.is_drawable().then_some(&self.place.file.named as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), self.place.span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// Collects the complaints of one or several files.
#[derive(Debug)]
pub(super) struct Complaints {
    file: Arc<SourceFile>,
    list: Vec<Complaint>,
}

impl Complaints {
    pub(super) fn new(file: Arc<SourceFile>) -> Self {
        Self { file, list: Vec::new() }
    }

    /// Complaints from now on are about another file; gives back the one before.
    pub(super) fn enter(&mut self, file: Arc<SourceFile>) -> Arc<SourceFile> {
        std::mem::replace(&mut self.file, file)
    }

    pub(super) fn place(&self, span: impl Into<SourceSpan>) -> Place {
        Place { file: Arc::clone(&self.file), span: span.into() }
    }

    /// Adds a complaint about the file being read.
    pub(super) fn add(
        &mut self,
        span: impl Into<SourceSpan>,
        code: &'static str,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(span);
        self.add_at(place, code, message, label, help);
    }

    /// Adds a complaint about any file.
    pub(super) fn add_at(
        &mut self,
        place: Place,
        code: &'static str,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, label, help) = (message.into(), label.into(), help.into());
        self.list.push(Complaint { place, code, message, label, help });
    }

    /// Takes over the complaints of another collection.
    pub(super) fn absorb(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, in the order of the files and of the text.
    pub(super) fn into_sorted(mut self) -> Vec<Complaint> {
        self.list.sort_by_key(|it| (it.place.file.order, it.place.span.offset()));
        self.list
    }
}

/// The candidate nearest to a word, if one is near enough to be meant.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, _)| distance > 0 && distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// "Did you mean `x`? " where something is near, else nothing.
pub(super) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    nearest(word, candidates).map(|near| format!("Did you mean `{near}`? ")).unwrap_or_default()
}

/// A list in words: `a, b and c`.
pub(super) fn in_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.as_slice() {
        [] => String::from("nothing"),
        [one] => (*one).to_owned(),
        [many @ .., last] => format!("{} and {last}", many.join(", ")),
    }
}
