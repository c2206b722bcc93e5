//! The safetensors format, as much as embedding models need: 8 bytes with the length of a
//! JSON header, the header, then the numbers of the tensors.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The numbers of a tensor, as they are in the file.
pub(super) struct Tensor<'a> {
    pub(super) shape: Vec<usize>,
    pub(super) kind: NumberKind,
    pub(super) bytes: &'a [u8],
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    F32,
    F16,
    Bf16,
    F64,
    I32,
    I64,
}

impl NumberKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "F32" => Self::F32,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            "F64" => Self::F64,
            "I32" => Self::I32,
            "I64" => Self::I64,
            _ => return None,
        })
    }

    /// The bytes of a number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// Calls `visit` with each number of some bytes, in order.
    pub(super) fn each(self, bytes: &[u8], visit: impl FnMut(f64)) {
        /// The numbers of chunks of so many bytes.
        fn chunks<const N: usize>(bytes: &[u8], read: fn([u8; N]) -> f64, visit: impl FnMut(f64)) {
            let chunks = bytes.chunks_exact(N);
            let numbers = chunks.filter_map(|chunk| Some(read(chunk.try_into().ok()?)));
            numbers.for_each(visit);
        }
        match self {
            Self::F32 => chunks(bytes, |b| f64::from(f32::from_le_bytes(b)), visit),
            Self::F16 => chunks(bytes, |b| f64::from(half(u16::from_le_bytes(b))), visit),
            Self::Bf16 => chunks(
                bytes,
                |[a, b]| f64::from(f32::from_le_bytes([0, 0, a, b])),
                visit,
            ),
            Self::F64 => chunks(bytes, f64::from_le_bytes, visit),
            Self::I32 => chunks(bytes, |b| f64::from(i32::from_le_bytes(b)), visit),
            Self::I64 => chunks(bytes, |b| i64::from_le_bytes(b) as f64, visit),
        }
    }
}

/// An IEEE 754 number of 16 bits.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // Too small for a leading one.
        0 => f32::from_bits(sign | (fraction as f32 * 2_f32.powi(-24)).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        // The exponents count from 15 and from 127.
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[derive(Deserialize)]
struct Described {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The tensors of a file by name, or what is wrong with it.
pub(super) fn tensors(file: &[u8]) -> Result<Vec<(String, Tensor<'_>)>, String> {
    let (length, rest) = file.split_first_chunk::<8>().ok_or("the file is cut off")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let header = rest.get(..length).ok_or("the header is cut off")?;
    let header: Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| format!("the header is not JSON: {error}"))?;
    let data = &rest[length..];
    let mut tensors = Vec::new();
    for (name, described) in header {
        if name == "__metadata__" {
            continue;
        }
        let Described {
            dtype,
            shape,
            data_offsets: (start, end),
        } = serde_json::from_value(described)
            .map_err(|error| format!("the tensor `{name}` is not described: {error}"))?;
        let kind = NumberKind::named(&dtype)
            .ok_or_else(|| format!("the tensor `{name}` has numbers of type `{dtype}`"))?;
        let bytes = data.get(start..end);
        let bytes = bytes.ok_or_else(|| format!("the tensor `{name}` is cut off"))?;
        let size = shape
            .iter()
            .try_fold(kind.size(), |n, side| n.checked_mul(*side));
        if size != Some(bytes.len()) {
            return Err(format!(
                "the tensor `{name}` does not have the size of its shape"
            ));
        }
        tensors.push((name, Tensor { shape, kind, bytes }));
    }
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits() {
        for (bits, expected) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(half(bits), expected, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan());
        let mut read = Vec::new();
        NumberKind::Bf16.each(&[0x80, 0x3f, 0, 0xc0], |number| read.push(number));
        assert_eq!(read, [1.0, -2.0]);
    }
}
