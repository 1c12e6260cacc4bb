//! One mirror: tries, waits, continues, until the file is here or nothing more is worth trying.

use std::time::Duration;

use reqwest::{StatusCode, Url};

use super::error::FetchError;
use super::exchange::{Exchange, Part, Stop, Web};
use super::options::FetchOptions;
use super::partial::Partial;
use super::request::Request;
use super::sniff::{Content, HEAD};
use super::trouble::{Mismatch, Trouble};
use crate::model::Progress;

/// A download from one mirror.
pub(super) struct Download<'a> {
    pub(super) web: &'a Web,
    pub(super) options: &'a FetchOptions,
    pub(super) request: &'a Request<'a>,
    pub(super) url: &'a Url,
    pub(super) progress: &'a dyn Progress,
}

/// Why a mirror was given up: what happened, after how many tries.
pub(super) struct GivenUp {
    pub(super) trouble: Trouble,
    pub(super) tries: u32,
}

/// How one try ended, if not well.
enum Failed {
    /// Worth another try, after a wait that the server may have named.
    Again(Trouble, Option<Duration>),
    /// What is here does not fit what the server has: from zero, at once.
    FromZero(Trouble),
    /// Not worth another try here.
    Mirror(Trouble),
    /// Nothing else can help either.
    Fatal(FetchError),
}

impl From<FetchError> for Failed {
    fn from(error: FetchError) -> Self {
        Self::Fatal(error)
    }
}

impl Download<'_> {
    /// Fills the partial file with the verified whole.
    pub(super) fn run(&self, partial: &mut Partial) -> Result<Result<(), GivenUp>, FetchError> {
        let mut tries = 0;
        let mut from_zero = false;
        loop {
            tries += 1;
            let before = partial.furthest();
            let (trouble, asked) = match self.attempt(partial) {
                Ok(()) => return Ok(Ok(())),
                Err(Failed::Fatal(error)) => return Err(error),
                Err(Failed::Mirror(trouble)) => return Ok(Err(GivenUp { trouble, tries })),
                Err(Failed::FromZero(mut trouble)) => {
                    if from_zero {
                        if let Trouble::Mismatch(mismatch) = &mut trouble {
                            partial.put_aside()?;
                            mismatch.aside = Some(partial.place.aside.clone());
                        }
                        return Ok(Err(GivenUp { trouble, tries }));
                    }
                    from_zero = true;
                    let label = self.request.label;
                    self.progress.note(&format!("{label}: {trouble}; again from the beginning"));
                    partial.reset()?;
                    continue;
                }
                Err(Failed::Again(trouble, asked)) => (trouble, asked),
            };
            if partial.furthest() >= before + WORTHWHILE {
                tries = 1;
            }
            if tries >= self.options.tries || asked.is_some_and(|d| d > self.options.longest_wait) {
                return Ok(Err(GivenUp { trouble, tries }));
            }
            self.wait(&trouble, tries, asked)?;
        }
    }

    fn wait(
        &self,
        trouble: &Trouble,
        tries: u32,
        asked: Option<Duration>,
    ) -> Result<(), FetchError> {
        let doubled = self.options.first_delay.saturating_mul(1 << (tries - 1).min(16));
        let delay = asked.unwrap_or_else(|| doubled + doubled.mul_f64(chance() / 4.0));
        let label = self.request.label;
        let seconds = delay.as_secs_f64().round();
        let (next, all) = (tries + 1, self.options.tries);
        self.progress
            .note(&format!("{label}: {trouble}, trying again in {seconds} s ({next} of {all})"));
        match self.options.sleep(delay) {
            true => Ok(()),
            false => Err(self.cancelled()),
        }
    }

    fn attempt(&self, partial: &mut Partial) -> Result<(), Failed> {
        let part = partial.missing_part(self.url.as_str());
        if part.is_none() && partial.length() > 0 {
            partial.reset()?;
        }
        let exchange = self
            .web
            .open(self.url, part.as_ref(), self.options)
            .map_err(|stop| self.failed(stop))?;
        match (exchange.status, &part) {
            (StatusCode::OK, _) => self.begin_whole(&exchange, partial)?,
            (StatusCode::PARTIAL_CONTENT, Some(part)) => {
                self.begin_part(&exchange, part, partial)?
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
                let why = "the server has nothing after what is here".to_owned();
                return Err(Failed::FromZero(Trouble::Http(why)));
            }
            (status, _) => return Err(bad_status(status, &exchange)),
        }
        self.receive(&exchange, partial)?;
        self.verify(partial)
    }

    fn begin_whole(&self, exchange: &Exchange, partial: &mut Partial) -> Result<(), Failed> {
        if let (Some(expected), Some(got)) = (self.request.size, exchange.length)
            && expected != got
        {
            let came = self.look(exchange)?;
            return Err(Failed::Mirror(Trouble::Size { expected, got, came }));
        }
        if partial.length() > 0 {
            partial.reset()?;
        }
        partial.remember_version(self.url.as_str(), exchange)?;
        partial.begin_answer(exchange.length);
        Ok(())
    }

    fn begin_part(
        &self,
        exchange: &Exchange,
        part: &Part,
        partial: &mut Partial,
    ) -> Result<(), Failed> {
        let wrong = |why: &str| Err(Failed::FromZero(Trouble::Http(why.to_owned())));
        let Some((from, total)) = exchange.header("content-range").and_then(content_range) else {
            return wrong("the server sends a part without saying which");
        };
        if from != part.from {
            return wrong("the server sends another part than was asked for");
        }
        match (self.request.size, total) {
            (Some(size), Some(total)) if size != total => {
                return wrong("the server's file has another size");
            }
            (_, None) if part.version.is_none() => {
                return wrong("the server sends a part without saying of how much");
            }
            _ => {}
        }
        partial.begin_answer(total);
        Ok(())
    }

    /// The first bytes of an answer that is not wanted, to say what it is.
    fn look(&self, exchange: &Exchange) -> Result<Content, Failed> {
        let mut head = Vec::new();
        while head.len() < HEAD {
            match exchange.piece(self.options).map_err(|stop| self.failed(stop))? {
                Ok(Some(piece)) => head.extend_from_slice(&piece),
                Ok(None) | Err(_) => break,
            }
        }
        head.truncate(HEAD);
        Ok(Content::of(&head))
    }

    fn receive(&self, exchange: &Exchange, partial: &mut Partial) -> Result<(), Failed> {
        let expected = self.request.size;
        let most = expected.unwrap_or(LARGEST);
        loop {
            match exchange.piece(self.options).map_err(|stop| self.failed(stop))? {
                Ok(Some(piece)) => {
                    let got = partial.length() + piece.len() as u64;
                    if got > most {
                        partial.write(&piece)?;
                        return self.too_long(most, partial);
                    }
                    partial.write(&piece)?;
                }
                Ok(None) => return self.check_length(exchange, partial),
                Err(error) => {
                    let trouble = match self.web.explain_body(&error, self.url) {
                        Err(trouble) => trouble,
                        Ok(detail) => {
                            Trouble::Interrupted { got: partial.length(), expected, detail }
                        }
                    };
                    return Err(Failed::Again(trouble, None));
                }
            }
        }
    }

    fn too_long(&self, expected: u64, partial: &mut Partial) -> Result<(), Failed> {
        let trouble = Trouble::TooLong { expected, came: partial.content()? };
        if partial.is_pieced() {
            return Err(Failed::FromZero(trouble));
        }
        partial.reset()?;
        Err(Failed::Mirror(trouble))
    }

    /// A sound end that comes too early is an interruption too, unless a message came instead.
    fn check_length(&self, exchange: &Exchange, partial: &mut Partial) -> Result<(), Failed> {
        let got = partial.length();
        let Some(expected) = self.request.size.filter(|expected| got < *expected) else {
            return Ok(());
        };
        let came = partial.content()?;
        if got == 0 || (exchange.length.is_none() && came.is_message() && !partial.is_pieced()) {
            partial.reset()?;
            return Err(Failed::Mirror(Trouble::Size { expected, got, came }));
        }
        let detail = format!("it ended too early; what is here is {came}");
        Err(Failed::Again(Trouble::Interrupted { got, expected: Some(expected), detail }, None))
    }

    fn verify(&self, partial: &mut Partial) -> Result<(), Failed> {
        let got = partial.sha256();
        let Some(expected) = self.request.sha256.filter(|expected| *expected != got) else {
            return Ok(());
        };
        let mut mismatch = Mismatch {
            expected,
            got,
            expected_size: self.request.size,
            got_size: partial.length(),
            came: partial.content()?,
            aside: None,
        };
        if partial.is_pieced() {
            return Err(Failed::FromZero(mismatch.into()));
        }
        partial.put_aside()?;
        mismatch.aside = Some(partial.place.aside.clone());
        Err(Failed::Mirror(mismatch.into()))
    }

    fn failed(&self, stop: Stop) -> Failed {
        match stop {
            Stop::Trouble(trouble, true) => Failed::Again(trouble, None),
            Stop::Trouble(trouble, false) => Failed::Mirror(trouble),
            Stop::Cancelled => Failed::Fatal(self.cancelled()),
            Stop::Fatal(error) => Failed::Fatal(error),
        }
    }

    fn cancelled(&self) -> FetchError {
        FetchError::Cancelled { label: self.request.label.to_owned() }
    }
}

