"""Writes golden/yaml.json: what PyYAML's C safe loader reads from our own texts.

    pip install pyyaml==6.0.3 && python yaml_cases.py > ../golden/yaml.json

Tags of one's own are kept, as a task loader does.
"""
import datetime
import json
import sys

import yaml


class Loader(yaml.CSafeLoader):
    pass


class Tagged:
    def __init__(self, tag, value):
        self.tag, self.value = tag, value


def tagged(loader, suffix, node):
    if isinstance(node, yaml.ScalarNode):
        return Tagged("!" + suffix, loader.construct_scalar(node))
    if isinstance(node, yaml.SequenceNode):
        return Tagged("!" + suffix, loader.construct_sequence(node, deep=True))
    return Tagged("!" + suffix, loader.construct_mapping(node, deep=True))


Loader.add_multi_constructor("!", tagged)


def spell(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool:" + str(value).lower()
    if isinstance(value, int):
        return f"int:{value}"
    if isinstance(value, float):
        return f"float:{value!r}"
    if isinstance(value, str):
        return "str:" + json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return "bytes:" + value.hex()
    if isinstance(value, (datetime.date, datetime.datetime)):
        return f"date:{value}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spell, value)) + "]"
    if isinstance(value, tuple):
        return "{" + spell(value[0]) + " => " + spell(value[1]) + "}"
    if isinstance(value, set):
        return "set(" + ", ".join(sorted(map(spell, value))) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spell(k)} => {spell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Tagged):
        return value.tag + " " + spell(value.value)
    raise TypeError(type(value))


SCALARS = """
yes|no|on|off|y|n|Y|N|true|True|TRUE|tRUE|Yes|NO|Off|oN|~|null|Null|NULL|nULL|none|None
0|1|-1|+1|010|08|0o10|0b101|0b|0b_1|0x1F|0xg|0x|-0x1f|+0b11|1_000|_1|1__0|0_7|0_|-0|00|1:30|190:20:30|1:60|-1:30|1:2:3:4|01:30|0:30
12345678901234567890|-9223372036854775808|-9223372036854775809|18446744073709551615|0xFFFFFFFFFFFFFFFF|99999999999999999999999999
1.0|1.|.5|-.5|+.5|1e5|1.0e5|1.0e+5|1.0e-5|1.e+3|1_0.5_0|.5e+3|.e+3|1.5e|.inf|-.inf|+.INF|.Inf|.iNf|.nan|.NaN|.NAN|-.nan|1:30.5|190:20:30.15|1:60.5|.1.2|1.2.3|0.1|1e+5|123456789.123456789|1.0e+16|1.5E+300|1_.5|._5|..|.|-|+|-.|--1|1-2
2001-12-14|2001-12-14t21:59:43.10-05:00|2001-12-14 21:59:43.10 -5|2001-12-15 2:59:43.10|2001-12-14T21:59:43Z|2002-1-1|2002-1-1 1:02:03|2002-13-01|2002-02-30|2002-01-01 25:00:00|2001-12-14T21:59:43.1234567|2001-12-14 21:59:43.000000|2001-12-14T21:59:43 Z|2001-12-14T21:59|2001-12-14T21:59:43+01|2001-12-14T21:59:43-01:30|20011214
<<|=|hello world|"quoted: 1"|'it''s'|"a\\n\\x41\\u00e9\\U0001F600"|a#b|a #b|'10'|"yes"|!!str 10|!!str yes|!!int "10"|!!int 0x10|!!float 3|!!float "1e3"|!!bool "YES"|!!bool maybe|!!null "x"|!!null|!!binary aGVsbG8=|!!binary "!"|!!binary "aGVs bG8="|! 12|! "12"|!!unknown x|!function utils.f|!function a.b.c|!other [1, 2]|!other {a: 1}|!<tag:yaml.org,2002:int> 5|!<x> y|!!timestamp 2001-01-01|!!timestamp nope
""".strip().split("\n")

