//! Every input that the fuzz targets start from or once found a fault with still holds what it must,
//! without a fuzzer. On Linux: under Wine a few of them take minutes.
#![cfg(unix)]

#[path = "../fuzz/checks/mod.rs"]
mod checks;

use std::path::Path;

/// Puts every committed input of a target through its check.
fn check_all(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/inputs").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(&directory).expect("a directory of inputs") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("an input");
        // A check that fails says what does not hold; this says with which input.
        let held = std::panic::catch_unwind(|| check(&bytes));
        assert!(held.is_ok(), "{} does not hold", path.display());
        count += 1;
    }
    assert!(count >= 3, "{} has {count} inputs", directory.display());
}

#[test]
fn manifests() {
    check_all("manifest", checks::manifest::check);
}

#[test]
fn catalogues() {
    check_all("catalogue", checks::catalogue::check);
}

#[test]
fn locks() {
    check_all("lock", checks::lock::check);
}

#[test]
fn trees() {
    check_all("tree", checks::tree::check);
}

#[test]
fn zip_archives() {
    check_all("zip", checks::zip::check);
}

#[test]
fn tar_archives() {
    check_all("tar", checks::tar::check);
}

#[test]
fn answers_of_servers() {
    check_all("http", checks::http::check);
}
