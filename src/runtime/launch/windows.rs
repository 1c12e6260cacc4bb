//! Windows: Ctrl-C, the inherited lease, and a job so that the program does not outlive a killed
//! drystone unseen.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::{HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject,
};

use crate::runtime::lease::Lease;

/// Held while a handle is inheritable: every program started then would get it.
static INHERITING: Mutex<()> = Mutex::new(());

/// Lets Ctrl-C and Ctrl-Break pass this process by while a program runs: the console sends them to
/// the program itself. A handler, not "ignore", which the program would inherit.
pub(in crate::runtime) struct Watch(());

/// Says that Ctrl-C and Ctrl-Break are dealt with.
///
/// # Safety
/// Called by the system on a thread of its own; it touches nothing.
unsafe extern "system" fn pass_by(event: u32) -> windows_sys::core::BOOL {
    i32::from(matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT))
}

impl Watch {
    pub(in crate::runtime) fn begin() -> io::Result<Self> {
        // SAFETY: the handler is a function of this program, there as long as the process is.
        check(unsafe { SetConsoleCtrlHandler(Some(pass_by), 1) })?;
        Ok(Self(()))
    }

    /// Ctrl-C before the program was started is not noticed; the program is then started.
    pub(in crate::runtime) const fn interrupted(&self) -> bool {
        false
    }

    /// Waits for the program. Killing this process ends the program and what it started; after the
    /// program ended by itself, what it left in the background may go on.
    pub(super) fn wait(&self, mut child: Child) -> io::Result<i32> {
        let job = Job::around(&child);
        let status = child.wait()?;
        if let Ok(job) = job {
            job.limit(0)?;
        }
        Ok(status.code().unwrap_or(1))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: the same function as was registered. A failure leaves it registered, which at
        // the end of a command harms nothing.
        let _ = unsafe { SetConsoleCtrlHandler(Some(pass_by), 0) };
    }
}

/// A group of processes that ends when its last handle is closed.
struct Job(OwnedHandle);

impl Job {
    fn around(child: &Child) -> io::Result<Self> {
        // SAFETY: both pointers may be null: default security, no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above gave a fresh handle that nobody else closes.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        job.limit(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)?;
        // SAFETY: both handles are open: one is owned here, the other by `child`.
        check(unsafe { AssignProcessToJobObject(job.handle(), child.as_raw_handle()) })?;
        Ok(job)
    }

    fn limit(&self, flags: u32) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = flags;
        let size = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32;
        // SAFETY: the pointer is to a whole structure of the class named, `size` bytes long, that
        // lives through the call; the handle is open.
        check(unsafe {
            SetInformationJobObject(
                self.handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size,
            )
        })
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

/// Starts the program; with a lease, it inherits its handle.
pub(super) fn spawn(mut command: Command, lease: Option<&Lease>) -> io::Result<Child> {
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
