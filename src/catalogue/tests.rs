//! The real stack, and which description wins.

use std::path::Path;

use super::*;
use crate::manifest;
use crate::model::Platform;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn the_real_stack_has_exactly_the_published_hashes() {
    let manifest = manifest::load(&repository().join("env.kdl")).unwrap();
    let catalogue = Catalogue::load(&manifest).unwrap();
    let mut lines = Vec::new();
    for package in catalogue.packages.values() {
        for version in &package.versions {
            for source in &version.sources {
                lines.push(format!(
                    "{} {} {} {} {}",
                    package.name,
                    version.version,
                    source.platform.map_or("any", Platform::as_str),
                    source.size.unwrap_or(0),
                    source.sha256.unwrap().hex(),
                ));
            }
        }
    }
    let expected = [
        "libtorch 2.3.0+cu118 x86_64-windows 2660890386 e7d57ee5052996e1a9aaead5ecc3c491ba7c0db21316fb1fa8a4a8136005c6cc",
        "zluda 6-preview.63 x86_64-linux 0 1654ab2553b9e58451f5832041baa54d830ed62806dda12e3548e94726f8cd87",
        "zluda 6-preview.69 x86_64-windows 32944552 e2959ed17c8ddae6bf2bf76cf3a7348f577a2548754685d776389df2220e5d9a",
        "zluda 6-preview.77 x86_64-linux 0 121dd3581cba2edff6f5135cfa98701cf48a7d319d50cf7a39aa7ed1efb63ceb",
        "zluda 6 x86_64-windows 35506692 fda8891c6fdfaba438f2eb0f9d749ffa2c1fddbdf225be2301f0d7a25e37208a",
        "zluda 6 x86_64-linux 0 d9fd9893abaf3206c56d3eb25f0475c6327aa8de8e77f21be8a24f275556c3e1",
        "zluda 7-preview.2 x86_64-linux 0 52173f2e79b9010807e83c0839f4ede53931b8e2fcac2b97fd7b25726d95bee8",
        "zluda 7-preview.10 x86_64-windows 0 a80cfa84217773a1ca0f6b7eb2ee1de9de8cfd654adcab052b1978b031ccb74b",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_real_stack_finds_all_it_asks_for() {
    let manifest = manifest::load(&repository().join("env.kdl")).unwrap();
    let catalogue = Catalogue::load(&manifest).unwrap();
    for environment in manifest.environments.values() {
        for used in &environment.uses {
            let package = &catalogue.packages[&used.package];
            let version =
                package.versions.iter().find(|it| used.range.contains(&it.version)).unwrap();
            for platform in &environment.platforms {
                assert!(version.source(*platform).is_some());
            }
        }
        for host in &environment.hosts {
            assert!(catalogue.hosts.contains_key(&host.component));
        }
    }
    let zluda = &catalogue.packages[&name("zluda")];
    let pinned = zluda.versions.iter().find(|it| it.version.as_str() == "6-preview.69").unwrap();
    let overlay = pinned.overlay_for(Platform::X86_64Windows);
    assert!(overlay.iter().any(|path| path.as_str() == "nvcuda.dll"));
    assert!(pinned.overlay_for(Platform::X86_64Linux).is_empty());
}

#[test]
fn every_file_of_the_built_in_catalogue_is_built_in() {
    let mut names: Vec<String> = repository()
        .join("catalogue")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, built_in::FILES.map(|(name, _)| name));
}

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

fn catalogue(project: &tempfile::TempDir) -> Result<Catalogue, CatalogueError> {
    Catalogue::load(&manifest::load(&project.path().join("env.kdl")).unwrap())
}

fn package(name: &str, about: &str) -> String {
    format!(
        "package \"{name}\" {{ about \"{about}\"; version \"1\" {{ source {{ url \"https://example.org/a.zip\" }} }} }}\n"
    )
}

#[test]
fn the_nearer_description_wins_as_a_whole() {
    let env = "catalogue \"team.kdl\"\n".to_owned() + &package("near", "manifest");
    let team = package("near", "team") + &package("zluda", "team");
    let project = project(&[("env.kdl", &env), ("team.kdl", &team)]);
    let catalogue = catalogue(&project).unwrap();
    let about = |it: &str| catalogue.packages[&name(it)].about.clone().unwrap();
    assert_eq!(about("near"), "manifest");
    assert_eq!(about("zluda"), "team");
    assert_eq!(catalogue.packages[&name("zluda")].versions.len(), 1);
    assert!(catalogue.packages.contains_key(&name("libtorch")));
}

#[test]
fn two_catalogues_may_repeat_but_not_contradict_each_other() {
    let env = "catalogue \"a.kdl\"\ncatalogue \"more\"\n";
    let (one, two) = (package("x", "one"), package("x", "two"));
    let same = project(&[("env.kdl", env), ("a.kdl", &one), ("more/b.kdl", &one)]);
    assert!(catalogue(&same).is_ok());
    let other = project(&[("env.kdl", env), ("a.kdl", &one), ("more/b.kdl", &two)]);
    let error = catalogue(&other).unwrap_err();
    assert_eq!(error.to_string(), "\"x\" is described differently in a.kdl and in more/b.kdl");
}

#[test]
fn only_named_catalogues_count_and_they_change_the_inputs_digest() {
    let text = package("x", "one");
    let env = "environment \"e\" { platform \"x86_64-linux\" }\n";
    let unnamed = project(&[("env.kdl", env), ("catalogue/x.kdl", &text)]);
    let found = catalogue(&unnamed).unwrap();
    assert!(!found.packages.contains_key(&name("x")));
    let naming = format!("{env}catalogue \"catalogue\"\n");
    let one = project(&[("env.kdl", &naming), ("catalogue/x.kdl", &text)]);
    let two = project(&[("env.kdl", &naming), ("catalogue/x.kdl", &package("x", "two"))]);
    let windows = text.replace('\n', "\r\n");
    let crlf = project(&[("env.kdl", &naming), ("catalogue/x.kdl", &windows)]);
    let one = catalogue(&one).unwrap().inputs_digest();
    assert_ne!(one, catalogue(&two).unwrap().inputs_digest());
    assert_eq!(one, catalogue(&crlf).unwrap().inputs_digest());
}

#[test]
fn a_catalogue_that_is_missing_or_empty_is_named() {
    let missing = project(&[("env.kdl", "catalogue \"gone.kdl\"\n")]);
    assert!(matches!(catalogue(&missing), Err(CatalogueError::Missing { .. })));
    let empty = project(&[("env.kdl", "catalogue \"d\"\n"), ("d/readme.txt", "")]);
    assert!(matches!(catalogue(&empty), Err(CatalogueError::Empty { .. })));
}

#[test]
fn a_manifest_is_no_catalogue() {
    let own = project(&[("env.kdl", "catalogue \".\"\n")]);
    let error = catalogue(&own).unwrap_err();
    assert_eq!(error.to_string(), "env.kdl has a mistake");
}

#[cfg(unix)]
#[test]
fn a_catalogue_file_that_links_out_of_the_project_is_refused() {
    let outside = project(&[("x.kdl", &package("x", "one"))]);
    let inside = project(&[("env.kdl", "catalogue \"d\"\n"), ("d/a.kdl", "")]);
    let link = inside.path().join("d/x.kdl");
    std::os::unix::fs::symlink(outside.path().join("x.kdl"), link).unwrap();
    assert!(matches!(catalogue(&inside), Err(CatalogueError::Outside { .. })));
}
