//! In place of `remote.rs` and `remote_files.rs` in a library without the feature `hub`:
//! what would be read from there is reported as an error.

use std::path::PathBuf;

use super::error::DatasetCatalogError;
use super::load::LoadSettings;
use super::row::Rows;
use super::rows::TableSettings;
use super::spec::Config;
use crate::dataset::{DatasetError, Origin};

/// Access to the hub, which a library without the feature `hub` never has.
#[derive(Debug, Clone)]
pub enum HubAccess {}

impl HubAccess {
    pub(crate) fn fetch_url(&self, _: &str) -> Result<PathBuf, DatasetCatalogError> {
        match *self {}
    }

    pub(crate) fn split_files(
        &self,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
        _: &str,
    ) -> Result<RemoteFiles, DatasetCatalogError> {
        match *self {}
    }

    pub(crate) fn named_files(
        &self,
        _: &str,
        _: Option<&str>,
        _: &[String],
    ) -> Result<RemoteFiles, DatasetCatalogError> {
        match *self {}
    }

    pub(super) fn url_rows(
        &self,
        _: &str,
        _: usize,
        _: TableSettings,
    ) -> Result<Option<Rows>, DatasetError> {
        match *self {}
    }
}

/// Files of the hub, of which there are none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RemoteFiles {}

impl RemoteFiles {
    pub(super) fn rows(
        self,
        _: Option<usize>,
        _: &HubAccess,
        _: TableSettings,
    ) -> Result<Rows, DatasetError> {
        match self {}
    }

    pub(super) fn are_tables(&self) -> bool {
        match *self {}
    }
}

impl Config {
    pub(super) fn remote_rows(
        &self,
        access: &HubAccess,
        _: &LoadSettings,
        _: TableSettings,
    ) -> Result<(Rows, Origin), DatasetError> {
        match *access {}
    }
}
