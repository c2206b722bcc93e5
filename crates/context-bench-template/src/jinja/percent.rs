//! `"…" % value`, which minijinja does not know, as a filter call.
//!
//! Only a text literal on the left can be told from arithmetic before the template
//! runs; that is also how people write it.

/// The name of the filter that formats.
pub(crate) const FILTER: &str = "__percent";

/// The template with `"…" % operand` written as `"…"|__percent(operand)`.
pub(crate) fn rewrite(source: &str) -> Option<String> {
    if !source.contains('%') || !source.contains(['"', '\'']) {
        return None;
    }
    let mut out = String::with_capacity(source.len() + 16);
    let mut changed = false;
    let mut rest = source;
    while let Some(open) = find_open(rest) {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let close = match &from[..2] {
            "{#" => "#}",
            "{%" => "%}",
            _ => "}}",
        };
        let end = if close == "#}" {
            from.find(close).map_or(from.len(), |at| at + 2)
        } else {
            code_end(from, close)
        };
        let (code, after) = from.split_at(end);
        if close == "#}" || !rewrite_code(code, &mut out) {
            if close == "#}" {
                out.push_str(code);
            }
        } else {
            changed = true;
        }
        rest = after;
    }
    out.push_str(rest);
    changed.then_some(out)
}

fn find_open(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(1))
        .find(|&i| bytes[i] == b'{' && matches!(bytes[i + 1], b'{' | b'%' | b'#'))
}

/// Where a `{{ … }}` or `{% … %}` ends; marks inside text literals do not count.
fn code_end(text: &str, close: &str) -> usize {
    let mut at = 2;
    while at < text.len() {
        if let Some(end) = literal_end(text, at) {
            at = end;
        } else if text[at..].starts_with(close) {
            return at + close.len();
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The end of a text literal that starts at a place.
fn literal_end(text: &str, at: usize) -> Option<usize> {
    let quote = text[at..]
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (i, c) in text[at + 1..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1 + i + 1),
            _ => {}
        }
    }
    None
}

/// Copies code, rewriting; whether something was rewritten.
fn rewrite_code(code: &str, out: &mut String) -> bool {
    let mut changed = false;
    let mut at = 0;
    while at < code.len() {
        let Some(end) = literal_end(code, at) else {
            let c = code[at..].chars().next().unwrap_or(' ');
            out.push(c);
            at += c.len_utf8();
            continue;
        };
        out.push_str(&code[at..end]);
        at = end;
        let after = code[end..].trim_start();
        let operator = after.starts_with('%') && !after.starts_with("%}");
        if !operator {
            continue;
        }
        let start = code.len() - after.len() + 1;
        let operand = operand_end(code, start);
        out.push('|');
        out.push_str(FILTER);
        out.push('(');
        rewrite_code(code[start..operand].trim(), out);
        out.push(')');
        at = operand;
        changed = true;
    }
    changed
}

/// The end of an operand: a value with its attributes, indices, calls and filters.
fn operand_end(code: &str, start: usize) -> usize {
    let skip = |at: usize| code.len() - code[at..].trim_start().len();
    let mut at = skip(start);
    if code[at..].starts_with('-') {
        at = skip(at + 1);
    }
    at = primary_end(code, at);
    loop {
        let next = skip(at);
        match code[next..].chars().next() {
            Some('.') => at = word_end(code, skip(next + 1)),
            Some('(' | '[') => at = bracket_end(code, next),
            Some('|') => at = word_end(code, skip(next + 1)),
            _ => return at,
        }
    }
}

fn primary_end(code: &str, at: usize) -> usize {
    match code[at..].chars().next() {
        Some('(' | '[' | '{') => bracket_end(code, at),
        Some('"' | '\'') => literal_end(code, at).unwrap_or(code.len()),
        _ => word_end(code, at),
    }
}

/// The end of a name or a number.
fn word_end(code: &str, at: usize) -> usize {
    let rest = &code[at..];
    let number = rest.starts_with(|c: char| c.is_ascii_digit());
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || (number && c == '.')));
    at + end.unwrap_or(rest.len())
}

fn bracket_end(code: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < code.len() {
        if let Some(end) = literal_end(code, at) {
            at = end;
            continue;
        }
        let c = code[at..].chars().next().unwrap_or(' ');
        at += c.len_utf8();
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_formatting_and_nothing_else() {
        for (source, expected) in [
            ("{{ '%s' % x }}", Some("{{ '%s'|__percent(x) }}")),
            (
                "{{ '%s' % x.y[0]|upper ~ 'b' }}",
                Some("{{ '%s'|__percent(x.y[0]|upper) ~ 'b' }}"),
            ),
            (
                "{{ '%s-%d' % (a, 1) }}",
                Some("{{ '%s-%d'|__percent((a, 1)) }}"),
            ),
            (
                "{% if '%s' % x == 'a' %}1{% endif %}",
                Some("{% if '%s'|__percent(x) == 'a' %}1{% endif %}"),
            ),
            ("{{ 7 % 2 }} '%s' % x", None),
            ("{% set a = 'b' %}{{ a }}", None),
            ("{# '%s' % x #}", None),
            ("{{ '}}' }} 50% of {{ x }}", None),
        ] {
            assert_eq!(rewrite(source).as_deref(), expected, "{source}");
        }
    }
}
