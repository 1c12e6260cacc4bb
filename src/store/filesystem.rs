//! Which file systems a store may lie on: those that keep what the rules of the store need.
//!
//! Network file systems neither lock nor order writes dependably between machines; FAT and exFAT
//! have no hard links, modes or ordered renames.

use std::path::Path;

#[cfg(windows)]
use crate::disk::long_form;

use super::error::{Result, StoreError};

/// Refuses a file system where a store is not safe. The directory must exist.
#[cfg(target_os = "linux")]
pub(super) fn check(directory: &Path) -> Result<()> {
    use super::error::At;
    let status = rustix::fs::statfs(directory)
        .map_err(std::io::Error::from)
        .at("ask for the file system of", directory)?;
    // The width of the field differs between architectures; the numbers are of 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let found = unsafe_kind(status.f_type as u32);
    match found {
        Some((kind, reason)) => {
            Err(StoreError::Filesystem { path: directory.to_path_buf(), kind, reason })
        }
        None => Ok(()),
    }
}

const NETWORK: &str = "locks and the order of writes do not hold on a network file system";
const FAT: &str = "it has no hard links and no ordered renames";

/// The numbers are those of `linux/magic.h` and of the file systems' own sources, as listed by
/// statfs(2).
#[cfg(target_os = "linux")]
const fn unsafe_kind(number: u32) -> Option<(&'static str, &'static str)> {
    match number {
        0x6969 => Some(("NFS", NETWORK)),
        0x517b => Some(("SMB", NETWORK)),
        0xff53_4d42 => Some(("CIFS", NETWORK)),
        0xfe53_4d42 => Some(("SMB 2", NETWORK)),
        0x0102_1997 => Some(("9P", NETWORK)),
        0x5346_414f => Some(("AFS", NETWORK)),
        0x00c3_6400 => Some(("Ceph", NETWORK)),
        0x4d44 => Some(("FAT", FAT)),
        0x2011_bab0 => Some(("exFAT", FAT)),
        _ => None,
    }
}

/// Refuses a file system where a store is not safe. The directory must exist.
#[cfg(windows)]
pub(super) fn check(directory: &Path) -> Result<()> {
    use super::error::At;
    let volume = Volume::of(directory).at("ask for the file system of", directory)?;
    let found = match volume.file_system.to_ascii_uppercase().as_str() {
        "FAT" | "FAT12" | "FAT16" | "FAT32" => Some(("FAT", FAT)),
        "EXFAT" => Some(("exFAT", FAT)),
        "NFS" => Some(("NFS", NETWORK)),
        _ if volume.is_remote => Some(("a network share", NETWORK)),
        _ if !volume.has_access_rules => Some((
            "a file system without access rules",
            "nothing would keep programs from writing into the store's files",
        )),
        _ => None,
    };
    match found {
        Some((kind, reason)) => {
            Err(StoreError::Filesystem { path: directory.to_path_buf(), kind, reason })
        }
        None => Ok(()),
    }
}

/// What Windows says of a volume.
#[cfg(windows)]
struct Volume {
    /// `NTFS`, `ReFS`, `exFAT`, …
    file_system: String,
    /// Whether it lies on another machine: a share, by its name or by a letter.
    is_remote: bool,
    /// Whether files can be protected by rules.
    has_access_rules: bool,
}

#[cfg(windows)]
impl Volume {
    fn of(directory: &Path) -> std::io::Result<Self> {
        use std::io::Error;
        use std::os::windows::ffi::OsStrExt;
        use windows_sys::Win32::Storage::FileSystem::{
            GetDriveTypeW, GetVolumeInformationW, GetVolumePathNameW,
        };
        // winbase.h: what GetDriveTypeW says of a share that has a letter.
        const DRIVE_REMOTE: u32 = 4;
        // winnt.h: what GetVolumeInformationW says of a volume that keeps access rules.
        const FILE_PERSISTENT_ACLS: u32 = 8;
        // The long form: these functions take no more than 260 units without it.
        let long = long_form(&std::path::absolute(directory)?);
        let path: Vec<u16> = long.as_os_str().encode_wide().chain([0]).collect();
        let mut volume = vec![0u16; path.len().max(300)];
        let length = u32::try_from(volume.len()).unwrap_or(u32::MAX);
        // SAFETY: the path ends with a zero unit; the buffer is writable for the length passed.
        if unsafe { GetVolumePathNameW(path.as_ptr(), volume.as_mut_ptr(), length) } == 0 {
            return Err(Error::last_os_error());
        }
        let (mut name, mut flags) = ([0u16; 64], 0);
        // SAFETY: the volume's path ends with a zero unit (above), the name's buffer is writable
        // for 64 units, so are the flags, and pointers to what is not asked for may be null.
        let told = unsafe {
            GetVolumeInformationW(
                volume.as_ptr(),
                std::ptr::null_mut(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &mut flags,
                name.as_mut_ptr(),
                64,
            )
        };
        if told == 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the volume's path ends with a zero unit.
        let kind = unsafe { GetDriveTypeW(volume.as_ptr()) };
        let end = name.iter().position(|unit| *unit == 0).unwrap_or(name.len());
        Ok(Self {
            file_system: String::from_utf16_lossy(&name[..end]),
            is_remote: kind == DRIVE_REMOTE || long.to_string_lossy().starts_with(r"\\?\UNC\"),
            has_access_rules: flags & FILE_PERSISTENT_ACLS != 0,
        })
    }
}

/// Nothing is known of the file systems here.
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn check(_directory: &Path) -> Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_and_fat_are_refused_and_disks_are_not() {
        assert!(matches!(unsafe_kind(0x6969), Some(("NFS", _))));
        assert!(matches!(unsafe_kind(0x2011_bab0), Some(("exFAT", _))));
        for disk in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert!(unsafe_kind(disk).is_none());
        }
        assert!(check(&std::env::temp_dir()).is_ok());
    }
}
