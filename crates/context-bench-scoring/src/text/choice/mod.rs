//! The option that a response chooses, out of free text.
//!
//! Models reason aloud before they answer, so the last decisive statement wins
//! over everything weaker: a sentence that states the answer, then a last or
//! first line that is a letter, a conclusion, a highlighted letter, the text of
//! one option, a lone capital. When the text does not decide, there is no
//! choice and a reason, never a guess.

mod cue;
mod letter;
mod mark;
mod mmlu_pro;
mod option_text;
mod refusal;
mod rejection;
mod statement;
mod token;

use std::fmt;

use mark::Mark;
use option_text::OptionTexts;
use rejection::Rejections;
use statement::Statement;
use token::Token;

/// What is known about the options of a question.
#[derive(Debug, Clone)]
pub struct ChoiceOptions {
    last: char,
    texts: OptionTexts,
    several: bool,
}

impl Default for ChoiceOptions {
    /// Letters A to J, texts unknown, one answer.
    fn default() -> Self {
        Self {
            last: 'J',
            texts: OptionTexts::default(),
            several: false,
        }
    }
}

impl ChoiceOptions {
    /// Options with these texts: letters from A on, at most 26. Without any
    /// text the letters are A to J.
    pub fn with_texts<S: AsRef<str>>(texts: &[S]) -> Self {
        if texts.is_empty() {
            return Self::default();
        }
        let index = u8::try_from(texts.len().min(26) - 1).unwrap_or(25);
        Self {
            last: char::from(b'A' + index),
            texts: OptionTexts::new(texts),
            several: false,
        }
    }

    /// Allows letters up to `last` at least.
    #[must_use]
    pub fn up_to(mut self, last: char) -> Self {
        self.last = self.last.max(last.to_ascii_uppercase()).min('Z');
        self
    }

    /// Whether a question may have several answers, so that `AC` means A and C.
    #[must_use]
    pub fn several(mut self, several: bool) -> Self {
        self.several = several;
        self
    }

    fn has(&self, letter: char) -> bool {
        ('A'..=self.last).contains(&letter)
    }
}

/// How a choice was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The response is nothing but the letter.
    Whole,
    /// The response is the text of one option.
    WholeText,
    /// A sentence states the letter: `the answer is B`, `I choose B`.
    Stated,
    /// A sentence states the text of one option as the answer.
    StatedText,
    /// `\boxed{B}`.
    Boxed,
    /// `B is correct`.
    Confirmed,
    /// The last line is the letter, or begins with it.
    LastLine,
    /// The first line is the letter, or begins with it.
    FirstLine,
    /// `So B.`, `which is option B`.
    Concluded,
    /// A bold or bracketed letter in the last line.
    Highlighted,
    /// Exactly one option's text occurs.
    OptionText,
    /// A lone capital in a short last line.
    LoneLetter,
    /// MMLU-Pro's published rule.
    MmluPro,
    /// Nothing was found; MMLU-Pro's script draws an option with a fixed seed.
    MmluProDraw,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "the whole response",
            Self::WholeText => "the response is the option's text",
            Self::Stated => "stated as the answer",
            Self::StatedText => "its text is stated as the answer",
            Self::Boxed => "boxed",
            Self::Confirmed => "called correct",
            Self::LastLine => "last line",
            Self::FirstLine => "first line",
            Self::Concluded => "concluded",
            Self::Highlighted => "highlighted in the last line",
            Self::OptionText => "the only option whose text occurs",
            Self::LoneLetter => "lone letter in the last line",
            Self::MmluPro => "MMLU-Pro's published rule",
            Self::MmluProDraw => "MMLU-Pro's draw for a text without a letter",
        })
    }
}

/// The letters that a response chooses, and how they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Upper case, sorted, at least one.
    pub letters: Vec<char>,
    /// The rule that found them.
    pub rule: Rule,
}

/// Why a response chooses nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoChoice {
    /// The response is empty or blank.
    #[error("the response is empty")]
    Empty,
    /// It declines to answer.
    #[error("the response declines to answer")]
    Refused,
    /// It names several options without deciding.
    #[error("the response names {} without deciding", spread(.0))]
    Undecided(Vec<char>),
    /// It chooses an option that does not exist.
    #[error("the response chooses {0}, which is not among the options")]
    NotAnOption(char),
    /// It names no option at all.
    #[error("no option is chosen")]
    Nothing,
}

/// `A, B and C` for messages.
fn spread(letters: &[char]) -> String {
    let texts: Vec<String> = letters.iter().map(char::to_string).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
        [] => String::new(),
    }
}

