//! What a plan holds: files, overlays, the import closure, search paths.

use super::super::*;
use super::{World, application, overlay, path, tree};
use crate::binary::tests::small_pe;
use crate::model::{Kind, Platform};

/// A Windows program or library that imports two others.
fn pe(first: &str, second: &str) -> Vec<u8> {
    small_pe(0x8664, first, second)
}

fn windows() -> World {
    World::on(Platform::X86_64Windows)
}

fn files(plan: &Plan) -> Vec<&str> {
    plan.files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn the_programs_directory_becomes_app() {
    let mut world = windows();
    world.add(Kind::File, "torch/bin/tool.exe", pe("KERNEL32.dll", "USER32.dll"));
    world.add(Kind::File, "torch/bin/data/x.bin", "x");
    world.add(Kind::File, "torch/lib/other.dll", "other");
    let (plan, notes) = world.plan(&application("Torch/bin/TOOL.exe"), &[]).expect("a plan");
    assert_eq!(plan.program, path("tool.exe"));
    assert_eq!(files(&plan), ["data/x.bin", "tool.exe"]);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_overlay_replaces_same_named_files_and_says_so() {
    let mut world = windows();
    let same = b"same".as_slice();
    world.add(Kind::File, "game/tool.exe", pe("nvcuda.dll", "KERNEL32.dll"));
    world.add(Kind::File, "game/NVCUDA.dll", "the application's");
    world.add(Kind::File, "game/torch/lib/same.dll", same);
    world.add(Kind::File, "zluda/nvcuda.dll", "the overlay's");
    world.add(Kind::File, "zluda/same.dll", same);
    let mut with = application("game/tool.exe");
    with.overlays = vec![overlay("zluda", None), overlay("zluda", Some("torch/lib"))];
    let packages = [("zluda", "zluda", &["nvcuda.dll", "same.dll"][..])];
    let (plan, _) = world.plan(&with, &packages).expect("a plan");
    assert_eq!(
        files(&plan),
        ["NVCUDA.dll", "same.dll", "tool.exe", "torch/lib/nvcuda.dll", "torch/lib/same.dll"]
    );
    let blob = |at: &str| world.tree().get(&path(at)).and_then(|entry| entry.blob);
    let replaced = &plan.replaced[0];
    assert_eq!(plan.replaced.len(), 1);
    assert_eq!(replaced.path, path("NVCUDA.dll"));
    assert_eq!(Some(replaced.before), blob("game/NVCUDA.dll"));
    assert_eq!(Some(replaced.after), blob("zluda/nvcuda.dll"));
    assert_eq!(plan.files[0].blob, blob("zluda/nvcuda.dll"));
    assert_eq!(plan.search_path, [Some(path("torch/lib"))]);
}

#[test]
fn the_import_closure_of_program_and_overlay_comes_beside_the_executable() {
    let mut world = windows();
    world.add(Kind::File, "app/tool.exe", pe("Torch.dll", "KERNEL32.dll"));
    world.add(Kind::File, "torch/lib/torch.dll", pe("c10.dll", "nvcuda.dll"));
    world.add(Kind::File, "torch/lib/c10.dll", pe("KERNEL32.dll", "USER32.dll"));
    world.add(Kind::File, "torch/lib/unused.dll", pe("KERNEL32.dll", "USER32.dll"));
    world.add(Kind::File, "zluda/nvcuda.dll", pe("amdhip.dll", "KERNEL32.dll"));
    world.add(Kind::File, "hip/bin/amdhip.dll", pe("KERNEL32.dll", "USER32.dll"));
    let mut with = application("app/tool.exe");
    with.overlays = vec![overlay("zluda", None)];
    let packages = [("zluda", "zluda", &["nvcuda.dll"][..]), ("torch", "torch", &[])];
    let (plan, notes) = world.plan(&with, &packages).expect("a plan");
    assert_eq!(files(&plan), ["amdhip.dll", "c10.dll", "nvcuda.dll", "tool.exe", "torch.dll"]);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn of_several_candidates_the_first_package_in_use_wins_with_a_note() {
    let mut world = windows();
    world.add(Kind::File, "app/tool.exe", pe("x.dll", "KERNEL32.dll"));
    world.add(Kind::File, "aaa/x.dll", pe("one.dll", "KERNEL32.dll"));
    world.add(Kind::File, "zzz/x.dll", pe("two.dll", "KERNEL32.dll"));
    world.add(Kind::File, "zzz/32/x.dll", small_pe(0x14c, "three.dll", "KERNEL32.dll"));
    let packages = [("zzz", "zzz", &[][..]), ("aaa", "aaa", &[][..])];
    let (plan, notes) = world.plan(&application("app/tool.exe"), &packages).expect("a plan");
    let blob = world.tree().get(&path("zzz/x.dll")).and_then(|entry| entry.blob);
    assert_eq!(plan.files[1].blob, blob);
    assert_eq!(
        notes,
        [Note::SeveralCandidates {
            library: "x.dll".to_owned(),
            importer: path("tool.exe"),
            candidates: vec![path("aaa/x.dll"), path("zzz/x.dll")],
            chosen: path("zzz/x.dll"),
        }]
    );
}

#[test]
fn an_applications_own_files_are_its_directory() {
    let mut world = windows();
    world.add(Kind::File, "zluda/nvcuda.dll", "overlay");
    let own = tree([
        world.entry(Kind::File, "bin/tool.exe", &pe("KERNEL32.dll", "USER32.dll")),
        world.entry(Kind::File, "readme.txt", b"read"),
    ]);
    let mut with = application("bin/tool.exe");
    with.overlays = vec![overlay("zluda", None)];
    let packages = [("zluda", "zluda", &["nvcuda.dll"][..])];
    let (plan, _) = world.plan_with(&with, &packages, Some(&own)).expect("a plan");
    assert_eq!(files(&plan), ["bin/nvcuda.dll", "bin/tool.exe", "readme.txt"]);
    assert_eq!(plan.program, path("bin/tool.exe"));
}

#[test]
fn what_keeps_an_application_from_starting_is_an_error_with_a_name_near_it() {
    let mut world = windows();
    world.add(Kind::File, "zluda/cuda_check.exe", pe("KERNEL32.dll", "USER32.dll"));
    world.add(Kind::File, "zluda/arm.exe", small_pe(0xaa64, "a.dll", "b.dll"));
    world.add(Kind::File, "zluda/dir/nvcuda.dll", "x");
    let packages = [("zluda", "zluda", &["nvcuda.dll"][..]), ("torch", "torch", &[][..])];
    let fails = |program: &str, package: Option<(&str, Option<&str>)>| {
        let mut one = application(program);
        one.overlays = package.map(|(name, into)| overlay(name, into)).into_iter().collect();
        world.plan(&one, &packages).expect_err("no plan")
    };
    let error = fails("zluda/cuda-check.exe", None);
    assert!(matches!(error, RuntimeError::ProgramNotFound { .. }), "{error}");
    assert!(error.to_string().contains("near it: \"zluda/cuda_check.exe\""), "{error}");
    let error = fails("zluda/arm.exe", None);
    assert!(error.to_string().contains("for aarch64, not for x86_64-windows"), "{error}");
    let error = fails("zluda/cuda_check.exe", Some(("zulda", None)));
    assert!(matches!(error, RuntimeError::OverlayPackage { .. }), "{error}");
    assert!(error.to_string().contains("near it: \"zluda\""), "{error}");
    let error = fails("zluda/cuda_check.exe", Some(("torch", None)));
    assert!(matches!(error, RuntimeError::NoOverlay { .. }), "{error}");
    let error = fails("zluda/cuda_check.exe", Some(("zluda", None)));
    assert!(matches!(error, RuntimeError::OverlayFile { .. }), "{error}");
    assert!(error.to_string().contains("\"dir/nvcuda.dll\""), "{error}");
}

#[test]
fn an_overlay_cannot_lie_below_a_file() {
    let mut world = windows();
    world.add(Kind::File, "app/tool.exe", pe("KERNEL32.dll", "USER32.dll"));
    world.add(Kind::File, "zluda/nvcuda.dll", "x");
    let mut with = application("app/tool.exe");
    with.overlays = vec![overlay("zluda", Some("TOOL.exe"))];
    let packages = [("zluda", "zluda", &["nvcuda.dll"][..])];
    let error = world.plan(&with, &packages).expect_err("no plan");
    assert!(matches!(error, RuntimeError::OverlayPlace { .. }), "{error}");
}

#[test]
fn a_plan_survives_its_text_and_a_newer_one_is_refused() {
    let mut world = windows();
    world.add(Kind::File, "app/tool.exe", pe("KERNEL32.dll", "USER32.dll"));
    let (plan, _) = world.plan(&application("app/tool.exe"), &[]).expect("a plan");
    let text = plan.to_json().expect("text");
    assert_eq!(Plan::from_json(&text).expect("its own text"), plan);
    let newer = text.replacen("\"format\": 1", "\"format\": 2", 1);
    let error = Plan::from_json(&newer).expect_err("a newer one").to_string();
    assert!(error.contains("format 2"), "{error}");
    assert!(Plan::from_json("").is_err());
}

#[test]
fn unix_programs_must_be_executable_and_links_stay_or_become_files() {
    let mut world = World::on(Platform::X86_64Linux);
    world.add(Kind::Executable, "tool/bin/tool", "#!/bin/sh\n");
    world.add(Kind::File, "tool/bin/plain", "#!/bin/sh\n");
    world.add(Kind::File, "tool/lib/data", "data");
    let mut entries = world.tree().entries().to_vec();
    entries.push(world.entry(Kind::Link, "tool/bin/inside", b"tool"));
    entries.push(world.entry(Kind::Link, "tool/bin/outside", b"../lib/data"));
    entries.push(world.entry(Kind::Link, "tool/bin/directory", b"../lib"));
    world.entries = entries;
    let (plan, notes) = world.plan(&application("tool/bin/inside"), &[]).expect("a plan");
    let kinds: Vec<(&str, PlannedKind)> =
        plan.files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("inside", PlannedKind::Link),
            ("outside", PlannedKind::File),
            ("plain", PlannedKind::File),
            ("tool", PlannedKind::Executable),
        ]
    );
    assert_eq!(notes, [Note::LinkLeftOut { link: path("tool/bin/directory") }]);
    let error = world.plan(&application("tool/bin/plain"), &[]).expect_err("no plan");
    assert!(matches!(error, RuntimeError::NotExecutable { .. }), "{error}");
}

/// With a C compiler: real ELF files, a library in another package, and DT_RPATH.
#[cfg(target_os = "linux")]
#[test]
fn libraries_of_other_packages_are_found_at_run_time_after_the_overlay() {
    let mut world = World::new();
    let build = world.directory.path().join("build");
    std::fs::create_dir(&build).expect("a directory");
    let compile = |source: &str, arguments: &[&str]| {
        std::fs::write(build.join("source.c"), source).expect("a source");
        let mut compiler = std::process::Command::new("cc");
        compiler
            .arg("source.c")
            .args(arguments)
            .current_dir(&build)
            .status()
            .is_ok_and(|s| s.success())
    };
    let library = |value: u8| format!("int value(void) {{ return {value}; }}\n");
    let shared = ["-shared", "-fPIC", "-o", "libvalue.so", "-Wl,-soname,libvalue.so"];
    if !compile(&library(7), &shared) {
        // No C compiler here; the Windows tests above cover the logic.
        return;
    }
    world.add(
        Kind::File,
        "other/lib/libvalue.so",
        std::fs::read(build.join("libvalue.so")).expect("it"),
    );
    let main = "int value(void); int main(void) { return value(); }\n";
    assert!(compile(
        main,
        &["-o", "main", "-L.", "-lvalue", "-Wl,--disable-new-dtags,-rpath,/nowhere"]
    ));
    world.add(Kind::Executable, "tool/main", std::fs::read(build.join("main")).expect("it"));
    let (plan, notes) =
        world.plan(&application("tool/main"), &[("other", "other", &[])]).expect("a plan");
    assert_eq!(plan.environment_library_path, [Some(path("other/lib"))]);
    assert!(
        notes.contains(&Note::RpathFirst { file: path("main"), rpath: "/nowhere".to_owned() }),
        "{notes:?}"
    );
    assert_eq!(world.run(&plan, &[], Keep::Discard).expect("a run").status, 7);

    std::fs::remove_file(build.join("libvalue.so")).expect("removed");
    assert!(compile(&library(9), &shared));
    world.add(
        Kind::File,
        "shim/libvalue.so",
        std::fs::read(build.join("libvalue.so")).expect("it"),
    );
    let mut with = application("tool/main");
    with.overlays = vec![overlay("shim", None)];
    let packages = [("other", "other", &[][..]), ("shim", "shim", &["libvalue.so"][..])];
    let (plan, _) = world.plan(&with, &packages).expect("a plan");
    assert_eq!(world.run(&plan, &[], Keep::Discard).expect("a run").status, 9);
}
