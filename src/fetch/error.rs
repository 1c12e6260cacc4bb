//! Errors of this room: what could not be fetched, what happened at each mirror, what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::trouble::{Mismatch, TlsProblem, Trouble};
use crate::disk;
use crate::model::{Fate, Vanished};

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum FetchError {
    /// No mirror gave it.
    #[error("{label} could not be fetched{}", lines(.attempts))]
    #[diagnostic(code(drystone::fetch::unavailable))]
    Unavailable {
        /// What was asked for.
        label: String,
        /// What happened at each mirror, in the order tried.
        attempts: Vec<Attempt>,
        /// What to do.
        #[help]
        help: String,
    },
    /// It is not here, and the network may not be used.
    #[error(
        "{label} is not in the store and drystone is offline{}: {url}",
        .size.map(|size| format!(" ({size} bytes)")).unwrap_or_default()
    )]
    #[diagnostic(code(drystone::fetch::offline))]
    Offline {
        /// What was asked for.
        label: String,
        /// Its size in bytes, where known.
        size: Option<u64>,
        /// Its first address.
        url: String,
        /// What to do.
        #[help]
        help: &'static str,
    },
    /// A source without any address.
    #[error("{label} has no url to fetch it from")]
    #[diagnostic(
        code(drystone::fetch::no_source),
        help("give its source a `url`, or bring the file with `drystone fetch --from FILE`")
    )]
    NoSource {
        /// What was asked for.
        label: String,
    },
    /// It was cancelled from outside.
    #[error("fetching {label} was interrupted")]
    #[diagnostic(
        code(drystone::fetch::interrupted),
        help("run the command again: it continues where it stopped")
    )]
    Cancelled {
        /// What was being fetched.
        label: String,
    },
    /// A file on this machine could not be read or written.
    #[error("{label}: could not {step} {}", .path.display())]
    #[diagnostic(code(drystone::fetch::disk))]
    Disk {
        /// What was being fetched.
        label: String,
        /// What was being done, as a verb.
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What to do.
        #[help]
        help: &'static str,
    },
    /// Another program took the file away, changed it or holds it back.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Vanished(Box<Vanished>),
    /// A file given by hand is not the wanted one.
    #[error("{} is not {label}: {trouble}", .path.display())]
    #[diagnostic(
        code(drystone::fetch::wrong_file),
        help("download it again from the address in the lock; nothing was changed")
    )]
    WrongFile {
        /// What was asked for.
        label: String,
        /// The file given.
        path: PathBuf,
        /// What is wrong with it.
        trouble: Box<Trouble>,
    },
    /// The netrc file cannot be used. Its content is never shown.
    #[error("the netrc file {} cannot be used: {reason}", .path.display())]
    #[diagnostic(
        code(drystone::fetch::netrc),
        help("correct the file, or set NETRC to another one")
    )]
    Netrc {
        /// The file.
        path: PathBuf,
        /// Why not, with the line where there is one.
        reason: String,
    },
    /// The HTTP client cannot be made.
    #[error("the HTTP client could not be started: {reason}")]
    #[diagnostic(
        code(drystone::fetch::client),
        help("check the proxy settings (http_proxy, https_proxy, ALL_PROXY) and SSL_CERT_FILE")
    )]
    Client {
        /// Why.
        reason: String,
    },
}

/// What happened at one mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The address, as the manifest or lock has it.
    pub url: String,
    /// How often it was tried.
    pub tries: u32,
    /// What went wrong the last time.
    pub trouble: Trouble,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.url, self.trouble)?;
        if self.tries > 1 {
            write!(f, " (tried {} times)", self.tries)?;
        }
        Ok(())
    }
}

fn lines(attempts: &[Attempt]) -> String {
    attempts.iter().map(|attempt| format!("\n  {attempt}")).collect()
}

impl FetchError {
    pub(super) fn disk(label: &str, step: &'static str, path: &Path, source: io::Error) -> Self {
        if let Some(fate) = Fate::told_by(&source) {
            return Self::Vanished(Vanished::answered(fate, step, path, source));
        }
        let help = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full: free some space (`drystone gc` helps) and run the command again; it continues where it stopped"
            }
            io::ErrorKind::PermissionDenied => "check who owns that file and its directory",
            io::ErrorKind::ReadOnlyFilesystem => {
                "the store is on a read-only file system: name another with --store"
            }
            _ => disk::advice(
                &source,
                "check that file and its directory, then run the command again",
            ),
        };
        Self::Disk { label: label.to_owned(), step, path: path.to_owned(), source, help }
    }

    pub(super) fn unavailable(label: &str, known: bool, attempts: Vec<Attempt>) -> Self {
        let help = advice(known, &attempts);
        Self::Unavailable { label: label.to_owned(), attempts, help }
    }
}

/// What to do, from what happened: each kind of trouble once, then the way by hand: where the hash
/// is `known`, a file can be told to be the right one.
fn advice(known: bool, attempts: &[Attempt]) -> String {
    let any = |test: fn(&Trouble) -> bool| attempts.iter().any(|attempt| test(&attempt.trouble));
    let mut advice = Vec::new();
    if any(|trouble| {
        matches!(
            trouble,
            Trouble::Dns { .. }
                | Trouble::Refused { .. }
                | Trouble::Connect { .. }
                | Trouble::Timeout { .. }
        )
    }) {
        advice.push(
            match proxy_variable() {
                None => "check the network; behind a proxy set https_proxy (and http_proxy, NO_PROXY)".to_owned(),
                Some(name) => format!("check the network, and whether the proxy in {name} is right for this host (NO_PROXY leaves it out)"),
            },
        );
    }
    if any(|trouble| matches!(trouble, Trouble::Proxy { .. })) {
        advice.push(
            "check the proxy in http_proxy, https_proxy or ALL_PROXY, and its user and password"
                .into(),
        );
    }
    if any(
        |trouble| matches!(trouble, Trouble::Tls { problem, .. } if !matches!(problem, TlsProblem::NotTls)),
    ) {
        advice.push("certificates are checked against this machine's authorities; set SSL_CERT_FILE to a PEM file to use your company's".into());
    }
    if any(|trouble| matches!(trouble, Trouble::Status { code: 401 | 403, .. })) {
        advice.push("if the server wants a login, put it into ~/.netrc".into());
    }
    if any(|trouble| {
        matches!(trouble, Trouble::Mismatch(_) | Trouble::Size { .. } | Trouble::TooLong { .. })
    }) {
        advice.push("upstream may have replaced the file: change hash and size only if you know that the new one is right".into());
    }
    if any(|trouble| matches!(trouble, Trouble::File { .. })) {
        advice.push("put the file there, or correct the url".to_owned());
    }
    advice.push(if known {
        "or bring the file and give it with `drystone fetch --from FILE`".to_owned()
    } else {
        "or add the `sha256` of the right file to the source: `drystone fetch --from FILE` takes it then".to_owned()
    });
    let text = advice.join("; ");
    text.strip_prefix("or ").unwrap_or(&text).to_owned()
}

/// The name of a variable that sets a proxy; its value may hold a password.
fn proxy_variable() -> Option<&'static str> {
    ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Boxes what a file mismatch says.
impl From<Mismatch> for Trouble {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(Box::new(mismatch))
    }
}
