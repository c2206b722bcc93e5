//! A blocking HTTP client on a bare socket, so that the tests see every byte
//! and every way in which a connection can end.
//!
//! It must stay independent of the crate under test.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A received response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn content(&self) -> String {
        let body = self.json();
        let content = body["choices"][0]["message"]["content"].as_str();
        content.expect("a content").to_owned()
    }

    /// The data of the server-sent events.
    pub(crate) fn events(&self) -> Vec<String> {
        let text = String::from_utf8(self.body.clone()).expect("UTF-8 events");
        text.split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").expect("an event").to_owned())
            .collect()
    }
}

/// A chat request body.
pub(crate) fn question(text: &str) -> Value {
    json!({"model": "m1", "messages": [{"role": "user", "content": text}]})
}

pub(crate) struct Client(pub(crate) BufReader<TcpStream>);

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        let patience = Some(Duration::from_secs(120));
        stream.set_read_timeout(patience).expect("a timeout");
        Self(BufReader::new(stream))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0
            .get_mut()
            .write_all(bytes)
            .expect("a writable socket");
    }

    pub(crate) fn send(&mut self, path: &str, body: &Value, extra: &str) {
        let body = body.to_string();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: t\r\nContent-Length: {length}\r\n{extra}\r\n{body}"
        );
        self.write(request.as_bytes());
    }

    /// Sends and receives on this connection.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Response {
        self.send(path, body, "");
        self.receive().expect("a response")
    }

    pub(crate) fn ask(&mut self, text: &str) -> Response {
        self.post(CHAT, &question(text))
    }

    pub(crate) fn receive(&mut self) -> io::Result<Response> {
        let mut response = self.receive_head()?;
        if response.header("transfer-encoding") == Some("chunked") {
            while self.receive_chunk(&mut response.body)? {}
        } else if let Some(length) = response.header("content-length") {
            response.body = vec![0; length.parse().expect("a length")];
            self.0.read_exact(&mut response.body)?;
        }
        Ok(response)
    }

    pub(crate) fn receive_head(&mut self) -> io::Result<Response> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).expect("a status");
        let mut response = Response {
            status: status.parse().expect("a numeric status"),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(response);
            }
            let (name, value) = line.split_once(": ").expect("a header");
            response.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Appends one chunk; false if it was the last.
    pub(crate) fn receive_chunk(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        let size = usize::from_str_radix(&self.line()?, 16).expect("a chunk size");
        let mut chunk = vec![0; size];
        self.0.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk);
        assert_eq!(self.line()?, "");
        Ok(size > 0)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches("\r\n").to_owned())
    }
}
