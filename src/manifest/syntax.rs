//! Parses KDL 2 text into nodes, on a thread whose stack bears the nesting that is allowed.

use kdl::{KdlDiagnostic, KdlDocument};

use super::complaint::Complaints;
use super::scan;

/// How many complaints of the parser are shown: the first mistake makes the rest of them up.
const SHOWN: usize = 3;

const STACK: usize = 64 << 20;

/// The document of this text, or nothing and complaints. Fails only where no thread can be had.
pub(super) fn parse(
    text: &str,
    complaints: &mut Complaints,
) -> Result<Option<KdlDocument>, std::io::Error> {
    let mut found = Complaints::new(complaints.place(0).file);
    scan::scan(text, &mut found);
    if !found.is_empty() {
        complaints.absorb(found);
        return Ok(None);
    }
    let parsed = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let handle = thread.spawn_scoped(scope, || KdlDocument::parse_v2(text))?;
        Ok::<_, std::io::Error>(handle.join())
    })?;
    // A panic of the parser is a text it cannot read, like any other.
    let mut diagnostics = match parsed {
        Ok(Ok(document)) => return Ok(Some(document)),
        Ok(Err(error)) => error.diagnostics,
        Err(_) => Vec::new(),
    };
    let mut last = None;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.offset());
    diagnostics.retain(|it| last.replace(it.span.offset()) != Some(it.span.offset()));
    let unexplained = diagnostics.is_empty();
    for diagnostic in diagnostics.into_iter().take(SHOWN) {
        explain(text, diagnostic, complaints);
    }
    if unexplained {
        complaints.add(
            0,
            "drystone::manifest::syntax",
            "the text is not KDL 2",
            "reading stopped",
            HELP,
        );
    }
    Ok(None)
}

const HELP: &str = "A node is `name \"text\" 1 key=\"value\" { … }`, one per line or separated by `;`. Texts are quoted; there are no commas and no `key: value`.";

fn explain(text: &str, diagnostic: KdlDiagnostic, complaints: &mut Complaints) {
    let begin = diagnostic.span.offset().min(text.len());
    let length = diagnostic.span.len().min(text.len() - begin);
    // A span over many lines hides the place where it begins.
    let first_line = text.get(begin..begin + length).and_then(|shown| shown.find('\n'));
    let message = diagnostic.message.unwrap_or_else(|| String::from("the text is not KDL 2"));
    let said = diagnostic.help.map(|help| match help.ends_with(['.', '?', '!']) {
        true => format!("{help} "),
        false => format!("{help}. "),
    });
    complaints.add(
        (begin, first_line.unwrap_or(length)),
        "drystone::manifest::syntax",
        message.trim_end_matches('.'),
        diagnostic.label.unwrap_or_else(|| String::from("here")),
        said.unwrap_or_default() + HELP,
    );
}
