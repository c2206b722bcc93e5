//! A template with a look at everything it makes.
//!
//! The engine counts its steps, not what a step makes: `x ~ x` is one step however
//! long `x` is. So wherever something is made (a sum, a list, a slice, a call, a
//! filter), a filter that measures it is written behind: `(x ~ x)|__joined`. Text in
//! loops is counted where it stands. Nothing else changes, and no line moves. What is
//! not understood here is left as it is, and the engine refuses it.
//!
//! `"…" % value`, which the engine does not know, becomes a filter on the way. Only a
//! text literal on the left can be told from arithmetic before the template runs; that
//! is also how people write it.

mod edits;
mod expression;

use edits::Edits;
use expression::ExpressionReader;

use super::FUEL;
use super::bounds::{MAX_SIZE, WRITTEN};
use super::tokens::{Piece, Token};

/// The filter that formats as `%` does.
pub(super) const PERCENT: &str = "__percent";
/// Texts that are written without being counted: there is not enough fuel to write too
/// much of them.
const SHORT_TEXT: usize = 3;
const _: () = assert!(FUEL as usize * SHORT_TEXT <= MAX_SIZE);

/// The template as the engine is to run it.
pub(super) fn template(source: &str, pieces: &[Piece<'_>]) -> String {
    let mut edits = Edits::default();
    // Blocks that are open; text outside of all is written once.
    let mut blocks = 0_usize;
    // How the piece before ends, when that takes the spaces behind it away.
    let mut trims = false;
    for piece in pieces {
        let whole = match piece {
            Piece::Text(text) => {
                if blocks > 0 && text.text.len() > SHORT_TEXT {
                    let end = if trims { "-" } else { "" };
                    let count = text.text.len();
                    edits.insert(text.start, format!("{{{{ {count}|{WRITTEN} {end}}}}}"));
                }
                text
            }
            Piece::Raw(raw) => {
                if blocks > 0 {
                    let trimmed = raw.text.starts_with("{%-");
                    let start = if trimmed { "-" } else { "" };
                    let count = raw.text.len();
                    edits.insert(raw.start, format!("{{{{{start} {count}|{WRITTEN} }}}}"));
                }
                raw
            }
            Piece::Comment(comment) => comment,
            Piece::Code(code) => {
                if let Some(first) = code.tokens.first().filter(|_| code.statement) {
                    match first.span.text {
                        "for" | "macro" | "call" | "block" | "if" | "set" | "filter" | "with"
                        | "autoescape" => blocks += 1,
                        word if word.starts_with("end") => blocks = blocks.saturating_sub(1),
                        _ => {}
                    }
                    // `{% set x = y %}` opens nothing.
                    if first.span.text == "set" && assigned(&code.tokens).is_some() {
                        blocks = blocks.saturating_sub(1);
                    }
                }
                ExpressionReader::new(&code.tokens, &mut edits).code(code.statement);
                &code.whole
            }
        };
        trims = ["-}}", "-%}", "-#}"]
            .iter()
            .any(|mark| whole.text.ends_with(mark));
    }
    edits.apply(source)
}

/// Where the `=` of a `set` statement is, unless it is the kind that has a body.
pub(super) fn assigned(tokens: &[Token<'_>]) -> Option<usize> {
    at_top(tokens).find(|&at| tokens[at].is_mark(&["="]))
}

/// The places of tokens that are in no bracket.
fn at_top<'t>(tokens: &'t [Token<'_>]) -> impl Iterator<Item = usize> + 't {
    let mut depth = 0_isize;
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        if token.is_mark(&["(", "[", "{"]) {
            depth += 1;
        } else if token.is_mark(&[")", "]", "}"]) {
            depth -= 1;
        }
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::pieces;
    use super::*;

    #[test]
    fn what_is_made_is_measured_and_nothing_else_changes() {
        for (source, expected) in [
            ("{{ x }} a {{ x.y[0] }}", "{{ x }} a {{ x.y[0] }}"),
            ("{{ x.strip() }}", "{{ x.strip() }}"),
            ("{{ ['a', 1] }}", "{{ ['a', 1] }}"),
            ("{{ [x, 1] }}", "{{ [x, 1]|__joined }}"),
            ("{{ (x) }}{{ (x,) }}", "{{ (x) }}{{ (x,)|__joined }}"),
            ("{{ x + y }}", "{{ (x + y)|__joined }}"),
            ("{{ 1 + 2 - x - 1 }}", "{{ (1 + 2 - x - 1)|__joined }}"),
            ("{{ x - 1 }}", "{{ x - 1 }}"),
            ("{{ 'a' ~ 'b' }}", "{{ 'a' ~ 'b' }}"),
            ("{{ x ~ y + z }}", "{{ ((x ~ y)|__joined + z)|__joined }}"),
            (
                "{{ a ~ b ~ c ~ d ~ 'e' }}",
                "{{ (a|__operand(4) ~ b|__operand(4) ~ c|__operand(3) ~ d|__operand(2) ~ 'e')|__joined }}",
            ),
            ("{{ x * 2 }}", "{{ (x * 2)|__measured }}"),
            ("{{ 'x' * 2 }}", "{{ (('x')|__free * 2)|__measured }}"),
            (
                "{{ x * 2 * 3 / 4 }}",
                "{{ ((x * 2)|__measured * 3)|__measured / 4 }}",
            ),
            (
                "{{ x[1:] }}{{ x[1:][0] }}",
                "{{ x[1:]|__joined }}{{ x[1:][0] }}",
            ),
            (
                "{{ range(3)|list }}",
                "{{ range(3)|__measured|list|__measured }}",
            ),
            (
                "{{ a if x is eq y and not z in [y] else b|f(c ~ d) }}",
                "{{ a if x is eq y and not z in [y]|__joined else b|f((c ~ d)|__joined)|__measured }}",
            ),
            // Words of the language may be names where a value is due.
            ("{{ and ~ in }}", "{{ (and ~ in)|__joined }}"),
            ("{{ x == not ~ y }}", "{{ x == (not ~ y)|__joined }}"),
            ("{% set x = x, y %}", "{% set x = (x, y)|__joined %}"),
            ("{% set n.x = y %}", "{% set n.x = (y)|__kept %}"),
            (
                "{% set x|upper %}abcd{% endset %}",
                "{% set x|upper|__measured %}{{ 4|__written }}abcd{% endset %}",
            ),
            (
                "{% for (a, b) in [x] %}{% endfor %}",
                "{% for (a, b) in [x]|__joined %}{% endfor %}",
            ),
            (
                "{% with (a, b) = (c, d) %}{% endwith %}",
                "{% with (a, b) = (c, d)|__joined %}{% endwith %}",
            ),
            (
                "{% macro f(a, b=x ~ x) %}{% endmacro %}",
                "{% macro f(a, b=(x ~ x)|__joined) %}{% endmacro %}",
            ),
            (
                "{% call(a) f(b ~ c) %}{% endcall %}",
                "{% call(a) f((b ~ c)|__joined) %}{% endcall %}",
            ),
            (
                "{% filter upper|trim('x') %}{% endfilter %}",
                "{% filter upper|__measured|trim('x')|__measured %}{% endfilter %}",
            ),
            (
                "{% for a in x -%} text{% endfor %} text",
                "{% for a in x -%}{{ 5|__written -}} text{% endfor %} text",
            ),
            (
                "{% if x %} {%- raw %}{{ x }}{% endraw %}{% endif %}",
                "{% if x %} {{- 29|__written }}{%- raw %}{{ x }}{% endraw %}{% endif %}",
            ),
            // Formatting, and nothing that looks like it.
            ("{{ '%s' % x }}", "{{ '%s' |__percent( x)|__measured }}"),
            (
                "{{ '%s' % x.y[0]|upper ~ 'b' }}",
                "{{ ('%s' |__percent( x.y[0]|upper|__measured)|__measured ~ 'b')|__joined }}",
            ),
            (
                "{{ '%s-%d' % (a, 1) }}",
                "{{ '%s-%d' |__percent( (a, 1)|__joined)|__measured }}",
            ),
            (
                "{% if '%s' % x == 'a' %}1{% endif %}",
                "{% if '%s' |__percent( x)|__measured == 'a' %}1{% endif %}",
            ),
            ("{{ 7 % 2 }} '%s' % x", "{{ 7 % 2 }} '%s' % x"),
            ("{# '%s' % x ~ y #}", "{# '%s' % x ~ y #}"),
            ("{{ '}}' }} 50% of {{ x }}", "{{ '}}' }} 50% of {{ x }}"),
        ] {
            assert_eq!(template(source, &pieces(source)), expected, "{source}");
        }
    }
}
