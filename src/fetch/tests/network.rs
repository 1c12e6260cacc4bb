//! Redirects, proxies, timeouts, connections that fail, cancelling.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::*;

#[test]
fn redirects_are_followed_with_range_and_without_referer() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::redirect("b?signature=secret"));
    server.on("/b?signature=secret", Answer::file(body.clone()).ranges());
    let case = Case::new(&body, &[server.url("/a")]);
    case.leave(&body[..10], None);
    case.fetch().unwrap();
    let last = &server.log()[1];
    assert_eq!((last.header("range"), last.header("referer")), (Some("bytes=10-"), None));
}

#[test]
fn a_circle_of_redirects_is_shown_and_not_tried_again() {
    let (body, server) = (body(100), Server::start());
    server.on("/a", Answer::redirect("/b"));
    server.on("/b", Answer::redirect("/a"));
    let case = Case::new(&body, &[server.url("/a")]);
    let text = case.trouble().to_string().replace(&server.authority(), "HOST");
    assert_eq!(text, "redirects go in a circle: http://HOST/a → http://HOST/b → http://HOST/a");
    assert_eq!(server.log().len(), 2);
}

#[test]
fn ten_redirects_are_followed_and_eleven_are_not() {
    let (body, server) = (body(100), Server::start());
    for hop in 0..11 {
        server.on(&format!("/{hop}"), Answer::redirect(&format!("/{}", hop + 1)));
    }
    server.on("/11", Answer::file(body.clone()));
    let case = Case::new(&body, &[server.url("/0")]);
    assert!(case.trouble().to_string().starts_with("more than 10 redirects"));
    Case::new(&body, &[server.url("/1")]).fetch().unwrap();
}

#[test]
fn redirects_with_a_login_to_other_schemes_or_to_nowhere_are_refused() {
    let (body, server) = (body(100), Server::start());
    server.on("/login", Answer::redirect("http://me:hunter2@127.0.0.1/x?token=hunter3"));
    server.on("/ftp", Answer::redirect("ftp://127.0.0.1/x"));
    server.on("/none", Answer::status(302));
    let urls = ["/login", "/ftp", "/none"].map(|path| server.url(path));
    let case = Case::new(&body, &urls);
    let troubles = case.troubles();
    assert!(troubles[0].to_string().contains("carries a user name"), "{troubles:?}");
    assert!(troubles[1].to_string().contains("ftp: address refused"), "{troubles:?}");
    assert!(troubles[2].to_string().contains("no Location"), "{troubles:?}");
    assert!(!everything_said(&case.fetch().unwrap_err()).contains("hunter"));
}

#[test]
fn a_silent_server_is_a_timeout_before_and_within_the_body() {
    let (body, server) = (body(1000), Server::start());
    server.on("/a", Answer::file(body.clone()).stall_after(300));
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    let mut case = Case::new(&body, &[silent_url, server.url("/a")]);
    case.options.stall_timeout = Duration::from_millis(50);
    case.options.tries = 1;
    let troubles = case.troubles();
    assert!(troubles.iter().all(|t| matches!(t, Trouble::Timeout { .. })), "{troubles:?}");
    assert_eq!(case.partial(), &body[..300]);
}

#[test]
fn nobody_listening_is_a_refused_connection_and_worth_another_try() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let case = Case::new(b"x", &[format!("http://{closed}/a")]);
    match case.fetch() {
        Err(FetchError::Unavailable { attempts, help, .. }) => {
            assert_eq!(attempts[0].trouble, Trouble::Refused { host: closed.to_string() });
            assert_eq!(attempts[0].tries, 5);
            assert!(help.contains("https_proxy"), "{help}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_name_is_a_dns_error() {
    // Too long for DNS, so that it is refused on this machine and nobody is asked.
    let name = format!("{}.invalid", "a".repeat(64));
    let mut case = Case::new(b"x", &[format!("http://{name}/a")]);
    case.options.tries = 1;
    let trouble = case.trouble();
    assert!(matches!(&trouble, Trouble::Dns { host, .. } if *host == name), "{trouble:?}");
}

#[test]
fn a_proxy_is_asked_for_the_whole_address() {
    let (body, proxy) = (body(100), Server::start());
    proxy.on("http://far.invalid/a", Answer::file(body.clone()));
    let mut case = Case::new(&body, &["http://far.invalid/a".to_owned()]);
    case.options.proxy = ProxyChoice::Url(proxy.url(""));
    case.fetch().unwrap();
    assert_eq!(proxy.log()[0].method, "GET");
}

#[test]
fn a_proxy_that_wants_a_login_or_makes_no_tunnel_is_named() {
    let (body, proxy) = (body(100), Server::start());
    proxy.refuse_tunnels(Answer::status(407));
    proxy.on("http://far.invalid/a", Answer::status(407));
    let urls = ["https://far.invalid/a", "http://far.invalid/a"].map(str::to_owned);
    let mut case = Case::new(&body, &urls);
    let secret = format!("http://me:hunter2@{}", proxy.authority());
    case.options.proxy = ProxyChoice::Url(secret);
    let troubles = case.troubles();
    assert!(troubles.iter().all(|t| matches!(t, Trouble::Proxy { .. })), "{troubles:?}");
    assert_eq!(proxy.log().len(), 2);
    assert!(!everything_said(&case.fetch().unwrap_err()).contains("hunter2"));
}

#[test]
fn cancelling_ends_soon_and_keeps_what_is_here() {
    let (body, server) = (body(1000), Server::start());
    server.on("/a", Answer::file(body.clone()).stall_after(300));
    let case = Case::new(&body, &[server.url("/a")]);
    let cancel = case.options.cancel.clone();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let fetching = scope.spawn(|| case.fetch());
        while case.partial().len() < 300 && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(fetching.join().unwrap(), Err(FetchError::Cancelled { .. })));
    });
    // Far below the stall timeout of 30 s.
    assert!(start.elapsed() < Duration::from_secs(25));
    assert_eq!(case.partial(), &body[..300]);
}

#[test]
fn a_proxy_that_is_not_there_is_named_and_not_the_host_behind_it() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let urls = ["https://far.invalid/a", "http://far.invalid/a"].map(str::to_owned);
    let mut case = Case::new(b"x", &urls);
    case.options.proxy = ProxyChoice::Url(format!("http://{closed}"));
    let troubles = case.troubles();
    assert!(troubles.iter().all(|t| matches!(t, Trouble::Proxy { .. })), "{troubles:?}");
}

#[test]
fn answers_that_break_are_told_apart() {
    let (body, server) = (body(100), Server::start());
    server.on("/cut", Answer::file(body.clone()).cut(10));
    server.on("/nothing", Answer::nothing());
    server.on("/garbage", Answer::file("").header("Bad Name", "x"));
    let urls = ["/nothing", "/cut", "/garbage"].map(|path| server.url(path));
    let mut case = Case::new(&body, &urls);
    case.options.tries = 2;
    let troubles = case.troubles();
    assert!(matches!(troubles[0], Trouble::Connect { .. }), "{troubles:?}");
    assert!(matches!(troubles[1], Trouble::Interrupted { got: 10, .. }), "{troubles:?}");
    assert!(matches!(troubles[2], Trouble::Http(_)), "{troubles:?}");
    // Nonsense will be nonsense again; the others are worth another try.
    assert_eq!(server.log().len(), 2 + 2 + 1);
}
