//! Round trips, and who wins.

use super::*;

#[test]
fn what_goes_in_comes_out_after_reopening() {
    // Spaces and letters beyond ASCII in the path.
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("cache of Zoë").join("a b");
    fill(&dir, 100);
    let store = open(&dir);
    for n in 0..100 {
        assert_eq!(Case::new(n).check(&store), ALL, "{n}");
    }
    assert_eq!(Case::new(100).check(&store), NOTHING);
    assert_eq!(store.damaged(), 0);
}

#[test]
fn a_change_of_anything_finds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let store = open(dir.path());
    let case = Case::new(0);
    let other_system = SystemEntry {
        settings: json!({"model": "n", "url": "http://localhost"}),
        ..system()
    };
    store
        .register(std::slice::from_ref(&other_system), &[])
        .unwrap();
    let changed = [
        ResponseKey {
            repeat: 1,
            ..case.key
        },
        ResponseKey {
            system: other_system.key(),
            ..case.key
        },
        ResponseKey {
            system: Key::system("command", &system().settings),
            ..case.key
        },
        ResponseKey {
            example: Key::example(&(*case.example).clone().with("id", 1)),
            ..case.key
        },
    ];
    for response in changed {
        let wanted = ResponseQuery {
            response,
            scorers: &[],
        };
        assert_eq!(store.find(&[wanted]).unwrap(), [None]);
    }
    let newer = EvaluatorEntry {
        version: 2,
        ..scorers()[0].clone()
    };
    let keys = [newer.key(), scorer_keys()[1]];
    let wanted = ResponseQuery {
        response: case.key,
        scorers: &keys,
    };
    let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
    assert_eq!(found.scores[0], None);
    assert_eq!(found.scores[1].as_ref(), Some(&case.scores[1]));
    assert_eq!(store.damaged(), 0);
}

#[test]
fn an_example_in_another_order_is_the_same_and_keeps_its_own_order() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let store = open(dir.path());
    let case = Case::new(0);
    let turned: Example = case.example.fields().clone().into_iter().rev().collect();
    let wanted = ResponseQuery {
        response: ResponseKey::new(Key::example(&turned), system().key(), 0),
        scorers: &[],
    };
    let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
    let output = store.output(&found.response.at, &turned).unwrap().unwrap();
    assert_eq!(output.fields(), case.output.fields());
    let keys: Vec<_> = output.fields().keys().collect();
    assert_eq!(keys, ["number", "context", "id", "response"]);
}

#[test]
fn what_a_tap_saw_is_a_member_of_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.register(&[system()], &scorers()).unwrap();
    // The first is long enough to be compressed.
    let cases = [0, 1].map(Case::new);
    let facts = json!({"calls": {"primary": 1}, "text": "é \"x\""});
    for case in &cases {
        let wire = serde_json::value::to_raw_value(&facts).unwrap();
        store.put_blocking(NewResponse {
            wire: Some(wire.into()),
            ..case.response()
        });
    }
    store.flush_blocking().unwrap();
    for case in &cases {
        let wanted = ResponseQuery {
            response: case.key,
            scorers: &[],
        };
        let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
        let output = store.output(&found.response.at, &case.example);
        let output = output.unwrap().unwrap();
        let expected = case.output.clone().with(crate::model::WIRE, facts.clone());
        assert_eq!(output.fields(), expected.fields());
    }
    assert_eq!(store.damaged(), 0);
}

#[test]
fn what_is_counted_comes_with_its_answer_and_is_found_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.register(&[system()], &scorers()).unwrap();
    let case = Case::new(1);
    let [own, other] = scorer_keys();
    let counted = |answer: &Case, scorer| NewScores {
        response: answer.key.into(),
        scorer,
        scores: ScoreTexts::of(&answer.scores[0]),
    };
    store.put_blocking(NewResponse {
        counted: Some(counted(&case, own)),
        ..case.response()
    });
    // Another answer to the same question comes second, and so does what is counted of it.
    let mut second = Case::new(1);
    second.output = Case::new(2).output;
    second.scores[0] = [("f1", 0.75)].into_iter().collect();
    let late = open(dir.path());
    store.flush_blocking().unwrap();
    late.put_blocking(NewResponse {
        counted: Some(counted(&second, own)),
        ..second.response()
    });
    late.flush_blocking().unwrap();
    let wanted = ResponseQuery {
        response: case.key,
        scorers: &[own, other],
    };
    let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
    assert_eq!(found.scores, [Some(case.scores[0].clone()), None]);
    let name = &scorers()[0].name;
    let by_name = |name: &str| store.scores_by(name, &found.response.at).unwrap();
    assert_eq!(by_name(name), [case.scores[0].clone()]);
    assert_eq!(by_name("nobody"), []);
    assert_eq!(store.damaged(), 0);
}

