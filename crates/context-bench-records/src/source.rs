//! `Source`: one file of records, opened: where its bytes are and what they mean.
//!
//! It knows files, pipes, members of archives and anything that is `ReadAt`. It
//! knows nothing about records: that is for the readers it makes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::unreadable;
use crate::format::{self, Compression, Format, Syntax};
use crate::json_lines::JsonLines;
use crate::json_list::JsonList;
#[cfg(feature = "parquet")]
use crate::parquet::ParquetRecords;
use crate::read_at::{BytesAt, FileAt, FileReader, RangeReader, ReadAt};
use crate::table::Table;
use crate::zip::{self, Member};
use crate::{ReadSettings, RecordError, Records};

/// What users type for standard input.
pub const STDIN: &str = "-";

/// Large enough that reading costs no time beside parsing.
const BUFFER_BYTES: usize = 256 * 1024;

/// A Parquet file in an archive is held in memory, as it is read from its end.
const LARGEST_HELD: u64 = 1024 * 1024 * 1024;

/// Decompressed bytes.
pub type Input = Box<dyn BufRead + Send>;

/// An open file of records.
pub struct Source {
    path: Arc<Path>,
    format: Format,
    origin: Origin,
}

enum Origin {
    File(Arc<File>),
    /// A pipe, until it is read.
    Once(Option<Box<dyn Read + Send>>),
    At(Arc<dyn ReadAt>),
    Member {
        archive: Arc<dyn ReadAt>,
        member: Member,
    },
}

