//! The text of a lock: KDL of one form only, sorted, one fact a line.

use std::fmt::Write as _;

use super::keys;
use super::model::{Lock, LockedHost, LockedPackage, LockedPlatform};
use crate::manifest::Provided;
use crate::model::{Glob, Platform, UnpackOptions};

/// The number of the text's format.
pub(super) const FORMAT: u64 = 1;

/// The first line of every lock.
pub(super) const FIRST_LINE: &str =
    "// Written by drystone, not to be edited by hand: change env.kdl, then run `drystone lock`.";

/// The text of a lock: the same for equal locks, with LF line ends.
pub fn write(lock: &Lock) -> String {
    let mut text = Text::default();
    text.raw(FIRST_LINE);
    text.raw(&format!("format {FORMAT}"));
    text.fact("environment", &[lock.environment.as_str()]);
    text.raw(&format!("unpack-rules {}", lock.unpack_rules));
    text.fact("inputs", &[&lock.inputs.to_string()]);
    text.flag("contents", lock.contents);
    for (&platform, section) in &lock.platforms {
        write_platform(&mut text, platform, section);
    }
    let seal = keys::seal(&text.text);
    text.fact("seal", &[&seal]);
    text.text
}

fn write_platform(text: &mut Text, platform: Platform, section: &LockedPlatform) {
    text.open("platform", platform.as_str());
    text.fact("settings", &[&section.settings.to_string()]);
    text.fact("root", &[&section.root.to_string()]);
    for (name, application) in &section.applications {
        text.open("application", name.as_str());
        text.fact("id", &[&application.id.to_string()]);
        text.close();
    }
    for host in section.hosts.values() {
        text.sealed("host", host.name.as_str(), |text| write_host(text, host));
    }
    for package in section.packages.values() {
        text.sealed("package", package.name.as_str(), |text| write_package(text, package));
    }
    text.close();
}

fn write_host(text: &mut Text, host: &LockedHost) {
    text.fact("range", &[&host.range.to_string()]);
    text.fact("id", &[&host.id.to_string()]);
    text.flag("direct", host.direct);
    write_provides(text, &host.provides);
}

/// The seal of a host component as it stands in a lock.
pub(super) fn host_seal(host: &LockedHost) -> String {
    let mut text = Text { depth: 1, ..Text::default() };
    text.sealed("host", host.name.as_str(), |text| write_host(text, host))
}

/// The seal of a package as it stands in a lock.
pub(super) fn package_seal(package: &LockedPackage) -> String {
    let mut text = Text { depth: 1, ..Text::default() };
    text.sealed("package", package.name.as_str(), |text| write_package(text, package))
}

fn write_package(text: &mut Text, package: &LockedPackage) {
    text.fact("version", &[package.version.as_str()]);
    text.fact("id", &[&package.id.to_string()]);
    text.flag("direct", package.direct);
    text.flag("optional", package.optional);
    text.fact("unpack-key", &[&package.unpack_key.to_string()]);
    for url in &package.urls {
        text.fact("url", &[&url.text()]);
    }
    text.fact("sha256", &[&package.sha256.to_string()]);
    if let Some(size) = package.size {
        text.number("size", size);
    }
    write_options(text, &package.options);
    text.fact("into", &[package.placement.as_str()]);
    for requirement in &package.requires {
        text.fact("requires", &[requirement.name.as_str(), &requirement.range.to_string()]);
    }
    write_provides(text, &package.provides);
    for path in &package.overlay {
        text.fact("overlay", &[path.as_str()]);
    }
    for name in &package.depends {
        text.fact("depends", &[name.as_str()]);
    }
    if let Some(tree) = &package.tree {
        text.fact("tree", &[&tree.to_string()]);
    }
}

fn write_provides(text: &mut Text, provides: &[Provided]) {
    for provided in provides {
        match &provided.version {
            Some(version) => text.fact("provides", &[provided.name.as_str(), version.as_str()]),
            None => text.fact("provides", &[provided.name.as_str()]),
        }
    }
}

fn write_options(text: &mut Text, options: &UnpackOptions) {
    if let Some(format) = options.format {
        text.fact("format", &[format.as_str()]);
    }
    if options.strip > 0 {
        text.number("strip", u64::from(options.strip));
    }
    let mut globs = |word: &str, globs: &[Glob]| {
        for glob in globs {
            text.fact(word, &[glob.as_str()]);
        }
    };
    globs("include", &options.include);
    globs("exclude", &options.exclude);
    globs("executable", &options.executable);
    for rename in &options.rename {
        text.fact("rename", &[rename.from.as_str(), rename.to.as_str()]);
    }
    if let Some(encoding) = &options.encoding {
        text.fact("encoding", &[encoding]);
    }
    if let Some(file_name) = &options.file_name {
        text.fact("file-name", &[file_name.as_str()]);
    }
    if let Some(bytes) = options.max_unpacked {
        text.number("max-unpacked", bytes);
    }
    if let Some(entries) = options.max_entries {
        text.number("max-entries", entries);
    }
}

/// The text under way.
#[derive(Default)]
struct Text {
    text: String,
    depth: usize,
}

impl Text {
    fn raw(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("    ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fact(&mut self, word: &str, values: &[&str]) {
        let mut line = word.to_owned();
        for value in values {
            line.push(' ');
            quote(&mut line, value);
        }
        self.raw(&line);
    }

    fn number(&mut self, word: &str, number: u64) {
        self.raw(&format!("{word} {number}"));
    }

    fn flag(&mut self, word: &str, value: bool) {
        self.raw(&format!("{word} #{value}"));
    }

    fn open(&mut self, word: &str, name: &str) {
        self.raw(&format!("{word} \"{name}\" {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.raw("}");
    }

    /// Writes a node whose last line is the seal of the lines before it; gives the seal.
    fn sealed(&mut self, word: &str, name: &str, body: impl FnOnce(&mut Self)) -> String {
        let start = self.text.len();
        self.open(word, name);
        body(self);
        let seal = keys::seal(&self.text[start..]);
        self.fact("seal", &[&seal]);
        self.close();
        seal
    }
}

/// Appends a KDL string, always quoted; whatever is not plain text is escaped.
fn quote(line: &mut String, value: &str) {
    line.push('"');
    for c in value.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            c if c.is_control() || is_invisible(c) => {
                // Writing to a String cannot fail.
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

/// Line separators, direction marks and the byte order mark: not seen in a diff, or not allowed in
/// KDL.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
