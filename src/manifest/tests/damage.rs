//! No text makes the reader panic.

use proptest::prelude::*;

use super::super::{decode_catalogue, starter};
use super::load_text;

const REAL: [&str; 3] =
    [include_str!("../../../env.kdl"), include_str!("../../../catalogue/zluda.kdl"), starter()];

fn read(text: &str) {
    let _ = load_text(text);
    let _ = decode_catalogue("x.kdl", text.to_owned());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn text_of_the_signs_of_kdl_never_panics(
        words in prop::collection::vec(prop::sample::select(vec![
            "environment", "application", "package", "host", "version", "source", "url", "set",
            "\"a\"", "\"", "\"\"\"", "#\"", "\"#", "#", "{", "}", "\n", ";", "=", "/-", "/*", "*/",
            "//", "\\", "(", ")", "1.0", "-1", "#true", "true", "r\"", "é", "{host.x}", " ", "\r",
        ]), 0..40),
    ) {
        read(&words.concat());
        read(&words.join(" "));
    }

    #[test]
    fn a_damaged_manifest_never_panics(
        which in 0usize..REAL.len(),
        at in any::<prop::sample::Index>(),
        cut in 0usize..30,
        put in "[\"#{}/*\\\\=a-z0-9 \n;().-]{0,4}",
    ) {
        let text: Vec<char> = REAL[which].chars().collect();
        let begin = at.index(text.len());
        let end = (begin + cut).min(text.len());
        let damaged: String =
            text[..begin].iter().copied().chain(put.chars()).chain(text[end..].iter().copied()).collect();
        read(&damaged);
    }
}

/// What makes a recursive parser overflow its stack, which no one could catch.
#[test]
fn repetition_of_any_sign_never_overflows_the_stack() {
    let opening = ["{", "(", "/-", "/- ", "/*", "/-{", "a{", "/-a{"].map(|sign| (sign, 20_000));
    // The parser reads these, slowly.
    let harmless = [
        "}", "\\\n", "=", "#", "\"", "a=", ";", "(a)", "/- x ", "/- x\n", "/-1 ", "/*x*/", "//x\n",
        " ", "\n", "1 ", "x/-", "\u{feff}", "a\\\n", "/-{}", "{}",
    ]
    .map(|sign| (sign, 1_000));
    for (sign, times) in opening.into_iter().chain(harmless) {
        for end in ["", "\n", "x", "*/", "\"", "}"] {
            let text = sign.repeat(times) + &end.repeat(times);
            read(&text);
            read(&format!("a {text}"));
        }
    }
}
