//! Checks where archives come from: URLs without secrets, and paths that stay beside the manifest.

use url::Url;

use super::package::SourceUrl;

/// What is wrong with a location, and what to write instead.
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) label: &'static str,
    pub(super) help: &'static str,
}

/// Query names that carry a secret or a right that ends. Sources: the parameters of S3, Azure and
/// Google presigned URLs, and the names that forges and registries use.
const SECRETS: [&str; 18] = [
    "token",
    "access_token",
    "auth",
    "authorization",
    "apikey",
    "api_key",
    "key",
    "secret",
    "password",
    "passwd",
    "sig",
    "signature",
    "awsaccesskeyid",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "x-goog-signature",
    "private_token",
];

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.contains(&name.as_str()) || name.ends_with("token") || name.ends_with("signature")
}

/// The longest name of a parameter that is looked at.
const LONGEST_NAME: usize = 64;

/// The text with the secrets of its URLs masked byte for byte, so that places stay the same.
pub fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    let mut hide = |from: usize, to: usize| masked.replace_range(from..to, &"*".repeat(to - from));
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    let mut looked_at = 0;
    for (at, _) in text.match_indices("://") {
        let begin = at + 3;
        let rest = &text[begin..];
        let after_host = |c: char| ends(c) || matches!(c, '/' | '?' | '#');
        let authority = &rest[..rest.find(after_host).unwrap_or(rest.len())];
        if let Some(end) = authority.rfind('@') {
            hide(begin, begin + end);
        }
        // The parameters of a URL inside another were looked at with those of the outer one.
        if begin < looked_at {
            continue;
        }
        let url = &rest[..rest.find(ends).unwrap_or(rest.len())];
        looked_at = begin + url.len();
        let mut hidden = 0;
        for (at, _) in url.match_indices(['?', '&']) {
            if at < hidden {
                continue;
            }
            let name_length = url[at + 1..].bytes().take(LONGEST_NAME).position(|b| b == b'=');
            let Some(value) = name_length.map(|length| at + 1 + length + 1) else { continue };
            if is_secret(&url[at + 1..value - 1]) {
                let end = url[value..].find(['&', '#']).map_or(url.len(), |end| value + end);
                hide(begin + value, begin + end);
                hidden = end;
            }
        }
    }
    masked
}

/// Reads what a `url` node says.
pub(super) fn source_url(text: &str) -> Result<SourceUrl, Refusal> {
    if let Some(path) = text.strip_prefix("file:") {
        return file(path);
    }
    let url = Url::parse(text).map_err(|error| Refusal {
        message: format!("\"{text}\" is not a URL: {error}"),
        label: "not a URL",
        help: "Write https://host/path, or file: and a path relative to the manifest.",
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal {
            message: format!("archives are not fetched by {}:", url.scheme()),
            label: "not https, http or file",
            help: "Write https://host/path, or file: and a path relative to the manifest.",
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal {
            message: String::from("this URL holds a user name or password"),
            label: "a credential in a file that is shared",
            help: "Remove it from the URL; a netrc file gives credentials to their host alone.",
        });
    }
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| is_secret(name)) {
        return Err(Refusal {
            message: format!("this URL holds a secret: its query says `{name}`"),
            label: "a credential in a file that is shared",
            help: "Use the URL without its signature; a netrc file gives credentials to their host alone.",
        });
    }
    Ok(SourceUrl::Web(url))
}

/// What may stand in a manifest, wherever it is read again: a lock comes with a clone as well.
impl std::str::FromStr for SourceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        source_url(text).map_err(|refusal| refusal.message)
    }
}

fn file(path: &str) -> Result<SourceUrl, Refusal> {
    beside(path).map(|_| SourceUrl::File(path.to_owned()))
}

/// The parts of a path that is relative to the manifest's directory and stays in it; `.` parts and
/// `..` that come back are resolved.
pub(super) fn beside(path: &str) -> Result<String, Refusal> {
    resolve("", path)
}

/// The same for a path relative to a directory that is itself below the manifest's.
pub(super) fn resolve(directory: &str, path: &str) -> Result<String, Refusal> {
    let refuse = |message: String, label| Refusal {
        message,
        label,
        help: "Write a path relative to the manifest, with / between its parts: what it names comes along when the directory is copied or cloned.",
    };
    if path.contains('\\') {
        return Err(refuse(format!("the path {path} holds a backslash"), "a backslash"));
    }
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with('/') || drive {
        return Err(refuse(
            format!("the path {path} is absolute: it would mean another file on each machine"),
            "absolute",
        ));
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    let message = format!("the path {path} leaves the manifest's directory");
                    return Err(refuse(message, "leaves the directory"));
                }
            }
            _ => parts.push(part),
        }
    }
    if path.is_empty() {
        return Err(refuse(String::from("the path is empty"), "empty"));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_with_secrets_are_refused() {
        for text in [
            "https://me:pw@host/x.zip",
            "https://me@host/x.zip",
            "https://host/x.zip?token=abc",
            "https://host/x.zip?a=1&X-Amz-Signature=abc",
            "https://host/x.zip?SIG=abc",
        ] {
            assert!(source_url(text).is_err(), "{text}");
        }
        assert!(source_url("https://host/x.zip?raw=true").is_ok());
    }

    #[test]
    fn secrets_are_masked_in_place() {
        assert_eq!(
            masked("url \"https://me:pw@host/x?a=1&token=ab&b=2\" \"https://é@h/\""),
            "url \"https://*****@host/x?a=1&token=**&b=2\" \"https://**@h/\""
        );
    }

    #[test]
    fn secrets_of_urls_inside_urls_are_masked_too() {
        assert_eq!(
            masked("https://a/?u=https://me:pw@b/?sig=x&token=https://c?d#e"),
            "https://a/?u=https://*****@b/?sig=*&token=***********#e"
        );
    }

    #[test]
    fn masking_takes_time_in_proportion_to_the_text() {
        for part in ["://", "?", "?sig=", "&a", "://?token=@"] {
            let text = format!("https://a/{}", part.repeat(500_000));
            assert_eq!(masked(&text).len(), text.len());
        }
    }

    #[test]
    fn locations_of_other_kinds_are_refused() {
        for text in ["ftp://host/x", "x.zip", "file:/etc/passwd", "file:C:/x", "file:../x", "file:"]
        {
            assert!(source_url(text).is_err(), "{text}");
        }
        assert!(source_url("file:a/../b.zip").is_ok());
    }
}
