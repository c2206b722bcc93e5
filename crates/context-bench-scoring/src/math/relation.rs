//! Equality of equations and inequalities, and what they say about a value.

use super::equal::equal;
use super::expr::{Expr, Interval, Relation};
use super::scalar;
use super::value::Fuel;

type Rest = [(Relation, Expr)];

/// Whether two chains say the same: side by side, in either direction, or as
/// multiples of each other (`2x + 4 = 0` and `x = -2`).
pub(super) fn chains_equal(a: (&Expr, &Rest), b: (&Expr, &Rest), fuel: &Fuel) -> bool {
    if sides_equal(a, b, fuel) {
        return true;
    }
    let (backward_first, backward) = reversed(b.0, b.1);
    let directed = |op: Relation| matches!(op, Relation::Ratio | Relation::In);
    if !b.1.iter().any(|(op, _)| directed(*op))
        && sides_equal(a, (&backward_first, &backward), fuel)
    {
        return true;
    }
    match (a.1, b.1) {
        ([(op, right)], [(other_op, other_right)]) => {
            let a_difference = difference(*op, a.0, right);
            let b_difference = difference(*other_op, b.0, other_right);
            match (a_difference, b_difference) {
                (Some((kind, x)), Some((other, y))) if kind == other => {
                    let positive = kind.is_ascending();
                    scalar::proportional(&x, &y, positive, fuel) || named_differently(a, b, fuel)
                }
                _ => false,
            }
        }
        _ => match (interval(a.0, a.1), interval(b.0, b.1)) {
            (Some(x), Some(y)) => equal(&x, &y, fuel),
            _ => false,
        },
    }
}

fn sides_equal(a: (&Expr, &Rest), b: (&Expr, &Rest), fuel: &Fuel) -> bool {
    a.1.len() == b.1.len()
        && a.1.iter().zip(b.1).all(|(x, y)| x.0 == y.0)
        && equal(a.0, b.0, fuel)
        && a.1.iter().zip(b.1).all(|(x, y)| equal(&x.1, &y.1, fuel))
}

fn reversed(first: &Expr, rest: &Rest) -> (Expr, Vec<(Relation, Expr)>) {
    let mut sides: Vec<&Expr> = std::iter::once(first)
        .chain(rest.iter().map(|(_, side)| side))
        .collect();
    let last = sides.pop().unwrap_or(first);
    let ops = rest.iter().rev().map(|(op, _)| op.swapped());
    let sides = sides.into_iter().rev().cloned();
    (last.clone(), ops.zip(sides).collect())
}

/// Left minus right, with `>` turned round. `None` when the sides are not values.
fn difference(op: Relation, left: &Expr, right: &Expr) -> Option<(Relation, Expr)> {
    if !left.is_scalar() || !right.is_scalar() || matches!(op, Relation::In | Relation::Ratio) {
        return None;
    }
    Some(if op.is_descending() {
        (op.swapped(), Expr::difference(right, left))
    } else {
        (op, Expr::difference(left, right))
    })
}

/// `f(x) = 2x` and `y = 2x` name the same thing when one of them is a function.
fn named_differently(a: (&Expr, &Rest), b: (&Expr, &Rest), fuel: &Fuel) -> bool {
    let applied = |side: &Expr| matches!(side, Expr::Product(_)) && is_name(side);
    if !(applied(a.0) && is_name(b.0) || applied(b.0) && is_name(a.0)) {
        return false;
    }
    match (value(a.0, a.1), value(b.0, b.1)) {
        (Some(x), Some(y)) => equal(x, y, fuel),
        _ => false,
    }
}

/// What can stand for an answer on the left of `=`: a variable, `f(x)`, `(x, y)`.
fn is_name(side: &Expr) -> bool {
    match side {
        Expr::Symbol(_) | Expr::Text(_) | Expr::Euler | Expr::Imaginary => true,
        Expr::Tuple(parts) | Expr::Product(parts) => {
            parts.len() <= 4 && parts.iter().all(|part| matches!(part, Expr::Symbol(_)))
        }
        // `P(3)`, `\angle A`
        _ => false,
    }
}

/// The value that a chain of equations gives to its name: `x = 6/3 = 2` gives 2.
/// A calculation (`2 + 3 = 5`) gives its result.
pub(super) fn value<'a>(first: &'a Expr, rest: &'a Rest) -> Option<&'a Expr> {
    let ops = |allowed: &[Relation]| rest.iter().all(|(op, _)| allowed.contains(op));
    let (_, last) = rest.last()?;
    if rest.len() == 1 && ops(&[Relation::In]) && is_name(first) {
        return Some(last);
    }
    if !ops(&[Relation::Equal, Relation::Approximately]) {
        return None;
    }
    let calculated = first.is_scalar() && !first.has_symbol();
    let applied = matches!(first, Expr::Product(parts)
        if parts.len() == 2 && matches!(parts[0], Expr::Symbol(_)));
    (is_name(first) || calculated || applied).then_some(last)
}

/// The value before it was rounded: `x = \sqrt{2} \approx 1.41` gives the root.
pub(super) fn unrounded_value<'a>(first: &'a Expr, rest: &'a Rest) -> Option<&'a Expr> {
    value(first, rest)?;
    let rounded = rest
        .iter()
        .position(|(op, _)| *op == Relation::Approximately)?;
    match rounded.checked_sub(1) {
        Some(before) => Some(&rest[before].1),
        None => Some(first),
    }
}

/// The numbers that satisfy an inequality with a lone variable.
pub(super) fn interval(first: &Expr, rest: &Rest) -> Option<Expr> {
    let descending = rest.iter().all(|(op, _)| op.is_descending());
    if descending {
        let (first, rest) = reversed(first, rest);
        return ascending_interval(&first, &rest);
    }
    ascending_interval(first, rest)
}

fn ascending_interval(first: &Expr, rest: &Rest) -> Option<Expr> {
    if !rest.iter().all(|(op, _)| op.is_ascending()) {
        return None;
    }
    let is_variable = |side: &Expr| matches!(side, Expr::Symbol(_));
    let constant = |side: &Expr| (side.is_scalar() && !side.has_symbol()).then(|| side.clone());
    let closed = |op: Relation| op == Relation::LessOrEqual;
    let (low, high, closed) = match rest {
        [(op, high)] if is_variable(first) => {
            let low = Expr::negative(Expr::Infinity);
            (low, constant(high)?, [false, closed(*op)])
        }
        [(op, side)] if is_variable(side) => {
            (constant(first)?, Expr::Infinity, [closed(*op), false])
        }
        [(low_op, side), (high_op, high)] if is_variable(side) => (
            constant(first)?,
            constant(high)?,
            [closed(*low_op), closed(*high_op)],
        ),
        _ => return None,
    };
    Some(Expr::Interval(Box::new(Interval { low, high, closed })))
}
