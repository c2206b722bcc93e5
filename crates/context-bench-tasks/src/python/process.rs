//! One child process: starting it, lines to and from it, and its end.
//!
//! Three threads serve it, so that no wait is without a limit: one writes requests, one
//! reads replies, one keeps the end of what it prints.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::PythonSettings;
use super::channel::Channel;
use super::error::{Exception, Problem};

/// Reads the program from its input, for a command line cannot be that long everywhere.
/// It must be understood by every Python, so that an old one can say what is wrong.
const BOOT: &str = "\
import json, os, sys
if sys.version_info < (3, 8): sys.exit('version 3.8 or later is needed, this is ' + sys.version.split()[0])
s = os.fdopen(os.dup(0), 'rb')
g = {'__name__': '__context_bench__'}
for n, t in json.loads(s.readline().decode()): exec(compile(t, '<context-bench>/' + n, 'exec'), g)
g['main'](s)
";

/// The program, in the order its parts need each other.
pub(super) const PROGRAM: [(&str, &str); 6] = [
    ("values.py", include_str!("child/values.py")),
    ("dataset.py", include_str!("child/dataset.py")),
    ("loader.py", include_str!("child/loader.py")),
    ("task.py", include_str!("child/task.py")),
    ("standin.py", include_str!("child/standin.py")),
    ("main.py", include_str!("child/main.py")),
];

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a process may take to end by itself.
const END_TIMEOUT: Duration = Duration::from_millis(500);
const PRINTED_BYTES: usize = 4096;
/// Replies read ahead; the child waits when there are more.
const REPLIES_AHEAD: usize = 64;

/// A line from the child.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// It has started.
    Ready(()),
    /// The function was found; results follow.
    Loaded(()),
    /// A whole result.
    Ok(Value),
    /// Part of a list.
    Items(Vec<Value>),
    /// The rows so far are this split.
    Split(String),
    /// The list is complete; what it is.
    End(String),
    /// No result.
    Error(CallFailure),
}

#[derive(Debug, Deserialize)]
pub(super) struct CallFailure {
    kind: String,
    #[serde(flatten)]
    exception: Exception,
}

impl From<CallFailure> for Problem {
    fn from(CallFailure { kind, exception }: CallFailure) -> Self {
        let exception = Box::new(exception);
        match kind.as_str() {
            "reference" => Self::Reference(exception),
            "load" => Self::Load(exception),
            "value" => Self::Value(exception),
            _ => Self::Raised(exception),
        }
    }
}

/// A running child.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Gone when its input is closed.
    requests: Option<Sender<Vec<u8>>>,
    replies: Receiver<Vec<u8>>,
    printed: Arc<Mutex<Vec<u8>>>,
    printed_all: Receiver<()>,
    timeout: Duration,
    /// Whether a reply came since this was last set to false.
    pub(super) answered: bool,
}

impl Process {
    pub(super) fn start(settings: &PythonSettings) -> Result<Self, Problem> {
        let failed = |reason: String| Problem::Start {
            interpreter: settings.interpreter.display().to_string(),
            reason,
        };
        let mut child = Command::new(&settings.interpreter)
            // No `.pyc` files beside task files; text is UTF-8 whatever the locale says.
            .args(["-B", "-X", "utf8", "-c", BOOT])
            // The order of sets must not depend on which process a call goes to.
            .env("PYTHONHASHSEED", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(mut input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no pipes".into()));
        };
        let (requests, to_write) = channel::<Vec<u8>>();
        thread::spawn(move || {
            for line in to_write {
                // The end of the child shows on the side of the replies.
                if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        });
        let (reply, replies) = sync_channel(REPLIES_AHEAD);
        thread::spawn(move || read_lines(output, &reply));
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (all, printed_all) = channel();
        let kept = printed.clone();
        thread::spawn(move || {
            keep_end(errors, &kept);
            // Nobody listens when the process was ended from here.
            let _ = all.send(());
        });
        let mut process = Self {
            child,
            requests: Some(requests),
            replies,
            printed,
            printed_all,
            timeout: START_TIMEOUT,
            answered: false,
        };
        let channel: &mut dyn Channel = &mut process;
        channel.send(&PROGRAM);
        match channel.receive() {
            Ok(Reply::Ready(())) => {}
            Ok(other) => return Err(failed(format!("unexpected {other:?}"))),
            Err(Problem::Ended { how, printed }) => {
                let printed = printed.trim();
                let last = printed.lines().last().unwrap_or_default();
                return Err(failed(if last.is_empty() {
                    how
                } else {
                    last.to_owned()
                }));
            }
            Err(_) => return Err(failed(format!("no answer within {START_TIMEOUT:?}"))),
        }
        process.timeout = settings.call_timeout;
        Ok(process)
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end by itself.
    pub(super) fn close(&mut self) {
        self.requests = None;
    }

    fn kill(&mut self) {
        // Both fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }

    /// The end of what it printed. Only to be asked for after it has ended: a grandchild may
    /// hold the pipe open, so the wait is short.
    fn printed(&self) -> String {
        let _ = self.printed_all.recv_timeout(END_TIMEOUT);
        let kept = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

impl Channel for Process {
    /// Hands a line to the thread that writes.
    fn send_line(&mut self, line: Vec<u8>) {
        if let Some(requests) = &self.requests {
            // A writer that is gone means a child that is gone: the next reply says so.
            let _ = requests.send(line);
        }
    }

    /// The next line of the child. After an error the process is of no more use.
    fn receive(&mut self) -> Result<Reply, Problem> {
        match self.replies.recv_timeout(self.timeout) {
            Ok(line) => {
                self.answered = true;
                serde_json::from_slice(&line).map_err(|error| {
                    let line = String::from_utf8_lossy(&line);
                    let start: String = line.chars().take(200).collect();
                    Problem::Protocol(format!("{start} ({error})"))
                })
            }
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                let (limit, printed) = (self.timeout, self.printed());
                Err(Problem::TimedOut { limit, printed })
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = match self.ended_within(END_TIMEOUT) {
                    Some(status) => status.to_string(),
                    None => "it closed its output".into(),
                };
                self.kill();
                let printed = self.printed();
                Err(Problem::Ended { how, printed })
            }
        }
    }

    fn process_id(&self) -> Option<u32> {
        Some(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close();
        if self.ended_within(END_TIMEOUT).is_none() {
            self.kill();
        }
    }
}

fn read_lines(output: impl Read, replies: &SyncSender<Vec<u8>>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line) {
            // A line without its end was cut by the end of the child.
            Ok(_) if line.ends_with(b"\n") => {
                if replies.send(line).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

fn keep_end(mut errors: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = errors.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..n]);
        let excess = kept.len().saturating_sub(PRINTED_BYTES);
        kept.drain(..excess);
    }
}
