//! Windows: Ctrl-C, the inherited lease, and programs started within a job or apart from it.

#[path = "job.rs"]
mod job;

use std::io;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED,
};

pub(super) use job::Group;

use crate::runtime::lease::Lease;

/// Held while a handle is inheritable: every program started then would get it.
static INHERITING: Mutex<()> = Mutex::new(());

/// Whether Ctrl-C or its like came since the last [`Watch`] began.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the console is being closed.
static CLOSING: AtomicBool = AtomicBool::new(false);

/// Longer than Windows waits for a process when a console is closed.
const LONGER_THAN_WINDOWS_WAITS: Duration = Duration::from_secs(60);

/// Lets Ctrl-C and Ctrl-Break pass this process by while a program runs: the console sends them to
/// the program itself. A handler, not "ignore", which the program would inherit.
pub(in crate::runtime) struct Watch(());

/// Says that what the console tells is dealt with.
///
/// # Safety
/// Called by the system on a thread of its own; it touches nothing but two atomics.
unsafe extern "system" fn pass_by(event: u32) -> windows_sys::core::BOOL {
    INTERRUPTED.store(true, Ordering::Release);
    match event {
        CTRL_C_EVENT | CTRL_BREAK_EVENT => 1,
        CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT => {
            // This process ends when the handler returns. The program was told as well, and when it
            // has ended the run ends as it always does, if Windows waits that long.
            CLOSING.store(true, Ordering::Release);
            std::thread::sleep(LONGER_THAN_WINDOWS_WAITS);
            1
        }
        _ => 0,
    }
}

impl Watch {
    pub(in crate::runtime) fn begin() -> io::Result<Self> {
        INTERRUPTED.store(false, Ordering::Release);
        // SAFETY: the handler is a function of this program, there as long as the process is.
        check(unsafe { SetConsoleCtrlHandler(Some(pass_by), 1) })?;
        Ok(Self(()))
    }

    /// Whether Ctrl-C came before the program was started.
    pub(in crate::runtime) fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Acquire)
    }

    /// Waits for the program.
    pub(super) fn wait(&self, mut child: Child) -> io::Result<i32> {
        Ok(child.wait()?.code().unwrap_or(1))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if CLOSING.load(Ordering::Acquire) {
            return; // The system may hold its list of handlers while one of them runs.
        }
        // SAFETY: the same function as was registered. A failure leaves it registered, which at
        // the end of a command harms nothing.
        let _ = unsafe { SetConsoleCtrlHandler(Some(pass_by), 0) };
    }
}

/// Starts the program; with a lease, it inherits its handle. For a group it is started suspended:
/// the group takes it and lets it begin.
pub(super) fn spawn(
    mut command: Command,
    lease: Option<&Lease>,
    group: Option<&Group>,
) -> io::Result<Child> {
    if group.is_some() {
        command.creation_flags(CREATE_SUSPENDED);
    }
    spawn_inheriting(&mut command, lease)
}

/// Starts the program apart from this process's console, streams and Ctrl-C; it inherits the lease.
/// To be called at the end of a command: programs that are started later get no streams either.
pub(super) fn spawn_detached(mut command: Command, lease: &Lease) -> io::Result<Child> {
    // Programs inherit every handle that can be inherited: whoever reads what this process says
    // would wait for the end of the program.
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: no pointers; the handle is this process's own, or none, or a console's, which may
        // refuse: consoles are not passed on with CREATE_NO_WINDOW.
        unsafe { SetHandleInformation(GetStdHandle(stream), HANDLE_FLAG_INHERIT, 0) };
    }
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
    spawn_inheriting(&mut command, Some(lease))
}

fn spawn_inheriting(command: &mut Command, lease: Option<&Lease>) -> io::Result<Child> {
    let Some(lease) = lease else { return command.spawn() };
    let guard = INHERITING.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = lease.file().as_raw_handle();
    // SAFETY: the handle is open as long as `lease` is borrowed.
    check(unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })?;
    let spawned = command.spawn();
    // SAFETY: as above.
    let closed = check(unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) });
    drop(guard);
    let child = spawned?;
    closed?;
    Ok(child)
}

fn check(result: windows_sys::core::BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a file can be started.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && path.extension().is_some()
}
