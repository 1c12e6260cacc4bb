//! Crashes, by the hundred: drystone killed at each kind of step, the power lost between two syncs, and
//! disks that have no room for the next step.
//!
//! After each: the store is whole, the current generation is complete, the next command succeeds, and
//! nothing is left that takes room for ever. strace kills and records; where there is none nothing is
//! shown, and that is said. `DRYSTONE_CRASHES` says how many of each (40 without it),
//! `DRYSTONE_CRASH_SEED` where the dice begin.
#![cfg(target_os = "linux")]

mod aftermath;
mod cases;
mod full_disk;
mod killed;
mod power_loss;
mod recording;
mod stack;
#[path = "../support/mod.rs"]
mod support;

use std::process::{Command, Output};

use support::Sandbox;

/// `drystone` under strace.
pub fn traced(sandbox: &Sandbox, options: &[&str], arguments: &[&str]) -> Output {
    let program = sandbox.command();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq"]).args(options).arg("--").arg(program.get_program());
    strace.args(program.get_args()).args(arguments);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace.output().expect("strace starts")
}

/// Whether there is a strace that may trace.
pub fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|output| output.status.success());
    if !can {
        println!("nothing is shown: there is no strace, or it may not trace");
    }
    can
}

/// The same dice for everybody: xorshift64*.
pub struct Dice(u64);

impl Dice {
    /// Where `DRYSTONE_CRASH_SEED` says that they begin.
    pub fn thrown() -> Self {
        Self(number("DRYSTONE_CRASH_SEED", 20_260_101))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

pub fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}
