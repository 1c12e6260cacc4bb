//! The verbs: one file for each, joining the rooms for it. Nothing else joins rooms.

mod application_files;
mod archives;
mod build;
mod composing;
mod current;
mod diff;
mod error;
mod exec;
mod fetch;
mod freshness;
mod gc;
mod graph;
mod history;
mod hosts;
mod init;
mod lock;
mod origins;
mod plans;
mod project;
mod registration;
mod repair;
mod rollback;
mod run;
mod runtime;
mod selection;
mod store;
mod unpacking;
mod why;

pub use build::{BuildReport, BuildRequest, build};
pub use diff::{DiffReport, FileChange, diff};
pub use error::Error;
pub use exec::{exec, shell};
pub use fetch::{FetchReport, FetchRequest, FetchedArchive, fetch};
pub use gc::{GcReport, GcRequest, KeptFor, gc};
pub use graph::{GraphNode, GraphReport, graph};
pub use history::{GenerationLine, HistoryReport, history};
pub use init::{InitReport, init};
pub use lock::{LockReport, LockRequest, LockedEnvironment, RecordedHash, check_lock, lock};
pub use project::Settings;
pub use rollback::{RollbackReport, RollbackRequest, rollback};
pub use run::{DetachReport, RunReport, RunRequest, run, run_detached};
pub use runtime::{RuntimeListReport, RuntimeRemoveReport, runtime_list, runtime_remove};
pub use store::{
    Damage, StorePathReport, StoreStatReport, StoreVerifyReport, store_adopt, store_init,
    store_stat, store_verify,
};
pub use why::{WhyReport, why};

pub use crate::disk::tell_of_waits;

/// What every verb returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
