//! What the terminal behind stderr can show: escape sequences, and characters outside of ASCII.

use std::io::{IsTerminal, stderr};

/// Whether stderr is a terminal that acts on escape sequences: what colours and progress are drawn
/// with. The console of Windows is asked to; one that refuses gets plain lines.
pub(super) fn takes_sequences() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    stderr().is_terminal() && !dumb && switched_on()
}

/// Whether drawn lines may be more than ASCII: anywhere but on a terminal that is not known to have
/// them. Text itself, which may hold anything, is written the same way everywhere; on Windows std hands
/// it to the console in UTF-16, whatever its code page.
pub(super) fn draws_in_unicode() -> bool {
    supports_unicode::on(supports_unicode::Stream::Stderr)
}

#[cfg(not(windows))]
const fn switched_on() -> bool {
    true
}

/// Old consoles print escape sequences as they are until a program switches them on.
#[cfg(windows)]
fn switched_on() -> bool {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::System::Console::{
        ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, SetConsoleMode,
    };
    let handle = stderr().as_raw_handle();
    let mut mode = 0;
    // SAFETY: the handle is this process's own stderr, and the pointer leads to a number that lives
    // through the call.
    if unsafe { GetConsoleMode(handle, &raw mut mode) } == 0 {
        // A terminal that is no console: that of MSYS or Cygwin.
        return true;
    }
    // SAFETY: as above.
    unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 }
}
