//! What ids and roots change with, and what makes no difference to them.

use proptest::prelude::*;

use super::*;
use crate::resolve::sample::{range, version};

#[test]
fn ids_change_with_what_they_cover_and_with_nothing_else() {
    let base = golden();
    let root = |lock: &Lock| lock.platforms[&WINDOWS].root;
    let changed = |change: &dyn Fn(&mut Shelf, &mut Environment)| {
        let (mut shelf, mut environment) = sample();
        change(&mut shelf, &mut environment);
        root(&make(&shelf, &environment, None)) != root(&base)
    };
    fn zluda(shelf: &mut Shelf) -> &mut crate::manifest::PackageVersion {
        &mut shelf.packages.get_mut(&name("zluda")).expect("zluda").versions[0]
    }
    assert!(!changed(&|shelf, _| zluda(shelf).sources[0].urls.truncate(1)));
    assert!(!changed(&|shelf, _| zluda(shelf).overlay.reverse()));
    assert!(!changed(&|_, environment| environment.about = Some("x".to_owned())));
    assert!(!changed(&|_, environment| environment.uses.reverse()));
    assert!(changed(&|shelf, _| {
        zluda(shelf).overlay.pop();
    }));
    assert!(changed(&|shelf, _| zluda(shelf).sources[0].options.strip = 2));
    assert!(changed(&|shelf, _| zluda(shelf).provides[0].version = Some(version("13.1"))));
    assert!(changed(
        &|shelf, _| zluda(shelf).sources[0].into = Some(crate::manifest::Placement::Top)
    ));
    assert!(changed(&|_, environment| environment.variables.reverse()));
    assert!(changed(&|_, environment| environment.gpus.clear()));
    assert!(changed(&|_, environment| environment.hosts[0].range = range("6.*")));
}

#[test]
fn what_an_application_is_about_is_not_in_its_id() {
    let id = |change: &dyn Fn(&mut Application)| {
        let mut application = application();
        change(&mut application);
        crate::lock::application_id(&application, WINDOWS)
    };
    let base = id(&|_| {});
    assert_eq!(id(&|one| one.about = None), base);
    let changes: [&dyn Fn(&mut Application); 8] = [
        &|one| one.programs[0].arguments.clear(),
        &|one| one.launch = None,
        &|one| one.overlays[0].into = Some("lib".parse().expect("a path")),
        &|one| one.variables.clear(),
        &|one| one.writable.clear(),
        &|one| one.keep_runs = None,
        &|one| one.checks[0].timeout = None,
        &|one| one.working_directory = WorkingDirectory::Caller,
    ];
    for (at, change) in changes.iter().enumerate() {
        assert_ne!(id(*change), base, "change {at}");
    }
    assert_eq!(crate::lock::application_id(&application(), LINUX), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn order_of_writing_makes_no_difference(seed in any::<u64>()) {
        let (mut shelf, mut environment) = sample();
        let base = write(&make(&shelf, &environment, None));
        let turn = |length: usize| if length == 0 { 0 } else { (seed as usize) % length };
        let uses = environment.uses.len();
        environment.uses.rotate_left(turn(uses));
        if seed % 2 == 0 {
            environment.uses.reverse();
        }
        for version in shelf.packages.values_mut().flat_map(|package| &mut package.versions) {
            let (requires, overlay) = (version.requires.len(), version.overlay.len());
            version.requires.rotate_left(turn(requires));
            version.overlay.rotate_left(turn(overlay));
        }
        let mut graphs = graphs(&shelf, &environment);
        if seed % 3 == 0 {
            graphs.reverse();
        }
        let lock = Lock::make(&Ingredients {
            environment: &environment,
            applications: &[&application()],
            graphs: &graphs,
            inputs: inputs("env.kdl"),
            contents: false,
            old: None,
            recorded: &RecordedHashes::new(),
        });
        prop_assert_eq!(write(&lock.expect("a lock")), base);
    }
}
