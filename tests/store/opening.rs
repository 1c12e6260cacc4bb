//! Opening a store, and what is no store, somebody else's, or from another time.

use std::fs;

use drystone::model::{Kind, NoProgress};
use drystone::store::{Store, StoreError, StoreOptions, project_id};

use crate::scratch::{Scratch, commit, contents, label, open, verify};

fn refused(scratch: &Scratch) -> StoreError {
    match Store::open(&scratch.root(), &StoreOptions::default()) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// Writes `format` with another line, and the check that fits.
fn rewrite(scratch: &Scratch, from: &str, to: &str) {
    let path = scratch.root().join("format");
    let text = fs::read_to_string(&path).expect("read").replace(from, to);
    let body = &text[..text.find("check ").expect("a check")];
    fs::write(&path, format!("{body}check {}\n", blake3::hash(body.as_bytes()))).expect("written");
}

#[test]
fn a_new_store_has_its_format_and_is_opened_again() {
    let scratch = Scratch::new();
    let id = scratch.store().id().to_owned();
    let text = fs::read_to_string(scratch.root().join("format")).expect("read");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("drystone-store 1"));
    assert_eq!(lines.next(), Some("minimum-reader 1"));
    assert_eq!(lines.next(), Some("minimum-writer 1"));
    assert_eq!(lines.next(), Some(format!("id {id}").as_str()));
    assert_eq!(scratch.store().id(), id);
}

#[test]
fn a_directory_with_other_things_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.root()).expect("made");
    fs::write(scratch.root().join("thesis.txt"), "important").expect("written");
    let error = refused(&scratch);
    assert!(matches!(&error, StoreError::NotAStore { found, .. } if found == "thesis.txt"));
    assert_eq!(contents(&scratch.root()).len(), 1);
}

#[test]
fn a_newer_layout_is_refused_before_anything_is_touched() {
    let scratch = Scratch::new();
    drop(scratch.store());
    rewrite(&scratch, "drystone-store 1\nminimum-reader 1", "drystone-store 9\nminimum-reader 7");
    let before = contents(&scratch.root());
    let error = refused(&scratch);
    assert!(matches!(error, StoreError::Newer { layout: 9, minimum: 7, what: "read", .. }));
    assert_eq!(contents(&scratch.root()), before);
}

#[test]
fn a_newer_layout_that_may_be_read_is_read_and_not_written() {
    let scratch = Scratch::new();
    let tree = commit(&scratch.store(), &[(Kind::File, "a", b"content")]);
    rewrite(&scratch, "minimum-writer 1", "minimum-writer 2");
    rewrite(&scratch, "drystone-store 1", "drystone-store 2");
    let before = contents(&scratch.root());
    let store = scratch.store();
    assert_eq!(store.tree(&tree.id()).expect("read"), Some(tree.clone()));
    assert!(matches!(store.stage().err(), Some(StoreError::Newer { what: "written", .. })));
    drop(store);
    assert_eq!(contents(&scratch.root()), before);
}

#[test]
fn another_users_store_is_read_and_not_written() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let tree = commit(&store, &[(Kind::File, "a", b"content")]);
    drop(store);
    let text = fs::read_to_string(scratch.root().join("format")).expect("read");
    let owner = text.lines().find(|line| line.starts_with("owner ")).expect("an owner").to_owned();
    rewrite(&scratch, &owner, "owner uid:424242");
    let store = scratch.store();
    assert_eq!(store.read(&tree.entries()[0].blob.expect("a blob")).expect("read"), b"content");
    assert!(verify(&store).is_clean());
    let error = store.stage().err().expect("refused");
    assert!(matches!(error, StoreError::OtherOwner { .. }));
    assert!(error.to_string().contains("uid:424242"), "{error}");
    assert!(store.realise(&tree, &label(), &NoProgress).is_err());
    assert!(store.gc(&drystone::store::GcOptions::default(), &NoProgress).is_err());
}

#[test]
fn what_a_dead_process_left_is_swept() {
    let scratch = Scratch::new();
    drop(scratch.store());
    let left = scratch.root().join("tmp/deaddeaddeaddead/0");
    fs::create_dir_all(&left).expect("made");
    fs::write(left.join("7"), "half a file").expect("written");
    let sessions = scratch.root().join("locks/sessions");
    fs::write(sessions.join("deaddeaddeaddead.lock"), "").expect("written");
    fs::write(sessions.join("deaddeaddeaddead.roots"), "half a li").expect("written");
    let living = scratch.store();
    let staging = living.stage().expect("staging");
    let second = scratch.store();
    assert!(!scratch.root().join("tmp/deaddeaddeaddead").exists());
    assert_eq!(fs::read_dir(&sessions).expect("listed").count(), 2, "the two that live");
    staging.add(b"still there", false).expect("staged");
    staging.commit(&[], &[]).expect("committed");
    drop((living, second));
    assert_eq!(fs::read_dir(&sessions).expect("listed").count(), 0);
    assert_eq!(fs::read_dir(scratch.root().join("tmp")).expect("listed").count(), 0);
}

