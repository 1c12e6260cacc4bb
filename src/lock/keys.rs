//! The digests of a lock: node ids, settings, applications, roots, seals.
//!
//! Which fields, in which order, is written in `docs/format.md`; a change there or here is a new
//! context. URLs are in none of the ids; seals cover the text of a lock, URLs among it.

use super::model::{LockedHost, LockedPackage, LockedPlatform};
use crate::manifest::{
    Application, Environment, Program, Provided, Variable, VariableAction, WorkingDirectory,
};
use crate::model::{
    ApplicationId, FieldHasher, Name, NodeId, Platform, Range, RootId, SettingsId, TreePath,
    UnpackKey,
};

struct NodeFields<'a> {
    kind: &'a str,
    name: &'a Name,
    version: String,
    unpack_key: Option<&'a UnpackKey>,
    requires: Vec<(&'a Name, &'a Range)>,
    provides: &'a [Provided],
    overlay: &'a [TreePath],
    placement: Option<&'a str>,
    depends: &'a [NodeId],
}

fn node_id(platform: Platform, node: &NodeFields<'_>) -> NodeId {
    let mut hasher = FieldHasher::new("drystone 2026-12 node id v1");
    hasher
        .field(node.kind)
        .field(node.name)
        .field(&node.version)
        .field(platform.as_str())
        .optional(node.unpack_key.map(UnpackKey::as_bytes))
        .list(node.requires.iter().map(|(name, _)| name))
        .list(node.requires.iter().map(|(_, range)| range.to_string()))
        .list(node.provides.iter().map(|provided| &provided.name))
        .list(node.provides.iter().map(provided_version))
        .list(node.overlay)
        .optional(node.placement)
        .list(node.depends.iter().map(NodeId::as_bytes));
    NodeId::from_bytes(hasher.finish())
}

fn provided_version(provided: &Provided) -> &str {
    // No version is empty, so that the empty text can stand for none.
    provided.version.as_ref().map_or("", |version| version.as_str())
}

/// The id of a package on a platform; `depends` are the ids of what its `depends` names, in that
/// order.
pub(super) fn package_id(
    platform: Platform,
    package: &LockedPackage,
    depends: &[NodeId],
) -> NodeId {
    node_id(
        platform,
        &NodeFields {
            kind: "package",
            name: &package.name,
            version: package.version.to_string(),
            unpack_key: Some(&package.unpack_key),
            requires: package.requires.iter().map(|one| (&one.name, &one.range)).collect(),
            provides: &package.provides,
            overlay: &package.overlay,
            placement: Some(package.placement.as_str()),
            depends,
        },
    )
}

/// The id of a host component on a platform; its range stands where a package has its version.
pub(super) fn host_id(platform: Platform, host: &LockedHost) -> NodeId {
    node_id(
        platform,
        &NodeFields {
            kind: "host",
            name: &host.name,
            version: host.range.to_string(),
            unpack_key: None,
            requires: Vec::new(),
            provides: &host.provides,
            overlay: &[],
            placement: None,
            depends: &[],
        },
    )
}

/// Whether something that may be for one platform only is for this one.
pub(super) fn applies(only: Option<Platform>, platform: Platform) -> bool {
    only.is_none_or(|only| only == platform)
}

fn variables(hasher: &mut FieldHasher, variables: &[Variable], platform: Platform) {
    let applying: Vec<_> =
        variables.iter().filter(|variable| applies(variable.platform, platform)).collect();
    hasher.number(applying.len() as u64);
    for variable in applying {
        let (action, value) = match &variable.action {
            VariableAction::Set(value) => ("set", Some(value)),
            VariableAction::Prepend(value) => ("prepend", Some(value)),
            VariableAction::Append(value) => ("append", Some(value)),
            VariableAction::Unset => ("unset", None),
        };
        hasher.field(&variable.name).field(action).optional(value);
    }
}

/// The digest of an environment's settings on a platform: name, GPU targets, the variables that
/// apply there, overrides. What it is about is not in it.
pub fn settings_id(environment: &Environment, platform: Platform) -> SettingsId {
    let mut hasher = FieldHasher::new("drystone 2026-12 settings id v1");
    hasher.field(&environment.name).field(platform.as_str()).list(&environment.gpus);
    variables(&mut hasher, &environment.variables, platform);
    let mut overrides: Vec<_> =
        environment.overrides.iter().map(|one| (&one.path, &one.package)).collect();
    overrides.sort();
    hasher
        .list(overrides.iter().map(|(path, _)| path))
        .list(overrides.iter().map(|(_, package)| package));
    SettingsId::from_bytes(hasher.finish())
}

/// An application's program on a platform: the one for it, else the one for all.
pub fn program(application: &Application, platform: Platform) -> Option<&Program> {
    let own = application.programs.iter().find(|program| program.platform == Some(platform));
    own.or_else(|| application.programs.iter().find(|program| program.platform.is_none()))
}

/// The digest of all of an application that applies on a platform, except what it is about. None
/// without a program there.
pub fn application_id(application: &Application, platform: Platform) -> Option<ApplicationId> {
    let program = program(application, platform)?;
    let mut hasher = FieldHasher::new("drystone 2026-12 application id v1");
    hasher
        .field(&application.name)
        .field(&application.environment)
        .field(platform.as_str())
        .field(&program.path)
        .list(&program.arguments)
        .optional(application.files.as_ref().map(|files| &files.path))
        .list(application.overlays.iter().map(|overlay| &overlay.package))
        .list(
            application
                .overlays
                .iter()
                .map(|overlay| overlay.into.as_ref().map_or("", |path| path.as_str())),
        );
    match &application.launch {
        None => hasher.number(0),
        Some(launch) => hasher.number(1).field(&launch.program).list(&launch.arguments),
    };
    variables(&mut hasher, &application.variables, platform);
    hasher
        .list(application.writable.iter().map(|glob| glob.as_str()))
        .field(match application.working_directory {
            WorkingDirectory::Caller => "caller",
            WorkingDirectory::App => "app",
        })
        .optional(application.keep_runs.map(u32::to_le_bytes))
        .number(application.checks.len() as u64);
    for check in &application.checks {
        hasher
            .field(&check.name)
            .optional(check.expect_output.as_ref())
            .optional(check.expect_status.map(i64::to_le_bytes))
            .optional(check.timeout.map(|timeout| timeout.as_nanos().to_le_bytes()));
    }
    Some(ApplicationId::from_bytes(hasher.finish()))
}

/// The root of a platform: its settings, applications and node ids.
pub(super) fn root_id(platform: &LockedPlatform) -> RootId {
    let mut hasher = FieldHasher::new("drystone 2026-12 root v1");
    hasher
        .field(platform.settings.as_bytes())
        .list(platform.applications.keys())
        .list(platform.applications.values().map(|application| application.id.as_bytes()))
        .list(platform.packages.values().map(|package| package.id.as_bytes()))
        .list(platform.hosts.values().map(|host| host.id.as_bytes()));
    RootId::from_bytes(hasher.finish())
}

/// The seal of a part of a lock's text: shows that nobody has edited it.
pub(super) fn seal(text: &str) -> String {
    let mut hasher = FieldHasher::new("drystone 2026-12 lock seal v1");
    format!("blake3:{}", blake3::Hash::from_bytes(hasher.field(text).finish()).to_hex())
}
