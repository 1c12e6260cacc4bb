//! What Windows reads in the program's own file before it starts it.
#![cfg(windows)]

use object::LittleEndian as LE;
use object::read::pe::{PeFile64, ResourceDirectoryEntryData};

/// The manifest in the executable, by the walk that Windows makes: type 24, name 1, any language.
fn manifest() -> String {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_drystone")).expect("the program");
    let file = PeFile64::parse(&*bytes).expect("an executable");
    let (sections, directories) = (file.section_table(), file.data_directories());
    let resources =
        directories.resource_directory(&*bytes, &sections).expect("resources").expect("some");
    let mut table = resources.root().expect("types");
    for number in [24, 1] {
        let entries = table.entries;
        let wanted = |id: &u16| *id == number;
        let entry =
            entries.iter().find(|entry| entry.name_or_id().id().is_some_and(|id| wanted(&id)));
        let data = entry.expect("a manifest").data(resources).expect("a table");
        table = match data {
            ResourceDirectoryEntryData::Table(table) => table,
            ResourceDirectoryEntryData::Data(_) => panic!("languages are missing"),
        };
    }
    let entry = table.entries.first().expect("a language").data(resources).expect("data");
    let ResourceDirectoryEntryData::Data(data) = entry else { panic!("a table too many") };
    let text = sections
        .pe_data_at(&*bytes, data.offset_to_data.get(LE))
        .and_then(|text| text.get(..data.size.get(LE) as usize))
        .expect("the text");
    String::from_utf8(text.to_vec()).expect("UTF-8")
}

#[test]
fn the_program_asks_for_no_rights_and_says_what_it_can() {
    let manifest = manifest();
    for said in [
        "level=\"asInvoker\"",
        "uiAccess=\"false\"",
        ">true</longPathAware>",
        ">UTF-8</activeCodePage>",
        // Windows 10 and 11.
        "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}",
        &format!("version=\"{}.0\"", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(manifest.contains(said), "no {said} in {manifest}");
    }
    assert!(!manifest.contains("<dependency>"), "{manifest}");
}
