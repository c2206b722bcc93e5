//! Where the bytes of a local dataset come from: a file or a pipe, decompressed.
//!
//! The one place that touches the file system. It knows nothing about records.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::format::{Compression, FileFormat, has_known_extension};
use crate::dataset::DatasetError;
use crate::text::suggest::near_matches;

/// What users type for standard input.
pub(in crate::dataset) const STDIN: &str = "-";

/// Large enough that reading costs no time beside parsing.
const BUFFER_BYTES: usize = 256 * 1024;

/// Decompressed bytes.
pub(super) type Input = Box<dyn BufRead + Send>;

/// An open dataset file of known format.
pub(super) struct Source {
    pub(super) format: FileFormat,
    path: PathBuf,
    bytes: Bytes,
}

enum Bytes {
    /// Can be read again from the start.
    Regular(File),
    /// Can be read once.
    Once(Box<dyn Read + Send>),
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, DatasetError> {
        let named_format = FileFormat::of(path);
        if path == Path::new(STDIN) {
            return Ok(Self {
                format: FileFormat::OF_PIPES,
                path: path.into(),
                bytes: Bytes::Once(Box::new(io::stdin())),
            });
        }
        let metadata = fs::metadata(path).map_err(|error| unreadable_or_missing(path, error))?;
        if metadata.is_dir() {
            return Err(DatasetError::Folder {
                path: path.into(),
                files: dataset_files(path).into_iter().take(3).collect(),
            });
        }
        let is_regular = metadata.is_file() && !is_descriptor(path);
        let format = match named_format {
            Some(format) => format,
            None if !is_regular => FileFormat::OF_PIPES,
            None => return Err(DatasetError::UnknownFormat { path: path.into() }),
        };
        let file = File::open(path).map_err(|error| unreadable_or_missing(path, error))?;
        Ok(Self {
            format,
            path: path.into(),
            bytes: if is_regular {
                Bytes::Regular(file)
            } else {
                Bytes::Once(Box::new(file))
            },
        })
    }

    /// The bytes for a pass before the real one; nothing when they come only once.
    pub(super) fn first_pass(&self) -> Result<Option<Input>, DatasetError> {
        match &self.bytes {
            Bytes::Once(_) => Ok(None),
            Bytes::Regular(file) => file
                .try_clone()
                .and_then(|file| decode(file, self.format.compression))
                .map(Some)
                .map_err(|error| unreadable(&self.path, error)),
        }
    }

    /// The bytes from the start. It is the same open file as in the first pass,
    /// so a file that was replaced in the meantime does not matter.
    pub(super) fn into_input(self) -> Result<Input, DatasetError> {
        let compression = self.format.compression;
        match self.bytes {
            Bytes::Once(bytes) => decode(bytes, compression),
            Bytes::Regular(mut file) => file.rewind().and_then(|()| decode(file, compression)),
        }
        .map_err(|error| unreadable(&self.path, error))
    }
}

fn decode(
    bytes: impl Read + Send + 'static,
    compression: Option<Compression>,
) -> io::Result<Input> {
    let bytes = BufReader::with_capacity(BUFFER_BYTES, bytes);
    Ok(match compression {
        None => Box::new(bytes),
        // Tools that append to or join gzip files write several members.
        Some(Compression::Gzip) => Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            flate2::bufread::MultiGzDecoder::new(bytes),
        )),
        Some(Compression::Zstd) => Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            zstd::stream::read::Decoder::with_buffer(bytes)?,
        )),
    })
}

/// Whether the path names an open descriptor of this process, such as
/// `/dev/stdin`. Not every system lets these be read again from the start.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// The error of a file that was opened but cannot be read.
pub(super) fn unreadable(path: &Path, source: io::Error) -> DatasetError {
    DatasetError::Unreadable {
        path: path.into(),
        source,
    }
}

fn unreadable_or_missing(path: &Path, error: io::Error) -> DatasetError {
    if error.kind() != io::ErrorKind::NotFound {
        return unreadable(path, error);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    DatasetError::Missing {
        path: path.into(),
        folder: (!folder.exists()).then(|| folder.into()),
        near: near_files(path, folder),
    }
}

/// Dataset files of the folder with a name like that of `path`.
fn near_files(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let Some(typed) = path.file_name().map(|name| name.to_string_lossy()) else {
        return Vec::new();
    };
    let files = dataset_files(folder);
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    near_matches(&typed, names.iter().map(String::as_str))
        .into_iter()
        .map(|name| path.with_file_name(name))
        .collect()
}

/// The dataset files of a folder by name; none when it cannot be listed.
fn dataset_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| has_known_extension(path) && path.is_file())
        .collect();
    files.sort();
    files
}
