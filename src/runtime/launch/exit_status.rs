//! What the statuses mean with which Windows ends a program that it could not begin.

/// What a status means that the program did not choose itself, and what to do; none for every other.
/// The numbers are those of ntstatus.h.
pub fn explained(status: i32) -> Option<String> {
    let (name, meaning) = match status.cast_unsigned() {
        0xC000_0135 => (
            "STATUS_DLL_NOT_FOUND",
            "a DLL that the program needs is neither beside it nor on PATH: name its package in the environment, or its file as an overlay",
        ),
        0xC000_0139 => (
            "STATUS_ENTRYPOINT_NOT_FOUND",
            "a DLL that the program loads is of a version without a function that it needs: see with \"drystone why\" which package it comes from",
        ),
        0xC000_007B => (
            "STATUS_INVALID_IMAGE_FORMAT",
            "a DLL that the program loads is for another architecture, or damaged: \"drystone store verify\" tells which of the two",
        ),
        0xC000_0142 => (
            "STATUS_DLL_INIT_FAILED",
            "a DLL that the program loads could not begin its work: often a driver or a runtime of another version",
        ),
        _ => return None,
    };
    Some(format!("Windows ended the program with {name}: {meaning}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_windows_says_of_missing_libraries_is_explained_and_nothing_else() {
        for (status, name) in [
            (0xC000_0135_u32, "STATUS_DLL_NOT_FOUND"),
            (0xC000_0139, "STATUS_ENTRYPOINT_NOT_FOUND"),
            (0xC000_007B, "STATUS_INVALID_IMAGE_FORMAT"),
            (0xC000_0142, "STATUS_DLL_INIT_FAILED"),
        ] {
            let words = explained(status.cast_signed()).expect("an explanation");
            assert!(words.contains(name), "{words}");
        }
        for status in [0, 1, 127, 135, -1, 0xC000_0005_u32.cast_signed()] {
            assert_eq!(explained(status), None, "{status}");
        }
    }
}
