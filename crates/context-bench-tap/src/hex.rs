//! Bytes as hexadecimal digits. Every record has several digests, so this is no place for the
//! machinery of `format!`.

/// The digits of these bytes.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
    let bytes = bytes.into_iter();
    let mut digits = String::with_capacity(2 * bytes.size_hint().0);
    for byte in bytes {
        digits.push(digit(byte >> 4));
        digits.push(digit(byte));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex([0, 1, 0x9f, 0xff]), "00019fff");
        assert_eq!(hex(0x0102_abcd_u32.to_be_bytes()), "0102abcd");
    }
}
