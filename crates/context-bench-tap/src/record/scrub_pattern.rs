//! What keys look like, wherever they stand in a text.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// How keys of well-known services begin, the fewest characters that they have in all, and
/// what stands in their place. The longer beginnings come first.
const STARTS: [(&[u8], usize, &str); 9] = [
    (b"sk-ant-", 20, "anthropic-key"),
    (b"sk-", 20, "key"),
    (b"AIza", 30, "google-key"),
    (b"ghp_", 20, "github-token"),
    (b"gho_", 20, "github-token"),
    (b"github_pat_", 20, "github-token"),
    (b"hf_", 20, "hub-token"),
    (b"xox", 20, "slack-token"),
    (b"AKIA", 20, "aws-key"),
];
const JWT_BEGIN: &[u8] = b"eyJ";
pub(super) const PEM_BEGIN: &[u8] = b"-----BEGIN ";
const PEM_END: &[u8] = b"-----END ";

/// The bytes that patterns begin with, but for users of an address, which may begin with any.
pub(super) const BEGINNING_BYTES: ByteSet = {
    let mut bytes = ByteSet([0; 4]).and(JWT_BEGIN[0]).and(PEM_BEGIN[0]);
    let mut at = 0;
    while at < STARTS.len() {
        bytes = bytes.and(STARTS[at].0[0]);
        at += 1;
    }
    bytes
};

/// What finds the beginnings, made once: most texts are headers and shorter than the making.
static BEGINNINGS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
    let starts = STARTS.iter().map(|(start, ..)| *start);
    let starts = starts.chain([JWT_BEGIN, PEM_BEGIN]);
    starts.map(Finder::new).collect()
});

/// What stands before the user of an address.
static SCHEME_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"://"));

/// Where one of the patterns may begin. Looking for whole beginnings is far faster than looking
/// at every byte.
pub(super) fn candidates(text: &[u8]) -> impl Iterator<Item = usize> {
    let users = SCHEME_END.find_iter(text).map(|at| at + 3);
    BEGINNINGS
        .iter()
        .flat_map(move |beginning| beginning.find_iter(text))
        .chain(users)
}

/// Bytes, as a set.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    const fn and(mut self, byte: u8) -> Self {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
        self
    }

    /// The bytes of both.
    pub(super) fn with(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

impl Extend<u8> for ByteSet {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        *self = bytes.into_iter().fold(*self, Self::and);
    }
}

/// Whether one of the patterns may begin at this byte: the same places as [`candidates`].
pub(super) fn may_begin(text: &[u8], at: usize) -> bool {
    let rest = &text[at..];
    let is = |beginning: &[u8]| rest.starts_with(beginning);
    let begins = match rest.first() {
        Some(b's') => is(b"sk-"),
        Some(b'A') => is(b"AIza") || is(b"AKIA"),
        Some(b'g') => is(b"ghp_") || is(b"gho_") || is(b"github_pat_"),
        Some(b'h') => is(b"hf_"),
        Some(b'x') => is(b"xox"),
        Some(b'e') => is(JWT_BEGIN),
        Some(b'-') => is(PEM_BEGIN),
        _ => false,
    };
    begins || text[..at].ends_with(b"://")
}

/// A secret in a text: how long it is and what it is.
pub(super) type Found = (usize, &'static str);

/// The secret that begins here, by its looks. `before` is the byte before it.
pub(super) fn starts_here(before: Option<u8>, rest: &[u8]) -> Option<Found> {
    let first = *rest.first()?;
    if before == Some(b'/') {
        return user(rest);
    }
    if first == b'-' {
        return pem(rest);
    }
    if before.is_some_and(is_of_word) {
        return None;
    }
    if first == b'e' {
        return jwt(rest);
    }
    let known = STARTS.iter().find(|(start, ..)| rest.starts_with(start));
    let (start, shortest, kind) = known?;
    let length = rest.iter().take_while(|byte| is_of_key(**byte)).count();
    // Prose has `sk-learn` and the like; a key has digits.
    let has_digit = rest[start.len()..length.max(start.len())]
        .iter()
        .any(u8::is_ascii_digit);
    (length >= *shortest && has_digit).then_some((length, *kind))
}

/// `user:password` before the `@` of an address. A user alone is no secret.
fn user(rest: &[u8]) -> Option<Found> {
    /// More than any user and password have.
    const LONGEST: usize = 1024;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'<>\\@".contains(byte);
    let end = rest.iter().take(LONGEST).position(ends)?;
    let has_password = rest[end] == b'@' && rest[..end].contains(&b':');
    has_password.then_some((end, "user"))
}

/// Three parts of base64 with dots between them, of which the first two are JSON objects.
fn jwt(rest: &[u8]) -> Option<Found> {
    if !rest.starts_with(JWT_BEGIN) {
        return None;
    }
    let is_part = |byte: &u8| is_of_key(*byte);
    let header = rest.iter().take_while(|byte| is_part(byte)).count();
    let payload = rest.get(header..)?.strip_prefix(b".eyJ")?;
    let payload = 4 + payload.iter().take_while(|byte| is_part(byte)).count();
    let signature = rest.get(header + payload..)?.strip_prefix(b".")?;
    let signature = 1 + signature.iter().take_while(|byte| is_part(byte)).count();
    Some((header + payload + signature, "jwt"))
}

/// A block of PEM that holds a private key, up to the end of its last line, or of the text.
fn pem(rest: &[u8]) -> Option<Found> {
    if !rest.starts_with(PEM_BEGIN) {
        return None;
    }
    let line = rest
        .iter()
        .take(80)
        .position(|byte| matches!(byte, b'\n' | b'\r' | b'\\'))?;
    if !contains(&rest[..line], b"PRIVATE KEY") {
        return None;
    }
    let end = memchr::memmem::find(rest, PEM_END);
    let end = end.map_or(rest.len(), |at| {
        let rest_of_line = &rest[at + PEM_END.len()..];
        let dashes = memchr::memmem::find(rest_of_line, b"-----");
        at + PEM_END.len() + dashes.map_or(rest_of_line.len(), |dashes| dashes + 5)
    });
    Some((end, "private-key"))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Characters that the patterns above are made of.
pub(super) fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
