//! Templates that would take all memory or all of the stack are refused, on a small
//! stack and at every way in; what is merely long is not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests"
)]

use context_bench_template::jinja::Template;
use serde_json::json;

/// Threads of runtimes have 2 MiB; half of that, so that there is room above.
const STACK: usize = 1 << 20;

/// What comes of a template, on a thread with a small stack.
fn rendered(source: &str) -> Result<String, String> {
    let source = source.to_owned();
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let record = json!({"x": "ab", "items": ["a", "b"], "n": 3});
            let record = record.as_object().unwrap();
            let template = Template::compile("bomb", &source).map_err(|e| e.to_string())?;
            let text = template.render(record).map_err(|e| e.to_string());
            // The value of an expression is worked out another way; all else is rendered.
            if source.starts_with("{{") {
                let value = template.evaluate(record).map_err(|e| e.to_string());
                assert_eq!(value.is_ok(), text.is_ok(), "{value:?}");
            }
            text
        })
        .unwrap()
        .join()
        .expect("no overflow and no panic")
}

#[test]
fn what_grows_without_bound_is_refused() {
    let twice = |what: &str, times| what.repeat(times);
    let bombs = [
        format!("{}{{{{ x }}}}", twice("{% set x = x ~ x %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = x + x %}", 40)),
        format!("{}{{{{ x|length }}}}", twice("{% set x = [x, x] %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = (x, x) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = {1: x, 2: x} %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set items = items + items %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = x|replace('', x) %}", 12)),
        format!("{}{{{{ x }}}}", twice("{% set x = x.replace('a', x) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = x|join(x) %}", 12)),
        format!("{}{{{{ x }}}}", twice("{% set x = x.join([x, x, x]) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = '%s%s'|format(x, x) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = '{0}{0}'.format(x) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x = x|list|string %}", 60)),
        format!("{}{{{{ x }}}}", twice("{% set x = x|regex_replace('.', x) %}", 40)),
        format!("{}{{{{ x }}}}", twice("{% set x %}{{ x }}{{ x }}{% endset %}", 40)),
        format!(
            "{{% macro f(x) %}}{{{{ x }}}}{{{{ x }}}}{{% endmacro %}}{}{{{{ x }}}}",
            twice("{% set x = f(x) %}", 40)
        ),
        format!("{{{{ x{} }}}}", twice(".replace('a', 'aaaaaaaaaaaaaaaa')", 20)),
        format!("{{{{ x{} }}}}", twice("|replace('a', 'aaaaaaaaaaaaaaaa')", 20)),
        "{{ items|slice(1000000000) }}".to_owned(),
        "{{ items|slice(1000000000)|list|length }}".to_owned(),
        "{{ items|batch(1000000000, 'x') }}".to_owned(),
        "{{ x|indent(1000000000, true) }}".to_owned(),
        "{{ x|indent(width=1000000000, first=true) }}".to_owned(),
        "{{ '%1000000000d' % n }}".to_owned(),
        "{{ '%1000000000d'|format(n) }}".to_owned(),
        "{{ '%.1000000000f'|format(n) }}".to_owned(),
        "{{ '{:>1000000000}'.format(x) }}".to_owned(),
        "{{ 'x' * 1000000000 }}".to_owned(),
        "{{ 'x' * 90000000 }}".to_owned(),
        "{{ 1000000000 * 'x' }}".to_owned(),
        "{{ x * 1000000000 }}".to_owned(),
        "{{ x * 40000000 }}".to_owned(),
        "{{ [x] * 1000000000 }}".to_owned(),
        "{{ [1] * 90000000 }}".to_owned(),
        "{{ (1,) * 90000000 }}".to_owned(),
        "{{ items * 40000000 }}".to_owned(),
        "{{ (items * 40000000)|length }}".to_owned(),
        format!("{{{{ {} }}}}", twice("'x' * 60000000 ~ ", 9) + "'x'"),
        "{{ x|center(1000000000) }}".to_owned(),
        "{{ x.ljust(1000000000) }}".to_owned(),
        "{{ ('\t' * 1000000).expandtabs(1000) }}".to_owned(),
        "{{ ([n] * 1000000)|tojson(indent=100) }}".to_owned(),
        "{{ range(1000000000) }}".to_owned(),
        "{% for a in range(100000) %}{% for b in range(100000) %}.{% endfor %}{% endfor %}"
            .to_owned(),
        format!(
            "{{% for a in range(100000) %}}{}{{% endfor %}}",
            "long text ".repeat(1000)
        ),
        format!(
            "{{% for a in items %}}{{% for b in range(90000) %}}{}{{{{ x }}}}{{% endfor %}}{{% endfor %}}",
            "long text ".repeat(1000)
        ),
        "{% set ns = namespace(x=x) %}{% for i in range(100000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
            .to_owned(),
        "{% set ns = namespace(x=x) %}{% for i in range(100000) %}{% set ns.x = ns.x ~ 'a line of text that grows' %}{% endfor %}"
            .to_owned(),
        "{% set ns = namespace(x=items) %}{% for i in range(100000) %}{% set ns.x = ns.x + items %}{% endfor %}"
            .to_owned(),
        // As deep as a loop is long.
        "{% set ns = namespace(x=x) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}"
            .to_owned(),
        "{% set ns = namespace(x=items) %}{% for i in range(100000) %}{% set ns.x = ns.x|batch(1)|list %}{% endfor %}"
            .to_owned(),
        twice("{% set x = [x] %}", 20_000),
        // References that lead back.
        "{% set a = namespace() %}{% set a.a = a %}{{ a }}".to_owned(),
        "{% set a = namespace() %}{% set a.a = [a] %}{{ a == a.a }}".to_owned(),
        "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a == b }}"
            .to_owned(),
        "{% set ns = namespace(l=1) %}{% for i in range(90000) %}{% for a in [ns.l] %}{% set ns.l = loop %}{% endfor %}{% endfor %}"
            .to_owned(),
        // Calls of calls.
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}".to_owned(),
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}".to_owned(),
        "{% block a %}{{ self.a() }}{% endblock %}".to_owned(),
        "{% include '' %}".to_owned(),
        // Patterns.
        format!("{{{{ x|regex_replace('{}', '{}') }}}}", "(".repeat(50_000), "x"),
        format!("{{{{ x|regex_replace('{}a{}', '{}') }}}}", "(".repeat(50_000), ")".repeat(50_000), "x"),
        "{{ x|regex_replace('((a{1000}){1000}){1000}', 'x') }}".to_owned(),
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned(),
    ];
    for bomb in &bombs {
        let shown: String = bomb.chars().take(90).collect();
        let error = rendered(bomb).expect_err(&shown);
        assert!(error.contains("in template `bomb`"), "{shown}: {error}");
    }
}

