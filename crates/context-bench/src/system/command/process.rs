//! One child process that answers JSON lines.
//!
//! A `Worker` owns its child: dropping it kills the child and everything the
//! child started. It reads and writes lines; what they mean is not its concern.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::tail::Tail;

/// The longest line that is read.
const MAX_LINE: usize = 64_000_000;

/// How long a child that closed its output may take to exit by itself.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// A running child.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: Option<Tail>,
    /// The child leads a process group of this number.
    group: Option<u32>,
}

/// Why no line came back.
#[derive(Debug)]
pub(super) enum Broken {
    /// The child closed its output.
    Closed,
    /// The line is longer than any line should be.
    TooLong,
    /// The pipe failed.
    Pipe(io::Error),
}

impl Worker {
    /// Starts a child with pipes on all three standard streams.
    pub(super) fn start(words: &[String], env: &[(String, String)]) -> io::Result<Self> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A group of its own, so that all it starts can be ended with it. If we
        // are killed ourselves, the end of its input tells it to stop.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the child has no pipes"));
        };
        Ok(Self {
            group: child.id(),
            child,
            stdin,
            stdout: BufReader::with_capacity(64 * 1024, stdout),
            stderr: Some(Tail::of(stderr)),
        })
    }

    /// Text that the child wrote without being asked, if there is any by now;
    /// blank lines do not count.
    pub(super) fn unasked(&mut self) -> Option<Vec<u8>> {
        loop {
            // Pending means that nothing is there; at the end of the stream the
            // next exchange will notice.
            let bytes = self.stdout.fill_buf().now_or_never()?.ok()?;
            if bytes.is_empty() {
                return None;
            }
            if !is_blank(bytes) {
                return Some(bytes.to_vec());
            }
            let count = bytes.len();
            self.stdout.consume(count);
        }
    }

    /// Writes one line and reads one that is not blank. Both at once, so that a
    /// child which answers early cannot block.
    pub(super) async fn exchange(&mut self, line: &[u8]) -> Result<Vec<u8>, Broken> {
        let Self { stdin, stdout, .. } = self;
        let write = async {
            // A child that is gone also closes its output; that says more.
            let _ = stdin.write_all(line).await;
            let _ = stdin.flush().await;
            Ok(())
        };
        let ((), reply) = tokio::try_join!(write, read_line(stdout))?;
        Ok(reply)
    }

    /// Ends the child and gives its exit status, if it ended by itself, and the
    /// last lines of its standard error.
    pub(super) async fn end(mut self, wait_for_exit: bool) -> (Option<ExitStatus>, String) {
        let mut status = None;
        if wait_for_exit {
            let exit = tokio::time::timeout(EXIT_GRACE, self.child.wait()).await;
            status = exit.ok().and_then(Result::ok);
        }
        self.kill();
        let stderr = match self.stderr.take() {
            Some(tail) => tail.finish().await,
            None => String::new(),
        };
        (status, stderr)
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group.take()
            && let Ok(number) = i32::try_from(group)
            && let Some(pid) = rustix::process::Pid::from_raw(number)
        {
            // An error means that nothing of the group is left.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        // An error means that the child has ended.
        let _ = self.child.start_kill();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read_line(stdout: &mut BufReader<ChildStdout>) -> Result<Vec<u8>, Broken> {
    let mut line = Vec::new();
    loop {
        let bytes = stdout.fill_buf().await.map_err(Broken::Pipe)?;
        if bytes.is_empty() {
            // A last line without its newline is still an answer.
            return if is_blank(&line) {
                Err(Broken::Closed)
            } else {
                Ok(line)
            };
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(bytes.len());
        if line.len() + taken > MAX_LINE {
            return Err(Broken::TooLong);
        }
        line.extend_from_slice(&bytes[..taken]);
        stdout.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            if !is_blank(&line) {
                return Ok(line);
            }
            line.clear();
        }
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}
