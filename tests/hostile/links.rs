//! Links out, links through links, circles, and hard links to what is not there.

use super::bytes::{pax_record, tar, tar_entry, tar_file, tar_link};
use super::case::{Case, Systems, file, link};
use super::ground::Ground;
use super::parts::{Part, a_directory, a_file, a_link, both, zip_of};

const LINK: &str = "drystone::unpack::link";

#[test]
fn links_that_lead_out_or_nowhere() {
    let mut ground = Ground::new();
    let (canary, outside) = (ground.outside("canary"), ground.outside(""));
    let up_to_canary = format!("{}{canary}", "../".repeat(40).trim_end_matches('/'));
    let targets = [
        canary.as_str(),
        &outside,
        &up_to_canary,
        "/",
        "/etc/passwd",
        "..",
        "../../evil",
        "../real/../../evil",
        "./.././../evil",
        "real/../../../evil",
        "../../../../../work/canary",
        "C:\\evil",
        "c:evil",
        "C:/evil",
        "\\\\host\\share",
        "\\evil",
        "..\\..\\evil",
        "real\\x",
        "\\\\?\\C:\\evil",
        "missing",
        "real/missing",
        "real/x/y",
        "../d/bad",
        "bad",
        "bad/x",
        "a\nb",
    ];
    let mut cases = Vec::new();
    for target in targets {
        let target_of_deep = if target == ".." { "../.." } else { target };
        let parts = [a_file("d/real/x", "1"), a_link("d/bad", target_of_deep)];
        for (kind, archive) in both(&parts) {
            let shown = target_of_deep.escape_debug().to_string();
            let what = format!("a link to {target:?} in a {kind}");
            cases.push(Case::refused(what, archive, LINK, &["d/bad", &shown]));
        }
    }
    for (what, target) in [("NUL in a target", &b"a\0b"[..]), ("no target", b"")] {
        let archive = zip_of(&[a_file("a", "1"), a_link("bad", target)]);
        cases.push(Case::refused(format!("{what} in a zip"), archive, LINK, &["bad"]));
    }
    let no_utf8 = zip_of(&[a_link("bad", b"\xc0\xae\xc0\xae/evil")]);
    cases.push(Case::refused("an overlong target in a zip", no_utf8, LINK, &["bad", "evil"]));
    let no_utf8 = tar(&[tar_link("bad", b"\xc0\xae\xc0\xae/evil")]);
    let code = "drystone::unpack::name_encoding";
    cases.push(Case::refused("an overlong target in a tar", no_utf8, code, &["evil"]));
    cases.push(Case::refused("no target in a tar", tar(&[tar_link("bad", "")]), LINK, &["bad"]));
    let long = "x/".repeat(2049) + "y";
    for ((kind, archive), code) in both(&[a_link("bad", &long)])
        .into_iter()
        .zip(["drystone::unpack::size", "drystone::unpack::refused"])
    {
        cases.push(Case::refused(
            format!("a target of 4,099 bytes in a {kind}"),
            archive,
            code,
            &["bad"],
        ));
    }
    ground.judge("links that lead out or nowhere", &cases);
}

/// A chain of links, each to the next, whose last leads to a file.
fn chain(length: usize) -> Vec<Part> {
    let mut parts = vec![a_file("end", "1")];
    for at in 0..length {
        let next = if at + 1 == length { "end".to_owned() } else { format!("l{}", at + 1) };
        parts.push(a_link(format!("l{at}"), next));
    }
    parts
}

