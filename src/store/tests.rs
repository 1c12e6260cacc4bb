//! The store as its callers use it, on real files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::disk;
use crate::model::{Entry, Kind, Name, NoProgress, Tree, TreeBuilder};
use crate::unpack::Sink;

use super::unpacked::tests::record;
use super::*;

/// A directory for one test, removed at the end whatever the modes in it are.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = disk::remove_tree(self.0.path());
    }
}

fn open(root: &Path) -> Store {
    Store::open(root, &StoreOptions::default()).expect("a store")
}

fn label() -> Name {
    "test".parse().expect("a name")
}

/// Stages these files (kind, path, content) and gives their tree.
fn stage(staging: &Staging<'_>, files: &[(Kind, &str, &[u8])]) -> Tree {
    let mut builder = TreeBuilder::default();
    for (kind, path, content) in files {
        let path = path.parse().expect("a path");
        let entry = if *kind == Kind::Directory {
            Entry::directory(path)
        } else {
            let (blob, size) = staging.add(content, *kind == Kind::Executable).expect("staged");
            Entry::content(*kind, size, blob, path)
        };
        builder.add(entry).expect("an entry");
    }
    builder.finish().expect("a tree")
}

fn commit(store: &Store, files: &[(Kind, &str, &[u8])]) -> Tree {
    let staging = store.stage().expect("staging");
    let tree = stage(&staging, files);
    staging.commit(&[&tree], &[]).expect("committed");
    tree
}

/// Every file below a directory with its content.
fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("below");
            (path.to_string_lossy().replace('\\', "/"), fs::read(entry.path()).expect("read"))
        })
        .collect()
}

const PLAIN: &[(Kind, &str, &[u8])] = &[
    (Kind::File, "readme", b"read me"),
    (Kind::File, "lib/a.dll", b"library"),
    (Kind::File, "lib/b.dll", b"library"),
    (Kind::File, "lib/empty", b""),
    (Kind::Directory, "none", b""),
];

#[test]
fn what_is_committed_is_realised_byte_for_byte_and_kept_once() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let staging = store.stage().expect("staging");
    let large = vec![7u8; 300_000];
    let mut writer = staging.create(Some(1)).expect("a writer");
    for part in large.chunks(1000) {
        writer.write_all(part).expect("written");
    }
    let (blob, size) = writer.finish(false).expect("finished");
    assert_eq!((size, blob.as_bytes()), (300_000, blake3::hash(&large).as_bytes()));
    let mut builder = TreeBuilder::default();
    for entry in stage(&staging, PLAIN).entries() {
        builder.add(entry.clone()).expect("an entry");
    }
    builder
        .add(Entry::content(Kind::File, size, blob, "large".parse().expect("a path")))
        .expect("an entry");
    let tree = builder.finish().expect("a tree");
    let record = record(tree.id());
    assert!(store.unpacked(&record.key).expect("asked").is_none());
    assert!(!store.has_contents(&tree).expect("asked"));
    let committed = staging.commit(&[&tree], std::slice::from_ref(&record)).expect("committed");
    assert_eq!(committed.new_blobs, 4);
    assert_eq!(store.unpacked(&record.key).expect("asked"), Some(tree.clone()));
    assert_eq!(store.unpack_record(&record.key).expect("asked"), Some(record));
    assert!(store.has_contents(&tree).expect("asked"));
    assert_eq!(store.tree(&tree.id()).expect("asked"), Some(tree.clone()));

    let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
    assert!(realised.made);
    let mut expected: BTreeMap<String, Vec<u8>> = PLAIN
        .iter()
        .filter(|(kind, ..)| kind.is_file())
        .map(|(_, path, content)| ((*path).to_owned(), content.to_vec()))
        .collect();
    expected.insert("large".to_owned(), large);
    assert_eq!(contents(&realised.path), expected);
    assert!(realised.path.join("none").is_dir());
    assert!(!store.realise(&tree, &label(), &NoProgress).expect("realised").made);

    let again = store.stage().expect("staging");
    stage(&again, PLAIN);
    let committed = again.commit(&[&tree], &[]).expect("committed");
    assert_eq!(committed.new_blobs, 0);
}

#[cfg(unix)]
#[test]
fn modes_times_and_links_are_what_the_rules_say() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let tree = commit(
        &store,
        &[
            (Kind::File, "bin/plain", b"#!/bin/sh\n"),
            (Kind::Executable, "bin/tool", b"#!/bin/sh\n"),
            (Kind::Link, "bin/latest", b"tool"),
        ],
    );
    let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o7777;
    assert_eq!(mode(&realised.path.join("bin/plain")), 0o444);
    assert_eq!(mode(&realised.path.join("bin/tool")), 0o555);
    assert_eq!(mode(&realised.path.join("bin")), 0o555);
    assert_eq!(mode(&realised.path), 0o555);
    assert_eq!(fs::read_link(realised.path.join("bin/latest")).expect("a link"), Path::new("tool"));
    for entry in walkdir::WalkDir::new(store.root()) {
        let entry = entry.expect("an entry");
        let inside = entry.path().starts_with(store.root().join("realised"));
        if entry.file_type().is_dir() && (!inside || entry.path().ends_with("realised")) {
            assert_eq!(mode(entry.path()), 0o700, "{}", entry.path().display());
        }
    }
    let file = realised.path.join("bin/plain").metadata().expect("there");
    assert_eq!((file.mtime(), file.mtime_nsec()), (946_684_800, 0));
    assert_eq!(file.nlink(), 2);
}

