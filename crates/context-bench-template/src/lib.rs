//! The languages that dataset and task files are written in, as Python reads them: YAML
//! 1.1 with positions, Jinja templates over records, `re`, literals, and Python's tokens.
//!
//! Nothing here does I/O. Whatever a file contains, reading and rendering it takes
//! bounded time and memory and never panics.

pub mod jinja;
pub mod python;
pub mod yaml;
