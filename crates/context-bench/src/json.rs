//! JSON as text, ASCII only: indented by two spaces, or on one line as Python writes it.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter};

/// As Python's `json.dumps(value, indent=2)` writes it.
pub(crate) fn indented(value: &Value) -> String {
    written(value, AsciiPretty::default())
}

/// As Python's `json.dumps(value)` writes it: on one line, a space after `,` and `:`.
pub(crate) fn python(value: &Value) -> String {
    written(value, AsciiSpaced)
}

fn written(value: &Value, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail, and the text is ASCII.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, formatter,
    ));
    String::from_utf8(bytes).unwrap_or_default()
}

/// One line, with Python's spaces.
struct AsciiSpaced;

impl Formatter for AsciiSpaced {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_ascii(writer, fragment)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Escapes everything beyond ASCII.
fn write_ascii<W: ?Sized + Write>(writer: &mut W, fragment: &str) -> io::Result<()> {
    let mut rest = fragment;
    while let Some(start) = rest.find(|c: char| !c.is_ascii()) {
        let (plain, tail) = rest.split_at(start);
        writer.write_all(plain.as_bytes())?;
        let end = tail.find(|c: char| c.is_ascii()).unwrap_or(tail.len());
        let (foreign, after) = tail.split_at(end);
        for unit in foreign.encode_utf16() {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = after;
    }
    writer.write_all(rest.as_bytes())
}

/// Like serde_json's pretty form, but everything beyond ASCII is escaped, so the
/// text survives any terminal, mail or log. Astral characters become surrogate pairs.
#[derive(Default)]
pub(crate) struct AsciiPretty(PrettyFormatter<'static>);

impl Formatter for AsciiPretty {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_ascii(writer, fragment)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
