//! A seeded random number generator, and mutations of texts.

/// xorshift64*: small, seeded, good enough to choose mutations.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        // Spread neighbouring numbers over the whole range (splitmix64).
        let mut z = seed
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(number.wrapping_mul(0xBF58_476D_1CE4_E5B9))
            .wrapping_add(0x94D0_49BB_1331_11EB);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((z ^ (z >> 31)) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`, 0 when `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.next() >> 11) as usize % n
        }
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The longest text.
const MAX_LEN: usize = 64 << 10;

/// Pieces that evaluators look for, and characters that break careless code.
const PIECES: &[&str] = &[
    "\\frac{",
    "}{",
    "}",
    "{",
    "\\boxed{",
    "\\sqrt{",
    "\\sqrt[3]{",
    "\\left(",
    "\\right)",
    "^{",
    "_{",
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "\\\\",
    "&",
    "\\text{",
    "\\pi",
    "\\infty",
    "\\cup",
    "$",
    "$$",
    "\\(",
    "\\)",
    "####",
    "%",
    "1,000,000",
    "1e309",
    "-1e-400",
    "0.1",
    "3/4",
    "x^2",
    "99999999999999999999",
    "!",
    "1!!",
    "^",
    "**",
    "*",
    "[[",
    "]]",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "<<",
    ">>",
    "```",
    "```json\n",
    "```python\n",
    "\ndef f(x):\n    return ",
    "\"\"\"",
    "'''",
    "\\",
    "\n",
    "\r\n",
    "\t",
    "\u{b}",
    "\u{1c}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "\0",
    "é",
    "e\u{301}",
    "İ",
    "ß",
    "ſ",
    "ǅ",
    "Ⅷ",
    "½",
    "٤",
    "４",
    "日本語",
    "हिन्दी",
    "ไทย",
    "👩‍👩‍👧",
    "\u{10ffff}",
    "The answer is ",
    "answer: ",
    "(A)",
    "B",
    "not ",
    "Score: ",
    "Rating: ",
    "/5",
    " out of ",
    "Model 1",
    " is better than ",
    "tie",
    "m",
    "M",
    "{\"score\": ",
    "\"winner\"",
    "null",
    "true",
    "None",
    "NaN",
    "Infinity",
    "f(a=1)",
    "{\"name\": \"f\", \"arguments\": {}}",
    ":",
    ",",
    "=",
    "==",
    "entailment",
    "not entailed",
    "P.S.",
    "Mr.",
    "e.g.",
    "...",
    "? ",
    "! ",
    "<think>",
    "</think>",
    "{question}",
    "{response}",
    "1. ",
    "- ",
    "# ",
    "|",
    "/",
    "-",
    "−",
    "–",
    "+",
    "\\%",
    "°",
    "€",
    "'",
    "\"",
    ";",
];

/// The start of a character at or before `at`.
fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn range(text: &str, chance: &mut Chance, most: usize) -> (usize, usize) {
    let start = boundary(text, chance.below(text.len() + 1));
    let end = boundary(text, start + chance.below(most + 1));
    (start, end.max(start))
}

/// Mutates a text a few times; parts of `other` may be mixed in.
pub(crate) fn mutate(text: &str, other: &str, chance: &mut Chance) -> String {
    let mut text = text.to_owned();
    for _ in 0..chance.below(6) {
        once(&mut text, other, chance);
        if text.len() > MAX_LEN {
            text.truncate(boundary(&text, MAX_LEN));
        }
    }
    text
}

fn once(text: &mut String, other: &str, chance: &mut Chance) {
    match chance.below(10) {
        0 => {
            let (start, end) = range(text, chance, 40);
            text.replace_range(start..end, "");
        }
        1 | 2 => {
            let (at, _) = range(text, chance, 0);
            let piece: &&str = chance.pick(PIECES);
            text.insert_str(at, piece);
        }
        3 => {
            let (start, end) = range(text, chance, 8);
            let piece: &&str = chance.pick(PIECES);
            text.replace_range(start..end, piece);
        }
        4 => {
            let (start, end) = range(other, chance, 400);
            let (at, _) = range(text, chance, 0);
            text.insert_str(at, &other[start..end]);
        }
        5 => {
            // Repeats a piece many times, against deep recursion and quadratic loops.
            let (start, end) = range(text, chance, 60);
            let times = 1 << chance.below(12);
            let piece = text[start..end].repeat(times.min(MAX_LEN / (end - start).max(1)));
            text.insert_str(end, &piece);
        }
        6 => {
            let (open, close) = chance.pick(&[
                ("(", ")"),
                ("{", "}"),
                ("[", "]"),
                ("\\frac{", "}{2}"),
                ("\\sqrt{", "}"),
                ("-", ""),
                ("\\boxed{", "}"),
                ("{\"a\":", "}"),
                ("f(", ")"),
                ("not ", ""),
                ("**", "**"),
            ]);
            let times = 1 << chance.below(10);
            let (start, end) = range(text, chance, 200);
            text.insert_str(end, &close.repeat(times));
            text.insert_str(start, &open.repeat(times));
        }
        7 => {
            let at = boundary(text, chance.below(text.len() + 1));
            text.truncate(at);
        }
        8 => {
            let (at, _) = range(text, chance, 0);
            let scalar = chance.next() as u32 % 0x11_0000;
            text.insert(at, char::from_u32(scalar).unwrap_or('\u{fffd}'));
        }
        _ => {
            // Replaces a number with another.
            let digits = text.find(|c: char| c.is_ascii_digit());
            if let Some(at) = digits {
                let number = match chance.below(4) {
                    0 => chance.below(10).to_string(),
                    1 => chance.next().to_string(),
                    2 => format!("{}.{}", chance.below(100), chance.next()),
                    _ => "9".repeat(1 << chance.below(10)),
                };
                text.replace_range(at..=at, &number);
            }
        }
    }
}
