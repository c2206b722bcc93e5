//! Chosen options: the worked cases, and texts as models write them.

use context_bench::evaluator::MultipleChoiceAccuracy;
use context_bench_scoring::text::choice::{ChoiceOptions, NoChoice, extract};
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
fn letters_in_quotes() {
    for (expected, text) in [
        ("B", "'B'"),
        ("B", "‘B’"),
        ("B", "“B”"),
        ("B", "\"B\""),
        ("B", "‚B‘"),
        ("B", "„B“"),
        ("B", "›B‹"),
        ("B", "«B»"),
        ("B", "`B`"),
        ("B", "The answer is 'B'."),
        ("B", "The answer is ‘B’."),
        ("B", "The answer is “B”."),
        ("B", "The answer is \"B\" because it fits."),
        ("B", "The answer is ‘B’ because it fits."),
        ("A", "The answer is 'A' because it fits."),
        ("A", "The answer is ‘A’, since it fits."),
        ("C", "Answer: 'C'"),
        ("C", "Answer: ‘C’"),
        ("C", "I choose 'C'."),
        ("C", "I would go with ‘C’"),
        ("C", "I choose “C”."),
        ("C", "'C' is correct."),
        ("C", "‘C’ is correct."),
        ("C", "“C” is correct."),
        ("C", "Option 'C' is the right one."),
        ("C", "Option ‘C’ is correct."),
        ("C", "Die Antwort ist „C“."),
        ("C", "Die richtige Antwort ist ‚C‘."),
        ("C", "La réponse est « C »."),
        ("C", "La réponse est ‹ C ›."),
        ("C", "Ответ: «C»"),
        ("C", "答案是“C”。"),
        ("C", "答案是‘C’。"),
        ("C", "答えは「C」です。"),
        ("C", "So 'C'."),
        ("C", "Therefore, the option is ‘C’."),
        ("C", "The answer is '(C)'."),
        ("C", "The answer is ‘C. Paris’."),
        ("C", "The answer is 'C) Paris'."),
        ("C", "'C. Paris'"),
        ("D", "The letter 'D' is the answer."),
        ("", "The answer is B' "),
        ("", "The point B' lies on it."),
    ] {
        let found = extract(text, &ChoiceOptions::default());
        assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
    }
}

