//! The words every room speaks: digests, names, versions, platforms, paths inside trees, trees.
//!
//! Values are parsed once, at the border, and are right from then on. This room imports no other.

mod compared_name;
mod digest;
mod name;
mod nearest;
mod platform;
mod progress;
mod range;
mod tree;
mod tree_path;
mod unpack_options;
mod uppercase;
mod vanished;
mod version;
mod windows_name;

pub use compared_name::ComparedName;
pub use digest::{
    ApplicationId, BlobId, DigestError, FieldHasher, InputsDigest, NodeId, RootId, SettingsId,
    Sha256Digest, TreeId, UnpackKey,
};
pub use name::{Name, NameError};
pub use nearest::nearest;
pub use platform::{Family, Platform, PlatformError};
pub use progress::{NoProgress, Progress, Task};
pub use range::{Range, RangeError};
pub use tree::{Difference, Entry, Kind, Tree, TreeBuilder, TreeError};
pub use tree_path::{TreePath, TreePathError};
pub use unpack_options::{ArchiveFormat, Glob, Rename, UNPACK_RULES, UnpackOptions};
pub use vanished::{Fate, Origin, OriginArchive, Vanished, VanishedFile};
pub use version::{Version, VersionError};
pub use windows_name::{FoldedPath, WindowsNameError, check_windows_path, is_device_name};
