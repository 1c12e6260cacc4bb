//! What composing promises: one tree whatever the order, every clash told, overrides obeyed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::manifest::{Override, Placement, Variable, VariableAction};
use crate::model::{BlobId, Entry, Kind, Name, NodeId, Platform, Tree, TreeBuilder, TreePath};

const LINUX: Platform = Platform::X86_64Linux;
const WINDOWS: Platform = Platform::X86_64Windows;

fn path(text: &str) -> TreePath {
    text.parse().expect("a path")
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn blob(content: &str) -> BlobId {
    BlobId::from_bytes(*blake3::hash(content.as_bytes()).as_bytes())
}

/// A tree of files; a content of `/` makes an empty directory, one that begins with `->` a link.
fn tree(entries: &[(&str, &str)]) -> Tree {
    let mut builder = TreeBuilder::default();
    for (at, content) in entries {
        let size = content.len() as u64;
        let entry = match *content {
            "/" => Entry::directory(path(at)),
            link if link.starts_with("->") => {
                Entry::content(Kind::Link, size - 2, blob(&link[2..]), path(at))
            }
            _ => Entry::content(Kind::File, size, blob(content), path(at)),
        };
        builder.add(entry).expect("an entry");
    }
    builder.finish().expect("a tree")
}

fn composed(
    packages: &[(&str, &str, Tree)],
    platform: Platform,
    overrides: &[(&str, &str)],
) -> Result<Composed, ComposeError> {
    let named: Vec<(Name, Placement, &Tree)> = packages
        .iter()
        .map(|(package, into, tree)| {
            let placement =
                if *into == "." { Placement::Top } else { Placement::Under(path(into)) };
            (name(package), placement, tree)
        })
        .collect();
    let parts: Vec<Part<'_>> =
        named.iter().map(|(name, placement, tree)| Part { name, placement, tree }).collect();
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|(at, package)| Override { path: path(at), package: name(package) })
        .collect();
    compose(&parts, platform, &overrides, Vec::new(), &Elsewhere::default())
}

fn paths(composed: &Composed) -> Vec<&str> {
    composed.tree.entries().iter().map(|entry| entry.path.as_str()).collect()
}

fn content(composed: &Composed, at: &str) -> Option<BlobId> {
    composed.tree.get(&path(at)).and_then(|entry| entry.blob)
}

#[test]
fn packages_lie_where_they_are_placed() {
    let made = composed(
        &[
            ("zluda", "zluda", tree(&[("nvcuda.dll", "z"), ("empty", "/")])),
            ("tools", ".", tree(&[("bin/tool", "t")])),
        ],
        LINUX,
        &[],
    )
    .expect("no collision");
    assert_eq!(paths(&made), ["bin/tool", "zluda/empty", "zluda/nvcuda.dll"]);
}

#[test]
fn what_two_packages_hold_alike_is_there_once() {
    let made = composed(
        &[
            ("a", ".", tree(&[("LICENSE", "mit"), ("a", "1"), ("share", "/")])),
            ("b", ".", tree(&[("LICENSE", "mit"), ("b", "2"), ("share/doc", "d")])),
        ],
        LINUX,
        &[],
    )
    .expect("no collision");
    assert_eq!(paths(&made), ["LICENSE", "a", "b", "share/doc"]);
}