/// What is wrong is sometimes what a question asks for, so an incorrect *option* may be
/// the choice; an incorrect *answer* is none.
#[test]
fn an_option_rejected_in_words_is_not_chosen() {
    for (expected, text) in [
        ("", "Not B."),
        ("", "not B"),
        ("", "It is not B."),
        ("", "It's not B."),
        ("", "It isn't B."),
        ("", "It is certainly not option B."),
        ("", "B is wrong."),
        ("", "Option B is wrong."),
        ("", "(B) is wrong."),
        ("", "B is incorrect."),
        ("", "B is false."),
        ("", "B is not correct."),
        ("", "B is not right."),
        ("", "B isn't right."),
        ("", "B can't be right."),
        ("", "B cannot be correct."),
        ("", "B can be ruled out."),
        ("", "B can be excluded."),
        ("", "B should be rejected."),
        ("", "B must be eliminated."),
        ("", "We can rule out B."),
        ("", "Rule out C."),
        ("", "Rule out option C"),
        ("", "I would rule out C"),
        ("", "I rule out (C)."),
        ("", "I reject B."),
        ("", "Eliminate B."),
        ("", "Eliminate (B)"),
        ("", "We eliminate option B."),
        ("", "I discard B."),
        ("", "I exclude B"),
        ("", "Anything but B."),
        ("", "Anything other than B"),
        ("", "Not option B."),
        ("", "Definitely not B"),
        ("", "Certainly not (B)."),
        ("", "Surely not B!"),
        ("", "I would not choose B."),
        ("", "I don't think it's B."),
        ("", "I do not believe the answer is B."),
        ("", "I don't think the answer is B."),
        ("", "I doubt the answer is B."),
        ("", "I doubt that it is B."),
        ("", "It is unlikely that the answer is B."),
        ("", "It can't be B."),
        ("", "It couldn't be B"),
        ("", "B makes no sense."),
        ("", "B does not fit."),
        ("", "B doesn't work."),
        ("", "B fails."),
        ("", "B fails to explain it."),
        ("", "B is not the answer."),
        ("", "B is not an answer."),
        ("", "The wrong answer is B."),
        ("B", "The incorrect option is B."),
        ("", "An incorrect answer would be B."),
        ("", "B: wrong."),
        ("", "B - wrong"),
        ("", "B) wrong"),
        ("B", "(B) No."),
        ("", "(B) Incorrect."),
        ("", "(B) is not supported by the text."),
        ("", "not (B)"),
        ("", "Not 'B'."),
        ("", "Not ‘B’."),
        ("", "'B' is wrong."),
        ("", "‘B’ is wrong."),
        ("", "“B” is not correct."),
        ("", "Rule out 'C'."),
        ("", "Rule out ‘C’."),
        ("", "Not A, not C, not D."),
        ("B", "Not A. Not C. So B."),
        ("B", "Not A but B."),
        ("B", "Not A, but B."),
        ("B", "B, not A."),
        ("B", "B and not A"),
        ("B", "A is wrong, so B."),
        ("B", "A is wrong. B is right."),
        ("B", "A is wrong, B is right."),
        ("B", "Rule out A, C and D: B."),
        ("B", "Rule out A. The answer is B."),
        ("B", "I rule out A; I choose B."),
        ("B", "I would rule out A and C, which leaves B."),
        ("B", "Eliminating A, C and D leaves B."),
        ("B", "B instead of A."),
        ("B", "B rather than A"),
        ("B", "It is B rather than A."),
        ("B", "The answer is B instead of A."),
        ("B", "The answer is B rather than C."),
        ("B", "The answer is not A but B."),
        ("B", "The answer is not A, but B."),
        ("B", "The answer is not A; it is B."),
        ("B", "The answer isn't A, it's B."),
        ("B", "The answer is not A, it is B."),
        ("B", "The answer is B, A is wrong."),
        ("B", "The answer is B. A is wrong."),
        ("B", "The answer is B\nA is wrong because it is too small."),
        ("B", "A is wrong because it is too small.\nB fits."),
        ("B", "A is incorrect.\nB is correct.\nC is incorrect."),
        ("B", "A: incorrect\nB: correct\nC: incorrect\nD: incorrect"),
        ("B", "A - wrong\nB - right\nC - wrong\nD - wrong"),
        ("C", "(A) wrong (B) wrong (C) right (D) wrong"),
        ("", "Nicht B."),
        ("", "Es ist nicht B."),
        ("", "B ist falsch."),
        ("", "B ist nicht richtig."),
        ("", "B scheidet aus."),
        ("", "B kann ausgeschlossen werden."),
        ("", "Ich schließe B aus."),
        ("", "Die Antwort ist nicht B."),
        ("", "Die falsche Antwort ist B."),
        ("B", "Nicht A, sondern B."),
        ("B", "Die Antwort ist nicht A, sondern B."),
        ("", "B ist ausgeschlossen."),
        ("", "Pas B."),
        ("", "Ce n'est pas B."),
        ("", "B est faux."),
        ("", "B est fausse."),
        ("", "B n'est pas correcte."),
        ("", "La réponse n'est pas B."),
        ("", "La réponse B est fausse."),
        ("", "J'élimine B."),
        ("", "On peut exclure B."),
        ("B", "Ce n'est pas A mais B."),
        ("B", "La réponse n'est pas A mais B."),
        ("", "No es B."),
        ("", "B es incorrecta."),
        ("", "B no es correcta."),
        ("", "La respuesta no es B."),
        ("", "Descarto B."),
        ("B", "No es A sino B."),
        ("B", "La respuesta no es A, sino B."),
        ("", "Non è B."),
        ("", "B è sbagliata."),
        ("", "La risposta non è B."),
        ("", "Escludo B."),
        ("", "Não é B."),
        ("", "B está errada."),
        ("", "A resposta não é B."),
        ("", "Не B."),
        ("", "Это не B."),
        ("", "B неверно."),
        ("", "Вариант B неправильный."),
        ("", "Ответ не B."),
        ("", "Исключаем B."),
        ("B", "Ответ не A, а B."),
        ("", "不是B。"),
        ("", "答案不是B。"),
        ("", "B错误。"),
        ("", "B是错的。"),
        ("", "B不对。"),
        ("", "B不正确。"),
        ("", "排除B。"),
        ("B", "排除A、C、D，选B。"),
        ("B", "答案不是A，而是B。"),
        ("", "Bではない。"),
        ("", "Bは間違いです。"),
        ("", "Bは正しくない。"),
        ("", "答えはBではありません。"),
        ("", "B가 아닙니다."),
        ("", "B는 틀렸습니다."),
        ("", "정답은 B가 아닙니다."),
        ("", "Niet B."),
        ("", "Nie B."),
        ("B", "B is right, A is wrong."),
        ("C", "While B is wrong, C is right."),
        ("B", "Option A is tempting but wrong; option B is correct."),
        ("B", "The answer cannot be A, so it must be B."),
        ("B", "I was going to say A, but B is right."),
        ("", "Some say B, but that is wrong."),
        ("", "B would be wrong."),
        ("", "B would be the wrong answer."),
        ("", "Choosing B would be a mistake."),
        ("", "Do not choose B."),
        ("", "Don't pick B."),
        ("", "Never choose B"),
        ("", "Avoid B."),
        ("", "I'd avoid (B)."),
        ("", "It's neither A nor B."),
        ("B", "Neither A nor C, so B."),
        ("", "No, not B."),
        ("B", "No. B."),
        ("B", "No, B."),
    ] {
        let found = extract(text, &ChoiceOptions::default());
        assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
    }
}

