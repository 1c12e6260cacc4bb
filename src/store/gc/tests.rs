//! What gc keeps when others work beside it, or stopped in the middle of something.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use super::*;
use crate::model::{Entry, Kind, NoProgress, TreeBuilder};
use crate::store::unpacked::tests::record;
use crate::store::{StoreOptions, roots_text};

type Hook = Box<dyn FnOnce(&Path)>;

thread_local! {
    static BETWEEN: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

pub(super) fn between_the_living_and_the_lasting(store: &Path) {
    if let Some(hook) = BETWEEN.with(|hook| hook.borrow_mut().take()) {
        hook(store);
    }
}

fn open(root: &Path) -> Store {
    Store::open(root, &StoreOptions::default()).expect("a store")
}

fn commit(store: &Store, content: &[u8]) -> Tree {
    let staging = store.stage().expect("staging");
    let (blob, size) = staging.add(content, false).expect("staged");
    let mut builder = TreeBuilder::default();
    let path = "a".parse().expect("a path");
    builder.add(Entry::content(Kind::File, size, blob, path)).expect("an entry");
    let tree = builder.finish().expect("a tree");
    staging.commit(&[&tree], &[]).expect("committed");
    tree
}

fn collect(store: &Store) -> Result<GcReport> {
    store.gc(&GcOptions::default(), &NoProgress)
}

#[test]
fn a_build_that_ends_while_gc_looks_keeps_what_it_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("store");
    let builder = open(&root);
    let tree = commit(&builder, b"content");
    let id = tree.id();
    let hook: Hook = Box::new(move |store: &Path| {
        // The builder's last steps take no gc lock: it records the generation and ends.
        let generation = store.join("environments/aaaaaaaaaaaaaaaa/stack/1");
        fs::create_dir_all(&generation).expect("made");
        fs::write(generation.join("roots"), roots_text(&[Root::Tree(id)])).expect("written");
        drop(builder);
    });
    BETWEEN.with(|between| *between.borrow_mut() = Some(hook));
    let collector = open(&root);
    let report = collect(&collector).expect("collected");
    assert_eq!((report.removed.trees, report.removed.blobs), (0, 0));
    assert!(collector.tree(&id).expect("asked").is_some());
}

#[test]
fn what_a_crash_left_half_written_does_not_stop_gc() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory.path().join("store"));
    let project = store.root().join("environments/aaaaaaaaaaaaaaaa/stack");
    for left in ["3.tmp-new", "2.tmp-removed"] {
        fs::create_dir_all(project.join(left)).expect("made");
        fs::write(project.join(left).join("roots"), [0; 70]).expect("written");
    }
    let runtime = store.root().join("runtimes/aaaaaaaaaaaaaaaa/tool/aaaaaaaa");
    fs::create_dir_all(&runtime).expect("made");
    fs::write(runtime.join("roots"), [0; 70]).expect("written");
    collect(&store).expect("collected");
    fs::create_dir_all(project.join("1")).expect("made");
    fs::write(project.join("1/roots"), [0; 70]).expect("written");
    let refused = collect(&store).err();
    assert!(matches!(refused, Some(StoreError::Roots { .. })), "a generation is never guessed");
}

#[test]
fn a_record_whose_tree_an_interrupted_gc_took_does_not_stop_the_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("store");
    let key = {
        let store = open(&root);
        let tree = commit(&store, b"content");
        let record = record(tree.id());
        let staging = store.stage().expect("staging");
        staging.commit(&[], std::slice::from_ref(&record)).expect("committed");
        fs::remove_file(store.layout().tree(&tree.id())).expect("removed");
        record.key
    };
    let environment = root.join("environments/aaaaaaaaaaaaaaaa/stack");
    fs::create_dir_all(&environment).expect("made");
    fs::write(environment.join("roots"), roots_text(&[Root::Unpacked(key)])).expect("written");
    collect(&open(&root)).expect("collected");
}
