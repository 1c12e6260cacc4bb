//! What a server says: the download ends with the right file or with an error, and whatever was
//! said, an honest server afterwards brings it to its end.
//!
//! The first byte of an input says what is known of the file and what is here of it already. Answers
//! follow, bytes as a connection gives them, separated by [`BREAK`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use drystone::fetch::{
    Arriving, Credentials, FetchError, FetchOptions, Fetched, Fetcher, Place, ProxyChoice, Request,
};
use drystone::manifest::SourceUrl;
use drystone::model::{NoProgress, Sha256Digest};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::diagnostic::draw;
use super::server::{Script, Server};

/// What stands between two answers.
const BREAK: &[u8] = b"\n%%\n";

/// The file that is fetched.
const FILE: &[u8] = b"Once upon a time there was a stone wall without mortar.";

/// How much of it an earlier try left, by two bits of the first byte.
const LEFT: [&[u8]; 4] = [b"", FILE.split_at(10).0, FILE, b"Twice upon"];

/// What a server said of the version of that, by two more; the last is torn.
const VERSIONS: [&str; 4] =
    ["", "etag \"v1\"\nend\n", "last-modified Wed, 21 Oct 2015 07:28:00 GMT\nend\n", "etag \"v1\""];

/// The fetcher with its proxy, and a directory to fetch into. One for all inputs: making a client
/// takes longer than a hundred downloads.
struct Stage {
    server: Server,
    fetcher: Fetcher,
    directory: TempDir,
    downloads: u64,
}

impl Stage {
    fn new() -> Self {
        let server = Server::start();
        let fetcher = Fetcher::new(FetchOptions {
            tries: 4,
            first_delay: Duration::ZERO,
            longest_wait: Duration::ZERO,
            connect_timeout: Duration::from_secs(5),
            stall_timeout: Duration::from_secs(5),
            proxy: ProxyChoice::Url(format!("http://{}", server.address)),
            credentials: Credentials::Nowhere,
            ..FetchOptions::default()
        });
        let directory = TempDir::new().expect("a directory");
        Self { server, fetcher, directory, downloads: 0 }
    }
}

/// Fetches from a server that says these bytes, then from an honest one.
pub fn check(bytes: &[u8]) {
    thread_local! {
        static STAGE: RefCell<Stage> = RefCell::new(Stage::new());
    }
    let Some((&how, answers)) = bytes.split_first() else { return };
    STAGE.with_borrow_mut(|stage| check_on(stage, how, answers));
}

fn check_on(stage: &mut Stage, how: u8, answers: &[u8]) {
    // A host of its own, so that no connection of an earlier input is used again.
    stage.downloads += 1;
    let url = format!("http://run-{}.test/file", stage.downloads);
    let place = place_in(stage.directory.path());
    prepare(&place, how, &url);

    stage.server.say(Script::Bytes(split(answers)));
    let request = |urls| Request {
        label: "thing 1.0",
        urls,
        sha256: (how & 1 != 0).then(|| sha256(FILE)),
        size: (how & 2 != 0).then_some(FILE.len() as u64),
        directory: stage.directory.path(),
    };
    let urls = [SourceUrl::Web(url.parse().expect("a URL"))];
    match fetch(&stage.fetcher, &request(&urls), &place) {
        Ok(fetched) => return check_fetched(&fetched, &request(&urls), &place),
        Err(error) => draw(error),
    }
    stage.server.say(Script::File(FILE));
    match fetch(&stage.fetcher, &request(&urls), &place) {
        Ok(fetched) => check_fetched(&fetched, &request(&urls), &place),
        Err(error) => panic!("an honest server cannot mend it: {:?}", miette::Report::new(error)),
    }
    assert_eq!(fs::read(&place.partial).expect("the file"), FILE);
}

fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest::from_bytes(Sha256::digest(bytes).into())
}

fn split(mut bytes: &[u8]) -> VecDeque<Vec<u8>> {
    let mut answers = VecDeque::new();
    while let Some(at) = bytes.windows(BREAK.len()).position(|part| part == BREAK) {
        answers.push_back(bytes[..at].to_vec());
        bytes = &bytes[at + BREAK.len()..];
    }
    answers.push_back(bytes.to_vec());
    answers
}

fn place_in(directory: &Path) -> Place {
    Place {
        partial: directory.join("partial"),
        validator: directory.join("validator"),
        aside: directory.join("aside"),
    }
}

/// What an earlier try left.
fn prepare(place: &Place, how: u8, url: &str) {
    for path in [&place.partial, &place.validator, &place.aside] {
        // Mostly it is not there.
        let _ = fs::remove_file(path);
    }
    let left = LEFT[usize::from(how >> 2 & 3)];
    if !left.is_empty() {
        fs::write(&place.partial, left).expect("written");
    }
    let version = VERSIONS[usize::from(how >> 4 & 3)];
    if !version.is_empty() {
        fs::write(&place.validator, format!("url {url}\n{version}")).expect("written");
    }
}

/// Fetches; whoever works with the file meanwhile is given one of the right length.
fn fetch(fetcher: &Fetcher, request: &Request, place: &Place) -> Result<Fetched, FetchError> {
    let given = Mutex::new(None);
    let ahead = |archive: Arriving| *given.lock().expect("unpoisoned") = Some(archive.length());
    let fetched = fetcher.fetch(request, place, &ahead, &NoProgress)?;
    let given = given.into_inner().expect("unpoisoned");
    assert_eq!(given, Some(fetched.size), "the archive that was given to work with");
    Ok(fetched)
}

fn check_fetched(fetched: &Fetched, request: &Request, place: &Place) {
    let here = fs::read(&place.partial).expect("the file");
    assert_eq!(sha256(&here), fetched.sha256);
    assert_eq!(here.len() as u64, fetched.size);
    assert!(request.sha256.is_none_or(|asked| asked == fetched.sha256), "another file");
    assert!(request.size.is_none_or(|asked| asked == fetched.size), "another size");
    assert!(!place.validator.exists(), "the version of a file that is complete");
}