#[test]
fn every_collision_is_told_with_both_packages_and_the_line_to_write() {
    let many: Vec<(String, &str)> = (0..12).map(|at| (format!("f{at:02}"), "one")).collect();
    let one: Vec<(&str, &str)> = many.iter().map(|(at, content)| (at.as_str(), *content)).collect();
    let two: Vec<(&str, &str)> = many.iter().map(|(at, _)| (at.as_str(), "other")).collect();
    let error = composed(&[("a", ".", tree(&one)), ("b", ".", tree(&two))], LINUX, &[])
        .expect_err("collisions");
    let ComposeError::Collisions { collisions, .. } = &error else { panic!("{error}") };
    assert_eq!(collisions.len(), 12);
    let text = error.to_string();
    assert!(text.starts_with("12 paths are held by more than one package:\n"), "{text}");
    assert!(text.contains("\"f00\": a has a file of 3 bytes, b has a file of 5 bytes"), "{text}");
    assert!(text.contains("f09") && !text.contains("f10"), "{text}");
    assert!(text.ends_with("and 2 more"), "{text}");
    let help = miette::Diagnostic::help(&error).expect("help").to_string();
    assert!(help.contains("override \"f00\" \"b\""), "{help}");
}

#[test]
fn an_override_names_the_winner() {
    let packages = [
        ("a", ".", tree(&[("lib/x.dll", "from a")])),
        ("b", ".", tree(&[("lib/x.dll", "from b")])),
    ];
    for winner in ["a", "b"] {
        let made = composed(&packages, LINUX, &[("lib/x.dll", winner)]).expect("decided");
        assert_eq!(content(&made, "lib/x.dll"), Some(blob(&format!("from {winner}"))));
    }
}

#[test]
fn an_override_that_decides_nothing_is_an_error_and_says_why() {
    let packages = [
        ("a", ".", tree(&[("one", "1"), ("both", "same"), ("d/a", "1")])),
        ("b", ".", tree(&[("two", "2"), ("both", "same"), ("d/b", "1")])),
    ];
    for (said, reason) in [
        (("gone", "a"), "no package holds this path"),
        (("one", "a"), "no other package holds this path"),
        (("two", "a"), "only b holds this path"),
        (("both", "a"), "the packages that hold this path hold the same content"),
        (("d", "a"), "\"d\" is a directory"),
    ] {
        let error = composed(&packages, LINUX, &[said]).expect_err("idle");
        assert!(matches!(&error, ComposeError::IdleOverrides { idle } if idle.len() == 1));
        assert!(error.to_string().contains(reason), "{error}");
    }
    let packages = [("a", ".", tree(&[("x", "1")])), ("b", ".", tree(&[("x", "2")]))];
    let error = composed(&packages, LINUX, &[("x", "a"), ("x", "b")]).expect_err("twice");
    assert!(error.to_string().contains("another line decides this path"), "{error}");
    let error = composed(&packages, LINUX, &[("x", "c")]).expect_err("a collision");
    let text = error.to_string();
    assert!(matches!(error, ComposeError::Collisions { .. }));
    assert!(text.contains("override \"x\" \"c\": c does not hold this path"), "{text}");
}

#[test]
fn an_override_that_is_needed_elsewhere_only_stops_nothing() {
    let (a, held) = (name("a"), tree(&[("x", "1")]));
    let parts = [Part { name: &a, placement: &Placement::Top, tree: &held }];
    let said = [Override { path: path("x"), package: name("optional") }];
    let without = Elsewhere { packages: [name("optional")].into(), platforms: false };
    let made = compose(&parts, LINUX, &said, Vec::new(), &without).expect("nothing to decide");
    assert!(made.warnings.is_empty());
    let said = [Override { path: path("x"), package: name("a") }];
    for elsewhere in [without, Elsewhere { platforms: true, ..Elsewhere::default() }] {
        let made = compose(&parts, LINUX, &said, Vec::new(), &elsewhere).expect("a warning");
        assert!(matches!(made.warnings[..], [Warning::IdleOverride(_)]));
    }
}

