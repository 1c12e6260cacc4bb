//! Which file something is, and how many names it has.

use std::io;
use std::path::Path;

/// Which file a path leads to: the same for all its names, another for every other file of the
/// machine that is there at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The device, or the volume's serial number.
    pub device: u64,
    /// The inode, or the file id.
    pub file: u64,
}

/// Which file this is, and how many names it has. No link is followed on Unix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Which file.
    pub identity: FileIdentity,
    /// How many names it has.
    pub names: u64,
}

/// Looks at a file. Windows opens it for that, without asking to read it.
pub fn facts(path: &Path) -> io::Result<FileFacts> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let there = path.symlink_metadata()?;
        let identity = FileIdentity { device: there.dev(), file: there.ino() };
        Ok(FileFacts { identity, names: there.nlink() })
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        let file = super::retried(path, || std::fs::File::options().access_mode(0).open(path))?;
        let there = super::windows::information(&file)?;
        let file = u64::from(there.nFileIndexHigh) << 32 | u64::from(there.nFileIndexLow);
        let identity = FileIdentity { device: there.dwVolumeSerialNumber.into(), file };
        Ok(FileFacts { identity, names: there.nNumberOfLinks.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_are_told_from_copies_of_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let [first, second, copy] =
            ["first", "second", "copy"].map(|name| directory.path().join(name));
        std::fs::write(&first, "x").expect("written");
        assert_eq!(facts(&first).expect("looked at").names, 1);
        std::fs::hard_link(&first, &second).expect("linked");
        std::fs::copy(&first, &copy).expect("copied");
        let [first, second, copy] =
            [first, second, copy].map(|path| facts(&path).expect("looked at"));
        assert_eq!(first, second);
        assert_eq!((first.names, copy.names), (2, 1));
        assert_ne!(first.identity, copy.identity);
    }
}
