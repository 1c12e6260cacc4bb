//! gc removes what nobody needs, keeps the rest and says for whom, and never guesses.

use std::fs::{self, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use drystone::model::{Kind, NoProgress, Sha256Digest};
use drystone::store::{
    GcOptions, GcReport, ProjectId, Removed, Root, Store, StoreError, roots_text,
};

use crate::scratch::{Scratch, commit, label, verify};

fn gc(store: &Store, options: GcOptions) -> GcReport {
    store.gc(&options, &NoProgress).expect("collected")
}

fn project() -> ProjectId {
    ProjectId::from_text("aaaaaaaaaaaaaaaa").expect("an id")
}

fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("open");
    let old = SystemTime::now() - Duration::from_secs(1_000_000);
    file.set_times(FileTimes::new().set_modified(old)).expect("a time");
}

#[test]
fn a_generation_keeps_its_tree_and_all_else_goes_with_its_realised_directory() {
    let scratch = Scratch::new();
    let (kept, path) = {
        let store = scratch.store();
        let kept = commit(&store, &[(Kind::File, "a", b"kept"), (Kind::File, "b", b"shared")]);
        let gone = commit(&store, &[(Kind::File, "a", b"gone"), (Kind::File, "b", b"shared")]);
        let realised = store.realise(&kept, &label(), &NoProgress).expect("realised");
        store.realise(&gone, &label(), &NoProgress).expect("realised");
        let environment = store.environment(&project(), &label(), &NoProgress).expect("locked");
        let roots = roots_text(&[Root::Realised(realised.name.clone())]);
        environment.write_directory("1", &[("roots", roots.as_bytes())]).expect("written");
        let nothing = gc(&store, GcOptions::default());
        assert_eq!(nothing.removed, Removed::default(), "this process still needs all of it");
        assert!(nothing.kept.iter().any(|kept| kept.by == "a drystone that is running now"));
        (kept, realised.path)
    };
    let store = scratch.store();
    let dry = gc(&store, GcOptions { dry_run: true, ..GcOptions::default() });
    let expected = Removed { blobs: 1, trees: 1, realised: 1, ..Removed::default() };
    assert_eq!(dry.removed, expected);
    assert!(verify(&store).is_clean());
    drop(store);
    let store = scratch.store();
    let report = gc(&store, GcOptions::default());
    assert_eq!(report.removed, expected);
    assert_eq!(report.skipped, []);
    assert!(report.freed >= 4);
    assert_eq!(report.kept.len(), 1);
    assert_eq!(report.kept[0].by, "generation 1 of test (project aaaaaaaaaaaaaaaa)");
    assert_eq!(report.kept[0].bytes, 10);
    assert_eq!(fs::read(path.join("a")).expect("read"), b"kept");
    assert!(verify(&store).is_clean());
    assert!(store.has_contents(&kept).expect("asked"));
    assert_eq!(gc(&store, GcOptions::default()).removed, Removed::default(), "idempotent");
}

#[test]
fn locks_and_runtime_directories_keep_what_they_name() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let locked = commit(&store, &[(Kind::File, "a", b"locked")]);
    let running = commit(&store, &[(Kind::File, "a", b"running")]);
    let environment = store.environment(&project(), &label(), &NoProgress).expect("locked");
    environment.write("roots", roots_text(&[Root::Tree(locked.id())]).as_bytes()).expect("written");
    drop(environment);
    let runtime = store.runtimes_path(&project(), &label()).expect("a place").join("abcdefgh");
    fs::create_dir(&runtime).expect("made");
    fs::write(runtime.join("roots"), roots_text(&[Root::Tree(running.id())])).expect("written");
    let lease = fs::File::create(runtime.join("lease")).expect("made");
    lease.lock().expect("locked");
    drop(store);
    let store = scratch.store();
    let report = gc(&store, GcOptions::default());
    assert_eq!(report.removed, Removed::default());
    let by: Vec<&str> = report.kept.iter().map(|kept| kept.by.as_str()).collect();
    assert_eq!(
        by,
        [
            "the registered lock of test (project aaaaaaaaaaaaaaaa)",
            "the running runtime directory abcdefgh of test (project aaaaaaaaaaaaaaaa)",
        ]
    );
    drop(lease);
    let report = gc(&store, GcOptions::default());
    let by = |kept: &drystone::store::Kept| kept.by.starts_with("the kept runtime directory abcd");
    assert!(report.kept.iter().any(by), "{:?}", report.kept);
}

#[test]
fn roots_that_cannot_be_read_stop_everything() {
    let scratch = Scratch::new();
    {
        let store = scratch.store();
        commit(&store, &[(Kind::File, "a", b"content")]);
        let environment = store.environment(&project(), &label(), &NoProgress).expect("locked");
        environment.write_directory("1", &[("roots", b"tree 12")]).expect("written");
    }
    let store = scratch.store();
    let refused = store.gc(&GcOptions::default(), &NoProgress);
    let Err(StoreError::Roots { path, .. }) = refused else { panic!("{refused:?}") };
    assert!(path.ends_with("test/1/roots"));
    assert_eq!(store.stat().expect("counted").blobs, 1);
    // A tree that a generation needs and that can't be read says nothing of its contents.
    let environment = store.environment(&project(), &label(), &NoProgress).expect("locked");
    environment.remove("1").expect("removed");
    let missing = roots_text(&[Root::Tree(drystone::model::TreeId::from_bytes([1; 32]))]);
    environment.write_directory("1", &[("roots", missing.as_bytes())]).expect("written");
    let refused = store.gc(&GcOptions::default(), &NoProgress);
    assert!(matches!(refused, Err(StoreError::Roots { .. })));
    assert_eq!(store.stat().expect("counted").blobs, 1);
}

#[test]
fn what_was_used_lately_and_downloads_under_way_stay() {
    let scratch = Scratch::new();
    let (old, new) = (Sha256Digest::from_bytes([1; 32]), Sha256Digest::from_bytes([2; 32]));
    {
        let store = scratch.store();
        commit(&store, &[(Kind::File, "a", b"lately")]);
        let gone = commit(&store, &[(Kind::File, "a", b"long ago")]);
        let hex = gone.id().hex();
        age(&scratch.root().join("trees").join(&hex[..2]).join(&hex));
        for sha256 in [old, new] {
            let place = store.download(&sha256.hex(), &NoProgress).expect("a place");
            fs::write(place.partial(), "archive").expect("written");
            let path = place.finish(&sha256).expect("finished");
            if sha256 == old {
                age(&path);
            }
        }
        for key in ["interrupted", "held", "fresh"] {
            let place = store.download(key, &NoProgress).expect("a place");
            fs::write(place.partial(), "half").expect("written");
            if key != "fresh" {
                age(&place.partial());
            }
        }
    }
    let store = scratch.store();
    let held = store.download("held", &NoProgress).expect("a place");
    let older_than = Some(Duration::from_secs(500_000));
    let options = GcOptions { older_than, ..GcOptions::default() };
    let report = gc(&store, options);
    let expected = Removed { blobs: 1, trees: 1, archives: 1, partial: 1, ..Removed::default() };
    assert_eq!(report.removed, expected);
    assert!(held.partial().exists());
    assert!(store.archive(&old).expect("asked").is_none());
    assert!(store.archive(&new).expect("asked").is_some());
    assert!(!scratch.root().join("locks/download-interrupted").exists());
    assert!(scratch.root().join("locks/download-held").exists());
}
