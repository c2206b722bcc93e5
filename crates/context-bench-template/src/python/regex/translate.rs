//! A pattern in Python's syntax as one that fancy-regex reads the same way.
//!
//! Python differs in `$`, `\Z`, what a word character is, nested classes (Python has
//! none), `{` as text, and in which escapes are errors.
//!
//! Written by hand: no crate reads Python's dialect, and task files are full of it.

/// The translated pattern; the flag that concerns the whole of it.
pub(super) struct Translation {
    pub(super) pattern: String,
    pub(super) ignore_case: bool,
}

const WORD: &str = r"\p{L}\p{N}_";
const ASCII_WORD: &str = "a-zA-Z0-9_";
const SPACE: &str = r"\s\x{1c}-\x{1f}";
const ASCII_SPACE: &str = r" \t\n\r\x{c}\x{b}";

#[derive(Clone, Copy, Default)]
struct Flags {
    ascii: bool,
    multiline: bool,
    dot_all: bool,
    verbose: bool,
}

struct Translator<'p> {
    rest: &'p str,
    out: String,
    flags: Flags,
    /// The flags to return to when a group closes.
    groups: Vec<Flags>,
    ignore_case: bool,
}

pub(super) fn translate(pattern: &str) -> Result<Translation, String> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        flags: Flags::default(),
        groups: Vec::new(),
        ignore_case: false,
    };
    translator.leading_flags()?;
    translator.run()?;
    Ok(Translation {
        pattern: translator.out,
        ignore_case: translator.ignore_case,
    })
}

