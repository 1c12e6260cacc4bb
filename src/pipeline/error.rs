//! What can go wrong in a verb: an error of a room, passed on as it is, or one of the joining.

use std::path::PathBuf;

use miette::Diagnostic;

use crate::catalogue::CatalogueError;
use crate::compose::ComposeError;
use crate::disk;
use crate::fetch::FetchError;
use crate::generation::GenerationError;
use crate::lock::LockError;
use crate::manifest::ManifestError;
use crate::model::{Name, Sha256Digest, TreeId, Vanished};
use crate::resolve::ResolveError;
use crate::runtime::RuntimeError;
use crate::store::StoreError;
use crate::unpack::UnpackError;

/// An error of any verb.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum Error {
    /// Of the manifest room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifest(#[from] ManifestError),
    /// Of the catalogue room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Of the resolve room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Resolve(#[from] ResolveError),
    /// Of the lock room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Lock(#[from] LockError),
    /// Of the fetch room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fetch(#[from] FetchError),
    /// Of the unpack room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unpack(#[from] UnpackError),
    /// Of the store room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// Of the compose room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Compose(#[from] ComposeError),
    /// Of the generation room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Generation(#[from] GenerationError),
    /// Of the runtime room.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Runtime(#[from] RuntimeError),
    /// Another program took files away, changed them or holds them back.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Vanished(Box<Vanished>),
    /// Several archives could not be brought.
    #[error("{} archives could not be brought", errors.len())]
    #[diagnostic(
        code(drystone::fetch::several),
        help(
            "each is explained below; what did come is kept, so trying again only fetches the rest"
        )
    )]
    Several {
        /// Why, one for each.
        #[related]
        errors: Vec<Self>,
    },
    /// The answer could not be written.
    #[error("the answer could not be written to stdout")]
    #[diagnostic(
        code(drystone::answer),
        help("check where the output goes: a full disk or a closed terminal")
    )]
    Answer(#[source] std::io::Error),
    /// No manifest from here upwards.
    #[error("there is no env.kdl in {}{}", directory.display(), if *upwards { " or above it" } else { "" })]
    #[diagnostic(
        code(drystone::project::no_manifest),
        help("run \"drystone init\" to write one here, or name the directory with --project")
    )]
    NoManifest {
        /// Where the search began.
        directory: PathBuf,
        /// Whether it went on upwards.
        upwards: bool,
    },
    /// The directory of `--project` is none.
    #[error("there is no directory {}", path.display())]
    #[diagnostic(
        code(drystone::project::no_directory),
        help("--project names the directory of env.kdl; \"drystone init\" makes both")
    )]
    NoProject {
        /// What was named.
        path: PathBuf,
    },
    /// A manifest is there already.
    #[error("{} is there already", path.display())]
    #[diagnostic(
        code(drystone::init::exists),
        help("edit it, or run \"drystone init\" in an empty directory")
    )]
    ManifestExists {
        /// The manifest.
        path: PathBuf,
    },
    /// A file or directory of the project cannot be used.
    #[error("{} cannot be used", path.display())]
    #[diagnostic(
        code(drystone::project::directory),
        help(
            "{}",
            disk::advice(source, "check that it exists and that you may read and write it")
        )
    )]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The manifest describes no environment.
    #[error("{} describes no environment", path.display())]
    #[diagnostic(
        code(drystone::project::no_environment),
        help(
            "add one: environment \"name\" {{ platform \"x86_64-windows\"; use \"package\" \"1.0\" }}"
        )
    )]
    NoEnvironment {
        /// The manifest.
        path: PathBuf,
    },
    /// The call must say which environment it is about.
    #[error("env.kdl describes several environments: {}", join(names))]
    #[diagnostic(code(drystone::project::several), help("say which one with --environment NAME"))]
    SeveralEnvironments {
        /// Their names.
        names: Vec<Name>,
    },
    /// There is no such environment.
    #[error("there is no environment \"{name}\"")]
    #[diagnostic(code(drystone::project::unknown_environment))]
    UnknownEnvironment {
        /// What was asked for.
        name: String,
        /// What there is.
        #[help]
        help: String,
    },
    /// There is no such application.
    #[error("there is no application \"{name}\"")]
    #[diagnostic(code(drystone::project::unknown_application))]
    UnknownApplication {
        /// What was asked for.
        name: String,
        /// What there is.
        #[help]
        help: String,
    },
    /// The environment is not for that platform.
    #[error("environment \"{environment}\" is not for {asked}")]
    #[diagnostic(
        code(drystone::project::platform),
        help(
            "it is for: {declared}; choose one with --platform, or add a platform line to env.kdl"
        )
    )]
    PlatformNotDeclared {
        /// The environment.
        environment: Name,
        /// The platform asked for.
        asked: String,
        /// Those it is for.
        declared: String,
    },
    /// There is no lock.
    #[error("environment \"{environment}\" has no lock: {path} is missing")]
    #[diagnostic(code(drystone::lock::missing), help("run \"drystone lock\" and commit the file"))]
    LockMissing {
        /// The environment.
        environment: Name,
        /// Where it would be.
        path: String,
    },
    /// The lock is not what the manifest asks for.
    #[error("{path} is not what env.kdl asks for:\n  {}", how.join("\n  "))]
    #[diagnostic(
        code(drystone::lock::disagrees),
        help("run \"drystone lock\" and commit the file")
    )]
    LockDisagrees {
        /// The lock.
        path: String,
        /// How they disagree, a line each.
        how: Vec<String>,
    },
    /// The application is of another environment than the one asked for.
    #[error("application \"{application}\" runs in environment \"{its}\", not in \"{asked}\"")]
    #[diagnostic(
        code(drystone::project::other_environment),
        help("leave --environment out: the application says where it runs")
    )]
    OtherEnvironment {
        /// The application.
        application: Name,
        /// The environment it runs in.
        its: Name,
        /// The environment asked for.
        asked: Name,
    },
    /// Adopting would throw away what this user built.
    #[error("{} is this project's store already", path.display())]
    #[diagnostic(
        code(drystone::store::adopted_already),
        help("there is nothing to adopt: \"drystone store verify\" reads all of it again")
    )]
    AdoptedAlready {
        /// The store.
        path: PathBuf,
    },
    /// A package asked for with `--with` is not an optional one of the lock.
    #[error("\"{package}\" is no optional package of environment \"{environment}\"")]
    #[diagnostic(code(drystone::build::not_optional))]
    NotOptional {
        /// What was asked for.
        package: Name,
        /// The environment.
        environment: Name,
        /// What there is.
        #[help]
        help: String,
    },
    /// No archive of the lock has the hash of a file brought by hand.
    #[error("{} is none of the archives of the lock: it hashes to {found}", path.display())]
    #[diagnostic(code(drystone::fetch::unknown_file))]
    UnknownFile {
        /// The file.
        path: PathBuf,
        /// Its hash.
        found: Sha256Digest,
        /// What the lock asks for.
        #[help]
        help: String,
    },
    /// Unpacking for a repair gave another tree than it did before.
    #[error("archive {archive} unpacks to {found}, but did to {expected} before")]
    #[diagnostic(
        code(drystone::store::repaired_otherwise),
        help("nothing was replaced; report this with the output of \"drystone --version\"")
    )]
    RepairedOtherwise {
        /// The archive.
        archive: Sha256Digest,
        /// What came.
        found: TreeId,
        /// What the store says.
        expected: TreeId,
    },
    /// Unpacking gave another tree than the lock records.
    #[error("package \"{package}\" unpacks to {found}, but the lock records {expected}")]
    #[diagnostic(
        code(drystone::build::contents),
        help(
            "the archive is the right one, so unpacking differs: report this with the output of \"drystone --version\""
        )
    )]
    Contents {
        /// The package.
        package: Name,
        /// What came.
        found: TreeId,
        /// What the lock says.
        expected: TreeId,
    },
    /// The environment was never built.
    #[error("environment \"{environment}\" has no generation")]
    #[diagnostic(code(drystone::generation::none), help("run \"drystone build\""))]
    NotBuilt {
        /// The environment.
        environment: Name,
    },
    /// With `--locked`: the current generation is not what the manifest and lock say.
    #[error("{what}")]
    #[diagnostic(
        code(drystone::run::not_current),
        help("run \"drystone build\", or leave --locked out")
    )]
    NotCurrent {
        /// How they differ.
        what: String,
    },
    /// A generation for another platform cannot run here.
    #[error(
        "generation {generation} of \"{environment}\" is for {platform}, which this machine is not"
    )]
    #[diagnostic(
        code(drystone::run::foreign),
        help(
            "\"drystone build\" builds it for this machine, \"drystone rollback\" goes back; a machine of that platform builds it from the same lock"
        )
    )]
    Foreign {
        /// The environment.
        environment: Name,
        /// The generation.
        generation: u64,
        /// Its platform.
        platform: String,
    },
    /// The generation has no plan of the application.
    #[error("generation {generation} has no application \"{application}\"")]
    #[diagnostic(
        code(drystone::run::not_in_generation),
        help(
            "run \"drystone build\" to take up what env.kdl says now; an application needs a program line for this platform and the optional packages of its overlays (--with)"
        )
    )]
    NotInGeneration {
        /// The application.
        application: Name,
        /// The current generation.
        generation: u64,
    },
    /// The directory of a generation is gone from the store.
    #[error("the directory of generation {generation} of \"{environment}\" is gone: {}", path.display())]
    #[diagnostic(
        code(drystone::generation::directory_gone),
        help(
            "its tree is gone from the store as well: \"drystone build\" makes another generation, \"drystone store verify\" says what else is missing"
        )
    )]
    RealisedMissing {
        /// The environment.
        environment: Name,
        /// The generation.
        generation: u64,
        /// Where it was.
        path: PathBuf,
    },
    /// A generation's tree is gone from the store.
    #[error("the tree {tree} of generation {generation} is gone from the store")]
    #[diagnostic(
        code(drystone::generation::tree_gone),
        help(
            "\"drystone store verify\" says what else is missing; \"drystone build\" makes the current one again"
        )
    )]
    TreeMissing {
        /// The generation.
        generation: u64,
        /// Its tree.
        tree: TreeId,
    },
    /// There is nothing to compare with.
    #[error("generation {generation} of \"{environment}\" has no parent to compare with")]
    #[diagnostic(
        code(drystone::diff::no_parent),
        help("name two generations: drystone diff 1 2; \"drystone history\" lists them")
    )]
    NoParent {
        /// The environment.
        environment: Name,
        /// The generation.
        generation: u64,
    },
    /// An application's own files cannot be imported.
    #[error("the files of application \"{application}\" cannot be imported: {}: {reason}", path.display())]
    #[diagnostic(
        code(drystone::build::files),
        help(
            "\"files\" names a directory of regular files whose names are valid Unicode; links may lead only to other files in it"
        )
    )]
    ApplicationFiles {
        /// The application.
        application: Name,
        /// The directory or the file in it.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `--host` names no host component of the environment.
    #[error("\"{component}\" is no host component of the environment")]
    #[diagnostic(code(drystone::build::unknown_host))]
    UnknownHost {
        /// What was named.
        component: Name,
        /// What there is.
        #[help]
        help: String,
    },
    /// A path is neither a package nor a file of the environment.
    #[error(
        "\"{what}\" is neither a package, a host component nor a file of environment \"{environment}\""
    )]
    #[diagnostic(code(drystone::why::unknown))]
    NothingKnown {
        /// What was asked about.
        what: String,
        /// The environment.
        environment: Name,
        /// What is near.
        #[help]
        help: String,
    },
}

impl Error {
    /// One error as it is, several as a list of them.
    pub(super) fn one_or_several(mut errors: Vec<Self>) -> Self {
        match errors.len() {
            1 => errors.remove(0),
            _ => Self::Several { errors },
        }
    }
}

fn join(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}
