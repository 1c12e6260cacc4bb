//! Makes text harmless for a terminal: what comes from archives, manifests, binaries and servers
//! may hold escapes that move the cursor, and marks that turn text around.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character would do more on a terminal than show itself.
const fn acts(c: char) -> bool {
    matches!(c,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}')
}

/// The text with every character that acts written out: `\u{1b}`. Line breaks and tabs stay.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    replaced(text, |_| 0, |out, c| write!(out, "\\u{{{:x}}}", u32::from(c)))
}

/// The same for text that this program has coloured: sequences that do nothing but colour stay.
pub(super) fn harmless_coloured(text: &str) -> Cow<'_, str> {
    replaced(text, colour_length, |out, c| write!(out, "\\u{{{:x}}}", u32::from(c)))
}

/// The same for a JSON document, which still says the same: outside of strings it has none.
pub(super) fn harmless_json(text: &str) -> Cow<'_, str> {
    replaced(text, |_| 0, |out, c| write!(out, "\\u{:04x}", u32::from(c)))
}

fn replaced(
    text: &str,
    kept: impl Fn(&str) -> usize,
    write_out: impl Fn(&mut String, char) -> std::fmt::Result,
) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(acts) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = kept(rest);
        if length > 0 {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else if let Some(c) = rest.chars().next() {
            // Writing to a String cannot fail.
            let _ = write_out(&mut out, c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the sequence that the text begins with, if it only sets a style in which text can
/// still be read: no concealing, no black, no backgrounds.
fn colour_length(text: &str) -> usize {
    let Some((numbers, _)) = text.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m'))
    else {
        return 0;
    };
    let readable =
        |number: &str| matches!(number.parse(), Ok(0..=4 | 22..=24 | 31..=37 | 39 | 91..=97u8));
    if numbers.len() <= 16 && (numbers.is_empty() || numbers.split(';').all(readable)) {
        return "\x1b[".len() + numbers.len() + "m".len();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(harmless("a\u{1b}]0;x\u{7}\r\u{9b}2Jb"), r"a\u{1b}]0;x\u{7}\u{d}\u{9b}2Jb");
        assert_eq!(harmless("exe.\u{202e}fdp"), r"exe.\u{202e}fdp");
        assert_eq!(harmless("été\t中文\n👩\u{200d}🔬"), "été\t中文\n👩\u{200d}🔬");
    }

    #[test]
    fn of_escapes_only_readable_colours_stay() {
        assert_eq!(harmless_coloured("\u{1b}[1;31mx\u{1b}[0m"), "\u{1b}[1;31mx\u{1b}[0m");
        for text in ["\u{1b}[8mx", "\u{1b}[30mx", "\u{1b}[2J", "\u{1b}[31", "\u{1b}[38;5;0mx"] {
            assert!(harmless_coloured(text).starts_with(r"\u{1b}["), "{text:?}");
        }
    }

    #[test]
    fn a_document_says_the_same_and_holds_nothing_that_acts() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{9b}\u{202e}b" });
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let harmless = harmless_json(&text);
        assert!(!harmless.contains(acts), "{harmless}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).expect("JSON"), value);
    }
}