#[test]
fn links_that_lead_out_or_in_circles_only_together() {
    let mut cases = Vec::new();
    for (what, bad, parts) in [
        (
            "`..` behind a link",
            "a/b/two",
            vec![
                a_file("s/x", "1"),
                a_link("a/b/one", "../../s"),
                a_link("a/b/two", "one/../../evil"),
            ],
        ),
        (
            "`..` behind two links",
            "a/b/c/three",
            vec![
                a_file("s/t/x", "1"),
                a_link("a/b/c/one", "../../../s/t"),
                a_link("a/b/c/two", "one/.."),
                a_link("a/b/c/three", "two/../../outside/canary"),
            ],
        ),
        ("itself", "a", vec![a_link("a", "a")]),
        ("two in a circle", "a", vec![a_link("a", "b"), a_link("b", "a")]),
        ("three in a circle", "a", vec![a_link("a", "b"), a_link("b", "c"), a_link("c", "a")]),
        (
            "a circle through a directory",
            "d/a",
            vec![a_link("d/a", "../e/b"), a_link("e/b", "../d/a/x")],
        ),
        ("more links than Linux follows", "l", chain(60)),
    ] {
        for (kind, archive) in both(&parts) {
            cases.push(Case::refused(format!("{what} in a {kind}"), archive, LINK, &[bad]));
        }
    }
    for (kind, archive) in both(&[
        a_file("a/b/c/x", "1"),
        a_link("top", "a/b/c/up"),
        a_link("a/b/c/up", "../../.."),
        a_link("out", "top/../evil"),
    ]) {
        // For Windows a link to a directory that it lies in is refused before.
        let what = format!("a way to the top, and one more in a {kind}");
        cases.push(Case::refused(what, archive, LINK, &["\"out\""]).on(Systems::Linux));
    }
    for (kind, archive) in both(&chain(10)) {
        let what = format!("ten links in a row in a {kind}");
        let mut links = vec![file("end", "1"), link("l9", "end")];
        links.extend((0..9).map(|at| link(&format!("l{at}"), &format!("l{}", at + 1))));
        cases.push(Case::gives(&what, archive.clone(), links).on(Systems::Linux));
        let mut copies = vec![file("end", "1")];
        copies.extend((0..10).map(|at| file(&format!("l{at}"), "1")));
        cases.push(Case::gives(&what, archive, copies).on(Systems::Windows));
    }
    for (kind, archive) in both(&[a_file("a/x", "1"), a_link("a/self", ".")]) {
        let what = format!("a directory in itself in a {kind}");
        let lines = vec![file("a/x", "1"), link("a/self", ".")];
        cases.push(Case::gives(&what, archive.clone(), lines).on(Systems::Linux));
        cases.push(Case::refused(&what, archive, LINK, &["a/self"]).on(Systems::Windows));
    }
    Ground::new().judge("links that lead out or in circles only together", &cases);
}

#[test]
fn writing_through_links() {
    let mut ground = Ground::new();
    let outside = ground.outside("");
    let (below, duplicate) = ("drystone::unpack::below", "drystone::unpack::duplicate");
    let mut cases = Vec::new();
    for (what, code, named, parts) in [
        (
            "a file behind a link out",
            below,
            "way/evil",
            vec![a_link("way", &outside), a_file("way/evil", "2")],
        ),
        (
            "a file behind a link up",
            below,
            "way/evil",
            vec![a_link("way", "../../../.."), a_file("way/evil", "2")],
        ),
        (
            "a file behind a link inside",
            below,
            "way/evil",
            vec![a_file("real/x", "1"), a_link("way", "real"), a_file("way/evil", "2")],
        ),
        (
            "a file, then the link before it",
            below,
            "way/evil",
            vec![a_file("way/evil", "2"), a_file("real/x", "1"), a_link("way", "real")],
        ),
        (
            "a directory behind a link out",
            below,
            "way/evil",
            vec![a_link("way", &outside), a_directory("way/evil/")],
        ),
        (
            "a link behind a link",
            below,
            "way/evil",
            vec![a_file("real/x", "1"), a_link("way", "real"), a_link("way/evil", "x")],
        ),
        (
            "a directory over a link",
            duplicate,
            "way",
            vec![a_link("way", &outside), a_directory("way/"), a_file("way/evil", "2")],
        ),
        (
            "a link over a directory",
            duplicate,
            "way",
            vec![a_directory("way/"), a_link("way", &outside)],
        ),
        (
            "a file over a link out",
            duplicate,
            "way",
            vec![a_link("way", outside.clone() + "canary"), a_file("way", "2")],
        ),
        (
            "a link over a file",
            duplicate,
            "way",
            vec![a_file("way", "2"), a_link("way", outside.clone() + "canary")],
        ),
        (
            "a link over a link",
            duplicate,
            "way",
            vec![
                a_file("x", "1"),
                a_link("way", "x"),
                a_link("way", &outside),
                a_file("way/evil", "2"),
            ],
        ),
    ] {
        for (kind, archive) in both(&parts) {
            cases.push(Case::refused(format!("{what} in a {kind}"), archive, code, &[named]));
        }
    }
    for (kind, archive) in both(&[a_file("real/x", "1"), a_link("way", "real")]) {
        let what = format!("an honest link to a directory in a {kind}");
        let lines = vec![file("real/x", "1"), link("way", "real")];
        cases.push(Case::gives(&what, archive.clone(), lines).on(Systems::Linux));
        let copies = vec![file("real/x", "1"), file("way/x", "1")];
        cases.push(Case::gives(&what, archive, copies).on(Systems::Windows));
    }
    ground.judge("writing through links", &cases);
}

