//! Chosen options: the worked cases, and texts as models write them.

use context_bench::evaluator::MultipleChoiceAccuracy;
use context_bench::text::choice::{ChoiceOptions, NoChoice, extract};
use proptest::prelude::*;
use serde_json::json;

use crate::patience::ends;
use crate::worked::{check, scores};

const DIFFERENCES: &[(&str, &str)] = &[
    // Words between `is` and the letter; pronouns.
    ("cb-0073", r#"{"mc_accuracy": 1.0}"#),
    ("cb-0076", r#"{"mc_accuracy": 1.0}"#),
    // A word that begins with the letter is not the letter.
    ("cb-0085", r#"{"mc_accuracy": 0.0}"#),
];
const LETTER_DIFFERENCES: &[(&str, &str)] = &[
    // Underscores are emphasis.
    ("cb-0087", r#""C""#),
    // An abbreviation is no choice; the letter after it is.
    ("cb-0090", r#""B""#),
    // Two options and no decision.
    ("cb-0093", r#""""#),
];

#[test]
fn worked_cases() {
    let evaluator = MultipleChoiceAccuracy::default();
    check("MultipleChoiceAccuracy", DIFFERENCES, |input| {
        scores(&evaluator, input)
    });
    check("mc.extract_letter", LETTER_DIFFERENCES, |input| {
        json!(chosen(input["text"].as_str().unwrap()))
    });
}

fn chosen(text: &str) -> String {
    letters(text, &ChoiceOptions::default())
}

fn letters(text: &str, options: &ChoiceOptions) -> String {
    extract(text, options)
        .map(|choice| choice.letters.into_iter().collect())
        .unwrap_or_default()
}

#[test]
fn a_choice_in_many_words() {
    for (expected, texts) in [
        (
            "B",
            &[
                "B",
                "b",
                "(B)",
                "B.",
                "B)",
                "**B**",
                "Option B",
                "B. Paris",
                "(B) Paris",
                "The answer is B.",
                "the answer is (b)",
                "The answer is definitely B",
                "The answer is most likely (B).",
                "The correct answer is therefore clearly option B",
                "Answer: B",
                "**Answer:** B",
                "**Answer: B**",
                "Final Answer: (B)",
                "### Final answer\n\nB",
                "The final answer is $\\boxed{B}$.",
                "So we get \\boxed{\\text{B}}",
                "\\boxed{B. Paris}",
                "\\[\\boxed{\\mathrm{(B)}}\\]",
                "The answer is:\n\n**B**",
                "I choose B.",
                "I would go with option B",
                "I'll pick (B) here.",
                "Let's go with B",
                "My best guess is B",
                "I think it is B",
                "So B.",
                "Therefore, B",
                "It must be B.",
                "B is correct.",
                "Option B is the correct answer",
                "(B) is the best choice because it is cheap.",
                "Answer is B because A is wrong.",
                "The correct option is B, not A.",
                "The answer is not A. The answer is B.",
                "A is incorrect. C is wrong too. So it is B.",
                "First I thought the answer is A. But wait: the answer is B.",
                "Is the answer A? No. The answer is B.",
                "If the answer is A, x follows, which is false. The answer is B.",
                "A) 3\nB) 4\nC) 5\n\nThe answer is B",
                "A) too small\nB) fits\nC) too big\n\nB",
                "The answer is 42 (option B).",
                "The answer is Paris, which corresponds to (B).",
                "Let me think about it.\nOption A is not supported.\n\n(B) Because it is cheaper.",
                "A good guess would be (B)",
                "The answer is B, I think.",
                "The answer, I think, is B.",
                "answer = B",
                "Answer -> B",
                "ANSWER IS B",
                "The answer’s B.",
                "_B_",
            ][..],
        ),
        (
            "C",
            &[
                "Die Antwort ist C.",
                "Die richtige Antwort lautet (C)",
                "Antwort: C",
                "La réponse est C.",
                "La bonne réponse est la lettre C",
                "Réponse : C",
                "La respuesta correcta es la C.",
                "Respuesta: C",
                "La risposta corretta è la C.",
                "Risposta: C",
                "A resposta correta é a letra C.",
                "Resposta: C",
                "Ответ: C",
                "Правильный ответ — C.",
                "Правильный ответ: (C)",
                "Het juiste antwoord is C",
                "答案是C。",
                "答案：C",
                "正确答案是 C。",
                "因此，最符合语境的选项是 C。",
                "所以选C。",
                "故选：C",
                "C选项正确。",
                "答えはCです。",
                "正解は（Ｃ）です",
                "정답은 C입니다.",
                "정답: C",
                "الإجابة الصحيحة هي C",
            ],
        ),
        (
            "",
            &[
                "",
                "  \n ",
                "I cannot answer this question.",
                "Therefore, I cannot provide an answer.",
                "I'm sorry, I can't help with that.",
                "A good question.",
                "I think so.",
                "It could be (A) or (B).",
                "The answer is A or B.",
                "Either A or C",
                "(a) or (b)",
                "Vitamin C",
                "e.g. this",
                "The ratio of C to H by mass is 12:1",
                "The answer is not among the choices.",
                "The answer is not A.",
                "The answer is K.",
                "The answer is less than 5 $\\mathrm{~J}$",
                "The force is $F = ma$",
                "We need (D_AB \\rho) and (A \\times B)",
                "The answer is (None of the above).",
                "Answer: A tale of two cities",
                "none of these xyz",
            ],
        ),
    ] {
        for text in texts {
            let found = extract(text, &ChoiceOptions::default());
            assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
        }
    }
}

#[test]
fn more_ways_to_choose() {
    for (expected, text) in [
        ("B", "<think>maybe A? no</think>\n\nB"),
        ("C", "The planet is the third one. **Answer: (C) Earth**"),
        ("C", "**C) Earth** is correct since A and B are too hot."),
        ("D", "Options A, B and C can be ruled out, leaving D."),
        ("D", "We can eliminate A, B, and C. That leaves us with D."),
        ("D", "The best answer would be D."),
        ("A", "The answer is A"),
        ("A", "Answer: A\n\nExplanation: I think this is right."),
        ("A", "A because it is closest to the sun."),
        ("A", "Answer: A, since B is out."),
        ("B", "The correct answer is **B**: Venus."),
        ("B", "I would say B."),
        ("B", "Probably B"),
        ("B", "B, because A is too small."),
        ("B", "B - Venus"),
        ("B", "[B]"),
        ("B", "{\"answer\": \"B\"}"),
        ("B", "```json\n{\"answer\": \"B\"}\n```"),
        ("B", "<answer>B</answer>"),
        ("B", "Among the options, the one that fits is (B)."),
        ("B", "Based on the above, option B is the most accurate."),
        ("B", "Answer B is correct."),
        ("B", "I believe the answer to be B."),
        ("B", "B is the only option that satisfies all constraints."),
        ("B", "The answer can't be A or C. The answer must be B."),
        ("B", "While A seems plausible, B is more accurate."),
        ("B", "The answer is B, although A is also plausible."),
        ("B", "The answer is B and not A."),
        ("B", "Not A. B."),
        (
            "B",
            "The answer is (A)... wait, no. Correction: the answer is (B).",
        ),
        ("B", "$\\boxed{\\textbf{(B)}}$"),
        ("B", "The answer is $\\mathbf{(B)}$."),
        ("B", "Select option B."),
        ("B", "Jawaban: B"),
        ("B", "Đáp án là B"),
        ("B", "Cevap: B"),
        ("B", "Odpowiedź: B"),
        ("B", "Svaret är B"),
        ("B", "सही उत्तर B है"),
        ("B", "選択肢Bが正解です。"),
        ("B", "答案选B"),
        ("B", "应选B"),
        ("B", "我选择B"),
        ("B", "Я выбираю B"),
        ("B", "Ich wähle Antwort B."),
        ("B", "Je choisis la réponse B"),
        ("B", "La réponse B est correcte."),
        ("B", "Option B ist richtig."),
        ("B", "L'opzione corretta è B"),
        ("B", "Alternativa correta: B"),
        ("B", "정답은 (B)번입니다."),
        (
            "C",
            "A: no.\nB: no.\nC: yes, this one.\nD: no.\n\nAnswer: C",
        ),
        ("", "I don't know."),
        ("", "There is not enough information to answer."),
        ("", "Both A and B are possible."),
        ("", "A person who studies planets is an astronomer."),
        ("", "As an AI, I cannot choose."),
        ("", "Neither A nor B."),
        ("", "The answer depends on the definition."),
        ("", "A, B, C, D"),
        ("", "A\nB\nC\nD"),
        ("", "(A) Mercury (B) Venus (C) Earth (D) Mars"),
        ("", "What is the answer? A) Mercury B) Venus"),
        ("", "Is it B?"),
        ("", "Hepatitis B and vitamin D"),
        ("", "The answer is a planet."),
        ("", "We rule out A."),
        ("", "In type A reactions, C is consumed"),
    ] {
        let found = extract(text, &ChoiceOptions::default());
        assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
    }
}

#[test]
fn the_text_of_an_option_counts_as_its_letter() {
    let options = ChoiceOptions::with_texts(&["London", "Berlin", "Paris", "Berlin and Paris"]);
    for (text, expected) in [
        ("Berlin", "B"),
        ("Answer is Berlin", "B"),
        ("The capital is Paris.", "C"),
        ("It is Berlin and Paris.", "D"),
        ("\\boxed{Paris}", "C"),
        ("London or Berlin, hard to say", ""),
        ("Rome", ""),
        ("E", ""),
        ("The answer is E", ""),
    ] {
        assert_eq!(letters(text, &options), expected, "{text}");
    }
    let planets = ChoiceOptions::with_texts(&["Mercury", "Venus", "Earth", "Mars"]);
    for (expected, text) in [
        ("B", "I think it's Venus"),
        ("B", "The correct answer is **Venus**."),
        ("B", "Venus (B)"),
        ("B", "It is not Mercury. Venus is the answer."),
        (
            "C",
            "Earth is between Venus and Mars. So the answer is Earth.",
        ),
        ("D", "Not Venus but the answer is Mars"),
        ("", "Venus or Mars"),
        ("", "Jupiter"),
    ] {
        assert_eq!(letters(text, &planets), expected, "{text}");
    }
    let all = ChoiceOptions::with_texts(&["1", "2", "3", "A tale of two cities"]);
    assert_eq!(letters("Answer: A tale of two cities", &all), "D");
    assert_eq!(letters("-1", &all), "");
    assert_eq!(letters("It is 3.5", &all), "");
}

#[test]
fn the_reason_says_why_there_is_no_choice() {
    let reason = |text| extract(text, &ChoiceOptions::default()).unwrap_err();
    assert_eq!(reason(" "), NoChoice::Empty);
    assert_eq!(
        reason("Therefore, I cannot provide an answer."),
        NoChoice::Refused
    );
    assert_eq!(reason("(A) or (B)"), NoChoice::Undecided(vec!['A', 'B']));
    assert_eq!(reason("The answer is K."), NoChoice::NotAnOption('K'));
    assert_eq!(reason("Hm."), NoChoice::Nothing);
    let text = reason("The answer is A or C").to_string();
    assert_eq!(text, "the response names A and C without deciding");
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(
        text in "(\\PC|\n|answer is |\\\\boxed\\{|[A-K]|\\(|\\)|\\*\\*|答案是|not | or ){0,40}",
        n_options in 0_usize..30,
    ) {
        let texts: Vec<String> = (0..n_options).map(|i| format!("x{i}")).collect();
        let options = ChoiceOptions::with_texts(&texts);
        let found = extract(&text, &options);
        prop_assert_eq!(&found, &extract(&text, &options));
        if let Ok(choice) = found {
            let last = match n_options { 0 => 'J', n => char::from(b'A' + (n.min(26) - 1) as u8) };
            prop_assert!(!choice.letters.is_empty());
            prop_assert!(choice.letters.iter().all(|letter| ('A'..=last).contains(letter)));
        }
    }
}

#[test]
fn a_long_text_is_read_to_its_end() {
    let text = "The answer is not A, so the answer is (B) or (C) and \\boxed{".repeat(20_000);
    ends("a long text", move || {
        let _ = extract(&text, &ChoiceOptions::with_texts(&["one", "two", "three"]));
    });
}

/// Found by fuzzing: these took minutes when lists and clauses had no end.
#[test]
fn endless_lists_are_read_to_their_end() {
    for piece in ["e ", "A, ", "(B) or ", "The answer is ", "B and "] {
        let text = format!("The {}", piece.repeat(20_000));
        ends(piece, move || {
            let _ = extract(&text, &ChoiceOptions::default());
            let _ = context_bench::text::nli::stance(&text);
        });
    }
}
