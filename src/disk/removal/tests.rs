//! What removal leaves alone, and what it goes on past.

use super::*;

#[cfg(unix)]
#[test]
fn read_only_directories_go_and_what_links_point_to_stays() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = tempfile::tempdir().expect("a directory");
    let outside = directory.path().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("kept"), "kept").expect("written");
    let tree = directory.path().join("tree");
    fs::create_dir_all(tree.join("a/b")).expect("made");
    fs::write(tree.join("a/b/file"), "x").expect("written");
    symlink(&outside, tree.join("a/link")).expect("linked");
    for read_only in ["a/b", "a", ""] {
        fs::set_permissions(tree.join(read_only), fs::Permissions::from_mode(0o555))
            .expect("a mode");
    }
    let mode = outside.metadata().expect("there").permissions().mode();
    remove_tree(&tree).expect("removed");
    assert!(!tree.exists());
    assert_eq!(fs::read_to_string(outside.join("kept")).expect("still there"), "kept");
    assert_eq!(outside.metadata().expect("there").permissions().mode(), mode);
    remove_tree(&tree).expect("gone is fine");
}

/// Attributes and access rights belong to the file: clearing them on one name to remove it would
/// clear them on all.
#[test]
fn removing_one_name_changes_nothing_of_the_others() {
    let directory = tempfile::tempdir().expect("a directory");
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).expect("made");
    let (kept, link) = (directory.path().join("kept"), tree.join("link"));
    let file = super::super::create_new(&kept, 0o444).expect("made");
    io::Write::write_all(&mut &file, b"content").expect("written");
    super::super::protect(&file).expect("protected");
    drop(file);
    let mut read_only = fs::metadata(&kept).expect("there").permissions();
    read_only.set_readonly(true);
    fs::set_permissions(&kept, read_only).expect("read-only");
    fs::hard_link(&kept, &link).expect("linked");
    remove_tree(&tree).expect("removed");
    let there = fs::metadata(&kept).expect("still there");
    assert!(there.permissions().readonly());
    assert!(super::super::is_protected(&kept).expect("looked at"));
    assert_eq!(fs::read(&kept).expect("read"), b"content");
    assert_eq!(super::super::facts(&kept).expect("looked at").names, 1);
}

#[cfg(windows)]
#[test]
fn what_somebody_holds_open_stays_and_all_else_goes() {
    use std::os::windows::fs::OpenOptionsExt;

    let directory = tempfile::tempdir().expect("a directory");
    let tree = directory.path().join("tree");
    fs::create_dir_all(tree.join("a")).expect("made");
    for name in ["a/first", "a/held", "last"] {
        fs::write(tree.join(name), "x").expect("written");
    }
    let held =
        fs::File::options().read(true).share_mode(1).open(tree.join("a/held")).expect("open");
    let mut removed = Removed::default();
    // Without the wait that a command has for it.
    let mut without_patience = |path: &Path| {
        let done = fs::remove_file(path);
        is_gone(done, path, &mut removed).expect("noted")
    };
    assert!(!without_patience(&tree.join("a/held")));
    assert_eq!(removed.held[0].path, tree.join("a/held"));
    drop(held);
    remove_tree(&tree).expect("removed");
    assert!(!tree.exists());
}