#[test]
fn chains_of_any_kind_never_overflow_the_stack() {
    for n in [60, 150, 199, 210, 1000, 16_000, 100_000] {
        let chains = [
            format!("{{{{ 1{} }}}}", "+1".repeat(n)),
            format!("{{{{ n{} }}}}", " + n".repeat(n)),
            format!("{{{{ x{} }}}}", " ~ x".repeat(n)),
            format!("{{{{ x{} }}}}", "|trim".repeat(n)),
            format!("{{{{ x{} }}}}", ".strip()".repeat(n)),
            format!("{{{{ x{} }}}}", ".a".repeat(n)),
            format!("{{{{ x{} }}}}", "[0]".repeat(n)),
            format!("{{{{ x{} }}}}", "[0:]".repeat(n)),
            format!("{{{{ {}x }}}}", "not ".repeat(n)),
            format!("{{{{ {}n }}}}", "-".repeat(n)),
            format!("{{{{ {}n }}}}", "- ".repeat(n)),
            format!("{{{{ {}x{} }}}}", "(".repeat(n), ")".repeat(n)),
            format!("{{{{ {}x{} }}}}", "[".repeat(n), "]".repeat(n)),
            format!("{{{{ {}x{} }}}}", "{1:".repeat(n), "}".repeat(n)),
            format!("{{{{ {}x{} }}}}", "dict(a=".repeat(n), ")".repeat(n)),
            format!("{{{{ {} }}}}", "(".repeat(n)),
            format!("{{{{ x{} }}}}", " and x".repeat(n)),
            format!("{{{{ x{} }}}}", " or x".repeat(n)),
            format!("{{{{ x{} }}}}", " == x".repeat(n)),
            format!("{{{{ x{} }}}}", " is string".repeat(n)),
            format!("{{{{ n{} }}}}", "**1".repeat(n)),
            format!("{{{{ {}x }}}}", "x if n else ".repeat(n)),
            format!("{{{{ x{} }}}}", " if n".repeat(n)),
            format!("{{{{ '%s'{} }}}}", " % '%s'".repeat(n)),
            format!("{{{{ {}x{} }}}}", "'%s' % (".repeat(n), ")".repeat(n)),
            format!(
                "{{% if n == 0 %}}{}{{% endif %}}",
                "{% elif n == 1 %}a".repeat(n)
            ),
            format!("{}x{}", "{% if n %}".repeat(n), "{% endif %}".repeat(n)),
            format!(
                "{}x{}",
                "{% for a in items[:1] %}".repeat(n),
                "{% endfor %}".repeat(n)
            ),
            format!("{}x{}", "{% set y %}".repeat(n), "{% endset %}".repeat(n)),
            format!("{}x{}", "{% with %}".repeat(n), "{% endwith %}".repeat(n)),
            format!(
                "{}x{}",
                "{% filter trim %}".repeat(n),
                "{% endfilter %}".repeat(n)
            ),
            "{% if n %}".repeat(n),
        ];
        for chain in chains {
            // What comes of it is for other tests; that something does, for this one.
            let _ = rendered(&chain);
        }
        let refused = rendered(&format!("line\n{{{{ 1{} }}}}", "+1".repeat(n)));
        match n {
            ..200 => assert_eq!(refused, Ok(format!("line\n{}", n + 1))),
            _ => assert_eq!(
                refused.unwrap_err(),
                "an expression nests operators more than 200 deep in template `bomb`, line 2"
            ),
        }
    }
}

