//! Every command that changes a store, in a state that gives it something to do.

use std::process::Output;

use crate::stack::{
    built, damaged, described, edited, greeting, locked, twice_built, with_a_runtime, with_waste,
};
use crate::support::{Sandbox, text};

/// A command that changes a store, and the state that gives it something to do.
pub struct Case {
    pub name: &'static str,
    pub arguments: &'static [&'static str],
    prepare: fn(&Sandbox),
}

impl Case {
    /// A sandbox in the state that it needs.
    pub fn ready(&self, sandbox: Sandbox) -> Sandbox {
        greeting(&sandbox);
        (self.prepare)(&sandbox);
        sandbox
    }

    /// Whether its state is one with damages.
    pub fn is_damaged(&self) -> bool {
        self.name == "repair"
    }

    /// Runs it once more after it was interrupted.
    pub fn again(&self, sandbox: &Sandbox, moment: &str) {
        let output = sandbox.output(self.arguments);
        let is_well = output.status.success() || self.is_done(&output);
        assert!(is_well, "{moment}, then again: {}", text(&output.stderr));
    }

    /// Whether it says that it was done before: what was done already cannot be done again.
    pub fn is_done(&self, output: &Output) -> bool {
        let said = text(&output.stderr);
        match self.name {
            "runtime remove" => said.contains("mine"),
            "rollback" => said.contains("drystone::generation::"),
            _ => false,
        }
    }
}

const fn case(
    name: &'static str,
    arguments: &'static [&'static str],
    prepare: fn(&Sandbox),
) -> Case {
    Case { name, arguments, prepare }
}

pub const CASES: [Case; 8] = [
    case("lock", &["lock"], described),
    case("first build", &["build"], locked),
    case("build", &["build"], edited),
    case("rollback", &["rollback"], twice_built),
    case("gc", &["gc", "--older-than", "0s"], with_waste),
    case("run", &["run", "hello"], built),
    case("runtime remove", &["runtime", "remove", "mine"], with_a_runtime),
    case("repair", &["store", "verify", "--repair"], damaged),
];
