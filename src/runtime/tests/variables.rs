//! The variables of a process: the base, templates, and the order they take effect in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::super::*;
use super::{name, path};
use crate::model::Family;

fn variable(name: &str, action: PlannedAction) -> PlannedVariable {
    PlannedVariable { name: name.to_owned(), action }
}

fn set(name: &str, value: &str) -> PlannedVariable {
    variable(name, PlannedAction::Set(value.to_owned()))
}

fn prepend(name: &str, value: &str) -> PlannedVariable {
    variable(name, PlannedAction::Prepend(value.to_owned()))
}

fn append(name: &str, value: &str) -> PlannedVariable {
    variable(name, PlannedAction::Append(value.to_owned()))
}

fn made(
    family: Family,
    caller: &[(&str, &str)],
    variables: &[PlannedVariable],
    search: &[&str],
) -> Result<ProcessEnvironment> {
    let packages = BTreeMap::from([(name("zluda"), Some(path("z/l"))), (name("top"), None)]);
    let hosts = BTreeMap::from([(name("hip-sdk"), PathBuf::from("/opt/{home}"))]);
    let directories = Directories {
        environment: Path::new("/env"),
        packages: &packages,
        hosts: &hosts,
        app: Some(Path::new("/run/app")),
        home: Some(Path::new("/run/home")),
        tmp: Some(Path::new("/run/tmp")),
    };
    let caller: Vec<(OsString, OsString)> =
        caller.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let search: Vec<PathBuf> = search.iter().map(PathBuf::from).collect();
    process_environment(family, &|| caller.clone(), &directories, variables, &search)
}

