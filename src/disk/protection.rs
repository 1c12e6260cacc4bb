//! Protects contents from writers, and lets them be linked, renamed and removed all the same.
//!
//! On Unix the mode does it, which [`create_new`](super::create_new) sets. On Windows everyone is
//! denied exactly `FILE_WRITE_DATA` and `FILE_APPEND_DATA`: the read-only attribute would hinder the
//! removal of every link, and more rights denied would hinder linking, renaming or reading.
//! Attributes and rights belong to the file, so all its names are protected.

use std::fs::File;
use std::io;
use std::path::Path;

/// Protects a file that [`create_new`](super::create_new) made, while it is open. Who has it open
/// already may write on. A file system without access rules is left as it is: a store lies on such
/// a one only by the wish of its owner.
pub fn protect(file: &File) -> io::Result<()> {
    #[cfg(windows)]
    super::windows_access::deny_writing(file)?;
    #[cfg(unix)]
    let _ = file;
    Ok(())
}

/// Whether nobody may open a file for writing. On Unix root may nevertheless.
pub fn is_protected(path: &Path) -> io::Result<bool> {
    #[cfg(windows)]
    return super::windows_access::is_writing_denied(path);
    #[cfg(unix)]
    Ok(std::os::unix::fs::MetadataExt::mode(&path.symlink_metadata()?) & 0o222 == 0)
}

/// Opens a protected file to change its times and its protection, not its content.
pub fn open_for_attributes(path: &Path) -> io::Result<File> {
    #[cfg(windows)]
    return super::retried(path, || super::windows_access::open_for_attributes(path));
    #[cfg(unix)]
    File::open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn protected(directory: &Path) -> std::path::PathBuf {
        let path = directory.join("blob");
        let mut file = super::super::create_new(&path, 0o444).expect("made");
        protect(&file).expect("protected");
        file.write_all(b"content").expect("written through the handle that made it");
        file.sync_all().expect("flushed");
        path
    }

    #[test]
    fn no_name_of_a_protected_file_can_be_opened_for_writing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = protected(directory.path());
        let link = directory.path().join("link");
        fs::hard_link(&path, &link).expect("linked");
        for name in [&path, &link] {
            assert!(is_protected(name).expect("looked at"), "{}", name.display());
            if may_do_anything() {
                continue;
            }
            for options in [File::options().write(true), File::options().append(true)] {
                let error = options.open(name).expect_err("nobody may write");
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            }
        }
        assert_eq!(fs::read(&link).expect("read"), b"content");
    }

    #[test]
    fn a_protected_file_is_linked_renamed_replaced_and_removed_like_any_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = protected(directory.path());
        let moved = directory.path().join("moved");
        super::super::rename(&path, &moved).expect("renamed");
        assert!(is_protected(&moved).expect("looked at"));
        fs::hard_link(&moved, &path).expect("linked");
        super::super::remove_file(&moved).expect("removed");
        assert!(!moved.exists() && is_protected(&path).expect("looked at"));
        let staged = directory.path().join("staged");
        fs::write(&staged, "new").expect("written");
        super::super::rename_over(&staged, &path).expect("replaced");
        assert_eq!(fs::read(&path).expect("read"), b"new");
        super::super::remove_file(&path).expect("removed");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 0);
    }

    #[test]
    fn the_time_of_a_protected_file_can_be_set() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = protected(directory.path());
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
        let times = fs::FileTimes::new().set_modified(time);
        open_for_attributes(&path).expect("open").set_times(times).expect("dated");
        assert_eq!(path.metadata().expect("there").modified().expect("a time"), time);
        assert!(is_protected(&path).expect("looked at"));
    }

    #[test]
    fn a_file_that_somebody_may_write_is_not_protected_and_can_be() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("plain");
        fs::write(&path, "x").expect("written");
        assert!(!is_protected(&path).expect("looked at"));
        let file = open_for_attributes(&path).expect("open");
        super::super::set_mode(&file, 0o444).expect("its mode");
        protect(&file).expect("protected");
        protect(&file).expect("twice is once");
        assert!(is_protected(&path).expect("looked at"));
    }

    /// Root writes whatever the mode says.
    fn may_do_anything() -> bool {
        #[cfg(unix)]
        return rustix::process::geteuid().is_root();
        #[cfg(windows)]
        false
    }
}
