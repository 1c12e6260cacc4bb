//! Disks without room or without inodes, at every stage of every command, and disks that can only be read.
//!
//! Each command gets a file system in memory on which just what is there has room; then one with a little
//! more, and so on until it succeeds. Mounting needs no rights in a user namespace, so the tests start
//! themselves again in one. Where there are none nothing is shown, and that is said.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::aftermath::{finish, look};
use crate::cases::{CASES, Case};
use crate::number;
use crate::stack::{edited, greeting};
use crate::support::{Sandbox, text};

/// Set for a test that is in its namespace.
const INSIDE: &str = "DRYSTONE_INSIDE_NAMESPACE";

/// More than any of it needs.
const AMPLE: Room = Room { bytes: 64 << 20, inodes: 100_000 };

const PAGE: u64 = 4096;

#[test]
fn without_room_every_command_says_so_and_succeeds_once_there_is_some() {
    if is_inside("without_room_every_command_says_so_and_succeeds_once_there_is_some") {
        fill(|used, more| Room { bytes: used.bytes + more * PAGE, ..AMPLE }, "room");
    }
}

#[test]
fn without_inodes_every_command_says_so_and_succeeds_once_there_are_some() {
    if is_inside("without_inodes_every_command_says_so_and_succeeds_once_there_are_some") {
        fill(|used, more| Room { inodes: used.inodes + more, ..AMPLE }, "inodes");
    }
}

#[test]
fn on_a_disk_that_can_only_be_read_what_is_there_can_be_used() {
    if !is_inside("on_a_disk_that_can_only_be_read_what_is_there_can_be_used") {
        return;
    }
    let disk = Disk::mounted();
    let sandbox = Sandbox::within(&disk.path);
    greeting(&sandbox);
    edited(&sandbox);
    disk.remount("ro");
    let said = sandbox.fail(&["build"]);
    assert!(said.to_lowercase().contains("read-only"), "{said}");
    assert!(sandbox.succeed(&["history"]).contains('1'));
    let report = sandbox.json(&["store", "verify"]);
    assert_eq!(report["damages"].as_array().map(Vec::len), Some(0), "{report}");
    assert_eq!(sandbox.succeed(&["exec", "--", "echo", "there"]), "there\n");
    disk.remount("rw");
    sandbox.succeed(&["build"]);
    finish(&sandbox, "writable again");
    println!("a disk that can only be read: told, and used");
}

/// Whether this is the test in its namespace; otherwise it was run there, if that is possible.
fn is_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let unshared = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--"]).arg(program);
        command
    };
    if !unshared(Path::new("true")).output().is_ok_and(|output| output.status.success()) {
        println!("nothing is shown: there are no user namespaces here");
        return false;
    }
    let program = std::env::current_exe().expect("this program");
    let mut command = unshared(&program);
    command.args(["--exact", &format!("full_disk::{test}"), "--nocapture"]).env(INSIDE, "1");
    let output = command.output().expect("started");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("1 passed"), "it was run: {said}");
    let own = |line: &&str| {
        !line.is_empty() && !line.starts_with("running ") && !line.starts_with("test ")
    };
    said.lines().filter(own).for_each(|line| println!("{line}"));
    false
}

/// Runs every command with more and more until it succeeds. What lacked is told by the last word.
fn fill(room: impl Fn(Room, u64) -> Room, what: &str) {
    let attempts = number("DRYSTONE_CRASHES", 40);
    let mut refused = 0;
    for case in &CASES {
        let step = (needed(case, &room) / attempts).max(1);
        let disk = Disk::mounted();
        let sandbox = case.ready(Sandbox::within(&disk.path));
        let mut more = 0;
        let times = loop {
            disk.resize(room(disk.used(), more));
            let output = sandbox.output(case.arguments);
            let moment = format!("{} with {more} more {what}", case.name);
            if output.status.success() || case.is_done(&output) {
                break more / step;
            }
            assert_says_full(&output, &moment);
            disk.resize(AMPLE);
            look(&sandbox, case.is_damaged(), &moment);
            more += step;
            assert!(more < 100_000, "{moment}: it never succeeds");
        };
        disk.resize(AMPLE);
        finish(&sandbox, case.name);
        println!("  {times:3} {}", case.name);
        refused += times;
    }
    println!("{refused} disks without {what}, each told, and followed by a whole store:");
    assert!(refused > CASES.len() as u64, "hardly any disk was full");
}

/// About how much of the steps of `room` a command needs: what its work leaves behind.
fn needed(case: &Case, room: &impl Fn(Room, u64) -> Room) -> u64 {
    let disk = Disk::mounted();
    let sandbox = case.ready(Sandbox::within(&disk.path));
    let before = disk.used();
    sandbox.succeed(case.arguments);
    let after = disk.used();
    let none = Room { bytes: 0, inodes: 0 };
    let one = room(none, 1);
    match one.bytes == PAGE {
        true => after.bytes.saturating_sub(before.bytes) / PAGE,
        false => after.inodes.saturating_sub(before.inodes),
    }
}

fn assert_says_full(output: &Output, moment: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{moment}: {said}");
    assert!(said.contains("space left") || said.contains("disk is full"), "{moment}: {said}");
}

/// How much a file system holds.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: u64,
    inodes: u64,
}

/// A file system in memory; it goes with the namespace.
struct Disk {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Disk {
    fn mounted() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().to_path_buf();
        let options = format!("mode=700,size={},nr_inodes={}", AMPLE.bytes, AMPLE.inodes);
        mount(&["-t", "tmpfs", "-o", &options], &path);
        Self { directory, path }
    }

    fn resize(&self, room: Room) {
        self.remount(&format!("size={},nr_inodes={}", room.bytes, room.inodes));
    }

    fn remount(&self, options: &str) {
        mount(&["-o", &format!("remount,{options}")], &self.path);
    }

    fn used(&self) -> Room {
        let stat = rustix::fs::statvfs(&self.path).expect("a file system");
        Room {
            bytes: (stat.f_blocks - stat.f_bfree) * stat.f_frsize,
            inodes: stat.f_files - stat.f_ffree,
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: it goes when nothing in it is open any more.
        let unmounted = Command::new("umount").arg("--lazy").arg(self.directory.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

fn mount(options: &[&str], path: &Path) {
    let output = Command::new("mount").args(options).arg("none").arg(path).output().expect("mount");
    assert!(output.status.success(), "mount {options:?}: {}", text(&output.stderr));
}
