//! Plus or minus: one expression that stands for several answers.

use super::expr::Expr;

/// More signs than this in one answer are not multiplied out.
const MAX_SIGNS: usize = 3;

/// The answers with every plus-or-minus written out.
pub(super) fn expand(parts: Vec<Expr>) -> Vec<Expr> {
    let mut expanded = Vec::with_capacity(parts.len());
    for part in parts {
        match variants(&part) {
            Some(variants) => expanded.extend(variants),
            None => expanded.push(part),
        }
    }
    expanded
}

/// All choices of sign. Signs are chosen one by one, unless a minus-or-plus
/// shows that they belong together.
fn variants(expr: &Expr) -> Option<Vec<Expr>> {
    let (mut n_signs, mut linked) = (0, false);
    expr.any(&mut |part| {
        if let Expr::Either { flipped, .. } = part {
            n_signs += 1;
            linked |= *flipped;
        }
        false
    });
    if n_signs == 0 || n_signs > MAX_SIGNS {
        return None;
    }
    let choices: &[u32] = if linked {
        &[0, 0b111]
    } else {
        &[0, 1, 2, 3, 4, 5, 6, 7]
    };
    let n_choices = if linked { 2 } else { 1 << n_signs };
    let chosen = choices[..n_choices].iter();
    Some(
        chosen
            .map(|choice| with_signs(expr, *choice, &mut 0))
            .collect(),
    )
}

/// The expression with the signs that the bits of `choice` say, in order.
fn with_signs(expr: &Expr, choice: u32, next: &mut u32) -> Expr {
    let mut again = |of: &Expr| with_signs(of, choice, next);
    match expr {
        Expr::Either { flipped, of } => {
            let negative = (choice >> *next & 1 == 1) != *flipped;
            *next += 1;
            let of = with_signs(of, choice, next);
            if negative { Expr::negative(of) } else { of }
        }
        Expr::Sum(parts) => Expr::Sum(parts.iter().map(again).collect()),
        Expr::Product(parts) => Expr::Product(parts.iter().map(again).collect()),
        Expr::Tuple(parts) => Expr::Tuple(parts.iter().map(again).collect()),
        Expr::Set(parts) => Expr::Set(parts.iter().map(again).collect()),
        Expr::Negative(of) => Expr::negative(again(of)),
        Expr::Inverse(of) => Expr::Inverse(Box::new(again(of))),
        Expr::Power(base, exponent) => {
            let base = Box::new(again(base));
            Expr::Power(base, Box::new(again(exponent)))
        }
        Expr::Root { index, of } => {
            let of = Box::new(again(of));
            Expr::Root {
                index: index.clone(),
                of,
            }
        }
        Expr::Call(function, of) => Expr::Call(*function, Box::new(again(of))),
        Expr::Relation(first, rest) => {
            let first = Box::new(again(first));
            Expr::Relation(
                first,
                rest.iter().map(|(op, side)| (*op, again(side))).collect(),
            )
        }
        other => other.clone(),
    }
}
