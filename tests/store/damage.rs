//! The damage matrix: each action on each kind of file is named by verify, and healed.

use std::fs;
use std::path::{Path, PathBuf};

use drystone::model::{
    ArchiveFormat, Family, Fate, Kind, NoProgress, Sha256Digest, Tree, UnpackOptions,
};
use drystone::store::{
    DamageKind, ProjectId, Realised, Root, Store, StoreError, StoreOptions, UnpackRecord,
    roots_text,
};

use crate::scratch::{Files, Scratch, commit, contents, label, open, stage, verify};
use crate::unprotect::unprotect;

const FILES: Files<'_> = &[
    (Kind::File, "lib/a.dll", b"library"),
    (Kind::File, "lib/b.dll", b"another library"),
    (Kind::File, "lib/empty", b""),
    (Kind::File, "readme", b"read me"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Delete,
    Truncate,
    Flip,
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Blob,
    Tree,
    Realised,
    Record,
    Format,
}

struct Fixture {
    scratch: Scratch,
    tree: Tree,
    record: UnpackRecord,
    realised: Realised,
}

fn record(tree: &Tree) -> UnpackRecord {
    let source = Sha256Digest::from_bytes([7; 32]);
    let options = UnpackOptions { format: Some(ArchiveFormat::Zip), ..UnpackOptions::default() };
    let family = Family::Windows;
    let key = options.unpack_key(&source, 1, family);
    UnpackRecord { key, source, options, rules: 1, family, tree: tree.id() }
}

/// A store with one unpacked package, realised, and a generation that needs it.
fn fixture() -> Fixture {
    let scratch = Scratch::new();
    let store = scratch.store();
    let staging = store.stage().expect("staging");
    let tree = stage(&staging, FILES);
    let record = record(&tree);
    staging.commit(&[&tree], std::slice::from_ref(&record)).expect("committed");
    let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
    let project = ProjectId::from_text("aaaaaaaaaaaaaaaa").expect("an id");
    let environment = store.environment(&project, &label(), &NoProgress).expect("locked");
    let roots = roots_text(&[Root::Tree(tree.id()), Root::Realised(realised.name.clone())]);
    environment.write_directory("3", &[("roots", roots.as_bytes())]).expect("written");
    drop(environment);
    assert!(verify(&store).is_clean(), "{:?}", verify(&store).damages);
    drop(store);
    Fixture { scratch, tree, record, realised }
}

fn only_file_under(directory: &Path) -> PathBuf {
    walkdir::WalkDir::new(directory)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .find(|entry| entry.file_type().is_file())
        .expect("a file")
        .into_path()
}

fn place(fixture: &Fixture, location: Location) -> PathBuf {
    let root = fixture.scratch.root();
    match location {
        Location::Blob => {
            let blob = blake3::hash(b"library").to_hex().to_string();
            root.join("blobs").join(&blob[..2]).join(&blob)
        }
        Location::Tree => only_file_under(&root.join("trees")),
        Location::Realised => fixture.realised.path.join("lib/a.dll"),
        Location::Record => only_file_under(&root.join("unpacked")),
        Location::Format => root.join("format"),
    }
}

fn damage(path: &Path, action: Action) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let parent = path.parent().expect("a parent");
        fs::set_permissions(parent, fs::Permissions::from_mode(0o700)).expect("a mode");
    }
    unprotect(path);
    let mut content = fs::read(path).expect("read");
    match action {
        Action::Delete => return fs::remove_file(path).expect("removed"),
        Action::Truncate => content.truncate(content.len() / 2),
        Action::Flip => *content.last_mut().expect("not empty") ^= 1,
        Action::Zero => content.fill(0),
    }
    fs::write(path, content).expect("written"); // In place: every link sees it.
}

fn expected(location: Location, action: Action) -> DamageKind {
    match (location, action) {
        (Location::Blob, Action::Delete) => DamageKind::BlobMissing,
        (Location::Realised, Action::Delete) => DamageKind::Realised,
        // A damaged link is the damaged blob.
        (Location::Blob | Location::Realised, _) => DamageKind::BlobContent,
        // Without its tree the record and the realised directory are damaged too.
        (Location::Tree, Action::Delete) => DamageKind::Record,
        (Location::Tree, _) => DamageKind::Tree,
        (Location::Record, _) => DamageKind::Record,
        (Location::Format, _) => DamageKind::Format,
    }
}

