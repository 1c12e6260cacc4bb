//! A catalogue file: it is decoded or complained about, whatever its line ends.

use drystone::manifest::decode_catalogue;

use super::diagnostic::draw;

/// Decodes the bytes as a catalogue's text.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let decoded = match decode_catalogue("parts/other.kdl", text.to_owned()) {
        Ok(decoded) => decoded,
        Err(error) => return draw(error),
    };
    let lines = text.replace("\r\n", "\n");
    let windows = decode_catalogue("parts/other.kdl", lines.replace('\n', "\r\n"))
        .expect("the same text with other line ends");
    assert_eq!(windows.file, decoded.file);
    assert_eq!(format!("{:?}", windows.packages), format!("{:?}", decoded.packages));
    assert_eq!(format!("{:?}", windows.hosts), format!("{:?}", decoded.hosts));
}
