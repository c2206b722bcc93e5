//! Files of the hub as rows, with no more fetched than is read.
//!
//! The first records are read in place, by ranges, or of the first files only; otherwise
//! files are fetched into the cache and read from there.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use context_bench_hub::{HubError, RangedFile, RemoteFile};
use context_bench_records::{Format, ReadAt};

use super::error::DatasetCatalogError;
use super::load::with_member;
use super::remote::HubAccess;
use super::row::{KnownLen, Rows};
use super::rows::{self, TableSettings};
use crate::dataset::DatasetError;

/// Up to this many records are read by ranges, when the files are larger than
/// what is fetched in a moment anyway.
const FEW_RECORDS: usize = 2000;
const LARGE_BYTES: u64 = 4 << 20;

/// Files of the hub that are one table.
#[derive(Clone)]
pub(crate) struct RemoteFiles {
    pub(super) files: Vec<RemoteFile>,
    /// What is meant of archives.
    pub(super) member: Option<String>,
}

impl RemoteFiles {
    pub(super) fn new(files: Vec<RemoteFile>) -> Self {
        let member = None;
        Self { files, member }
    }

    /// Their records, of which about the first `most` will be taken.
    ///
    /// # Errors
    ///
    /// When files cannot be fetched or opened.
    pub(super) fn rows(
        self,
        most: Option<usize>,
        access: &HubAccess,
        settings: TableSettings,
    ) -> Result<Rows, DatasetError> {
        let is_large = self.files.iter().map(|file| file.size).sum::<u64>() > LARGE_BYTES;
        if most.is_some() && is_large && !self.is_cached(access) {
            let is_few = most.is_some_and(|most| most <= FEW_RECORDS);
            if is_few && self.is_readable() {
                return Ok(self.ranged(access, settings));
            }
            if self.files.len() > 1 {
                return Ok(self.one_by_one(access, settings));
            }
        }
        let paths = access.hub.fetch(&self.files, &*access.progress);
        let paths = paths.map_err(DatasetCatalogError::from)?;
        rows::of_files(with_member(paths, self.member.as_deref()), settings)
    }

    /// Whether all are CSV or TSV files.
    pub(super) fn are_tables(&self) -> bool {
        let mut files = self.files.iter();
        files.all(|file| rows::is_table(file.path.as_ref()))
    }

    fn is_cached(&self, access: &HubAccess) -> bool {
        let mut files = self.files.iter();
        files.all(|file| access.hub.in_cache(file).is_some())
    }

    /// Whether their names show how they are read.
    fn is_readable(&self) -> bool {
        let mut files = self.files.iter();
        files.all(|file| Format::of(file.path.as_ref()).is_some())
    }

    /// Files that are fetched when their turn comes.
    fn one_by_one(self, access: &HubAccess, settings: TableSettings) -> Rows {
        let (access, member) = (access.clone(), self.member);
        flat(self.files, move |file| {
            let fetched = access.hub.fetch_some(&[file], &*access.progress);
            let paths = fetched.map_err(DatasetCatalogError::from)?;
            rows::of_files(with_member(paths, member.as_deref()), settings.clone())
        })
    }

    /// Files that stay where they are, each opened when its turn comes.
    fn ranged(self, access: &HubAccess, settings: TableSettings) -> Rows {
        let hub = Arc::clone(&access.hub);
        flat(self.files, move |file| {
            let ranged = hub.open_ranged(&file).map_err(DatasetCatalogError::from)?;
            let name = file.path;
            rows::of_read_at(Arc::new(Ranged { name, ranged }), settings.clone())
        })
    }
}

impl HubAccess {
    /// The rows of a file by its address, when it pays to leave it where it is.
    ///
    /// # Errors
    ///
    /// When it cannot be reached or opened.
    pub(super) fn url_rows(
        &self,
        url: &str,
        most: usize,
        settings: TableSettings,
    ) -> Result<Option<Rows>, DatasetError> {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        // Only the last part is shown: what stands before it may be a password.
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_readable = Format::of(Path::new(name)).is_some();
        let is_offline = self.hub.settings().offline;
        if most > FEW_RECORDS || !is_readable || is_offline || self.hub.has_url(url) {
            return Ok(None);
        }
        let ranged = match self.hub.open_url_ranged(url) {
            Ok(ranged) if ranged.len() > LARGE_BYTES => ranged,
            // A server that serves no parts serves the whole.
            Ok(_) | Err(HubError::BadReply { .. }) => return Ok(None),
            Err(error) => return Err(DatasetCatalogError::from(error).into()),
        };
        let name = name.to_owned();
        rows::of_read_at(Arc::new(Ranged { name, ranged }), settings).map(Some)
    }
}

/// The rows of files, each opened when its turn comes.
fn flat(
    files: Vec<RemoteFile>,
    mut open: impl FnMut(RemoteFile) -> Result<Rows, DatasetError> + Send + 'static,
) -> Rows {
    let known_len = KnownLen::default();
    // The first of several files does not know about the others.
    let told = (files.len() == 1).then(|| Arc::clone(&known_len));
    let rows = files.into_iter().flat_map(move |file| match open(file) {
        Ok(rows) => {
            if let (Some(told), Some(len)) = (&told, rows.known_len().get()) {
                let _ = told.set(*len);
            }
            rows
        }
        Err(error) => Rows::new(std::iter::once(Err(error))),
    });
    Rows::new(rows).with_known_len(known_len)
}

/// A file of the hub as readers of records see it.
struct Ranged {
    name: String,
    ranged: RangedFile,
}

impl ReadAt for Ranged {
    fn len(&self) -> io::Result<u64> {
        Ok(self.ranged.len())
    }

    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        self.ranged.read_at(offset, len)
    }

    fn name(&self) -> &str {
        &self.name
    }
}
