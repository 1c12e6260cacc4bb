//! The manifest: `env.kdl`, what a person writes, decoded into typed models with spans.
//!
//! This room reads KDL and knows nothing of catalogues, the network or the store. Catalogue files
//! speak the same words, so their decoder is here too.

mod application;
mod environment;
mod package;

pub use application::{Application, Check, Files, Launch, Overlay, Program, WorkingDirectory};
pub use environment::{
    CatalogueReference, Environment, HostUse, Override, Use, Variable, VariableAction,
};
pub use package::{
    HostDescription, HostRoot, Package, PackageVersion, Placement, Provided, Requirement, Source,
    SourceUrl,
};