#[test]
fn a_file_where_another_package_has_a_directory_is_a_collision_that_either_may_win() {
    let packages = [
        ("a", ".", tree(&[("x", "a file")])),
        ("b", ".", tree(&[("x/y", "1"), ("x/z", "2")])),
        ("c", ".", tree(&[("x/y", "other")])),
    ];
    let error = composed(&packages, LINUX, &[]).expect_err("collisions");
    let ComposeError::Collisions { collisions, .. } = &error else { panic!("{error}") };
    assert_eq!(collisions.len(), 2);
    assert_eq!(collisions[0].holders.len(), 3);
    assert!(error.to_string().contains("b has a directory"), "{error}");
    let file = composed(&packages, LINUX, &[("x", "a")]).expect("the file wins");
    assert_eq!(paths(&file), ["x"]);
    let directory = composed(&packages, LINUX, &[("x", "b"), ("x/y", "c")]).expect("merged");
    assert_eq!(paths(&directory), ["x/y", "x/z"]);
    // What lies below the loser is gone, so an override for it decides nothing.
    let error = composed(&packages, LINUX, &[("x", "a"), ("x/y", "c")]).expect_err("idle");
    assert!(matches!(error, ComposeError::IdleOverrides { .. }));
}

#[test]
fn nothing_is_written_through_another_package_s_link() {
    let packages = [
        ("a", ".", tree(&[("lib64", "->lib"), ("lib/a", "1")])),
        ("b", ".", tree(&[("lib64/b", "2")])),
    ];
    let error = composed(&packages, LINUX, &[]).expect_err("a collision");
    assert!(error.to_string().contains("\"lib64\": a has a link, b has a directory"), "{error}");
}

#[test]
fn directories_fold_on_windows_and_take_the_byte_smallest_spelling() {
    let packages = [
        ("a", ".", tree(&[("bin/Sub/a.dll", "1"), ("LIB", "/")])),
        ("b", ".", tree(&[("Bin/sub/b.dll", "2"), ("lib/c.dll", "3")])),
    ];
    let made = composed(&packages, WINDOWS, &[]).expect("merged");
    assert_eq!(paths(&made), ["Bin/Sub/a.dll", "Bin/Sub/b.dll", "LIB/c.dll"]);
    let apart = composed(&packages, LINUX, &[]).expect("all different");
    assert_eq!(apart.tree.entries().len(), 4);
}

#[test]
fn files_equal_under_folding_collide_on_windows_and_overrides_fold_too() {
    let packages =
        [("a", ".", tree(&[("bin/X.dll", "1")])), ("b", ".", tree(&[("Bin/x.DLL", "1")]))];
    let error = composed(&packages, WINDOWS, &[]).expect_err("a collision");
    assert!(error.to_string().contains("spelled \"bin/X.dll\""), "{error}");
    let made = composed(&packages, WINDOWS, &[("BIN/x.dll", "b")]).expect("decided");
    assert_eq!(paths(&made), ["Bin/x.DLL"]);
    let same = [("a", ".", tree(&[("bin/x", "1")])), ("b", ".", tree(&[("Bin/x", "1")]))];
    assert_eq!(paths(&composed(&same, WINDOWS, &[]).expect("once")), ["Bin/x"]);
    let kinds = [("a", ".", tree(&[("Foo", "1")])), ("b", ".", tree(&[("foo/x", "2")]))];
    assert!(composed(&kinds, WINDOWS, &[]).is_err());
    assert_eq!(paths(&composed(&kinds, WINDOWS, &[("foo", "a")]).expect("decided")), ["Foo"]);
}

#[test]
fn names_that_look_the_same_stop_windows_and_warn_on_linux() {
    let packages =
        [("a", ".", tree(&[("d/\u{e9}", "1")])), ("b", ".", tree(&[("d/e\u{301}", "2")]))];
    let error = composed(&packages, WINDOWS, &[]).expect_err("alike");
    assert!(error.to_string().contains("d/e{U+0301}"), "{error}");
    let made = composed(&packages, LINUX, &[]).expect("allowed");
    assert_eq!(made.warnings.len(), 1);
    assert_eq!(made.tree.entries().len(), 2);
    let directories =
        [("a", ".", tree(&[("\u{e9}/x", "1")])), ("b", ".", tree(&[("e\u{301}/y", "2")]))];
    assert!(composed(&directories, WINDOWS, &[]).is_err());
    let ascii = [("a", ".", tree(&[("K", "1")])), ("b", ".", tree(&[("\u{212a}", "2")]))];
    assert!(composed(&ascii, WINDOWS, &[]).is_err());
    let one = [("a", ".", tree(&[("d/\u{e9}", "1")])), ("b", ".", tree(&[("d/\u{e9}", "1")]))];
    assert!(composed(&one, WINDOWS, &[]).expect("one name").warnings.is_empty());
}

