//! Arguments of methods and filters by place and by name.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Bound arguments, in the order of their names.
pub(crate) struct Args {
    what: &'static str,
    values: Vec<Option<Value>>,
}

pub(crate) fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

impl Args {
    /// Binds the arguments of a method to the names it has; `what` is the method.
    pub(crate) fn bind(
        what: &'static str,
        args: &[Value],
        names: &[&str],
        required: usize,
    ) -> Result<Self, Error> {
        match args.split_last() {
            Some((last, rest)) if last.is_kwargs() => {
                let keywords = Kwargs::try_from(last.clone())?;
                Self::join(what, rest, Some(&keywords), names, required)
            }
            _ => Self::join(what, args, None, names, required),
        }
    }

    /// Like [`Args::bind`], for filters.
    pub(crate) fn of(
        what: &'static str,
        positional: &[Value],
        keywords: &Kwargs,
        names: &[&str],
        required: usize,
    ) -> Result<Self, Error> {
        Self::join(what, positional, Some(keywords), names, required)
    }

    fn join(
        what: &'static str,
        positional: &[Value],
        keywords: Option<&Kwargs>,
        names: &[&str],
        required: usize,
    ) -> Result<Self, Error> {
        if positional.len() > names.len() {
            let (most, given) = (names.len(), positional.len());
            return Err(wrong(format!(
                "`{what}` takes at most {most} arguments, {given} were given"
            )));
        }
        let mut values: Vec<Option<Value>> = positional.iter().cloned().map(Some).collect();
        values.resize(names.len(), None);
        if let Some(keywords) = keywords {
            for name in keywords.args() {
                let Some(i) = names.iter().position(|known| *known == name) else {
                    return Err(wrong(format!("`{what}` has no argument `{name}`")));
                };
                values[i] = Some(keywords.peek::<Value>(name)?);
            }
        }
        if let Some(missing) = (0..required).find(|&i| values[i].is_none()) {
            return Err(wrong(format!("`{what}` needs `{}`", names[missing])));
        }
        Ok(Self { what, values })
    }

    /// An argument, when given and not `None`.
    pub(crate) fn get(&self, i: usize) -> Option<&Value> {
        self.values
            .get(i)?
            .as_ref()
            .filter(|value| !matches!(value.kind(), ValueKind::None | ValueKind::Undefined))
    }

    /// A text argument.
    pub(crate) fn text(&self, i: usize) -> Result<Option<&str>, Error> {
        let Some(value) = self.get(i) else {
            return Ok(None);
        };
        match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(wrong(format!(
                "`{}` needs text, found {}",
                self.what,
                value.kind()
            ))),
        }
    }

    /// A text argument that must be there; empty when it was given as `None`.
    pub(crate) fn needed(&self, i: usize) -> Result<&str, Error> {
        Ok(self.text(i)?.unwrap_or_default())
    }

    /// An integer argument.
    pub(crate) fn int(&self, i: usize) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(i) else {
            return Ok(None);
        };
        let int = value
            .as_i64()
            .or((value.kind() == ValueKind::Bool).then(|| i64::from(value.is_true())));
        match int {
            Some(int) => Ok(Some(int)),
            None => Err(wrong(format!(
                "`{}` needs an integer, found {}",
                self.what,
                value.kind()
            ))),
        }
    }

    /// Whether an argument is true.
    pub(crate) fn truth(&self, i: usize, default: bool) -> bool {
        self.values
            .get(i)
            .and_then(Option::as_ref)
            .map_or(default, Value::is_true)
    }
}
