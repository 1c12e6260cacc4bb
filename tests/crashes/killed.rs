//! SIGKILL at the entry of the n-th call of a kind by one thread: the step itself does not happen.

use std::collections::BTreeMap;

use crate::aftermath::{finish, look};
use crate::cases::{CASES, Case};
use crate::support::{Sandbox, text};
use crate::{Dice, can_trace, number, traced};

/// The calls that change a disk. Those behind `?` some processors do not have.
const CALLS: &str = "?open,openat,?creat,write,pwrite64,copy_file_range,fsync,fdatasync,syncfs,?rename,\
renameat,renameat2,?link,linkat,symlinkat,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,fchmod,?chmod,fchmodat,\
utimensat,ftruncate";

/// How often one thread at most makes each call.
fn counted(case: &Case) -> Vec<(String, u64)> {
    let Case { name, arguments, .. } = case;
    let sandbox = case.ready(Sandbox::new());
    let log = sandbox.root().join("calls");
    let path = log.to_str().expect("text");
    let output = traced(&sandbox, &["-e", &format!("trace={CALLS}"), "-o", path], arguments);
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in text(&std::fs::read(&log).expect("a log")).lines() {
        let mut words = line.split_whitespace();
        let (Some(thread), Some(call)) = (words.next(), words.next()) else { continue };
        if let Some((call, _)) = call.split_once('(') {
            *counts.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for ((call, _), count) in counts {
        let most = most.entry(call).or_default();
        *most = count.max(*most);
    }
    most.into_iter().collect()
}

#[test]
fn killed_at_any_step_it_leaves_a_store_that_is_whole_and_goes_on() {
    if !can_trace() {
        return;
    }
    let wanted = number("DRYSTONE_CRASHES", 40);
    let mut dice = Dice::thrown();
    let counts: Vec<_> = CASES.iter().map(counted).collect();
    let mut killed: BTreeMap<String, u64> = BTreeMap::new();
    let mut kills = 0;
    while kills < wanted {
        let at = usize::try_from(kills).expect("small") % CASES.len();
        let case = &CASES[at];
        // Each call as often as another, so that rare ones are not forgotten; then any time it is made.
        let calls = &counts[at];
        let (call, most) = &calls[usize::try_from(dice.below(calls.len() as u64)).expect("small")];
        if kill(case, call, 1 + dice.below(*most)) {
            *killed.entry(format!("{}, {call}", case.name)).or_default() += 1;
            kills += 1;
        }
    }
    println!("{kills} kills, each followed by a whole store and a run that succeeds:");
    for (where_, times) in &killed {
        println!("  {times:3} {where_}");
    }
}

/// Whether it was killed there: threads share work, so that one may make fewer calls than before.
fn kill(case: &Case, call: &str, at: u64) -> bool {
    let Case { name, arguments, .. } = case;
    let moment = format!("{name}, killed at {call} {at}");
    let sandbox = case.ready(Sandbox::new());
    let (trace, inject) =
        (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={at}"));
    let output = traced(&sandbox, &["-e", &trace, "-e", &inject, "-o", "/dev/null"], arguments);
    if output.status.success() {
        return false;
    }
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(signal, Some(9), "{moment}: {}", text(&output.stderr));
    look(&sandbox, case.is_damaged(), &moment);
    case.again(&sandbox, &moment);
    finish(&sandbox, &moment);
    true
}