TEXTS = [
    "", "\n", "# only a comment\n", "---\n", "--- \na: 1\n...\n", "a: 1\n---\nb: 2\n", "- a\n- b\n",
    "a: 1\nb: 2\na: 3\n", "true: a\n1: b\n", "1: a\n1.0: b\n", "null: a\n~: b\n", "'1': a\n1: b\n",
    "a: {{x}}\n", "a: {{x}} b\n", "a: '{{x}}'\n", "? [a, b]\n: c\n", "? {a: 1}\n: c\n", "? a\n: b\n", "? a\n", "{a, b: c}\n",
    "{a: 1, b}\n", "[a, b: c]\n", "[a, [b, {c: d}]]\n", "a: [1, 2,]\n", "a: [1,, 2]\n", "a: {b: 1,}\n",
    "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3, z: 4}\n", "base: &b {x: 1, y: 2}\nuse:\n  y: 3\n  <<: *b\n  z: 4\n",
    "- &a {x: 1, y: 1}\n- &b {x: 2, z: 2}\n- {<<: [*a, *b], w: 0}\n", "- &a {x: 1}\n- {<<: [*a, 3]}\n", "- {<<: 3}\n", "{<<: {a: 1}}\n",
    "- &a {x: 1}\n- {<<: *a, <<: {y: 2}}\n", "'<<': 1\n", "a: <<\n", "- =\n", "=: 1\n",
    "a: &x 1\nb: *x\n", "a: *x\n", "a: &x 1\nb: &x 2\n", "a: &x [1]\nb: [*x, *x]\n", "&k a: 1\nb: *k\n", "a: &x\nb: *x\n",
    "a: |\n  one\n  two\n", "a: |-\n  one\n", "a: |+\n  one\n\n", "a: >\n  one\n  two\n\n  three\n", "a: |2\n    x\n", "a: >-\n  x\n   y\n  z\n",
    "a: |\n\n  late\n", "a: 'multi\n  line'\n", "a: \"multi\n\n  line\\\n  x\"\n", "a: plain\n  more\n  lines\n", "a: \"under\nindented\"\n",
    "\ta: 1\n", "a:\n\t- b\n", "a:\tb\n", "a: b\t# c\n", "- a\n -b\n", "a: b: c\n", "a: 'open\n", "a: [1\n", "a: @x\n", "a: `x`\n", "a: %x\n", "%YAML 1.1\n---\na: 1\n", "%TAG ! tag:x,2000:\n---\na: 1\n",
    "a: !!set {x, y}\n", "a: !!omap [{x: 1}, {y: 2}]\n", "a: !!omap [1]\n", "a: !!pairs [{x: 1}, {x: 2}]\n", "a: !!seq [1]\n", "a: !!map {b: 1}\n", "a: !!str [1]\n", "a: !!int {b: 1}\n",
    "doc_to_text: !function utils.doc_to_text\nmetric_list:\n  - metric: acc\n    aggregation: mean\n    higher_is_better: true\n",
    "k: \"\\ud83d\"\n", "a: \u00e9\u4f60\U0001F600\n", "\ufeffa: 1\n", "a: \u0000\n", "a: \u0007\n", "a: x\u0085y\n", "a: x\u2028y\n", "a: \"\\0\\a\\e\\ \\N\\_\\L\\P\"\n", "a: \"\\q\"\n", "a: \"\\x4\"\n",
    "yes: no\n", "y: n\n", "on:\n  push: x\n", "2001-01-01: x\n", "1.5: x\n", "0x10: x\n16: y\n",
    "a:\n- b\n- c\n", "a:\n  - b\n  -\n    c: d\n", "- - a\n  - b\n- c\n", "-\n", "a:\n", "a: \n  b:\n", "a: # c\n  b\n",
    "until:\n  - \"\\n\"\n  - '\\n'\n  - \"</s>\"\n", "x: ''\ny: \"\"\nz:\n", "a: - b\n", "a: !\n", "a: ! b\n", "a: &x\n  b: 1\nc:\n  <<: *x\n  b: 2\n",
    "a: 1 \nb:  2\n", "a:1\n", "a :1\n", "a : 1\n", "\"a\":1\n", "{\"a\":1}\n", "{a:1}\n", "[a:1]\n", "'a' : b\n", "a: 'b' c\n", "{a: [}\n", "]\n", "- a\nb: c\n", "a: 1\n- b\n", "a: 1\n b: 2\n", " a: 1\nb: 2\n",
    "a: \"b\n---\nc\"\n", "a\n...\nb\n", "--- a\n", "--- |\n  x\n", "...\n", "a: ? b\n", "? |\n  block key\n: - one\n  - two\n", "[? a : b, c]\n", "a: [b\n, c]\n", "a: [\n]\n", "a: {\n}\n", "#\n#\n", "a: b#c\n", "a: 'b'#c\n", "!a !b x\n", "&a &b x\n",
    "a: |\n  x", "a: |-\n  x", "a: |+\n  x", "a: >\n  x\n  y", "a: >+\n  x\n\n  y", "a: |\n  x\n  ", "a: |+\n  x\n  ", "a: |\n  x\n    ", "a: |\n  x\n   \n ", "a: |\n  x\n   \n  ", "a: |\n  x\n   \n   ", "a: |+\n  x\n\n", "a: |\n\n  x\n ", "a: |", "a: |+", "a: >-", "a: | # c\n  x+", "a: |\n  x\n# c", "a: |\n  x\nb: c", "a: b", "- |\n x\n- y", "--- |\n x", "a: !t |\n  x", "a: \"\\", "a: \"b\\", "a: \"\\x4", "a: 'b", "a: |2\n    x", "? |\n  k", "a: |\n  x\n\t", "a: |\n  \ty", "a: >\n  x\n   y", "a: |\r\n  x\r\n  y", "a: |\n  \u00e9", "*a\n", "- *a : b\n",
]


def read(text):
    try:
        return spell(yaml.load(text.encode("utf-8", "surrogatepass"), Loader=Loader))
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


cases = []
for line in SCALARS:
    for scalar in line.split("|"):
        cases.append("a: " + scalar + "\n")
        cases.append("- " + scalar + "\n")
cases += TEXTS
out = [{"text": text, "value": read(text)} for text in dict.fromkeys(cases)]
json.dump(out, sys.stdout, indent=0, ensure_ascii=True)
print()
