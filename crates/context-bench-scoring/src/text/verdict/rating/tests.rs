use super::*;

fn read(reply: &str) -> Option<f64> {
    rating(reply, Scale::default())
        .ok()
        .map(|rating| rating.value)
}

#[test]
fn ratings_in_every_notation() {
    for (reply, expected) in [
        ("4", 4.0),
        ("  2\n", 2.0),
        ("**4**", 4.0),
        ("4.", 4.0),
        ("Rating: 4", 4.0),
        ("Score: 4/5", 4.0),
        ("Score=1", 1.0),
        ("**Score:** 4", 4.0),
        ("Score (1-5): 4", 4.0),
        ("Rating on a scale of 1 to 5: 3", 3.0),
        ("## Rating\n\n3", 3.0),
        ("[[4]]", 4.0),
        ("Rating: [[3.5]]", 3.5),
        ("I'd give it 3.5", 3.5),
        ("I would rate this response a 4 because it is right.", 4.0),
        ("4 out of 5", 4.0),
        ("four out of five", 4.0),
        ("Four.", 4.0),
        ("The score is four.", 4.0),
        ("This deserves 4 stars.", 4.0),
        ("3,5/5", 3.5),
        ("-3", 3.0),
        ("4. The response is right.", 4.0),
        ("{\"score\": 4}", 4.0),
        (
            "```json\n{\"reasoning\": \"2 of 3 facts\", \"score\": 4}\n```",
            4.0,
        ),
        ("{'score': 4}", 4.0),
        ("Here: {\"Final Score\": \"4/5\", \"accuracy\": 2}", 4.0),
        (
            "{\"accuracy\": {\"score\": 2}, \"overall\": {\"score\": 3}}",
            3.0,
        ),
        ("{\"correctness\": 5, \"why\": \"right\"}", 5.0),
        ("<think>maybe 2, or 3</think>4", 4.0),
        ("The answer is $\\boxed{4}$", 4.0),
        ("评分：4", 4.0),
    ] {
        assert_eq!(read(reply), Some(expected), "{reply}");
    }
}

#[test]
fn the_last_decisive_statement_counts() {
    for (reply, expected) in [
        ("Score: 3. On reflection it misses nothing. Score: 4", 4.0),
        ("Accuracy: 3/5, completeness: 5/5. Overall: 4/5", 4.0),
        ("Overall: 4/5 (accuracy 3/5, completeness 5/5)", 4.0),
        ("5 = excellent\n1 = wrong\nI rate it 2.", 2.0),
        ("1. It is short.\n2. It is right.\n\nRating: 4", 4.0),
        ("It got 2/3 of the facts. Score: 3", 3.0),
        ("I cannot give it a 5, so 4.", 4.0),
        ("Not a 5. Rating: 3", 3.0),
        ("The war ended in 1945, so 5.", 5.0),
        ("There are 3 errors. Score: 2", 2.0),
        ("3/5\n\n2/5\n\n4", 4.0),
        ("4\n\nThe response gets 2 of the dates wrong.", 4.0),
        ("The response gets 2 of the dates wrong.\n\n4", 4.0),
        ("4\n\nOn reflection, the overall score is 3.", 3.0),
        ("4 - right, but it names 2 cities", 4.0),
        ("Note that 2 of the dates differ. I give it a 3.", 3.0),
        ("{\"score\": 2}\nAfter a second look: {\"score\": 3}", 3.0),
    ] {
        assert_eq!(read(reply), Some(expected), "{reply}");
    }
}

#[test]
fn what_is_no_rating_is_none() {
    for (reply, expected) in [
        ("", NoRating::Missing),
        ("no digits", NoRating::Missing),
        ("I'm sorry, I cannot rate this.", NoRating::Missing),
        (
            "As an AI I cannot judge; there are 2 reasons.",
            NoRating::Missing,
        ),
        ("<think>I would say 4", NoRating::Missing),
        ("Rate on a scale of 1 to 5.", NoRating::Missing),
        ("4-5", NoRating::Missing),
        ("1. It is short.\n2. It is right.", NoRating::Missing),
        ("٤", NoRating::Missing),
        ("10", NoRating::OffScale("10".into())),
        ("6", NoRating::OffScale("6".into())),
        ("zero", NoRating::OffScale("0".into())),
        ("Score: 8/10", NoRating::OffScale("8/10".into())),
        ("Score: 80%", NoRating::OffScale("80/100".into())),
        ("[[7]]", NoRating::OffScale("7".into())),
        ("{\"score\": 50}", NoRating::OffScale("50".into())),
        ("Maybe 3, maybe 4.", NoRating::Ambiguous),
        ("Accuracy: 3/5\nStyle: 4/5", NoRating::Ambiguous),
    ] {
        assert_eq!(rating(reply, Scale::default()), Err(expected), "{reply}");
    }
}

#[test]
fn other_scales() {
    let scale = |typed: &str| typed.parse::<Scale>().expect(typed);
    for (typed, reply, expected) in [
        ("1-10", "Rating: [[10]]", Some(10.0)),
        ("1-10", "10", Some(10.0)),
        ("1-10", "Score: 4/5", None),
        ("0-100", "Score: 80%", Some(80.0)),
        ("0-1", "0.8", Some(0.8)),
        ("0-1", "Yes, it is the same city.", Some(1.0)),
        ("0-1", "No.", Some(0.0)),
        ("0-1", "Verdict: incorrect", Some(0.0)),
        ("0-1", "{\"correct\": true}", Some(1.0)),
        ("0-1", "It is not correct", None),
        ("-2-2", "-1", Some(-1.0)),
        ("-2-2", "Score: -2", Some(-2.0)),
    ] {
        let found = rating(reply, scale(typed)).ok().map(|rating| rating.value);
        assert_eq!(found, expected, "{typed} {reply}");
    }
}
