//! `file:` sources and files brought by hand.

use super::*;

fn file_case(body: &[u8], path: &str) -> Case {
    let mut case = Case::new(body, &[]);
    case.urls = vec![SourceUrl::File(path.to_owned())];
    case
}

#[test]
fn a_file_source_is_copied_and_checked() {
    let body = body(300_000);
    let case = file_case(&body, "here/a.zip");
    std::fs::create_dir(case.directory.path().join("here")).unwrap();
    write(&case.directory.path().join("here/a.zip"), &body);
    let fetched = case.fetch().unwrap();
    assert_eq!((fetched.size, fetched.url), (300_000, Some(case.urls[0].clone())));
    assert_eq!(case.partial(), body);
    assert!(!case.place.aside.exists());
}

#[test]
fn a_file_source_works_offline() {
    let body = body(10);
    let mut case = file_case(&body, "a");
    case.options.offline = true;
    write(&case.directory.path().join("a"), &body);
    case.fetch().unwrap();
}

#[test]
fn missing_directory_and_wrong_files_are_told_apart() {
    let right = body(100);
    let said = |prepare: fn(&Path)| {
        let case = file_case(&right, "a");
        prepare(&case.directory.path().join("a"));
        case.trouble().to_string()
    };
    assert!(said(|_| ()).ends_with("there is no such file"));
    assert!(
        said(|path| std::fs::create_dir(path).unwrap())
            .ends_with("it is a directory, not an archive")
    );
    assert!(
        said(|path| write(path, "short")).contains("5 bytes instead of 100; it is a text: short")
    );
    assert!(said(|path| write(path, [b'x'; 100])).contains("wrong content: expected sha256:"));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let case = file_case(&body(100), "a");
    let path = case.directory.path().join("a");
    write(&path, body(100));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        return; // Whoever runs this may read everything.
    }
    assert!(case.trouble().to_string().ends_with("reading it is not permitted"));
}

#[test]
fn a_file_brought_by_hand_is_taken_if_it_is_the_right_one() {
    let body = body(1000);
    let case = file_case(&body, "a");
    let by_hand = case.directory.path().join("by-hand");
    let fetcher = Fetcher::new(quick());
    let take = || fetcher.take_file(&by_hand, &case.request(), &case.place, &NoProgress);

    case.leave(&body[..500], Some("etag \"x\""));
    write(&by_hand, [b'x'; 1000]);
    let error = take().unwrap_err();
    assert!(matches!(error, FetchError::WrongFile { .. }));
    assert!(error.to_string().contains("is not zluda 6: wrong content"), "{error}");
    assert_eq!(case.partial(), &body[..500], "what was downloaded stays");
    assert!(!case.place.aside.exists());

    write(&by_hand, &body);
    assert_eq!(take().unwrap().size, 1000);
    assert_eq!(case.partial(), body);
    assert!(!case.place.validator.exists());
    assert_eq!(std::fs::read(&by_hand).unwrap(), body, "the file brought stays");
}

#[test]
fn checking_a_file_compares_hash_and_size() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    write(&path, "abc");
    assert_eq!(check_file(&path, &sha256("abc"), Some(3), &NoProgress).unwrap(), 3);
    assert!(check_file(&path, &sha256("abd"), Some(3), &NoProgress).is_err());
    assert!(check_file(&path, &sha256("abc"), Some(4), &NoProgress).is_err());
    assert_eq!(hash_file(&path, &NoProgress).unwrap(), (sha256("abc"), 3));
}
