//! The seal of a record: a digest of its own text, as its last field, so that no changed bit of it is
//! taken for what was built.

use super::record::digest;

const BEFORE: &str = ",\n  \"seal\": \"";
const BEHIND: &str = "\"\n}\n";
/// How an object ends that has no seal.
const END: &str = "\n}\n";

/// The text of a JSON object, over several lines, with its seal. None for any other text.
pub(super) fn sealed(text: &str) -> Option<String> {
    let open = text.strip_suffix(END)?;
    Some(format!("{open}{BEFORE}{}{BEHIND}", digest(text.as_bytes())))
}

/// Whether a text has a seal, and that is the one of the rest.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let parts = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.strip_suffix(BEHIND))
        .and_then(|text| text.rsplit_once(BEFORE));
    parts.is_some_and(|(open, seal)| seal == digest(format!("{open}{END}").as_bytes()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bit_of_a_sealed_text_can_change() {
        let text = sealed("{\n  \"format\": 2,\n  \"number\": 1\n}\n").expect("an object");
        assert!(is_whole(text.as_bytes()), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        for bit in 0..text.len() * 8 {
            let mut changed = text.clone().into_bytes();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&changed), "bit {bit}");
        }
        for length in 0..text.len() {
            assert!(!is_whole(&text.as_bytes()[..length]), "{length} bytes");
        }
    }
}