#[cfg(unix)]
#[test]
fn a_missing_form_is_copied_from_the_other() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let tree = commit(&store, &[(Kind::File, "a", b"content")]);
    let entry = &tree.entries()[0];
    let blob = entry.blob.expect("a blob");
    let target = directory.path().join("tool");
    let placed = store.place(Kind::Executable, &blob, entry.size, &target, false).expect("placed");
    assert_eq!(placed, Placed::Linked);
    assert!(store.layout().blob(&blob, true).exists());
    let writable = directory.path().join("writable");
    let placed = store.place(Kind::File, &blob, entry.size, &writable, true).expect("placed");
    assert_ne!(placed, Placed::Linked);
    fs::write(&writable, "changed").expect("written");
    assert_eq!(store.read(&blob).expect("read"), b"content");
}

#[test]
fn a_download_survives_interruption_and_is_taken_in_under_its_hash() {
    let directory = Scratch::new();
    let root = directory.path().join("store");
    let sha256 = Sha256Digest::from_bytes([9; 32]);
    {
        let store = open(&root);
        assert!(store.archive(&sha256).expect("asked").is_none());
        let place = store.download(&sha256.hex(), &NoProgress).expect("a place");
        fs::write(place.partial(), "half").expect("written");
    }
    let store = open(&root);
    let place = store.download(&sha256.hex(), &NoProgress).expect("a place");
    assert_eq!(fs::read_to_string(place.partial()).expect("still there"), "half");
    fs::write(place.partial(), "whole").expect("written");
    fs::write(place.aside(), "wrong").expect("written");
    let aside = place.aside();
    let path = place.finish(&sha256).expect("finished");
    assert_eq!(fs::read_to_string(&path).expect("there"), "whole");
    assert_eq!(store.archive(&sha256).expect("asked"), Some(path));
    assert!(!aside.exists());
    assert!(matches!(store.download("../x", &NoProgress), Err(StoreError::Name { .. })));
}

#[test]
fn environment_directories_are_locked_and_written_whole() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let project = project_id(directory.path()).expect("an id");
    let name = label();
    let held = store.environment(&project, &name, &NoProgress).expect("locked");
    held.write("current", b"1\n").expect("written");
    held.write("current", b"2\n").expect("written");
    held.write_directory("2", &[("manifest", b"m"), ("roots", b"")]).expect("written");
    assert!(matches!(held.write("../x", b""), Err(StoreError::Name { .. })));
    assert_eq!(
        contents(&store.environment_path(&project, &name)),
        BTreeMap::from([
            ("2/manifest".to_owned(), b"m".to_vec()),
            ("2/roots".to_owned(), Vec::new()),
            ("current".to_owned(), b"2\n".to_vec()),
        ])
    );
    held.remove("2").expect("removed");
    assert!(!held.path().join("2").exists());
}

/// What one blob of this store is, and its path.
fn one_blob(store: &Store) -> (crate::model::BlobId, u64, PathBuf) {
    let tree = commit(store, &[(Kind::File, "a", b"popular")]);
    let entry = &tree.entries()[0];
    let blob = entry.blob.expect("a blob");
    let path = store.layout().blob(&blob, false);
    (blob, entry.size, path)
}

#[test]
fn at_the_link_limit_a_fresh_file_takes_over_and_linking_goes_on() {
    let directory = Scratch::new();
    let mut store = open(&directory.path().join("store"));
    store.set_link_limit(link::LinkLimit::of(5));
    let (blob, size, path) = one_blob(&store);
    let first = disk::facts(&path).expect("there").identity;
    for number in 0..11 {
        let target = directory.path().join(number.to_string());
        let placed = store.place(Kind::File, &blob, size, &target, false).expect("placed");
        assert_eq!(placed, Placed::Linked, "{number}");
        assert_eq!(fs::read(&target).expect("read"), b"popular");
    }
    let fresh = disk::facts(&path).expect("there");
    assert_ne!(fresh.identity, first);
    assert_eq!(fresh.names, 4);
    assert!(disk::is_protected(&path).expect("looked at"));
    assert!(store.take_notes().is_empty(), "nothing was copied instead of linked");
    assert!(store.verify(&VerifyOptions::default(), &NoProgress).expect("verified").is_clean());
}

