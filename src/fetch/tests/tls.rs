//! Secure connections that fail, each with its reason, and one that does not.
//!
//! The certificates in `tests/support/tls` are for 127.0.0.1 and signed by themselves; their key is
//! worth nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::http_server::Connection;
use super::*;

const TRUSTED: &[u8] = include_bytes!("../../../tests/support/tls/localhost.der");
const EXPIRED: &[u8] = include_bytes!("../../../tests/support/tls/expired.der");
const KEY: &[u8] = include_bytes!("../../../tests/support/tls/key.der");

struct Secure(StreamOwned<ServerConnection, TcpStream>);

impl Read for Secure {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Connection for Secure {
    fn close(&mut self) {
        self.0.conn.send_close_notify();
        let _ = self.0.flush();
        self.0.sock.close();
    }
}

fn secure_server(certificate: &'static [u8]) -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], key)
        .unwrap();
    let config = Arc::new(config);
    Server::start_with(move |stream| {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        Ok(Box::new(Secure(StreamOwned::new(connection, stream))))
    })
}

fn https(server: &Server, path: &str) -> String {
    format!("https://{}{path}", server.authority())
}

fn attempt(server: &Server) -> (TlsProblem, u32, String) {
    let case = Case::new(b"x", &[https(server, "/a")]);
    match case.fetch() {
        Err(FetchError::Unavailable { mut attempts, help, .. }) => match attempts.remove(0) {
            Attempt { trouble: Trouble::Tls { problem, .. }, tries, .. } => (problem, tries, help),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_authority_is_named_and_not_tried_again() {
    let (problem, tries, help) = attempt(&secure_server(TRUSTED));
    assert!(
        matches!(problem, TlsProblem::UnknownIssuer | TlsProblem::NoAuthorities(_)),
        "{problem:?}"
    );
    assert_eq!(tries, 1);
    assert!(help.contains("SSL_CERT_FILE"), "{help}");
    for never in ["insecure", "disable", "no-check"] {
        assert!(!help.contains(never), "{help}");
    }
}

#[test]
fn an_expired_certificate_is_named() {
    let (problem, tries, _) = attempt(&secure_server(EXPIRED));
    // Windows names one fault of a certificate, and that nobody trusts this one comes first there.
    let wanted = if cfg!(windows) { TlsProblem::UnknownIssuer } else { TlsProblem::Expired };
    assert_eq!((problem, tries), (wanted, 1));
}

#[test]
fn a_server_without_tls_is_named() {
    let (problem, tries, _) = attempt(&Server::start());
    assert_eq!((problem, tries), (TlsProblem::NotTls, 1));
}

#[cfg(not(windows))]
fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in der.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * place) & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
        if text.len() % 65 == 64 {
            text.push('\n');
        }
    }
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", text.trim_end())
}

#[cfg(not(windows))]
fn trusting(authorities: &str, test: &str) {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("authorities.pem");
    write(&file, authorities);
    in_child(test, &[("SSL_CERT_FILE", file.to_str().unwrap()), ("SSL_CERT_DIR", "")]);
}

#[cfg(not(windows))]
#[test]
fn ssl_cert_file_is_trusted() {
    if !is_child() {
        return trusting(&pem(TRUSTED), "tls::ssl_cert_file_is_trusted");
    }
    let (body, server, plain) = (body(100_000), secure_server(TRUSTED), Server::start());
    server.on("/a", Answer::file(body.clone()));
    server.on("/down", Answer::redirect(&plain.url("/a")));
    Case::new(&body, &[https(&server, "/a")]).fetch().unwrap();
    let text = Case::new(&body, &[https(&server, "/down")]).trouble().to_string();
    assert!(text.contains("leads from https to unprotected http"), "{text}");
    assert_eq!(plain.log().len(), 0);

    let other_name = https(&server, "/a").replace("127.0.0.1", "localhost");
    let trouble = Case::new(&body, &[other_name]).trouble();
    assert!(matches!(trouble, Trouble::Tls { problem: TlsProblem::WrongName, .. }), "{trouble:?}");

    let mut case = Case::new(&body, &[https(&server, "/a")]);
    let proxy = Server::start();
    case.options.proxy = ProxyChoice::Url(proxy.url(""));
    case.fetch().unwrap();
    assert_eq!(proxy.log()[0].method, "CONNECT");
}

#[cfg(not(windows))]
#[test]
fn a_machine_without_authorities_still_fetches_over_http() {
    if !is_child() {
        return trusting("", "tls::a_machine_without_authorities_still_fetches_over_http");
    }
    let (body, plain) = (body(100), Server::start());
    plain.on("/a", Answer::file(body.clone()));
    Case::new(&body, &[plain.url("/a")]).fetch().unwrap();
    let (problem, ..) = attempt(&secure_server(TRUSTED));
    assert!(matches!(problem, TlsProblem::NoAuthorities(_)), "{problem:?}");
}