#[test]
fn the_reserved_directory_and_names_that_windows_refuses_are_told_together() {
    let packages = [("a", ".", tree(&[(".drystone/environment.json", "{}"), ("aux.c", "1")]))];
    let error = composed(&packages, WINDOWS, &[]).expect_err("refused");
    assert!(matches!(&error, ComposeError::Refused { refused } if refused.len() == 2), "{error}");
    assert!(composed(&packages, LINUX, &[]).is_err());
    let below = [("a", "a", tree(&[(".drystone/x", "1")]))];
    assert!(composed(&below, LINUX, &[]).is_ok());
    let folded = [("a", ".Drystone", tree(&[("x", "1")]))];
    assert!(composed(&folded, WINDOWS, &[]).is_err());
    assert!(composed(&folded, LINUX, &[]).is_ok());
    let short = [("a", ".", tree(&[("Drysto~1/x", "1")]))];
    assert!(composed(&short, WINDOWS, &[]).is_err());
    assert!(composed(&short, LINUX, &[]).is_ok());
}

#[test]
fn a_path_that_placing_makes_longer_than_a_tree_holds_is_refused_everywhere() {
    let long = format!("{}x", "0123456789/".repeat(370));
    for platform in [LINUX, WINDOWS] {
        let packages = [("a", "a/b/0123456789/0123456789/0123456789", tree(&[(&long, "1")]))];
        let refused = composed(&packages, platform, &[]);
        assert!(matches!(refused, Err(ComposeError::Refused { .. })), "{platform}");
    }
}

