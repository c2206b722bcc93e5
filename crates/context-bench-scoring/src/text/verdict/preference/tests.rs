use super::*;
use Preference::{First, Second, Tie};

#[test]
fn preferences_in_every_notation() {
    for (reply, expected) in [
        ("m", First),
        ("M", Second),
        ("**M**", Second),
        ("`m`.", First),
        ("A", First),
        ("B.", Second),
        ("2", Second),
        ("Model 1", First),
        ("model_2", Second),
        ("Output (b)", Second),
        ("Tie", Tie),
        ("tie.", Tie),
        ("[[A]]", First),
        ("[[B]]", Second),
        ("[[C]]", Tie),
        ("My final verdict is: [[A>>B]]", First),
        ("[[A=B]]", Tie),
        ("[[B>A]]", Second),
        ("[[A<B]]", Second),
        ("Assistant A is helpful, but B is deeper. [[B]]", Second),
        ("Winner: Model 1", First),
        ("The better response is Assistant B.", Second),
        ("I prefer Model 2 because it is right.", Second),
        ("Model 1 is better than Model 2.", First),
        ("Model 1 is clearly worse than Model 2", Second),
        ("Both answers are equally good.", Tie),
        ("It is a tie.", Tie),
        ("M because it is right\n", Second),
        ("B: it is more accurate.", Second),
        ("{\"winner\": \"A\"}", First),
        (
            "```json\n{\"reason\": \"A is short\", \"winner\": \"model_2\"}\n```",
            Second,
        ),
        ("{\"preference\": 2}", Second),
        ("{\"winner\": \"tie\"}", Tie),
        (
            "[{\"model\": \"M\", \"rank\": 1}, {\"model\": \"m\", \"rank\": 2}]",
            Second,
        ),
        (
            "[{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 2}]",
            First,
        ),
        (
            "[{'model': 'M', 'rank': 2}, {'model': 'm', 'rank': 1}]",
            First,
        ),
        ("<think>A is fine, [[A]]</think>[[B]]", Second),
        ("Model 1 is better. No: Model 2 is better.", Second),
    ] {
        assert_eq!(preference(reply), Ok(expected), "{reply}");
    }
}

#[test]
fn no_preference_is_none() {
    for reply in [
        "",
        "I cannot compare these.",
        "Model 1 gives a date. Model 2 gives a name.",
        "Model 1 is not better than Model 2.",
        "A good question.",
        "[[D]]",
        "<think>[[A]]",
        "{\"winner\": null}",
    ] {
        assert_eq!(preference(reply), Err(NoPreference), "{reply}");
    }
}
