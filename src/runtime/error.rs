//! What can go wrong between a plan and the end of a run.

use std::path::{Path, PathBuf};

use crate::binary::{BinaryError, BinaryFormat, Machine};
use crate::disk::DiskError;
use crate::model::{Fate, Name, Platform, TreePath, Vanished};

/// The result of this room's work.
pub type Result<T, E = RuntimeError> = std::result::Result<T, E>;

/// Why an application could not be planned, run or tidied up.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RuntimeError {
    /// The application has no `program` line for the platform.
    #[error("the application \"{application}\" names no program for {platform}")]
    #[diagnostic(
        code(drystone::runtime::no_program),
        help("add to it: program \"PATH\" platform=\"{platform}\"")
    )]
    NoProgram {
        /// The application.
        application: Name,
        /// The platform.
        platform: Platform,
    },
    /// The program is not where the manifest says.
    #[error("the program \"{program}\" of \"{application}\" is not in {place}{}", near_words(.near))]
    #[diagnostic(
        code(drystone::runtime::program_not_found),
        help("correct the path in the manifest: it begins with the directory of its package")
    )]
    ProgramNotFound {
        /// The application.
        application: Name,
        /// The path as the manifest says it.
        program: TreePath,
        /// `the environment "…"` or `its files`.
        place: String,
        /// Paths that are like it, the most alike first.
        near: Vec<String>,
    },
    /// The program is a file without the execute bit.
    #[error("the program \"{program}\" of \"{application}\" is not executable")]
    #[diagnostic(code(drystone::runtime::not_executable))]
    NotExecutable {
        /// The application.
        application: Name,
        /// The path.
        program: TreePath,
        /// What to do, which depends on where the program comes from.
        #[help]
        help: &'static str,
    },
    /// The program was built for another machine.
    #[error("the program \"{program}\" is a {format} program for {machine}, not for {platform}")]
    #[diagnostic(
        code(drystone::runtime::wrong_machine),
        help("take the package's source for {platform}, or another program")
    )]
    WrongMachine {
        /// The path.
        program: TreePath,
        /// What it is.
        format: BinaryFormat,
        /// What it is for.
        machine: Machine,
        /// What it should be for.
        platform: Platform,
    },
    /// An overlay names a package that the environment does not hold.
    #[error(
        "\"{application}\" takes an overlay from \"{package}\", which is not in the environment \"{environment}\"{}",
        near_words(.near)
    )]
    #[diagnostic(
        code(drystone::runtime::overlay_package),
        help(
            "add use \"{package}\" \"VERSION\" to the environment; an optional package must be selected: drystone build --with {package}"
        )
    )]
    OverlayPackage {
        /// The application.
        application: Name,
        /// The package.
        package: Name,
        /// The environment.
        environment: Name,
        /// Packages that are called like it.
        near: Vec<String>,
    },
    /// The package declares no overlay.
    #[error("\"{application}\" takes an overlay from \"{package}\", which declares none")]
    #[diagnostic(
        code(drystone::runtime::no_overlay),
        help(
            "add to the version of the package: overlay \"FILE\" …, the files an application needs beside it"
        )
    )]
    NoOverlay {
        /// The application.
        application: Name,
        /// The package.
        package: Name,
    },
    /// A declared overlay file is not in the package.
    #[error("the package \"{package}\" does not hold its overlay file \"{file}\"{}", near_words(.near))]
    #[diagnostic(
        code(drystone::runtime::overlay_file),
        help(
            "correct the overlay line of the package; it counts from the package's own directory, after strip and rename"
        )
    )]
    OverlayFile {
        /// The package.
        package: Name,
        /// The file as declared.
        file: TreePath,
        /// Paths that are like it.
        near: Vec<String>,
    },
    /// Two overlay files of one package have one name.
    #[error("two overlay files of \"{package}\" are called \"{name}\" and differ")]
    #[diagnostic(
        code(drystone::runtime::overlay_twice),
        help("leave one of them out of the package's overlay line")
    )]
    OverlayTwice {
        /// The package.
        package: Name,
        /// The name.
        name: String,
    },
    /// An overlay's file would lie where the application has a directory, or below one of its files.
    #[error("the overlay file \"{path}\" of \"{package}\" cannot be placed: {reason}")]
    #[diagnostic(
        code(drystone::runtime::overlay_place),
        help("give the overlay another directory with into=")
    )]
    OverlayPlace {
        /// Where it should go in `app/`.
        path: TreePath,
        /// The package.
        package: Name,
        /// What is in the way.
        reason: String,
    },
    /// A binary could not be read while planning.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Binary(#[from] BinaryError),
    /// The plan's text is not one this program can read.
    #[error("the plan of the application cannot be read: {reason}")]
    #[diagnostic(
        code(drystone::runtime::plan),
        help("run drystone build: it writes the plan again")
    )]
    Plan {
        /// Why not.
        reason: String,
    },
    /// A variable's value is no template.
    #[error("the variable \"{variable}\" has the value \"{value}\": {reason}")]
    #[diagnostic(
        code(drystone::runtime::template),
        help(
            "placeholders are {{environment}}, {{package.NAME}}, {{host.NAME}}, {{app}}, {{home}} and {{tmp}}; write {{{{ and }}}} for braces"
        )
    )]
    Template {
        /// The variable.
        variable: String,
        /// Its value as written.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another program took files of the application away, changed them or holds them back.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Vanished(Box<Vanished>),
    /// A file of the application could not be placed.
    #[error("\"{path}\" cannot be placed in the runtime directory")]
    #[diagnostic(
        code(drystone::runtime::place),
        help("see the cause above; drystone store verify checks what the store holds")
    )]
    Place {
        /// Its path in `app/`.
        path: TreePath,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system refused to start the program.
    #[error("cannot start \"{}\"", path.display())]
    #[diagnostic(
        code(drystone::runtime::start),
        help(
            "see the cause above: a missing interpreter, a wrong format, or a policy of the system that forbids it"
        )
    )]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The processes of a run could not be kept together.
    #[error("cannot keep track of what \"{}\" starts", path.display())]
    #[diagnostic(
        code(drystone::runtime::group),
        help(
            "nothing was started, because what it leaves running would not end with it; \"run --detach\" starts it without that"
        )
    )]
    Group {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An argument that no program can be given.
    #[error(
        "the argument \"{argument}\" holds a zero character, with which the system ends arguments"
    )]
    #[diagnostic(code(drystone::runtime::argument), help("take it out: nothing was started"))]
    ArgumentWithNul {
        /// The argument, the character written `\0`.
        argument: String,
    },
    /// A batch file cannot be given these arguments.
    #[error("\"{}\" cannot be given these arguments as they are", path.display())]
    #[diagnostic(
        code(drystone::runtime::batch_arguments),
        help(
            "it is a batch file, and cmd would read some characters in them (line ends, quotes) as its own; start the program that the batch file starts"
        )
    )]
    BatchArguments {
        /// The batch file.
        path: PathBuf,
        /// What was refused.
        source: std::io::Error,
    },
    /// The command of `exec` is not on the environment's path.
    #[error("\"{command}\" is not on the PATH of the environment")]
    #[diagnostic(
        code(drystone::runtime::command_not_found),
        help("give its path, or add its directory: prepend \"PATH\" \"{{package.NAME}}/bin\"")
    )]
    CommandNotFound {
        /// The command.
        command: String,
    },
    /// Windows starts nothing whose path is longer.
    #[error(
        "\"{}\" has {units} UTF-16 units; Windows starts no program with more than {limit}",
        path.display()
    )]
    #[diagnostic(
        code(drystone::runtime::path_too_long),
        help(
            "if it lies in the store, put the store at a shorter path (--store or DRYSTONE_STORE) and build again; else move the program"
        )
    )]
    ProgramTooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        units: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Windows starts nothing in a directory whose path is longer.
    #[error(
        "the directory to start in, \"{}\", has {units} UTF-16 units; Windows starts no program in one with more than {limit}",
        path.display()
    )]
    #[diagnostic(
        code(drystone::runtime::directory_too_long),
        help(
            "run it from a directory with a shorter path (--project names the project from anywhere), or write cwd \"app\" in the application"
        )
    )]
    DirectoryTooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        units: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A directory to search libraries in whose path a search path cannot hold.
    #[error("\"{}\" holds \"{separator}\", which separates the directories of {variable}", path.display())]
    #[diagnostic(
        code(drystone::runtime::separator),
        help(
            "libraries would be looked for in other directories: put the store elsewhere with --store or DRYSTONE_STORE"
        )
    )]
    Separator {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        separator: char,
        /// The search path.
        variable: &'static str,
    },
    /// The named runtime directory, or the one to be removed, is in use.
    #[error("the runtime directory \"{name}\" of \"{application}\" is in use")]
    #[diagnostic(
        code(drystone::runtime::in_use),
        help(
            "end the programs that were started in it, those in the background too, then try again"
        )
    )]
    InUse {
        /// Its name or id.
        name: String,
        /// The application.
        application: Name,
    },
    /// No runtime directory has this id or name.
    #[error("there is no runtime directory \"{wanted}\"{}", near_words(.near))]
    #[diagnostic(
        code(drystone::runtime::unknown),
        help("drystone runtime list shows ids and names")
    )]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// Ids and names that are like it.
        near: Vec<String>,
    },
    /// Several applications have a runtime directory of this name.
    #[error("several runtime directories are called \"{wanted}\": {}", .ids.join(", "))]
    #[diagnostic(code(drystone::runtime::ambiguous), help("give the id instead of the name"))]
    Ambiguous {
        /// The name.
        wanted: String,
        /// Application and id of each.
        ids: Vec<String>,
    },
    /// The file system refused something.
    #[error("cannot {step} \"{}\"", path.display())]
    #[diagnostic(
        code(drystone::runtime::io),
        help(
            "see the cause above: room on the disk, permissions of the store, or another program that holds the file"
        )
    )]
    Io {
        /// What was to be done.
        step: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An interrupt came before the program was started.
    #[error("interrupted before the program was started")]
    #[diagnostic(code(drystone::runtime::interrupted), help("nothing was left behind"))]
    Interrupted,
}

