"""Writes golden/jinja.json: what jinja2 renders for templates of our own.

    pip install jinja2==3.1.6 && python jinja_cases.py > ../golden/jinja.json

Strict undefined, trailing line break kept, no escaping: the settings of a task loader.
"""
import json
import re
import sys

import jinja2

env = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
env.filters["regex_replace"] = lambda s, pattern, repl, count=0: re.sub(pattern, repl, s, count=count)

RECORD = {
    "q": "What is  2+2? ", "n": 7, "neg": -3, "x": 3.0, "big": 1e16, "small": 1e-05, "frac": 0.1, "t": True, "f": False, "none": None,
    "xs": [1, 2.0, "a", None, True], "words": ["b", "a", "C"], "quotes": ["it's", 'say "x"', "both ' and \"", "tab\t\n\\"], "empty": [], "blank": "",
    "d": {"b": 1, "a": [1, 2], "items_": {"k": "v"}}, "text": "Hello World, hello", "multi": "line one\nline two\r\nline three", "uni": "Straße ﬁn İ ÀÉ", "nb": "a\u00a0b\u200bc", "digits": "42", "label": 1,
    "choices": {"text": ["red", "green"], "label": ["A", "B"]}, "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "html": "<a href='x'>\"&\"</a>", "num_str": " 12 ", "hex": "ff", "long": "the quick brown fox jumps over the lazy dog " * 3, "emoji": "😀", "nested": [[1, [2]], []], "huge": 12345678901234567890,
}

