//! Unix: signals, the inherited lease, and the status of a program that a signal ended.

#[path = "left_running.rs"]
mod left_running;

use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::LeftRunning;
use crate::runtime::lease::Lease;
pub(super) use left_running::Group;

/// How often, and how long apart, a program that is open for writing is tried again.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Takes this process's signals while a program runs, so that it outlives the program and tidies up.
///
/// Ctrl-C and Ctrl-\ reach the program from the terminal itself; sent by another process they are
/// passed on, as SIGTERM and SIGHUP always are. A signal that was ignored stays ignored, here and in the
/// program. Handlers, not "ignore": the program starts with the default dispositions.
pub(in crate::runtime) struct Watch {
    state: Arc<Mutex<State>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    child: Option<Pid>,
    /// A signal that came before there was a program.
    early: Option<i32>,
    over: bool,
}

impl Watch {
    pub(in crate::runtime) fn begin() -> io::Result<Self> {
        let ignored = ignored_signals();
        let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let watched = wanted.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = Signals::new(watched)?;
        let handle = signals.handle();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for signal in signals.forever() {
                shared.lock().unwrap_or_else(PoisonError::into_inner).take(signal);
            }
        });
        Ok(Self { state, handle, thread: Some(thread) })
    }

    /// Whether a signal came before the program was started.
    pub(in crate::runtime) fn interrupted(&self) -> bool {
        self.lock().early.is_some()
    }

    /// Waits for the program; signals reach it until it ends, and nobody else after.
    pub(super) fn wait(&self, mut child: Child) -> io::Result<i32> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        {
            let mut state = self.lock();
            state.child = pid;
            if let Some(early) = state.early.take() {
                state.take(early);
            }
        }
        if let Some(pid) = pid {
            // Its number stays taken until it is waited for below, so no signal can go astray.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(error) = waitid(WaitId::Pid(pid), options) {
                if error != rustix::io::Errno::INTR {
                    return Err(error.into());
                }
            }
        }
        let mut state = self.lock();
        state.child = None;
        state.over = true;
        drop(state);
        let status = child.wait()?;
        Ok(status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic there would have been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl State {
    fn take(&mut self, signal: i32) {
        match self.child {
            Some(pid) if is_passed_on(signal) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    // It may just have ended, which is what the signal asks for.
                    let _ = kill_process(pid, signal);
                }
            }
            Some(_) => {}
            None if !self.over => self.early = Some(signal),
            None => {}
        }
    }
}

/// Ctrl-C and Ctrl-\ reach every process in the foreground of a terminal; to pass them on there as
/// well would give the program two.
fn is_passed_on(signal: i32) -> bool {
    matches!(signal, SIGTERM | SIGHUP) || !in_foreground()
}

/// Whether this process is in the foreground of its terminal, from fields 5 and 8 of its `stat`.
fn in_foreground() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name before the last bracket may hold anything.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    match (fields.get(2), fields.get(5)) {
        (Some(group), Some(foreground)) => group == foreground,
        _ => io::stdin().is_terminal(),
    }
}

/// The set of signals this process was started to ignore (`nohup`, a shell's background): one bit a
/// signal. Empty where the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Starts the program; it inherits the lease, and what says that it belongs to the group.
pub(super) fn spawn(
    mut command: Command,
    lease: Option<&Lease>,
    group: Option<&Group>,
) -> io::Result<Child> {
    // Other descriptors of the same open files, close-on-exec as every other, so that no other
    // program started at this moment gets them.
    let lease = lease.map(|lease| lease.file().try_clone().map(OwnedFd::from)).transpose()?;
    let group = group.map(Group::inherited).transpose()?.flatten();
    for inherited in [lease, group].into_iter().flatten() {
        // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are
        // allowed. It makes one system call, fcntl(F_SETFD), on a descriptor that it owns; it
        // allocates nothing, takes no lock, and its error is made of a number.
        unsafe {
            command.pre_exec(move || Ok(fcntl_setfd(&inherited, FdFlags::empty())?));
        }
    }
    spawn_busy(&mut command)
}

/// Starts the program apart from this process's terminal and its signals; it inherits the lease.
pub(super) fn spawn_detached(mut command: Command, lease: &Lease) -> io::Result<Child> {
    // SAFETY: as above; setsid is async-signal-safe too.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
    spawn(command, Some(lease), None)
}

/// While another thread copies a program and forks, the copy counts as open for writing for the
/// moment until that fork has become its program.
fn spawn_busy(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(BUSY_PAUSE);
            }
            other => return other,
        }
    }
    command.spawn()
}

/// Whether a file can be started.
pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
