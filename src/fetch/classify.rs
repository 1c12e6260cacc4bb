//! Finds out what kind of trouble an error of the HTTP client is, by walking its sources.
//!
//! The client's own texts are not shown: they name addresses after redirects, whose queries may
//! hold signatures.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::Url;
use rustls::{CertificateError, Error as TlsError};

use super::sniff::one_line;
use super::trouble::{TlsProblem, Trouble};

/// What is known when an error is classified.
pub(super) struct Context<'a> {
    /// The address that was asked.
    pub(super) url: &'a Url,
    /// Why the machine has no certificate authorities, if it has none.
    pub(super) no_authorities: Option<&'a str>,
    /// The limit that a timeout ran into.
    pub(super) stall: Duration,
}

/// The trouble, and whether trying again may help.
pub(super) fn classify(error: &(dyn Error + 'static), context: &Context) -> (Trouble, bool) {
    let host = authority(context.url);
    let chain = chain(error);
    if let Some(tls) = chain.iter().find_map(|error| error.downcast_ref::<TlsError>()) {
        let problem = tls_problem(tls, context.no_authorities);
        return (Trouble::Tls { host, problem }, false);
    }
    if let Some(tunnel) =
        chain.iter().map(ToString::to_string).find(|t| t.starts_with("tunnel error"))
    {
        let detail = tunnel.trim_start_matches("tunnel error: ").to_owned();
        let refused = detail.contains("proxy authorization");
        return (Trouble::Proxy { host, detail }, !refused);
    }
    let client = chain.iter().find_map(|error| error.downcast_ref::<reqwest::Error>());
    if client.is_some_and(reqwest::Error::is_dns)
        || chain.iter().any(|e| e.to_string() == "dns error")
    {
        let host = context.url.host_str().unwrap_or_default().to_owned();
        return (Trouble::Dns { host, detail: root(&chain) }, true);
    }
    let io_kind =
        chain.iter().rev().find_map(|e| e.downcast_ref::<io::Error>()).map(io::Error::kind);
    if client.is_some_and(reqwest::Error::is_timeout) || io_kind == Some(io::ErrorKind::TimedOut) {
        return (Trouble::Timeout { host, seconds: context.stall.as_secs() }, true);
    }
    if io_kind == Some(io::ErrorKind::ConnectionRefused) {
        return (Trouble::Refused { host }, true);
    }
    let broken = matches!(
        io_kind,
        Some(
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
        )
    );
    if broken || client.is_some_and(reqwest::Error::is_connect) {
        return (Trouble::Connect { host, detail: root(&chain) }, true);
    }
    let detail = root(&chain);
    // A server that closes before it answered is as good as a reset connection.
    let closed = detail.contains("connection closed") || detail.contains("end of file");
    if closed {
        return (Trouble::Connect { host, detail }, true);
    }
    (Trouble::Http(detail), false)
}

/// `host` or `host:port`.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The text of the innermost error, for a trouble's detail.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    root(&chain(error))
}

fn root(chain: &[&(dyn Error + 'static)]) -> String {
    // The client's own error prints its address; whatever lies below does not.
    let innermost = chain.iter().rev().find(|error| !error.is::<reqwest::Error>());
    innermost.map_or_else(|| "unknown error".to_owned(), |error| one_line(&error.to_string()))
}

/// The error and all below it. An `io::Error` leaves out the error it wraps, so that is added.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> Vec<&'e (dyn Error + 'static)> {
    let mut chain: Vec<&'e (dyn Error + 'static)> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        chain.push(error);
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    chain
}

fn tls_problem(error: &TlsError, no_authorities: Option<&str>) -> TlsProblem {
    let TlsError::InvalidCertificate(certificate) = error else {
        return match error {
            TlsError::InvalidMessage(_) => TlsProblem::NotTls,
            other => TlsProblem::Handshake(one_line(&other.to_string())),
        };
    };
    match certificate {
        CertificateError::UnknownIssuer => match no_authorities {
            Some(reason) => TlsProblem::NoAuthorities(reason.to_owned()),
            None => TlsProblem::UnknownIssuer,
        },
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsProblem::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsProblem::NotValidYet
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsProblem::WrongName
        }
        CertificateError::Revoked => TlsProblem::Revoked,
        other => TlsProblem::Certificate(one_line(&other.to_string())),
    }
}
