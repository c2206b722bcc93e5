//! What the stored numbers and bytes of a column mean, as JSON values.
//!
//! The values are those that the hub shows for the same record as JSON; see
//! `docs/reference/formats.md`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDate;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Number, Value};

/// How the values of a column are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A number, a boolean, or bytes.
    Plain,
    Unsigned,
    Text,
    Date,
    Time(Unit),
    Timestamp {
        unit: Unit,
        is_utc: bool,
    },
    Decimal {
        scale: i32,
    },
    HalfFloat,
    Uuid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    fn per_second(self) -> i64 {
        match self {
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }
}

impl Meaning {
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => Unit::Millis,
            TimeUnit::MICROS => Unit::Micros,
            TimeUnit::NANOS => Unit::Nanos,
        };
        let timestamp = |unit| Self::Timestamp { unit, is_utc: true };
        match column.logical_type_ref() {
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Self::Text,
            Some(LogicalType::Integer(int)) if !int.is_signed => Self::Unsigned,
            Some(LogicalType::Date) => Self::Date,
            Some(LogicalType::Time(time)) => Self::Time(unit(&time.unit)),
            Some(LogicalType::Timestamp(time)) => Self::Timestamp {
                unit: unit(&time.unit),
                is_utc: time.is_adjusted_to_u_t_c,
            },
            Some(LogicalType::Decimal(decimal)) => Self::Decimal {
                scale: decimal.scale,
            },
            Some(LogicalType::Float16) => Self::HalfFloat,
            Some(LogicalType::Uuid) => Self::Uuid,
            Some(_) => Self::Plain,
            // What older writers say instead.
            None => match column.converted_type() {
                ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Self::Text,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64 => Self::Unsigned,
                ConvertedType::DATE => Self::Date,
                ConvertedType::TIME_MILLIS => Self::Time(Unit::Millis),
                ConvertedType::TIME_MICROS => Self::Time(Unit::Micros),
                ConvertedType::TIMESTAMP_MILLIS => timestamp(Unit::Millis),
                ConvertedType::TIMESTAMP_MICROS => timestamp(Unit::Micros),
                ConvertedType::DECIMAL => Self::Decimal {
                    scale: column.type_scale(),
                },
                _ if column.physical_type() == Physical::INT96 => Self::Timestamp {
                    unit: Unit::Nanos,
                    is_utc: false,
                },
                _ => Self::Plain,
            },
        }
    }

    pub(super) fn of_i32(self, number: i32) -> Value {
        match self {
            Self::Unsigned => number.cast_unsigned().into(),
            Self::Date => date(number.into()).into(),
            _ => self.of_i64(number.into()),
        }
    }

    pub(super) fn of_i64(self, number: i64) -> Value {
        match self {
            Self::Unsigned => number.cast_unsigned().into(),
            Self::Date => date(number).into(),
            Self::Time(unit) => time(number, unit).into(),
            Self::Timestamp { unit, is_utc } => timestamp(number, unit, is_utc).into(),
            Self::Decimal { scale } => decimal(&number.to_be_bytes(), scale).into(),
            _ => number.into(),
        }
    }

    /// The bytes as a value; nothing when they should be text and are not.
    pub(super) fn of_bytes(self, bytes: &[u8]) -> Option<Value> {
        Some(match (self, bytes) {
            (Self::Text, _) => std::str::from_utf8(bytes).ok()?.into(),
            (Self::Decimal { scale }, _) => decimal(bytes, scale).into(),
            (Self::HalfFloat, [low, high]) => float(half(u16::from_le_bytes([*low, *high]))),
            (Self::Uuid, [_, ..]) if bytes.len() == 16 => uuid(bytes).into(),
            _ => STANDARD.encode(bytes).into(),
        })
    }
}

/// A number, or null for what JSON has no number for.
pub(super) fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Nanoseconds of the day and Julian day, as old writers store timestamps.
pub(super) fn int96([low, high, day]: [u32; 3]) -> Value {
    const EPOCH: i64 = 2_440_588;
    let nanos = (u64::from(high) << 32) | u64::from(low);
    let seconds = (i64::from(day) - EPOCH) * 86_400 + (nanos / 1_000_000_000) as i64;
    let text = moment(seconds, (nanos % 1_000_000_000) as u32);
    text.into()
}

/// A half precision number: sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let exponent = i32::from((bits >> 10) & 0x1f);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Days since 1970 as `year-month-day` of the Gregorian calendar; far beyond what
/// Python's dates can hold, as a number of days.
fn date(days: i64) -> String {
    let date = i32::try_from(days)
        .ok()
        .and_then(NaiveDate::from_epoch_days);
    date.map_or_else(
        || format!("{days} days after 1970-01-01"),
        |date| date.to_string(),
    )
}

fn time(number: i64, unit: Unit) -> String {
    let seconds = number.div_euclid(unit.per_second());
    let rest = number.rem_euclid(unit.per_second());
    clock(seconds, (rest * (1_000_000_000 / unit.per_second())) as u32)
}

