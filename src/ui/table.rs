//! Columns of text, and numbers in words.

use unicode_width::UnicodeWidthStr;

/// A table without lines: a header, rows, columns two spaces apart.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Starts with its header.
    pub fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    /// Adds a row with as many cells as the header has.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        self.rows.push(cells.into_iter().collect());
        self
    }

    /// The text, each line ending in LF and no line in spaces.
    pub fn render(&self, text: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max())
            .map(Option::unwrap_or_default)
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width - cell.width() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// Bytes in decimal units, as archives' pages give them: `159.8 MB`.
pub fn bytes(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().si().to_string()
}

/// A number with its noun: `1 file`, `3 files`.
pub fn count(number: u64, noun: &str) -> String {
    let (stem, plural) = match noun.strip_suffix('y') {
        Some(stem) if number != 1 => (stem, "ies"),
        _ if number != 1 => (noun, "s"),
        _ => (noun, ""),
    };
    format!("{number} {stem}{plural}")
}

/// The first twelve digits of a digest, for tables: `blake3:af1349b9f5f9…`.
pub fn short(digest: &str) -> String {
    match digest.split_once(':') {
        Some((algorithm, digits)) if digits.len() > 12 => format!("{algorithm}:{}…", &digits[..12]),
        _ => digest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let mut table = Table::new(&["name", "size"]);
        table.row(["中文".into(), "1".into()]).row(["a".into(), "20".into()]);
        let mut text = String::new();
        table.render(&mut text);
        assert_eq!(text, "name  size\n中文  1\na     20\n");
    }

    #[test]
    fn numbers_have_their_noun() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "file"), "0 files");
        assert_eq!(count(2, "directory"), "2 directories");
        assert_eq!(bytes(159_800_000), "159.8 MB");
        assert_eq!(short("blake3:af1349b9f5f9a1a6"), "blake3:af1349b9f5f9…");
    }
}
