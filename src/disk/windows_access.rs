//! Access rules of Windows: denies everyone to write to a file, and asks whether that is so.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::null_mut;

use windows_sys::Win32::Security::{
    ACCESS_DENIED_ACE, ACE_HEADER, ACL, ACL_REVISION, AddAccessAllowedAceEx, AddAccessDeniedAceEx,
    AddAce, CreateWellKnownSid, DACL_SECURITY_INFORMATION, EqualSid, GetAce,
    GetKernelObjectSecurity, GetLengthSid, GetSecurityDescriptorDacl, InitializeAcl,
    InitializeSecurityDescriptor, PSID, SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED,
    SECURITY_DESCRIPTOR, SetKernelObjectSecurity, SetSecurityDescriptorControl,
    SetSecurityDescriptorDacl, WinWorldSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ALL_ACCESS, FILE_APPEND_DATA, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES,
    FILE_WRITE_DATA, READ_CONTROL, SYNCHRONIZE, WRITE_DAC,
};

use super::windows::{checked, is_unknown_here};

/// What is denied, and nothing else.
const WRITING: u32 = FILE_WRITE_DATA | FILE_APPEND_DATA;

/// The type of a rule that denies, as its header says it (winnt.h: `ACCESS_DENIED_ACE_TYPE`).
const DENIED: u8 = 1;
/// The version of a security descriptor (winnt.h: `SECURITY_DESCRIPTOR_REVISION`).
const DESCRIPTOR_REVISION: u32 = 1;

/// Opens a file to change its times and rules; that it is protected does not matter.
pub(super) fn open_for_attributes(path: &Path) -> io::Result<File> {
    let access = FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES | READ_CONTROL | WRITE_DAC;
    File::options().access_mode(access | SYNCHRONIZE).open(path)
}

/// Puts a rule before all others that denies everyone to write. The others stay as they are.
pub(super) fn deny_writing(file: &File) -> io::Result<()> {
    let before = Rules::of(file)?;
    let everyone = Everyone::new()?;
    if before.begin_with_denial(&everyone)? {
        return Ok(());
    }
    match before.with_denial(&everyone)?.apply(file) {
        // A file system without rules.
        Err(error) if is_unknown_here(&error) => Ok(()),
        done => done,
    }
}

/// Whether this user is refused to write to a file. Asked by opening it, which answers for every rule
/// of whatever origin; nothing is written, and nobody is waited for.
pub(super) fn is_writing_denied(path: &Path) -> io::Result<bool> {
    match File::options().access_mode(FILE_WRITE_DATA).open(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        Err(error) => Err(error),
    }
}

/// The security identifier of everyone.
struct Everyone([u64; 9]);

impl Everyone {
    fn new() -> io::Result<Self> {
        let mut sid = [0u64; 9];
        let mut size = size_of_val(&sid) as u32;
        // SAFETY: the buffer has `size` bytes, more than the 68 of the longest SID, and is aligned.
        checked(unsafe {
            CreateWellKnownSid(WinWorldSid, null_mut(), sid.as_mut_ptr().cast(), &mut size)
        })?;
        Ok(Self(sid))
    }

    fn sid(&self) -> PSID {
        self.0.as_ptr().cast_mut().cast()
    }

    fn length(&self) -> usize {
        // SAFETY: `new` made a whole SID of it.
        unsafe { GetLengthSid(self.sid()) as usize }
    }
}

/// The access rules of a file, as the system gave them: a security descriptor in its own buffer.
struct Rules {
    /// u64s, because a security descriptor must be aligned.
    descriptor: Vec<u64>,
}

impl Rules {
    fn of(file: &File) -> io::Result<Self> {
        let mut descriptor = vec![0u64; 64];
        loop {
            let size = (descriptor.len() * 8) as u32;
            let mut needed = 0;
            // SAFETY: the buffer has `size` writable bytes; the handle is open.
            let told = checked(unsafe {
                GetKernelObjectSecurity(
                    file.as_raw_handle(),
                    DACL_SECURITY_INFORMATION,
                    descriptor.as_mut_ptr().cast(),
                    size,
                    &mut needed,
                )
            });
            match told {
                Ok(()) => return Ok(Self { descriptor }),
                Err(_) if needed > size => descriptor.resize(needed as usize / 8 + 1, 0),
                Err(error) => return Err(error),
            }
        }
    }