#[test]
fn the_environment_s_text_is_in_the_tree_and_the_same_everywhere() {
    let packages = BTreeMap::from([(
        name("zluda"),
        DescribedPackage {
            version: "6-preview.69".parse().expect("a version"),
            placement: Placement::Under(path("zluda")),
            node: NodeId::from_bytes([7; 32]),
        },
    )]);
    let set = |name: &str, value: &str, platform| Variable {
        name: name.to_owned(),
        action: VariableAction::Set(value.to_owned()),
        platform,
    };
    let variables = [
        set("HIP_PATH", "{host.hip-sdk}", None),
        set("ONLY_LINUX", "1", Some(LINUX)),
        Variable { name: "CUDA_PATH".into(), action: VariableAction::Unset, platform: None },
    ];
    let text = EnvironmentText {
        name: &name("cuda-on-amd"),
        platform: WINDOWS,
        gpus: &BTreeSet::from(["gfx1200".to_owned()]),
        variables: &variables,
        packages: &packages,
    }
    .text()
    .expect("a text");
    insta::assert_snapshot!(String::from_utf8(text.content.clone()).expect("UTF-8"), @r#"
    {
      "format": 1,
      "gpus": [
        "gfx1200"
      ],
      "name": "cuda-on-amd",
      "packages": {
        "zluda": {
          "into": "zluda",
          "node": "blake3:0707070707070707070707070707070707070707070707070707070707070707",
          "version": "6-preview.69"
        }
      },
      "platform": "x86_64-windows",
      "variables": [
        {
          "action": "set",
          "name": "HIP_PATH",
          "value": "{host.hip-sdk}"
        },
        {
          "action": "unset",
          "name": "CUDA_PATH"
        }
      ]
    }
    "#);
    let made =
        compose(&[], WINDOWS, &[], vec![text.clone()], &Elsewhere::default()).expect("a tree");
    let entry = made.tree.get(&text.path).expect("the text's entry");
    let digest = *blake3::hash(&text.content).as_bytes();
    assert_eq!(entry.blob, Some(BlobId::from_bytes(digest)));
    let outside = Text { path: path("x"), content: Vec::new() };
    assert!(compose(&[], WINDOWS, &[], vec![outside], &Elsewhere::default()).is_err());
}

#[test]
fn the_path_budget_is_tighter_for_what_windows_starts() {
    let long = |end: &str, units: usize| format!("{}{end}", "a/".repeat((units - end.len()) / 2));
    let (exe, text) = (long("bb.EXE", 200), long("bb.txt", 200));
    let tree = tree(&[(&exe, "1"), (&text, "2")]);
    let paths = || tree.entries().iter().map(|entry| &entry.path);
    // `<store>\realised\<32>-cuda` has 47 units more than the store.
    let realised = |store| PlacedDirectory::realised(store, &name("cuda"));
    assert!(realised(11).too_long(paths(), None, WINDOWS).is_empty());
    let found = realised(12).too_long(paths(), None, WINDOWS);
    let place = "environment \"cuda\"".to_owned();
    assert_eq!(found, [TooLong { place, path: path(&exe), units: 260, limit: 259 }]);
    assert!(realised(5000).too_long(paths(), None, LINUX).is_empty());
    assert_eq!(realised(32_000).too_long(paths(), None, WINDOWS).len(), 2);
    let text = path(&text);
    assert_eq!(realised(12).too_long([&text], Some(&text), WINDOWS).len(), 1, "it is a program");
    assert!(require_path_budget(Vec::new()).is_ok());
    let error = require_path_budget(found).expect_err("too long").to_string();
    for said in [exe.as_str(), "environment \"cuda\"", "260 UTF-16 units", "259 are allowed"] {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_runtime_directory_has_a_budget_of_its_own() {
    let store = r"C:\drystone";
    let app = format!(r"{store}\runtimes\{}\cuda-check\{}\app", "p".repeat(16), "i".repeat(8));
    let directory = PlacedDirectory::runtime(store.len(), &name("cuda-check"));
    let fits = path(&format!("{}/a.dll", "d".repeat(259 - app.len() - r"\\a.dll".len())));
    assert!(directory.too_long([&fits], None, WINDOWS).is_empty());
    let longer = path(&format!("{}/ab.dll", "d".repeat(259 - app.len() - r"\\a.dll".len())));
    let found = directory.too_long([&longer], None, WINDOWS);
    assert_eq!(found.first().map(|found| found.units), Some(260));
    // Letters outside of the basic plane are two units and four bytes.
    let wide = path(&format!("{}.dll", "\u{1f9f1}".repeat(60)));
    assert_eq!(path_units(std::path::Path::new(wide.as_str())), 124);
}

#[test]
fn a_program_and_the_directory_it_starts_in_have_their_own_limits() {
    let of = |units: usize| std::path::PathBuf::from(format!(r"C:\{}", "a".repeat(units - 3)));
    assert_eq!(too_long_to_start(&of(259), Started::Program), None);
    assert_eq!(too_long_to_start(&of(260), Started::Program), Some((260, 259)));
    assert_eq!(too_long_to_start(&of(258), Started::Directory), None);
    assert_eq!(too_long_to_start(&of(259), Started::Directory), Some((259, 258)));
}

#[test]
fn two_environments_differ_by_packages_and_files() {
    let identity = |version: &str, tree: &Tree| PackageIdentity {
        version: version.parse().expect("a version"),
        node: NodeId::from_bytes([1; 32]),
        tree: tree.id(),
    };
    let (old, new) = (tree(&[("a", "1"), ("b", "2")]), tree(&[("b", "22"), ("c", "3")]));
    let from =
        BTreeMap::from([(name("gone"), identity("1", &old)), (name("p"), identity("1", &old))]);
    let to = BTreeMap::from([(name("p"), identity("1", &new)), (name("q"), identity("2", &new))]);
    let diff = difference(Side { packages: &from, tree: &old }, Side { packages: &to, tree: &new });
    assert_eq!(diff.packages_added[0].name, name("q"));
    assert_eq!(diff.packages_removed[0].name, name("gone"));
    assert_eq!(diff.packages_changed[0].name, name("p"));
    assert_eq!(diff.files_added, [FileAt { path: path("c"), size: 1 }]);
    assert_eq!(diff.files_removed, [FileAt { path: path("a"), size: 1 }]);
    assert_eq!(diff.files_changed, [FileChange { path: path("b"), from: 1, to: 2 }]);
    let same = Side { packages: &to, tree: &new };
    assert!(difference(same, same).is_empty());
}

fn any_package() -> impl Strategy<Value = Tree> {
    let part = prop_oneof!["[a-cA-C]", Just("\u{e9}".to_owned()), Just("e\u{301}".to_owned())];
    let at = proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    proptest::collection::vec((at, 0u8..3), 0..8).prop_map(|entries| {
        let mut builder = TreeBuilder::default();
        for (at, content) in &entries {
            let entry = match content {
                0 => Entry::directory(path(at)),
                _ => Entry::content(Kind::File, 1, blob(&content.to_string()), path(at)),
            };
            let above = entry
                .path
                .ancestors()
                .any(|above| builder.get(above).is_some_and(|there| there.kind != Kind::Directory));
            let below = entry.kind != Kind::Directory
                && entries.iter().any(|(other, _)| other.starts_with(&format!("{at}/")));
            if !above && !below {
                let _ = builder.add(entry);
            }
        }
        builder.finish().expect("a tree")
    })
}

proptest! {
    #[test]
    fn packages_in_any_order_give_the_same_tree_or_the_same_error(
        trees in proptest::collection::vec(any_package(), 1..5),
        windows in any::<bool>(),
        turn in 0usize..5,
    ) {
        let platform = if windows { WINDOWS } else { LINUX };
        let names = ["a", "b", "c", "d", "e"];
        let mut packages: Vec<(&str, &str, Tree)> =
            trees.into_iter().enumerate().map(|(at, tree)| (names[at], ".", tree)).collect();
        let first = composed(&packages, platform, &[]);
        let length = packages.len();
        packages.rotate_left(turn % length);
        prop_assert_eq!(&composed(&packages, platform, &[]), &first);
        packages.reverse();
        prop_assert_eq!(&composed(&packages, platform, &[]), &first);
        // Deciding every collision for one of its holders leaves none.
        if let Err(ComposeError::Collisions { collisions, .. }) = first
            && collisions.iter().all(|c| !c.alike && c.holders[0].package != c.holders[1].package)
        {
            let said: Vec<(String, String)> = collisions
                .iter()
                .map(|c| (c.path.to_string(), c.holders[0].package.to_string()))
                .collect();
            let said: Vec<(&str, &str)> = said.iter().map(|(p, n)| (p.as_str(), n.as_str())).collect();
            let again = composed(&packages, platform, &said);
            if let Err(ComposeError::Collisions { collisions, .. }) = again {
                prop_assert!(collisions.iter().all(|c| c.alike), "{collisions:?}");
            }
        }
    }
}

#[test]
fn tmp_speed() {
    for platform in [LINUX, WINDOWS] {
        let many: Vec<(String, String)> = (0..10_000)
            .map(|at| (format!("torch/include/ATen/ops/{}/file{at}.h", at % 300), at.to_string()))
            .collect();
        let one: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let packages = [("a", "a", tree(&one)), ("b", ".", tree(&one))];
        let start = std::time::Instant::now();
        let made = composed(&packages, platform, &[]).expect("ok");
        println!("{platform} {} {:?}", made.tree.entries().len(), start.elapsed());
    }
}