#[test]
fn only_the_base_list_of_the_caller_gets_through() {
    let caller = [
        ("LC_ALL", "C.UTF-8"),
        ("DISPLAY", ":0"),
        ("PATH", "/home/me/bin"),
        ("HOME", "/home/me"),
        ("LD_LIBRARY_PATH", "/home/me/lib"),
        ("CUDA_PATH", "/usr/local/cuda"),
    ];
    let made = made(Family::Unix, &caller, &[], &[]).expect("variables");
    let all: Vec<(&str, &str)> = made
        .iter()
        .map(|(name, value)| (name.to_str().expect("text"), value.to_str().expect("text")))
        .filter(|(name, _)| !name.starts_with("XDG_"))
        .collect();
    assert_eq!(
        all,
        [
            ("DISPLAY", ":0"),
            ("HOME", "/run/home"),
            ("LC_ALL", "C.UTF-8"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("TMPDIR", "/run/tmp"),
        ]
    );
    assert!(made.get("XDG_CACHE_HOME").expect("set").to_str().expect("text").contains("home"));
}

#[test]
fn templates_are_expanded_once_and_in_order() {
    let variables = [
        set("A", "{environment}|{package.zluda}|{package.top}|{app}|{home}|{tmp}"),
        set("HIP_PATH", "{host.hip-sdk}"),
        set("BRACES", "{{home}}"),
        set("LIST", "b"),
        prepend("LIST", "a"),
        append("LIST", "c"),
        prepend("FRESH", "x"),
        variable("DISPLAY", PlannedAction::Unset),
    ];
    let made = made(Family::Unix, &[("DISPLAY", ":0")], &variables, &[]).expect("variables");
    let get = |name: &str| made.get(name).and_then(OsStr::to_str).map(|t| t.replace('\\', "/"));
    assert_eq!(get("A").as_deref(), Some("/env|/env/z/l|/env|/run/app|/run/home|/run/tmp"));
    assert_eq!(get("HIP_PATH").as_deref(), Some("/opt/{home}"));
    assert_eq!(get("BRACES").as_deref(), Some("{home}"));
    assert_eq!(get("LIST").as_deref(), Some("a:b:c"));
    assert_eq!(get("FRESH").as_deref(), Some("x"));
    assert_eq!(get("DISPLAY"), None);
}

#[test]
fn wrong_templates_say_what_is_wrong() {
    for (value, word) in [
        ("{nothing}", "stands for nothing"),
        ("{package.zulda}", "no package \"zulda\""),
        ("{host.rocm}", "there is hip-sdk"),
        ("{app", "is not closed"),
        ("app}", "stands alone"),
    ] {
        let error = made(Family::Unix, &[], &[set("X", value)], &[]).expect_err(value).to_string();
        assert!(error.contains(word) && error.contains("\"X\""), "{value}: {error}");
    }
}

#[test]
fn windows_names_are_one_whatever_their_case_and_slashes_turn() {
    let caller = [("Path", "C:/mine"), ("systemroot", r"D:\Windows"), ("ProgramFiles(x86)", "p")];
    let variables = [
        set("ZLUDA_CC", "8.6"),
        set("zluda_cc", "8.7"),
        prepend("Path", "{host.hip-sdk}/bin/sub;C:/kept"),
        set("Url", "https://a/b"),
    ];
    let made = made(Family::Windows, &caller, &variables, &["S"]).expect("variables");
    assert_eq!(made.get("ZLUDA_CC"), Some(OsStr::new("8.7")));
    assert_eq!(made.get("PROGRAMFILES(X86)"), Some(OsStr::new("p")));
    assert_eq!(made.get("url"), Some(OsStr::new("https://a/b")));
    assert_eq!(
        made.get("PATH"),
        Some(OsStr::new(
            r"S;/opt/{home}\bin\sub;C:/kept;D:\Windows\System32;D:\Windows;D:\Windows\System32\Wbem;D:\Windows\System32\WindowsPowerShell\v1.0"
        ))
    );
    assert_eq!(made.get("TEMP"), made.get("TMP"));
    assert!(made.get("LOCALAPPDATA").is_some() && made.get("USERPROFILE").is_some());
}

#[test]
fn windows_names_that_only_look_alike_in_capitals_stay_apart() {
    let variables =
        [set("straße", "1"), set("STRASSE", "2"), set("é", "3"), set("É", "4"), set("empty", "")];
    let made = made(Family::Windows, &[], &variables, &[]).expect("variables");
    assert_eq!(made.get("straße"), Some(OsStr::new("1")));
    assert_eq!(made.get("strasse"), Some(OsStr::new("2")));
    assert_eq!(made.get("é"), Some(OsStr::new("4")));
    assert_eq!(made.get("EMPTY"), Some(OsStr::new("")), "an empty value is kept");
}

#[test]
fn without_a_run_the_home_stays_the_persons_and_app_is_explained() {
    let (packages, hosts) = (BTreeMap::new(), BTreeMap::new());
    let directories = Directories {
        environment: Path::new("/env"),
        packages: &packages,
        hosts: &hosts,
        app: None,
        home: None,
        tmp: None,
    };
    let caller = || vec![("HOME".into(), "/home/me".into()), ("SECRET".into(), "x".into())];
    let of = |value: &str| {
        process_environment(Family::Unix, &caller, &directories, &[set("X", value)], &[])
    };
    let made = of("{home}/x").expect("variables");
    assert_eq!(made.get("HOME"), Some(OsStr::new("/home/me")));
    assert_eq!(made.get("X"), Some(OsStr::new("/home/me/x")));
    assert_eq!(made.get("SECRET"), None);
    let error = of("{app}").expect_err("no application").to_string();
    assert!(error.contains("no application is run here"), "{error}");
}

#[test]
fn library_directories_come_before_what_variables_say() {
    let variables = [prepend("LD_LIBRARY_PATH", "/mine")];
    let made = made(Family::Unix, &[], &variables, &["/a", "/b"]).expect("variables");
    assert_eq!(made.get("LD_LIBRARY_PATH"), Some(OsStr::new("/a:/b:/mine")));
}

#[test]
fn a_directory_that_a_search_path_cannot_hold_is_refused() {
    let refused = |family, search: &str| {
        matches!(made(family, &[], &[], &[search]), Err(RuntimeError::Separator { .. }))
    };
    assert!(refused(Family::Unix, "/home/a:b/lib") && refused(Family::Unix, "/home/a;b/lib"));
    assert!(refused(Family::Windows, r"D:\a;b\lib") && !refused(Family::Windows, r"D:\a\lib"));
}
