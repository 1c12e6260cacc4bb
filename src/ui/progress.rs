//! Progress bars on stderr: only on a terminal, only for what takes longer than half a second.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::harmless::harmless;
use super::terminal::takes_sequences;
use crate::model::{NoProgress, Progress, Task};

const PATIENCE: Duration = Duration::from_millis(500);

/// Draws bars on a terminal, and says notes as lines anywhere.
#[derive(Clone)]
pub struct TerminalProgress {
    bars: Option<MultiProgress>,
    quiet: bool,
}

impl TerminalProgress {
    /// Draws bars on stderr if it is a terminal that can and a person reads the answer; says notes unless
    /// `quiet` is asked for.
    pub fn new(quiet: bool, json: bool) -> Self {
        let draws = !quiet && !json && takes_sequences();
        Self { bars: draws.then(MultiProgress::new), quiet }
    }
}

impl Progress for TerminalProgress {
    fn start(&self, label: &str, length: Option<u64>) -> Box<dyn Task> {
        let Some(bars) = &self.bars else { return Box::new(NoProgress) };
        Box::new(Bar {
            bars: bars.clone(),
            label: harmless(label).into_owned(),
            started: Instant::now(),
            done: AtomicU64::new(0),
            length: Mutex::new(length),
            shown: OnceLock::new(),
        })
    }

    fn note(&self, line: &str) {
        if self.quiet {
            return;
        }
        let say = || {
            // A closed stderr leaves nobody to tell.
            let _closed = writeln!(std::io::stderr(), "{}", harmless(line));
        };
        match &self.bars {
            Some(bars) => bars.suspend(say),
            None => say(),
        }
    }
}

struct Bar {
    bars: MultiProgress,
    label: String,
    started: Instant,
    done: AtomicU64,
    length: Mutex<Option<u64>>,
    shown: OnceLock<ProgressBar>,
}

impl Bar {
    fn known_length(&self) -> Option<u64> {
        *self.length.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn show(&self) -> ProgressBar {
        let length = self.known_length();
        let template = match length {
            Some(_) => {
                "{msg:32!} [{bar:30}] {decimal_bytes:>11} of {decimal_total_bytes:<11} {eta}"
            }
            None => "{msg:32!} {spinner} {decimal_bytes:>11}",
        };
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        let bar = match length {
            Some(length) => ProgressBar::new(length),
            None => ProgressBar::no_length(),
        };
        let bar = self.bars.add(bar.with_style(style).with_message(self.label.clone()));
        bar.set_position(self.done.load(Ordering::Relaxed));
        bar
    }
}

impl Task for Bar {
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.shown.get().is_some() || self.started.elapsed() >= PATIENCE {
            self.shown.get_or_init(|| self.show()).set_position(done);
        }
    }

    fn set_length(&self, length: u64) {
        *self.length.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(length);
        if let Some(bar) = self.shown.get() {
            bar.set_length(length);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}
