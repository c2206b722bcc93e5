//! `BucketAddress`: where in which bucket, written `s3://BUCKET/PREFIX`.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::BucketError;

const SCHEME: &str = "s3://";

/// A bucket, and what the names of objects in it begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    bucket: String,
    /// Without slashes at its ends; may be empty.
    prefix: String,
}

impl BucketAddress {
    /// The address that a setting for folders holds; `None` if it is a folder.
    ///
    /// # Errors
    ///
    /// When it begins like an address and is none.
    pub fn of_setting(folder: &Path) -> Result<Option<Self>, BucketError> {
        match folder.to_str().filter(|text| text.starts_with(SCHEME)) {
            Some(text) => text.parse().map(Some),
            None => Ok(None),
        }
    }

    /// The name of the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The whole name of an object.
    pub(super) fn key(&self, name: &str) -> String {
        match self.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }
}

impl FromStr for BucketAddress {
    type Err = BucketError;

    fn from_str(text: &str) -> Result<Self, BucketError> {
        let malformed = || BucketError::Address {
            given: text.to_owned(),
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(malformed)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if !(3..=63).contains(&bucket.len())
            || !bucket.chars().all(plain)
            || !bucket.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            return Err(malformed());
        }
        let prefix = prefix.trim_end_matches('/');
        // URLs and folders would read these as something else.
        let is_part = |part: &str| !matches!(part, "" | "." | "..");
        let odd = |c: char| c.is_control() || "?#\\".contains(c);
        let is_wrong = !prefix.split('/').all(is_part) || prefix.contains(odd);
        if !prefix.is_empty() && is_wrong || prefix.len() > 512 {
            return Err(malformed());
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, shown, key) in [
            ("s3://bench", "s3://bench", "a/b"),
            ("s3://bench/", "s3://bench", "a/b"),
            ("s3://bench/x y/é//", "s3://bench/x y/é", "x y/é/a/b"),
        ] {
            let address: BucketAddress = text.parse().expect(text);
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.key("a/b"), key);
        }
        let folder = BucketAddress::of_setting(Path::new("bench")).expect("a folder");
        assert_eq!(folder, None);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "s3://",
            "s3://ab",
            "s3:///x",
            "s3://user:key@bench",
            "s3://-bench",
            "s3://bench/../x",
            "s3://bench//x",
            "s3://bench/a?b=c",
            "s3://bench/a\nb",
        ] {
            assert!(text.parse::<BucketAddress>().is_err(), "{text}");
            assert!(BucketAddress::of_setting(Path::new(text)).is_err());
        }
    }
}
