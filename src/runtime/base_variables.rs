//! The fixed base: which variables of the caller a process gets, whatever the environment says.
//! `docs/format.md` lists them for people; change both together.

use crate::model::Family;

/// Passed on Unix when the caller has them. `*` at the end stands for any rest.
const UNIX: &[&str] = &[
    "COLORTERM",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "NO_COLOR",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
];

/// Passed on Windows when the caller has them.
const WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "COLORTERM",
    "COMMONPROGRAMFILES*",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "DRIVERDATA",
    "LANG",
    "LC_*",
    "NO_COLOR",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_*",
    "PROGRAMDATA",
    "PROGRAMFILES*",
    "PROGRAMW6432",
    "PUBLIC",
    "SESSIONNAME",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TERM",
    "TZ",
    "USERDOMAIN",
    "USERNAME",
    "WINDIR",
    "WT_SESSION",
];

/// Passed too where a process has no home of its own: `exec` and `shell`.
const UNIX_HOME: &[&str] =
    &["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
const WINDOWS_HOME: &[&str] =
    &["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "TEMP", "TMP", "USERPROFILE"];

/// Whether a variable of the caller is passed on.
pub(super) fn is_passed(name: &str, family: Family, own_home: bool) -> bool {
    let (base, home) = match family {
        Family::Unix => (UNIX, UNIX_HOME),
        Family::Windows => (WINDOWS, WINDOWS_HOME),
    };
    let capitals;
    let name = if family == Family::Windows {
        // All of the names are ASCII, so no other letter can make two of them one.
        capitals = name.to_ascii_uppercase();
        capitals.as_str()
    } else {
        name
    };
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    base.iter().any(matches) || (!own_home && home.iter().any(matches))
}

/// The value of `PATH`: the directories of the system. `system_root` is Windows' own directory.
pub(super) fn system_path(family: Family, system_root: &str) -> String {
    match family {
        Family::Unix => "/usr/local/bin:/usr/bin:/bin".to_owned(),
        Family::Windows => {
            [r"\System32", "", r"\System32\Wbem", r"\System32\WindowsPowerShell\v1.0"]
                .map(|below| format!("{system_root}{below}"))
                .join(";")
        }
    }
}
