//! What a command did to the files below a directory, in order, read from a recording of strace.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;
use crate::traced;

/// One step.
#[derive(Debug, Clone)]
pub enum Step {
    /// A file is made, or made empty.
    Create {
        path: PathBuf,
        mode: u32,
        empty: bool,
    },
    Directory {
        path: PathBuf,
        mode: u32,
    },
    Write {
        path: PathBuf,
        at: u64,
        data: Vec<u8>,
    },
    /// Bytes come from another file, as it is then.
    Copy {
        from: PathBuf,
        path: PathBuf,
    },
    Length {
        path: PathBuf,
        length: u64,
    },
    Mode {
        path: PathBuf,
        mode: u32,
    },
    /// It gets the time that contents have, or another one.
    Time {
        path: PathBuf,
        is_fixed: bool,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    /// A file's content, or a directory's names, are on the disk.
    Sync {
        path: PathBuf,
    },
    /// Everything is.
    SyncAll,
}

const CALLS: &str = "trace=?open,openat,?creat,write,pwrite64,lseek,copy_file_range,sendfile,?rename,renameat,\
renameat2,?link,linkat,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,ftruncate,fsync,fdatasync,syncfs,fchmod,?chmod,\
fchmodat,utimensat";

/// The modification time of every content, in seconds.
const FIXED_TIME: &str = "tv_sec=946684800,";

/// Runs a command that must succeed, and gives what it did below `root`.
pub fn record(sandbox: &Sandbox, arguments: &[&str], root: &Path) -> Vec<Step> {
    let log = sandbox.root().join("recording");
    let path = log.to_str().expect("text");
    let options = ["--seccomp-bpf", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-o", path];
    let output = traced(sandbox, &options, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&log).expect("a recording");
    let mut reader = Reader { root, positions: HashMap::new(), steps: Vec::new() };
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread, begun);
        } else if let Some((_, rest)) = call.split_once(" resumed>") {
            let begun = unfinished.remove(thread).expect("a beginning");
            reader.read(&format!("{begun}{rest}"));
        } else {
            reader.read(call);
        }
    }
    reader.steps
}

struct Reader<'a> {
    root: &'a Path,
    /// Where each descriptor stands.
    positions: HashMap<String, u64>,
    steps: Vec<Step>,
}

impl Reader<'_> {
    /// Takes a call such as `name(argument, …) = result`; those that failed did nothing.
    fn read(&mut self, line: &str) {
        let Some((call, result)) = line.rsplit_once(" = ") else { return };
        let Some((name, arguments)) = call.trim_end().split_once('(') else { return };
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        let arguments: Vec<&str> = split(arguments.trim_end_matches(')'));
        let step = self.step(name, &arguments, result);
        self.steps.extend(step.filter(|step| self.is_below(step)));
    }

    fn step(&mut self, name: &str, arguments: &[&str], result: &str) -> Option<Step> {
        let of = |at: usize| path_of(arguments[at]);
        let mode = |at: usize| u32::from_str_radix(arguments[at], 8).expect("a mode");
        Some(match name {
            "open" | "openat" | "creat" => {
                self.positions.insert(descriptor(result).to_owned(), 0);
                let flags = arguments.iter().find(|one| one.contains("O_"))?;
                if !flags.contains("O_CREAT") && !flags.contains("O_TRUNC") {
                    return None;
                }
                let mode = arguments.last().and_then(|mode| u32::from_str_radix(mode, 8).ok());
                let path = path_of(result);
                Step::Create { path, mode: mode.unwrap_or(0o600), empty: flags.contains("O_TRUNC") }
            }
            "write" | "pwrite64" => {
                let written: u64 = number(result);
                let mut data = bytes(arguments[1]);
                data.truncate(usize::try_from(written).expect("small"));
                let position =
                    self.positions.entry(descriptor(arguments[0]).to_owned()).or_default();
                let at = if name == "write" { *position } else { number(arguments[3]) };
                if name == "write" {
                    *position += written;
                }
                Step::Write { path: of(0), at, data }
            }
            "lseek" => {
                self.positions.insert(descriptor(arguments[0]).to_owned(), number(result));
                return None;
            }
            "copy_file_range" => Step::Copy { from: of(0), path: of(2) },
            "sendfile" => Step::Copy { from: of(1), path: of(0) },
            "ftruncate" => Step::Length { path: of(0), length: number(arguments[1]) },
            "fchmod" | "chmod" => Step::Mode { path: of(0), mode: mode(1) },
            "fchmodat" => Step::Mode { path: at(arguments[0], arguments[1]), mode: mode(2) },
            "utimensat" => {
                let path =
                    if arguments[1] == "NULL" { of(0) } else { at(arguments[0], arguments[1]) };
                Step::Time {
                    path,
                    is_fixed: arguments[2..].concat().contains(FIXED_TIME.trim_end_matches(',')),
                }
            }
            "rename" => Step::Rename { from: of(0), to: of(1) },
            "renameat" | "renameat2" => Step::Rename {
                from: at(arguments[0], arguments[1]),
                to: at(arguments[2], arguments[3]),
            },
            "link" => Step::Link { from: of(0), to: of(1) },
            "linkat" => Step::Link {
                from: at(arguments[0], arguments[1]),
                to: at(arguments[2], arguments[3]),
            },
            "unlink" | "rmdir" => Step::Remove { path: of(0) },
            "unlinkat" => Step::Remove { path: at(arguments[0], arguments[1]) },
            "mkdir" => Step::Directory { path: of(0), mode: mode(1) },
            "mkdirat" => Step::Directory { path: at(arguments[0], arguments[1]), mode: mode(2) },
            "fsync" | "fdatasync" => Step::Sync { path: of(0) },
            "syncfs" => Step::SyncAll,
            _ => return None,
        })
    }

    fn is_below(&self, step: &Step) -> bool {
        match step {
            Step::SyncAll => true,
            Step::Create { path, .. }
            | Step::Directory { path, .. }
            | Step::Write { path, .. }
            | Step::Copy { path, .. }
            | Step::Length { path, .. }
            | Step::Mode { path, .. }
            | Step::Time { path, .. }
            | Step::Rename { to: path, .. }
            | Step::Link { to: path, .. }
            | Step::Remove { path }
            | Step::Sync { path } => path.starts_with(self.root),
        }
    }
}

/// Arguments; texts and paths are in hexadecimal digits, so that no comma is in them.
fn split(arguments: &str) -> Vec<&str> {
    arguments.split(", ").map(str::trim).collect()
}

/// `3<\x2f…>` → `3`.
fn descriptor(text: &str) -> &str {
    text.split('<').next().unwrap_or(text)
}

/// The path in `3<\x2f…>` or `"\x2f…"`.
fn path_of(text: &str) -> PathBuf {
    let inside = match text.split_once('<') {
        Some((_, rest)) => rest.split('>').next().unwrap_or(rest),
        None => text.trim_matches('"'),
    };
    OsString::from_vec(bytes(inside)).into()
}

/// A path below what a descriptor is open for.
fn at(directory: &str, text: &str) -> PathBuf {
    path_of(directory).join(path_of(text))
}

fn bytes(text: &str) -> Vec<u8> {
    let digits = text.trim_matches('"').split("\\x").skip(1);
    digits.map(|two| u8::from_str_radix(&two[..2], 16).expect("two digits")).collect()
}

fn number(text: &str) -> u64 {
    let digits = text.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().expect("a number")
}
