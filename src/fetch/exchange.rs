//! One HTTP exchange: the request with its redirects, then the body in pieces.
//!
//! A thread of its own talks to the server, so that whoever waits can be cancelled at any moment
//! and hashing overlaps with the network. Redirects are followed here and not by the client: each
//! is checked by name, and credentials never follow one to another host.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, IF_RANGE, LOCATION, RANGE};
use reqwest::{StatusCode, Url};

use super::classify::{Context, classify};
use super::error::FetchError;
use super::netrc::Netrc;
use super::options::{FetchOptions, ProxyChoice};
use super::trouble::Trouble;

const PIECE: usize = 256 * 1024;
const REDIRECTS: usize = 10;

/// The HTTP client with what it needs to explain itself.
pub(super) struct Web {
    client: Client,
    netrc: Netrc,
    no_authorities: Option<String>,
    stall: Duration,
    /// Everything goes through the proxy of the options.
    proxied: bool,
}

/// Which part of the file is asked for.
pub(super) struct Part {
    /// The first byte.
    pub(super) from: u64,
    /// The version it must belong to, for `If-Range`.
    pub(super) version: Option<String>,
}

/// An answer whose body is still to be read.
pub(super) struct Exchange {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) length: Option<u64>,
    pieces: Receiver<Message>,
}

/// What ended an exchange early.
pub(super) enum Stop {
    /// The mirror failed; whether trying again may help.
    Trouble(Trouble, bool),
    /// Cancelled from outside.
    Cancelled,
    /// This machine failed.
    Fatal(FetchError),
}

enum Message {
    Head { status: StatusCode, headers: HeaderMap, length: Option<u64> },
    NoHead(reqwest::Error),
    Piece(Vec<u8>),
    Broken(io::Error),
    End,
}

impl Web {
    /// Makes the client. A machine without certificate authorities is no error as long as nothing
    /// needs them.
    pub(super) fn new(options: &FetchOptions) -> Result<Self, FetchError> {
        // An error only says that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let netrc = Netrc::load(&options.credentials)?;
        let (client, no_authorities) = match builder(options)?.build() {
            Ok(client) => (client, None),
            Err(error) => {
                let reason = super::classify::innermost(&error);
                let client = builder(options)?
                    .tls_certs_only([])
                    .build()
                    .map_err(|_| FetchError::Client { reason: reason.clone() })?;
                (client, Some(reason))
            }
        };
        Ok(Self {
            client,
            netrc,
            no_authorities,
            stall: options.stall_timeout,
            proxied: matches!(options.proxy, ProxyChoice::Url(_)),
        })
    }

    /// Asks for the file or a part of it, following redirects.
    pub(super) fn open(
        &self,
        first: &Url,
        part: Option<&Part>,
        options: &FetchOptions,
    ) -> Result<Exchange, Stop> {
        let mut seen = vec![first.clone()];
        let mut url = first.clone();
        loop {
            let exchange = self.ask(first, &url, part, options)?;
            if !is_redirect(exchange.status) {
                return Ok(exchange);
            }
            url = next_hop(&exchange, &url, &seen)
                .map_err(|why| Stop::Trouble(Trouble::Redirect(why), false))?;
            seen.push(url.clone());
        }
    }

    fn ask(
        &self,
        first: &Url,
        url: &Url,
        part: Option<&Part>,
        options: &FetchOptions,
    ) -> Result<Exchange, Stop> {
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(part) = part {
            request = request.header(RANGE, format!("bytes={}-", part.from));
            if let Some(version) = &part.version {
                request = request.header(IF_RANGE, version);
            }
        }
        if let Some((login, password)) = self.login(first, url) {
            request = request.basic_auth(login, Some(password));
        }
        let (sender, pieces) = sync_channel(4);
        std::thread::Builder::new()
            .name("download".to_owned())
            .spawn(move || talk(request, &sender))
            .map_err(|error| Stop::Fatal(FetchError::Client { reason: error.to_string() }))?;
        match receive(&pieces, options)? {
            Message::Head { status, headers, length } => {
                Ok(Exchange { status, headers, length, pieces })
            }
            Message::NoHead(error) => Err(self.explain(&error, url)),
            _ => Err(Stop::Trouble(Trouble::Http("no answer".to_owned()), false)),
        }
    }

    /// Credentials for this address: only for the host first asked, and only where nobody listens.
    fn login(&self, first: &Url, url: &Url) -> Option<(&str, &str)> {
        if url.origin() != first.origin() || !(url.scheme() == "https" || is_loopback(url)) {
            return None;
        }
        self.netrc.login(url.host_str()?)
    }

