//! What resolving chooses, and how it says that it cannot.

use std::collections::BTreeMap;
use std::error::Error as _;

use miette::Diagnostic;
use proptest::prelude::*;

use super::sample::{
    LINUX, Shelf, WINDOWS, environment, name, package_version as at, stack, version,
};
use super::{Graph, ResolveError, resolve};
use crate::manifest::Environment;

fn chosen(graph: &Graph<'_>) -> Vec<String> {
    let packages = graph.packages().map(|one| format!("{} {}", one.name, one.version.version));
    packages.chain(graph.hosts().map(|one| format!("host {} {}", one.name, one.range))).collect()
}

/// The message, and the help below it.
fn complaint(shelf: &Shelf, environment: &Environment) -> String {
    let error = shelf.resolve(environment).expect_err("no graph");
    let help = error.help().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    format!("{error}{help}")
}

#[test]
fn the_stack_resolves_with_what_is_optional_and_direct() {
    let (shelf, environment) = stack();
    let graph = shelf.resolve(&environment).expect("a graph");
    assert_eq!(
        chosen(&graph),
        ["cudnn 8.9", "libtorch 2.3.0+cu118", "zluda 6-preview.69", "host hip-sdk 6.4.*, >=6, <8"]
    );
    let facts: Vec<_> = graph
        .packages()
        .map(|one| {
            let depends: Vec<_> = one.depends.iter().map(|name| name.as_str()).collect();
            (one.name.as_str(), one.optional, one.direct, depends)
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("cudnn", true, false, vec![]),
            ("libtorch", true, true, vec!["cudnn", "zluda"]),
            ("zluda", false, true, vec!["hip-sdk"]),
        ]
    );
    assert_eq!(graph.petgraph().edge_count(), 3);
}

#[test]
fn the_newest_that_fits_is_taken_unless_another_is_favoured() {
    let shelf = Shelf::default().package("a", vec![at("1", &[]), at("1.5", &[]), at("2", &[])]);
    let wanted = environment(&["use a >=1, <2"]);
    assert_eq!(chosen(&shelf.resolve(&wanted).expect("a graph")), ["a 1.5"]);
    let with = |favoured: &str| {
        let favoured = BTreeMap::from([(name("a"), version(favoured))]);
        chosen(&resolve(&wanted, WINDOWS, shelf.available(), &favoured).expect("a graph"))
    };
    assert_eq!(with("1"), ["a 1"]);
    assert_eq!(with("2"), ["a 1.5"]);
}

#[test]
fn the_search_goes_back_where_the_newest_leads_nowhere() {
    let shelf = Shelf::default()
        .package("a", vec![at("1", &["requires c 1"]), at("2", &["requires c 2"])])
        .package("b", vec![at("1", &["requires c 1"])])
        .package("c", vec![at("1", &[]), at("2", &[])]);
    let graph = shelf.resolve(&environment(&["use a *", "use b *"])).expect("a graph");
    assert_eq!(chosen(&graph), ["a 1", "b 1", "c 1"]);
}

#[test]
fn a_conflict_says_who_asks_for_what() {
    let shelf = Shelf::default()
        .package("a", vec![at("1", &["requires c <2"])])
        .package("b", vec![at("1", &["requires c >=2"])])
        .package("c", vec![at("1", &[]), at("2", &[])]);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use a 1", "use b 1"])), @r#"
    no version of "c" suits all who ask for it; there are: 1, 2
      package "a" 1 asks for "c" <2
      package "b" 1 asks for "c" >=2
    help: change one of these so that one version suits all
    "#);
}

