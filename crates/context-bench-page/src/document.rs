//! The document around the data: head with its policy, style, script.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The style of the page.
pub const STYLE: &str = include_str!("../assets/page.css");

/// One script of several files. Each declares what it has at the top level; the last one starts
/// where the data are in the document. A server that has other sources of rows starts it itself.
pub const SCRIPT: &str = concat!(
    include_str!("../assets/format.js"),
    include_str!("../assets/dom.js"),
    include_str!("../assets/rows.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/sections.js"),
    include_str!("../assets/words.js"),
    include_str!("../assets/example.js"),
    include_str!("../assets/browser.js"),
    include_str!("../assets/main.js"),
);

/// What the page may do: run its own script and use its own style, both named by their digest.
/// It loads nothing, sends nothing, and the browser refuses to parse texts as markup.
fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        digest(SCRIPT),
        digest(STYLE)
    )
}

/// Writes everything before the data.
pub(crate) fn write_head(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#\" id=\"skip\">Skip to the examples</a>\n\
         <main id=\"page\"><noscript><h1>{}</h1><p>This page draws its tables and charts with a \
         script of its own, which loads nothing from anywhere. Allow scripts to read it, or write \
         the results as <code>--output markdown</code>.</p></noscript></main>\n",
        policy(),
        escape(title),
        escape(title)
    )
}

/// Writes the script and ends the document.
pub(crate) fn write_foot(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A window's title shows no controls; a NUL would be a parse error.
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