EXPRESSIONS = """
q|n|neg|x|big|small|frac|t|f|none|xs|words|quotes|empty|blank|d|nb|[nb]|nested|huge|emoji|[emoji]|[big, small]|-x|n / 2|n // 2|n % 3|neg % 5|neg // 2|n ** 2|2 ** -1|n + 0.5|x * 2|1e3|1_000|0.1 + 0.2|1/3|100000000000000000000|n == 7.0|t == 1|'a' 'b'|"it's"|('a', 1)|(1,)|()|{'a': 1}|{'b': [1], 'a': none}|[t, f, none]|[x]|
q.strip()|q.split()|q.split(' ')|text.split(', ')|text.split('o', 1)|text.rsplit('o', 1)|text.rsplit(' ')|text.rsplit()|text.partition(' ')|text.rpartition(' ')|text.upper()|text.lower()|text.title()|text.swapcase()|text.capitalize()|uni.upper()|uni.lower()|uni.casefold()|uni.title()|uni.capitalize()|text.replace('l', 'L')|text.replace('l', 'L', 2)|text.find('o')|text.rfind('o')|text.find('z')|text.index('o')|text.index('z')|text.rindex('o')|text.count('l')|text.count('o', 5)|text.startswith('He')|text.startswith(('x', 'He'))|text.endswith('lo')|text.removeprefix('Hello')|text.removesuffix('hello')|digits.zfill(5)|'-4'.zfill(4)|digits.center(7)|digits.center(6, '*')|'abc'.center(6)|'abc'.center(7)|'ab'.center(5)|digits.ljust(5) ~ '.'|digits.rjust(5, '0')|multi.splitlines()|multi.splitlines(true)|','.join(words)|','.join(['a', 1])|'{} and {}'.format(n, x)|'{0:>5}|{1:.2f}'.format(n, x)|'{a}'.format(a=1)|'%s and %d' % (text, n)|'%s' % text|'%.2f' % x|'%5d' % n|'%s' % [1, 'a']|'%(b)s' % d|'%d%%' % n|'%s' % q.strip()|upper()|'a'.isalpha()|'1'.isdigit()|'²'.isdigit()|'²'.isdecimal()|'½'.isnumeric()|'a1'.isalnum()|' '.isspace()|'Ab'.istitle()|'AB'.isupper()|'ab'.islower()|'a_1'.isidentifier()|'a\tb'.expandtabs(4)|digits.isdigit()|''.isdigit()|'abc'.translate({97: 'x', 98: none})|'  x '.lstrip() ~ '.'|'xxaxx'.strip('x')|'xxaxx'.lstrip('x')|'xxaxx'.rstrip('x')|text.encode() is string|
words.index('a')|words.index('z')|xs.count(1)|xs.index(none)|choices.label.index('B')|choices.text[choices.label.index('B')]|choices['text'][label]|choices.text[-1]|xs[0]|xs[-1]|xs[1:3]|xs[::-1]|text[:5]|text[-5:]|text[::-1]|text[0]|xs[10]|text[100]|d.b|d['a'][1]|d.get('b')|d.get('z')|d.get('z', 5)|d.keys()|list(d)|d.keys()|list|d.values()|list|d.items()|list|rows[0].k|rows|map(attribute='k')|join(',')|
text|length|xs|length|d|length|empty|length|n|string|x|string|xs|string|words|join(', ')|xs|join('-')|[x, big]|join(' ')|rows|join(',', attribute='v')|digits|int|'3.7'|int|'abc'|int|'abc'|int(5)|'abc'|int(default=6)|hex|int(base=16)|'0x1A'|int(base=16)|num_str|int|x|int|'1e3'|int|none|int|'1.5'|float|'z'|float|'z'|float(2.5)|t|int|text|wordcount|long|wordcount|text|upper|text|lower|text|title|"it's a-test (x)"|title|text|capitalize|q|trim|'xax'|trim('x')|text|replace('l', 'L')|text|replace('l', 'L', 1)|n|replace('7', '8')|long|truncate(20)|long|truncate(20, true)|long|truncate(20, false, '!')|long|truncate(20, true, '', 0)|text|truncate(20)|text|center(30)|html|e|html|escape|d|tojson|xs|tojson|uni|tojson|html|tojson|emoji|tojson|d|tojson(indent=2)|big|tojson|text|regex_replace('l+', 'L')|text|regex_replace('(o)', '<\\\\1>')|text|regex_replace('o', '0', 1)|text|first|text|last|words|first|words|last|empty|first|words|sort|words|sort(reverse=true)|words|sort(case_sensitive=true)|words|reverse|list|words|unique|list|[3, 1, 2]|sort|[3,1,2]|max|[3,1,2]|min|[1,2,3]|sum|[0.1, 0.2]|sum|rows|sum(attribute='v')|words|map('upper')|list|words|select('equalto', 'a')|list|[1,2,3,4]|select('odd')|list|[1,2,3,4]|reject('odd')|list|rows|selectattr('v', 'equalto', 2)|list|rows|rejectattr('v', 'equalto', 2)|map(attribute='k')|list|none|default('x')|blank|default('x')|blank|default('x', true)|missing|default('x')|missing|d('x')|neg|abs|2.5|round|3.5|round|2.675|round(2)|n|round|1234.5|round(-2)|2.1|round(0, 'ceil')|2.9|round(0, 'floor')|text|list|[1,2,3,4,5]|batch(2)|list|[1,2,3,4,5]|slice(2)|list|d|dictsort|d|items|list|'%s!'|format(text)|multi|indent(2)|text|wordwrap(8)|{'a': 1, 'b': none}|xmlattr|rows|groupby('k')|list|length|text|pprint|d|pprint|'a b'|urlencode|[1,[2]]|string|
missing|missing.x|d.missing|d.missing.x|xs|missing_filter|missing + 1|missing ~ 'a'|[missing]|missing == 1|not missing|missing or 1|missing|length|missing is defined|missing is undefined|d.missing is defined|none is none|n is odd|n is even|n is divisibleby(7)|text is string|n is number|xs is iterable|d is mapping|words is sequence|x is float|n is integer|t is boolean|'a' in text|'z' not in text|1 in xs|'b' in d|none == none|1 < 2 < 3|'a' < 'b'|t and f|t or f|not t|'x' if t else 'y'|'x' if f|n if n > 5 else 0|1 + 'a'|'a' + 'b'|'a' ~ 1 ~ 2.0|[1] + [2]|'ab' * 2|[0] * 3|1 / 0|none + 1|range(3)|list|range(1, 6, 2)|list|dict(a=1)|text.nope()|n.upper()|q()|loop|namespace(a=1).a|
"""

