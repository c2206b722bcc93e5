//! The worked examples of BBH's prompts are our own: they must be right, and each must
//! end the way the rule of the benchmark reads answers.

use std::collections::{BTreeMap, BTreeSet};

use context_bench::dataset::catalog::DatasetCatalog;
use context_bench_scoring::official::bbh;
use context_bench_template::yaml;
use serde_json::Value;

/// A worked example: the question, and the answer as the rule reads it.
struct Worked {
    question: String,
    thoughts: String,
    answer: String,
}

fn tasks() -> BTreeMap<String, Vec<Worked>> {
    let text = include_str!("../../../catalog/prompts/bbh.yaml");
    let document = yaml::parse(text.as_bytes(), "bbh.yaml").expect("YAML");
    let tasks = yaml::to_json(&document.root, "bbh.yaml").expect("plain");
    let tasks = tasks.as_object().expect("a mapping").iter();
    let worked = |task: &Value| -> Vec<Worked> {
        let text = task["examples"].as_str().expect("text");
        let examples = text
            .split("\n\nQ: ")
            .map(|one| one.trim_start_matches("Q: "));
        let examples = examples.map(|one| {
            let (question, thoughts) = one
                .split_once("\nA: Let's think step by step.\n")
                .expect("an answer");
            Worked {
                question: question.to_owned(),
                thoughts: thoughts.to_owned(),
                answer: bbh::answer(thoughts).to_owned(),
            }
        });
        examples.collect()
    };
    tasks
        .map(|(name, task)| (name.clone(), worked(task)))
        .collect()
}

#[test]
fn every_task_has_three_that_are_read_as_they_are_meant() {
    let tasks = tasks();
    let spec = DatasetCatalog::builtin().get("bbh").expect("bbh");
    let configs: BTreeSet<&str> = spec.config_names().collect();
    assert_eq!(
        tasks.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        configs
    );
    for (name, worked) in &tasks {
        assert_eq!(worked.len(), 3, "{name}");
        for one in worked {
            let told = format!("So the answer is {}.", one.answer);
            assert!(one.thoughts.ends_with(&told), "{name}: {}", one.thoughts);
            assert_eq!(one.thoughts.matches("answer is ").count(), 1, "{name}");
            assert!(!one.thoughts.contains("\n\n"), "{name}");
            // What the options are, the answer is one of.
            if let Some((_, options)) = one.question.split_once("\nOptions:\n") {
                let options: Vec<&str> = options.lines().filter_map(option).collect();
                assert!(
                    options.contains(&one.answer.as_str()),
                    "{name}: {}",
                    one.answer
                );
            }
        }
        // Nothing to be learnt from a place alone.
        let answers: BTreeSet<&str> = worked.iter().map(|one| one.answer.as_str()).collect();
        assert!(answers.len() >= 2, "{name}: {answers:?}");
    }
}

/// `(A)` of `(A) text`, `Yes` of `- Yes`.
fn option(line: &str) -> Option<&str> {
    let bracketed = line
        .starts_with('(')
        .then(|| line.split(' ').next())
        .flatten();
    bracketed.or_else(|| line.strip_prefix("- "))
}

/// Compares the answers of a task with what a program finds.
#[track_caller]
fn check(task: &str, solve: impl Fn(&str) -> String) {
    for one in &tasks()[task] {
        assert_eq!(solve(&one.question), one.answer, "{}", one.question);
    }
}

#[test]
fn truth_values() {
    /// `or` over `and` over `not` over brackets.
    fn value(words: &mut std::iter::Peekable<std::vec::IntoIter<&str>>, level: u8) -> bool {
        match level {
            0 | 1 => {
                let operator = ["or", "and"][usize::from(level)];
                let mut found = value(words, level + 1);
                while words.next_if_eq(&operator).is_some() {
                    let other = value(words, level + 1);
                    found = if level == 0 {
                        found | other
                    } else {
                        found & other
                    };
                }
                found
            }
            _ => match words.next() {
                Some("not") => !value(words, 2),
                Some("(") => {
                    let inside = value(words, 0);
                    assert_eq!(words.next(), Some(")"));
                    inside
                }
                Some("True") => true,
                Some("False") => false,
                other => panic!("{other:?}"),
            },
        }
    }
    check("boolean_expressions", |question| {
        let words: Vec<&str> = question.strip_suffix(" is").unwrap().split(' ').collect();
        let truth = value(&mut words.into_iter().peekable(), 0);
        if truth { "True".into() } else { "False".into() }
    });
}

#[test]
fn sums_and_products() {
    /// The value of `1 + -2 * 3`, without brackets.
    fn flat(text: &str) -> i64 {
        let mut sum = 0;
        let (mut sign, mut product) = (1, None::<i64>);
        let mut operator = "";
        for word in text.split(' ') {
            if matches!(word, "+" | "-" | "*") {
                operator = word;
                continue;
            }
            let number: i64 = word.parse().unwrap();
            product = Some(match (operator, product) {
                ("*", Some(product)) => product * number,
                (_, before) => {
                    sum += sign * before.unwrap_or(0);
                    sign = if operator == "-" { -1 } else { 1 };
                    number
                }
            });
        }
        sum + sign * product.unwrap_or(0)
    }
    assert_eq!(flat("8 - -3 + 2 * 5 - 4 * 2"), 13);
    check("multistep_arithmetic_two", |question| {
        let inside = question.strip_prefix("((").unwrap();
        let inside = inside.strip_suffix(")) =").unwrap();
        let (first, rest) = inside.split_once(") ").unwrap();
        let (operator, second) = rest.split_once(" (").unwrap();
        let (first, second) = (flat(first), flat(second));
        let value = match operator {
            "+" => first + second,
            "-" => first - second,
            _ => first * second,
        };
        value.to_string()
    });
}

