//! The `mock-endpoint` program, run as a process.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use crate::client::{CHAT, Client, question};

fn start(arguments: &[&str]) -> (Child, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mock-endpoint"))
        .args(arguments)
        .arg("--stdin-close")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let address = address.parse().unwrap();
    (child, address)
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn it_serves_until_stdin_closes() {
    let (child, address) = start(&["--reply", "Rome", "--require-key", "k", "--latency-ms", "1"]);
    let mut client = Client::new(address);
    assert_eq!(client.ask("q").status, 401);
    client.send(CHAT, &question("q"), "Authorization: Bearer k\r\n");
    assert_eq!(client.receive().unwrap().content(), "Rome");
    end(child);
}

#[test]
fn it_fails_on_request() {
    let (child, address) = start(&["--fault-share", "1", "--fault-kinds", "503", "--seed", "3"]);
    assert_eq!(Client::new(address).ask("q").status, 503);
    end(child);
}

#[test]
fn it_has_a_noop_mode() {
    let (child, address) = start(&["--noop", "--reply", "fast"]);
    assert_eq!(Client::new(address).ask("q").content(), "fast");
    end(child);
}

#[test]
fn it_refuses_wrong_arguments() {
    for arguments in [
        &["--nonsense", "1"][..],
        &["--port"],
        &["--port", "x"],
        &["--fault-share", "2"],
        &["--fault-kinds", "teapot"],
        &["--noop", "--require-key", "k"],
    ] {
        let program = env!("CARGO_BIN_EXE_mock-endpoint");
        let output = Command::new(program).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
