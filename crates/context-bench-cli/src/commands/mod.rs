//! One file per command. A command takes its arguments and the registry and
//! tells how the program shall end.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod ls;
pub(crate) mod run;