fn near_words(near: &[String]) -> String {
    let quoted: Vec<String> = near.iter().map(|name| format!("\"{name}\"")).collect();
    if quoted.is_empty() { String::new() } else { format!("; near it: {}", quoted.join(", ")) }
}

impl From<DiskError> for RuntimeError {
    fn from(DiskError { step, path, source }: DiskError) -> Self {
        Self::Io { step, path, source }
    }
}

/// Gives an I/O error its step and path.
pub(super) trait Context<T> {
    fn context(self, step: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, step: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| match Fate::told_by(&source) {
            Some(fate) => RuntimeError::Vanished(Vanished::answered(fate, step, path, source)),
            None => RuntimeError::Io { step, path: path.to_owned(), source },
        })
    }
}

/// The three names most like a wanted one, the most alike first; none that is too unlike.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let last = |text: &str| text.rsplit('/').next().unwrap_or(text).to_lowercase();
    let wanted_last = last(wanted);
    let mut scored: Vec<(u32, &str)> = names
        .map(|name| {
            let whole = strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase());
            let part = strsim::jaro_winkler(&wanted_last, &last(name));
            // Thousandths, so that scores have a total order.
            (((whole.max(part)) * 1_000.0) as u32, name)
        })
        .filter(|(score, _)| *score >= 800)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
