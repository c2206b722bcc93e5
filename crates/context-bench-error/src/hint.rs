//! [`Hint`]: what to do about an error, apart from what happened.

/// What a user can do about an error.
///
/// It is separate from the error's own text, so that each surface (terminal, Python,
/// JSON) can show it in its own way.
pub trait Hint {
    /// What the user can do next, if there is something to say.
    fn hint(&self) -> Option<String>;
}
