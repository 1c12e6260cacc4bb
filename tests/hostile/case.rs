//! One hostile archive, and what must become of it.

/// The platforms that a case is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Systems {
    Linux,
    Windows,
    All,
}

impl Systems {
    /// Their names in a manifest.
    pub const fn platforms(self) -> &'static [&'static str] {
        match self {
            Self::Linux => &["x86_64-linux"],
            Self::Windows => &["x86_64-windows"],
            Self::All => &["x86_64-linux", "x86_64-windows"],
        }
    }
}

/// What must become of an archive.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Refused by this code, with these texts in message, causes or help: the entry's name above all.
    Refused(&'static str, Vec<String>),
    /// Taken: exactly these lines are what lies in the realised package.
    Gives(Vec<String>),
}

/// One archive.
#[derive(Debug, Clone)]
pub struct Case {
    /// What is hostile about it, for messages.
    pub what: String,
    pub archive: Vec<u8>,
    /// Lines of the source, beside its URL and hash.
    pub options: String,
    /// Lines of an application that the environment has; `PACKAGE` stands for the package.
    pub application: String,
    pub systems: Systems,
    pub outcome: Outcome,
    /// What must be said on stderr.
    pub says: Vec<String>,
}

impl Case {
    fn new(what: impl Into<String>, archive: Vec<u8>, outcome: Outcome) -> Self {
        Self {
            what: what.into(),
            archive,
            options: String::new(),
            application: String::new(),
            systems: Systems::All,
            outcome,
            says: Vec::new(),
        }
    }

    /// One that is refused by a code, with texts that the message must hold.
    pub fn refused(
        what: impl Into<String>,
        archive: Vec<u8>,
        code: &'static str,
        texts: &[&str],
    ) -> Self {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Self::new(what, archive, Outcome::Refused(code, texts))
    }

    /// One that is taken, with the lines of what it gives.
    pub fn gives(what: impl Into<String>, archive: Vec<u8>, lines: Vec<String>) -> Self {
        Self::new(what, archive, Outcome::Gives(lines))
    }

    /// The same for these platforms only.
    pub fn on(self, systems: Systems) -> Self {
        Self { systems, ..self }
    }

    /// The same with more lines in its source.
    pub fn with(self, options: impl Into<String>) -> Self {
        Self { options: options.into(), ..self }
    }

    /// The same with an application.
    pub fn running(self, application: impl Into<String>) -> Self {
        Self { application: application.into(), ..self }
    }

    /// The same with texts that must be said on stderr.
    pub fn saying(self, texts: &[impl ToString]) -> Self {
        Self { says: texts.iter().map(ToString::to_string).collect(), ..self }
    }
}

/// The line of a file.
pub fn file(path: &str, content: impl AsRef<[u8]>) -> String {
    line('f', path, content.as_ref())
}

/// The line of a file with the execute bit.
pub fn executable(path: &str, content: impl AsRef<[u8]>) -> String {
    line('x', path, content.as_ref())
}

/// The line of a symbolic link.
pub fn link(path: &str, target: &str) -> String {
    format!("l {path} -> {target}")
}

/// The line of an empty directory.
pub fn directory(path: &str) -> String {
    format!("d {path}")
}

fn line(kind: char, path: &str, content: &[u8]) -> String {
    digested(kind, path, content.len() as u64, &blake3::hash(content))
}

/// The line of a file whose content is known by its digest.
pub fn digested(kind: char, path: &str, size: u64, digest: &blake3::Hash) -> String {
    format!("{kind} {path} = {size} bytes, {digest}")
}