/// Repairs as the pipeline does: heal, unpack again what is wanted, link again.
fn repair(store: &Store) {
    let healed = store.heal(&verify(store)).expect("healed");
    for (wanted, blobs) in healed.wanted {
        let staging = store.stage().expect("staging");
        let tree = stage(&staging, FILES);
        assert_eq!(tree.id(), wanted.tree);
        staging.commit(&[&tree], std::slice::from_ref(&wanted)).expect("committed");
        for blob in blobs {
            store.relink(&blob).expect("linked again");
        }
    }
}

/// Builds as the pipeline does.
fn rebuild(store: &Store, fixture: &Fixture) {
    if store.unpacked(&fixture.record.key).expect("asked").is_none() {
        let staging = store.stage().expect("staging");
        let tree = stage(&staging, FILES);
        staging.commit(&[&tree], std::slice::from_ref(&fixture.record)).expect("committed");
    }
    store.realise(&fixture.tree, &label(), &NoProgress).expect("realised");
}

fn row(action: Action, location: Location) {
    let fixture = fixture();
    let path = place(&fixture, location);
    if location == Location::Format {
        return format_row(&fixture, &path, action);
    }
    damage(&path, action);
    let store = fixture.scratch.store();
    let report = verify(&store);
    let kind = expected(location, action);
    let found = report.damages.iter().find(|damage| damage.kind == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", report.damages));
    if !matches!((location, action), (Location::Realised, _) | (Location::Tree, Action::Delete)) {
        assert_eq!(found.path, path);
    }
    let fate = match (location, action) {
        (Location::Blob | Location::Realised, Action::Delete) => Some(Fate::Vanished),
        (Location::Blob | Location::Realised, _) => Some(Fate::Changed),
        _ => None,
    };
    let of_kind = |damage: &&drystone::store::Damage| damage.kind == kind;
    let fates: Vec<_> = report.damages.iter().filter(of_kind).map(|damage| damage.fate).collect();
    assert!(fates.contains(&fate), "{fates:?}");
    if matches!(location, Location::Blob | Location::Realised) {
        assert_eq!(found.trees, [fixture.tree.id()]);
        assert_eq!(found.touches, ["generation 3 of test (project aaaaaaaaaaaaaaaa)"]);
    }
    repair(&store);
    let repaired = verify(&store);
    assert!(repaired.is_clean(), "{:?}", repaired.damages);
    rebuild(&store, &fixture);
    let after = verify(&store);
    assert!(after.is_clean(), "{:?}", after.damages);
    let whole = contents(&fixture.realised.path);
    for (_, name, content) in FILES {
        assert_eq!(whole[*name], *content, "{name}");
    }
}

/// Damage of `format` is refused on opening, and named and healed by a store that is open.
fn format_row(fixture: &Fixture, path: &Path, action: Action) {
    let store = fixture.scratch.store();
    damage(path, action);
    let error = Store::open(&fixture.scratch.root(), &StoreOptions::default()).err();
    assert!(matches!(
        error.expect("refused"),
        StoreError::FormatMissing { .. } | StoreError::FormatDamaged { .. }
    ));
    let report = verify(&store);
    assert_eq!(report.damages.len(), 1, "{:?}", report.damages);
    assert_eq!(
        (report.damages[0].kind, &report.damages[0].path),
        (DamageKind::Format, &path.to_path_buf())
    );
    store.heal(&report).expect("healed");
    assert!(verify(&store).is_clean());
    drop(store);
    assert!(verify(&open(&fixture.scratch.root())).is_clean());
}

macro_rules! matrix {
    ($($name:ident: $action:ident $location:ident;)*) => {
        $(#[test] fn $name() { row(Action::$action, Location::$location); })*
    };
}

matrix! {
    a_deleted_blob: Delete Blob;
    a_truncated_blob: Truncate Blob;
    a_flipped_blob: Flip Blob;
    a_zeroed_blob: Zero Blob;
    a_deleted_tree: Delete Tree;
    a_truncated_tree: Truncate Tree;
    a_flipped_tree: Flip Tree;
    a_zeroed_tree: Zero Tree;
    a_deleted_realised_file: Delete Realised;
    a_truncated_realised_file: Truncate Realised;
    a_flipped_realised_file: Flip Realised;
    a_zeroed_realised_file: Zero Realised;
    a_truncated_record: Truncate Record;
    a_flipped_record: Flip Record;
    a_zeroed_record: Zero Record;
    a_deleted_format: Delete Format;
    a_truncated_format: Truncate Format;
    a_flipped_format: Flip Format;
    a_zeroed_format: Zero Format;
}

#[test]
fn a_deleted_record_only_means_unpacking_again() {
    let fixture = fixture();
    damage(&place(&fixture, Location::Record), Action::Delete);
    let store = fixture.scratch.store();
    assert!(verify(&store).is_clean());
    assert!(store.unpacked(&fixture.record.key).expect("asked").is_none());
    rebuild(&store, &fixture);
    assert!(store.unpacked(&fixture.record.key).expect("asked").is_some());
}

#[test]
fn strangers_in_any_place_are_named_and_nothing_is_removed() {
    let fixture = fixture();
    let root = fixture.scratch.root();
    let blob = place(&fixture, Location::Blob);
    let strangers = [
        root.join("blobs/stray"),
        blob.with_extension("bak"),
        root.join("trees/conflict (1)"),
        root.join("realised/mine"),
    ];
    for stranger in &strangers {
        fs::write(stranger, "x").expect("written");
    }
    let store = fixture.scratch.store();
    let report = verify(&store);
    for stranger in &strangers {
        let named = |damage: &&drystone::store::Damage| {
            damage.kind == DamageKind::Stray && damage.path == *stranger
        };
        assert!(report.damages.iter().any(|damage| named(&damage)), "{}", stranger.display());
    }
    store.heal(&report).expect("healed");
    assert!(strangers.iter().all(|stranger| stranger.exists()));
}

#[cfg(unix)]
#[test]
fn changed_modes_and_times_are_named_and_set_right() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = fixture();
    let blob = place(&fixture, Location::Blob);
    fs::set_permissions(&blob, fs::Permissions::from_mode(0o644)).expect("a mode");
    let extra = fixture.realised.path.join("lib/extra");
    let lib = fixture.realised.path.join("lib");
    fs::set_permissions(&lib, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::write(&extra, "x").expect("written");
    let store = fixture.scratch.store();
    let report = verify(&store);
    let kinds: Vec<(DamageKind, &Path)> =
        report.damages.iter().map(|damage| (damage.kind, damage.path.as_path())).collect();
    assert_eq!(
        kinds,
        [
            (DamageKind::BlobAttributes, blob.as_path()),
            (DamageKind::Realised, lib.as_path()),
            (DamageKind::Realised, extra.as_path()),
        ]
    );
    store.heal(&report).expect("healed");
    assert!(verify(&store).is_clean(), "{:?}", verify(&store).damages);
}

#[test]
fn a_blob_that_may_be_written_is_named_and_protected_again() {
    let fixture = fixture();
    let blob = place(&fixture, Location::Blob);
    unprotect(&blob);
    let store = fixture.scratch.store();
    let report = verify(&store);
    let kinds: Vec<_> = report.damages.iter().map(|damage| (damage.kind, &damage.path)).collect();
    assert_eq!(kinds, [(DamageKind::BlobAttributes, &blob)]);
    store.heal(&report).expect("healed");
    assert!(drystone::disk::is_protected(&blob).expect("looked at"));
    assert!(verify(&store).is_clean(), "{:?}", verify(&store).damages);
}

#[test]
fn a_roots_file_that_cannot_be_read_is_named() {
    let fixture = fixture();
    let roots = fixture.scratch.root().join("environments/aaaaaaaaaaaaaaaa/test/3/roots");
    fs::write(&roots, "tree of something").expect("written");
    let store = fixture.scratch.store();
    let report = verify(&store);
    assert_eq!(report.damages.len(), 1);
    assert_eq!((report.damages[0].kind, &report.damages[0].path), (DamageKind::Roots, &roots));
}

#[test]
fn replacing_a_blob_replaces_each_of_its_names_and_takes_only_the_right_content() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let first = commit(&store, &[(Kind::File, "a", b"library"), (Kind::File, "b/c", b"library")]);
    let second = commit(&store, &[(Kind::File, "d", b"library")]);
    let paths: Vec<PathBuf> = [&first, &second]
        .map(|tree| store.realise(tree, &label(), &NoProgress).expect("realised").path)
        .into_iter()
        .collect();
    let blob = first.entries()[0].blob.expect("a blob");
    damage(&paths[0].join("b/c"), Action::Flip);
    assert_ne!(fs::read(paths[1].join("d")).expect("read"), b"library");
    let good = scratch.path().join("good");
    fs::write(&good, "another").expect("written");
    assert!(matches!(store.replace_blob(&blob, &good), Err(StoreError::BlobDamaged { .. })));
    fs::write(&good, "library").expect("written");
    assert_eq!(store.replace_blob(&blob, &good).expect("replaced"), 4);
    for name in [paths[0].join("a"), paths[0].join("b/c"), paths[1].join("d")] {
        assert_eq!(fs::read(name).expect("read"), b"library");
    }
    assert!(verify(&store).is_clean(), "{:?}", verify(&store).damages);
}
