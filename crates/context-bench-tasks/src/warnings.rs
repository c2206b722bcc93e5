//! Warnings and errors met on the way from names to trees.

use std::cell::{RefCell, RefMut};

use crate::error::{Error, Result, Warning};

/// What a resolution meets on its way. A check of files collects the errors in the members
/// of a group and goes on; a run stops at the first.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    noticed: RefCell<Vec<Warning>>,
    wrong: Option<RefCell<Vec<Error>>>,
}

impl Warnings {
    /// Collects errors and goes on.
    pub(crate) fn of_all() -> Self {
        Self {
            wrong: Some(RefCell::default()),
            ..Self::default()
        }
    }

    pub(crate) fn borrow_mut(&self) -> RefMut<'_, Vec<Warning>> {
        self.noticed.borrow_mut()
    }

    pub(crate) fn into_inner(self) -> Vec<Warning> {
        self.noticed.into_inner()
    }

    /// Collects an error, or gives it back where the first one ends the work.
    pub(crate) fn collect(&self, error: Error) -> Result<()> {
        match &self.wrong {
            Some(wrong) => {
                wrong.borrow_mut().push(error);
                Ok(())
            }
            None => Err(error),
        }
    }

    /// The errors since the last time.
    pub(crate) fn errors(&self) -> Vec<Error> {
        self.wrong.as_ref().map(RefCell::take).unwrap_or_default()
    }
}
