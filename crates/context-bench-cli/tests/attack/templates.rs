//! Templates of task files that would take all memory, all of the stack or all time.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::program::{Done, arg, command};
use crate::siege::Siege;

/// Address space of the program: what grows beyond it is a failed attack here, and a
/// dead machine elsewhere. The program itself takes some 300 MB of addresses.
const MAX_KILOBYTES: u64 = 2_500_000;

pub(crate) fn attack(siege: &mut Siege) {
    let mut bombs = bombs();
    let many = siege.times(14, bombs.len());
    while bombs.len() > many {
        bombs.swap_remove(siege.below(bombs.len()));
    }
    for bomb in bombs {
        siege.tried(shown(&bomb), refused(&rendered(&bomb)));
    }
    for _ in 0..siege.times(8, 150) {
        let depth = [10, 100, 1_000, 20_000][siege.below(4)];
        let template = format!("{{{{ {} }}}}", expression(siege, depth));
        siege.tried(shown(&template), survived(&rendered(&template)));
    }
    for _ in 0..siege.times(4, 60) {
        let template = program(siege);
        siege.tried(shown(&template), survived(&rendered(&template)));
    }
}

/// The beginning of a template, for the table.
fn shown(template: &str) -> String {
    let beginning: String = template.chars().take(100).collect();
    format!("{beginning} ({} bytes)", template.len())
}

/// What `render` makes of a task with this template.
fn rendered(template: &str) -> Done {
    let folder = tempfile::tempdir().unwrap();
    let docs = json!({"x": "ab", "items": ["a", "b"], "n": 3});
    std::fs::write(folder.path().join("docs.jsonl"), format!("{docs}\n")).unwrap();
    let task = folder.path().join("bomb.yaml");
    let text = format!(
        "task: bomb\ndataset_path: json\ndataset_kwargs:\n  data_files: {{test: docs.jsonl}}\n\
         test_split: test\ndoc_to_text: {}\ndoc_to_target: a\n",
        json!(template)
    );
    std::fs::write(&task, text).unwrap();
    let mut command = command();
    command.args(["render", "--output", "jsonl", "--tasks", arg(&task)]);
    limited(&command)
}

/// Runs a command to its end within bounds of memory.
pub(crate) fn limited(program: &Command) -> Done {
    let mut command = Command::new("sh");
    command.arg("-c");
    command.arg(format!("ulimit -v {MAX_KILOBYTES}; exec \"$0\" \"$@\""));
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    crate::program::run_with(command.stdin(Stdio::null()))
}

/// An error as every other: what, where, a hint; no signal, no panic.
pub(crate) fn refused(done: &Done) -> Result<(), String> {
    survived(done)?;
    match (done.code, done.stderr.contains("\nhint: ")) {
        (0, _) => Err(format!("it was rendered: {} bytes", done.stdout.len())),
        (_, false) => Err(format!("no hint: {}", done.stderr)),
        _ => Ok(()),
    }
}

/// Either an answer or an error in words.
pub(crate) fn survived(done: &Done) -> Result<(), String> {
    let told = done.stderr.contains("error: ");
    let ended = done.code == 0 || (matches!(done.code, 1..=3) && told);
    let broken = ["panicked", "memory allocation", "overflow"]
        .iter()
        .any(|word| done.stderr.contains(word));
    match ended && !broken {
        true => Ok(()),
        false => {
            let said: String = done.stderr.chars().take(600).collect();
            Err(format!("exit {}: {said}", done.code))
        }
    }
}