#[test]
fn what_is_merely_long_is_rendered() {
    let list = vec!["'a' + 'b'"; 20_000].join(", ");
    for (source, length) in [
        (format!("{{{{ [{list}]|join }}}}"), 40_000),
        ("{{ x }}".repeat(20_000), 40_000),
        ("{% set x = x ~ 'a' %}".repeat(1_000) + "{{ x }}", 1_002),
        ("{% if n %}a{% endif %}".repeat(20_000), 20_000),
        (
            "{% set ns = namespace(x='') %}{% for i in range(5000) %}{% set ns.x = ns.x ~ 'a line of text\n' %}{% endfor %}{{ ns.x }}".to_owned(),
            75_000,
        ),
        ("{{ x * 16000000 }}".to_owned(), 32_000_000),
        (
            "{% for i in range(90000) %}{{ i % 10 }}, {{ x|upper }}\n{% endfor %}".to_owned(),
            540_000,
        ),
        (
            "{% for a in items recursive %}{{ a }}{% if a == 'a' %}{{ loop(['b']) }}{% endif %}{% endfor %}".to_owned(),
            3,
        ),
        (
            "{% macro f(n) %}{% if n > 0 %}.{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(9) }}".to_owned(),
            9,
        ),
    ] {
        let shown: String = source.chars().take(60).collect();
        let text = rendered(&source).unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!(text.len(), length, "{shown}");
    }
}
