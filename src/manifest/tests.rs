//! What a person sees of manifests that are wrong, and what right ones become.

mod damage;
mod diagnostics;
mod values;

use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};

use super::{Manifest, ManifestError, load};

/// A directory with these files.
fn project(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    directory
}

fn load_text(text: &str) -> Result<Manifest, ManifestError> {
    load(&project(&[("env.kdl", text.as_bytes())]).path().join("env.kdl"))
}

/// An error as it is drawn, the directory's path replaced.
fn drawn(error: &ManifestError, directory: &Path) -> String {
    let mut text = String::new();
    let theme = GraphicalTheme::unicode_nocolor();
    // Wide first: a temporary directory's long name must not decide where lines break.
    GraphicalReportHandler::new_themed(theme)
        .with_width(240)
        .render_report(&mut text, error)
        .unwrap();
    let shown = directory.display().to_string();
    let text = text.replace(&shown, "PROJECT").replace("PROJECT\\", "PROJECT/");
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// What is drawn of the manifest of a directory with these files.
fn complaints_of(files: &[(&str, &[u8])]) -> String {
    let directory = project(files);
    let error = load(&directory.path().join("env.kdl")).expect_err("it must be refused");
    drawn(&error, directory.path())
}

/// What is drawn of this manifest.
fn complaints(text: &str) -> String {
    complaints_of(&[("env.kdl", text.as_bytes())])
}
