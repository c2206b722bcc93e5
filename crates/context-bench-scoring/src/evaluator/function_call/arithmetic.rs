//! Arithmetic in arguments, such as `x=2 * 3.5`: BFCL's decoder evaluates it.

use super::value::Value;

/// Numbers with `+ - * / // % **`, and texts or lists joined with `+`.
pub(super) fn arithmetic(left: Value, operator: char, right: Value) -> Option<Value> {
    match (left, operator, right) {
        (Value::Text(left), '+', Value::Text(right)) => Some(Value::Text(left + &right)),
        (Value::List(mut left), '+', Value::List(right)) => {
            left.extend(right);
            Some(Value::List(left))
        }
        (Value::Int(left), _, Value::Int(right)) if operator != '/' => {
            let exact = match operator {
                '+' => left.checked_add(right),
                '-' => left.checked_sub(right),
                '*' => left.checked_mul(right),
                'q' => Some(floor_division(left, right)?),
                '%' => Some(left - right.checked_mul(floor_division(left, right)?)?),
                _ => u32::try_from(right).ok().and_then(|n| left.checked_pow(n)),
            };
            match exact {
                Some(exact) => Some(Value::Int(exact)),
                None => floats(left as f64, operator, right as f64),
            }
        }
        (left, _, right) => floats(left.number()?, operator, right.number()?),
    }
}

fn floor_division(left: i128, right: i128) -> Option<i128> {
    let quotient = left.checked_div(right)?;
    let is_below = left % right != 0 && (left < 0) != (right < 0);
    Some(quotient - i128::from(is_below))
}

fn floats(left: f64, operator: char, right: f64) -> Option<Value> {
    let result = match operator {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' => left / right,
        'q' => (left / right).floor(),
        '%' => left - right * (left / right).floor(),
        _ => left.powf(right),
    };
    result.is_finite().then_some(Value::Float(result))
}
