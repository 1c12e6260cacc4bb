//! What can go wrong in the store: one variant for each thing a person can do something about.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::model::{BlobId, Fate, TreeId, Vanished};

/// An error of the store.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[allow(missing_docs)] // The message of each variant says what its fields are.
pub enum StoreError {
    /// The disk, or its table of files, is full.
    #[error("there is no room left to {step} {}", path.display())]
    #[diagnostic(
        code(drystone::store::disk_full),
        help(
            "nothing in the store was harmed: make room (drystone gc removes what no generation needs) and run the command again"
        )
    )]
    DiskFull { step: &'static str, path: PathBuf, source: io::Error },

    /// The file system can only be read.
    #[error("cannot {step} {}: the file system is read-only", path.display())]
    #[diagnostic(
        code(drystone::store::read_only),
        help("choose another store with --store or DRYSTONE_STORE, or mount this one for writing")
    )]
    ReadOnly { step: &'static str, path: PathBuf, source: io::Error },

    /// The operating system says that this user may not.
    #[error("no permission to {step} {}", path.display())]
    #[diagnostic(
        code(drystone::store::permission),
        help(
            "the store must belong to the user who runs drystone; choose another with --store or DRYSTONE_STORE"
        )
    )]
    Permission { step: &'static str, path: PathBuf, source: io::Error },

    /// Another program holds the file open.
    #[error("cannot {step} {}: another program holds it open, most likely a virus scanner or a running program", path.display())]
    #[diagnostic(
        code(drystone::store::held_open),
        help(
            "close the program that uses it, or wait for the scan to end, and run the command again"
        )
    )]
    HeldOpen { step: &'static str, path: PathBuf, source: io::Error },

    /// Any other failure of the operating system.
    #[error("cannot {step} {}", path.display())]
    #[diagnostic(
        code(drystone::store::io),
        help("the cause below comes from the operating system; nothing in the store was harmed")
    )]
    Io { step: &'static str, path: PathBuf, source: io::Error },

    /// The directory is there and holds other things.
    #[error("{} is not a store: it holds \"{found}\"", path.display())]
    #[diagnostic(
        code(drystone::store::not_a_store),
        help("name an empty directory, or one that does not exist yet")
    )]
    NotAStore { path: PathBuf, found: String },

    /// The directory looks like a store, and `format` is gone.
    #[error("{} holds a store whose file \"format\" is missing", path.display())]
    #[diagnostic(
        code(drystone::store::format_missing),
        help(
            "was only a part of it copied? drystone store adopt verifies everything and makes it a store again"
        )
    )]
    FormatMissing { path: PathBuf },

    /// `format` does not say what it should.
    #[error("{} is damaged: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::format_damaged),
        help("drystone store adopt verifies everything in the store and writes the file anew")
    )]
    FormatDamaged { path: PathBuf, reason: String },

    /// The store was made by a drystone that this one does not understand.
    #[error(
        "the store {} has layout {layout} and can be {what} from layout {minimum} on; this drystone knows layout {known}", path.display()
    )]
    #[diagnostic(
        code(drystone::store::newer),
        help(
            "nothing was touched: update drystone, or choose another store with --store or DRYSTONE_STORE"
        )
    )]
    Newer { path: PathBuf, layout: u32, minimum: u32, known: u32, what: &'static str },

    /// The store belongs to somebody else.
    #[error("the store {} belongs to {owner} and you are {user}: it can be read, not written", path.display())]
    #[diagnostic(
        code(drystone::store::other_owner),
        help(
            "each user has a store of their own: leave out --store and DRYSTONE_STORE, or name a directory of yours"
        )
    )]
    OtherOwner { path: PathBuf, owner: String, user: String },

    /// The store's files can't be written, for the reason given when it was opened.
    #[error("the store {} can be read, not written: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::reading_only),
        help("choose another store with --store or DRYSTONE_STORE")
    )]
    ReadingOnly { path: PathBuf, reason: String },

    /// The file system lacks what a store needs.
    #[error("{} lies on {kind}, where a store is not safe: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::filesystem),
        help(
            "put the store on a local disk with --store or DRYSTONE_STORE, or take the risk with --unsafe-filesystem"
        )
    )]
    Filesystem { path: PathBuf, kind: &'static str, reason: &'static str },

    /// Another program took files away, changed them or holds them back.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Vanished(Box<Vanished>),

    /// A blob that a tree names is not there.
    #[error("the store has lost the blob {blob} of \"{name}\"")]
    #[diagnostic(
        code(drystone::store::blob_missing),
        help(
            "\"drystone store verify\" says what else is missing; \"drystone build\" brings it again"
        )
    )]
    BlobMissing { blob: BlobId, name: String },

    /// A blob is not what its name says.
    #[error("the file {} of the store is damaged: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::blob_damaged),
        help(
            "\"drystone store verify\" says what else is damaged, with --repair it brings it back"
        )
    )]
    BlobDamaged { path: PathBuf, reason: String },

    /// A tree is not there.
    #[error("the store does not have the tree {tree}")]
    #[diagnostic(code(drystone::store::tree_missing), help("drystone build makes it"))]
    TreeMissing { tree: TreeId },

    /// A tree's file does not hold its text.
    #[error("the tree {} is damaged: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::tree_damaged),
        help(
            "\"drystone store verify --repair\" removes it, and \"drystone build\" makes it again"
        )
    )]
    TreeDamaged { path: PathBuf, reason: String },

    /// What a generation or a runtime directory needs is unknown.
    #[error("{} cannot be read, so nobody knows what it needs: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::roots_unreadable),
        help(
            "nothing was removed. Remove the directory it lies in if it is not needed, or restore the file, and run drystone gc again"
        )
    )]
    Roots { path: PathBuf, reason: String },

    /// A tree with links or execute bits, on Windows.
    #[error("\"{name}\" holds {what}, which Windows does not have: it cannot be realised here")]
    #[diagnostic(
        code(drystone::store::foreign),
        help("an environment for Linux can be locked and built on Windows; realise it on Linux")
    )]
    Foreign { name: String, what: &'static str },

    /// A name that cannot be a file name.
    #[error("{text:?} cannot be a name in the store")]
    #[diagnostic(
        code(drystone::store::name),
        help("this is a fault of drystone: please report it")
    )]
    Name { text: String },

    /// No per-user store, because the user's directories are unknown.
    #[error("the user's data directory is unknown: {reason}")]
    #[diagnostic(
        code(drystone::store::no_home),
        help("set HOME (LOCALAPPDATA on Windows), or name a store with --store or DRYSTONE_STORE")
    )]
    NoHome { reason: String },

    /// A file of the program's own, outside the store, is damaged.
    #[error("{} is damaged: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::registration),
        help("move the file away and run the command again; drystone makes it anew")
    )]
    Registration { path: PathBuf, reason: String },

    /// Something that may have come with a project, and would have drystone write elsewhere.
    #[error("{} is a link, and what drystone writes there would land wherever it leads", path.display())]
    #[diagnostic(
        code(drystone::store::linked),
        help(
            "if it came with the project, remove it; a store that lies elsewhere is named with --store"
        )
    )]
    Linked { path: PathBuf },

    /// What is to be adopted could not be read as a whole.
    #[error("the store is not adopted, because {} was not verified: {reason}", path.display())]
    #[diagnostic(
        code(drystone::store::not_verified),
        help("close the program that uses it, or wait for the scan to end, and adopt it again")
    )]
    NotVerified { path: PathBuf, reason: String },

    /// A store that was to be adopted is not whole.
    #[error("{} is not adopted: verifying it found {damages} damages, the first: {first}", path.display())]
    #[diagnostic(
        code(drystone::store::adopt),
        help("remove the damaged files, or copy the store again, and adopt it then")
    )]
    NotAdopted { path: PathBuf, damages: usize, first: String },
}

