//! What of the Windows API std does not offer, each call wrapped safely.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{
    ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, ERROR_USER_MAPPED_FILE,
    GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY,
    FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE,
    FILE_DISPOSITION_FLAG_POSIX_SEMANTICS, FILE_DISPOSITION_INFO_EX, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES, FileDispositionInfoEx,
    GetFileInformationByHandle, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW,
    READ_CONTROL, SetFileInformationByHandle, WRITE_DAC,
};

/// What a new file is opened for: writing, and changing its access rules while it is open.
pub(super) const CREATE_ACCESS: u32 = GENERIC_WRITE | READ_CONTROL | WRITE_DAC;

/// A path as the wide functions take it: absolute, in the long form, and with a zero at the end.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let long = super::long_form(&std::path::absolute(path)?);
    Ok(long.as_os_str().encode_wide().chain([0]).collect())
}

/// Gives a name that nothing has, written through.
pub(super) fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    move_file(from, to, MOVEFILE_WRITE_THROUGH)
}

/// Replaces what has the name: written through where nobody has the old file open, else with POSIX
/// semantics, as std does it. A program that runs cannot be replaced in either way, and a file that
/// may not be written not everywhere: it is moved aside first, to beside the new file, and removed as
/// soon as that is allowed.
pub(super) fn move_over(from: &Path, to: &Path) -> io::Result<()> {
    let replaced = move_file(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
        .or_else(|_| std::fs::rename(from, to));
    match replaced {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let is_file = to.symlink_metadata().is_ok_and(|there| there.is_file());
            if is_file { move_over_aside(from, to).map_err(|_| error) } else { Err(error) }
        }
        done => done,
    }
}

fn move_over_aside(from: &Path, to: &Path) -> io::Result<()> {
    let mut aside = from.as_os_str().to_owned();
    aside.push(".replaced");
    let aside = Path::new(&aside);
    move_new(to, aside)?;
    if let Err(error) = move_new(from, to) {
        move_new(aside, to)?;
        return Err(error);
    }
    // What runs cannot be removed yet; the directory that new files are staged in is swept later.
    let _ = remove_name(aside);
    Ok(())
}

fn move_file(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both texts end with a zero unit and live until the call returns.
    let moved = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) };
    checked(moved)
}

/// Removes one name of a file, or a link itself. The name is gone at once, also while somebody who
/// allows it has the file open, and a read-only file goes without its attribute being cleared,
/// which its other names would lose too. File systems that know no such removal get an ordinary one.
/// How many names it had. `ERROR_USER_MAPPED_FILE` where a program runs from it, or was loaded from it.
pub(super) fn remove_name(path: &Path) -> io::Result<u32> {
    let file = File::options()
        .access_mode(DELETE | FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    let BY_HANDLE_FILE_INFORMATION { nNumberOfLinks: names, dwFileAttributes: attributes, .. } =
        information(&file)?;
    let information = FILE_DISPOSITION_INFO_EX {
        Flags: FILE_DISPOSITION_FLAG_DELETE
            | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS
            | FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE,
    };
    // SAFETY: the handle is open for DELETE, and the structure is the one of this class, whole, and
    // lives through the call.
    let removed = checked(unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileDispositionInfoEx,
            (&raw const information).cast(),
            size_of::<FILE_DISPOSITION_INFO_EX>() as u32,
        )
    });
    drop(file);
    let (removed, hindrances) = match removed {
        Err(error) if is_unknown_here(&error) => {
            (std::fs::remove_file(path), FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_READONLY)
        }
        done => (done, FILE_ATTRIBUTE_DIRECTORY),
    };
    match removed {
        // The file was opened for it, so this is no matter of rights: what is left of
        // STATUS_CANNOT_DELETE, which a running program's file gives, is "access denied".
        Err(error)
            if error.kind() == io::ErrorKind::PermissionDenied && attributes & hindrances == 0 =>
        {
            Err(io::Error::from_raw_os_error(ERROR_USER_MAPPED_FILE as i32))
        }
        done => done.map(|()| names),
    }
}

/// Whether a file system (FAT, an old server, Wine) does not know what was asked.
pub(super) fn is_unknown_here(error: &io::Error) -> bool {
    let unknown = [ERROR_INVALID_PARAMETER, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED];
    error.raw_os_error().is_some_and(|code| unknown.iter().any(|known| *known as i32 == code))
}

/// What the system says of an open file.
pub(super) fn information(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut information = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the structure is writable and lives through the call.
    checked(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut information) })?;
    Ok(information)
}

pub(super) fn checked(result: windows_sys::core::BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
