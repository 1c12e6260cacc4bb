//! A proxy on loopback that says whatever it is told to, whomever a request is for.
//!
//! Everything is asked through it, so nothing that an input names is ever contacted: redirects and
//! https addresses come here too.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is answered.
pub enum Script {
    /// These bytes, an answer a connection; when there are none left, connections are closed.
    Bytes(VecDeque<Vec<u8>>),
    /// This file, in whole or in part, as an honest server does.
    File(&'static [u8]),
}

/// The running proxy.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Starts it on a free port; it runs until the process ends.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("the port just bound");
        let script = Arc::new(Mutex::new(Script::File(b"")));
        let shared = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that goes away in the middle is no fault here.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, script }
    }

    /// Answers like this from now on.
    pub fn say(&self, script: Script) {
        *lock(&self.script) = script;
    }
}

fn serve(stream: TcpStream, script: &Mutex<Script>) -> io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_ascii_lowercase()),
        }
    }
    let answer = match &mut *lock(script) {
        Script::Bytes(answers) => answers.pop_front().unwrap_or_default(),
        Script::File(file) => honest(file, &head),
    };
    (&stream).write_all(&answer)?;
    stream.shutdown(Shutdown::Write)?;
    // Reads what is left, so that closing does not reset and lose what was sent.
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    io::copy(&mut reader, &mut io::sink())?;
    Ok(())
}

fn honest(file: &[u8], head: &[String]) -> Vec<u8> {
    let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
    let from = header("range: bytes=").and_then(|range| range.strip_suffix('-')?.parse().ok());
    let same = header("if-range: ").is_none_or(|version| version == "\"honest\"");
    let total = file.len();
    let (status, body, range) = match from.filter(|_| same) {
        None => (200, file, String::new()),
        Some(from) if from >= total => {
            (416, &b""[..], format!("Content-Range: bytes */{total}\r\n"))
        }
        Some(from) => {
            let range = format!("Content-Range: bytes {from}-{}/{total}\r\n", total - 1);
            (206, &file[from..], range)
        }
    };
    let mut answer = format!(
        "HTTP/1.1 {status} Test\r\nConnection: close\r\nETag: \"honest\"\r\n{range}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}
