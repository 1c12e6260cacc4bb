//! Scans KDL text before it is parsed: nesting depth, what never closes, KDL 1 syntax, and
//! versions without quotes.
//!
//! The parser recurses, so nesting must be bounded before it starts; and what it says of KDL 1 or
//! of `3.11.2` helps nobody. The scan knows strings, raw and multi-line strings, nested comments
//! and words, so that nothing in a text fools it; text it cannot follow is refused here.

use super::complaint::Complaints;

/// How deep nodes may be nested.
pub(super) const DEPTH_LIMIT: usize = 64;

/// Braces that a text may open anywhere, strings included: what the parser's stack surely bears,
/// whatever it makes of a text that is wrong.
const BRACE_LIMIT: usize = 1000;

/// Complains of what must not reach the parser. Nothing is added for text that may.
pub(super) fn scan(text: &str, complaints: &mut Complaints) {
    let mut scanner = Scanner {
        text,
        at: 0,
        open: Vec::new(),
        word: (0, 0),
        slashdashes: 0,
        deepest: false,
        complaints,
    };
    while scanner.at < text.len() {
        if scanner.step().is_none() {
            break;
        }
    }
    scanner.finish();
}

/// How many `/-` may follow each other with nothing between.
const SLASHDASH_LIMIT: usize = 8;

struct Scanner<'a, 'c> {
    text: &'a str,
    at: usize,
    /// Where each open brace is.
    open: Vec<usize>,
    /// The word before, as a range of bytes.
    word: (usize, usize),
    /// How many `/-` came with nothing between.
    slashdashes: usize,
    /// Whether too deep nesting was said already.
    deepest: bool,
    complaints: &'c mut Complaints,
}

/// Nothing where what follows cannot be trusted and scanning ends.
type Go = Option<()>;