#[test]
fn the_first_response_wins_and_keeps_its_own_scores() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(dir.path()), open(dir.path()));
    for store in [&one, &two] {
        store.register(&[system()], &scorers()).unwrap();
    }
    let case = Case::new(1);
    one.put_blocking(case.response());
    one.flush_blocking().unwrap();
    // Another process got another answer to the same question, and scored it.
    let mut rival = case.response();
    rival.output.set.insert("response".into(), json!("else"));
    two.put_blocking(rival);
    two.put_blocking(NewScores {
        response: case.key.into(),
        scorer: scorer_keys()[0],
        scores: ScoreTexts::of(&[("f1", -1.0)].into_iter().collect()),
    });
    two.flush_blocking().unwrap();
    let present = case.check(&one);
    assert_eq!((present.output, present.scores), (true, 0));
    // The same answer again: its scores are as good as anybody's.
    let three = open(dir.path());
    case.put(&three);
    three.flush_blocking().unwrap();
    assert_eq!(case.check(&one), ALL);
}

#[test]
fn scores_can_follow_much_later() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.register(&[system()], &scorers()).unwrap();
    let case = Case::new(2);
    store.put_blocking(case.response());
    drop(store);
    let store = open(dir.path());
    let scorers = scorer_keys();
    let wanted = ResponseQuery {
        response: case.key,
        scorers: &scorers,
    };
    let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
    assert_eq!(found.scores, [None, None]);
    store.put_blocking(NewScores {
        response: found.response.at.into(),
        scorer: scorers[0],
        scores: ScoreTexts::of(&case.scores[0]),
    });
    store.put_blocking(NewScores {
        response: case.key.into(),
        scorer: scorers[1],
        scores: ScoreTexts::of(&case.scores[1]),
    });
    store.flush_blocking().unwrap();
    assert_eq!(case.check(&store), ALL);
}

#[tokio::test]
async fn tasks_can_put_and_flush() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.register(&[system()], &scorers()).unwrap();
    let tasks = (0..8).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..200 {
                store.put(Case::new(task * 200 + n).response()).await;
            }
            store.flush().await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    for n in (0..1600).step_by(97) {
        assert!(Case::new(n).check(&store).output, "{n}");
    }
}

#[test]
fn what_nobody_registered_is_dropped_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    Case::new(1).put(&store);
    store.flush_blocking().unwrap();
    assert_eq!(store.dropped(), 3);
    assert_eq!(store.failure(), None);
}

#[test]
fn a_long_context_is_stored_once_and_compressed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let systems: Vec<_> = (0..5)
        .map(|n| SystemEntry {
            settings: json!(n),
            ..system()
        })
        .collect();
    store.register(&systems, &[]).unwrap();
    // 10 MB that compress to about half: hexadecimal digits.
    let mut dice = dice(1);
    let context: String = (0..10 << 20)
        .map(|_| char::from_digit(dice.below(16) as u32, 16).unwrap())
        .collect();
    let example = Arc::new(Example::new().with("context", context));
    for entry in &systems {
        let output = Output::reply(&example, "short");
        store.put_blocking(NewResponse {
            key: ResponseKey::new(Key::example(&example), entry.key(), 0),
            output: OutputDelta::between(&example, &output),
            example: Arc::clone(&example),
            latency: 1.0,
            wire: None,
            counted: None,
            call: None,
            first_byte: None,
            usage: None,
        });
    }
    store.flush_blocking().unwrap();
    let path = store.path().to_owned();
    drop(store);
    let size = std::fs::metadata(path).unwrap().len();
    assert!(size < 7 << 20, "{size}");
}

/// Look-ups in another order than the examples were stored in, with strangers
/// between them.
#[test]
fn look_ups_in_any_order_find_just_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let other = SystemEntry {
        kind: "other".to_owned(),
        ..system()
    };
    let systems = [system(), other];
    store.register(&systems, &[]).unwrap();
    let example = |i: usize| {
        Example::new()
            .with("id", i)
            .with("context", "c".repeat(i % 50))
    };
    let key = |i: usize, system: &SystemEntry| {
        ResponseKey::new(Key::example(&example(i)), system.key(), 0)
    };
    let is_stored = |i: usize, s: usize| i % 7 != 3 && (s == 0 || i.is_multiple_of(3));
    for i in 0..3000 {
        for (s, system) in systems.iter().enumerate() {
            if is_stored(i, s) {
                store.put_blocking(NewResponse {
                    key: key(i, system),
                    example: Arc::new(example(i)),
                    output: OutputDelta::default(),
                    latency: i as f64,
                    wire: None,
                    counted: None,
                    call: None,
                    first_byte: None,
                    usage: None,
                });
            }
        }
    }
    store.flush_blocking().unwrap();
    let forwards: Vec<usize> = (0..3200).collect();
    let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
    let scattered: Vec<usize> = forwards.iter().map(|i| i * 1009 % 3200).collect();
    for order in [forwards, backwards, scattered] {
        for chunk in order.chunks(700) {
            let asked: Vec<(usize, usize)> =
                chunk.iter().flat_map(|i| [(*i, 0), (*i, 1)]).collect();
            let wanted: Vec<ResponseQuery<'_>> = asked
                .iter()
                .map(|(i, s)| ResponseQuery {
                    response: key(*i, &systems[*s]),
                    scorers: &[],
                })
                .collect();
            let found = store.find(&wanted).unwrap();
            for ((i, s), found) in asked.into_iter().zip(found) {
                let expected = (i < 3000 && is_stored(i, s)).then_some(i as f64);
                assert_eq!(found.map(|f| f.response.latency), expected, "{i} {s}");
            }
        }
    }
}
