//! drystone builds reproducible environments from one KDL file.
//!
//! One folder is one room. The line of the rooms, each of which takes the output of those before:
//! manifest → catalogue → resolve → lock → fetch → unpack → store → compose → generation → runtime;
//! `model` below them all, `pipeline` joins them, `cli` and `ui` speak with people.

pub mod binary;
pub mod catalogue;
pub mod cli;
pub mod compose;
pub mod disk;
pub mod fetch;
pub mod generation;
pub mod host;
pub mod lock;
pub mod manifest;
pub mod model;
pub mod pipeline;
pub mod resolve;
pub mod runtime;
pub mod store;
pub mod ui;
pub mod unpack;
