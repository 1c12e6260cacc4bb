//! What a program does that changes a file of the store: it lifts the protection from writers.

use std::path::Path;

/// Lets the owner write to a file. On Windows both what drystone puts there (a rule that denies
/// everyone to write) and what other programs do (the read-only attribute, which is also how Wine
/// keeps such a rule) are taken away.
pub fn unprotect(path: &Path) {
    let mut permissions = std::fs::metadata(path).expect("the file").permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    #[cfg(windows)]
    {
        #[allow(clippy::permissions_set_readonly_false)] // It is no mode here.
        permissions.set_readonly(false);
        // S-1-1-0 is everyone, whatever the language of the system.
        let lifted = std::process::Command::new("icacls")
            .arg(path)
            .args(["/remove:d", "*S-1-1-0"])
            .output()
            .expect("icacls, which is part of Windows");
        assert!(lifted.status.success(), "{lifted:?}");
    }
    std::fs::set_permissions(path, permissions).expect("writable");
}
