//! ELF: the dynamic section of Linux programs and libraries.
//!
//! Source of the layout: System V Application Binary Interface, "Object Files" and "Program Loading
//! and Dynamic Linking".

use object::elf::{
    DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRTAB, EM_386, EM_AARCH64, EM_X86_64,
    PT_DYNAMIC, PT_INTERP, PT_LOAD,
};

use super::window::Window;
use super::{BinaryFormat, Fault, Imports, MOST_LIBRARIES, Machine};

/// A stretch of the file that is loaded at an address.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

/// Reads a file that begins with the ELF magic. One for a big-endian machine says its machine only.
pub(super) fn read(window: &mut Window) -> Result<Imports, Fault> {
    let [class, order] = window.bytes::<2>(4)?;
    if order != 1 {
        let [high, low] = window.bytes::<2>(18)?;
        let machine = Machine::Other(u16::from_be_bytes([high, low]));
        return Ok(Imports::new(BinaryFormat::Elf, machine));
    }
    let wide = class == 2;
    let number = window.u16(18)?;
    let machine = match number {
        _ if number == EM_X86_64.0 && wide => Machine::X86_64,
        _ if number == EM_AARCH64.0 && wide => Machine::Aarch64,
        _ if number == EM_386.0 => Machine::X86,
        _ => Machine::Other(number),
    };
    let mut imports = Imports::new(BinaryFormat::Elf, machine);
    let segments = segments(window, wide)?;
    if let Some(interpreter) = segments.iter().find(|segment| segment.kind == PT_INTERP.0) {
        imports.interpreter = Some(window.text(interpreter.offset)?);
    }
    if let Some(dynamic) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC.0) {
        read_dynamic(window, wide, dynamic, &segments, &mut imports)?;
    }
    Ok(imports)
}

fn word(window: &mut Window, wide: bool, at: u64) -> Result<u64, Fault> {
    if wide { window.u64(at) } else { window.u32(at).map(u64::from) }
}

fn segments(window: &mut Window, wide: bool) -> Result<Vec<Segment>, Fault> {
    let table = word(window, wide, if wide { 32 } else { 28 })?;
    let (size_at, count_at) = if wide { (54, 56) } else { (42, 44) };
    let size = u64::from(window.u16(size_at)?);
    let count = u64::from(window.u16(count_at)?);
    if count > 0 && size < if wide { 56 } else { 32 } {
        return Err(Fault::damaged("its program headers are too small"));
    }
    let mut segments = Vec::new();
    for index in 0..count {
        let at = table.checked_add(index * size).ok_or_else(outside)?;
        let field = |wide_at: u64, narrow_at: u64| {
            at.checked_add(if wide { wide_at } else { narrow_at }).ok_or_else(outside)
        };
        segments.push(Segment {
            kind: window.u32(at)?,
            offset: word(window, wide, field(8, 4)?)?,
            address: word(window, wide, field(16, 8)?)?,
            length: word(window, wide, field(32, 16)?)?,
        });
    }
    Ok(segments)
}

fn outside() -> Fault {
    Fault::damaged("its headers point outside the file")
}

fn read_dynamic(
    window: &mut Window,
    wide: bool,
    dynamic: &Segment,
    segments: &[Segment],
    imports: &mut Imports,
) -> Result<(), Fault> {
    let step = if wide { 16 } else { 8 };
    let mut texts = None;
    let mut entries = Vec::new();
    for index in 0..(dynamic.length / step).min(4 * MOST_LIBRARIES as u64) {
        let at = dynamic.offset.checked_add(index * step).ok_or_else(outside)?;
        let tag = word(window, wide, at)?;
        let value = word(window, wide, at.checked_add(step / 2).ok_or_else(outside)?)?;
        match i64::try_from(tag).unwrap_or(i64::MAX) {
            tag if tag == DT_NULL.0 => break,
            tag if tag == DT_STRTAB.0 => texts = Some(place(segments, value)?),
            tag => entries.push((tag, value)),
        }
    }
    for (tag, value) in entries {
        let named = [DT_NEEDED.0, DT_SONAME.0, DT_RPATH.0, DT_RUNPATH.0];
        if !named.contains(&tag) {
            continue;
        }
        let table = texts.ok_or_else(|| Fault::damaged("its dynamic section has no texts"))?;
        let text = window.text(table.checked_add(value).ok_or_else(outside)?)?;
        if tag == DT_NEEDED.0 {
            if imports.libraries.len() == MOST_LIBRARIES {
                return Err(Fault::damaged("it needs too many libraries"));
            }
            imports.libraries.push(text);
        } else if tag == DT_SONAME.0 {
            imports.soname = Some(text);
        } else if tag == DT_RPATH.0 {
            imports.rpath = Some(text);
        } else {
            imports.runpath = Some(text);
        }
    }
    Ok(())
}

/// Where in the file an address of the loaded image lies.
fn place(segments: &[Segment], address: u64) -> Result<u64, Fault> {
    segments
        .iter()
        .filter(|segment| segment.kind == PT_LOAD.0)
        .find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            (inside < segment.length).then(|| segment.offset.checked_add(inside)).flatten()
        })
        .ok_or_else(|| Fault::damaged("its texts lie outside what is loaded"))
}