    /// The list of rules; null where there is none and everybody may do everything.
    fn list(&self) -> io::Result<*mut ACL> {
        let (mut present, mut defaulted) = (0, 0);
        let mut list = null_mut();
        // SAFETY: the buffer holds a whole descriptor, which outlives the pointer that is given.
        checked(unsafe {
            GetSecurityDescriptorDacl(
                self.descriptor.as_ptr().cast_mut().cast(),
                &mut present,
                &mut list,
                &mut defaulted,
            )
        })?;
        Ok(if present == 0 { null_mut() } else { list })
    }

    /// Whether the first rule is the one that [`deny_writing`] puts there.
    fn begin_with_denial(&self, everyone: &Everyone) -> io::Result<bool> {
        let list = self.list()?;
        // SAFETY: a list that is there lies in the descriptor's buffer and begins with its header.
        if list.is_null() || unsafe { (*list).AceCount } == 0 {
            return Ok(false);
        }
        let mut rule = null_mut();
        // SAFETY: the list is whole and has a first rule.
        checked(unsafe { GetAce(list, 0, &mut rule) })?;
        // SAFETY: every rule begins with a header.
        if unsafe { (*rule.cast::<ACE_HEADER>()).AceType } != DENIED {
            return Ok(false);
        }
        let rule = rule.cast::<ACCESS_DENIED_ACE>();
        // SAFETY: a rule of this type has this shape: header, rights, then a whole SID.
        let (rights, sid) = unsafe { ((*rule).Mask, (&raw mut (*rule).SidStart).cast()) };
        // SAFETY: both are whole SIDs.
        Ok(rights & WRITING == WRITING && unsafe { EqualSid(sid, everyone.sid()) } != 0)
    }

    /// These rules behind one that denies everyone to write.
    fn with_denial(&self, everyone: &Everyone) -> io::Result<Denial> {
        let before = self.list()?;
        // SAFETY: a list that is there begins with its header.
        let header = if before.is_null() { ACL::default() } else { unsafe { *before } };
        // Twice the denial's rule, for one that allows what no list allowed.
        let size = size_of::<ACL>()
            + usize::from(header.AclSize)
            + 2 * (size_of::<ACCESS_DENIED_ACE>() + everyone.length());
        let mut list = vec![0u64; size.div_ceil(8)];
        let start: *mut ACL = list.as_mut_ptr().cast();
        let revision = u32::from(header.AclRevision).max(ACL_REVISION);
        // SAFETY: the buffer has the size that is passed and is aligned.
        checked(unsafe { InitializeAcl(start, (list.len() * 8) as u32, revision) })?;
        // SAFETY: the list was made above and has room; the SID is whole.
        checked(unsafe { AddAccessDeniedAceEx(start, revision, 0, WRITING, everyone.sid()) })?;
        if before.is_null() {
            // SAFETY: as above.
            checked(unsafe {
                AddAccessAllowedAceEx(start, revision, 0, FILE_ALL_ACCESS, everyone.sid())
            })?;
        }
        for index in 0..u32::from(header.AceCount) {
            let mut rule = null_mut();
            // SAFETY: the index is below the list's count; the list is whole and outlives `rule`.
            checked(unsafe { GetAce(before, index, &mut rule) })?;
            // SAFETY: every rule begins with a header that says its size, and the new list has room
            // for all rules of the old one.
            checked(unsafe {
                let size = (*rule.cast::<ACE_HEADER>()).AceSize;
                AddAce(start, revision, u32::MAX, rule, size.into())
            })?;
        }
        Ok(Denial { list })
    }
}

/// A list of rules to be given to a file.
struct Denial {
    list: Vec<u64>,
}

impl Denial {
    fn apply(&self, file: &File) -> io::Result<()> {
        let mut descriptor = SECURITY_DESCRIPTOR::default();
        let descriptor: *mut SECURITY_DESCRIPTOR = &mut descriptor;
        let inherits = SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ;
        // SAFETY: the descriptor is a local that lives to the end of this function, and so does the
        // list that it points to; the handle is open, with WRITE_DAC.
        unsafe {
            checked(InitializeSecurityDescriptor(descriptor.cast(), DESCRIPTOR_REVISION))?;
            checked(SetSecurityDescriptorDacl(descriptor.cast(), 1, self.list.as_ptr().cast(), 0))?;
            // What was inherited stays marked so.
            checked(SetSecurityDescriptorControl(descriptor.cast(), inherits, inherits))?;
            checked(SetKernelObjectSecurity(
                file.as_raw_handle(),
                DACL_SECURITY_INFORMATION,
                descriptor.cast(),
            ))
        }
    }
}
