//! LaTeX commands to tokens. A command that no rule knows stays as it is
//! written, and the answer is then compared as text.

use super::expr::Relation;
use super::latex::Lexer;
use super::token::{Bracket, Kind, Separator};
use super::words;

/// Reads the command after a backslash.
pub(super) fn read(lexer: &mut Lexer) {
    let start = lexer.at;
    while lexer.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) {
        lexer.at += 1;
    }
    let name: String = lexer.chars[start..lexer.at].iter().collect();
    if name.is_empty() {
        return single(lexer);
    }
    if let Some(kind) = kind(&name) {
        return lexer.push(kind);
    }
    match name.as_str() {
        "text" | "textbf" | "textrm" | "textit" | "textsf" | "texttt" | "textnormal" | "mbox"
        | "hbox" => lexer.text_group(),
        "mathrm" | "operatorname" | "mathsf" | "rm" => upright(lexer),
        "mathbb" => {
            let reals = lexer.chars.get(lexer.at..lexer.at + 3) == Some(&['{', 'R', '}'][..]);
            if reals {
                lexer.at += 3;
                lexer.push(Kind::Reals);
            }
        }
        "left" | "right" => side(lexer, name == "left"),
        "not" => lexer.negate = true,
        "begin" => {
            if let Some(end) = lexer.group_end() {
                let environment: String = lexer.chars[lexer.at + 1..end].iter().collect();
                lexer.at = (end + 1).min(lexer.chars.len());
                if environment == "array" {
                    skip_group(lexer);
                }
                lexer.push(Kind::Begin(environment.trim_end_matches('*').into()));
            }
        }
        "end" => {
            skip_group(lexer);
            lexer.push(Kind::End);
        }
        "phantom" | "hphantom" | "vphantom" | "hspace" | "vspace" | "label" | "tag" | "color"
        | "textcolor" => {
            skip_group(lexer);
            lexer.space();
        }
        _ if is_layout(&name) => lexer.space(),
        _ => lexer.push(Kind::Other(format!("\\{name}").into())),
    }
}

/// Commands of one character that is not a letter.
fn single(lexer: &mut Lexer) {
    let Some(c) = lexer.peek(0) else { return };
    lexer.at += 1;
    match c {
        '\\' => lexer.push(Kind::Row),
        '{' => lexer.push(Kind::Open(Bracket::Set)),
        '}' => lexer.push(Kind::Close(Bracket::Set)),
        '|' => lexer.push(Kind::Bar),
        '%' => lexer.push(Kind::Percent),
        '&' => lexer.push(Kind::Column),
        '_' => lexer.push(Kind::Underscore),
        // Spaces, dollars and the brackets of formulas.
        ',' | ';' | ':' | '!' | ' ' | '>' | '$' | '#' | '(' | ')' | '[' | ']' | '\n' | '\t'
        | '/' => {
            lexer.space();
        }
        other => lexer.push(Kind::Other(other.to_string().into())),
    }
}

/// `\mathrm{cm}` is a word, `\mathrm{e}` a letter.
fn upright(lexer: &mut Lexer) {
    let Some(end) = lexer.group_end() else { return };
    let content = &lexer.chars[(lexer.at + 1).min(end)..end];
    let is_word = content.iter().filter(|c| c.is_alphabetic()).count() > 1;
    let is_formula = content.contains(&'\\');
    if is_word && !is_formula {
        lexer.text_group();
    }
}

/// `\left` and `\right` with the delimiter behind them.
fn side(lexer: &mut Lexer, left: bool) {
    while lexer.peek(0).is_some_and(char::is_whitespace) {
        lexer.at += 1;
    }
    let bar = |left| match left {
        true => Kind::Open(Bracket::Bar),
        false => Kind::Close(Bracket::Bar),
    };
    match lexer.peek(0) {
        Some('.') => lexer.at += 1,
        Some('|') => {
            lexer.at += 1;
            lexer.push(bar(left));
        }
        Some('\\') if lexer.peek(1) == Some('|') => {
            lexer.at += 2;
            lexer.push(bar(left));
        }
        // Any other delimiter is read as usual.
        _ => {}
    }
}

fn skip_group(lexer: &mut Lexer) {
    if let Some(end) = lexer.group_end() {
        lexer.at = (end + 1).min(lexer.chars.len());
    }
}