impl<'a> Scanner<'a, '_> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Takes one token.
    fn step(&mut self) -> Go {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if rest.starts_with("/-") {
            return self.slashdash();
        }
        let blank = first.is_whitespace() || rest.starts_with("//") || rest.starts_with("/*");
        self.slashdashes *= usize::from(blank);
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            self.comment()?;
        } else if first == '"' {
            self.string(0)?;
        } else if first == '#' {
            let hashes = rest.bytes().take_while(|&byte| byte == b'#').count();
            if rest[hashes..].starts_with('"') {
                self.string(hashes)?;
            } else {
                self.at += hashes;
                self.at += word_length(self.rest());
            }
        } else if first == '{' {
            self.open.push(self.at);
            if self.open.len() > DEPTH_LIMIT && !self.deepest {
                self.deepest = true;
                self.too_deep(self.at);
            }
            self.at += 1;
        } else if first == '}' {
            if self.open.pop().is_none() {
                self.complaints.add(
                    (self.at, 1),
                    "drystone::manifest::syntax",
                    "a } closes nothing",
                    "no { is open here",
                    "Remove it, or add the { that it should close.",
                );
            }
            self.at += 1;
        } else if word_length(rest) > 0 {
            self.word()?;
        } else {
            self.at += first.len_utf8();
        }
        Some(())
    }

    /// `/-`: the parser recurses for each that follows another.
    fn slashdash(&mut self) -> Go {
        self.slashdashes += 1;
        if self.slashdashes > SLASHDASH_LIMIT {
            self.complaints.add(
                (self.at, 2),
                "drystone::manifest::syntax",
                format!("more than {SLASHDASH_LIMIT} /- follow each other"),
                "one too many",
                "One /- takes out what follows it.",
            );
            return None;
        }
        self.at += 2;
        Some(())
    }

    fn too_deep(&mut self, at: usize) {
        self.complaints.add(
            (at, 1),
            "drystone::manifest::depth",
            format!("nodes are nested more than {DEPTH_LIMIT} deep"),
            format!("level {} begins here", DEPTH_LIMIT + 1),
            "No manifest needs more than five levels; probably a } is missing further up.",
        );
    }

    fn comment(&mut self) -> Go {
        let (begin, mut depth) = (self.at, 0usize);
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            match &bytes[self.at..] {
                [b'/', b'*', ..] => (depth, self.at) = (depth + 1, self.at + 2),
                [b'*', b'/', ..] => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                return Some(());
            }
            if depth > DEPTH_LIMIT {
                self.complaints.add(
                    (self.at - 2, 2),
                    "drystone::manifest::depth",
                    format!("comments are nested more than {DEPTH_LIMIT} deep"),
                    format!("level {depth} begins here"),
                    "Each /* needs its own */.",
                );
                return None;
            }
        }
        self.unclosed(begin, 2, "comment", "Close it with */ (nested comments need one each).");
        None
    }

    fn unclosed(&mut self, at: usize, length: usize, what: &str, help: &str) {
        self.complaints.add(
            (at, length),
            "drystone::manifest::syntax",
            format!("this {what} is never closed"),
            "begins here",
            help,
        );
    }

    /// A string whose opening quote, after `hashes` hashes, is next.
    fn string(&mut self, hashes: usize) -> Go {
        let begin = self.at;
        self.at += hashes;
        if self.rest().starts_with("\"\"\"") {
            return self.multi_line(begin, hashes);
        }
        self.at += 1;
        let end = format!("\"{}", "#".repeat(hashes));
        loop {
            let rest = self.rest();
            if rest.starts_with(&end) {
                self.at += end.len();
                self.separator();
                return Some(());
            }
            match rest.chars().next() {
                None => {
                    self.unclosed(begin, hashes + 1, "string", "Close it with a quote.");
                    return None;
                }
                Some('\n' | '\r') => {
                    self.complaints.add(
                        (begin, self.at - begin),
                        "drystone::manifest::syntax",
                        "this string does not end on its line",
                        "the closing quote is missing",
                        format!(
                            "Close it with {end}; text of several lines stands between \"\"\" and \"\"\", each on a line of its own."
                        ),
                    );
                    return None;
                }
                Some('\\') if hashes == 0 => self.escape()?,
                Some(other) => self.at += other.len_utf8(),
            }
        }
    }

    /// Complains of a sign of JSON, YAML or TOML behind a string.
    fn separator(&mut self) {
        let Some(sign) = self.rest().chars().next().filter(|c| matches!(c, ',' | ':')) else {
            return;
        };
        self.complaints.add(
            (self.at, 1),
            "drystone::manifest::separator",
            format!("a `{sign}` stands behind a text"),
            "KDL has no such separator",
            "Texts behind a name are separated by spaces, nodes by line breaks or `;`: platform \"x86_64-windows\" \"x86_64-linux\".",
        );
        self.at += 1;
    }

    fn multi_line(&mut self, begin: usize, hashes: usize) -> Go {
        self.at += 3;
        if !self.rest().starts_with(['\n', '\r']) {
            self.complaints.add(
                (begin, hashes + 3),
                "drystone::manifest::syntax",
                "text follows on the line of the three quotes that open a string",
                "the text begins on the next line",
                "Put a line break after \"\"\", or use one quote for text of one line.",
            );
            return None;
        }
        let end = format!("\"\"\"{}", "#".repeat(hashes));
        loop {
            let rest = self.rest();
            if rest.starts_with(&end) {
                self.at += end.len();
                return Some(());
            }
            match rest.chars().next() {
                None => {
                    let help = format!("Close it with {end} on a line of its own.");
                    self.unclosed(begin, hashes + 3, "string", &help);
                    return None;
                }
                Some('\\') if hashes == 0 => self.escape()?,
                Some(other) => self.at += other.len_utf8(),
            }
        }
    }

    fn escape(&mut self) -> Go {
        let rest = &self.text[self.at + 1..];
        let Some(second) = rest.chars().next() else {
            self.at += 1;
            return Some(());
        };
        if second.is_whitespace() {
            self.at += 1 + (rest.len() - rest.trim_start().len());
            return Some(());
        }
        let unicode = second == 'u' && is_unicode_escape(&rest[1..]);
        if unicode || matches!(second, 'n' | 'r' | 't' | '\\' | '"' | 'b' | 'f' | 's') {
            self.at += 2;
            return Some(());
        }
        self.complaints.add(
            (self.at, 1 + second.len_utf8()),
            "drystone::manifest::escape",
            format!("\\{second} means nothing in a string"),
            "unknown escape",
            "Write paths with / on every system. A backslash itself is written \\\\, or stands as it is in a raw string: #\"C:\\dir\"#.",
        );
        // What follows in the string cannot be trusted.
        None
    }

    /// A bare word: an identifier, a number, or something that should have had quotes.
    fn word(&mut self) -> Go {
        let begin = self.at;
        let length = word_length(self.rest());
        let word = &self.text[begin..begin + length];
        self.at += length;
        let after_equals = self.text[..begin].ends_with('=');
        let previous = std::mem::replace(&mut self.word, (begin, self.at));
        match word {
            "true" | "false" | "null" => self.complaints.add(
                (begin, length),
                "drystone::manifest::kdl1",
                format!("`{word}` is KDL 1; this is read as KDL 2"),
                "a word of KDL 1",
                format!("Write #{word}."),
            ),
            "r" if self.rest().starts_with(['"', '#']) => return self.old_raw_string(begin),
            _ if looks_numeric(word) && !is_number(word) => {
                let begin =
                    if after_equals && previous.1 + 1 == begin && is_sign(self.slice(previous)) {
                        previous.0
                    } else {
                        begin
                    };
                let written = self.text[begin..self.at].to_owned();
                self.complaints.add(
                    (begin, written.len()),
                    "drystone::manifest::unquoted",
                    format!("`{written}` is neither a number nor text in quotes"),
                    "quotes are missing",
                    format!("Versions and other texts are quoted: \"{written}\"."),
                );
            }
            _ => {}
        }
        Some(())
    }

    fn slice(&self, (begin, end): (usize, usize)) -> &str {
        &self.text[begin..end]
    }

    /// `r"…"` or `r#"…"#` of KDL 1; the `r` was taken.
    fn old_raw_string(&mut self, begin: usize) -> Go {
        let rest = self.rest();
        let hashes = rest.bytes().take_while(|&byte| byte == b'#').count();
        let Some(inner) = rest[hashes..].strip_prefix('"') else { return Some(()) };
        let end = format!("\"{}", "#".repeat(hashes));
        let Some(length) = inner.find(&end) else {
            self.unclosed(begin, hashes + 2, "string", "Close it with a quote.");
            return None;
        };
        let fence = "#".repeat(hashes.max(1));
        let written = if length <= 60 { &inner[..length] } else { "…" };
        let help = format!("Write {fence}\"{written}\"{fence}.");
        self.at += hashes + 1 + length + end.len();
        self.complaints.add(
            (begin, self.at - begin),
            "drystone::manifest::kdl1",
            "this raw string is KDL 1; this is read as KDL 2",
            "KDL 2 has no r before it",
            help,
        );
        Some(())
    }

    fn finish(mut self) {
        if self.complaints.is_empty()
            && let Some(at) = self.open.pop()
        {
            self.unclosed(at, 1, "{", "Add the } that closes it.");
        }
        let braces = self.text.bytes().filter(|&byte| byte == b'{').count();
        let mut level = 0usize;
        let most = self.text.bytes().fold(0, |most, byte| {
            match byte {
                b'{' => level += 1,
                b'}' => level = level.saturating_sub(1),
                _ => {}
            }
            most.max(level)
        });
        if braces > BRACE_LIMIT && most > BRACE_LIMIT && !self.deepest {
            self.too_deep(0);
        }
    }
}

