//! Signatures of requests: AWS Signature Version 4, as S3 has it (paths are encoded once, and the
//! digest of the body is a header).

use std::fmt::Write as _;

use ring::hmac;
use sha2::{Digest as _, Sha256};

use super::settings::BucketSettings;
use crate::calendar::UtcTime;

/// What a signature is made of.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// Encoded.
    pub(super) path: &'a str,
    /// Encoded, in the order of names.
    pub(super) query: &'a str,
    /// Names in lower case; `host` and the date among them.
    pub(super) headers: &'a [(String, String)],
    /// The digest of the body.
    pub(super) body: &'a str,
    pub(super) date: &'a str,
}

/// `20261118T021500Z`
pub(super) fn date(seconds: i64) -> String {
    let t = UtcTime::of(seconds);
    format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
        t.year, t.month, t.day, t.hour, t.minute, t.second
    )
}

/// The header `Authorization`.
pub(super) fn authorization(settings: &BucketSettings, request: &Signed<'_>) -> String {
    let mut headers: Vec<_> = request.headers.iter().collect();
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let mut canonical = format!("{}\n{}\n{}\n", request.method, request.path, request.query);
    for (name, value) in &headers {
        canonical += &format!("{name}:{}\n", value.trim());
    }
    canonical += &format!("\n{names}\n{}", request.body);
    let day = request.date.get(..8).unwrap_or(request.date);
    let scope = format!("{day}/{}/s3/aws4_request", settings.region);
    let text = format!(
        "AWS4-HMAC-SHA256\n{}\n{scope}\n{}",
        request.date,
        digest(canonical.as_bytes())
    );
    let first = format!("AWS4{}", settings.credentials.key.expose());
    let mut key = mac(first.as_bytes(), day.as_bytes());
    for part in [&settings.region, "s3", "aws4_request"] {
        key = mac(key.as_ref(), part.as_bytes());
    }
    let signature = hex(mac(key.as_ref(), text.as_bytes()).as_ref());
    let id = settings.credentials.id.expose();
    format!(
        "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
}

fn mac(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

/// The SHA-256 of a text in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A part of a path (with its slashes) or a value of a query, as signatures want it: all but letters,
/// digits and `-._~` as `%XX`.
pub(super) fn encoded(text: &str, keep_slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if keep_slashes => out.push('/'),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::bucket::BucketCredentials;

    /// The keys of the examples in "Authenticating Requests: Using the Authorization Header" of
    /// the S3 API reference.
    fn settings() -> BucketSettings {
        BucketSettings {
            endpoint: Url::parse("https://s3.amazonaws.com").expect("a URL"),
            region: "us-east-1".into(),
            credentials: BucketCredentials {
                id: "AKIAIOSFODNN7EXAMPLE".into(),
                key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
                token: None,
            },
        }
    }

    fn signature(
        method: &str,
        path: &str,
        query: &str,
        body: &str,
        more: &[(&str, &str)],
    ) -> String {
        let mut headers = vec![
            ("host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-content-sha256", body),
            ("x-amz-date", "20130524T000000Z"),
        ];
        headers.extend(more);
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let text = authorization(
            &settings(),
            &Signed {
                method,
                path,
                query,
                headers: &headers,
                body,
                date: &date(1_369_353_600),
            },
        );
        text.rsplit('=').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn signatures_are_those_of_the_reference() {
        let empty = digest(b"");
        assert_eq!(
            signature("GET", "/test.txt", "", &empty, &[("range", "bytes=0-9")]),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let body = digest(b"Welcome to Amazon S3.");
        let more = [
            ("date", "Fri, 24 May 2013 00:00:00 GMT"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        let path = format!("/{}", encoded("test$file.text", true));
        assert_eq!(
            signature("PUT", &path, "", &body, &more),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
        assert_eq!(
            signature("GET", "/", "max-keys=2&prefix=J", &empty, &[]),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }
}
