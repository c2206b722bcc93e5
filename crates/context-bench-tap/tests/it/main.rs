//! The tap as its users see it: real sockets on both sides.

// Helpers of tests are tests too, which the settings of clippy do not see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod anything;
mod attribution;
mod check;
mod faults;
mod interleavings;
mod limits;
mod load;
mod log;
mod relay;
mod scripted_proxies;
mod secrets;
mod support;
mod threads;
mod tls;
