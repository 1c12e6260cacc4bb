//! Rust source as text with comments, strings and tests blanked: enough to ask which paths the
//! program's code names.

/// One source file, taken apart. Lines count from one.
#[derive(Clone)]
pub struct RustText {
    code: String,
    comments: Vec<bool>,
    test_modules: Vec<String>,
}

impl RustText {
    /// Takes a file apart.
    pub fn new(source: &str) -> Self {
        let (mut code, comments) = blank_comments_and_strings(source);
        let test_modules = blank_tests(&mut code);
        Self { code: code.into_iter().collect(), comments, test_modules }
    }

    /// The program's code, line by line as in the file: all else is spaces.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether a comment stands on this line.
    pub fn has_comment(&self, line: usize) -> bool {
        self.comments.get(line - 1).copied().unwrap_or(false)
    }

    /// The modules that only tests have, kept in files of their own.
    pub fn test_modules(&self) -> &[String] {
        &self.test_modules
    }

    /// The first names of all paths that begin at the crate's root, by `crate::` or by as many
    /// `super::` as the file is deep.
    pub fn paths_from_the_root(&self, depth: usize) -> Vec<(usize, String)> {
        let mut paths = self.paths_below("crate");
        let code: Vec<char> = self.code.chars().collect();
        for at in words(&code, "super") {
            let (mut supers, mut after) = (1, at + "super".len());
            while let Some(next) = after_separator(&code, after)
                && word_at(&code, next) == "super"
            {
                (supers, after) = (supers + 1, next + "super".len());
            }
            let first_of_chain = !preceded_by_separator(&code, at);
            if first_of_chain && supers == depth {
                paths.extend(
                    names_after(&code, after).into_iter().map(|name| (line(&code, at), name)),
                );
            }
        }
        paths
    }

