//! What a program left running when it ended: found by the end of a pipe that every process of the
//! run inherits, and ended with the run.
//!
//! A process that closed everything it was given, as daemons do, is not known to belong to a run.

use std::collections::BTreeSet;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::LeftRunning;

/// Processes that are just ending, and programs of other threads that are just being started, are
/// nobody to look for.
const MOMENT: Duration = Duration::from_millis(30);
/// What a process has to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// What it takes a killed one to be gone.
const KILLED: Duration = Duration::from_secs(2);

/// The processes of one run.
pub(in crate::runtime::launch) struct Group {
    reader: PipeReader,
    writer: Option<PipeWriter>,
}

impl Group {
    pub(in crate::runtime::launch) fn new() -> io::Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        Ok(Self { reader, writer: Some(writer) })
    }

    /// What the program is to inherit.
    pub(super) fn inherited(&self) -> io::Result<Option<OwnedFd>> {
        self.writer.as_ref().map(|writer| writer.as_fd().try_clone_to_owned()).transpose()
    }

    /// The program was started: only processes of the run have the other end now.
    pub(in crate::runtime::launch) fn take(&mut self, _program: &Child) -> io::Result<()> {
        self.writer = None;
        Ok(())
    }

    /// Ends what the program left running: asks first, and does not wait for ever.
    pub(in crate::runtime::launch) fn end(self) -> io::Result<LeftRunning> {
        let mut left = LeftRunning::default();
        if self.is_empty_within(MOMENT)? {
            return Ok(left);
        }
        let seen: Vec<Process> = self.processes()?;
        if self.is_empty_within(MOMENT)? {
            return Ok(left);
        }
        let mut asked: Vec<Process> = self.processes()?;
        asked.retain(|process| seen.iter().any(|before| before.id == process.id));
        for process in &asked {
            process.send(Signal::TERM);
        }
        // Named while they live: of a dead one nothing but its number is known.
        left.ended = asked.iter().map(Process::name).collect();
        if self.is_empty_within(GRACE)? {
            return Ok(left);
        }
        let begun = Instant::now();
        let mut named: BTreeSet<u32> = asked.iter().map(|process| process.id).collect();
        while begun.elapsed() < KILLED {
            // Those too that were started meanwhile.
            for process in self.processes()? {
                if named.insert(process.id) {
                    left.ended.push(process.name());
                }
                process.send(Signal::KILL);
            }
            if self.is_empty_within(MOMENT)? {
                return Ok(left);
            }
        }
        left.remaining = self.processes()?.iter().map(Process::name).collect();
        left.ended.retain(|name| !left.remaining.contains(name));
        Ok(left)
    }

    /// Lets its processes go on.
    pub(in crate::runtime::launch) fn release(self) -> io::Result<()> {
        Ok(())
    }

    /// Whether nobody has the other end any more, or lets go of it in this time.
    fn is_empty_within(&self, time: Duration) -> io::Result<bool> {
        let begun = Instant::now();
        loop {
            let rest = time.saturating_sub(begun.elapsed());
            let rest = Timespec::try_from(rest).map_err(io::Error::other)?;
            // Programs may write into what they inherited: only its end counts.
            let mut ends = [PollFd::new(&self.reader, PollFlags::empty())];
            match poll(&mut ends, Some(&rest)) {
                Ok(0) | Err(rustix::io::Errno::INTR) if begun.elapsed() < time => {}
                Ok(_) => return Ok(ends[0].revents().contains(PollFlags::HUP)),
                Err(rustix::io::Errno::INTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The processes that have the other end open, as far as this user may see them.
    fn processes(&self) -> io::Result<Vec<Process>> {
        let file = rustix::fs::fstat(&self.reader)?.st_ino;
        let wanted = format!("pipe:[{file}]");
        let own = std::process::id();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if id == own || !has_open(id, &wanted) {
                continue;
            }
            let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { continue };
            // The number may belong to another process now: it is asked again what it has open.
            if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
                && has_open(id, &wanted)
            {
                found.push(Process { id, handle });
            }
        }
        found.sort_by_key(|process| process.id);
        Ok(found)
    }
}

/// A process that lives, or has lived.
struct Process {
    id: u32,
    handle: OwnedFd,
}

impl Process {
    fn send(&self, signal: Signal) {
        // It may have ended meanwhile, which is what the signal asks for.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    fn name(&self) -> String {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.id)).unwrap_or_default();
        match name.trim_end() {
            "" => format!("process {}", self.id),
            name => format!("{name} (process {})", self.id),
        }
    }
}

/// Whether a process has the file of this description open. What cannot be seen counts as no.
fn has_open(process: u32, wanted: &str) -> bool {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    descriptors.filter_map(Result::ok).any(|descriptor| {
        std::fs::read_link(descriptor.path()).is_ok_and(|target| target.as_os_str() == wanted)
    })
}
