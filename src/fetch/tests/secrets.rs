//! Credentials: to whom they go, and where they never appear.

use super::*;

/// A netrc with a login for loopback, and the header it makes.
fn netrc(case: &mut Case) -> &'static str {
    let path = case.directory.path().join("netrc");
    write(&path, "machine 127.0.0.1 login me password hunter2\ndefault login x password hunter3\n");
    case.options.credentials = Credentials::Netrc(path);
    "Basic bWU6aHVudGVyMg=="
}

#[test]
fn a_login_goes_to_its_host_and_to_no_other_by_redirect() {
    let (body, server, other) = (body(100), Server::start(), Server::start());
    server.on("/a", Answer::redirect("/b"));
    server.on("/b", Answer::redirect(&other.url("/c")));
    other.on("/c", Answer::redirect(&server.url("/d")));
    server.on("/d", Answer::file(body.clone()));
    let mut case = Case::new(&body, &[server.url("/a")]);
    let expected = netrc(&mut case);
    case.fetch().unwrap();
    let sent: Vec<_> =
        server.log().iter().map(|asked| asked.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent[..2], [Some(expected.to_owned()), Some(expected.to_owned())]);
    // The same address but for the port is another server.
    assert_eq!(other.log()[0].header("authorization"), None);
}

#[test]
fn a_login_does_not_go_over_plain_http_to_another_machine() {
    let (body, proxy) = (body(100), Server::start());
    proxy.on("http://far.invalid/a", Answer::file(body.clone()));
    let mut case = Case::new(&body, &["http://far.invalid/a".to_owned()]);
    netrc(&mut case);
    case.options.proxy = ProxyChoice::Url(proxy.url(""));
    case.fetch().unwrap();
    assert_eq!(proxy.log()[0].header("authorization"), None);
}

#[test]
fn no_error_or_note_shows_a_login() {
    let (body, server, notes) = (body(100), Server::start(), Notes::default());
    server.on("/a", Answer::status(401));
    server.on("/b", Answer::file(body.clone()).cut(10));
    server.on("/c", Answer::redirect("http://127.0.0.1:9/x?token=hunter2"));
    let urls = ["/a", "/b", "/c"].map(|path| server.url(path));
    let mut case = Case::new(&body, &urls);
    netrc(&mut case);
    let error = case.fetch_with(&notes).unwrap_err();
    let said = everything_said(&error) + &notes.lines.lock().unwrap().join("\n");
    assert!(said.contains(".netrc"), "{said}");
    for secret in ["hunter", "bWU6aHVudGVyMg"] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}

#[test]
fn a_netrc_that_was_named_must_be_readable_and_sound() {
    let mut case = Case::new(b"x", &["http://127.0.0.1:9/a".to_owned()]);
    let path = case.directory.path().join("netrc");
    case.options.credentials = Credentials::Netrc(path.clone());
    assert!(matches!(case.fetch(), Err(FetchError::Netrc { .. })));
    write(&path, "machine a login b passwort hunter2");
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, FetchError::Netrc { .. }));
    assert!(!everything_said(&error).contains("hunter2"));
}
