//! The manifest: `env.kdl`, what a person writes, decoded into typed models with spans.
//!
//! This room reads KDL and knows nothing of catalogues, the network or the store. Catalogue files
//! speak the same words, so their decoder is here too.
//!
//! A file goes through `text` (encoding, size), `scan` (nesting, KDL 1, quotes), `syntax` (the
//! parser), then `document`, which hands each top-level node to its `decode_…` file. These take a
//! node apart with `node`, which notes a `complaint` for all that is missing, wrong or unknown.

mod application;
mod complaint;
mod decode_application;
mod decode_environment;
mod decode_package;
mod decode_source;
mod document;
mod environment;
mod error;
mod inputs;
mod load;
mod location;
mod node;
mod node_version;
mod package;
mod scan;
mod starter;
mod syntax;
mod text;
mod variable;

#[cfg(test)]
mod tests;

pub use application::{Application, Check, Files, Launch, Overlay, Program, WorkingDirectory};
pub use complaint::Complaint;
pub use environment::{
    CatalogueReference, Environment, HostUse, Override, Use, Variable, VariableAction,
};
pub use error::ManifestError;
pub use inputs::{InputFile, inputs_digest};
pub use load::{CatalogueFile, Manifest, decode_catalogue, load, load_catalogue};
pub use location::masked;
pub use package::{
    HostDescription, HostRoot, Package, PackageVersion, Placement, Provided, Requirement, Source,
    SourceUrl,
};
pub use starter::starter;