TEMPLATES = [
    "Q: {{q}}\nA:", "{{q}}\n", "no jinja\n", "{{ q }}\n\n", "{% for x in xs %}{{ loop.index0 }}:{{ x }};{% endfor %}", "{% for x in words -%}  {{ x }}\n{%- endfor %}", "{% if n > 5 %}big{% elif n > 2 %}mid{% else %}small{% endif %}",
    "{% set y = n + 1 %}{{ y }}", "{% for k, v in d.items() %}{{k}}={{v}},{% endfor %}", "{% for r in rows %}{{ r.k }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% set ns = namespace(c=0) %}{% for x in xs %}{% set ns.c = ns.c + 1 %}{% endfor %}{{ ns.c }}",
    "{% for i in range(4) %}{{ 'ABCD'[i] }}. {{ words[i] if i < 3 else '-' }}\n{% endfor %}", "{# comment #}x", "{% raw %}{{ x }}{% endraw %}", "a {{- n -}} b", "{%- if t %} yes {%- endif %} end", "{% macro m(a, b=2) %}{{a}}-{{b}}{% endmacro %}{{ m(1) }} {{ m(1, b=3) }}",
    "{{ words }}", "{{ [q.strip(), text] }}", "{% for x in missing %}{% endfor %}", "{% if missing %}a{% endif %}", "{% if missing is defined %}a{% else %}b{% endif %}", "{{ 'a' if missing is defined else 'b' }}", "{{ q", "{% if %}", "{{ }}", "{% endfor %}", "{% unknown %}", "{{ q | nope }}", "{% for x in [1,2,3] if x > 1 %}{{x}}{% else %}none{% endfor %}", "{% for x in [] %}{{x}}{% else %}none{% endfor %}",
    "{% for x in [1,2,3] %}{% if x == 2 %}{{ loop.previtem }}{{ loop.nextitem }}{% endif %}{% endfor %}", "{% with a = 1 %}{{ a }}{% endwith %}", "{% filter upper %}abc{% endfilter %}", "{% set b %}block {{ n }}{% endset %}{{ b }}", "Line\n{% if t %}\nin\n{% endif %}\nout", "{{ '\\n' }}|{{ \"\\t\" }}|{{ 'a\\\\b' }}", "{{ choices.text | map('upper') | join(', ') }}", "{{ {'A': 0, 'B': 1}[choices.label[1]] }}", "{{ ['x', 'y'].index('y') }}", "{{ text.split(',')[0].strip() ~ '.' }}", "{{ (text.split())[0] }}", "{{ d.items_.k }}", "{% for line in multi.split('\\n') %}[{{ line }}]{% endfor %}", "{{ loop }}", "{{ self }}", "{{ n }}{{ x }}{{ t }}{{ none }}", "{{ ', '.join(words|sort) }}", "{{ xs|map('string')|list }}", "{{ 'abc'|list|join('-') }}", "{{ ('%.3f' % frac) ~ '%' }}",
]


def expressions():
    # A bar separates expressions unless it starts a filter of the one before.
    for line in EXPRESSIONS.strip().split("\n"):
        parts = line.split("|")
        yield from parts


FILTERS = set(env.filters) | {"missing_filter"}


def split_line(line):
    found, current = [], None
    for part in line.split("|"):
        name = re.match(r"\w+", part)
        if current is not None and name and name.group(0) in FILTERS and not (part in RECORD or part.startswith(("list(", "dict("))):
            current += "|" + part
        else:
            if current:
                found.append(current)
            current = part
    if current:
        found.append(current)
    return found


def plain(value):
    """Whether JSON can hold it and give it back; None for what it cannot."""
    try:
        return json.loads(json.dumps(value)) if not isinstance(value, jinja2.Undefined) else None
    except (TypeError, ValueError):
        return None


cases = []
for line in EXPRESSIONS.strip().split("\n"):
    for expression in split_line(line):
        cases.append("{{ " + expression + " }}")
cases += TEMPLATES
out = []
for source in dict.fromkeys(cases):
    try:
        text = env.from_string(source).render(**RECORD)
    except Exception:
        text = None
    out.append({"template": source, "text": text})
json.dump({"record": RECORD, "cases": out}, sys.stdout, indent=0)
print()
