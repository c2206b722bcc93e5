//! What can be wrong with a bucket. No message has a key in it, nor anything else that a service
//! says but the word for its error.

use std::path::PathBuf;

use crate::error::Hint;

/// Why a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// It is not written as it should be.
    #[error("`{given}` is not the address of a bucket")]
    Address {
        /// What was given.
        given: String,
    },
    /// The address of the service cannot be used.
    #[error("the address of the bucket's service (`AWS_ENDPOINT_URL`) {problem}")]
    Endpoint {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The region is not the right one, or none.
    #[error("the bucket is not in region `{given}`")]
    Region {
        /// The region that was asked.
        given: String,
        /// The right one, if the service said so.
        right: Option<String>,
    },
    /// There are no keys.
    #[error("there are no keys for the bucket: `{missing}` is not set")]
    NoCredentials {
        /// The variable.
        missing: &'static str,
    },
    /// Keys cannot be sent.
    #[error("the keys for the bucket cannot be sent: they have characters that no key has")]
    OddCredentials,
    /// Nobody can be asked.
    #[error("the client for buckets cannot be set up: {reason}")]
    Setup {
        /// Why not.
        reason: String,
    },
    /// The keys are not accepted, or do not allow this.
    #[error("the service of the bucket `{bucket}` refuses to {doing}: {code}")]
    Denied {
        /// The bucket.
        bucket: String,
        /// What was asked for.
        doing: &'static str,
        /// The service's word for it.
        code: String,
    },
    /// There is no such bucket.
    #[error("there is no bucket `{bucket}` at {service}")]
    NoBucket {
        /// The bucket.
        bucket: String,
        /// Where it was looked for.
        service: String,
    },
    /// There was no answer, again and again.
    #[error("the service of the bucket `{bucket}`, {service}, cannot be reached: {reason}")]
    Unreachable {
        /// The bucket.
        bucket: String,
        /// Where it was looked for.
        service: String,
        /// Why not.
        reason: String,
    },
    /// The service was busy or broken, again and again.
    #[error("the service of the bucket `{bucket}` could not {doing}: {code}")]
    Busy {
        /// The bucket.
        bucket: String,
        /// What was asked for.
        doing: &'static str,
        /// The service's word for it.
        code: String,
    },
    /// The service answered what nobody expects.
    #[error("the service of the bucket `{bucket}` did not {doing}: {code}")]
    Unexpected {
        /// The bucket.
        bucket: String,
        /// What was asked for.
        doing: &'static str,
        /// The service's word for it.
        code: String,
    },
    /// An object is there already, with other content.
    #[error("`{name}` is in the bucket `{bucket}` already, and it is not the same")]
    Exists {
        /// The bucket.
        bucket: String,
        /// The object.
        name: String,
    },
    /// Others changed an object whenever it was to be changed here.
    #[error("others keep changing `{name}` of the bucket `{bucket}`")]
    Contended {
        /// The bucket.
        bucket: String,
        /// The object.
        name: String,
    },
    /// It does not fit into one request.
    #[error("{} GB are too much for one object of the bucket `{bucket}`: 5 GB at most", bytes / 1_000_000_000)]
    TooLarge {
        /// The bucket.
        bucket: String,
        /// Its size.
        bytes: u64,
    },
    /// A file of this machine cannot be read or written.
    #[error("cannot use `{}`: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
}

impl BucketError {
    /// Whether the same may work later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Busy { .. } | Self::Contended { .. }
        )
    }
}

/// What of AWS we do not read.
const KEYS: &str = "set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (and `AWS_SESSION_TOKEN` \
                    where keys expire); profiles and roles are not read: `aws configure \
                    export-credentials --format env` turns them into these variables";

impl Hint for BucketError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Address { .. } => {
                "write `s3://BUCKET` or `s3://BUCKET/PREFIX`; keys come from the environment".into()
            }
            Self::Endpoint { .. } => "for example `AWS_ENDPOINT_URL=https://minio.local:9000`; \
                 `AWS_ALLOW_HTTP=true` allows plain http beyond this machine"
                .into(),
            Self::Region {
                right: Some(right), ..
            } => format!("set `AWS_REGION={right}`"),
            Self::Region { .. } => "set `AWS_REGION` to the region of the bucket".into(),
            Self::NoCredentials { .. } | Self::OddCredentials => KEYS.into(),
            Self::Setup { .. } => {
                "without root certificates nothing can be asked over https: install \
                 `ca-certificates`"
                    .into()
            }
            Self::Denied { code, .. } => match code.as_str() {
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "InvalidToken"
                | "InvalidClientTokenId" => format!("the keys are not accepted; {KEYS}"),
                "ExpiredToken" | "ExpiredTokenException" => {
                    format!("the keys have expired; {KEYS}")
                }
                "RequestTimeTooSkewed" => "set the clock of this machine".into(),
                _ => "the keys must be allowed s3:ListBucket of the bucket, and s3:GetObject, \
                      s3:PutObject and s3:DeleteObject of what is in it"
                    .into(),
            },
            Self::NoBucket { .. } => {
                "check the name, `AWS_REGION` and `AWS_ENDPOINT_URL`; buckets are not made here"
                    .into()
            }
            Self::Unreachable { .. } => {
                "check `AWS_ENDPOINT_URL` and the network; the same command later goes on".into()
            }
            Self::Busy { .. } | Self::Contended { .. } => "the same command later goes on".into(),
            Self::Unexpected { .. } => {
                "check that `AWS_ENDPOINT_URL` speaks S3 and knows `If-None-Match` and `If-Match`"
                    .into()
            }
            Self::Exists { .. } => {
                "nobody overwrites a segment: remove it if it is not yours".into()
            }
            Self::TooLarge { .. } => {
                "merge into a folder: `--into DIR`; the bucket keeps the segments".into()
            }
            Self::File { .. } => "check its folder, its permissions and the space on disk".into(),
        })
    }
}