    fn explain(&self, error: &(dyn std::error::Error + 'static), url: &Url) -> Stop {
        let no_authorities = self.no_authorities.as_deref();
        let (trouble, again) = classify(error, &Context { url, no_authorities, stall: self.stall });
        match trouble {
            Trouble::Refused { host } if self.proxied => {
                let detail = "it refused the connection".to_owned();
                Stop::Trouble(Trouble::Proxy { host, detail }, again)
            }
            Trouble::Connect { host, detail } if self.proxied => {
                Stop::Trouble(Trouble::Proxy { host, detail }, again)
            }
            trouble => Stop::Trouble(trouble, again),
        }
    }

    /// Why a body broke off, as one line, or the trouble itself where it is a clear one.
    pub(super) fn explain_body(&self, error: &io::Error, url: &Url) -> Result<String, Trouble> {
        let no_authorities = self.no_authorities.as_deref();
        match classify(error, &Context { url, no_authorities, stall: self.stall }).0 {
            trouble @ Trouble::Timeout { .. } => Err(trouble),
            _ => Ok(super::classify::innermost(error)),
        }
    }
}

impl Exchange {
    /// The next piece of the body; none at its sound end.
    pub(super) fn piece(
        &self,
        options: &FetchOptions,
    ) -> Result<Result<Option<Vec<u8>>, io::Error>, Stop> {
        match receive(&self.pieces, options)? {
            Message::Piece(bytes) => Ok(Ok(Some(bytes))),
            Message::End => Ok(Ok(None)),
            Message::Broken(error) => Ok(Err(error)),
            Message::Head { .. } | Message::NoHead(_) => {
                Ok(Err(io::Error::other("two answers to one request")))
            }
        }
    }

    /// A header as text.
    pub(super) fn header(&self, name: impl reqwest::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn builder(options: &FetchOptions) -> Result<reqwest::blocking::ClientBuilder, FetchError> {
    let builder = Client::builder()
        .user_agent(concat!("drystone/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(options.connect_timeout)
        // In the blocking client: for the head and for each read, not for the whole.
        .timeout(options.stall_timeout);
    Ok(match &options.proxy {
        ProxyChoice::System => builder,
        ProxyChoice::Direct => builder.no_proxy(),
        ProxyChoice::Url(url) => builder.proxy(reqwest::Proxy::all(url).map_err(|_| {
            FetchError::Client { reason: "the proxy's address is no URL".to_owned() }
        })?),
    })
}

/// The thread that talks: head, pieces, end. It stops when nobody receives any more.
fn talk(request: reqwest::blocking::RequestBuilder, sender: &SyncSender<Message>) {
    let mut response = match request.send() {
        Ok(response) => response,
        Err(error) => {
            let _ = sender.send(Message::NoHead(error));
            return;
        }
    };
    let head = Message::Head {
        status: response.status(),
        headers: response.headers().clone(),
        length: response.content_length(),
    };
    if sender.send(head).is_ok() {
        send_body(&mut response, sender);
    }
}

fn send_body(response: &mut Response, sender: &SyncSender<Message>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let message = match response.read(&mut buffer) {
            Ok(0) => Message::End,
            Ok(count) => Message::Piece(buffer[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Message::Broken(error),
        };
        let last = !matches!(message, Message::Piece(_));
        if sender.send(message).is_err() || last {
            return;
        }
    }
}

/// Waits for a message, looking at the cancel flag often enough for a person.
fn receive(pieces: &Receiver<Message>, options: &FetchOptions) -> Result<Message, Stop> {
    loop {
        if options.cancelled() {
            return Err(Stop::Cancelled);
        }
        match pieces.recv_timeout(Duration::from_millis(100)) {
            Ok(message) => return Ok(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Message::Broken(io::Error::other("the download thread ended")));
            }
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Where a redirect leads, or why it is not followed.
fn next_hop(exchange: &Exchange, from: &Url, seen: &[Url]) -> Result<Url, String> {
    let code = exchange.status.as_u16();
    let Some(location) = exchange.header(LOCATION) else {
        return Err(format!("HTTP {code} says to look elsewhere but not where (no Location)"));
    };
    let next = from
        .join(location)
        .map_err(|_| format!("HTTP {code} leads to an address that cannot be understood"))?;
    if !next.username().is_empty() || next.password().is_some() {
        return Err(format!(
            "redirect to {} refused: the address carries a user name or password",
            shown(&next)
        ));
    }
    match (from.scheme(), next.scheme()) {
        ("https", "http") => Err(format!(
            "redirect from {} to {} refused: it leads from https to unprotected http",
            shown(from),
            shown(&next)
        )),
        (_, "http" | "https") if seen.contains(&next) => Err(format!(
            "redirects go in a circle: {}",
            seen.iter().chain([&next]).map(shown).collect::<Vec<_>>().join(" → ")
        )),
        (_, "http" | "https") if seen.len() > REDIRECTS => {
            Err(format!("more than {REDIRECTS} redirects; the last leads to {}", shown(&next)))
        }
        (_, "http" | "https") => Ok(next),
        (_, scheme) => Err(format!("redirect to a {scheme}: address refused")),
    }
}

/// An address that a server gave, without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Both fail only for addresses without a host, which have neither.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}
