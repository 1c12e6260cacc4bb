//! An HTTP/1.1 server on loopback for tests: files by path, each with the faults a test wants.
//!
//! Included by `#[path]` where it is needed. Every answer closes its connection; everything asked
//! is kept in a log.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, `CONNECT`.
    pub method: String,
    /// As on the request line: a path, or a whole address at a proxy.
    pub target: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl Asked {
    /// One header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// How one request is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    ranges: bool,
    etag: Option<String>,
    last_modified: Option<String>,
    cut: Option<usize>,
    length: Option<u64>,
    without_length: bool,
    stall_after: Option<usize>,
    part_shift: u64,
    drop: bool,
}

impl Answer {
    /// The body with status 200 and its length; no ranges.
    pub fn file(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
            ranges: false,
            etag: None,
            last_modified: None,
            cut: None,
            length: None,
            without_length: false,
            stall_after: None,
            part_shift: 0,
            drop: false,
        }
    }

    /// A status without a body worth having.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::file("") }
    }

    /// A redirect.
    pub fn redirect(to: &str) -> Self {
        Self::status(302).header("Location", to)
    }

    /// Closes the connection without a word.
    pub fn nothing() -> Self {
        Self { drop: true, ..Self::file("") }
    }

    /// An HTML page with status 200.
    pub fn page(title: &str) -> Self {
        Self::file(format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head></html>"))
            .header("Content-Type", "text/html")
    }

    /// One more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Answers ranges; with `If-Range` only when it names the version.
    pub fn ranges(mut self) -> Self {
        self.ranges = true;
        self
    }

    /// The version as ETag, quotes included.
    pub fn etag(mut self, etag: &str) -> Self {
        self.etag = Some(etag.to_owned());
        self
    }

    /// The version as date.
    pub fn last_modified(mut self, date: &str) -> Self {
        self.last_modified = Some(date.to_owned());
        self
    }

    /// Closes after so many bytes of the body.
    pub fn cut(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    /// Says this `Content-Length`, whatever the body.
    pub fn says_length(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }

    /// Says no length: the body ends with the connection.
    pub fn without_length(mut self) -> Self {
        self.without_length = true;
        self
    }

    /// Sends so many bytes of the body, then nothing, until the server goes.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.stall_after = Some(bytes);
        self
    }

    /// Says in `Content-Range` a first byte that is off by so much.
    pub fn part_shift(mut self, bytes: u64) -> Self {
        self.part_shift = bytes;
        self
    }
}

struct State {
    routes: Mutex<BTreeMap<String, VecDeque<Answer>>>,
    log: Mutex<Vec<Asked>>,
    stop: AtomicBool,
    tunnel: Mutex<Option<Answer>>,
}

/// The server; dropping it ends it.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

impl Server {
    /// Starts a server on a free port.
    pub fn start() -> Self {
        Self::start_with(|stream| Ok(Box::new(stream)))
    }

    /// Starts a server whose connections are wrapped, in TLS for example.
    pub fn start_with(
        wrap: impl Fn(TcpStream) -> io::Result<Box<dyn Connection>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("the port just bound");
        let state = Arc::new(State {
            routes: Mutex::default(),
            log: Mutex::default(),
            stop: AtomicBool::new(false),
            tunnel: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let wrap = Arc::new(wrap);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let (shared, wrap) = (Arc::clone(&shared), Arc::clone(&wrap));
                std::thread::spawn(move || {
                    // A client that goes away is what many tests are about.
                    let _ = wrap(stream).and_then(|stream| serve(stream, &shared));
                });
            }
        });
        Self { address, state, thread: Some(thread) }
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers a path always so.
    pub fn on(&self, path: &str, answer: Answer) {
        self.on_each(path, [answer]);
    }

    /// Answers a path with these in turn; the last again and again. A proxy's paths are whole
    /// addresses.
    pub fn on_each(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        lock(&self.state.routes).insert(path.to_owned(), answers.into_iter().collect());
    }

    /// Answers `CONNECT` so instead of making the tunnel.
    pub fn refuse_tunnels(&self, answer: Answer) {
        *lock(&self.state.tunnel) = Some(answer);
    }