fn timestamp(number: i64, unit: Unit, is_utc: bool) -> String {
    let seconds = number.div_euclid(unit.per_second());
    let rest = number.rem_euclid(unit.per_second());
    let mut text = moment(seconds, (rest * (1_000_000_000 / unit.per_second())) as u32);
    if is_utc {
        text.push_str("+00:00");
    }
    text
}

fn moment(seconds: i64, nanos: u32) -> String {
    let day = date(seconds.div_euclid(86_400));
    format!("{day}T{}", clock(seconds.rem_euclid(86_400), nanos))
}

/// Hours, minutes and seconds, with as many digits of a second as Python writes.
fn clock(seconds: i64, nanos: u32) -> String {
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let text = format!("{hour:02}:{minute:02}:{second:02}");
    match nanos {
        0 => text,
        _ if nanos.is_multiple_of(1_000) => format!("{text}.{:06}", nanos / 1_000),
        _ => format!("{text}.{nanos:09}"),
    }
}

/// A big-endian number of any length in two's complement, divided by `10^scale`.
fn decimal(bytes: &[u8], scale: i32) -> String {
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in magnitude.iter_mut().rev() {
            let (sum, over) = (!*byte).overflowing_add(u8::from(carry));
            *byte = sum;
            carry = over;
        }
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut rest = 0u32;
        for byte in &mut magnitude {
            let value = (rest << 8) | u32::from(*byte);
            *byte = (value / 10) as u8;
            rest = value % 10;
        }
        digits.push(b'0' + rest as u8);
    }
    // Whole digits of a number that a damaged scale would make endless.
    let scale = scale.clamp(-1000, 1000);
    let n_after = usize::try_from(scale).unwrap_or(0);
    while digits.len() <= n_after {
        digits.push(b'0');
    }
    let mut text = String::with_capacity(digits.len() + 2);
    if is_negative {
        text.push('-');
    }
    for (place, digit) in digits.iter().enumerate().rev() {
        text.push(char::from(*digit));
        if place == n_after && place > 0 {
            text.push('.');
        }
    }
    if scale < 0 && text != "0" {
        text.extend(std::iter::repeat_n('0', scale.unsigned_abs() as usize));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_what_they_mean() {
        let timestamp = |unit, is_utc| Meaning::Timestamp { unit, is_utc };
        for (meaning, number, expected) in [
            (Meaning::Plain, i64::MIN, json!(i64::MIN)),
            (Meaning::Unsigned, -1, json!(u64::MAX)),
            (Meaning::Date, 0, json!("1970-01-01")),
            (Meaning::Date, 19_782, json!("2024-02-29")),
            (Meaning::Date, -719_162, json!("0001-01-01")),
            (
                timestamp(Unit::Millis, false),
                1_700_000_000_123,
                json!("2023-11-14T22:13:20.123000"),
            ),
            (
                timestamp(Unit::Micros, true),
                0,
                json!("1970-01-01T00:00:00+00:00"),
            ),
            (
                timestamp(Unit::Nanos, false),
                -1,
                json!("1969-12-31T23:59:59.999999999"),
            ),
            (
                Meaning::Time(Unit::Micros),
                3_723_000_001,
                json!("01:02:03.000001"),
            ),
            (Meaning::Decimal { scale: 2 }, -5, json!("-0.05")),
            (Meaning::Decimal { scale: 2 }, 12_345, json!("123.45")),
            (Meaning::Decimal { scale: 0 }, 0, json!("0")),
            (Meaning::Decimal { scale: -3 }, 12, json!("12000")),
        ] {
            assert_eq!(meaning.of_i64(number), expected, "{meaning:?} {number}");
        }
        assert_eq!(Meaning::Unsigned.of_i32(-1), json!(u32::MAX));
        assert_eq!(Meaning::Decimal { scale: 1 }.of_i32(-15), json!("-1.5"));
    }

    #[test]
    fn bytes_are_written_as_what_they_mean() {
        for (meaning, bytes, expected) in [
            (Meaning::Text, "ä".as_bytes(), Some(json!("ä"))),
            (Meaning::Text, b"\xff", None),
            (Meaning::Plain, b"\xff\x00", Some(json!("/wA="))),
            (Meaning::HalfFloat, &[0x00, 0x3c], Some(json!(1.0))),
            (
                Meaning::HalfFloat,
                &[0x01, 0x80],
                Some(json!(-(2f64.powi(-24)))),
            ),
            (Meaning::HalfFloat, &[0x00, 0x7c], Some(json!(null))),
            (Meaning::HalfFloat, &[0x01, 0x7e], Some(json!(null))),
            (
                Meaning::Uuid,
                &[0xab; 16],
                Some(json!("abababab-abab-abab-abab-abababababab")),
            ),
            (
                Meaning::Decimal { scale: 10 },
                &[0x7f; 17],
                Some(json!("4338533456209235813380876563459.4698395519")),
            ),
        ] {
            assert_eq!(meaning.of_bytes(bytes), expected, "{meaning:?} {bytes:?}");
        }
    }
}
