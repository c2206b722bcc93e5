//! The tail of a conversation that evaluators get as context.

/// The characters of an excerpt, unless somebody says otherwise.
pub const EXCERPT_CHARS: usize = 3000;

/// The last turns (role, text) as lines `ROLE: text`, as many as fit `max_chars` with their line
/// ends; the last one always.
pub fn excerpt<'a, T: AsRef<str>>(
    turns: impl DoubleEndedIterator<Item = (&'a str, T)>,
    max_chars: usize,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut taken = 0;
    for (role, text) in turns.rev() {
        let line = format!("{}: {}", role.to_uppercase(), text.as_ref().trim());
        let length = line.chars().count();
        if !lines.is_empty() && taken + length > max_chars {
            break;
        }
        taken += length + 1;
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}
