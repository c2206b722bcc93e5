//! Folders that shards share: those of this machine, and buckets with what the environment says
//! about them.

use std::path::Path;
use std::sync::Arc;

use context_bench::bucket::{Bucket, BucketAddress, BucketError, BucketSettings};
use context_bench::mask;
use context_bench::shard::{BucketFolder, FolderError, LocalFolder, MergeError, SharedFolder};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{env, output};

/// The folder that a setting names; copies of what is in a bucket go to `scratch`.
pub(crate) fn of(setting: &Path, scratch: Option<&Path>) -> Result<Arc<dyn SharedFolder>, Failure> {
    let Some(address) = BucketAddress::of_setting(setting)? else {
        return Ok(Arc::new(LocalFolder::new(setting)));
    };
    let bucket = opened(address)?;
    Ok(Arc::new(BucketFolder::new(bucket, scratch)?))
}

fn opened(address: BucketAddress) -> Result<Bucket, BucketError> {
    let settings = BucketSettings::from_variables(&|name| {
        let value = env::get(name)?;
        if mask::is_secret(name) {
            output::hide([value.clone()]);
        }
        Some(value)
    })?;
    Bucket::new(address, settings)
}

/// A failure of a shared folder: not now, or bad input.
pub(crate) fn failure(error: FolderError) -> Failure {
    let is_temporary = error.is_temporary();
    let mut failure = Failure::from(error);
    if is_temporary {
        failure.exit = Exit::NotNow;
    }
    failure
}

/// The same for a merge.
pub(crate) fn merge_failure(error: MergeError) -> Failure {
    match error {
        MergeError::Folder(error) => failure(error),
        error => error.into(),
    }
}