#[test]
fn an_adopted_store_keeps_only_contents_that_are_what_they_say() {
    let scratch = Scratch::new();
    let (good, id) = {
        let store = scratch.store();
        let good = commit(&store, &[(Kind::File, "a", b"good")]);
        let bad = commit(&store, &[(Kind::File, "a", b"poisoned"), (Kind::File, "b", b"good")]);
        store.realise(&bad, &label(), &NoProgress).expect("realised");
        let project = project_id(scratch.path()).expect("an id");
        let environment = store.environment(&project, &label(), &NoProgress).expect("locked");
        environment.write("current", b"1\n").expect("written");
        (good, store.id().to_owned())
    };
    let poisoned = blake3::hash(b"poisoned").to_hex().to_string();
    let poisoned = scratch.root().join("blobs").join(&poisoned[..2]).join(&poisoned);
    fs::remove_file(&poisoned).expect("removed");
    fs::write(&poisoned, "POISONED").expect("written");
    rewrite(&scratch, &format!("id {id}"), "id bbbbbbbbbbbbbbbb");

    let (store, report) =
        Store::adopt(&scratch.root(), &StoreOptions::default(), &NoProgress).expect("adopted");
    assert_eq!((report.blobs, report.trees), (1, 1));
    assert_eq!(report.removed.len(), 2, "{:?}", report.removed);
    assert!(store.id() != id && store.id() != "bbbbbbbbbbbbbbbb");
    assert!(store.has_contents(&good).expect("asked"));
    assert!(!poisoned.exists());
    for discarded in ["environments", "realised", "unpacked"] {
        let left = fs::read_dir(scratch.root().join(discarded)).expect("listed").count();
        assert_eq!(left, 0, "{discarded}");
    }
    let id = store.id().to_owned();
    drop(store);
    let store = open(&scratch.root());
    assert_eq!(store.id(), id);
    assert!(verify(&store).is_clean());
}

#[cfg(unix)]
#[test]
fn adopting_never_follows_links_out_of_the_store() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    drop(scratch.store());
    let outside = scratch.path().join("outside");
    fs::write(&outside, "mine").expect("written");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o640)).expect("a mode");
    let hex = blake3::hash(b"mine").to_hex().to_string();
    let fan = scratch.root().join("blobs").join(&hex[..2]);
    fs::create_dir_all(&fan).expect("made");
    symlink(&outside, fan.join(&hex)).expect("linked");
    let options = StoreOptions::default();
    let (store, report) = Store::adopt(&scratch.root(), &options, &NoProgress).expect("adopted");
    assert_eq!((report.blobs, report.removed.len()), (0, 1));
    assert_eq!(fs::read_to_string(&outside).expect("read"), "mine");
    assert_eq!(outside.metadata().expect("there").permissions().mode() & 0o777, 0o640);
    drop(store);
    fs::remove_dir_all(scratch.root().join("trees")).expect("removed");
    symlink(scratch.path(), scratch.root().join("trees")).expect("linked");
    let refused = Store::adopt(&scratch.root(), &options, &NoProgress).err();
    assert!(matches!(refused, Some(StoreError::NotAStore { .. })));
}

#[test]
fn a_project_keeps_its_id_when_moved_and_a_copy_gets_its_own() {
    let scratch = Scratch::new();
    let first = scratch.path().join("first");
    fs::create_dir(&first).expect("made");
    let ids: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| project_id(&first))).collect();
        asking.into_iter().map(|one| one.join().expect("no panic").expect("an id")).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(fs::read_to_string(first.join(".drystone/.gitignore")).expect("read"), "*\n");
    let copy = scratch.path().join("copy");
    fs::create_dir_all(copy.join(".drystone")).expect("made");
    fs::copy(first.join(".drystone/project"), copy.join(".drystone/project")).expect("copied");
    let other = project_id(&copy).expect("an id");
    assert_ne!(other, ids[0]);
    assert_eq!(project_id(&first).expect("an id"), ids[0]);
    let moved = scratch.path().join("moved");
    fs::rename(&first, &moved).expect("moved");
    assert_eq!(project_id(&moved).expect("an id"), ids[0]);
    fs::write(moved.join(".drystone/project"), "damaged").expect("written");
    let anew = project_id(&moved).expect("an id");
    assert_eq!(project_id(&moved).expect("an id"), anew);
}
