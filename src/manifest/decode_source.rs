//! Decodes `source` nodes: where an archive is and how it becomes a tree.

use kdl::KdlNode;
use miette::SourceSpan;

use super::complaint::{Complaints, did_you_mean, in_words, windows_name};
use super::decode_application::as_glob;
use super::decode_package::tree_paths;
use super::location::source_url;
use super::node::{Child, NodeReader, Text};
use super::package::{Placement, Source, SourceUrl};
use crate::model::{
    ArchiveFormat, Family, Platform, Rename, Sha256Digest, TreePath, UnpackOptions,
};

const CHILDREN: [Child; 15] = [
    Child::Many("url"),
    Child::Once("sha256"),
    Child::Once("size"),
    Child::Once("format"),
    Child::Once("strip"),
    Child::Many("include"),
    Child::Many("exclude"),
    Child::Many("rename"),
    Child::Once("into"),
    Child::Once("encoding"),
    Child::Many("executable"),
    Child::Once("name"),
    Child::Once("max-unpacked"),
    Child::Once("max-entries"),
    Child::Many("overlay"),
];

/// The most that a size or bound may say: what fits a signed number, 8 EiB.
const MOST: u64 = i64::MAX as u64;

#[derive(Default)]
struct Parts {
    urls: Vec<SourceUrl>,
    sha256: Option<Sha256Digest>,
    /// Whether a hash was written at all, right or wrong.
    says_sha256: bool,
    plain_http: Option<SourceSpan>,
    size: Option<u64>,
    options: UnpackOptions,
    name_span: Option<SourceSpan>,
    into: Option<Placement>,
    overlay: Option<Vec<TreePath>>,
    /// The paths that it gives files and directories, to be held by every platform it is for.
    given: Vec<(TreePath, SourceSpan)>,
}

/// Decodes one `source` node.
pub(super) fn decode(node: &KdlNode, complaints: &mut Complaints) -> Option<Source> {
    let mut reader = NodeReader::new(node, complaints);
    let span = reader.span();
    let written = reader.optional_text("a platform");
    let platform = written.map(|text| reader.as_platform(text));
    let mut parts = Parts::default();
    let children = reader.children(&CHILDREN);
    for child in &children {
        parts.take(child, complaints);
    }
    if !children.iter().any(|child| child.name().value() == "url") {
        complaints.add(
            span,
            "drystone::manifest::missing_node",
            "this source has no URL",
            "`url` is missing",
            "Add where the archive is: url \"https://host/archive.zip\".",
        );
    }
    parts.check(span, complaints);
    // A platform that is none was complained of; nothing else follows from it.
    let platform = match platform {
        None => None,
        Some(Some(platform)) => Some(platform),
        Some(None) => return None,
    };
    if platform.is_none_or(|platform: Platform| platform.family() == Family::Windows) {
        for (path, span) in &parts.given {
            refuse_on_windows(path, *span, complaints);
        }
    }
    let Parts { urls, sha256, size, options, into, overlay, .. } = parts;
    Some(Source { platform, urls, sha256, size, options, into, overlay })
}

impl Parts {
    fn take(&mut self, node: &KdlNode, complaints: &mut Complaints) {
        if node.name().value() == "overlay" {
            let paths = self.overlay.get_or_insert_default();
            return tree_paths(node, paths, "overlay \"nvcuda.dll\"", complaints);
        }
        let mut reader = NodeReader::new(node, complaints);
        match reader.word() {
            "url" => self.url(&mut reader),
            "sha256" => {
                self.says_sha256 = true;
                let text = reader.text("64 hexadecimal digits", "sha256 \"e2959ed1…\"");
                self.sha256 = text.and_then(|text| as_sha256(text, &mut reader));
            }
            "size" => self.size = reader.integer("the size in bytes", 1, MOST),
            "max-unpacked" => {
                self.options.max_unpacked = reader.integer("the most bytes unpacked", 1, MOST);
            }
            "max-entries" => {
                self.options.max_entries = reader.integer("the most entries", 1, MOST);
            }
            "strip" => {
                let strip = reader.integer("the number of leading parts", 0, 100);
                self.options.strip = strip.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
            }
            "rename" => {
                const EXAMPLE: &str = "rename \"old/name\" \"new/name\"";
                let from = reader.tree_path("the path in the archive", EXAMPLE);
                let to = self.given(reader.text("the new path", EXAMPLE), &mut reader);
                if let (Some(from), Some(to)) = (from, to) {
                    self.options.rename.push(Rename { from, to });
                }
            }
            "name" => {
                self.name_span = Some(reader.span());
                let text = reader.text("a file name", "name \"tool.exe\"");
                self.options.file_name = self.given(text, &mut reader);
            }
            "into" => {
                let text = reader.text("a directory", "into \"tools\"");
                self.into = text.and_then(|text| match text.value {
                    "." => Some(Placement::Top),
                    _ => self.given(Some(text), &mut reader).map(Placement::Under),
                });
            }
            "format" => {
                let text = reader.text("a format", "format \"zip\"");
                self.options.format = text.and_then(|text| as_format(text, &mut reader));
            }
            "encoding" => {
                let text = reader.text("an encoding", "encoding \"shift_jis\"");
                self.options.encoding = text.and_then(|text| as_encoding(text, &mut reader));
            }
            word => self.patterns(word, &mut reader),
        }
        reader.finish();
    }

