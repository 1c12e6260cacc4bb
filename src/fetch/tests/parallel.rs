//! Many downloads at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;

/// Several requests, and a place for each.
struct Many {
    case: Case,
    sources: Vec<(String, Vec<SourceUrl>)>,
}

impl Many {
    fn new(server: &Server, body: &[u8], count: usize) -> Self {
        let sources = (0..count).map(|n| {
            let path = format!("/{n}");
            server.on(&path, Answer::file(body));
            (path.clone(), vec![web(&server.url(&path))])
        });
        Self { sources: sources.collect(), case: Case::new(body, &[]) }
    }

    fn place(&self, index: usize) -> Place {
        let at = |name: &str| self.case.directory.path().join(format!("{index}-{name}"));
        Place { partial: at("partial"), validator: at("validator"), aside: at("aside") }
    }

    fn fetch(
        &self,
        parallel: usize,
        open: impl Fn(usize) -> Result<Opened<usize, u64>, FetchError> + Sync,
    ) -> Result<Vec<u64>, Vec<FetchError>> {
        let request = |(label, urls)| Request { label, urls, ..self.case.request() };
        let requests: Vec<Request> =
            self.sources.iter().map(|(label, urls)| request((label, urls))).collect();
        Fetcher::new(FetchOptions { parallel, ..quick() }).fetch_all(
            &requests,
            open,
            |index, guard, fetched| {
                assert_eq!(guard, index);
                Ok(fetched.size)
            },
            |_, _| {},
            &NoProgress,
        )
    }
}

/// Waits for something that happens unless the test fails.
fn wait_for(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(happened());
}

#[test]
fn results_come_in_order_and_what_is_here_is_not_fetched() {
    let server = Server::start();
    let many = Many::new(&server, &body(100), 6);
    let sizes = many.fetch(4, |index| {
        Ok(if index == 1 { Opened::Here(7) } else { Opened::Place(index, many.place(index)) })
    });
    assert_eq!(sizes.unwrap(), [100, 7, 100, 100, 100, 100]);
    assert!(server.log().iter().all(|asked| asked.target != "/1"));
}

#[test]
fn as_many_as_allowed_are_fetched_at_once() {
    let server = Server::start();
    let many = Many::new(&server, &body(100), 4);
    let opened = AtomicUsize::new(0);
    many.fetch(4, |index| {
        opened.fetch_add(1, Ordering::SeqCst);
        wait_for(|| opened.load(Ordering::SeqCst) == 4);
        Ok(Opened::Place(index, many.place(index)))
    })
    .unwrap();
}

#[test]
fn after_an_error_no_more_start() {
    let server = Server::start();
    let mut many = Many::new(&server, &body(100), 3);
    many.sources[0].1.clear();
    let open = |index| Ok(Opened::Place(index, many.place(index)));
    let errors = many.fetch(1, open).unwrap_err();
    assert!(matches!(errors[..], [FetchError::NoSource { .. }]), "{errors:?}");
    assert_eq!(server.log().len(), 0);
}

#[test]
fn after_an_error_those_under_way_finish_and_all_errors_come_in_order() {
    let server = Server::start();
    let many = Many::new(&server, &body(100), 3);
    let opened = AtomicUsize::new(0);
    let errors = many
        .fetch(3, |index| {
            opened.fetch_add(1, Ordering::SeqCst);
            wait_for(|| opened.load(Ordering::SeqCst) == 3);
            match index {
                1 => Ok(Opened::Place(index, many.place(index))),
                _ => Err(FetchError::NoSource { label: index.to_string() }),
            }
        })
        .unwrap_err();
    let labels: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(labels, ["0", "2"].map(|n| format!("{n} has no url to fetch it from")));
    assert_eq!(std::fs::read(many.place(1).partial).unwrap(), body(100));
}
