//! What is noticed on the way from names to trees.

use std::cell::{RefCell, RefMut};

use crate::error::{Error, Result, Warning};

/// What a resolution notices on its way. Who checks files goes on behind what is wrong
/// with one member of a group, and is told all of it; who runs tasks stops there.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    noticed: RefCell<Vec<Warning>>,
    wrong: Option<RefCell<Vec<Error>>>,
}

impl Warnings {
    /// Goes on behind errors and keeps them.
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

    /// Keeps an error, or gives it back to end with.
    pub(crate) fn tell(&self, error: Error) -> Result<()> {
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
