//! Gives the Windows program its manifest: what it is not to be taken for, and what it can do.

use embed_manifest::manifest::{ActiveCodePage, ExecutionLevel, Setting, SupportedOS};
use embed_manifest::{embed_manifest, empty_manifest};

/// A part of the package's version.
fn number(part: &str) -> u16 {
    let text = std::env::var(format!("CARGO_PKG_VERSION_{part}"));
    text.ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_WINDOWS").is_none() {
        return;
    }
    let manifest = empty_manifest()
        .name("drystone")
        .version(number("MAJOR"), number("MINOR"), number("PATCH"), 0)
        .supported_os(SupportedOS::Windows10..=SupportedOS::Windows10)
        // Never asks for admin rights, whatever the file is called: Windows takes programs without
        // this line for installers when their names sound like one.
        .requested_execution_level(ExecutionLevel::AsInvoker)
        .active_code_page(ActiveCodePage::Utf8)
        .long_path_aware(Setting::Enabled);
    if let Err(error) = embed_manifest(manifest) {
        println!("cargo:error=the manifest cannot be embedded: {error}");
    }
}
