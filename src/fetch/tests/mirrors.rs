//! Which answers are retried, which end a mirror, and what the whole error says.

use super::*;

#[test]
fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
    let body = body(100);
    for (status, tries) in [
        (408, 3),
        (425, 3),
        (429, 3),
        (500, 3),
        (502, 3),
        (503, 3),
        (504, 3),
        (400, 1),
        (401, 1),
        (403, 1),
        (404, 1),
        (410, 1),
        (501, 1),
        (204, 1),
    ] {
        let server = Server::start();
        server.on("/a", Answer::status(status));
        let mut case = Case::new(&body, &[server.url("/a")]);
        case.options.tries = 3;
        assert!(matches!(case.trouble(), Trouble::Status { code, .. } if code == status));
        assert_eq!(server.log().len(), tries, "{status}");
    }
}

#[test]
fn a_server_that_recovers_gives_the_file() {
    let (body, server) = (body(100), Server::start());
    server.on_each(
        "/a",
        [
            Answer::status(503).header("Retry-After", "0"),
            Answer::nothing(),
            Answer::file(body.clone()),
        ],
    );
    let case = Case::new(&body, &[server.url("/a")]);
    case.fetch().unwrap();
    assert_eq!(server.log().len(), 3);
    assert_eq!(
        server.log()[0].header("user-agent"),
        Some(concat!("drystone/", env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(server.log()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn a_server_that_wants_to_be_left_alone_for_long_is() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::status(429).header("Retry-After", "3600"));
    let case = Case::new(&body, &[server.url("/a")]);
    assert_eq!(case.trouble().to_string(), "HTTP 429 Too Many Requests, asks to wait 3600 s");
    assert_eq!(server.log().len(), 1);
}

#[test]
fn the_next_mirror_gives_what_the_first_does_not() {
    let (body, server) = (body(100), Server::start());
    server.on("/b", Answer::file(body.clone()));
    let case = Case::new(&body, &[server.url("/a"), server.url("/b")]);
    assert_eq!(case.fetch().unwrap().url, Some(case.urls[1].clone()));
}

#[test]
fn the_error_names_each_mirror_in_a_line_and_what_to_do() {
    let (body, server) = (body(100), Server::start());
    server.on("/b", Answer::page("Sign in"));
    let case = Case::new(&body, &[server.url("/a"), server.url("/b")]);
    let error = case.fetch().unwrap_err();
    let text = error.to_string().replace(&server.authority(), "HOST");
    assert_eq!(
        text,
        "zluda 6 could not be fetched\n  \
         http://HOST/a: HTTP 404 Not Found\n  \
         http://HOST/b: wrong size: 64 bytes instead of 100; it is an HTML page titled \"Sign in\""
    );
    let help = miette::Diagnostic::help(&error).unwrap().to_string();
    assert!(help.contains("drystone fetch --from FILE"), "{help}");
}

#[test]
fn another_file_is_kept_aside_and_both_hashes_named() {
    let (right, wrong, server) = (body(100), vec![b'x'; 100], Server::start());
    server.on("/a", Answer::file(wrong.clone()));
    let case = Case::new(&right, &[server.url("/a")]);
    let text = case.trouble().to_string();
    for part in [
        sha256(&right).to_string(),
        sha256(&wrong).to_string(),
        "(100 bytes)".to_owned(),
        "a text: xxx".to_owned(),
        case.place.aside.display().to_string(),
    ] {
        assert!(text.contains(&part), "{part} in {text}");
    }
    assert_eq!(std::fs::read(&case.place.aside).unwrap(), wrong);
    assert_eq!(case.partial(), b"");
    assert_eq!(server.log().len(), 1);
}

#[test]
fn what_came_instead_is_said() {
    let right = body(100);
    for (came, said) in [
        (Answer::page("Not here"), "an HTML page titled \"Not here\""),
        (Answer::file("{\"error\": \"gone\"}"), "a JSON text: {\"error\": \"gone\"}"),
        (Answer::file("<?xml version=\"1.0\"?><Error/>"), "an XML text"),
        (Answer::file("PK\x03\x04 and more"), "a zip archive"),
        (Answer::file("\u{7f}ELF"), "a Linux program"),
        (Answer::file("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer"),
        (Answer::file(""), "an empty file"),
        (Answer::file("Access denied\n"), "a text: Access denied"),
        (Answer::file(vec![0, 159, 146]), "a file of no known kind"),
    ] {
        let server = Server::start();
        server.on("/a", came);
        for size in [Some(100), None] {
            let mut case = Case::new(&right, &[server.url("/a")]);
            case.size = size;
            let text = case.trouble().to_string();
            assert!(text.contains(said), "{said} in {text}");
        }
    }
}

#[test]
fn a_page_of_no_stated_length_is_a_page_and_not_an_interruption() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::page("Down").without_length());
    let case = Case::new(&body, &[server.url("/a")]);
    assert!(matches!(case.trouble(), Trouble::Size { came: Content::Html { .. }, .. }));
    assert_eq!(server.log().len(), 1);
}

#[test]
fn a_wrong_length_stops_before_and_too_many_bytes_while_downloading() {
    let (right, server) = (body(1000), Server::start());
    server.on("/long", Answer::file(body(2000)));
    server.on("/endless", Answer::file(vec![b'.'; 4_000_000]).without_length());
    let case = Case::new(&right, &[server.url("/long"), server.url("/endless")]);
    let troubles = case.troubles();
    assert!(matches!(troubles[0], Trouble::Size { expected: 1000, got: 2000, .. }));
    assert!(matches!(troubles[1], Trouble::TooLong { expected: 1000, .. }), "{troubles:?}");
    assert_eq!(server.log().len(), 2);
    assert_eq!(case.partial(), b"");
}

#[test]
fn a_body_that_is_always_short_is_given_up_and_kept() {
    let (body, server) = (body(1000), Server::start());
    server.on("/a", Answer::file(&body[..400]).without_length());
    let case = Case::new(&body, &[server.url("/a")]);
    assert!(matches!(case.trouble(), Trouble::Interrupted { got: 400, expected: Some(1000), .. }));
    assert_eq!(server.log().len(), 5);
    assert_eq!(case.partial(), &body[..400]);
}

#[test]
fn offline_names_what_is_missing_and_asks_nobody() {
    let (body, server) = (body(100), Server::start());
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.options.offline = true;
    let text = everything_said(&case.fetch().unwrap_err());
    for part in ["zluda 6", "100 bytes", &server.url("/a"), "without --offline", "--from FILE"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(server.log().len(), 0);
}

#[test]
fn a_full_place_is_no_mirrors_fault() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::file(body.clone()));
    let mut case = Case::new(&body, &[server.url("/a"), server.url("/b")]);
    case.place.partial = case.directory.path().join("absent/partial");
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, FetchError::Disk { step: "open", .. }), "{error:?}");
    assert_eq!(server.log().len(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_at_once_and_says_so() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::file(body.clone()));
    let mut case = Case::new(&body, &[server.url("/a"), server.url("/a")]);
    case.place.partial = "/dev/full".into();
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, FetchError::Disk { step: "write", .. }), "{error:?}");
    assert!(everything_said(&error).contains("the disk is full"));
    assert_eq!(server.log().len(), 1);
}

#[test]
fn a_file_of_pieces_that_is_wrong_twice_is_kept_aside() {
    let (right, wrong, server) = (body(1000), vec![b'x'; 1000], Server::start());
    let answer = Answer::file(wrong.clone()).ranges().etag("\"v\"");
    let cut = answer.clone().cut(300);
    server.on_each("/a", [cut.clone(), answer.clone(), cut, answer]);
    let case = Case::new(&right, &[server.url("/a")]);
    assert!(matches!(case.trouble(), Trouble::Mismatch(m) if m.aside.is_some()));
    assert_eq!(std::fs::read(&case.place.aside).unwrap(), wrong);
    assert_eq!(server.log().len(), 4);
}

#[test]
fn tries_that_bring_a_large_file_further_do_not_count() {
    let (body, server) = (body(8_000_000), Server::start());
    let answer = Answer::file(body.clone()).ranges().etag("\"v\"");
    server.on("/a", answer.cut(1_200_000));
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.options.tries = 2;
    case.fetch().unwrap();
    assert_eq!(server.log().len(), 7);
    assert_eq!(case.partial(), body);
}
