//! The eight readings of a response that the loose score accepts: as it is,
//! without its first line, its last line, both, and each of these without `*`.
//!
//! They forgive an introduction ("Sure, here is ..."), an outro and markdown.

use std::borrow::Cow;

use crate::text::words::trim;

/// The variants in official order; blank and repeated ones are left out, since
/// blank ones never pass and repeated ones decide nothing.
pub(super) fn variants(response: &str) -> Vec<Cow<'_, str>> {
    let after_first = response.split_once('\n').map_or("", |(_, rest)| rest);
    let before_last = response.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let inner = after_first.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let lines = [after_first, before_last, inner].map(trim);
    let plain = |text: &str| Cow::<str>::Owned(text.replace('*', ""));
    let all = [
        Cow::Borrowed(response),
        plain(response),
        Cow::Borrowed(lines[0]),
        Cow::Borrowed(lines[1]),
        Cow::Borrowed(lines[2]),
        plain(lines[0]),
        plain(lines[1]),
        plain(lines[2]),
    ];
    let mut kept: Vec<Cow<'_, str>> = Vec::with_capacity(8);
    for variant in all {
        if !trim(&variant).is_empty() && !kept.contains(&variant) {
            kept.push(variant);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eight_variants() {
        assert_eq!(
            variants("Sure!\n*a*\n\nb\nBye*"),
            [
                "Sure!\n*a*\n\nb\nBye*",
                "Sure!\na\n\nb\nBye",
                "*a*\n\nb\nBye*",
                "Sure!\n*a*\n\nb",
                "*a*\n\nb",
                "a\n\nb\nBye",
                "Sure!\na\n\nb",
                "a\n\nb",
            ]
        );
    }

    #[test]
    fn blank_and_equal_variants_are_left_out() {
        assert_eq!(variants("one line"), ["one line"]);
        assert_eq!(variants("a\nb"), ["a\nb", "b", "a"]);
        assert!(variants(" \n ").is_empty());
    }
}
