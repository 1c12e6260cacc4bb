//! The store from outside: damage, gc, several processes, kill -9, opening what is no store.

mod damage;
mod gc;
mod opening;
mod processes;
mod properties;
mod scratch;
#[path = "../support/unprotect.rs"]
mod unprotect;