    /// A path that the source gives something.
    fn given(
        &mut self,
        text: Option<Text<'_>>,
        reader: &mut NodeReader<'_, '_>,
    ) -> Option<TreePath> {
        let text = text?;
        let path = reader.as_tree_path(text)?;
        self.given.push((path.clone(), text.span));
        Some(path)
    }

    fn patterns(&mut self, word: &str, reader: &mut NodeReader<'_, '_>) {
        let list = match word {
            "include" => &mut self.options.include,
            "exclude" => &mut self.options.exclude,
            _ => &mut self.options.executable,
        };
        for text in reader.texts("a pattern", &format!("{word} \"bin/**\"")) {
            list.extend(as_glob(text, reader));
        }
    }

    fn url(&mut self, reader: &mut NodeReader<'_, '_>) {
        let Some(text) = reader.text("a URL", "url \"https://host/archive.zip\"") else { return };
        match source_url(text.value) {
            Ok(url) => {
                if matches!(&url, SourceUrl::Web(url) if url.scheme() == "http") {
                    self.plain_http.get_or_insert(text.span);
                }
                self.urls.push(url);
            }
            Err(refusal) => reader.complaints.add(
                text.span,
                "drystone::manifest::url",
                refusal.message,
                refusal.label,
                refusal.help,
            ),
        }
    }

    /// What only shows once the whole node is read.
    fn check(&mut self, source: SourceSpan, complaints: &mut Complaints) {
        if let Some(span) = self.plain_http
            && !self.says_sha256
        {
            complaints.add(
                span,
                "drystone::manifest::url",
                "a source without a hash must be https",
                "http, and no sha256 in this source",
                "Write https://, or add the sha256 that the archive must have.",
            );
        }
        let is_file = self.options.format == Some(ArchiveFormat::File);
        if let Some(span) = self.name_span
            && !is_file
        {
            self.options.file_name = None;
            complaints.add(
                span,
                "drystone::manifest::misplaced_node",
                "`name` is for a source that is one file",
                "the source is an archive",
                "Add format \"file\", or use rename \"from\" \"to\" for a file inside an archive.",
            );
        }
        if is_file && self.options.file_name.is_none() && self.name_span.is_none() {
            self.options.file_name = self.urls.first().and_then(last_segment);
            if self.options.file_name.is_none() && !self.urls.is_empty() {
                complaints.add(
                    source,
                    "drystone::manifest::missing_node",
                    "this source is one file, and its URL does not end with a file name",
                    "`name` is missing",
                    "Add what the file is called: name \"tool.exe\".",
                );
            }
        }
    }
}

/// Complains of a path that a source for Windows gives and Windows cannot hold.
fn refuse_on_windows(path: &TreePath, span: SourceSpan, complaints: &mut Complaints) {
    if let Some(message) = windows_name(path) {
        complaints.add(
            span,
            "drystone::manifest::windows_name",
            message,
            "not a name on Windows",
            "Choose another name; a source that is for Linux alone says so: source \"x86_64-linux\" { … }.",
        );
    }
}

/// The last part of a URL's path, percent signs decoded.
fn last_segment(url: &SourceUrl) -> Option<TreePath> {
    match url {
        SourceUrl::File(path) => path.rsplit('/').next()?.parse().ok(),
        SourceUrl::Web(url) => {
            let last = url.path_segments()?.next_back()?;
            let encoded = format!("name={}", last.replace('+', "%2B").replace('&', "%26"));
            let (_, decoded) = url::form_urlencoded::parse(encoded.as_bytes()).next()?;
            let path: TreePath = decoded.parse().ok()?;
            (path.parts().count() == 1).then_some(path)
        }
    }
}

fn as_sha256(text: Text<'_>, reader: &mut NodeReader<'_, '_>) -> Option<Sha256Digest> {
    let digits = text.value.strip_prefix("sha256:").unwrap_or(text.value);
    let digest = Sha256Digest::from_hex(&digits.to_ascii_lowercase()).ok();
    if digest.is_none() {
        let count = digits.chars().count();
        let wrong = digits.chars().find(|c| !c.is_ascii_hexdigit());
        reader.complaints.add(
            text.span,
            "drystone::manifest::sha256",
            match wrong {
                Some(wrong) => format!("{wrong:?} is not a hexadecimal digit"),
                None => format!("a SHA-256 has 64 hexadecimal digits, this has {count}"),
            },
            "not a SHA-256",
            "Copy it from where the archive is published, or leave the line out: `drystone lock` then fetches the archive once and records its hash.",
        );
    }
    digest
}

fn as_format(text: Text<'_>, reader: &mut NodeReader<'_, '_>) -> Option<ArchiveFormat> {
    let format = ArchiveFormat::from_text(text.value);
    if format.is_none() {
        let all = || ArchiveFormat::ALL.into_iter().map(ArchiveFormat::as_str);
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            format!("\"{}\" is not a format", text.value),
            "not a format",
            format!(
                "{}There are {}; without this line the format is taken from the bytes.",
                did_you_mean(text.value, all()),
                in_words(all())
            ),
        );
    }
    format
}

fn as_encoding(text: Text<'_>, reader: &mut NodeReader<'_, '_>) -> Option<String> {
    let known = encoding_rs::Encoding::for_label_no_replacement(text.value.as_bytes());
    if known.is_none() {
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            format!("\"{}\" is not an encoding", text.value),
            "not an encoding",
            "Write a label of the WHATWG Encoding Standard, such as \"shift_jis\", \"gbk\" or \"windows-1252\".",
        );
    }
    known.map(|_| text.value.to_owned())
}
