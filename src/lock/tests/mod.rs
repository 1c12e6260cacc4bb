//! Tests of locks, and the lock that they speak of.

mod agreement;
mod ids;
mod text;

use std::collections::BTreeMap;

use super::{Ingredients, Lock, LockError, RecordedHashes, read, write};
use crate::manifest::{
    Application, Check, Environment, Launch, Overlay, Program, SourceUrl, Variable, VariableAction,
    WorkingDirectory,
};
use crate::model::{InputsDigest, Rename, UnpackOptions};
use crate::resolve::sample::{LINUX, Shelf, WINDOWS, name, stack};
use crate::resolve::{Graph, resolve};

fn inputs(text: &str) -> InputsDigest {
    InputsDigest::from_bytes(*blake3::hash(text.as_bytes()).as_bytes())
}

fn variable(name: &str, action: VariableAction) -> Variable {
    Variable { name: name.to_owned(), action, platform: None }
}

fn application() -> Application {
    Application {
        name: name("cuda-check"),
        about: Some("tells whether the driver loads".to_owned()),
        environment: name("team"),
        programs: vec![Program {
            path: "zluda/cuda_check.exe".parse().expect("a path"),
            arguments: vec!["--all".to_owned()],
            platform: Some(WINDOWS),
        }],
        files: None,
        overlays: vec![Overlay { package: name("zluda"), into: None }],
        launch: Some(Launch {
            program: "zluda/zluda.exe".parse().expect("a path"),
            arguments: vec!["--".to_owned()],
        }),
        variables: vec![variable("A", VariableAction::Set("1".to_owned()))],
        writable: vec!["*.ini".parse().expect("a pattern")],
        working_directory: WorkingDirectory::App,
        keep_runs: Some(2),
        checks: vec![Check {
            name: name("loads"),
            expect_output: Some("OK".to_owned()),
            expect_status: Some(0),
            timeout: Some(std::time::Duration::from_secs(60)),
        }],
    }
}

/// The stack for two platforms, with options of every kind.
fn sample() -> (Shelf, Environment) {
    let (mut shelf, mut environment) = stack();
    environment.platforms = [LINUX, WINDOWS].into();
    environment.gpus = ["gfx1200".to_owned()].into();
    environment.variables = vec![
        variable("HIP_PATH", VariableAction::Set("{host.hip-sdk}".to_owned())),
        variable("PATH", VariableAction::Prepend("{host.hip-sdk}/bin".to_owned())),
    ];
    let zluda = &mut shelf.packages.get_mut(&name("zluda")).expect("zluda").versions[0];
    zluda.overlay =
        vec!["nvml.dll".parse().expect("a path"), "nvcuda.dll".parse().expect("a path")];
    zluda.sources[0].urls = vec![
        SourceUrl::Web("https://example.org/zluda.zip".parse().expect("a URL")),
        SourceUrl::File("archives/\"zluda\" ü.zip".to_owned()),
    ];
    zluda.sources[0].options = UnpackOptions {
        format: Some(crate::model::ArchiveFormat::Zip),
        strip: 1,
        include: vec!["**/*.dll".parse().expect("a pattern")],
        exclude: vec!["doc/*".parse().expect("a pattern")],
        rename: vec![Rename {
            from: "a b".parse().expect("a path"),
            to: "c".parse().expect("a path"),
        }],
        executable: vec!["bin/*".parse().expect("a pattern")],
        encoding: Some("shift_jis".to_owned()),
        file_name: Some("x".parse().expect("a path")),
        max_unpacked: Some(1 << 40),
        max_entries: None,
    };
    (shelf, environment)
}

fn graphs<'a>(shelf: &'a Shelf, environment: &Environment) -> Vec<Graph<'a>> {
    let of = |&platform| {
        resolve(environment, platform, shelf.available(), &BTreeMap::new()).expect("a graph")
    };
    environment.platforms.iter().map(of).collect()
}

fn make(shelf: &Shelf, environment: &Environment, old: Option<&Lock>) -> Lock {
    Lock::make(&Ingredients {
        environment,
        applications: &[&application()],
        graphs: &graphs(shelf, environment),
        inputs: inputs("env.kdl"),
        contents: false,
        old,
        recorded: &RecordedHashes::new(),
    })
    .expect("a lock")
}

fn golden() -> Lock {
    let (shelf, environment) = sample();
    make(&shelf, &environment, None)
}

/// One platform and one package of every kind of line: short enough to change it everywhere.
fn short() -> String {
    let (shelf, mut environment) = sample();
    environment.platforms = [WINDOWS].into();
    environment.uses.truncate(1);
    write(&make(&shelf, &environment, None))
}

fn refused(text: &str) -> String {
    match read(text, "team.lock.kdl") {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted"),
    }
}
