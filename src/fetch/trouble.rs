//! What can go wrong at one mirror, each in one line.

use std::fmt;
use std::path::PathBuf;

use super::sniff::Content;
use crate::model::Sha256Digest;

/// What went wrong at one mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The host's name has no address.
    #[error("the name {host} was not found (DNS): {detail}")]
    Dns {
        /// The host asked for.
        host: String,
        /// What the resolver said.
        detail: String,
    },
    /// Nothing listens there.
    #[error("{host} refused the connection")]
    Refused {
        /// Host and port.
        host: String,
    },
    /// The connection could not be made for another reason.
    #[error("no connection to {host}: {detail}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system said.
        detail: String,
    },
    /// The secure connection failed.
    #[error("the secure connection to {host} failed: {problem}")]
    Tls {
        /// Host and port.
        host: String,
        /// Why.
        problem: TlsProblem,
    },
    /// The proxy failed, not the server behind it.
    #[error("the proxy on the way to {host} failed: {detail}")]
    Proxy {
        /// The host behind it.
        host: String,
        /// What the proxy said.
        detail: String,
    },
    /// Nothing came for too long.
    #[error("{host} sent nothing for {seconds} s")]
    Timeout {
        /// Host and port.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// The server answered with a status that is no file.
    #[error("HTTP {code}{reason}{}", .asks.map(|s| format!(", asks to wait {s} s")).unwrap_or_default())]
    Status {
        /// The number.
        code: u16,
        /// Its usual name, with a space before it.
        reason: String,
        /// How long the server asks to be left alone, in seconds.
        asks: Option<u64>,
    },
    /// The answer broke off.
    #[error("the connection broke off after {got} bytes{}: {detail}", of(*.expected))]
    Interrupted {
        /// Bytes of the file that are here.
        got: u64,
        /// Bytes it should have.
        expected: Option<u64>,
        /// What the system said.
        detail: String,
    },
    /// A redirect that is not followed.
    #[error("{0}")]
    Redirect(String),
    /// The answer is no sound HTTP.
    #[error("the answer cannot be understood: {0}")]
    Http(String),
    /// The size is wrong, known before it was downloaded or at its end.
    #[error("wrong size: {got} bytes instead of {expected}; it is {came}")]
    Size {
        /// The size it must have.
        expected: u64,
        /// The size announced, or what came.
        got: u64,
        /// What it is instead.
        came: Content,
    },
    /// More came than there should be; the download was stopped there.
    #[error("more than the expected {expected} bytes came, so it was stopped; it is {came}")]
    TooLong {
        /// The size it must have.
        expected: u64,
        /// What it is instead.
        came: Content,
    },
    /// The whole file came and is another one.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// A `file:` source cannot be read.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// `--offline` forbids this mirror.
    #[error("not tried: offline")]
    Offline,
}

fn of(expected: Option<u64>) -> String {
    expected.map(|expected| format!(" of {expected}")).unwrap_or_default()
}

/// A whole file with the wrong hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The hash asked for.
    pub expected: Sha256Digest,
    /// The hash of what came.
    pub got: Sha256Digest,
    /// The size asked for, in bytes, where known.
    pub expected_size: Option<u64>,
    /// The size of what came, in bytes.
    pub got_size: u64,
    /// What it is.
    pub came: Content,
    /// Where it is kept; none where it lies where it always lay.
    pub aside: Option<PathBuf>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrong content: expected {}", self.expected)?;
        if let Some(size) = self.expected_size {
            write!(f, " ({size} bytes)")?;
        }
        write!(f, ", got {} ({} bytes), {}", self.got, self.got_size, self.came)?;
        match &self.aside {
            Some(aside) => write!(f, "; kept as {}", aside.display()),
            None => Ok(()),
        }
    }
}

/// Why a secure connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsProblem {
    /// No trusted authority stands behind the certificate.
    #[error("its certificate is signed by an authority that this machine does not trust")]
    UnknownIssuer,
    /// No trusted authority can be known: the machine has none.
    #[error("no certificate authorities were found on this machine ({0})")]
    NoAuthorities(String),
    /// The certificate is no longer valid.
    #[error("its certificate has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("its certificate is not valid yet; is this machine's clock right?")]
    NotValidYet,
    /// The certificate is for other names.
    #[error("its certificate is for another name")]
    WrongName,
    /// The certificate was withdrawn.
    #[error("its certificate was revoked")]
    Revoked,
    /// Another fault of the certificate.
    #[error("its certificate is not acceptable: {0}")]
    Certificate(String),
    /// What answers does not speak TLS.
    #[error("the server does not speak TLS at this port")]
    NotTls,
    /// Another fault of the handshake.
    #[error("{0}")]
    Handshake(String),
}
