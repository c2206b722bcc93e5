//! [`GatePolicy`]: many rules, one on each line.

use super::error::GateError;
use super::rule::GateRule;

/// Rules, one on each line; empty lines and what follows a `#` are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatePolicy {
    /// The rules, in order.
    pub rules: Vec<GateRule>,
}

impl GatePolicy {
    /// Reads the rules of a text.
    ///
    /// # Errors
    ///
    /// If a line is not a rule, with line and column.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let rule = without_comment(line);
            if rule.trim().is_empty() {
                continue;
            }
            rules.push(GateRule::parse(rule).map_err(|mut error| {
                error.position.line = u32::try_from(at + 1).unwrap_or(u32::MAX);
                error
            })?);
        }
        Ok(Self { rules })
    }
}

/// A `#` within quotation marks belongs to a name.
fn without_comment(line: &str) -> &str {
    let mut quotation = None;
    for (at, next) in line.char_indices() {
        match (quotation, next) {
            (None, '#') => return &line[..at],
            (None, '`' | '"' | '\'') => quotation = Some(next),
            (Some(quote), _) if quote == next => quotation = None,
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_rules() {
        let text = "# quality\nf1 < baseline - 0.02\n\n  latency_p95 > 3 # seconds\n`a#b` > 1\n";
        let policy = GatePolicy::parse(text).unwrap();
        let texts: Vec<&str> = policy.rules.iter().map(GateRule::text).collect();
        assert_eq!(
            texts,
            ["f1 < baseline - 0.02", "latency_p95 > 3", "`a#b` > 1"]
        );
        assert_eq!(
            GatePolicy::parse(" # nothing\n").unwrap(),
            GatePolicy::default()
        );
    }

    #[test]
    fn errors_have_lines() {
        let error = GatePolicy::parse("f1 < 1\n\n  f1 < < 2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "gate rule, line 3, column 8: expected a number or a metric, found `<`"
        );
    }
}
