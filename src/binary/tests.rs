//! Imports are read from PE and ELF files made byte by byte, and hostile ones are refused.

use super::*;

fn of(bytes: &[u8]) -> Result<Option<Imports>, BinaryError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    std::fs::write(&path, bytes).expect("a file");
    imports(&path)
}

/// A PE32+ library with one import, one delay import, in one section that begins at 0x200.
pub(crate) fn small_pe(machine: u16, library: &str, delayed: &str) -> Vec<u8> {
    let mut file = vec![0u8; 0x400];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"MZ");
    put(0x3c, &0x40u32.to_le_bytes());
    put(0x40, b"PE\0\0");
    put(0x44, &machine.to_le_bytes());
    put(0x46, &1u16.to_le_bytes());
    put(0x54, &240u16.to_le_bytes());
    put(0x58, &0x20bu16.to_le_bytes());
    put(0x58 + 108, &16u32.to_le_bytes());
    put(0x58 + 112 + 8, &0x1000u32.to_le_bytes());
    put(0x58 + 112 + 13 * 8, &0x1040u32.to_le_bytes());
    let section = 0x58 + 240;
    put(section + 8, &0x200u32.to_le_bytes());
    put(section + 12, &0x1000u32.to_le_bytes());
    put(section + 16, &0x200u32.to_le_bytes());
    put(section + 20, &0x200u32.to_le_bytes());
    put(0x200 + 12, &0x1100u32.to_le_bytes());
    put(0x240, &1u32.to_le_bytes());
    put(0x244, &0x1180u32.to_le_bytes());
    put(0x300, library.as_bytes());
    put(0x380, delayed.as_bytes());
    file
}

#[test]
fn imports_and_delay_imports_of_a_windows_library_are_read() {
    let found = of(&small_pe(0x8664, "nvcuda.dll", "cublas64_11.dll")).expect("read").expect("PE");
    assert_eq!(found.machine, Machine::X86_64);
    assert_eq!(found.libraries, ["nvcuda.dll"]);
    assert_eq!(found.delayed, ["cublas64_11.dll"]);
    assert!(found.runs_on(Platform::X86_64Windows) && !found.runs_on(Platform::X86_64Linux));
    let arm = of(&small_pe(0xaa64, "a.dll", "b.dll")).expect("read").expect("PE");
    assert!(!arm.runs_on(Platform::X86_64Windows));
}

#[test]
fn texts_scripts_and_empty_files_are_no_binaries() {
    for other in [&b""[..], b"#!/bin/sh\n", b"MZ", b"MZ and nothing more of it at all", b"\x7fEL"] {
        assert_eq!(of(other).expect("read"), None);
    }
}

#[test]
fn damaged_binaries_never_panic() {
    let whole = small_pe(0x8664, "nvcuda.dll", "cublas64_11.dll");
    for length in 0..whole.len() {
        let _ = of(&whole[..length]);
    }
    let mut lying = whole.clone();
    for at in 0..whole.len() {
        lying[at] = 0xff;
        let _ = of(&lying);
        lying[at] = whole[at];
    }
}

#[cfg(target_os = "linux")]
#[test]
fn this_program_says_what_it_needs() {
    let path = std::env::current_exe().expect("this program");
    let found = imports(&path).expect("read").expect("ELF");
    assert_eq!(found.format, BinaryFormat::Elf);
    assert!(found.libraries.iter().any(|library| library.starts_with("libc.so")), "{found:?}");
    assert!(found.interpreter.is_some());
    assert!(found.runs_on(Platform::current().expect("a platform")));
    let head = std::fs::read(&path).expect("bytes");
    for length in (0..4096.min(head.len())).step_by(7) {
        let _ = of(&head[..length]);
    }
}
