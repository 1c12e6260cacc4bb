//! Whose store it is: the user id on Unix, the security identifier on Windows.

use super::error::Result;

/// The user this process runs as, as written in `format`: `uid:<number>` or `sid:S-1-…`.
#[cfg(unix)]
pub(super) fn current() -> Result<String> {
    Ok(format!("uid:{}", rustix::process::geteuid().as_raw()))
}

/// The user this process runs as, as written in `format`: `uid:<number>` or `sid:S-1-…`.
#[cfg(windows)]
pub(super) fn current() -> Result<String> {
    use super::error::At;
    sid()
        .map(|sid| format!("sid:{sid}"))
        .at("ask for the user of", std::path::Path::new("this process"))
}

#[cfg(windows)]
fn sid() -> std::io::Result<String> {
    use std::io::Error;
    use std::ptr::null_mut;
    use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, LocalFree};
    use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
    use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_QUERY, TOKEN_USER, TokenUser};
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

    let mut token: HANDLE = null_mut();
    // SAFETY: the pseudo handle of this process is always valid, and `token` is written on success.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token) } == 0 {
        return Err(Error::last_os_error());
    }
    // A SID has at most 68 bytes; u64s give the alignment that TOKEN_USER needs.
    let mut buffer = [0u64; 32];
    let mut needed = 0u32;
    // SAFETY: the buffer is writable for the length that is passed; `token` is open.
    let told = unsafe {
        GetTokenInformation(token, TokenUser, buffer.as_mut_ptr().cast(), 256, &mut needed)
    };
    let error = Error::last_os_error();
    // SAFETY: `token` was opened above and is not used again.
    unsafe { CloseHandle(token) };
    if told == 0 {
        return Err(error);
    }
    let mut text: *mut u16 = null_mut();
    // SAFETY: on success the buffer begins with a TOKEN_USER whose SID lies in the same buffer.
    let sid = unsafe { (*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid };
    // SAFETY: `sid` is a valid SID (above); `text` is written on success.
    if unsafe { ConvertSidToStringSidW(sid, &mut text) } == 0 {
        return Err(Error::last_os_error());
    }
    let mut units = Vec::new();
    // SAFETY: the text ends with a zero unit, and nothing is read after it.
    unsafe {
        let mut at = text;
        while *at != 0 {
            units.push(*at);
            at = at.add(1);
        }
        LocalFree(text.cast());
    }
    Ok(String::from_utf16_lossy(&units))
}