impl Source {
    /// Opens a file or a pipe.
    ///
    /// The name says the format: `.jsonl`, `.ndjson`, `.json`, `.csv` or
    /// `.tsv`, in any case, optionally followed by `.gz`, `.zst` or `.bz2`; or
    /// `.parquet`. Parquet and compressed bytes are also recognised without the
    /// ending. `archive.zip` is its only file of records,
    /// `archive.zip#member.jsonl` a certain one. `-` is standard input; it and
    /// pipes without a telling name hold JSON Lines.
    ///
    /// # Errors
    ///
    /// When there is no such file, or its format is not known.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        if path == Path::new(STDIN) {
            return Ok(Self::once(path, Format::OF_PIPES, Box::new(io::stdin())));
        }
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::open_member(path);
            }
            Err(error) => return Err(unreadable(path, error)),
        };
        if metadata.is_dir() {
            return Err(RecordError::Folder { path: path.into() });
        }
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        let named = Format::of(path);
        if !metadata.is_file() || is_descriptor(path) {
            let format = named.unwrap_or(Format::OF_PIPES);
            return Ok(Self::once(path, format, Box::new(file)));
        }
        let file = Arc::new(file);
        let mut start = Vec::new();
        FileReader::new(Arc::clone(&file))
            .take(4)
            .read_to_end(&mut start)
            .map_err(|error| unreadable(path, error))?;
        if format::is_archive_name(path) || (named.is_none() && format::is_archive(&start)) {
            let archive: Arc<dyn ReadAt> = Arc::new(FileAt::new(file, path.to_string_lossy()));
            return Self::only_member(&archive, path);
        }
        let format = if format::is_parquet(&start) {
            Format {
                syntax: Syntax::Parquet,
                compression: None,
            }
        } else {
            named.ok_or_else(|| RecordError::UnknownFormat { path: path.into() })?
        };
        Ok(Self {
            path: path.into(),
            format,
            origin: Origin::File(file),
        })
    }

    /// Opens a regular file whose name does not say its format, or says another
    /// one: JSON Lines are published as `.json`, or without an ending.
    /// Compression is recognised by the bytes.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open_as(path: &Path, syntax: Syntax) -> Result<Self, RecordError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => RecordError::Missing { path: path.into() },
            _ => unreadable(path, error),
        })?;
        let compression = Format::of(path).and_then(|format| format.compression);
        Ok(Self {
            path: path.into(),
            format: Format {
                syntax,
                compression,
            },
            origin: Origin::File(Arc::new(file)),
        })
    }

    /// A file that is read through [`ReadAt`]; the ending of its name says the format.
    ///
    /// # Errors
    ///
    /// When the format is not known.
    pub fn from_read_at(source: Arc<dyn ReadAt>) -> Result<Self, RecordError> {
        let path = PathBuf::from(source.name());
        if format::is_archive_name(&path) {
            return Self::only_member(&source, &path);
        }
        let format = Format::of(&path);
        Ok(Self {
            format: format.ok_or_else(|| RecordError::UnknownFormat { path: path.clone() })?,
            path: path.into(),
            origin: Origin::At(source),
        })
    }

    /// Bytes that come once, front to back, such as a download; the ending of
    /// the name says the format.
    ///
    /// # Errors
    ///
    /// When the format is not known.
    pub fn from_reader(
        name: &Path,
        bytes: impl Read + Send + 'static,
    ) -> Result<Self, RecordError> {
        let format = Format::of(name);
        let format = format.ok_or_else(|| RecordError::UnknownFormat { path: name.into() })?;
        Ok(Self::once(name, format, Box::new(bytes)))
    }

    /// The members of an archive that fit a pattern.
    pub(crate) fn members(
        archive: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Self>, RecordError> {
        let file = File::open(archive).map_err(|error| unreadable(archive, error))?;
        let source: Arc<dyn ReadAt> = Arc::new(FileAt::new(file, archive.to_string_lossy()));
        let (wanted, _) = data_members(&source, archive)?;
        Ok(wanted
            .into_iter()
            .filter(|(member, _)| is_wanted(&member.name))
            .map(|(member, format)| Self::of_member(&source, archive, member, format))
            .collect())
    }

    fn once(path: &Path, format: Format, bytes: Box<dyn Read + Send>) -> Self {
        Self {
            path: path.into(),
            format,
            origin: Origin::Once(Some(bytes)),
        }
    }

    fn of_member(archive: &Arc<dyn ReadAt>, path: &Path, member: Member, format: Format) -> Self {
        Self {
            path: Path::new(&format!("{}#{}", path.display(), member.name)).into(),
            format,
            origin: Origin::Member {
                archive: Arc::clone(archive),
                member,
            },
        }
    }

    fn open_member(path: &Path) -> Result<Self, RecordError> {
        let missing = || RecordError::Missing { path: path.into() };
        let (archive, name) = split_member(path).ok_or_else(missing)?;
        if !archive.is_file() {
            return Err(RecordError::Missing { path: archive });
        }
        let mut found = Self::members(&archive, |member| member == name)?;
        match found.pop() {
            Some(source) => Ok(source),
            None => {
                let all = Self::members(&archive, |_| true)?;
                Err(RecordError::NoFiles {
                    path: path.into(),
                    found: all.iter().map(Self::member_name).collect(),
                })
            }
        }
    }

    fn only_member(archive: &Arc<dyn ReadAt>, path: &Path) -> Result<Self, RecordError> {
        let (mut data, others) = data_members(archive, path)?;
        match data.len() {
            0 => Err(RecordError::NoFiles {
                path: path.into(),
                found: others,
            }),
            1 => data
                .pop()
                .map(|(member, format)| Self::of_member(archive, path, member, format))
                .ok_or_else(|| RecordError::Missing { path: path.into() }),
            _ => Err(RecordError::SeveralMembers {
                path: path.into(),
                members: data.into_iter().map(|(member, _)| member.name).collect(),
            }),
        }
    }

    fn member_name(&self) -> String {
        match &self.origin {
            Origin::Member { member, .. } => member.name.clone(),
            _ => self.path.display().to_string(),
        }
    }

    /// The file as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the file is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether records can be read more than once, which a pipe cannot.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self.origin, Origin::Once(_))
    }

    /// The records from the start.
    ///
    /// Each call reads the same open file again, so a file that was replaced in
    /// the meantime does not matter. A pipe can be read once.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not a file of its format at all.
    pub fn records(&mut self, settings: &ReadSettings) -> Result<Box<dyn Records>, RecordError> {
        let path = Arc::clone(&self.path);
        let max_records = settings.max_records.unwrap_or(usize::MAX);
        #[cfg(feature = "parquet")]
        if self.format.syntax == Syntax::Parquet {
            let source = self.read_at()?;
            return Ok(Box::new(ParquetRecords::open(source, path, settings)?));
        }
        let bytes = self.bytes().map_err(|error| unreadable(&path, error))?;
        let mut input =
            decode(bytes, self.format.compression).map_err(|error| unreadable(&path, error))?;
        Ok(match self.format.syntax {
            Syntax::JsonLines => Box::new(JsonLines::new(input, path, max_records)),
            Syntax::Json => {
                let start = fill(&mut input).map_err(|error| unreadable(&path, error))?;
                if settings.field.is_none() && format::is_json_lines(start) {
                    Box::new(JsonLines::new(input, path, max_records))
                } else {
                    let field = settings.field.as_deref();
                    Box::new(JsonList::new(input, path, max_records, field))
                }
            }
            Syntax::Table { delimiter } => {
                let start = input.fill_buf().map_err(|error| unreadable(&path, error))?;
                let delimiter = format::delimiter(start, delimiter);
                let header = settings.header.clone();
                Box::new(Table::new(input, delimiter, path, max_records, header))
            }
            Syntax::Parquet => {
                let what = "this build has no support for Parquet (feature `parquet`)";
                let what = io::Error::new(io::ErrorKind::Unsupported, what);
                return Err(unreadable(&path, what));
            }
        })
    }

    /// The bytes as they are stored.
    fn bytes(&mut self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &mut self.origin {
            Origin::File(file) => Box::new(FileReader::new(Arc::clone(file))),
            Origin::Once(bytes) => bytes
                .take()
                .ok_or_else(|| io::Error::other("a pipe can be read only once"))?,
            Origin::At(source) => {
                let len = source.len()?;
                Box::new(RangeReader::new(Arc::clone(source), 0, len))
            }
            Origin::Member { archive, member } => member.open(archive)?,
        })
    }

    /// The bytes for reading from any place.
    fn read_at(&mut self) -> Result<Arc<dyn ReadAt>, RecordError> {
        match &self.origin {
            Origin::File(file) => Ok(Arc::new(FileAt::new(
                Arc::clone(file),
                self.path.to_string_lossy(),
            ))),
            Origin::At(source) => Ok(Arc::clone(source)),
            Origin::Once(_) | Origin::Member { .. } => {
                self.hold().map_err(|error| unreadable(&self.path, error))
            }
        }
    }

    fn hold(&mut self) -> io::Result<Arc<dyn ReadAt>> {
        let mut held = Vec::new();
        self.bytes()?
            .take(LARGEST_HELD + 1)
            .read_to_end(&mut held)?;
        if held.len() as u64 > LARGEST_HELD {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a Parquet file in an archive or a pipe may have 1 GiB; unpack it",
            ));
        }
        Ok(Arc::new(BytesAt {
            bytes: held.into(),
            name: self.path.display().to_string(),
        }))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// `archive.zip#member` in its two parts.
