//! PE: the import table and the delay import table of Windows programs and libraries.
//!
//! Source of the layout: Microsoft, "PE Format".

use object::pe::{
    IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT, IMAGE_DIRECTORY_ENTRY_IMPORT, IMAGE_FILE_MACHINE_AMD64,
    IMAGE_FILE_MACHINE_ARM64, IMAGE_FILE_MACHINE_I386, IMAGE_NT_OPTIONAL_HDR32_MAGIC,
    IMAGE_NT_OPTIONAL_HDR64_MAGIC,
};

use super::window::Window;
use super::{BinaryFormat, Fault, Imports, MOST_LIBRARIES, Machine};

/// The most sections that Windows loads.
const MOST_SECTIONS: u16 = 96;

struct Section {
    address: u32,
    length: u32,
    offset: u32,
}

/// Reads a file that begins with `MZ`; none if no PE header follows (a DOS program).
pub(super) fn read(window: &mut Window) -> Result<Option<Imports>, Fault> {
    let Ok(header) = window.u32(0x3c).map(u64::from) else { return Ok(None) };
    match window.bytes::<4>(header) {
        Ok([b'P', b'E', 0, 0]) => {}
        Ok(_) | Err(Fault::Damaged(_)) => return Ok(None),
        Err(fault) => return Err(fault),
    }
    let machine = match window.u16(header + 4)? {
        number if number == IMAGE_FILE_MACHINE_AMD64.0 => Machine::X86_64,
        number if number == IMAGE_FILE_MACHINE_ARM64.0 => Machine::Aarch64,
        number if number == IMAGE_FILE_MACHINE_I386.0 => Machine::X86,
        other => Machine::Other(other),
    };
    let mut imports = Imports::new(BinaryFormat::Pe, machine);
    let optional = header + 24;
    let (count_at, image_base) = match window.u16(optional)? {
        IMAGE_NT_OPTIONAL_HDR64_MAGIC => (optional + 108, 0),
        IMAGE_NT_OPTIONAL_HDR32_MAGIC => (optional + 92, window.u32(optional + 28)?),
        _ => return Err(Fault::damaged("its optional header has no known form")),
    };
    let sections = sections(window, header)?;
    let directories = window.u32(count_at)?;
    let table = |index: usize, window: &mut Window| -> Result<Option<u64>, Fault> {
        if index as u64 >= u64::from(directories) {
            return Ok(None);
        }
        match window.u32(count_at + 4 + index as u64 * 8)? {
            0 => Ok(None),
            address => place(&sections, address).map(Some),
        }
    };
    if let Some(at) = table(IMAGE_DIRECTORY_ENTRY_IMPORT, window)? {
        imports.libraries = names(window, &sections, at, 20, |window, at| window.u32(at + 12))?;
    }
    if let Some(at) = table(IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT, window)? {
        imports.delayed = names(window, &sections, at, 32, |window, at| {
            // Old linkers wrote addresses instead of offsets and left the lowest bit clear.
            let by_offset = window.u32(at)? & 1 == 1;
            let name = window.u32(at + 4)?;
            Ok(if by_offset { name } else { name.saturating_sub(image_base) })
        })?;
    }
    Ok(Some(imports))
}

fn sections(window: &mut Window, header: u64) -> Result<Vec<Section>, Fault> {
    let count = window.u16(header + 6)?;
    if count > MOST_SECTIONS {
        return Err(Fault::Damaged(format!("it declares {count} sections")));
    }
    let first = header + 24 + u64::from(window.u16(header + 20)?);
    let mut sections = Vec::new();
    for at in (0..u64::from(count)).map(|index| first + index * 40) {
        let (virtual_length, stored) = (window.u32(at + 8)?, window.u32(at + 16)?);
        sections.push(Section {
            address: window.u32(at + 12)?,
            // An absent virtual length means the stored one.
            length: if virtual_length == 0 { stored } else { virtual_length.min(stored) },
            offset: window.u32(at + 20)?,
        });
    }
    Ok(sections)
}

/// Where in the file an address of the loaded image lies.
fn place(sections: &[Section], address: u32) -> Result<u64, Fault> {
    sections
        .iter()
        .find_map(|section| {
            let inside = address.checked_sub(section.address)?;
            (inside < section.length).then(|| u64::from(section.offset) + u64::from(inside))
        })
        .ok_or_else(|| Fault::damaged("its import table lies outside its sections"))
}

/// The library names of a table whose records end with one without a name.
fn names(
    window: &mut Window,
    sections: &[Section],
    table: u64,
    record: u64,
    name_of: impl Fn(&mut Window, u64) -> Result<u32, Fault>,
) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    for index in 0..MOST_LIBRARIES as u64 {
        match name_of(window, table + index * record)? {
            0 => return Ok(names),
            address => names.push(window.text(place(sections, address)?)?),
        }
    }
    Err(Fault::damaged("its import table does not end"))
}