/// The result of what the store does.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// The error of a step on a path, told apart by what a person can do about it.
    pub(super) fn io(step: &'static str, path: &Path, source: io::Error) -> Self {
        if let Some(fate) = Fate::told_by(&source) {
            return Self::Vanished(Vanished::answered(fate, step, path, source));
        }
        let path = path.to_path_buf();
        if disk::is_held_open(&source) {
            return Self::HeldOpen { step, path, source };
        }
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { step, path, source }
            }
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { step, path, source },
            io::ErrorKind::PermissionDenied => Self::Permission { step, path, source },
            _ => Self::Io { step, path, source },
        }
    }
}

impl From<disk::DiskError> for StoreError {
    fn from(disk::DiskError { step, path, source }: disk::DiskError) -> Self {
        Self::io(step, &path, source)
    }
}

impl StoreError {
    /// The error of reading a content of the store, which this user may read.
    pub(super) fn reading(step: &'static str, path: &Path, source: io::Error) -> Self {
        match Fate::told_by_reading(&source) {
            Some(fate) => Self::Vanished(Vanished::answered(fate, step, path, source)),
            None => Self::io(step, path, source),
        }
    }
}

/// Puts the step and the path to an I/O error.
pub(super) trait At<T> {
    /// `step` completes "cannot … <path>".
    fn at(self, step: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| StoreError::io(step, path, source))
    }
}

/// Makes an error of the store one of I/O, for the traits of other rooms that speak of nothing else.
pub(super) fn into_io(error: StoreError) -> io::Error {
    io::Error::other(error)
}
