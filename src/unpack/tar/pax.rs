//! PAX records: what a tar header of the next entry has no room for.
//!
//! Source: POSIX.1-2017, pax, "pax Extended Header".

use super::super::error::Problem;

/// The records that say something of the tree; all others are ignored.
#[derive(Debug, Default)]
pub(super) struct Pax {
    pub(super) path: Option<String>,
    pub(super) link: Option<String>,
    pub(super) size: Option<u64>,
    /// The first record that speaks of a sparse file.
    pub(super) sparse: Option<String>,
}

impl Pax {
    /// Reads the records of one header. A record that is said twice is refused: readers differ in
    /// which they take.
    pub(super) fn parse(data: &[u8], name: &str) -> Result<Self, Problem> {
        let wrong = |reason: &str| Problem::Damaged {
            entry: Some(name.to_owned()),
            reason: format!("its PAX records are wrong: {reason}"),
        };
        let mut pax = Self::default();
        let mut rest = data;
        while !rest.is_empty() {
            let (key, value, after) = record(rest).ok_or_else(|| wrong("a length is"))?;
            rest = after;
            let text = || {
                std::str::from_utf8(value).map(str::to_owned).map_err(|_| Problem::NameEncoding {
                    entry: String::from_utf8_lossy(value).escape_debug().to_string(),
                    encoding: "UTF-8".to_owned(),
                })
            };
            let again = match key {
                b"path" => pax.path.replace(text()?).is_some(),
                b"linkpath" => pax.link.replace(text()?).is_some(),
                b"size" => {
                    let digits = text()?;
                    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
                    let size = digits.parse().ok().filter(|_| plain);
                    pax.size.replace(size.ok_or_else(|| wrong("a size is no number"))?).is_some()
                }
                _ if key.starts_with(b"GNU.sparse.") => {
                    pax.sparse.get_or_insert(String::from_utf8_lossy(key).into_owned());
                    false
                }
                _ => false,
            };
            if again {
                return Err(wrong("one is said twice"));
            }
        }
        Ok(pax)
    }

    /// Whether it says anything that changes what the tree holds.
    pub(super) const fn tells(&self) -> bool {
        self.path.is_some() || self.link.is_some() || self.size.is_some() || self.sparse.is_some()
    }
}

/// One record `length key=value\n`, and what follows it.
fn record(data: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(&data[..space]).ok()?;
    let length: usize = digits.parse().ok().filter(|length| *length > space + 1)?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some((&body[..equals], &body[equals + 1..], &data[length..]))
}
