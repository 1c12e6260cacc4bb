//! Why an environment does not resolve, told with who asks for what and what there is.

use std::fmt;

use crate::model::{Name, Platform, Range, Version};

/// Who asks for something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asker {
    /// The environment, in a `use` or `host`.
    Environment(Name),
    /// A package, in a `requires`.
    Package(Name, Version),
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "environment \"{name}\""),
            Self::Package(name, version) => write!(f, "package \"{name}\" {version}"),
        }
    }
}

/// One who asks, and the versions that will do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Who.
    pub by: Asker,
    /// For what: the name itself, or what it provides.
    pub name: Name,
    /// For which versions.
    pub range: Range,
}

fn asked_lines(asked: &[Asked]) -> String {
    let line =
        |asked: &Asked| format!("\n  {} asks for \"{}\" {}", asked.by, asked.name, asked.range);
    asked.iter().map(line).collect()
}

fn joined<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Why an environment does not resolve.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ResolveError {
    /// Nothing has this name.
    #[error("{by} asks for \"{name}\", and {missing}")]
    #[diagnostic(code(drystone::resolve::unknown_name))]
    UnknownName {
        /// The name.
        name: Name,
        /// Who asks.
        by: Box<Asker>,
        /// What was looked for and is not there, in words.
        missing: &'static str,
        /// The nearest name, or where names come from.
        #[help]
        help: String,
    },
    /// A host component that no catalogue describes.
    #[error("environment \"{environment}\" declares host \"{name}\", which no catalogue describes")]
    #[diagnostic(code(drystone::resolve::unknown_host))]
    UnknownHost {
        /// The host component.
        name: Name,
        /// Who declares it.
        environment: Name,
        /// The nearest name, or how to describe one.
        #[help]
        help: String,
    },
    /// A requirement that only a host component meets which the environment does not declare.
    #[error("{by} requires \"{name}\" {range}, which only the machine can supply")]
    #[diagnostic(code(drystone::resolve::undeclared_host))]
    UndeclaredHost {
        /// What is required.
        name: Name,
        /// At which versions.
        range: Range,
        /// Who requires it.
        by: Box<Asker>,
        /// What to declare.
        #[help]
        help: String,
    },
    /// No version lies in the range.
    #[error("{by} asks for \"{name}\" {range}, and there is no such version; there are: {}", joined(.versions))]
    #[diagnostic(
        code(drystone::resolve::no_version),
        help("ask for one of these, or describe that version in the manifest or a catalogue")
    )]
    NoVersion {
        /// The package.
        name: Name,
        /// The versions asked for.
        range: Range,
        /// Who asks.
        by: Box<Asker>,
        /// The versions there are, sorted.
        versions: Vec<Version>,
    },
    /// Packages provide it, at other versions.
    #[error("{by} requires \"{name}\" {range}, and what provides it does so at other versions: {}", joined(.provided))]
    #[diagnostic(
        code(drystone::resolve::not_provided),
        help("use a package that provides one of these versions, or widen the requirement")
    )]
    NotProvided {
        /// What is required.
        name: Name,
        /// At which versions.
        range: Range,
        /// Who requires it.
        by: Box<Asker>,
        /// Who provides it at which version.
        provided: Vec<String>,
    },
    /// Versions that exist, but none that all take.
    #[error("no version of \"{name}\" suits all who ask for it; there are: {}{}", joined(.versions), asked_lines(.asked))]
    #[diagnostic(
        code(drystone::resolve::conflict),
        help("change one of these so that one version suits all")
    )]
    Conflict {
        /// The package.
        name: Name,
        /// Who asks for which versions.
        asked: Vec<Asked>,
        /// The versions there are, sorted.
        versions: Vec<Version>,
    },
    /// What is asked of a host component cannot hold at once.
    #[error("no version of host \"{name}\" suits all who ask for it{}", asked_lines(.asked))]
    #[diagnostic(
        code(drystone::resolve::host_conflict),
        help("change the `host` line, or use packages that require the same versions")
    )]
    HostConflict {
        /// The host component.
        name: Name,
        /// Who asks for which versions.
        asked: Vec<Asked>,
    },
    /// The version has no source for the platform.
    #[error("package \"{name}\" {version} has no source for {platform}; it has: {}", if .has.is_empty() { "none".to_owned() } else { joined(.has) })]
    #[diagnostic(
        code(drystone::resolve::no_source),
        help(
            "use it with platform=\"…\", take {platform} from the environment, or describe a source"
        )
    )]
    NoSource {
        /// The package.
        name: Name,
        /// Its version.
        version: Box<Version>,
        /// The platform that is resolved for.
        platform: Platform,
        /// The platforms it has sources for.
        has: Vec<Platform>,
    },
    /// A package and a host component of one name.
    #[error(
        "environment \"{environment}\" asks for \"{name}\" both as a package and as a host component"
    )]
    #[diagnostic(code(drystone::resolve::two_kinds), help("keep the `use` or the `host` line"))]
    TwoKinds {
        /// The name.
        name: Name,
        /// The environment.
        environment: Name,
    },
    /// Packages that need each other.
    #[error("packages need each other in a cycle: {}", .cycle.iter().map(Name::as_str).collect::<Vec<_>>().join(" → "))]
    #[diagnostic(
        code(drystone::resolve::cycle),
        help("take one `requires` of the cycle out of its package's description")
    )]
    Cycle {
        /// The whole cycle in order; the first name again at its end.
        cycle: Vec<Name>,
    },
    /// The search was given up.
    #[error("the versions of environment \"{environment}\" were not found in {steps} steps")]
    #[diagnostic(
        code(drystone::resolve::gave_up),
        help("narrow the ranges: exact versions in `use` lines make the search short")
    )]
    GaveUp {
        /// The environment.
        environment: Name,
        /// How many.
        steps: u32,
        /// The complaint that the search came furthest with.
        #[source]
        furthest: Option<Box<ResolveError>>,
    },
}
