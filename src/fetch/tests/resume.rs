//! What is continued, what starts over.

use super::*;

const TAG: &str = "\"v1\"";

fn ranged(body: &[u8]) -> Answer {
    Answer::file(body).ranges().etag(TAG)
}

#[test]
fn a_body_cut_short_is_continued_where_it_broke() {
    let (body, server, notes) = (body(100_000), Server::start(), Notes::default());
    server.on_each("/a", [ranged(&body).cut(40_000), ranged(&body)]);
    let case = Case::new(&body, &[server.url("/a")]);
    let fetched = case.fetch_with(&notes).unwrap();
    assert_eq!((fetched.size, fetched.sha256), (100_000, sha256(&body)));
    assert_eq!(fetched.url, Some(case.urls[0].clone()));
    assert_eq!(case.partial(), body);
    assert!(!case.place.validator.exists());
    let log = server.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1].header("range"), Some("bytes=40000-"));
    assert_eq!(log[1].header("if-range"), Some(TAG));
    let lines = notes.lines.lock().unwrap();
    assert!(
        lines[0].starts_with("zluda 6: the connection broke off after 40000 bytes of 100000")
            && lines[0].ends_with("trying again in 0 s (2 of 5)"),
        "{lines:?}"
    );
    assert_eq!(notes.advanced.load(std::sync::atomic::Ordering::Relaxed), 100_000);
}

#[test]
fn a_partial_file_of_an_earlier_run_is_continued_by_etag_or_date() {
    let date = "Wed, 21 Oct 2015 07:28:00 GMT";
    for (validator, answer) in [
        (format!("etag {TAG}"), ranged(&body(5000))),
        (format!("last-modified {date}"), Answer::file(body(5000)).ranges().last_modified(date)),
    ] {
        let (body, server) = (body(5000), Server::start());
        server.on("/a", answer);
        let mut case = Case::new(&body, &[server.url("/a")]);
        case.size = None;
        case.leave(&body[..2000], Some(&validator));
        case.fetch().unwrap();
        assert_eq!(case.partial(), body);
        assert_eq!(server.log()[0].header("range"), Some("bytes=2000-"));
    }
}

#[test]
fn another_version_or_a_server_without_ranges_starts_over() {
    let body = body(5000);
    for answer in [ranged(&body).etag("\"v2\""), Answer::file(body.clone())] {
        let server = Server::start();
        server.on("/a", answer);
        let case = Case::new(&body, &[server.url("/a")]);
        case.leave(b"old old old", Some(&format!("etag {TAG}")));
        case.fetch().unwrap();
        assert_eq!(case.partial(), body);
        assert_eq!(server.log().len(), 1);
    }
}

#[test]
fn a_range_past_the_end_starts_over() {
    let (body, server) = (body(50), Server::start());
    server.on("/a", ranged(&body));
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.size = None;
    case.leave(&[7; 80], Some(&format!("etag {TAG}")));
    case.fetch().unwrap();
    assert_eq!(case.partial(), body);
    assert_eq!(server.log()[1].header("range"), None);
}

#[test]
fn another_part_than_asked_for_starts_over() {
    let (body, server) = (body(5000), Server::start());
    server.on_each("/a", [ranged(&body).part_shift(1), Answer::file(body.clone())]);
    let case = Case::new(&body, &[server.url("/a")]);
    case.leave(&body[..100], Some(&format!("etag {TAG}")));
    case.fetch().unwrap();
    assert_eq!(case.partial(), body);
}

#[test]
fn without_a_version_only_hash_and_size_allow_continuing() {
    let (body, server) = (body(5000), Server::start());
    server.on("/a", Answer::file(body.clone()).ranges());
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.leave(&body[..100], None);
    case.fetch().unwrap();
    assert_eq!(server.log()[0].header("range"), Some("bytes=100-"));
    case.size = None;
    case.leave(&body[..100], None);
    case.fetch().unwrap();
    assert_eq!(server.log()[1].header("range"), None);
    assert_eq!(case.partial(), body);
}

#[test]
fn a_weak_etag_is_no_version() {
    let (body, server) = (body(5000), Server::start());
    let answer = Answer::file(body.clone()).ranges().etag("W/\"v1\"");
    server.on_each("/a", [answer.clone().cut(100), answer]);
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.size = None;
    case.fetch().unwrap();
    assert_eq!(server.log()[1].header("range"), None);
}

#[test]
fn a_wrong_beginning_costs_one_more_try_from_zero_and_no_mismatch() {
    let (body, server, notes) = (body(5000), Server::start(), Notes::default());
    server.on("/a", ranged(&body));
    let case = Case::new(&body, &[server.url("/a")]);
    case.leave(&[0; 3000], Some(&format!("etag {TAG}")));
    case.fetch_with(&notes).unwrap();
    assert_eq!(case.partial(), body);
    assert!(!case.place.aside.exists());
    assert!(notes.lines.lock().unwrap()[0].ends_with("again from the beginning"));
}

#[test]
fn a_whole_file_of_an_earlier_run_needs_no_network() {
    let body = body(5000);
    let mut case = Case::new(&body, &["http://127.0.0.1:9/a".to_owned()]);
    case.options.offline = true;
    case.leave(&body, None);
    assert_eq!(case.fetch().unwrap().url, None);
    assert_eq!(case.partial(), body);
}

#[test]
fn a_whole_length_of_zeros_is_fetched_again() {
    let (body, server) = (body(5000), Server::start());
    server.on("/a", ranged(&body));
    let case = Case::new(&body, &[server.url("/a")]);
    case.leave(&[0; 5000], Some(&format!("etag {TAG}")));
    case.fetch().unwrap();
    assert_eq!(case.partial(), body);
}

#[test]
fn without_a_hash_nothing_old_is_trusted() {
    let (body, server) = (body(5000), Server::start());
    server.on("/a", ranged(&body));
    let mut case = Case::new(&body, &[server.url("/a")]);
    case.sha256 = None;
    case.leave(&[0; 3000], Some(&format!("etag {TAG}")));
    assert_eq!(case.fetch().unwrap().sha256, sha256(&body));
    assert_eq!(server.log()[0].header("range"), None);
}

#[test]
fn a_file_of_another_version_is_not_joined_to_the_next_mirrors() {
    let (body, server) = (body(5000), Server::start());
    server.on("/a", ranged(&body).cut(2000));
    server.on("/b", ranged(&body));
    let mut case = Case::new(&body, &[server.url("/a"), server.url("/b")]);
    case.options.tries = 1;
    case.fetch().unwrap();
    let second = &server.log()[1];
    assert_eq!((second.header("range"), second.header("if-range")), (Some("bytes=2000-"), None));
    assert_eq!(case.partial(), body);
}
