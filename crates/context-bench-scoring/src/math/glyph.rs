//! Characters beyond ASCII that stand for mathematics: digits of other scripts,
//! superscripts, fractions, signs.

use super::expr::Relation;
use super::token::{Bracket, Kind, Separator};

/// The first digits of the decimal digit blocks that answers are written in.
const ZEROS: &[char] = &[
    '0', '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐',
    '０',
];

/// The value of a decimal digit of any of these scripts, as an ASCII digit.
pub(super) fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let code = u32::from(c);
    let zero = ZEROS.iter().map(|&zero| u32::from(zero));
    let mut value = zero.filter_map(|zero| code.checked_sub(zero).filter(|value| *value < 10));
    value.next().and_then(|value| char::from_digit(value, 10))
}

/// The character that a superscript or subscript raises or lowers; `true` when raised.
pub(super) fn script(c: char) -> Option<(char, bool)> {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉";
    let digit = |position: usize| char::from_digit(u32::try_from(position).ok()?, 10);
    match c {
        '⁻' => return Some(('-', true)),
        '⁺' => return Some(('+', true)),
        'ⁿ' => return Some(('n', true)),
        _ => {}
    }
    if let Some(position) = RAISED.chars().position(|raised| raised == c) {
        return Some((digit(position)?, true));
    }
    let position = LOWERED.chars().position(|lowered| lowered == c)?;
    Some((digit(position)?, false))
}

/// Numerator and denominator of a fraction in one character.
pub(super) fn fraction(c: char) -> Option<(&'static str, &'static str)> {
    Some(match c {
        '½' => ("1", "2"),
        '⅓' => ("1", "3"),
        '⅔' => ("2", "3"),
        '¼' => ("1", "4"),
        '¾' => ("3", "4"),
        '⅕' => ("1", "5"),
        '⅖' => ("2", "5"),
        '⅗' => ("3", "5"),
        '⅘' => ("4", "5"),
        '⅙' => ("1", "6"),
        '⅚' => ("5", "6"),
        '⅐' => ("1", "7"),
        '⅛' => ("1", "8"),
        '⅜' => ("3", "8"),
        '⅝' => ("5", "8"),
        '⅞' => ("7", "8"),
        '⅑' => ("1", "9"),
        '⅒' => ("1", "10"),
        _ => return None,
    })
}

/// Currency signs say nothing about the value.
pub(super) fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '＄' | '€' | '£' | '¥' | '￥' | '₹' | '₽' | '₩' | '฿' | '৳' | '¢'
    )
}

/// The token of a sign in one character.
pub(super) fn sign(c: char) -> Option<Kind> {
    Some(match c {
        '+' | '＋' => Kind::Plus,
        '-' | '−' | '–' | '‐' | '‑' | '﹣' | '－' => Kind::Minus,
        '±' => Kind::PlusMinus,
        '∓' => Kind::MinusPlus,
        '*' | '×' | '·' | '⋅' | '∙' | '•' | '∗' => Kind::Times,
        '/' | '÷' | '⁄' | '∕' | '／' => Kind::Divide,
        '^' => Kind::Caret,
        '_' => Kind::Underscore,
        '!' | '！' => Kind::Bang,
        '%' | '％' => Kind::Percent,
        '°' | 'º' => Kind::Degree,
        '\'' | '’' | '′' => Kind::Prime,
        '|' | '∣' => Kind::Bar,
        '&' => Kind::Column,
        '√' => Kind::Root,
        '∛' => Kind::CubeRoot,
        'π' => Kind::Pi,
        '∞' => Kind::Infinity,
        '∅' => Kind::EmptySet,
        'ℝ' => Kind::Reals,
        '∪' => Kind::Union,
        '(' | '（' => Kind::Open(Bracket::Round),
        ')' | '）' => Kind::Close(Bracket::Round),
        '[' => Kind::Open(Bracket::Square),
        ']' => Kind::Close(Bracket::Square),
        '{' => Kind::Open(Bracket::Group),
        '}' => Kind::Close(Bracket::Group),
        '⟨' => Kind::Open(Bracket::Angle),
        '⟩' => Kind::Close(Bracket::Angle),
        '⌊' => Kind::Open(Bracket::Floor),
        '⌋' => Kind::Close(Bracket::Floor),
        '⌈' => Kind::Open(Bracket::Ceiling),
        '⌉' => Kind::Close(Bracket::Ceiling),
        ',' | '，' | '、' | '،' => Kind::Separator(Separator::Comma),
        ';' | '；' => Kind::Separator(Separator::Semicolon),
        '∨' | '∧' => Kind::Separator(Separator::Word),
        '=' | '＝' | '≡' => Kind::Relation(Relation::Equal),
        '≈' | '≅' | '≃' => Kind::Relation(Relation::Approximately),
        '≠' => Kind::Relation(Relation::Unequal),
        '<' => Kind::Relation(Relation::Less),
        '>' => Kind::Relation(Relation::Greater),
        '≤' | '⩽' => Kind::Relation(Relation::LessOrEqual),
        '≥' | '⩾' => Kind::Relation(Relation::GreaterOrEqual),
        '∈' => Kind::Relation(Relation::In),
        ':' | '：' | '∶' => Kind::Relation(Relation::Ratio),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_other_scripts() {
        for (c, value) in [('７', '7'), ('৩', '3'), ('๙', '9'), ('౧', '1'), ('5', '5')] {
            assert_eq!(digit(c), Some(value));
        }
        assert_eq!(digit('x'), None);
        assert_eq!(digit('²'), None);
        assert_eq!(script('²'), Some(('2', true)));
        assert_eq!(script('₂'), Some(('2', false)));
    }
}