/// Commands that change only how a formula looks; a group behind them is read as usual.
fn is_layout(name: &str) -> bool {
    matches!(
        name,
        "displaystyle"
            | "textstyle"
            | "scriptstyle"
            | "limits"
            | "nolimits"
            | "quad"
            | "qquad"
            | "big"
            | "Big"
            | "bigg"
            | "Bigg"
            | "bigl"
            | "bigr"
            | "Bigl"
            | "Bigr"
            | "biggl"
            | "biggr"
            | "Biggl"
            | "Biggr"
            | "middle"
            | "mathbf"
            | "mathit"
            | "mathcal"
            | "boldsymbol"
            | "bm"
            | "bf"
            | "it"
            | "vec"
            | "hat"
            | "bar"
            | "overline"
            | "underline"
            | "overrightarrow"
            | "widehat"
            | "tilde"
            | "boxed"
            | "fbox"
            | "framebox"
            | "displaylimits"
            | "hfill"
            | "hline"
            | "nonumber"
            | "notag"
            | "newline"
            | "thinspace"
            | "enspace"
            | "mathop"
            | "angle"
            | "triangle"
            | "dollar"
            | "euro"
            | "pounds"
            | "large"
            | "Large"
            | "small"
    )
}

/// Commands that are one token.
fn kind(name: &str) -> Option<Kind> {
    if let Some(function) = words::function(name) {
        return Some(Kind::Function(function));
    }
    Some(match name {
        "frac" | "dfrac" | "tfrac" | "cfrac" | "nicefrac" | "sfrac" => Kind::Fraction,
        "sqrt" => Kind::Root,
        "binom" | "dbinom" | "tbinom" => Kind::Binomial,
        "over" => Kind::Over,
        "choose" => Kind::Choose,
        "log" => Kind::Log,
        "cdot" | "times" | "ast" | "bullet" => Kind::Times,
        "div" | "slash" => Kind::Divide,
        "pm" => Kind::PlusMinus,
        "mp" => Kind::MinusPlus,
        "pi" => Kind::Pi,
        "infty" => Kind::Infinity,
        "emptyset" | "varnothing" => Kind::EmptySet,
        "cup" | "bigcup" => Kind::Union,
        "circ" | "degree" | "textdegree" => Kind::Degree,
        "prime" => Kind::Prime,
        "percent" => Kind::Percent,
        "lor" | "vee" | "land" | "wedge" => Kind::Separator(Separator::Word),
        "vert" | "mid" | "Vert" => Kind::Bar,
        "lvert" | "lVert" => Kind::Open(Bracket::Bar),
        "rvert" | "rVert" => Kind::Close(Bracket::Bar),
        "lfloor" => Kind::Open(Bracket::Floor),
        "rfloor" => Kind::Close(Bracket::Floor),
        "lceil" => Kind::Open(Bracket::Ceiling),
        "rceil" => Kind::Close(Bracket::Ceiling),
        "langle" => Kind::Open(Bracket::Angle),
        "rangle" => Kind::Close(Bracket::Angle),
        "lbrace" => Kind::Open(Bracket::Set),
        "rbrace" => Kind::Close(Bracket::Set),
        "lparen" => Kind::Open(Bracket::Round),
        "rparen" => Kind::Close(Bracket::Round),
        "lbrack" => Kind::Open(Bracket::Square),
        "rbrack" => Kind::Close(Bracket::Square),
        "le" | "leq" | "leqslant" | "leqq" => Kind::Relation(Relation::LessOrEqual),
        "ge" | "geq" | "geqslant" | "geqq" => Kind::Relation(Relation::GreaterOrEqual),
        "lt" => Kind::Relation(Relation::Less),
        "gt" => Kind::Relation(Relation::Greater),
        "ne" | "neq" => Kind::Relation(Relation::Unequal),
        "equiv" => Kind::Relation(Relation::Equal),
        "approx" | "approxeq" | "simeq" | "cong" => Kind::Relation(Relation::Approximately),
        "in" => Kind::Relation(Relation::In),
        "colon" => Kind::Relation(Relation::Ratio),
        "ell" => Kind::symbol("ℓ"),
        "alpha" => Kind::symbol("α"),
        "beta" => Kind::symbol("β"),
        "gamma" => Kind::symbol("γ"),
        "delta" => Kind::symbol("δ"),
        "epsilon" | "varepsilon" => Kind::symbol("ε"),
        "theta" | "vartheta" => Kind::symbol("θ"),
        "lambda" => Kind::symbol("λ"),
        "mu" => Kind::symbol("μ"),
        "rho" => Kind::symbol("ρ"),
        "sigma" => Kind::symbol("σ"),
        "tau" => Kind::symbol("τ"),
        "phi" | "varphi" => Kind::symbol("φ"),
        "omega" => Kind::symbol("ω"),
        "zeta" | "eta" | "iota" | "kappa" | "nu" | "xi" | "chi" | "psi" | "upsilon" | "Gamma"
        | "Delta" | "Theta" | "Lambda" | "Xi" | "Sigma" | "Phi" | "Psi" | "Omega" => {
            Kind::symbol(name)
        }
        _ => return None,
    })
}
