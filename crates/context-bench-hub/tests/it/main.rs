//! The hub client against a hub on loopback: real sockets, real files, and no
//! part of the client replaced.

mod access;
mod common;
mod disk;
mod download;
mod life;
mod ranged;
mod resolve;
mod shared_cache;
mod urls;