    /// The first names of all paths below a crate or module: `a`, `b` of `root::{a::x, b}`.
    pub fn paths_below(&self, root: &str) -> Vec<(usize, String)> {
        let code: Vec<char> = self.code.chars().collect();
        let mut paths = Vec::new();
        for at in words(&code, root) {
            let names = names_after(&code, at + root.len());
            paths.extend(names.into_iter().map(|name| (line(&code, at), name)));
        }
        paths
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn line(code: &[char], at: usize) -> usize {
    code[..at].iter().filter(|character| **character == '\n').count() + 1
}

fn word_at(code: &[char], at: usize) -> String {
    code[at..].iter().take_while(|character| is_word(**character)).collect()
}

/// Where a word stands by itself.
fn words(code: &[char], word: &str) -> Vec<usize> {
    let starts = |at: &usize| *at == 0 || !is_word(code[at - 1]);
    (0..code.len()).filter(starts).filter(|at| word_at(code, *at) == word).collect()
}

fn skip_spaces(code: &[char], at: usize) -> usize {
    at + code[at..].iter().take_while(|character| character.is_whitespace()).count()
}

/// What follows `::`, if that is what stands here.
fn after_separator(code: &[char], at: usize) -> Option<usize> {
    let at = skip_spaces(code, at);
    code[at..].starts_with(&[':', ':']).then(|| skip_spaces(code, at + 2))
}

fn preceded_by_separator(code: &[char], at: usize) -> bool {
    let before = code[..at].iter().rev().find(|character| !character.is_whitespace());
    before == Some(&':')
}

/// The names that `::name` or `::{name…, name…}` begins with.
fn names_after(code: &[char], at: usize) -> Vec<String> {
    let Some(at) = after_separator(code, at) else { return Vec::new() };
    if code.get(at) != Some(&'{') {
        return vec![word_at(code, at)];
    }
    let (mut depth, mut names, mut expected) = (0, Vec::new(), false);
    for here in at..code.len() {
        match code[here] {
            '{' => {
                depth += 1;
                expected = depth == 1;
            }
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => expected = true,
            character if expected && is_word(character) => {
                names.push(word_at(code, here));
                expected = false;
            }
            _ => {}
        }
    }
    names
}

/// The code with comments and the insides of strings as spaces, and for each line whether it has a
/// comment.
fn blank_comments_and_strings(source: &str) -> (Vec<char>, Vec<bool>) {
    let mut code: Vec<char> = source.chars().collect();
    let mut comments = vec![false; source.lines().count() + 1];
    let mut at = 0;
    while at < code.len() {
        let end = end_of_comment(&code, at);
        if let Some(end) = end {
            let first = line(&code, at);
            let last = line(&code, end);
            comments[first - 1..last].fill(true);
        }
        match end.or_else(|| end_of_literal(&code, at)) {
            Some(end) => {
                blank(&mut code, at, end);
                at = end;
            }
            // A word is skipped whole, so that the `r` of `for"` begins no raw string.
            None if is_word(code[at]) => at += word_at(&code, at).chars().count(),
            None => at += 1,
        }
    }
    (code, comments)
}

fn blank(code: &mut [char], from: usize, to: usize) {
    for character in &mut code[from..to] {
        if *character != '\n' {
            *character = ' ';
        }
    }
}

/// Where the comment that begins here ends: before the line's end, or behind `*/`.
fn end_of_comment(code: &[char], at: usize) -> Option<usize> {
    if code[at..].starts_with(&['/', '/']) {
        return Some(at + code[at..].iter().take_while(|character| **character != '\n').count());
    }
    if !code[at..].starts_with(&['/', '*']) {
        return None;
    }
    let (mut depth, mut here) = (0, at);
    while here < code.len() {
        if code[here..].starts_with(&['/', '*']) {
            (depth, here) = (depth + 1, here + 2);
        } else if code[here..].starts_with(&['*', '/']) {
            (depth, here) = (depth - 1, here + 2);
            if depth == 0 {
                break;
            }
        } else {
            here += 1;
        }
    }
    Some(here.min(code.len()))
}

/// Where the string or character that begins here ends, its prefix and quotes included.
fn end_of_literal(code: &[char], at: usize) -> Option<usize> {
    let prefix = code[at..].iter().take_while(|character| is_word(**character)).count();
    let prefix_word = word_at(code, at);
    let mut here = at + prefix;
    if ["r", "br", "cr"].contains(&&*prefix_word) {
        let hashes = code[here..].iter().take_while(|character| **character == '#').count();
        here += hashes;
        if code.get(here) != Some(&'"') {
            return None;
        }
        let closing: Vec<char> =
            std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        let inside = (here + 1..code.len()).find(|place| code[*place..].starts_with(&closing));
        return Some(inside.map_or(code.len(), |place| place + closing.len()));
    }
    if !["", "b", "c"].contains(&&*prefix_word) {
        return None;
    }
    let quote = *code.get(here)?;
    let is_character =
        quote == '\'' && (code.get(here + 1) == Some(&'\\') || code.get(here + 2) == Some(&'\''));
    if quote != '"' && !is_character {
        return None;
    }
    here += 1;
    while here < code.len() && code[here] != quote {
        here += if code[here] == '\\' { 2 } else { 1 };
    }
    Some((here + 1).min(code.len()))
}

/// Blanks what `#[cfg(test)]` and `#[test]` stand before; the modules among it that are files.
fn blank_tests(code: &mut [char]) -> Vec<String> {
    let mut modules = Vec::new();
    let mut at = 0;
    while at + 1 < code.len() {
        if !code[at..].starts_with(&['#', '[']) {
            at += 1;
            continue;
        }
        let attribute_end = end_of_group(code, at + 1);
        let attribute: String =
            code[at..attribute_end].iter().filter(|character| !character.is_whitespace()).collect();
        if !is_for_tests(&attribute) {
            at = attribute_end;
            continue;
        }
        let (item, end) = end_of_item(code, attribute_end);
        let text: String = code[item..end].iter().collect();
        if let Some(declaration) = text.strip_suffix(';')
            && let Some((_, name)) = declaration.rsplit_once("mod ")
        {
            modules.push(name.trim().to_owned());
        }
        blank(code, at, end);
        at = end;
    }
    modules
}

fn is_for_tests(attribute: &str) -> bool {
    attribute == "#[test]"
        || (attribute.starts_with("#[cfg(")
            && !attribute.contains("not(test)")
            && attribute.split(|character| !is_word(character)).any(|word| word == "test"))
}

/// Behind the bracket that closes the one here.
fn end_of_group(code: &[char], at: usize) -> usize {
    let mut depth = 0;
    for (offset, character) in code[at..].iter().enumerate() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    code.len()
}

/// Where the item begins that follows, further attributes passed, and where it ends.
fn end_of_item(code: &[char], after_attribute: usize) -> (usize, usize) {
    let mut start = skip_spaces(code, after_attribute);
    while code[start..].starts_with(&['#', '[']) {
        start = skip_spaces(code, end_of_group(code, start + 1));
    }
    let is_use = word_at(code, start) == "use";
    let mut here = start;
    while here < code.len() {
        match code[here] {
            ';' => return (start, here + 1),
            '{' if !is_use => return (start, end_of_group(code, here)),
            '(' | '[' | '{' => here = end_of_group(code, here),
            _ => here += 1,
        }
    }
    (start, code.len())
}
