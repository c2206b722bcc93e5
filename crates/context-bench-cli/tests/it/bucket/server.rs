//! Starts `s3_server.py`, and speaks to the part of it that is for tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::command;

/// An S3 on loopback; it ends with this value.
pub(super) struct S3Server {
    process: Child,
    pub(super) url: String,
    pub(super) id: String,
    pub(super) key: String,
}

impl S3Server {
    pub(super) fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new(root.join("../../target/moto-venv/bin/python"))
            .arg(root.join("tests/it/bucket/s3_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self {
            process,
            url: text("url"),
            id: text("id"),
            key: text("key"),
        }
    }

    /// The program, with what it needs to know of the server.
    pub(super) fn program(&self) -> Command {
        let mut command = command();
        without_variables(&mut command);
        command
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_ACCESS_KEY_ID", &self.id)
            .env("AWS_SECRET_ACCESS_KEY", &self.key);
        command
    }

    /// Faults of the next requests that fit: method, end of the path, what happens.
    pub(super) fn faults(&self, faults: &[(&str, &str, &str)]) {
        let faults = faults
            .iter()
            .map(|(method, ends, does)| json!({"method": method, "ends": ends, "do": does}));
        let faults: Vec<Value> = faults.collect();
        self.post("/test/faults", &Value::from(faults).to_string());
    }

    pub(super) fn release(&self) {
        self.post("/test/release", "");
    }

    /// The requests so far, with their status.
    pub(super) fn seen(&self) -> Vec<String> {
        serde_json::from_str(&self.ask("GET", "/test/seen", "")).unwrap()
    }

    /// Waits until so many requests were seen.
    pub(super) fn until(&self, which: impl Fn(&str) -> bool, n: usize) {
        for _ in 0..30_000 {
            if self.seen().iter().filter(|line| which(line)).count() >= n {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("waited in vain: {:#?}", self.seen());
    }

    pub(super) fn post(&self, path: &str, body: &str) {
        self.ask("POST", path, body);
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        body.to_owned()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Whatever the machine has for buckets of its own.
pub(super) fn without_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
}