#[test]
fn hard_links() {
    let mut ground = Ground::new();
    let canary = ground.outside("canary");
    let code = "drystone::unpack::hard_link";
    let hard = |name: &str, target: &str| tar_entry(b'1', name, target, 0o644, b"");
    let mut cases = Vec::new();
    let up_to_canary = format!("../../../../..{canary}");
    for target in [
        up_to_canary.as_str(),
        "../evil",
        "/etc/passwd",
        "C:\\evil",
        "..\\evil",
        "missing",
        "later",
        "bad",
        "d",
        ".",
        "",
        "good/x",
    ] {
        let archive = tar(&[
            tar_file("good", "1"),
            tar_entry(b'5', "d/", "", 0o755, b""),
            hard("bad", target),
            tar_file("later", "2"),
        ]);
        let shown = target.escape_default().to_string();
        let shown = if target.contains('\\') { "evil" } else { &shown };
        cases.push(Case::refused(
            format!("a hard link to {target:?}"),
            archive,
            code,
            &["\"bad\"", shown],
        ));
    }
    let long = tar_entry(b'x', "pax", "", 0o644, &pax_record("linkpath", &canary));
    let archive = tar(&[tar_file("good", "1"), long, hard("bad", "good")]);
    cases.push(Case::refused(
        "a hard link to a file outside",
        archive,
        code,
        &["\"bad\"", &canary],
    ));

    let archive = tar(&[tar_file("a/x", "1"), tar_link("a/l", "../a/x"), hard("moved", "a/l")]);
    let what = "a hard link to a link, which leads out from there";
    cases.push(Case::refused(what, archive, LINK, &["\"moved\""]));
    let archive = tar(&[tar_link("l", &canary[..canary.len().min(99)]), hard("again", "l")]);
    cases.push(Case::refused("a hard link to a link out", archive, LINK, &["\"again\""]));
    let archive = tar(&[tar_file("x", "1"), tar_link("l", "x"), hard("again", "l")]);
    let lines = vec![file("x", "1"), link("l", "x"), link("again", "x")];
    let what = "a hard link to an honest link";
    cases.push(Case::gives(what, archive.clone(), lines).on(Systems::Linux));
    let copies = vec![file("x", "1"), file("l", "1"), file("again", "1")];
    cases.push(Case::gives(what, archive, copies).on(Systems::Windows));

    let archive = tar(&[tar_file("x", "1"), hard("y", "x"), tar_file("y", "2")]);
    let duplicate = "drystone::unpack::duplicate";
    cases.push(Case::refused("a file over a hard link", archive, duplicate, &["\"y\""]));
    let archive = tar(&[tar_file("x", "1"), hard("x", "x")]);
    cases.push(Case::refused("a hard link over itself", archive, duplicate, &["\"x\""]));
    let archive = tar(&[tar_file("x", "1"), tar_entry(b'1', "y", "x", 0o644, b"evil")]);
    let size = "drystone::unpack::size";
    cases.push(Case::refused("a hard link with data", archive, size, &["\"y\"", "4 bytes"]));
    let archive = tar(&[tar_file("x", "1"), tar_entry(b'2', "y", "x", 0o777, b"evil")]);
    cases.push(Case::refused("a link with data", archive, size, &["\"y\"", "4 bytes"]));
    let archive = tar(&[tar_file("x", "1"), hard("y", "x"), hard("d/z", "y")]);
    let lines = vec![file("x", "1"), file("y", "1"), file("d/z", "1")];
    cases.push(Case::gives("honest hard links", archive, lines));
    ground.judge("hard links", &cases);
}