impl<'p> Translator<'p> {
    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// `(?i)` and the like, which stand at the very start only.
    fn leading_flags(&mut self) -> Result<(), String> {
        while let Some(letters) = flag_group(self.rest) {
            for letter in letters.chars() {
                match letter {
                    'a' => self.flags.ascii = true,
                    'i' => self.ignore_case = true,
                    'm' => self.flags.multiline = true,
                    's' => self.flags.dot_all = true,
                    'x' => self.flags.verbose = true,
                    'u' => {}
                    _ => return Err("the flag `L` is for bytes only".into()),
                }
            }
            self.rest = &self.rest[letters.len() + 3..];
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.bump() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    self.flags = self.groups.pop().ok_or("unbalanced parenthesis")?;
                    self.out.push(')');
                }
                '.' if self.flags.dot_all => self.out.push_str("(?s:.)"),
                '.' => self.out.push_str("[^\\n]"),
                '^' if self.flags.multiline => self.out.push_str("(?m:^)"),
                '^' => self.out.push_str("\\A"),
                '$' if self.flags.multiline => self.out.push_str("(?m:$)"),
                '$' => self.out.push_str("(?=\\n?\\z)"),
                '*' | '+' | '?' | '|' => self.out.push(c),
                '{' => self.braces(),
                '#' if self.flags.verbose => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                c if self.flags.verbose && c.is_ascii_whitespace() => {}
                c => literal(&mut self.out, c),
            }
        }
        if self.groups.is_empty() {
            Ok(())
        } else {
            Err("a parenthesis is not closed".into())
        }
    }

    /// `{2,3}` repeats; any other brace is text.
    fn braces(&mut self) {
        if let Some((inside, after)) = self.rest.split_once('}') {
            let (low, high) = match inside.split_once(',') {
                Some((low, high)) => (low, Some(high)),
                None => (inside, None),
            };
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if !inside.is_empty() && digits(low) && high.is_none_or(digits) {
                let low = if low.is_empty() { "0" } else { low };
                self.out.push('{');
                self.out.push_str(low);
                if let Some(high) = high {
                    self.out.push(',');
                    self.out.push_str(high);
                }
                self.out.push('}');
                self.rest = after;
                return;
            }
        }
        literal(&mut self.out, '{');
    }

    fn group(&mut self) -> Result<(), String> {
        if self.eat("?#") {
            let (_, after) = self.rest.split_once(')').ok_or("a comment is not closed")?;
            self.rest = after;
            return Ok(());
        }
        if flag_group_inner(self.rest).is_some() {
            return Err("flags such as `(?i)` belong at the start".into());
        }
        if self.eat("?P=") {
            let (name, after) = self
                .rest
                .split_once(')')
                .ok_or("a parenthesis is not closed")?;
            self.out.push_str(&format!("(?P={name})"));
            self.rest = after;
            return Ok(());
        }
        self.groups.push(self.flags);
        for plain in ["?:", "?=", "?!", "?<=", "?<!", "?>"] {
            if self.eat(plain) {
                self.out.push('(');
                self.out.push_str(plain);
                return Ok(());
            }
        }
        if self.eat("?P<") {
            let (name, after) = self
                .rest
                .split_once('>')
                .ok_or("a group name is not closed")?;
            self.out.push_str(&format!("(?P<{name}>"));
            self.rest = after;
            return Ok(());
        }
        if self.eat("?(") {
            let (name, after) = self
                .rest
                .split_once(')')
                .ok_or("a condition is not closed")?;
            let number = name.bytes().all(|byte| byte.is_ascii_digit());
            self.out.push_str(&if number {
                format!("(?({name})")
            } else {
                format!("(?(<{name}>)")
            });
            self.rest = after;
            return Ok(());
        }
        if self.eat("?") {
            return self.scoped_flags();
        }
        self.out.push('(');
        Ok(())
    }

    /// `(?i-s:…)`.
    fn scoped_flags(&mut self) -> Result<(), String> {
        let unknown = || "unknown extension after `(?`".to_owned();
        let (letters, after) = self.rest.split_once(':').ok_or_else(unknown)?;
        let mut on = true;
        let mut case = None;
        for letter in letters.chars() {
            match letter {
                '-' => on = false,
                'a' => self.flags.ascii = true,
                'u' => self.flags.ascii = false,
                'i' => case = Some(on),
                'm' => self.flags.multiline = on,
                's' => self.flags.dot_all = on,
                'x' => self.flags.verbose = on,
                _ => return Err(unknown()),
            }
        }
        self.rest = after;
        self.out.push_str(match case {
            Some(true) => "(?i:",
            Some(false) => "(?-i:",
            None => "(?:",
        });
        Ok(())
    }

    fn word(&self) -> &'static str {
        if self.flags.ascii { ASCII_WORD } else { WORD }
    }

    /// The members of `\d`, `\s` or `\w`.
    fn members(&self, letter: char) -> &'static str {
        match (letter, self.flags.ascii) {
            ('d', true) => "0-9",
            ('d', false) => r"\p{Nd}",
            ('s', true) => ASCII_SPACE,
            ('s', false) => SPACE,
            _ => self.word(),
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let c = self.bump().ok_or("a backslash stands at the end")?;
        match c {
            'A' => self.out.push_str("\\A"),
            'Z' => self.out.push_str("\\z"),
            'b' | 'B' => {
                let word = self.word();
                let (in_out, out_in) = if c == 'b' { ("!", "=") } else { ("=", "!") };
                // Python finds no `\\B` in an empty text.
                if c == 'B' {
                    self.out.push_str("(?!\\A\\z)");
                }
                self.out.push_str(&format!(
                    "(?:(?<=[{word}])(?{in_out}[{word}])|(?<![{word}])(?{out_in}[{word}]))"
                ));
            }
            'd' | 's' | 'w' => {
                let members = self.members(c);
                self.out.push_str(&format!("[{members}]"));
            }
            'D' | 'S' | 'W' => {
                let members = self.members(c.to_ascii_lowercase());
                self.out.push_str(&format!("[^{members}]"));
            }
            '1'..='9' => {
                let digits = self
                    .rest
                    .bytes()
                    .take(2)
                    .take_while(u8::is_ascii_digit)
                    .count();
                let octal = digits == 2
                    && matches!(c, '1'..='3')
                    && self
                        .rest
                        .bytes()
                        .take(2)
                        .all(|byte| matches!(byte, b'0'..=b'7'));
                let taken = if octal { 2 } else { digits.min(1) };
                let number = format!("{c}{}", &self.rest[..taken]);
                self.rest = &self.rest[taken..];
                if octal {
                    let code = u32::from_str_radix(&number, 8).unwrap_or(0);
                    literal(&mut self.out, char::from_u32(code).unwrap_or('\0'));
                } else {
                    self.out.push_str(&format!("(?:\\{number})"));
                }
            }
            other => {
                let c = self.character(other, false)?;
                literal(&mut self.out, c);
            }
        }
        Ok(())
    }

    /// The character an escape stands for.
    fn character(&mut self, escape: char, in_class: bool) -> Result<char, String> {
        Ok(match escape {
            'a' => '\u{7}',
            'b' if in_class => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            'U' => self.hex(8)?,
            '0'..='7' => {
                let more = if escape == '0' || in_class { 2 } else { 0 };
                let digits = self.rest.bytes().take(more);
                let n = digits
                    .take_while(|byte| matches!(byte, b'0'..=b'7'))
                    .count();
                let number = format!("{escape}{}", &self.rest[..n]);
                self.rest = &self.rest[n..];
                let code = u32::from_str_radix(&number, 8).unwrap_or(0);
                char::from_u32(code).unwrap_or('\0')
            }
            'N' => return Err("named characters `\\N{…}` are not known".into()),
            c if c.is_ascii_alphanumeric() => return Err(format!("bad escape `\\{c}`")),
            c => c,
        })
    }

    fn hex(&mut self, n: usize) -> Result<char, String> {
        let digits = self
            .rest
            .get(..n)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let digits = digits.ok_or("an escape has too few digits")?;
        self.rest = &self.rest[n..];
        u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| "an escape names no character".to_owned())
    }

    fn class(&mut self) -> Result<(), String> {
        let open = || "a character class is not closed".to_owned();
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let c = self.bump().ok_or_else(open)?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let Some(low) = self.member(c)? else { continue };
            // A range, unless the hyphen is the last member.
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1 {
                self.rest = &self.rest[1..];
                let c = self.bump().ok_or_else(open)?;
                let start = self.out.len();
                let Some(high) = self.member(c)? else {
                    let shown = self.out.split_off(start);
                    return Err(format!("bad range up to `{shown}`"));
                };
                if low > high {
                    return Err(format!("bad range `{low}-{high}`"));
                }
                literal(&mut self.out, low);
                self.out.push('-');
                literal(&mut self.out, high);
            } else {
                literal(&mut self.out, low);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// One member of a class; nothing when it was a whole class such as `\w`, which is
    /// then written already.
    fn member(&mut self, c: char) -> Result<Option<char>, String> {
        if c != '\\' {
            return Ok(Some(c));
        }
        let escape = self.bump().ok_or("a backslash stands at the end")?;
        match escape {
            'd' | 's' | 'w' => {
                let members = self.members(escape);
                self.out.push_str(members);
                Ok(None)
            }
            'D' | 'S' | 'W' => {
                let members = self.members(escape.to_ascii_lowercase());
                self.out.push_str(&format!("[^{members}]"));
                Ok(None)
            }
            other => self.character(other, true).map(Some),
        }
    }
}

/// The letters of `(?letters)` at the start of a text.
fn flag_group(text: &str) -> Option<&str> {
    flag_group_inner(text.strip_prefix('(')?)
}

fn flag_group_inner(text: &str) -> Option<&str> {
    let (letters, _) = text.strip_prefix('?')?.split_once(')')?;
    let flags = !letters.is_empty() && letters.chars().all(|c| "aiLmsux".contains(c));
    flags.then_some(letters)
}

/// A character that stands for itself.
fn literal(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    } else {
        out.push(c);
    }
}