    /// Everything asked so far.
    pub fn log(&self) -> Vec<Asked> {
        lock(&self.state.log).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // Wakes the listener so that it sees the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection, plain or wrapped.
pub trait Connection: Read + Write + Send {
    /// Says that no more comes.
    fn close(&mut self);
    /// The plain connection, where it is one.
    fn plain(&self) -> Option<TcpStream> {
        None
    }
}

impl Connection for TcpStream {
    fn close(&mut self) {
        let _ = self.shutdown(Shutdown::Write);
        // Reads what is left, so that closing does not reset and lose what was sent.
        let _ = self.set_read_timeout(Some(std::time::Duration::from_millis(500)));
        let _ = io::copy(self, &mut io::sink());
    }

    fn plain(&self) -> Option<TcpStream> {
        self.try_clone().ok()
    }
}

fn serve(stream: Box<dyn Connection>, state: &State) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let asked = read_request(&mut reader)?;
    let mut stream = reader.into_inner();
    let Some(asked) = asked else {
        stream.write_all(b"HTTP/1.1 400 Test\r\nConnection: close\r\n\r\n")?;
        stream.close();
        return Ok(());
    };
    lock(&state.log).push(asked.clone());
    if asked.method == "CONNECT" && lock(&state.tunnel).is_none() {
        return tunnel(stream, &asked.target);
    }
    let answer = match asked.method.as_str() {
        "CONNECT" => lock(&state.tunnel).clone().unwrap_or(Answer::status(500)),
        _ => next_answer(state, &asked.target),
    };
    if !answer.drop {
        send(&mut *stream, &asked, &answer, state)?;
    }
    stream.close();
    Ok(())
}

fn next_answer(state: &State, target: &str) -> Answer {
    let mut routes = lock(&state.routes);
    match routes.get_mut(target) {
        None => Answer::status(404),
        Some(answers) if answers.len() > 1 => answers.pop_front().unwrap_or(Answer::status(500)),
        Some(answers) => answers.front().cloned().unwrap_or(Answer::status(500)),
    }
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Asked>> {
    // A client that speaks TLS here is not waited for: it waits for us.
    if !reader.fill_buf()?.first().is_some_and(u8::is_ascii_alphabetic) {
        return Ok(None);
    }
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Ok(Some(Asked { method, target, headers }))
}

/// The first byte asked for, where the range holds for this version.
fn range_start(asked: &Asked, answer: &Answer) -> Option<usize> {
    if !answer.ranges {
        return None;
    }
    let from = asked.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()?;
    match asked.header("if-range") {
        None => Some(from),
        Some(version) => [&answer.etag, &answer.last_modified]
            .into_iter()
            .any(|own| own.as_deref() == Some(version))
            .then_some(from),
    }
}

fn send(
    stream: &mut dyn Connection,
    asked: &Asked,
    answer: &Answer,
    state: &State,
) -> io::Result<()> {
    let total = answer.body.len();
    let (status, body, range) = match range_start(asked, answer) {
        Some(from) if from >= total => (416, &[][..], Some(format!("bytes */{total}"))),
        Some(from) => {
            let shown = from as u64 + answer.part_shift;
            let range = format!("bytes {shown}-{}/{total}", total - 1);
            (206, &answer.body[from..], Some(range))
        }
        None => (answer.status, &answer.body[..], None),
    };
    let mut head = format!("HTTP/1.1 {status} Test\r\nConnection: close\r\n");
    let mut header = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
    if let Some(range) = &range {
        header("Content-Range", range);
    }
    if let Some(etag) = &answer.etag {
        header("ETag", etag);
    }
    if let Some(date) = &answer.last_modified {
        header("Last-Modified", date);
    }
    if !answer.without_length {
        header("Content-Length", &answer.length.unwrap_or(body.len() as u64).to_string());
    }
    for (name, value) in &answer.headers {
        header(name, value);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let stop = [answer.cut, answer.stall_after].into_iter().flatten().min().unwrap_or(body.len());
    stream.write_all(&body[..stop.min(body.len())])?;
    stream.flush()?;
    while answer.stall_after.is_some() && !state.stop.load(Ordering::SeqCst) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Ok(())
}

/// Joins the client with the target, both ways, until one side ends.
fn tunnel(mut stream: Box<dyn Connection>, target: &str) -> io::Result<()> {
    let there = TcpStream::connect(target)?;
    let here = stream.plain().ok_or_else(|| io::Error::other("a tunnel through TLS"))?;
    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    let (mut up_from, mut up_to) = (here.try_clone()?, there.try_clone()?);
    let up = std::thread::spawn(move || {
        let _ = io::copy(&mut up_from, &mut up_to);
        let _ = up_to.shutdown(Shutdown::Write);
    });
    let (mut down_from, mut down_to) = (there, here);
    let _ = io::copy(&mut down_from, &mut down_to);
    let _ = down_to.shutdown(Shutdown::Both);
    let _ = up.join();
    Ok(())
}
