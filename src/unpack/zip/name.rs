//! The names of zip entries, which come in many encodings and rarely say which.

use encoding_rs::Encoding;

use super::super::error::Problem;

/// Code page 437 from 0x80 on, as IBM PCs had it: what zip means when it says nothing.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The encoding that a source declares.
pub(super) fn declared(label: Option<&str>) -> Result<Option<&'static Encoding>, Problem> {
    label
        .map(|label| {
            Encoding::for_label(label.as_bytes())
                .ok_or_else(|| Problem::UnknownEncoding(label.to_owned()))
        })
        .transpose()
}

/// Reads a name: flag 11 says UTF-8, else the Unicode Path field, else what the source declares,
/// else UTF-8 if it is that, else code page 437.
pub(super) fn decode(
    raw: &[u8],
    utf8: bool,
    unicode_path: Option<&[u8]>,
    declared: Option<&'static Encoding>,
) -> Result<String, Problem> {
    let wrong = |encoding: &str| Problem::NameEncoding {
        entry: String::from_utf8_lossy(raw).escape_debug().to_string(),
        encoding: encoding.to_owned(),
    };
    if utf8 {
        return String::from_utf8(raw.to_vec()).map_err(|_| wrong("UTF-8, as the archive says"));
    }
    if let Some(name) = unicode_path.and_then(|field| from_unicode_path(raw, field)) {
        return Ok(name);
    }
    if let Some(encoding) = declared {
        return encoding
            .decode_without_bom_handling_and_without_replacement(raw)
            .map(std::borrow::Cow::into_owned)
            .ok_or_else(|| wrong(encoding.name()));
    }
    Ok(std::str::from_utf8(raw).map_or_else(|_| from_cp437(raw), str::to_owned))
}

/// The name in a Unicode Path field, if the field was made for this very name.
fn from_unicode_path(raw: &[u8], field: &[u8]) -> Option<String> {
    let (version, rest) = field.split_first()?;
    let (checksum, name) = rest.split_first_chunk::<4>()?;
    let mut crc = flate2::Crc::new();
    crc.update(raw);
    if *version != 1 || crc.sum() != u32::from_le_bytes(*checksum) {
        return None;
    }
    String::from_utf8(name.to_vec()).ok()
}

fn from_cp437(raw: &[u8]) -> String {
    let upper: Vec<char> = CP437.chars().collect();
    raw.iter()
        .map(|byte| match byte.checked_sub(0x80) {
            None => char::from(*byte),
            Some(at) => upper.get(usize::from(at)).copied().unwrap_or('\u{fffd}'),
        })
        .collect()
}
