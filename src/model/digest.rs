//! Digests, each a type of its own so that one can never stand for another.
//!
//! Inside drystone everything is BLAKE3-256: a blob's digest is plain (what `b3sum` prints), all
//! others use `derive_key` with a context of their own and length-prefixed fields. SHA-256 is only
//! for what upstream publishes. Text form: `blake3:<64 hex>` and `sha256:<64 hex>`.

use std::fmt;
use std::str::FromStr;

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The algorithm prefix is missing or another one.
    #[error("\"{text}\" does not start with \"{expected}:\"")]
    Prefix {
        /// The whole text.
        text: String,
        /// The prefix this type has.
        expected: &'static str,
    },
    /// What follows the prefix is not 64 lower-case hexadecimal digits.
    #[error("\"{text}\" is not 64 lower-case hexadecimal digits")]
    Hex {
        /// The hexadecimal part.
        text: String,
    },
}

fn parse_hex(text: &str) -> Result<[u8; 32], DigestError> {
    let wrong = || DigestError::Hex { text: text.to_owned() };
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return Err(wrong());
    }
    let mut bytes = [0u8; 32];
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = (NIBBLES[usize::from(pair[0])], NIBBLES[usize::from(pair[1])]);
        all |= high | low;
        *byte = high << 4 | low & 15;
    }
    if all > 15 { Err(wrong()) } else { Ok(bytes) }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The value of each digit; more than 15 where a byte is none.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        nibbles[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    nibbles
};

fn push_hex(bytes: &[u8; 32], text: &mut String) {
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn hex(bytes: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    push_hex(bytes, &mut text);
    text
}

macro_rules! digest_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The digest of these 32 bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// 64 lower-case hexadecimal digits, without the prefix: for file names.
            pub fn hex(&self) -> String {
                hex(&self.0)
            }

            /// Adds what [`hex`](Self::hex) gives to a text.
            pub fn push_hex(&self, text: &mut String) {
                push_hex(&self.0, text);
            }

            /// Reads 64 lower-case hexadecimal digits without a prefix.
            pub fn from_hex(text: &str) -> Result<Self, DigestError> {
                parse_hex(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, ":{}"), self.hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.hex())
            }
        }

        impl FromStr for $name {
            type Err = DigestError;

            fn from_str(text: &str) -> Result<Self, DigestError> {
                match text.strip_prefix(concat!($prefix, ":")) {
                    Some(digits) => Self::from_hex(digits),
                    None => Err(DigestError::Prefix { text: text.to_owned(), expected: $prefix }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

digest_type!(
    /// What upstream publishes of an archive.
    Sha256Digest,
    "sha256"
);
digest_type!(
    /// One file's content: plain BLAKE3-256, what `b3sum` prints.
    BlobId,
    "blake3"
);
digest_type!(
    /// A tree: the digest of its canonical text. An environment's hash is always this.
    TreeId,
    "blake3"
);
digest_type!(
    /// An archive and how it is unpacked: what the store keeps trees under.
    UnpackKey,
    "blake3"
);
digest_type!(
    /// One node of the resolved graph: a package or a host component on one platform.
    NodeId,
    "blake3"
);
digest_type!(
    /// All that decides an environment on one platform.
    RootId,
    "blake3"
);
digest_type!(
    /// An environment's settings: variables, GPU targets, overrides.
    SettingsId,
    "blake3"
);
digest_type!(
    /// An application's description.
    ApplicationId,
    "blake3"
);
digest_type!(
    /// The manifest, its includes and local catalogues, after CRLF became LF.
    InputsDigest,
    "blake3"
);

/// Hashes named fields without ambiguity: every field is prefixed with its length as eight
/// little-endian bytes, every list with its count. The context keeps one kind of digest from ever
/// equalling another.
pub struct FieldHasher(blake3::Hasher);

impl FieldHasher {
    /// Starts with a `derive_key` context: a constant of the program, one for each kind of digest.
    pub fn new(context: &'static str) -> Self {
        Self(blake3::Hasher::new_derive_key(context))
    }

    /// Adds one field.
    pub fn field(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.number(bytes.len() as u64);
        self.0.update(bytes);
        self
    }

    /// Adds a number as eight little-endian bytes.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// Adds a field that may be absent; absent differs from empty.
    pub fn optional(&mut self, bytes: Option<impl AsRef<[u8]>>) -> &mut Self {
        match bytes {
            None => self.number(0),
            Some(bytes) => self.number(1).field(bytes),
        }
    }

    /// Adds a list: its count, then each item as a field.
    pub fn list<T: AsRef<[u8]>>(&mut self, items: impl IntoIterator<Item = T>) -> &mut Self {
        let items: Vec<T> = items.into_iter().collect();
        self.number(items.len() as u64);
        for item in items {
            self.field(item);
        }
        self
    }

    /// The 32 bytes of the digest.
    pub fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_survives_its_text_form() {
        let id = BlobId::from_bytes(*blake3::hash(b"").as_bytes());
        assert_eq!(
            id.to_string(),
            "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        assert_eq!(id.to_string().parse::<BlobId>(), Ok(id));
    }

    #[test]
    fn wrong_prefix_length_and_case_are_told_apart() {
        let hex = "a".repeat(64);
        assert!(matches!(
            format!("sha256:{hex}").parse::<BlobId>(),
            Err(DigestError::Prefix { expected: "blake3", .. })
        ));
        assert!(matches!("blake3:abc".parse::<BlobId>(), Err(DigestError::Hex { .. })));
        assert!(matches!(
            format!("blake3:{}", "A".repeat(64)).parse::<BlobId>(),
            Err(DigestError::Hex { .. })
        ));
    }

    #[test]
    fn moving_a_boundary_between_fields_changes_the_digest() {
        let digest = |fields: [&str; 2]| {
            FieldHasher::new("drystone test").field(fields[0]).field(fields[1]).finish()
        };
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
        let absent = FieldHasher::new("drystone test").optional(None::<&str>).finish();
        let empty = FieldHasher::new("drystone test").optional(Some("")).finish();
        assert_ne!(absent, empty);
    }
}
