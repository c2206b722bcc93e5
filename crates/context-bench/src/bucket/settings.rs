//! How a bucket is reached: address of the service, region, keys. The names of variables are those
//! of every tool for S3.

use context_bench_http::is_loopback;
use url::Url;

use super::BucketError;
use crate::chat::Secret;

/// Keys for a bucket. They are never shown.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BucketCredentials {
    /// The id of the key.
    pub id: Secret,
    /// The key.
    pub key: Secret,
    /// The token that goes with keys that expire.
    pub token: Option<Secret>,
}

/// How a bucket is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BucketSettings {
    /// The address of the service.
    pub endpoint: Url,
    /// The region that requests are signed for.
    pub region: String,
    /// Who asks.
    pub credentials: BucketCredentials,
}

impl BucketSettings {
    /// Reads the settings from variables that the caller looks up.
    ///
    /// # Errors
    ///
    /// When keys are missing, or the address of the service cannot be used.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, BucketError> {
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if region.is_empty() || !region.chars().all(plain) {
            return Err(BucketError::Region {
                given: region,
                right: None,
            });
        }
        let allow_http = variable("AWS_ALLOW_HTTP");
        let allow_http = allow_http.is_some_and(|text| text == "1" || text == "true");
        let endpoint = match first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
            Some(text) => service(&text, allow_http)?,
            None => own_service(&region)?,
        };
        let missing = |name| BucketError::NoCredentials { missing: name };
        let secret = |name| {
            variable(name)
                .map(Secret::new)
                .filter(|one| !one.is_empty())
        };
        Ok(Self {
            endpoint,
            region,
            credentials: BucketCredentials {
                id: secret("AWS_ACCESS_KEY_ID").ok_or(missing("AWS_ACCESS_KEY_ID"))?,
                key: secret("AWS_SECRET_ACCESS_KEY").ok_or(missing("AWS_SECRET_ACCESS_KEY"))?,
                token: secret("AWS_SESSION_TOKEN"),
            },
        })
    }
}

fn own_service(region: &str) -> Result<Url, BucketError> {
    let end = if region.starts_with("cn-") { ".cn" } else { "" };
    let url = format!("https://s3.{region}.amazonaws.com{end}");
    Url::parse(&url).map_err(|_| BucketError::Region {
        given: region.to_owned(),
        right: None,
    })
}

fn service(text: &str, allow_http: bool) -> Result<Url, BucketError> {
    let wrong = |problem| BucketError::Endpoint { problem };
    let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("is not a URL of http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(wrong("must not have a user, a password or a query"));
    }
    // Signatures keep keys safe even then; what is read and written would be open.
    if url.scheme() == "http" && !allow_http && !is_loopback(&url) {
        return Err(wrong("is not encrypted"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hint as _;

    const KEYS: [(&str, &str); 2] = [
        ("AWS_ACCESS_KEY_ID", "id-planted"),
        ("AWS_SECRET_ACCESS_KEY", "key-planted"),
    ];

    fn read(more: &[(&str, &str)]) -> Result<BucketSettings, BucketError> {
        let given = [&KEYS[..], more].concat();
        BucketSettings::from_variables(&|name| {
            let found = given.iter().rev().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_usual_variables_decide() {
        for (more, endpoint, region) in [
            (&[][..], "https://s3.us-east-1.amazonaws.com/", "us-east-1"),
            (
                &[("AWS_DEFAULT_REGION", "eu-west-1")],
                "https://s3.eu-west-1.amazonaws.com/",
                "eu-west-1",
            ),
            (
                &[("AWS_REGION", "cn-north-1"), ("AWS_DEFAULT_REGION", "x")],
                "https://s3.cn-north-1.amazonaws.com.cn/",
                "cn-north-1",
            ),
            (
                &[("AWS_ENDPOINT_URL", "http://127.0.0.1:5000")],
                "http://127.0.0.1:5000/",
                "us-east-1",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "https://other"),
                    ("AWS_ENDPOINT_URL_S3", "http://minio:9000/x"),
                    ("AWS_ALLOW_HTTP", "true"),
                ],
                "http://minio:9000/x",
                "us-east-1",
            ),
        ] {
            let settings = read(more).expect(endpoint);
            assert_eq!(settings.endpoint.as_str(), endpoint);
            assert_eq!(settings.region, region);
            assert!(!format!("{settings:?}").contains("planted"));
        }
    }

    #[test]
    fn what_cannot_work_is_an_error_with_a_hint() {
        for (more, expected) in [
            (&[("AWS_ACCESS_KEY_ID", "")][..], "AWS_ACCESS_KEY_ID"),
            (&[("AWS_SECRET_ACCESS_KEY", " ")], "AWS_SECRET_ACCESS_KEY"),
            (&[("AWS_ENDPOINT_URL", "http://minio:9000")], "encrypted"),
            (&[("AWS_ENDPOINT_URL", "minio")], "not a URL"),
            (&[("AWS_ENDPOINT_URL", "ftp://minio")], "http or https"),
            (&[("AWS_ENDPOINT_URL", "https://u:planted@m")], "password"),
            (&[("AWS_REGION", "eu west")], "eu west"),
        ] {
            let error = read(more).expect_err(expected);
            let text = error.to_string();
            assert!(text.contains(expected), "{text}");
            assert!(error.hint().is_some());
            assert!(!text.contains("planted"), "{text}");
        }
    }
}
