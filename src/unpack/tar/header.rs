//! One header block of a tar archive.

use tar::Header;

use super::super::error::Problem;

/// Bytes of a header, and what all data is padded to.
pub(super) const BLOCK: usize = 512;

/// The largest size twelve octal digits with their end can say.
const OCTAL_LIMIT: u64 = 0o77_777_777_777;

/// Whether data begins with a tar header, or is an empty archive.
pub(in super::super) fn is_tar_start(head: &[u8]) -> bool {
    let Some(block) = head.get(..BLOCK) else {
        return false;
    };
    if block.iter().all(|byte| *byte == 0) {
        return head.len() >= 2 * BLOCK && head.iter().all(|byte| *byte == 0);
    }
    checksum_is_right(Header::from_byte_slice(block))
}

/// Whether the checksum is right, with bytes taken unsigned as POSIX says.
pub(super) fn checksum_is_right(header: &Header) -> bool {
    let bytes = header.as_bytes();
    let sum = bytes[..148].iter().chain(&bytes[156..]).map(|byte| u32::from(*byte)).sum::<u32>();
    header.cksum().is_ok_and(|declared| declared == sum + 8 * u32::from(b' '))
}

/// The size in a header, unless its field holds no number.
pub(super) fn size_of(header: &Header, name: &str) -> Result<u64, Problem> {
    header.entry_size().map_err(|_| Problem::Damaged {
        entry: Some(name.to_owned()),
        reason: "the size in its header is no number".to_owned(),
    })
}

/// The one size of an entry that has one in its header and perhaps one in its PAX records. They
/// must agree, unless the header's field is too small for the number: then writers leave 0 or the
/// largest it can hold.
pub(super) fn one_size(name: &str, header: u64, pax: Option<u64>) -> Result<u64, Problem> {
    match pax {
        None => Ok(header),
        Some(pax) if pax == header => Ok(pax),
        Some(pax) if pax > OCTAL_LIMIT && (header == 0 || header == OCTAL_LIMIT) => Ok(pax),
        Some(pax) => Err(Problem::Disagreement {
            entry: name.to_owned(),
            what: "the size",
            first: header.to_string(),
            second: pax.to_string(),
        }),
    }
}