#[test]
fn brackets() {
    check("dyck_languages", |question| {
        let (_, input) = question.split_once("Input: ").unwrap();
        let mut open = Vec::new();
        for bracket in input.split(' ') {
            match "([{<".find(bracket) {
                Some(kind) => open.push(kind),
                None => assert_eq!(open.pop(), ")]}>".find(bracket)),
            }
        }
        let closing = open.iter().rev().map(|kind| &")]}>"[*kind..=*kind]);
        closing.collect::<Vec<_>>().join(" ")
    });
}

#[test]
fn words_in_order() {
    check("word_sorting", |question| {
        let (_, list) = question.split_once("List: ").unwrap();
        let mut words: Vec<&str> = list.split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    });
}

#[test]
fn walks() {
    check("navigate", |question| {
        let (walk, _) = question.split_once("\nOptions").unwrap();
        let (mut at, mut facing) = ((0_i64, 0_i64), 0_usize);
        // Forward, right, backward and left of who faces along the y axis.
        let ways = [(0, 1), (1, 0), (0, -1), (-1, 0)];
        for sentence in walk.split(['.', '?']).map(str::trim) {
            let words: Vec<&str> = sentence.split(' ').collect();
            let turned = |word: Option<&&str>| match word {
                Some(&"right") => 1,
                Some(&"backward" | &"around") => 2,
                Some(&"left") => 3,
                _ => 0,
            };
            match words[0] {
                "Turn" => facing = (facing + turned(words.get(1))) % 4,
                "Take" => {
                    let n: i64 = words[1].parse().unwrap();
                    let way = ways[(facing + turned(words.get(3))) % 4];
                    at = (at.0 + n * way.0, at.1 + n * way.1);
                }
                _ => {}
            }
        }
        if at == (0, 0) {
            "Yes".into()
        } else {
            "No".into()
        }
    });
}

#[test]
fn liars() {
    check("web_of_lies", |question| {
        let text = question.strip_prefix("Question: ").unwrap();
        let mut honest: BTreeMap<&str, bool> = BTreeMap::new();
        let mut last = false;
        for sentence in text.split(['.', '?']).map(str::trim) {
            let words: Vec<&str> = sentence.split(' ').collect();
            match words[..] {
                [who, "says", about, ref claim @ ..] => {
                    last = honest[about] == (claim[0] == "tells");
                    honest.insert(who, last);
                }
                [who, "lies"] => drop(honest.insert(who, false)),
                [who, "tells", ..] => drop(honest.insert(who, true)),
                ["Does", who, ..] => last = honest[who],
                _ => {}
            }
        }
        if last { "Yes".into() } else { "No".into() }
    });
}

#[test]
fn things_that_change_hands() {
    for size in ["three", "five", "seven"] {
        check(
            &format!("tracking_shuffled_objects_{size}_objects"),
            |question| {
                let (story, options) = question.split_once("\nOptions:\n").unwrap();
                let (start, swaps) = story.split_once('\n').unwrap();
                let (_, start) = start.split_once("At the start ").unwrap();
                let mut has: BTreeMap<&str, &str> = start
                    .trim_end_matches('.')
                    .split(", ")
                    .map(|one| one.split_once(" has ").unwrap())
                    .collect();
                let mut asked = "";
                for sentence in swaps.split(". ") {
                    match sentence.split_once(", ") {
                        Some((_, swap)) => {
                            let words: Vec<&str> = swap.split(' ').collect();
                            let (a, b) = (words[0], words[2]);
                            let (of_a, of_b) = (has[a], has[b]);
                            has.insert(a, of_b);
                            has.insert(b, of_a);
                        }
                        None => {
                            asked = sentence
                                .strip_suffix(" has")
                                .unwrap()
                                .rsplit(' ')
                                .next()
                                .unwrap()
                        }
                    }
                }
                let ending = format!(" {}", has[asked]);
                let line = options
                    .lines()
                    .find(|line| line.ends_with(&ending))
                    .unwrap();
                option(line).unwrap().to_owned()
            },
        );
    }
}

#[test]
fn objects_of_a_kind() {
    let kinds = [
        ("fruits", &["pears", "plums", "apple"][..]),
        ("birds", &["hens", "duck", "geese"]),
        ("vegetables", &["carrots", "onion"]),
    ];
    let numbers = ["zero", "one", "two", "three", "four", "five"];
    check("object_counting", |question| {
        let (list, asked) = question.split_once(". How many ").unwrap();
        let of_kind = kinds
            .iter()
            .find(|(kind, _)| asked.starts_with(kind))
            .unwrap()
            .1;
        let list = list.strip_prefix("I have ").unwrap();
        let things = list
            .split(", ")
            .map(|thing| thing.trim_start_matches("and "));
        let counted = things.filter_map(|thing| {
            let (number, name) = thing.split_once(' ').unwrap();
            let number = numbers
                .iter()
                .position(|known| *known == number)
                .unwrap_or(1);
            of_kind.contains(&name).then_some(number)
        });
        counted.sum::<usize>().to_string()
    });
}
