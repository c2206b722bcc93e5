//! Buckets: objects in a service that speaks S3, asked and written over HTTP.
//!
//! A small client of our own (`docs/adr/0026`): list, get, put under a condition, remove. Calls
//! block, may come from any thread, and are repeated when the service is busy or away. Nothing here
//! reads the environment, knows what the objects are, or shows a key.

mod address;
mod client;
mod error;
mod listing;
mod request;
mod service;
mod settings;
mod signature;

pub use address::BucketAddress;
pub use client::{Bucket, PutCondition, PutOutcome};
pub use error::BucketError;
pub use settings::{BucketCredentials, BucketSettings};
