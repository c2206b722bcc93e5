//! The files of the pages, embedded: those of the report, and what a viewer has beside them.

use crate::http::Response;

const SHELL: &str = include_str!("../assets/shell.html");
const SCRIPT: &str = concat!(
    include_str!("../assets/server_rows.js"),
    include_str!("../assets/runs.js"),
    include_str!("../assets/compare.js"),
    include_str!("../assets/live.js"),
    include_str!("../assets/view.js"),
);
const STYLE: &str = include_str!("../assets/view.css");

const HTML: &str = "text/html; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

/// The file of a path. The address of every page gives the same document, which holds no data.
pub(crate) fn file(path: &str) -> Option<Response> {
    let (kind, text) = match path {
        "/" | "/compare" => (HTML, SHELL),
        "/assets/page.js" => (JS, context_bench_page::SCRIPT),
        "/assets/page.css" => (CSS, context_bench_page::STYLE),
        "/assets/view.js" => (JS, SCRIPT),
        "/assets/view.css" => (CSS, STYLE),
        path if path.strip_prefix("/run/").is_some_and(is_id) => (HTML, SHELL),
        _ => return None,
    };
    Some(Response::new(200, kind, text))
}

/// Whether it may be the id of a run.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 100
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
