//! The 25 official instructions: an id with its arguments, and how each is checked.

use super::IfEvalError;
use super::arguments::{Arguments, Bound};
use super::language::{Language, detect};
use super::length::NthParagraph;
use super::{format, json, keywords, length, shape, words};
use crate::text::words::trim;

/// One instruction, ready to check any number of responses.
#[derive(Debug)]
pub(super) enum Instruction {
    Keywords(Vec<String>),
    KeywordFrequency(String, Bound),
    ForbiddenWords(Vec<String>),
    LetterFrequency(String, Bound),
    Language(String),
    Sentences(Bound),
    Paragraphs(usize),
    Words(Bound),
    NthParagraph(NthParagraph),
    Placeholders(usize),
    Postscript(String),
    Bullets(usize),
    ConstrainedResponse(Vec<String>),
    Highlights(usize),
    Sections(String, usize),
    Json,
    Title,
    TwoResponses,
    RepeatPrompt(String),
    End(String),
    CapitalWords(Bound),
    EnglishCapital,
    EnglishLowercase,
    NoComma,
    Quotation,
}

impl Instruction {
    /// Reads an instruction.
    ///
    /// # Errors
    ///
    /// When the id is not an official one, or an argument is missing or odd.
    pub(super) fn read(id: &str, arguments: Arguments<'_>) -> Result<Self, IfEvalError> {
        let text = |key| arguments.text(key).map(str::to_owned);
        let odd = |key, wanted| IfEvalError::OddArgument {
            id: id.to_owned(),
            key,
            wanted,
        };
        Ok(match id {
            "keywords:existence" => Self::Keywords(arguments.texts("keywords")?),
            "keywords:frequency" => {
                Self::KeywordFrequency(text("keyword")?, arguments.bound("frequency", "relation")?)
            }
            "keywords:forbidden_words" => Self::ForbiddenWords(arguments.texts("forbidden_words")?),
            "keywords:letter_frequency" => {
                let letter = text("letter")?;
                if letter.chars().count() != 1 {
                    return Err(odd("letter", "a single character"));
                }
                let bound = arguments.bound("let_frequency", "let_relation")?;
                Self::LetterFrequency(letter.to_lowercase(), bound)
            }
            "language:response_language" => Self::Language(text("language")?),
            "length_constraints:number_sentences" => {
                Self::Sentences(arguments.bound("num_sentences", "relation")?)
            }
            "length_constraints:number_paragraphs" => {
                Self::Paragraphs(arguments.count("num_paragraphs")?)
            }
            "length_constraints:number_words" => {
                Self::Words(arguments.bound("num_words", "relation")?)
            }
            "length_constraints:nth_paragraph_first_word" => {
                let paragraphs = arguments.count("num_paragraphs")?;
                let nth = arguments.count("nth_paragraph")?;
                if nth == 0 || nth > paragraphs {
                    return Err(odd("nth_paragraph", "from 1 to `num_paragraphs`"));
                }
                let first_word = text("first_word")?.to_lowercase();
                Self::NthParagraph(NthParagraph {
                    paragraphs,
                    nth,
                    first_word,
                })
            }
            "detectable_content:number_placeholders" => {
                Self::Placeholders(arguments.count("num_placeholders")?)
            }
            "detectable_content:postscript" => Self::Postscript(text("postscript_marker")?),
            "detectable_format:number_bullet_lists" => {
                Self::Bullets(arguments.count("num_bullets")?)
            }
            "detectable_format:constrained_response" => {
                let given = arguments.optional_texts("constrained_response")?;
                let official = || format::CONSTRAINED_RESPONSES.map(str::to_owned).to_vec();
                Self::ConstrainedResponse(given.unwrap_or_else(official))
            }
            "detectable_format:number_highlighted_sections" => {
                Self::Highlights(arguments.count("num_highlights")?)
            }
            "detectable_format:multiple_sections" => {
                Self::Sections(text("section_spliter")?, arguments.count("num_sections")?)
            }
            "detectable_format:json_format" => Self::Json,
            "detectable_format:title" => Self::Title,
            "combination:two_responses" => Self::TwoResponses,
            "combination:repeat_prompt" => Self::RepeatPrompt(text("prompt_to_repeat")?),
            "startend:end_checker" => Self::End(text("end_phrase")?),
            "change_case:capital_word_frequency" => {
                Self::CapitalWords(arguments.bound("capital_frequency", "capital_relation")?)
            }
            "change_case:english_capital" => Self::EnglishCapital,
            "change_case:english_lowercase" => Self::EnglishLowercase,
            "punctuation:no_comma" => Self::NoComma,
            "startend:quotation" => Self::Quotation,
            _ => return Err(IfEvalError::UnknownInstruction { id: id.to_owned() }),
        })
    }

    /// Whether a response that is not blank follows the instruction.
    pub(super) fn is_followed(&self, text: &str) -> bool {
        match self {
            Self::Keywords(words) => keywords::all_occur(words, text),
            Self::KeywordFrequency(word, bound) => keywords::occurs(word, *bound, text),
            Self::ForbiddenWords(words) => keywords::none_occurs(words, text),
            Self::LetterFrequency(letter, bound) => keywords::letter_occurs(letter, *bound, text),
            Self::Language(code) => is_in(code, text),
            Self::Sentences(bound) => length::sentences(*bound, text),
            Self::Paragraphs(count) => length::paragraphs(*count, text),
            Self::Words(bound) => length::words(*bound, text),
            Self::NthParagraph(wanted) => wanted.follows(text),
            Self::Placeholders(count) => format::placeholders(text) >= *count,
            Self::Postscript(marker) => format::has_postscript(marker, text),
            Self::Bullets(count) => format::bullets(text) == *count,
            Self::ConstrainedResponse(options) => {
                options.iter().any(|option| trim(text).contains(option))
            }
            Self::Highlights(count) => format::highlights(text) >= *count,
            Self::Sections(splitter, count) => format::sections(splitter, text) >= *count,
            Self::Json => json::is_json_answer(text),
            Self::Title => format::has_title(text),
            Self::TwoResponses => shape::has_two_responses(text),
            Self::RepeatPrompt(prompt) => shape::repeats(prompt, text),
            Self::End(phrase) => shape::ends_with(phrase, text),
            Self::CapitalWords(bound) => bound.holds(words::capital_words(text)),
            Self::EnglishCapital => shape::is_upper(text) && is_in("en", text),
            Self::EnglishLowercase => shape::is_lower(text) && is_in("en", text),
            Self::NoComma => !text.contains(','),
            Self::Quotation => shape::is_quoted(text),
        }
    }
}

/// Whether a text is in that language, or in none that can be detected.
fn is_in(code: &str, text: &str) -> bool {
    match detect(text) {
        Language::Code(found) => found == code,
        Language::Unknown => false,
        Language::NoFeatures => true,
    }
}
