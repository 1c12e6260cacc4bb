//! A lock: it is refused, or means what it says and is written as the same bytes again.
//!
//! Seals would refuse nearly every change before it is looked at. So each text is read once as it
//! is, and once with LF line ends and its seals made right, as `docs/format.md` describes them.

use drystone::lock::{changes, read, write};
use drystone::model::FieldHasher;

use super::diagnostic::draw;

/// Reads the bytes as the text of a lock.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_text(text);
    let sealed = with_right_seals(text);
    if sealed != text {
        check_text(&sealed);
    }
}

fn check_text(text: &str) {
    let lock = match read(text, "some.lock.kdl") {
        Ok(lock) => lock,
        Err(error) => return draw(error),
    };
    let written = write(&lock);
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    assert_eq!(written, plain, "what was read is not what was written");
    assert!(changes(&lock, &lock).is_empty());
    assert_eq!(read(&written, "some.lock.kdl").expect("its own text"), lock);
}

/// The text with each seal as it should be: that of a node over its lines, the last over all.
fn with_right_seals(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut sealed = String::with_capacity(text.len());
    let mut node = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        if indent == 4 && words.ends_with("{\n") {
            node = sealed.len();
        }
        if words.starts_with("seal ") {
            let from = if indent == 0 { 0 } else { node };
            let digest =
                FieldHasher::new("drystone 2026-12 lock seal v1").field(&sealed[from..]).finish();
            let digest = blake3::Hash::from_bytes(digest).to_hex();
            sealed.push_str(&line[..indent]);
            sealed.push_str(&format!("seal \"blake3:{digest}\"\n"));
        } else {
            sealed.push_str(line);
        }
    }
    sealed
}
