//! Snapshots of what people see.

use insta::assert_snapshot;

use super::{complaints, complaints_of, load_text};

/// A right environment, so that nothing but the mistake shows.
const ENVIRONMENT: &str = "environment \"main\" {\n    platform \"x86_64-linux\"\n}\n";

#[test]
fn an_unknown_node_comes_with_the_nearest_name() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platfrom \"x86_64-linux\"\n    platform \"x86_64-linux\"\n    colour \"red\"\n}\n"
    ));
}

#[test]
fn a_version_without_quotes_is_explained() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platform \"x86_64-linux\"\n    use \"python\" 3.10\n}\n"
    ));
}

#[test]
fn a_range_without_quotes_is_explained() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platform \"x86_64-linux\"\n    use \"python\" >=3.11\n}\n"
    ));
}

#[test]
fn a_version_that_is_no_number_either_is_explained() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platform \"x86_64-linux\"\n    use \"a\" 3.11.2\n    use \"b\" >=3.11,<4\n    use \"zluda\" 6-preview.69\n}\n"
    ));
}

#[test]
fn kdl_1_is_recognised() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platform \"x86_64-linux\"\n    use \"a\" \"1\" optional=true\n    set \"X\" r\"C:\\dir\"\n    set \"Y\" r#\"a \"b\" c\"#\n    unset null\n}\n"
    ));
}

#[test]
fn all_mistakes_of_a_file_come_at_once_in_order() {
    assert_snapshot!(complaints(
        r#"environment "Main Env" {
    use "zluda" "six"
    use "a" "1" optional="yes" platfrom="x86_64-linux"
    host "hip-sdk" 6.4
    gpu "RX 9060 XT"
    platform "x86_64-widnows"
    set "PATH" "{host.hip}/bin;{pacakge.a}"
    set "A" "{open"
    override "../x" "zluda"
    about "one"
    about "two"
}
application "app" {
    in "main"
    program "a.exe"
    program "b.exe"
    keep-runs -1
    check "works" { timeout "1 week" }
}
package "p" {
    version "1" {
        source "x86_64-linux" {
            url "https://me:secret@example.org/p.zip"
            sha256 "1234"
            size 99999999999999999999999999
            strip -1
            format "rar"
        }
        source "x86_64-linux" {
            url "http://example.org/p.zip"
        }
        source { }
    }
    version "1.0" { source { url "https://example.org/p.zip?token=abc" } }
}
"#
    ));
}

#[test]
fn deep_nesting_is_refused_before_it_is_parsed() {
    let text = "a {\n".repeat(70) + &"}".repeat(70);
    assert_snapshot!(complaints(&text));
}

#[test]
fn what_only_looks_like_nesting_is_not_counted() {
    let braces = "{".repeat(100);
    for text in [
        format!("// {braces}\n"),
        format!("/* {braces} /* {braces} */ {braces} */\n"),
        format!("environment \"x\" {{ platform \"x86_64-linux\"; about \"\\\"{braces}\" }}\n"),
        format!("environment \"x\" {{ platform \"x86_64-linux\"; about #\"\"{braces}\"# }}\n"),
        format!(
            "environment \"x\" {{ platform \"x86_64-linux\"; about \"\"\"\n  {braces}\n  \"\"\" }}\n"
        ),
        format!(
            "environment \"x\" {{ platform \"x86_64-linux\"; about ##\"\"\"\n  {braces}\"\"\"# \"\n  \"\"\"## }}\n"
        ),
    ] {
        load_text(&(text.clone() + ENVIRONMENT))
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    let slashdash = "/- a {".repeat(70) + &"}".repeat(70) + "\n" + ENVIRONMENT;
    assert!(complaints(&slashdash).contains("nested more than 64 deep"));
}

#[test]
fn files_that_are_no_text_are_named() {
    let utf16: Vec<u8> = "environment".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark = [&[0xff, 0xfe], utf16.as_slice()].concat();
    let latin: &[u8] = b"environment \"main\" {\n    about \"gr\xfcn\"\n}\n";
    assert_snapshot!(
        [with_mark.as_slice(), &utf16, latin]
            .map(|bytes| complaints_of(&[("env.kdl", bytes)]))
            .join("\n")
    );
}

#[test]
fn a_missing_manifest_an_empty_one_and_a_directory_are_told_apart() {
    let missing = complaints_of(&[("other.kdl", b"")]);
    let empty = complaints_of(&[("env.kdl", b"\n// nothing yet\n")]);
    let directory = complaints_of(&[("env.kdl/x", b"")]);
    assert_snapshot!([missing, empty, directory].join("\n"));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let large = vec![b' '; (4 << 20) + 1];
    assert_snapshot!(complaints_of(&[("env.kdl", &large)]));
}

#[test]
fn includes_that_go_in_a_circle_out_or_nowhere_are_refused() {
    assert_snapshot!(complaints_of(&[
        (
            "env.kdl",
            b"include \"parts/a.kdl\"\ninclude \"../secret.kdl\"\ninclude \"/etc/passwd\"\ninclude \"gone.kdl\"\ninclude \"parts\"\n"
        ),
        ("parts/a.kdl", b"include \"b.kdl\"\n"),
        ("parts/b.kdl", b"include \"../env.kdl\"\nenvironment \"x\" { platfrom }\n"),
    ]));
}

#[test]
fn what_is_there_twice_is_refused() {
    assert_snapshot!(complaints(
        r#"environment "main" {
    platform "x86_64-linux"
    use "a" "1"
    use "a" "2" platform="x86_64-linux"
    override "x" "a"
    override "x" "b"
}
environment "main" { platform "x86_64-linux" "x86_64-linux" }
package "p" { version "1" { source { url "https://example.org/p"; url url="x" url="y" } } }
package "p" { version "1" { source { url "https://example.org/p" } } }
"#
    ));
}

#[test]
fn names_of_other_nodes_are_checked() {
    assert_snapshot!(complaints(
        "environment \"main\" {\n    platform \"x86_64-linux\"\n    host \"hip-sdk\" \"6.4\"\n}\napplication \"a\" {\n    in \"mian\"\n    program \"a\"\n}\napplication \"b\" {\n    in \"main\"\n    program \"b\"\n    set \"X\" \"{host.hip-skd}\"\n}\n"
    ));
}

#[test]
fn syntax_errors_are_few_and_come_with_help() {
    assert_snapshot!(
        [
            "environment \"main\" {\n    platform \"x86_64-linux\n}\n",
            "environment \"main\" {\n    platform \"x86_64-linux\"\n",
            "environment \"main\" {\n    set \"A\" \"C:\\dir\"\n}\n",
            "environment: \"main\", {\n    platform: [\"x86_64-linux\"]\n}\n",
            "environment \"main\" { }\n}\n",
            "/* never closed\n",
            "{ \"platform\": \"x86_64-linux\" }\n",
        ]
        .map(complaints)
        .join("\n")
    );
}
