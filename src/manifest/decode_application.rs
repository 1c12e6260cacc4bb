//! Decodes `application` nodes.

use std::time::Duration;

use kdl::KdlNode;
use miette::SourceSpan;

use super::application::{Application, Check, Files, Launch, Overlay, Program, WorkingDirectory};
use super::complaint::{Complaints, Place};
use super::decode_environment::one_text;
use super::node::{Child, NodeReader, Text};
use super::variable::{self, HostMention, VARIABLE_NODES, Variables};
use crate::model::TreePath;

/// A decoded application, and what has to be checked once all files are read.
pub(super) struct DecodedApplication {
    pub(super) application: Application,
    pub(super) name_span: SourceSpan,
    /// Where the environment is named.
    pub(super) environment_place: Place,
    pub(super) mentions: Vec<HostMention>,
    /// The paths that it gives files, and where it says so.
    pub(super) given: Vec<(TreePath, Place)>,
}

const CHILDREN: [Child; 10] = [
    Child::Once("about"),
    Child::Once("in"),
    Child::Many("program"),
    Child::Once("files"),
    Child::Many("overlay"),
    Child::Once("launch"),
    Child::Many("writable"),
    Child::Once("cwd"),
    Child::Once("keep-runs"),
    Child::Many("check"),
];

/// Decodes one `application` node.
pub(super) fn decode(node: &KdlNode, complaints: &mut Complaints) -> Option<DecodedApplication> {
    let mut reader = NodeReader::new(node, complaints);
    let span = reader.span();
    let named = reader.name("a name", "application \"my-app\" { … }");
    let known: Vec<Child> = CHILDREN.into_iter().chain(VARIABLE_NODES).collect();
    let children = reader.children(&known);
    let says = |word: &str| children.iter().any(|child| child.name().value() == word);
    if !says("in") {
        let help = "Add the environment it runs in: in \"my-env\".";
        lacks(span, "environment", "in", help, complaints);
    }
    if !says("program") {
        let help = "Add what is started: program \"tool/bin/tool.exe\".";
        lacks(span, "program", "program", help, complaints);
    }
    let mut parts = Parts::default();
    for child in &children {
        parts.take(child, complaints);
    }
    let ((name, name_span), (environment, environment_span)) = (named?, parts.environment?);
    let application = Application {
        name,
        about: parts.about,
        environment,
        programs: parts.programs,
        files: parts.files,
        overlays: parts.overlays,
        launch: parts.launch,
        variables: parts.variables.variables,
        writable: parts.writable,
        working_directory: parts.working_directory,
        keep_runs: parts.keep_runs,
        checks: parts.checks,
    };
    let environment_place = complaints.place(environment_span);
    let mentions = parts.variables.mentions;
    let given =
        parts.given.into_iter().map(|(path, span)| (path, complaints.place(span))).collect();
    Some(DecodedApplication { application, name_span, environment_place, mentions, given })
}

fn lacks(span: SourceSpan, what: &str, node: &str, help: &str, complaints: &mut Complaints) {
    complaints.add(
        span,
        "drystone::manifest::missing_node",
        format!("this application says no {what}"),
        format!("`{node}` is missing"),
        help,
    );
}

#[derive(Default)]
struct Parts {
    about: Option<String>,
    environment: Option<(crate::model::Name, SourceSpan)>,
    programs: Vec<Program>,
    files: Option<Files>,
    overlays: Vec<Overlay>,
    launch: Option<Launch>,
    variables: Variables,
    writable: Vec<crate::model::Glob>,
    working_directory: WorkingDirectory,
    keep_runs: Option<u32>,
    checks: Vec<Check>,
    given: Vec<(TreePath, SourceSpan)>,
}

impl Parts {
    fn take(&mut self, node: &KdlNode, complaints: &mut Complaints) {
        match node.name().value() {
            "about" => self.about = one_text(node, "a line", complaints),
            "program" => self.program(node, complaints),
            "overlay" => self.overlay(node, complaints),
            "check" => self.check(node, complaints),
            "set" | "prepend" | "append" | "unset" => {
                variable::decode(node, &mut self.variables, complaints);
            }
            _ => self.simple(NodeReader::new(node, complaints)),
        }
    }

    /// The nodes that fit a line.
    fn simple(&mut self, mut reader: NodeReader<'_, '_>) {
        match reader.word() {
            "in" => self.environment = reader.name("an environment", "in \"my-env\""),
            "files" => {
                let text = reader.text("a directory", "files \"./app\"");
                self.files = text.and_then(|text| files(text, &mut reader));
            }
            "launch" => {
                let program = reader.tree_path("a program", "launch \"zluda/zluda.exe\" \"--\"");
                let arguments = owned(reader.optional_texts("an argument"));
                self.launch = program.map(|program| Launch { program, arguments });
            }
            "writable" => {
                for text in reader.texts("a pattern", "writable \"config/**\"") {
                    self.writable.extend(as_glob(text, &mut reader));
                }
            }
            "cwd" => {
                let text = reader.text("a directory", "cwd \"app\"");
                self.working_directory = working_directory(text, &mut reader);
            }
            "keep-runs" => {
                let kept = reader.integer("the number of kept runs", 0, 1000);
                self.keep_runs = kept.and_then(|kept| u32::try_from(kept).ok());
            }
            _ => {}
        }
        reader.finish();
    }