pub(crate) fn split_member(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str()?;
    let at = text
        .char_indices()
        .filter(|(_, char)| *char == '#')
        .map(|(at, _)| at)
        .find(|at| format::is_archive_name(Path::new(&text[..*at])))?;
    Some((text[..at].into(), text[at + 1..].to_owned()))
}

/// The members that hold records by their names, with their formats, and the
/// names of some others.
#[expect(clippy::type_complexity, reason = "both halves are used once, at once")]
fn data_members(
    archive: &Arc<dyn ReadAt>,
    path: &Path,
) -> Result<(Vec<(Member, Format)>, Vec<String>), RecordError> {
    let mut data = Vec::new();
    let mut others = Vec::new();
    for member in zip::members(&**archive, path)? {
        // What macOS adds is not data.
        let format = Format::of(Path::new(&member.name));
        match format.filter(|_| !member.name.starts_with("__MACOSX/")) {
            Some(format) => data.push((member, format)),
            None => others.push(member.name),
        }
    }
    Ok((data, others))
}

fn decode(bytes: Box<dyn Read + Send>, named: Option<Compression>) -> io::Result<Input> {
    let mut bytes = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let compression = match named {
        Some(compression) => Some(compression),
        None => Compression::of_bytes(fill(&mut bytes)?),
    };
    Ok(match compression {
        None => Box::new(bytes),
        // Tools that append to or join compressed files write several parts.
        Some(Compression::Gzip) => buffered(flate2::bufread::MultiGzDecoder::new(bytes)),
        Some(Compression::Zstd) => buffered(zstd::stream::read::Decoder::with_buffer(bytes)?),
        Some(Compression::Bzip2) => buffered(bzip2::bufread::MultiBzDecoder::new(bytes)),
    })
}

fn buffered(bytes: impl Read + Send + 'static) -> Input {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, bytes))
}

/// The bytes at hand, after trying again when a signal came in between.
pub(crate) fn fill<R: BufRead + ?Sized>(input: &mut R) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The buffer is full now, so this neither reads nor fails.
    input.fill_buf()
}

/// Whether the path names an open descriptor of this process, such as
/// `/dev/stdin`. Not every system lets these be read again from the start.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}
