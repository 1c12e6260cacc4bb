//! Credentials from a netrc file: `machine HOST login USER password WORD`, and `default`.
//!
//! Nothing here is `Debug`, so that no password reaches a log by accident.

use std::io;
use std::path::{Path, PathBuf};

use super::error::FetchError;
use super::options::Credentials;

/// The logins of a netrc file.
#[derive(Default)]
pub(super) struct Netrc {
    entries: Vec<Entry>,
}

struct Entry {
    /// None for `default`.
    machine: Option<String>,
    login: String,
    password: String,
}

impl Netrc {
    /// Reads the file that the choice names; one that `NETRC` or the choice names must exist.
    pub(super) fn load(choice: &Credentials) -> Result<Self, FetchError> {
        let (paths, must_exist) = match choice {
            Credentials::Nowhere => return Ok(Self::default()),
            Credentials::Netrc(path) => (vec![path.clone()], true),
            Credentials::System => {
                match std::env::var_os("NETRC").filter(|path| !path.is_empty()) {
                    Some(path) => (vec![PathBuf::from(path)], true),
                    None => (usual_paths(), false),
                }
            }
        };
        for path in paths {
            let unusable = |reason: String| FetchError::Netrc { path: path.clone(), reason };
            match std::fs::read_to_string(&path) {
                Ok(text) => return Self::parse(&text).map_err(unusable),
                // Nobody named this file: a home that is not there or not ours has no logins.
                Err(error) if !must_exist && is_elsewhere(&error) => {}
                Err(error) => return Err(unusable(error.to_string())),
            }
        }
        Ok(Self::default())
    }

    /// Parses the file; a complaint names the line and never shows what is on it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = words(text)?.into_iter();
        let mut entries: Vec<Entry> = Vec::new();
        while let Some((line, word)) = words.next() {
            let mut value = |what: &str| {
                words
                    .next()
                    .map(|(_, value)| value)
                    .ok_or_else(|| format!("line {line}: {what} is missing"))
            };
            let known = match word.as_str() {
                "machine" => {
                    let machine = value("the name of the machine")?;
                    entries.push(Entry::of(Some(machine)));
                    true
                }
                "default" => {
                    entries.push(Entry::of(None));
                    true
                }
                "login" | "password" | "account" => {
                    let value = value("a value")?;
                    match (entries.last_mut(), word.as_str()) {
                        (Some(entry), "login") => entry.login = value,
                        (Some(entry), "password") => entry.password = value,
                        (Some(_), _) => {}
                        (None, _) => return Err(format!("line {line}: no machine before this")),
                    }
                    true
                }
                _ => false,
            };
            if !known {
                return Err(format!(
                    "line {line}: expected machine, default, login, password, account or macdef"
                ));
            }
        }
        Ok(Self { entries })
    }

    /// Login and password for a host; its own entry before `default`.
    pub(super) fn login(&self, host: &str) -> Option<(&str, &str)> {
        let own = |entry: &&Entry| {
            entry.machine.as_ref().is_some_and(|machine| machine.eq_ignore_ascii_case(host))
        };
        let entry = self
            .entries
            .iter()
            .find(own)
            .or_else(|| self.entries.iter().find(|entry| entry.machine.is_none()))?;
        Some((&entry.login, &entry.password))
    }
}

impl Entry {
    const fn of(machine: Option<String>) -> Self {
        Self { machine, login: String::new(), password: String::new() }
    }
}

fn usual_paths() -> Vec<PathBuf> {
    let Ok(home) = etcetera::home_dir() else { return Vec::new() };
    let names: &[&str] = if cfg!(windows) { &[".netrc", "_netrc"] } else { &[".netrc"] };
    names.iter().map(|name| Path::new(&home).join(name)).collect()
}

fn is_elsewhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// The words with their lines: quotes and backslashes undone, comments and macros left out.
fn words(text: &str) -> Result<Vec<(usize, String)>, String> {
    let mut found = Vec::new();
    let mut in_macro = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = index + 1;
        if in_macro {
            in_macro = !line.trim().is_empty();
            continue;
        }
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            // A `#` begins a comment only where a keyword may stand: passwords may begin with it.
            let value_follows = found.last().is_some_and(|(_, word): &(usize, String)| {
                matches!(word.as_str(), "machine" | "login" | "password" | "account")
            });
            if rest.starts_with('#') && !value_follows {
                break;
            }
            let (word, after) =
                word(rest).ok_or(format!("line {number}: a quote is not closed"))?;
            if word == "macdef" && !value_follows {
                in_macro = true;
                break;
            }
            found.push((number, word));
            rest = after.trim_start();
        }
    }
    Ok(found)
}

/// The first word of a text and what follows; none where a quote is not closed.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let quoted = text.starts_with('"');
    let mut characters = text.char_indices().skip(usize::from(quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '"' if quoted => return Some((word, &text[at + 1..])),
            '\\' if quoted => word.push(characters.next()?.1),
            _ if !quoted && character.is_whitespace() => return Some((word, &text[at..])),
            _ => word.push(character),
        }
    }
    (!quoted).then_some((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_its_own_login_and_others_the_default() {
        let netrc = Netrc::parse(
            "# mine\nmachine a.example login me password \"s p\\\"w\"\nmacdef init\nmachine x\n\nmachine B.example\n  login you\n  password #hash\ndefault login anonymous password x",
        )
        .unwrap_or_default();
        assert_eq!(netrc.login("a.example"), Some(("me", "s p\"w")));
        assert_eq!(netrc.login("b.example"), Some(("you", "#hash")));
        assert_eq!(netrc.login("c.example"), Some(("anonymous", "x")));
    }

    #[test]
    fn a_complaint_names_the_line_and_not_the_password() {
        let complaint = |text| Netrc::parse(text).err().unwrap_or_default();
        let text = complaint("machine a login b password c\nhunter2 d");
        assert!(text.starts_with("line 2:") && !text.contains("hunter2"), "{text}");
        assert!(complaint("machine").contains("line 1"));
        assert!(complaint("login x").contains("no machine"));
        assert!(complaint("machine a password \"open").contains("not closed"));
    }
}