/// The option that a response chooses.
///
/// ```
/// use context_bench_scoring::text::choice::{ChoiceOptions, extract};
///
/// let text = "A good start is (C), but on reflection the answer is most likely **B**.";
/// let choice = extract(text, &ChoiceOptions::default()).expect("a choice");
/// assert_eq!(choice.letters, ['B']);
/// ```
///
/// # Errors
///
/// When the response is empty, declines, or does not decide.
pub fn extract(response: &str, options: &ChoiceOptions) -> Result<Choice, NoChoice> {
    let tokens = token::tokens(response);
    let lines = mark::lines(&tokens);
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Err(NoChoice::Empty);
    };
    let one_line = lines.len() == 1;
    let rejections = Rejections::of(response, &tokens, &options.texts);
    let marks = lines.iter().map(|line| mark::mark(line, &rejections));
    let marks: Vec<Option<Mark>> = marks.collect();
    if one_line {
        if let Some(whole) = marks[0].clone().filter(|mark| mark.alone) {
            return settle(whole.letters, whole.alternatives, Rule::Whole, options);
        }
        if options.several
            && let Some(letters) = mark::only_letters(first)
            && letters.iter().all(|letter| options.has(*letter))
        {
            return settle(letters, false, Rule::Whole, options);
        }
    }
    if let Some(letter) = options.texts.equal_to(response) {
        return settle(vec![letter], false, Rule::WholeText, options);
    }

    let said = statement::statements(response, &tokens, &options.texts, &rejections);
    if let Some(stated) = latest(&said.stated) {
        // `The answer is (B) … For the last question I cannot provide an answer.`
        if refusal::declines(&tokens).is_some_and(|at| at > stated.at) {
            return Err(NoChoice::Refused);
        }
        return settle(
            stated.letters.clone(),
            stated.alternatives,
            stated.rule,
            options,
        );
    }

    // A label in front of a line, unless the lines list several options.
    let labels = |mark: &Mark| {
        marks
            .iter()
            .flatten()
            .all(|other| other.letters == mark.letters)
    };
    let n = marks.len();
    if let Some(mark) = &marks[n - 1] {
        let listed = n > 1 && marks[n - 2].as_ref().is_some_and(|previous| previous.alone);
        let several: Vec<char> = marks
            .iter()
            .flatten()
            .flat_map(|mark| mark.letters.iter().copied())
            .collect();
        if mark.alone && listed && !labels(mark) {
            return settle(several, true, Rule::LastLine, options);
        }
        if mark.alone || labels(mark) {
            let rule = if one_line {
                Rule::FirstLine
            } else {
                Rule::LastLine
            };
            return settle(mark.letters.clone(), mark.alternatives, rule, options);
        }
    }
    if let Some(mark) = marks[0].as_ref().filter(|mark| labels(mark)) {
        return settle(
            mark.letters.clone(),
            mark.alternatives,
            Rule::FirstLine,
            options,
        );
    }
    if refusal::hesitates(&tokens) {
        return Err(NoChoice::Refused);
    }
    if let Some(stated) = latest(&said.concluded) {
        return settle(
            stated.letters.clone(),
            stated.alternatives,
            stated.rule,
            options,
        );
    }

    let kept = |mut letters: Vec<char>| {
        letters.retain(|letter| {
            let out = said.ruled_out.contains(letter) || rejections.has(*letter);
            options.has(*letter) && !out
        });
        letters
    };
    let highlighted = kept(mark::highlighted(last, &rejections));
    if let [letter] = highlighted[..] {
        return settle(vec![letter], false, Rule::Highlighted, options);
    }
    if highlighted.len() > 1 {
        return Err(NoChoice::Undecided(highlighted));
    }
    // In a long text an option's words may occur in passing: only short ones count.
    let short = tokens.iter().filter(|token| token.is_word()).count() <= 40;
    let mentioned = if short {
        kept(options.texts.within(response))
    } else {
        Vec::new()
    };
    if let [letter] = mentioned[..] {
        return settle(vec![letter], false, Rule::OptionText, options);
    }
    // `It is not Venus. Mars is the answer.`
    if let [letter] = kept(options.texts.within(concluding_sentence(response, last)))[..] {
        return settle(vec![letter], false, Rule::OptionText, options);
    }
    let lone = kept(mark::lone_capitals(last, &rejections));
    match (lone.as_slice(), mentioned.as_slice()) {
        ([letter], _) => settle(vec![*letter], false, Rule::LoneLetter, options),
        ([], []) => Err(NoChoice::Nothing),
        ([], several) | (several, _) => Err(NoChoice::Undecided(several.to_vec())),
    }
}

/// The letter that the rule published with MMLU-Pro extracts: comparable with
/// its leaderboard, but it takes the pronoun `I` of a refusal for option I, and
/// where a text has no letter it draws one of the options, always the same.
///
/// # Errors
///
/// When it finds no letter and there are no options to draw from.
pub fn extract_mmlu_pro(response: &str, n_options: usize) -> Result<Choice, NoChoice> {
    let found = mmlu_pro::extract(response).map(|letter| (letter, Rule::MmluPro));
    let drawn = || mmlu_pro::draw(n_options).map(|letter| (letter, Rule::MmluProDraw));
    let (letter, rule) = found.or_else(drawn).ok_or(NoChoice::Nothing)?;
    Ok(Choice {
        letters: vec![letter],
        rule,
    })
}

/// The last sentence if it speaks of the answer, else nothing.
fn concluding_sentence<'a>(response: &'a str, line: &[Token<'a>]) -> &'a str {
    let n = line.len();
    let start = (0..n.saturating_sub(1))
        .rev()
        .find(|i| line[*i].ends_sentence() && line[*i].end < line[i + 1].start)
        .map_or(0, |i| i + 1);
    let sentence = &line[start..];
    let concludes = sentence
        .iter()
        .any(|token| token.in_set(&cue::KEYS) || token.in_set(&cue::CONFIRMS));
    let negated = sentence.iter().any(|token| token.in_set(&cue::NEGATIONS));
    match (sentence.first(), sentence.last()) {
        (Some(first), Some(last)) if concludes && !negated => {
            response.get(first.start..last.end).unwrap_or_default()
        }
        _ => "",
    }
}

fn latest(statements: &[Statement]) -> Option<&Statement> {
    statements.iter().max_by_key(|statement| statement.at)
}

/// Checks the letters of the deciding place.
fn settle(
    mut letters: Vec<char>,
    alternatives: bool,
    rule: Rule,
    options: &ChoiceOptions,
) -> Result<Choice, NoChoice> {
    letters.sort_unstable();
    letters.dedup();
    if let Some(other) = letters.iter().find(|letter| !options.has(**letter)) {
        return Err(NoChoice::NotAnOption(*other));
    }
    if alternatives || letters.len() > 1 && !options.several {
        return Err(NoChoice::Undecided(letters));
    }
    Ok(Choice { letters, rule })
}
