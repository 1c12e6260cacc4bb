//! What the machine is: operating system, architecture, build.

use std::collections::BTreeMap;

/// Facts of this machine, by name: `os`, `arch`, and where they can be had `kernel` (Linux: release
/// as `uname` says) or `build` (Windows: major.minor.build). A fact that cannot be had is absent.
pub fn machine_facts() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    facts.insert("os".to_owned(), std::env::consts::OS.to_owned());
    facts.insert("arch".to_owned(), std::env::consts::ARCH.to_owned());
    facts.extend(release().map(|(name, value)| (name.to_owned(), value)));
    facts
}

#[cfg(unix)]
fn release() -> Option<(&'static str, String)> {
    let uname = rustix::system::uname();
    Some(("kernel", uname.release().to_string_lossy().into_owned()))
}

/// `RtlGetVersion`, which no compatibility shim changes.
#[cfg(windows)]
fn release() -> Option<(&'static str, String)> {
    use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
    use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;

    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        dwMajorVersion: 0,
        dwMinorVersion: 0,
        dwBuildNumber: 0,
        dwPlatformId: 0,
        szCSDVersion: [0; 128],
    };
    // SAFETY: the pointer is to a whole OSVERSIONINFOW that says its own size and lives through
    // the call; the function writes nowhere else.
    let status = unsafe { RtlGetVersion(&raw mut version) };
    let (major, minor) = (version.dwMajorVersion, version.dwMinorVersion);
    (status == 0).then(|| ("build", format!("{major}.{minor}.{}", version.dwBuildNumber)))
}

#[cfg(test)]
mod tests {
    use super::machine_facts;

    #[test]
    fn the_machine_says_what_it_is() {
        let facts = machine_facts();
        assert_eq!(facts["os"], std::env::consts::OS);
        assert_eq!(facts["arch"], std::env::consts::ARCH);
        let release = if cfg!(windows) { "build" } else { "kernel" };
        assert!(facts[release].starts_with(|c: char| c.is_ascii_digit()), "{facts:?}");
    }
}