    fn program(&mut self, node: &KdlNode, complaints: &mut Complaints) {
        let mut reader = NodeReader::new(node, complaints);
        let path = reader.tree_path("a path", "program \"zluda/cuda_check.exe\"");
        let arguments = owned(reader.optional_texts("an argument"));
        let platform = reader.platform_property();
        if self.programs.iter().any(|it| it.platform == platform) {
            let which =
                platform.map_or_else(|| String::from("all platforms"), |it| format!("\"{it}\""));
            reader.complaints.add(
                reader.span(),
                "drystone::manifest::duplicate",
                format!("this application has two programs for {which}"),
                "the second one",
                "Keep one, or say platform=\"…\" at each.",
            );
        } else if let Some(path) = path {
            self.programs.push(Program { path, arguments, platform });
        }
        reader.finish();
    }

    fn overlay(&mut self, node: &KdlNode, complaints: &mut Complaints) {
        let mut reader = NodeReader::new(node, complaints);
        let package = reader.name("a package", "overlay \"zluda\"");
        let into = reader.text_property("into").and_then(|text| {
            let path = reader.as_tree_path(text)?;
            self.given.push((path.clone(), text.span));
            Some(path)
        });
        if let Some((package, span)) = package {
            let overlay = Overlay { package, into };
            if self.overlays.contains(&overlay) {
                reader.complaints.add(
                    span,
                    "drystone::manifest::duplicate",
                    format!("the overlay \"{}\" is placed twice at one place", overlay.package),
                    "the second time",
                    "Keep one of them, or say into=\"…\" where it also goes.",
                );
            } else {
                self.overlays.push(overlay);
            }
        }
        reader.finish();
    }

    fn check(&mut self, node: &KdlNode, complaints: &mut Complaints) {
        let mut reader = NodeReader::new(node, complaints);
        let named = reader.name("a name", "check \"loads\" { expect-output \"OK\" }");
        if let Some((name, span)) = &named
            && self.checks.iter().any(|it| it.name == *name)
        {
            reader.complaints.add(
                *span,
                "drystone::manifest::duplicate",
                format!("there are two checks \"{name}\""),
                "the second one",
                "Give one of them another name.",
            );
        }
        let (mut expect_output, mut expect_status, mut timeout) = (None, None, None);
        let known =
            [Child::Once("expect-output"), Child::Once("expect-status"), Child::Once("timeout")];
        for child in reader.children(&known) {
            let mut reader = NodeReader::new(child, complaints);
            match reader.word() {
                "expect-output" => {
                    let text = reader.text("a regular expression", "expect-output \"OK\"");
                    expect_output = text.map(|text| text.value.to_owned());
                }
                "expect-status" => {
                    let status = reader.integer("the exit status", 0, u64::from(u32::MAX));
                    expect_status = status.and_then(|status| i64::try_from(status).ok());
                }
                _ => {
                    let text = reader.text("a duration", "timeout \"60s\"");
                    timeout = text.and_then(|text| as_duration(text, &mut reader));
                }
            }
            reader.finish();
        }
        if let Some((name, _)) = named {
            self.checks.push(Check { name, expect_output, expect_status, timeout });
        }
    }
}

fn owned(texts: Vec<Text<'_>>) -> Vec<String> {
    texts.into_iter().map(|text| text.value.to_owned()).collect()
}

fn files(text: Text<'_>, reader: &mut NodeReader<'_, '_>) -> Option<Files> {
    if text.value.is_empty() {
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            "the directory of the application's files is empty",
            "no directory",
            "Name it relative to the manifest: files \"./app\".",
        );
        return None;
    }
    Some(Files { path: text.value.to_owned() })
}

fn working_directory(text: Option<Text<'_>>, reader: &mut NodeReader<'_, '_>) -> WorkingDirectory {
    match text {
        Some(Text { value: "app", .. }) => WorkingDirectory::App,
        Some(Text { value: "caller", .. }) | None => WorkingDirectory::Caller,
        Some(text) => {
            reader.complaints.add(
                text.span,
                "drystone::manifest::invalid_value",
                format!("\"{}\" is not where an application can start", text.value),
                "not a place to start",
                "It starts where the person is (\"caller\", as without this line) or in its runtime directory: cwd \"app\".",
            );
            WorkingDirectory::Caller
        }
    }
}

/// A pattern over paths.
pub(super) fn as_glob(
    text: Text<'_>,
    reader: &mut NodeReader<'_, '_>,
) -> Option<crate::model::Glob> {
    let help = "Patterns have * and ? within a part of a path, ** across parts, and / between parts on every system: \"lib/**\".";
    if text.value.is_empty() || text.value.contains('\\') {
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            format!("\"{}\" is not a pattern over paths", text.value),
            "not a pattern",
            help,
        );
        return None;
    }
    reader.parse(text, "a pattern", help)
}

fn as_duration(text: Text<'_>, reader: &mut NodeReader<'_, '_>) -> Option<Duration> {
    let duration = duration(text.value);
    if duration.is_none() {
        reader.complaints.add(
            text.span,
            "drystone::manifest::invalid_value",
            format!("\"{}\" is not a duration", text.value),
            "not a duration",
            "Write a whole number and a unit, from 1 ms to 7 days: \"500ms\", \"60s\", \"5m\" or \"1h\".",
        );
    }
    duration
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit.trim() {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let total = number.parse::<u64>().ok()?.checked_mul(milliseconds)?;
    (1..=7 * 24 * 3_600_000).contains(&total).then(|| Duration::from_millis(total))
}
