//! Zip archives: the directory decides, every local header must agree with it, and entries are
//! decompressed in parallel, the largest first.

mod directory;
mod entry;
mod method;
mod name;

pub(super) use self::method::decoding;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use self::directory::Record;
use self::entry::Workspace;
use super::Job;
use super::assembly::{Assembly, What};
use super::content::Execute;
use super::error::Problem;
use crate::fetch::Arriving;
use crate::model::{Tree, TreePath};

/// An entry to decompress.
struct Task<'a> {
    record: &'a Record,
    path: TreePath,
    execute: Execute,
}

/// Unpacks a zip archive.
pub(super) fn unpack(job: &Job<'_>, mut assembly: Assembly<'_>) -> Result<Tree, Problem> {
    let records = directory::read(job)?;
    let total = |sum: u64, record: &Record| sum.saturating_add(record.size);
    job.task.set_length(records.iter().fold(0, total));
    let mut tasks = Vec::with_capacity(records.len());
    for record in &records {
        let what = match record.kind {
            directory::Kind::Directory => What::Directory,
            directory::Kind::File => What::File(None),
            directory::Kind::Link => What::Link(String::new()),
        };
        if let Some(path) = assembly.place(&record.name, what)?
            && record.kind != directory::Kind::Directory
        {
            let wanted = assembly.placing.executable(&path);
            let execute = Execute::of(record.mode, wanted, job.family);
            tasks.push(Task { record, path, execute });
        }
    }
    assembly.check()?;
    job.bounds.foresee(tasks.iter().fold(0, |sum, task| task.record.size.saturating_add(sum)))?;
    tasks.sort_by(|a, b| {
        b.record.size.cmp(&a.record.size).then(a.record.offset.cmp(&b.record.offset))
    });
    let declared = tasks.len();
    let landed = decompress_all(job, &tasks)?;
    if landed.len() != declared {
        return Err(Problem::Count { declared: declared as u64, found: landed.len() as u64 });
    }
    for (at, what) in landed {
        assembly.fill(&tasks[at].path, what);
    }
    // With a hundred thousand entries these are most of the memory, and the tree needs as much.
    drop(tasks);
    drop(records);
    assembly.finish(job.sink, &job.bounds, job.progress)
}

/// Decompresses every entry; threads take the next one as they get free, so that the order of the
/// list is the order of work. Of several failures the one earliest in the archive is told.
fn decompress_all(job: &Job<'_>, tasks: &[Task<'_>]) -> Result<Vec<(usize, What)>, Problem> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let landed = Mutex::new(Vec::with_capacity(tasks.len()));
    let failure: Mutex<Option<(u64, Problem)>> = Mutex::new(None);
    let work = || {
        let mut workspace = Workspace::new(&job.archive);
        let mut own = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(at) else { break };
            match workspace.take(job, task.record, task.execute) {
                Ok(what) => own.push((at, what)),
                Err(problem) => {
                    failed.store(true, Ordering::Relaxed);
                    let mut failure = lock(&failure);
                    if failure.as_ref().is_none_or(|(offset, _)| task.record.offset < *offset) {
                        *failure = Some((task.record.offset, problem));
                    }
                }
            }
        }
        lock(&landed).append(&mut own);
    };
    rayon::scope(|scope| {
        for _ in 1..rayon::current_num_threads().min(tasks.len()) {
            scope.spawn(|_| work());
        }
        work();
    });
    if let Some((_, problem)) = lock(&failure).take() {
        return Err(problem);
    }
    let landed = std::mem::take(&mut *lock(&landed));
    Ok(landed)
}

/// The value behind a lock, also after another thread panicked: the panic is passed on by rayon.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Fills the buffer from an offset; an end before that is a truncated archive.
pub(super) fn read_at(archive: &Arriving, buffer: &mut [u8], offset: u64) -> Result<(), Problem> {
    let mut done = 0;
    while done < buffer.len() {
        let read = archive
            .read_some_at(&mut buffer[done..], offset + done as u64)
            .map_err(|source| Problem::Read { source })?;
        if read == 0 {
            let reason = format!("it ends at byte {}", offset + done as u64);
            return Err(Problem::Truncated { entry: None, reason });
        }
        done += read;
    }
    Ok(())
}
