//! Paths of the machine as a person writes them, made absolute and plain: the form in which every
//! program on the machine takes them.
//!
//! Source of the rules: Microsoft, "Naming Files, Paths, and Namespaces", and "Path formats on Windows
//! systems".

use std::io;
use std::path::{Path, PathBuf};

use crate::model::is_device_name;

/// Makes a path absolute without looking at the disk. On Windows `C:name` starts from the current
/// directory of that drive, `\name` from the root of the current drive, `/` separates as `\` does, and
/// `\\?\C:\name` becomes `C:\name` where both mean the same: most programs take only the latter. A
/// device, a pipe or a volume without a letter is an error: no program can be started there.
pub fn machine_path(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    if cfg!(not(windows)) {
        return Ok(absolute);
    }
    let absolute = plain_form(absolute);
    match absolute.to_string_lossy() {
        text if is_no_directory(&text) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "\"{text}\" names a device or a volume without a letter; give a path that begins with a drive, such as C:\\"
            ),
        )),
        _ => Ok(absolute),
    }
}

/// The one path of something that exists, links followed; on Windows in the long form. Some volumes of
/// Windows (RAM disks among them), and Wine for long paths, cannot say it: there it is the absolute
/// path, unless a link on the way could lead elsewhere.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if cfg!(windows) && error.kind() != io::ErrorKind::NotFound => {
            let absolute = std::path::absolute(path)?;
            let is_plain = |above: &Path| above.symlink_metadata().is_ok_and(|it| !it.is_symlink());
            if absolute.ancestors().all(is_plain) { Ok(long_form(&absolute)) } else { Err(error) }
        }
        told => told,
    }
}

/// A path of Windows' own long form as people and programs write it; any other path, and one that
/// would mean something else, as it is.
pub fn plain_form(path: PathBuf) -> PathBuf {
    let plain = if cfg!(windows) { path.to_str().and_then(without_prefix) } else { None };
    plain.map(PathBuf::from).unwrap_or(path)
}

/// An absolute path of Windows in the long form, which lifts the limit of 260 units where a function of
/// Windows is called without std, as long as the path has no `.` or `..` in it.
#[cfg_attr(not(windows), allow(dead_code))]
pub fn long_form(path: &Path) -> PathBuf {
    match path.to_str().and_then(with_prefix) {
        Some(long) if cfg!(windows) => PathBuf::from(long),
        _ => path.to_path_buf(),
    }
}

/// `C:\a` → `\\?\C:\a`, `\\server\share\a` → `\\?\UNC\server\share\a`; none for the others.
fn with_prefix(text: &str) -> Option<String> {
    if is_drive(text) {
        return Some(format!(r"\\?\{text}"));
    }
    let share = text.strip_prefix(r"\\")?;
    (!share.starts_with(['?', '.'])).then(|| format!(r"\\?\UNC\{share}"))
}

/// `\\?\C:\a` → `C:\a`, `\\?\UNC\server\share\a` → `\\server\share\a`; none where Windows would
/// read the shorter form otherwise.
fn without_prefix(text: &str) -> Option<String> {
    let rest = text.strip_prefix(r"\\?\")?;
    let (plain, below) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (format!(r"\\{share}"), share),
        None if is_drive(rest) => (rest.to_owned(), rest.get(3..)?),
        None => return None,
    };
    let same = |part: &str| {
        !part.ends_with(['.', ' ']) && !part.contains(['/', ':']) && !is_device_name(part)
    };
    below.split('\\').all(same).then_some(plain)
}

fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Whether an absolute, plain path of Windows lies on no drive and no share.
fn is_no_directory(text: &str) -> bool {
    if text.starts_with(r"\\.\") {
        return true;
    }
    match text.strip_prefix(r"\\?\") {
        Some(rest) => !rest.starts_with(r"UNC\") && !is_drive(rest),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_form_goes_where_both_mean_the_same() {
        for (long, plain) in [
            (r"\\?\C:\", Some(r"C:\")),
            (r"\\?\c:\stores\été", Some(r"c:\stores\été")),
            (r"\\?\UNC\server\share\a", Some(r"\\server\share\a")),
            (r"\\?\C:\ends.\a", None),
            (r"\\?\C:\ends ", None),
            (r"\\?\C:\nul.txt", None),
            (r"\\?\C:\a/b", None),
            (r"\\?\C:", None),
            (r"\\?\Volume{0}\a", None),
            (r"\\?\pipe\a", None),
            (r"C:\a", None),
        ] {
            assert_eq!(without_prefix(long).as_deref(), plain, "{long}");
        }
    }

    #[test]
    fn the_long_form_is_put_before_drives_and_shares() {
        for (plain, long) in [
            (r"C:\a", Some(r"\\?\C:\a")),
            (r"\\server\share\a", Some(r"\\?\UNC\server\share\a")),
            (r"\\?\C:\a", None),
            (r"\\.\pipe\a", None),
            (r"C:a", None),
        ] {
            assert_eq!(with_prefix(plain).as_deref(), long, "{plain}");
        }
    }

    #[test]
    fn devices_pipes_and_volumes_without_a_letter_are_no_directories() {
        for text in [r"\\.\NUL", r"\\.\pipe\a", r"\\?\Volume{0}\a", r"\\?\pipe\a"] {
            assert!(is_no_directory(text), "{text}");
        }
        for text in [r"C:\a", r"\\server\share", r"\\?\C:\ends.\a", r"\\?\UNC\server\share\ends "] {
            assert!(!is_no_directory(text), "{text}");
        }
    }

    #[cfg(windows)]
    #[test]
    fn every_way_to_write_a_directory_comes_out_absolute_and_plain() {
        let here = std::env::current_dir().expect("a directory");
        let text = here.to_str().expect("text");
        let (drive, _) = text.split_at(2);
        for written in [
            "x".to_owned(),
            format!(r"{text}\x"),
            format!(r"\\?\{text}\x"),
            format!("{drive}x"),
            text.replace('\\', "/") + "/x",
            format!(r"{}\x", &text[2..]),
            r".\y\..\x".to_owned(),
        ] {
            let found = machine_path(Path::new(&written)).expect("a path");
            assert_eq!(found, here.join("x"), "{written}");
        }
        for refused in ["NUL", r"\\.\pipe\x", r"\\?\Volume{0}\x"] {
            assert!(machine_path(Path::new(refused)).is_err(), "{refused}");
        }
    }
}
