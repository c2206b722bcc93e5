//! Characters and n-grams as language detection sees them.

use super::model::Model;

/// The n-grams of a text that the model knows, in the order of the text.
pub(super) fn features(text: &[char], model: &Model) -> Vec<u32> {
    let mut features = Vec::with_capacity(text.len() * 3);
    let mut window = Window::default();
    for &c in text {
        window.push(normal(c, model));
        if window.in_capitals {
            continue;
        }
        let chars = window.chars();
        for n in 1..=chars.len() {
            let gram = &chars[chars.len() - n..];
            if gram != [' '] {
                features.extend(model.feature(gram));
            }
        }
    }
    features
}

/// The last up to three characters; a space before each word.
struct Window {
    chars: [char; 3],
    length: usize,
    /// Inside a word in capitals, which says little about the language.
    in_capitals: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            chars: [' '; 3],
            length: 1,
            in_capitals: false,
        }
    }
}

impl Window {
    fn chars(&self) -> &[char] {
        &self.chars[..self.length]
    }

    fn push(&mut self, c: char) {
        let last = self.chars[self.length - 1];
        if last == ' ' {
            *self = Self::default();
            if c == ' ' {
                return;
            }
        } else if self.length == 3 {
            self.chars.rotate_left(1);
            self.length = 2;
        }
        self.chars[self.length] = c;
        self.length += 1;
        if !c.is_uppercase() {
            self.in_capitals = false;
        } else if last.is_uppercase() {
            self.in_capitals = true;
        }
    }
}

/// One character for all those that say the same about a language.
fn normal(c: char, model: &Model) -> char {
    match c {
        'A'..='Z' | 'a'..='z' => c,
        '\0'..='\u{7f}' | '\u{a0}' | '«' | '°' | '»' => ' ',
        // Romanian comma below to cedilla, Farsi yeh to Arabic yeh.
        'ș' => 'ş',
        'ț' => 'ţ',
        '\u{6cc}' => '\u{64a}',
        '\u{1ea0}'..='\u{1eff}' => '\u{1ec3}',
        '\u{2000}'..='\u{206f}' => ' ',
        '\u{3040}'..='\u{309f}' => '\u{3042}',
        '\u{30a0}'..='\u{30ff}' => '\u{30a2}',
        '\u{3100}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' => '\u{3105}',
        '\u{4e00}'..='\u{9fff}' => model.kanji(c),
        '\u{ac00}'..='\u{d7af}' => '\u{ac00}',
        _ => c,
    }
}

/// A space for each address `https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}`.
pub(super) fn without_urls(text: &[char]) -> Vec<char> {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || "-_.?&~;+=/#".contains(*c);
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let scheme = ["http://", "https://"].into_iter().find_map(|scheme| {
            let matches = scheme.chars().eq(rest.iter().copied().take(scheme.len()));
            matches.then_some(scheme.len())
        });
        let length = scheme.map_or(0, |scheme| {
            let path = rest[scheme..].iter().take(2076);
            let path = path.take_while(|c| is_part(c)).count();
            if path == 0 { 0 } else { scheme + path }
        });
        kept.push(if length == 0 { text[at] } else { ' ' });
        at += length.max(1);
    }
    kept
}

/// A space for each `[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}`.
pub(super) fn without_mail(text: &[char]) -> Vec<char> {
    let is_label = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_part = |c: &char| is_label(c) || *c == '.';
    let run = |chars: &[char], test: &dyn Fn(&char) -> bool| {
        chars.iter().take(255).take_while(|c| test(c)).count()
    };
    let mut kept: Vec<char> = Vec::with_capacity(text.len());
    let mut at = 0;
    // What of `kept` may be the name before an `@`: not across an address.
    let mut from = 0;
    while at < text.len() {
        if text[at] == '@' {
            let rest = &text[at + 1..];
            let label = run(rest, &is_label);
            let tail = run(&rest[label..], &is_part);
            let host = if tail > 0 || label > 1 {
                label + tail
            } else {
                0
            };
            let before = kept[from..].iter().rev().take(64);
            let name = before.take_while(|c| is_part(c)).count();
            if label > 0 && host > 0 && name > 0 {
                kept.truncate(kept.len() - name);
                kept.push(' ');
                from = kept.len();
                at += 1 + host;
                continue;
            }
        }
        kept.push(text[at]);
        at += 1;
    }
    kept
}

const VOWELS: &str = "AEIOUYaeiouyÂÊÔâêôĂăƠơƯư";
/// Tone marks, each with the composed letters in the order of `VOWELS`.
const TONES: [(char, &str); 5] = [
    ('\u{300}', "ÀÈÌÒÙỲàèìòùỳẦỀỒầềồẰằỜờỪừ"),
    ('\u{301}', "ÁÉÍÓÚÝáéíóúýẤẾỐấếốẮắỚớỨứ"),
    ('\u{303}', "ÃẼĨÕŨỸãẽĩõũỹẪỄỖẫễỗẴẵỠỡỮữ"),
    ('\u{309}', "ẢẺỈỎỦỶảẻỉỏủỷẨỂỔẩểổẲẳỞởỬử"),
    ('\u{323}', "ẠẸỊỌỤỴạẹịọụỵẬỆỘậệộẶặỢợỰự"),
];

/// Vietnamese vowels with a separate tone mark become one character.
pub(super) fn composed(text: &[char]) -> Vec<char> {
    let mut composed: Vec<char> = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let tone = text.get(at + 1).and_then(|mark| {
            let (_, letters) = TONES.iter().find(|(tone, _)| tone == mark)?;
            let index = VOWELS.chars().position(|vowel| vowel == text[at])?;
            letters.chars().nth(index)
        });
        composed.push(tone.unwrap_or(text[at]));
        at += if tone.is_some() { 2 } else { 1 };
    }
    composed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: fn(&[char]) -> Vec<char>, text: &str, expected: &str) {
        let chars: Vec<char> = text.chars().collect();
        let changed: String = change(&chars).into_iter().collect();
        assert_eq!(changed, expected, "{text}");
    }

    #[test]
    fn addresses_become_spaces() {
        check(
            without_urls,
            "see https://a.b/c?d=1, http:// x",
            "see  , http:// x",
        );
        check(without_mail, "to a.b@c-d.org, x@y @z", "to  , x@y @z");
        check(without_mail, "x@yz é@ab a@b.", "  é@ab  ");
        check(without_mail, &format!("{}@bc", "a".repeat(66)), "aa ");
    }

    #[test]
    fn tone_marks_are_composed() {
        check(
            composed,
            "e\u{302}\u{301}\u{1a1}\u{323} a\u{300}",
            "e\u{302}\u{301}ợ à",
        );
        for (_, letters) in TONES {
            assert_eq!(letters.chars().count(), VOWELS.chars().count());
        }
    }
}
