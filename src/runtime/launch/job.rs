//! A job: the processes of one run, so that none outlives it unseen.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::Child;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_PROCESS_ID_LIST, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, OpenThread, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION,
    QueryFullProcessImageNameW, ResumeThread, THREAD_SUSPEND_RESUME,
};

use super::super::LeftRunning;
use super::check;

/// What a process that ended takes to be counted as gone.
const MOMENT: Duration = Duration::from_millis(50);
/// What it takes ended ones to be gone.
const KILLED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// A group of processes. While it has this handle, its processes end when the handle is closed,
/// however this process ends.
pub(in crate::runtime::launch) struct Group(OwnedHandle);

impl Group {
    pub(in crate::runtime::launch) fn new() -> io::Result<Self> {
        // SAFETY: both pointers may be null: default security, no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        let group = Self(owned(handle)?);
        group.limit(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)?;
        Ok(group)
    }

    /// Takes in a program that was started suspended, and lets it begin: what it starts belongs to
    /// the group from its first moment on.
    pub(in crate::runtime::launch) fn take(&mut self, program: &Child) -> io::Result<()> {
        // SAFETY: both handles are open: one is owned here, the other by `program`.
        check(unsafe { AssignProcessToJobObject(self.handle(), program.as_raw_handle()) })?;
        resume(program.id())
    }

    /// Ends what the program left running.
    pub(in crate::runtime::launch) fn end(self) -> io::Result<LeftRunning> {
        let mut left = LeftRunning::default();
        if self.is_empty_within(MOMENT)? {
            return Ok(left);
        }
        // Named while they live; and again, for one may have been started in between.
        let seen = self.processes()?;
        left.ended = seen.iter().copied().map(name).collect();
        // SAFETY: the handle is open.
        check(unsafe { TerminateJobObject(self.handle(), 1) })?;
        let later = self.processes()?.into_iter().filter(|process| !seen.contains(process));
        left.ended.extend(later.map(name));
        if !self.is_empty_within(KILLED)? {
            left.remaining = self.processes()?.into_iter().map(name).collect();
            left.ended.retain(|name| !left.remaining.contains(name));
        }
        Ok(left)
    }

    /// Lets its processes go on when the handle is closed.
    pub(in crate::runtime::launch) fn release(self) -> io::Result<()> {
        self.limit(0)
    }

    fn is_empty_within(&self, time: Duration) -> io::Result<bool> {
        let begun = Instant::now();
        while !self.processes()?.is_empty() {
            if begun.elapsed() >= time {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    /// The ids of its processes.
    fn processes(&self) -> io::Result<Vec<u32>> {
        const HEADER: usize = size_of::<JOBOBJECT_BASIC_PROCESS_ID_LIST>() / size_of::<usize>();
        let mut room = 64;
        loop {
            // usizes, because the list's ids are of that size and must be aligned.
            let mut list = vec![0usize; HEADER + room];
            // SAFETY: the buffer is writable for the size passed, and aligned for the structure;
            // the handle is open; the last pointer may be null.
            let told = check(unsafe {
                QueryInformationJobObject(
                    self.handle(),
                    JobObjectBasicProcessIdList,
                    list.as_mut_ptr().cast(),
                    (list.len() * size_of::<usize>()) as u32,
                    std::ptr::null_mut(),
                )
            });
            match told {
                Err(error) if error.raw_os_error() == Some(ERROR_MORE_DATA as i32) => room *= 4,
                Err(error) => return Err(error),
                Ok(()) => {
                    // SAFETY: the buffer begins with the structure, which the call filled.
                    let header =
                        unsafe { &*list.as_ptr().cast::<JOBOBJECT_BASIC_PROCESS_ID_LIST>() };
                    let count = header.NumberOfProcessIdsInList as usize;
                    // The ids begin where the structure's one does, its last word.
                    let ids = list.iter().skip(HEADER - 1).take(count);
                    return Ok(ids.map(|id| *id as u32).collect());
                }
            }
        }
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

/// Lets the threads of a process begin that was started suspended: it has one.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: no pointers; what it gives is checked and owned below.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry =
        THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..Default::default() };
    let mut resumed = false;
    // SAFETY: the snapshot is open, the structure is writable and says its size.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &mut entry) } != 0;
    while more {
        if entry.th32OwnerProcessID == process {
            // SAFETY: no pointers; what it gives is checked and owned.
            let thread =
                owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open.
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
            resumed = true;
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &mut entry) } != 0;
    }
    if resumed { Ok(()) } else { Err(io::Error::other("its first thread was not found")) }
}

/// What a process is called.
fn name(process: u32) -> String {
    let path = image(process).unwrap_or_default();
    match path.rsplit('\\').next() {
        None | Some("") => format!("process {process}"),
        Some(name) => format!("{name} (process {process})"),
    }
}

fn image(process: u32) -> io::Result<String> {
    // SAFETY: no pointers; what it gives is checked and owned.
    let handle = owned(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, process) })?;
    let mut text = vec![0u16; 1024];
    let mut length = 1024;
    // SAFETY: the handle is open; the buffer is writable for the length passed, which is writable.
    check(unsafe {
        QueryFullProcessImageNameW(
            handle.as_raw_handle(),
            PROCESS_NAME_WIN32,
            text.as_mut_ptr(),
            &mut length,
        )
    })?;
    text.truncate(length as usize);
    Ok(String::from_utf16_lossy(&text))
}

/// A handle that a call gave, to be closed when it is dropped.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call gave a fresh handle that nobody else closes.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
