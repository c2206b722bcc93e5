//! The tap as its users see it: real sockets on both sides.

// Helpers of tests are tests too, which the settings of clippy do not see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod anything;
mod attribution;
mod faults;
mod load;
mod log;
mod relay;
mod secrets;
mod support;
mod tls;
