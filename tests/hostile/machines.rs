//! Programs and libraries for another machine than the platform's.

use super::bytes::{ZipEntry, tar, tar_entry, zip};
use super::case::{Case, Systems, executable, file};
use super::ground::Ground;
use super::parts::{a_file, both};

const WRONG: &str = "drystone::runtime::wrong_machine";

const X86_64: u16 = 0x8664;
const ARM64: u16 = 0xaa64;
const I386: u16 = 0x014c;

/// A Windows program without imports, for this machine.
fn pe(machine: u16) -> Vec<u8> {
    let mut file = vec![0u8; 0x400];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"MZ");
    put(0x3c, &0x40u32.to_le_bytes());
    put(0x40, b"PE\0\0");
    put(0x44, &machine.to_le_bytes());
    put(0x54, &240u16.to_le_bytes());
    put(0x58, &(if machine == I386 { 0x10bu16 } else { 0x20b }).to_le_bytes());
    put(0x58 + 108, &16u32.to_le_bytes());
    file
}

/// A Linux program without imports, for this machine.
fn elf(machine: u16) -> Vec<u8> {
    let mut file = vec![0u8; 128];
    let wide = machine != 3;
    file[..4].copy_from_slice(b"\x7fELF");
    file[4..7].copy_from_slice(&[if wide { 2 } else { 1 }, 1, 1]);
    file[16] = 2;
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[20] = 1;
    file[if wide { 54 } else { 42 }] = if wide { 56 } else { 32 };
    file
}

#[test]
fn programs_for_another_machine() {
    let mut cases = Vec::new();
    for (what, content, machine) in [
        ("arm64", pe(ARM64), "aarch64"),
        ("i386", pe(I386), "x86 (32-bit)"),
        ("Linux", elf(62), "ELF"),
    ] {
        for (kind, archive) in both(&[a_file("tool.exe", content.clone())]) {
            let what = format!("a program for {what} in a {kind}, for Windows");
            let case = Case::refused(what, archive, WRONG, &["tool.exe", machine]);
            cases.push(case.on(Systems::Windows).running("program \"PACKAGE/tool.exe\""));
        }
    }
    for (what, content, machine) in [
        ("aarch64", elf(183), "aarch64"),
        ("i386", elf(3), "x86 (32-bit)"),
        ("RISC-V", elf(243), "0x00f3"),
        ("Windows", pe(X86_64), "Windows"),
    ] {
        let archives = [
            zip(&[ZipEntry { mode: 0o100_755, ..ZipEntry::new("tool", &content) }]),
            tar(&[tar_entry(b'0', "tool", "", 0o755, &content)]),
        ];
        for (kind, archive) in ["zip", "tar"].into_iter().zip(archives) {
            let what = format!("a program for {what} in a {kind}, for Linux");
            let case = Case::refused(what, archive, WRONG, &["tool", machine]);
            cases.push(case.on(Systems::Linux).running("program \"PACKAGE/tool\""));
        }
    }
    let archive = zip(&[ZipEntry { mode: 0o100_755, ..ZipEntry::new("tool", elf(62)) }]);
    let honest =
        Case::gives("a program for this machine", archive, vec![executable("tool", elf(62))]);
    cases.push(honest.on(Systems::Linux).running("program \"PACKAGE/tool\""));
    for (kind, archive) in both(&[a_file("tool.exe", pe(X86_64)), a_file("layer.dll", pe(ARM64))]) {
        let lines = vec![file("tool.exe", pe(X86_64)), file("layer.dll", pe(ARM64))];
        let overlay = Case::gives(
            format!("a library of the overlay for arm64 in a {kind}"),
            archive.clone(),
            lines.clone(),
        )
        .on(Systems::Windows)
        .with("overlay \"layer.dll\"")
        .running("program \"PACKAGE/tool.exe\"\noverlay \"PACKAGE\"")
        .saying(&["layer.dll is built for aarch64 and cannot be loaded here"]);
        cases.push(overlay);
        // A package may hold programs for several machines; nothing here starts or loads them.
        cases.push(Case::gives(format!("a library that nobody loads in a {kind}"), archive, lines));
    }
    Ground::new().judge("programs for another machine", &cases);
}
