//! Templates that are simple enough are worked out right on the record.
//!
//! The engine copies every value it is given and starts a machine for each
//! rendering, which costs more than most templates do. What the templates of
//! datasets and tasks mostly say (fields, texts between them, loops over lists,
//! `split`, `join`, `default`) needs neither.
//!
//! This is a shortcut and never a second opinion: the engine's own parser reads
//! the template, whatever is not known here leaves the whole template to the
//! engine, and whatever is met in a record that is not plainly known (an undefined
//! value, an operation on an unusual type) leaves that record to it. All errors
//! are therefore the engine's.

mod lower;
mod plan;
mod run;
mod value;

use serde_json::Value as Json;

use super::Record;
use plan::{Expr, Stmt};

/// A template that may be worked out without the engine.
pub(super) struct Direct {
    body: Vec<Stmt>,
    /// When the whole of it is one `{{ expression }}`.
    expression: Option<Expr>,
}

impl Direct {
    /// Reads a template; `None` when there is something in it that only the engine knows.
    pub(super) fn of(source: &str, expression: Option<&str>) -> Option<Self> {
        Some(Self {
            body: lower::template(source)?,
            expression: match expression {
                Some(text) => Some(lower::expression(text)?),
                None => None,
            },
        })
    }

    /// The text for a record; `None` when the engine must be asked.
    pub(super) fn render(&self, record: &(impl Record + ?Sized)) -> Option<String> {
        run::render(&self.body, record)
    }

    /// The value of the one expression for a record; `None` when the engine must be asked.
    pub(super) fn evaluate(&self, record: &(impl Record + ?Sized)) -> Option<Json> {
        run::evaluate(self.expression.as_ref()?, record)
    }
}
