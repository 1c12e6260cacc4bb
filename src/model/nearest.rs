//! The nearest known word to one that is not known.

/// The known word that was probably meant, if one is near enough: at most a third of the letters
/// differ, by the Damerau-Levenshtein distance.
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let bound = (wanted.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(wanted, word), word))
        .filter(|&(distance, _)| distance <= bound)
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_offered() {
        let known = ["zluda", "libtorch", "hip-sdk"];
        assert_eq!(nearest("zlda", known), Some("zluda"));
        assert_eq!(nearest("libtroch", known), Some("libtorch"));
        assert_eq!(nearest("cuda-toolkit", known), None);
        assert_eq!(nearest("x", ["y"]), Some("y"));
    }
}