/// How many bytes of a bare word the text begins with.
fn word_length(text: &str) -> usize {
    text.find(|c: char| {
        c.is_whitespace()
            || c == '\u{feff}'
            || matches!(c, '(' | ')' | '{' | '}' | '[' | ']' | '/' | '\\' | '"' | '#' | ';' | '=')
    })
    .unwrap_or(text.len())
}

/// Whether `{1F600}` or the like follows: a character in hexadecimal.
fn is_unicode_escape(text: &str) -> bool {
    text.strip_prefix('{')
        .and_then(|rest| rest.split_once('}'))
        .filter(|(digits, _)| (1..=6).contains(&digits.len()) && !digits.starts_with('+'))
        .and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok())
        .is_some_and(|code| char::from_u32(code).is_some())
}

fn is_sign(word: &str) -> bool {
    matches!(word, ">" | "<" | "!" | "~" | "^")
}

fn looks_numeric(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-', '.']);
    digits.starts_with(|c: char| c.is_ascii_digit()) && word.len() - digits.len() <= 2
}

/// Whether KDL reads this as a number.
fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let all = |text: &str, digit: fn(&char) -> bool| {
        text.starts_with(|c: char| digit(&c)) && text.chars().all(|c| digit(&c) || c == '_')
    };
    for (prefix, digit) in [
        ("0x", char::is_ascii_hexdigit as fn(&char) -> bool),
        ("0o", |c: &char| matches!(c, '0'..='7')),
        ("0b", |c: &char| matches!(c, '0' | '1')),
    ] {
        if let Some(digits) = unsigned.strip_prefix(prefix) {
            return all(digits, digit);
        }
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let decimal = |text: &str| all(text, char::is_ascii_digit);
    let mantissa_right = match mantissa.split_once('.') {
        Some((whole, fraction)) => decimal(whole) && decimal(fraction),
        None => decimal(mantissa),
    };
    let exponent_right =
        exponent.is_none_or(|text| decimal(text.strip_prefix(['+', '-']).unwrap_or(text)));
    mantissa_right && exponent_right
}
