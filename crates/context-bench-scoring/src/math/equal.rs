//! Equality of answers, structure by structure.
//!
//! Order matters in tuples, intervals, matrices and ratios. It does not matter
//! in sets, in unions, and between answers that are listed without brackets
//! (`x = 1 or x = 2`, `1, 2`, `1 \pm \sqrt{2}`). A list equals a set of the same
//! answers, and a tuple of the same answers in the same order.

use super::answer::{Answer, Reading};
use super::expr::Expr;
use super::relation;
use super::scalar;
use super::value::Fuel;

/// Whether two answers are equal in some reading of each. Symmetric.
pub(super) fn answers_equal(a: &Answer, b: &Answer) -> bool {
    if a.canonical == b.canonical {
        return true;
    }
    if a.readings.is_empty() && b.readings.is_empty() {
        return a.canonical.to_lowercase() == b.canonical.to_lowercase();
    }
    let fuel = Fuel::new();
    let mut pairs = a
        .readings
        .iter()
        .flat_map(|x| b.readings.iter().map(move |y| (x, y)));
    pairs.any(|(x, y)| readings_equal(x, y, &fuel))
}

/// Words before the mathematics must not contradict each other.
fn readings_equal(a: &Reading, b: &Reading, fuel: &Fuel) -> bool {
    let leads_agree = a.lead.is_empty() || b.lead.is_empty() || a.lead == b.lead;
    leads_agree && equal(&a.expr, &b.expr, fuel)
}

/// Whether two answers or parts of answers are equal. Symmetric.
pub(super) fn equal(a: &Expr, b: &Expr, fuel: &Fuel) -> bool {
    if a.is_scalar() && b.is_scalar() {
        return scalar::equal(a, b, fuel);
    }
    if fuel.spend(8).is_none() {
        return false;
    }
    let related = match (a, b) {
        (Expr::Relation(x, x_rest), Expr::Relation(y, y_rest)) => {
            relation::chains_equal((x, x_rest), (y, y_rest), fuel)
        }
        (Expr::Relation(first, rest), other) | (other, Expr::Relation(first, rest)) => {
            says(first, rest, other, fuel)
        }
        _ => false,
    };
    if related {
        return true;
    }
    if let Some(verdict) = several(a, b, fuel) {
        return verdict;
    }
    match (a, b) {
        (Expr::Text(x), Expr::Text(y)) => x == y,
        (Expr::Tuple(x), Expr::Tuple(y)) => in_order(x, y, fuel),
        (Expr::Set(x), Expr::Set(y)) => same_members(x, y, fuel),
        (Expr::Union(x), Expr::Union(y)) => same_members(x, y, fuel),
        (Expr::Interval(x), Expr::Interval(y)) => {
            x.closed == y.closed && equal(&x.low, &y.low, fuel) && equal(&x.high, &y.high, fuel)
        }
        // `(a, b)` is read as a pair where nothing says that it is an interval.
        (Expr::Interval(x), Expr::Tuple(y)) | (Expr::Tuple(y), Expr::Interval(x)) => {
            x.closed == [false; 2]
                && y.len() == 2
                && equal(&x.low, &y[0], fuel)
                && equal(&x.high, &y[1], fuel)
        }
        (Expr::Matrix(x), Expr::Matrix(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| in_order(x, y, fuel))
        }
        // A column is a vector is a tuple.
        (Expr::Matrix(rows), Expr::Tuple(parts)) | (Expr::Tuple(parts), Expr::Matrix(rows)) => {
            let is_column = rows.iter().all(|row| row.len() == 1);
            let cells = rows.iter().flatten();
            is_column
                && rows.len() == parts.len()
                && cells.zip(parts).all(|(cell, part)| equal(cell, part, fuel))
        }
        _ => false,
    }
}

/// Whether a relation gives this answer: `x = 5` is 5, `x > 5` is an interval.
fn says(first: &Expr, rest: &[(super::expr::Relation, Expr)], answer: &Expr, fuel: &Fuel) -> bool {
    if relation::value(first, rest).is_some_and(|value| equal(value, answer, fuel)) {
        return true;
    }
    let unrounded = relation::unrounded_value(first, rest);
    if unrounded.is_some_and(|value| equal(value, answer, fuel)) {
        return true;
    }
    matches!(answer, Expr::Interval(_) | Expr::Union(_) | Expr::Tuple(_))
        && relation::interval(first, rest).is_some_and(|interval| equal(&interval, answer, fuel))
}

/// The verdict when a side is a list.
fn several(a: &Expr, b: &Expr, fuel: &Fuel) -> Option<bool> {
    let (list, other) = match (a, b) {
        (Expr::List(x), Expr::List(y)) => {
            return Some(x.len() == y.len() && same_members(x, y, fuel));
        }
        (Expr::List(list), other) | (other, Expr::List(list)) => (list, other),
        _ => return None,
    };
    Some(match other {
        Expr::Set(members) => same_members(list, members, fuel),
        Expr::Tuple(parts) => in_order(list, parts, fuel),
        Expr::Union(_) => {
            let intervals: Option<Vec<Expr>> = list.iter().map(as_interval).collect();
            intervals.is_some_and(|parts| equal(&Expr::Union(parts), other, fuel))
        }
        // `3/2 or 1.5` is one answer, said twice.
        single => list.iter().all(|one| equal(one, single, fuel)),
    })
}

fn as_interval(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Relation(first, rest) => relation::interval(first, rest),
        Expr::Interval(_) => Some(expr.clone()),
        Expr::Tuple(_) => Some(super::parse::open_interval(expr.clone())),
        _ => None,
    }
}

fn in_order(a: &[Expr], b: &[Expr], fuel: &Fuel) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| equal(x, y, fuel))
}

/// Whether each has an equal on the other side.
fn same_members(a: &[Expr], b: &[Expr], fuel: &Fuel) -> bool {
    let within = |some: &[Expr], others: &[Expr]| {
        some.iter()
            .all(|x| others.iter().any(|y| equal(x, y, fuel)))
    };
    // Most lists are in the same order already.
    in_order(a, b, fuel) || (within(a, b) && within(b, a))
}
