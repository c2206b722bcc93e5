//! A store as one file that travels: written by one process, taken over by another.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::{Cause, describe};
use super::{Store, StoreError, open};

impl Store {
    /// Writes what is in the store of a folder into a file of its own, which must not exist. Goes
    /// on while another part of this process writes to the store.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or the file not be written.
    pub fn snapshot(dir: &Path, to: &Path) -> Result<(), StoreError> {
        let path = open::file(dir);
        let copied = || -> rusqlite::Result<()> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
            Ok(())
        };
        copied().map_err(|error| StoreError::Unusable {
            path: path.clone(),
            problem: describe(&error),
            cause: Cause::of(&error),
        })
    }
}