/// The real limit of ext4 is 65,000; elsewhere this shows that many links do no harm.
#[cfg(unix)]
#[test]
fn sixty_five_thousand_links_to_one_blob_work() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let (blob, size, _) = one_blob(&store);
    for part in 0..66 {
        let below = directory.path().join(part.to_string());
        fs::create_dir(&below).expect("made");
        for number in 0..1000 {
            let target = below.join(number.to_string());
            let placed = store.place(Kind::File, &blob, size, &target, false).expect("placed");
            assert_eq!(placed, Placed::Linked, "{part} {number}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_another_file_system_files_are_copied_and_one_line_says_why() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let directory = Scratch::new();
    let device =
        |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().expect("there"));
    if device(elsewhere.path()) == device(directory.path()) {
        return;
    }
    let store = open(&directory.path().join("store"));
    let (blob, size, _) = one_blob(&store);
    for name in ["a", "b"] {
        let target = elsewhere.path().join(name);
        let placed = store.place(Kind::File, &blob, size, &target, false).expect("placed");
        assert_eq!(placed, Placed::Copied);
        let copy = target.metadata().expect("there");
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&copy) & 0o7777, 0o444);
        assert_eq!(copy.modified().expect("a time"), blob::fixed_time());
    }
    assert_eq!(
        store.take_notes(),
        [
            "2 files (14 B) were copied instead of linked: the store and the directory lie on different file systems"
        ]
    );
    assert!(store.take_notes().is_empty());
}

#[test]
fn a_tree_whose_contents_are_not_here_is_not_committed() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let other = open(&directory.path().join("other"));
    let foreign = commit(&other, PLAIN);
    let refused = store.stage().expect("staging").commit(&[&foreign], &[]).err();
    assert!(matches!(refused, Some(StoreError::BlobMissing { .. })));
    assert!(store.tree(&foreign.id()).expect("asked").is_none());
    let refused = store.realise(&foreign, &label(), &NoProgress).err();
    assert!(matches!(refused, Some(StoreError::TreeMissing { .. })));
}

#[test]
fn two_that_stage_for_one_new_directory_keep_each_content_once() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let fan = |content: &str| blake3::hash(content.as_bytes()).as_bytes()[0];
    let neighbour = (0..).map(|number: u32| number.to_string());
    let neighbour = neighbour.into_iter().find(|text| fan(text) == fan("shared"));
    let neighbour = neighbour.expect("one in 256");
    let (first, second) = (store.stage().expect("staging"), store.stage().expect("staging"));
    for staging in [&first, &second] {
        staging.add(b"shared", false).expect("staged");
    }
    let (blob, _) = second.add(neighbour.as_bytes(), false).expect("staged");
    assert_eq!(first.commit(&[], &[]).expect("committed").new_blobs, 1);
    let committed = second.commit(&[], &[]).expect("committed");
    assert_eq!((committed.new_blobs, committed.new_bytes), (1, neighbour.len() as u64));
    assert_eq!(store.read(&blob).expect("it is here"), neighbour.as_bytes());
    assert_eq!(contents(&store.root().join("blobs")).len(), 2);
}

#[test]
fn a_content_that_was_not_finished_leaves_nothing() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let staging = store.stage().expect("staging");
    let mut writer = staging.create(None).expect("a writer");
    writer.write_all(&vec![1; 200_000]).expect("written");
    drop(writer);
    let committed = staging.commit(&[], &[]).expect("committed");
    assert_eq!((committed.new_blobs, committed.new_bytes), (0, 0));
    assert_eq!(contents(&store.root().join("tmp")).len(), 0);
    let staging = store.stage().expect("staging");
    staging.add(b"never committed", false).expect("staged");
    drop(staging);
    assert_eq!(contents(&store.root().join("tmp")).len(), 0);
    assert_eq!(contents(&store.root().join("blobs")).len(), 0);
}

#[test]
fn what_an_interrupted_removal_left_of_a_realised_directory_is_not_taken_for_it() {
    let directory = Scratch::new();
    let store = open(&directory.path().join("store"));
    let tree = commit(&store, PLAIN);
    let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
    let whole = contents(&realised.path);
    for half in ["lib", "readme"] {
        disk::make_writable(&realised.path).expect("a mode");
        disk::remove_tree(&realised.path.join(half)).expect("removed");
        if cfg!(windows) {
            return; // There is no mode that says whether a directory is finished.
        }
        assert!(store.realise(&tree, &label(), &NoProgress).expect("realised").made);
        assert_eq!(contents(&realised.path), whole, "without {half}");
    }
    assert!(store.verify(&VerifyOptions::default(), &NoProgress).expect("verified").is_clean());
}

#[test]
fn what_a_generation_rests_on_is_waited_for_before_it_is_written() {
    let directory = Scratch::new();
    let root = directory.path().join("store");
    let store = open(&root);
    let settled = |store: &Store| store.barrier().expect("a barrier").is_settled();
    let tree = commit(&store, PLAIN);
    assert!(!settled(&store), "trees have their names since the wait");
    store.realise(&tree, &label(), &NoProgress).expect("realised");
    assert!(settled(&store), "the wait for the directory was one for the trees");
    commit(&store, &[(Kind::File, "own", b"an application's own file")]);
    assert!(!settled(&store));
    let other = open(&root);
    other.realise(&tree, &label(), &NoProgress).expect("found");
    assert!(!settled(&other), "its maker may not have waited yet");
    let project = project_id(directory.path()).expect("an id");
    let held = other.environment(&project, &label(), &NoProgress).expect("locked");
    held.settle().expect("waited");
    assert!(settled(&other));
}