#[test]
fn versions_that_do_not_exist_and_misspelt_names_are_explained() {
    let (shelf, _) = stack();
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use cudnn 7"])), @r#"
    environment "team" asks for "cudnn" 7, and there is no such version; there are: 8.9, 9.1
    help: ask for one of these, or describe that version in the manifest or a catalogue
    "#);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use zulda 6"])), @r#"
    environment "team" asks for "zulda", and no package has that name
    help: did you mean "zluda"?
    "#);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use cuda-driver 13.0"])), @r#"
    environment "team" asks for "cuda-driver", and no package has that name
    help: use "zluda", which provides it
    "#);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use hip-sdk 6.4"])), @r#"
    environment "team" asks for "hip-sdk", and no package has that name
    help: only the machine can supply it; declare it: host "hip-sdk" "…"
    "#);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["host hip-sdc 6"])), @r#"
    environment "team" declares host "hip-sdc", which no catalogue describes
    help: did you mean "hip-sdk"?
    "#);
    let misspelt = shelf.clone().package("app", vec![at("1", &["requires hip-runtim *"])]);
    insta::assert_snapshot!(complaint(&misspelt, &environment(&["use app 1"])), @r#"
    package "app" 1 asks for "hip-runtim", and no package, host component or `provides` has that name
    help: did you mean "hip-runtime"?
    "#);
    let asking = shelf.package("app", vec![at("1", &["requires cuda-driver >=14"])]);
    insta::assert_snapshot!(complaint(&asking, &environment(&["use app 1"])), @r#"
    package "app" 1 requires "cuda-driver" >=14, and what provides it does so at other versions: "zluda" 6-preview.69 provides 13.0
    help: use a package that provides one of these versions, or widen the requirement
    "#);
}

#[test]
fn a_host_that_is_needed_but_not_declared_is_named() {
    let (shelf, _) = stack();
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use zluda 6-preview.69"])), @r#"
    package "zluda" 6-preview.69 requires "hip-runtime" >=6, <8, which only the machine can supply
    help: declare in the environment: host "hip-sdk" "…"
    "#);
}

#[test]
fn a_host_range_that_cannot_hold_names_both_sides() {
    let (shelf, _) = stack();
    let wanted = environment(&["use zluda 6-preview.69", "host hip-sdk 5.7"]);
    insta::assert_snapshot!(complaint(&shelf, &wanted), @r#"
    no version of host "hip-sdk" suits all who ask for it
      environment "team" asks for "hip-sdk" 5.7.*
      package "zluda" 6-preview.69 asks for "hip-runtime" >=6, <8
    help: change the `host` line, or use packages that require the same versions
    "#);
}

#[test]
fn a_package_without_a_source_for_the_platform_says_which_it_has() {
    let mut only_linux = at("1", &[]);
    only_linux.sources[0].platform = Some(LINUX);
    let shelf = Shelf::default().package("a", vec![only_linux]);
    insta::assert_snapshot!(complaint(&shelf, &environment(&["use a 1"])), @r#"
    package "a" 1 has no source for x86_64-windows; it has: x86_64-linux
    help: use it with platform="…", take x86_64-windows from the environment, or describe a source
    "#);
}

#[test]
fn a_use_for_another_platform_is_passed_over() {
    let shelf = Shelf::default().package("a", vec![at("1", &[])]);
    let mut wanted = environment(&["use a 1"]);
    wanted.uses[0].platform = Some(LINUX);
    assert_eq!(shelf.resolve(&wanted).expect("a graph").nodes().count(), 0);
    let linux = resolve(&wanted, LINUX, shelf.available(), &BTreeMap::new());
    assert_eq!(linux.expect("a graph").nodes().count(), 1);
}

#[test]
fn cycles_are_refused_whole_and_in_order() {
    let cycle = |shelf: &Shelf, wanted: &[&str]| match shelf.resolve(&environment(wanted)) {
        Err(ResolveError::Cycle { cycle }) => {
            cycle.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>().join(" → ")
        }
        other => panic!("{other:?}"),
    };
    let shelf = Shelf::default()
        .package("top", vec![at("1", &["requires b *"])])
        .package("a", vec![at("1", &["requires b *"])])
        .package("b", vec![at("1", &["requires c *"])])
        .package("c", vec![at("1", &["requires d *"])])
        .package("d", vec![at("1", &["requires a *"])])
        .package("self", vec![at("1", &["requires self *"])])
        .package("x", vec![at("1", &["requires y *"])])
        .package("y", vec![at("1", &["requires x *"])]);
    assert_eq!(cycle(&shelf, &["use top 1"]), "a → b → c → d → a");
    assert_eq!(cycle(&shelf, &["use self 1"]), "self → self");
    assert_eq!(cycle(&shelf, &["use x 1"]), "x → y → x");
}

#[test]
fn a_package_that_provides_a_name_is_found_and_the_declared_host_is_preferred() {
    let shelf = Shelf::default()
        .package("app", vec![at("1", &["requires runtime >=2"])])
        .package("soft", vec![at("1", &["provides runtime 2"])])
        .host("sdk", &["runtime"]);
    let graph = shelf.resolve(&environment(&["use app 1"])).expect("a graph");
    assert_eq!(chosen(&graph), ["app 1", "soft 1"]);
    let graph = shelf.resolve(&environment(&["use app 1", "host sdk 3"])).expect("a graph");
    assert_eq!(chosen(&graph), ["app 1", "host sdk 3.*, >=2"]);
    let graph =
        shelf.resolve(&environment(&["use app 1", "use soft 1", "host sdk 3"])).expect("a graph");
    assert_eq!(chosen(&graph), ["app 1", "soft 1", "host sdk 3.*"]);
}

#[test]
fn one_name_as_package_and_host_is_refused() {
    let shelf = Shelf::default().package("a", vec![at("1", &[])]).host("a", &[]);
    let error = shelf.resolve(&environment(&["use a 1", "host a 1"]));
    assert!(matches!(error, Err(ResolveError::TwoKinds { .. })), "{error:?}");
}

#[test]
fn a_deep_chain_needs_no_deep_stack() {
    let mut shelf = Shelf::default().package("p5000", vec![at("1", &[])]);
    for number in 0..5000 {
        let needs = format!("requires p{} *", number + 1);
        shelf = shelf.package(&format!("p{number}"), vec![at("1", &[&needs])]);
    }
    let graph = shelf.resolve(&environment(&["use p0 1"])).expect("a graph");
    assert_eq!(graph.nodes().count(), 5001);
}

#[test]
fn a_search_without_end_is_given_up_with_its_best_complaint() {
    let mut shelf = Shelf::default()
        .package("z1", vec![at("1", &["requires c 1"])])
        .package("z2", vec![at("1", &["requires c 2"])])
        .package("c", vec![at("1", &[]), at("2", &[])]);
    let mut words = vec!["use z1 1".to_owned(), "use z2 1".to_owned()];
    for number in 0..20 {
        shelf = shelf.package(&format!("a{number}"), vec![at("1", &[]), at("2", &[])]);
        words.push(format!("use a{number} *"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let error = shelf.resolve(&environment(&words)).expect_err("no graph");
    assert!(matches!(error, ResolveError::GaveUp { .. }), "{error:?}");
    let furthest = error.source().expect("a reason").to_string();
    assert!(furthest.contains("no version of \"c\" suits all"), "{furthest}");
}

/// Packages `p0` to `p3` with two versions each, which require later ones.
fn small_shelves() -> impl Strategy<Value = Shelf> {
    let ranges = prop::sample::select(vec!["*", "1", "2", ">=2", "<2", ">=3"]);
    let requirement = (1..4usize, ranges);
    let requirements = prop::collection::vec(requirement, 0..3);
    prop::collection::vec(requirements, 8).prop_map(|all| {
        let versions = |package: usize| {
            let of = |number: usize| {
                let words: Vec<String> = all[package * 2 + number - 1]
                    .iter()
                    .filter(|(offset, _)| package + offset < 4)
                    .map(|(offset, range)| format!("requires p{} {range}", package + offset))
                    .collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                at(&number.to_string(), &words)
            };
            vec![of(1), of(2)]
        };
        (0..4).fold(Shelf::default(), |shelf, package| {
            shelf.package(&format!("p{package}"), versions(package))
        })
    })
}

/// Whether this choice (0: none, else the version) meets the environment and itself.
fn holds(shelf: &Shelf, wanted: &Environment, choice: &[usize; 4]) -> bool {
    let chosen = |name: &crate::model::Name| {
        let at: usize = name.as_str()[1..].parse().expect("a number");
        let version = choice[at].checked_sub(1)?;
        Some(&shelf.packages[name].versions[version])
    };
    let met = |name, range: &crate::model::Range| {
        chosen(name).is_some_and(|one| range.contains(&one.version))
    };
    wanted.uses.iter().all(|one| met(&one.package, &one.range))
        && shelf.packages.keys().filter_map(chosen).all(|one| {
            one.requires.iter().all(|requirement| met(&requirement.name, &requirement.range))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_graph_is_found_exactly_where_one_exists(shelf in small_shelves()) {
        let wanted = environment(&["use p0 *", "use p1 <3"]);
        let choices = (0..81usize).map(|n| [n % 3, n / 3 % 3, n / 9 % 3, n / 27]);
        let exists = choices.into_iter().any(|choice| holds(&shelf, &wanted, &choice));
        match shelf.resolve(&wanted) {
            Ok(graph) => {
                let mut choice = [0; 4];
                for package in graph.packages() {
                    let at: usize = package.name.as_str()[1..].parse().expect("a number");
                    choice[at] = package.version.version.as_str().parse().expect("a number");
                }
                prop_assert!(holds(&shelf, &wanted, &choice));
            }
            Err(error) => prop_assert!(!exists, "{}", error),
        }
    }
}
