//! What the environment decides: proxies and the netrc file.

use super::*;

/// A variable that tells the child where the server of the test is.
const SERVER: &str = "DRYSTONE_TEST_SERVER";

#[test]
fn http_proxy_and_no_proxy_are_honoured() {
    let body = body(100);
    if !is_child() {
        let proxy = Server::start();
        proxy.on("http://far.invalid/a", Answer::file(body));
        // Removals first: on Windows both spellings are one variable.
        let variables = [
            ("HTTP_PROXY", ""),
            ("ALL_PROXY", ""),
            ("all_proxy", ""),
            ("NO_PROXY", ""),
            ("http_proxy", &*proxy.url("")),
            ("no_proxy", "127.0.0.0/8"),
        ];
        in_child("environment::http_proxy_and_no_proxy_are_honoured", &variables);
        assert_eq!(proxy.log().len(), 1);
        return;
    }
    let direct = Server::start();
    direct.on("/b", Answer::file(body.clone()));
    for url in ["http://far.invalid/a".to_owned(), direct.url("/b")] {
        let mut case = Case::new(&body, &[url]);
        case.options.proxy = ProxyChoice::System;
        case.fetch().unwrap();
    }
    assert_eq!(direct.log().len(), 1);
}

#[test]
fn the_file_that_netrc_names_is_used() {
    let body = body(100);
    if !is_child() {
        let (directory, server) = (TempDir::new().unwrap(), Server::start());
        server.on("/a", Answer::file(body));
        let file = directory.path().join("logins");
        write(&file, "machine 127.0.0.1 login me password hunter2");
        let variables = [("NETRC", file.to_str().unwrap()), (SERVER, &server.url("/a"))];
        in_child("environment::the_file_that_netrc_names_is_used", &variables);
        assert_eq!(server.log()[0].header("authorization"), Some("Basic bWU6aHVudGVyMg=="));
        return;
    }
    let mut case = Case::new(&body, &[std::env::var(SERVER).unwrap()]);
    case.options.credentials = Credentials::System;
    case.fetch().unwrap();
}

#[cfg(unix)]
#[test]
fn the_netrc_of_the_home_directory_is_used_and_may_be_absent() {
    let body = body(100);
    if !is_child() {
        let (home, server) = (TempDir::new().unwrap(), Server::start());
        server.on("/a", Answer::file(body));
        let (path, url) = (home.path().to_str().unwrap(), server.url("/a"));
        let variables = [("HOME", path), ("NETRC", ""), (SERVER, &*url)];
        let test = "environment::the_netrc_of_the_home_directory_is_used_and_may_be_absent";
        in_child(test, &variables);
        write(&home.path().join(".netrc"), "machine 127.0.0.1\nlogin me\npassword hunter2\n");
        in_child(test, &variables);
        let log = server.log();
        assert_eq!(log[0].header("authorization"), None);
        assert_eq!(log[1].header("authorization"), Some("Basic bWU6aHVudGVyMg=="));
        return;
    }
    let mut case = Case::new(&body, &[std::env::var(SERVER).unwrap()]);
    case.options.credentials = Credentials::System;
    case.fetch().unwrap();
}
