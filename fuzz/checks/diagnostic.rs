//! Errors, drawn as the program draws them: drawing must not panic either, and says something.

use std::sync::Once;

use drystone::ui::install_diagnostics;
use miette::{Diagnostic, Report};

/// Draws an error with all that is related to it.
pub fn draw(error: impl Diagnostic + Send + Sync + 'static) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install_diagnostics);
    assert!(error.code().is_some(), "an error without a code: {error}");
    let drawn = format!("{:?}", Report::new(error));
    assert!(!drawn.trim().is_empty());
}
