//! The way to an interpreter that runs the program in `child/`: requests out, replies in.

use std::fmt::Debug;

use serde::Serialize;
use serde_json::Value;

use super::error::Problem;
use super::process::Reply;

/// A way to an interpreter.
pub(super) trait Channel: Debug + Send {
    /// Sends a line. Whether it arrived shows in the replies.
    fn send_line(&mut self, line: Vec<u8>);

    /// The next reply. After an error the channel is of no more use.
    fn receive(&mut self) -> Result<Reply, Problem>;

    /// The id of the process behind it, when it is not this one.
    fn process_id(&self) -> Option<u32> {
        None
    }
}

impl dyn Channel + '_ {
    /// Sends a request.
    pub(super) fn send(&mut self, request: &impl Serialize) {
        // Requests are made of JSON values, which are always written.
        if let Ok(mut line) = serde_json::to_vec(request) {
            line.push(b'\n');
            self.send_line(line);
        }
    }

    /// A whole result, from as many replies as it comes in.
    pub(super) fn result(&mut self) -> Result<Value, Problem> {
        let mut items = Vec::new();
        loop {
            match self.receive()? {
                Reply::Ok(value) => return Ok(value),
                Reply::Items(more) => items.extend(more),
                Reply::End(kind) if kind == "tuple" => return Ok(super::value::tuple(items)),
                Reply::End(_) => return Ok(Value::Array(items)),
                Reply::Error(failed) => return Err(failed.into()),
                other => return Err(Problem::Protocol(format!("{other:?}"))),
            }
        }
    }

    /// The rows of each split.
    pub(super) fn splits(&mut self) -> Result<Vec<(String, Vec<Value>)>, Problem> {
        let (mut splits, mut rows) = (Vec::new(), Vec::new());
        loop {
            match self.receive()? {
                Reply::Items(more) => rows.extend(more),
                Reply::Split(name) => splits.push((name, std::mem::take(&mut rows))),
                Reply::End(_) => return Ok(splits),
                Reply::Error(failed) => return Err(failed.into()),
                other => return Err(Problem::Protocol(format!("{other:?}"))),
            }
        }
    }
}
