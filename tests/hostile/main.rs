//! Hostile archives, given to the whole program: each is made here, put beside a manifest with its
//! SHA-256, locked and built.
//!
//! Each is refused by a stable code and by name, or gives exactly the right files. A refusal leaves the
//! store as it was; neither outcome leaves staging behind, or changes anything outside the store.
//! `DRYSTONE_HOSTILE=full` also unpacks an honest entry of more than 4 GiB, and an archive of more than
//! two million entries.
#![cfg(target_os = "linux")]

mod bombs;
mod borders;
#[allow(dead_code)]
#[path = "../../src/unpack/tests/bytes.rs"]
mod bytes;
mod case;
mod cuts;
mod ground;
mod headers;
mod kinds;
mod lies;
mod links;
mod machines;
mod names;
mod parts;
#[path = "../support/mod.rs"]
mod support;