/// The most bytes that are taken where no size is known: a server that never ends fills no disk.
const LARGEST: u64 = 64 << 30;

/// So many new bytes make a failed try not count, so that a large file survives a bad line.
const WORTHWHILE: u64 = 1024 * 1024;

fn bad_status(status: StatusCode, exchange: &Exchange) -> Failed {
    let code = status.as_u16();
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        let detail = "it wants a login (HTTP 407)".to_owned();
        return Failed::Mirror(Trouble::Proxy { host: "the server".to_owned(), detail });
    }
    let asked = exchange.header("retry-after").and_then(retry_after);
    let reason = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    let trouble = Trouble::Status { code, reason, asks: asked.map(|asked| asked.as_secs()) };
    match code {
        408 | 425 | 429 | 500 | 502 | 503 | 504 => Failed::Again(trouble, asked),
        _ => Failed::Mirror(trouble),
    }
}

/// `Retry-After`: seconds, or a date.
fn retry_after(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp().as_second();
    let seconds = date.saturating_sub(jiff::Timestamp::now().as_second());
    Some(Duration::from_secs(seconds.try_into().unwrap_or(0)))
}

/// `bytes 5-9/10`: the first byte and the whole length, none where it is `*`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (from, _) = range.split_once('-')?;
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    Some((from.trim().parse().ok()?, total))
}

/// A number from 0 to 1.
fn chance() -> f64 {
    // Without randomness many machines would only return at the same time.
    f64::from(getrandom::u32().unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_and_nonsense_is_not() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        assert_eq!(content_range("bytes */10"), None);
        assert_eq!(content_range("lines 5-9/10"), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(retry_after("soon"), None);
    }
}