/// Templates that must be refused.
fn bombs() -> Vec<String> {
    let doubled = |step: &str| format!("{}{{{{ x|length }}}}", step.repeat(40));
    let chain = |start: &str, link: &str| format!("{{{{ {start}{} }}}}", link.repeat(16_000));
    let nested = |open: &str, close: &str| {
        format!("{{{{ {}1{} }}}}", open.repeat(16_000), close.repeat(16_000))
    };
    let mut bombs = vec![
        doubled("{% set x = x ~ x %}"),
        doubled("{% set x = x + x %}"),
        doubled("{% set x = [x, x] %}"),
        doubled("{% set x = {1: x, 2: x} %}"),
        doubled("{% set x = x.replace('a', x) %}"),
        doubled("{% set x = x|replace('b', x) %}"),
        doubled("{% set x = x.join([x, x, x]) %}"),
        doubled("{% set x = '%s%s'|format(x, x) %}"),
        doubled("{% set x = '{0}{0}'.format(x) %}"),
        doubled("{% set x = x|regex_replace('.', x) %}"),
        doubled("{% set x %}{{ x }}{{ x }}{% endset %}"),
        chain("1", "+1"),
        chain("x", " ~ x"),
        chain("x", "|trim"),
        chain("x", ".a"),
        chain("x", "[0]"),
        chain("x", ".strip()"),
        chain("x", " and x"),
        chain("n", " if n"),
        nested("(", ")"),
        nested("[", "]"),
        nested("not ", ""),
        nested("-", ""),
        nested("x if n else ", ""),
        nested("{1:", "}"),
        format!(
            "{{% if n == 0 %}}{}{{% endif %}}",
            "{% elif n == 1 %}a".repeat(16_000)
        ),
        format!(
            "{}{}",
            "{% if n %}".repeat(16_000),
            "{% endif %}".repeat(16_000)
        ),
        "{% set x = [x] %}".repeat(20_000),
    ];
    let short = [
        "{{ items|slice(1000000000) }}",
        "{{ items|batch(1000000000, 'x') }}",
        "{{ x|indent(1000000000, true) }}",
        "{{ '%1000000000d' % n }}",
        "{{ '%.1000000000f'|format(n) }}",
        "{{ '{:>1000000000}'.format(x) }}",
        "{{ 'x' * 1000000000 }}",
        "{{ 'x' * 90000000 ~ 'x' * 90000000 }}",
        "{{ [x] * 1000000000 }}",
        "{{ items * 40000000 }}",
        "{{ x|center(1000000000) }}",
        "{{ ('\t' * 1000000).expandtabs(1000) }}",
        "{{ ([n] * 1000000)|tojson(indent=100) }}",
        "{{ range(1000000000) }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}.{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{{ x * 1000 }}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x=x) %}{% for i in range(100000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x=x) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=items) %}{% for i in range(100000) %}{% set ns.x = ns.x|batch(1)|list %}{% endfor %}",
        "{% set a = namespace() %}{% set a.a = a %}{{ a == a.a }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% block a %}{{ self.a() }}{% endblock %}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    ];
    bombs.extend(short.map(str::to_owned));
    bombs
}

/// A random expression with about so many operators, in each other or in a row.
fn expression(siege: &mut Siege, operators: usize) -> String {
    let mut text = ["x", "n", "1", "'s'", "items"][siege.below(5)].to_owned();
    let mut left = operators;
    while left > 0 {
        // The same a few times: chains of one kind are what overflows.
        let times = 1 + siege.below(left.min(1 + operators / 4));
        left -= times;
        let (before, after) = [
            ("", " + 1"),
            ("", " ~ x"),
            ("", " * 2"),
            ("", "|string"),
            ("", "|list"),
            ("", "[0]"),
            ("", ".a"),
            ("", " == x"),
            ("", " or n"),
            ("", " is string"),
            ("(", ")"),
            ("[", "]"),
            ("{'k': ", "}"),
            ("not ", ""),
            ("-", ""),
            ("x if n else ", ""),
            ("dict(a=", ")"),
            ("'%s' % (", ",)"),
            ("x|default(", ")"),
        ][siege.below(19)];
        text = format!("{}{text}{}", before.repeat(times), after.repeat(times));
    }
    text
}

/// A random program: what is kept grows in loops, in whatever way.
fn program(siege: &mut Siege) -> String {
    let mut steps = String::new();
    for _ in 0..1 + siege.below(4) {
        steps += [
            "{% set ns.x = ns.x ~ ns.x %}",
            "{% set ns.x = ns.x + ns.x %}",
            "{% set ns.x = [ns.x, ns.x] %}",
            "{% set ns.x = [ns.x] %}",
            "{% set ns.x = ns.x|string %}",
            "{% set ns.x = ns.x|list %}",
            "{% set ns.x = ns.x|tojson %}",
            "{% set ns.x = ns.x * 3 %}",
            "{% set ns.x = ns.x[0:] %}",
            "{% set ns.x = ns.x|reverse %}",
            "{% set ns.x = {'k': ns.x} %}",
            "{% set ns.x = ns.x|batch(2)|list %}",
            "{% set ns.x = ns.x|join(ns.x) %}",
            "{% set ns.x = (ns.x, loop.index) %}",
            "{{ ns.x }}",
        ][siege.below(15)];
    }
    let turns = [30, 1_000, 100_000][siege.below(3)];
    format!(
        "{{% set ns = namespace(x=items) %}}{{% for i in range({turns}) %}}{steps}{{% endfor %}}{{{{ ns.x }}}}"
    )
}