/// Denials around a choice that is made all the same.
#[test]
fn what_is_denied_beside_a_choice_does_not_take_it_back() {
    for (expected, text) in [
        ("B", "The answer is B: no other option fits."),
        ("B", "B is best; A is not bad either."),
        (
            "B",
            "The answer is (B), not because A is wrong but because it is older.",
        ),
        ("B", "I initially doubted B, but B is right."),
        ("B", "No other choice than B."),
        ("B", "There is no doubt that B is correct."),
        ("B", "There is no doubt: the answer is B."),
        ("B", "Without a doubt the answer is B."),
        ("B", "It is not A, C or D. B it is."),
        ("B", "Since it cannot be A, C, or D, the answer is B."),
        ("B", "B. The others do not apply."),
        ("B", "B\nThe others are wrong."),
        ("B", "The answer is B since no evidence supports A."),
        ("B", "My answer is not certain, but B."),
        ("A", "I can't rule out B, but A is correct."),
        ("B", "(B) is the answer, (A) is not."),
        ("B", "I am not sure, but I would choose B."),
        ("B", "It isn't clear. I'd go with B."),
        ("B", "Not only B but also the text says so: B"),
        ("B", "The answer is none other than B."),
        ("C", "Why not B? Because it fails. The answer is C."),
        ("B", "Options A and D are wrong, and C is irrelevant. B."),
        ("B", "(A) is out, (C) is out, (D) is out. (B)."),
    ] {
        let found = extract(text, &ChoiceOptions::default());
        assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
    }
}

/// What an option says may begin with a denial; that does not deny the option.
#[test]
fn options_that_say_no_are_chosen() {
    for (expected, text) in [
        ("C", "(C) No, she stayed at home"),
        ("C", "C) No, only on Sundays"),
        ("C", "C. No"),
        ("C", "(C) Not all of them were sold."),
        ("C", "(C) not enough information"),
        ("C", "(C) Never"),
        ("C", "(C) Neither of the two"),
        ("C", "(C) Is not allowed to vote"),
        ("C", "(C) None of the above"),
        ("C", "(C) He could not have known"),
    ] {
        let found = extract(text, &ChoiceOptions::default());
        assert_eq!(chosen(text), expected, "{text:?}: {found:?}");
    }
}

#[test]
fn the_text_of_an_option_may_deny_or_be_rejected() {
    let verdicts = ChoiceOptions::with_texts(&["Correct", "Incorrect", "is not liable"]);
    for (expected, text) in [
        ("B", "(B) Incorrect"),
        ("B", "B) Incorrect."),
        ("B", "B: Incorrect"),
        ("C", "(C) is not liable"),
        ("", "(A) is not right."),
        ("A", "A: correct"),
    ] {
        assert_eq!(letters(text, &verdicts), expected, "{text}");
    }
    let cities = ChoiceOptions::with_texts(&["London", "Berlin", "Paris"]);
    for (expected, text) in [
        ("", "It is not Paris."),
        ("", "The answer is not Paris."),
        ("", "Paris is wrong."),
        ("", "Rule out Paris."),
        ("B", "Not Paris but Berlin."),
        ("B", "Berlin rather than Paris."),
        ("B", "Paris is wrong, it is Berlin."),
    ] {
        assert_eq!(letters(text, &cities), expected, "{text}");
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
            let _ = context_bench_scoring::text::nli::stance(&text);
        });
    }
}
