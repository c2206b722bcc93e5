"""Writes golden/regex.json: what Python's re finds and replaces in our own texts.

    python regex_cases.py > ../golden/regex.json
"""
import json
import re
import sys

TEXTS = [
    "", "abc", "baac", "The answer is (B).\nNext", "#### 1,234.50\n", "हिन्दी में text", "naïve café 42", "a_b c-d",
    "line1\nline2\n", "x{2} {a} [b]", "A\u00a0B\x1cC", "aaa bbb", "ﬁ ß İ", "-5 + 3.14", "१२३ 456", "“quoted” text.",
    "answer: D, then answer: A", "tab\tend\n\n", "foo.bar@baz", "\u2028x", "1\n", "é", "q: yes\nq: no", "A) one B) two",
]
PATTERNS = [
    "a*", "a+", "|a", "x*", "(a)|b", "(a)(b)?", "^", "$", "a$", "\\d+$", "^line\\d$", "(?m)^line\\d$", "\\Z", "\\A", "\\bt", "\\w+", "\\W+", "[^\\W\\d]+",
    "\\s", "[\\s]+", "\\S+", "\\d+", "[\\d.]+", "(?a)\\w+", "(?a)\\d+", "(?i)ANSWER", "(?i:ANSWER) IS", "(?s)is.*t", "is.*t", "(?x) a  b # c\n c", "(?<=answer: )[A-D]",
    "(?<!a)b", "(?=b)", "(?P<x>a)(?P=x)", "(a)\\1", "(?:a|b)+", "x{2}", "a{2}", "a{,2}", "a{1,}", "{a}", "{", "x{2}?", "[[a]", "[a&&b]", "[a--b]", "[]a]", "[^]a]", "[a-]", "[-a]", "[b\\]]",
    "[(\\[]", "\\(([A-D])\\)", "#### (\\-?[0-9\\.\\,]+)", "(-?[$0-9.,]{2,})|(-?[0-9]+)", "[^\\W_]+", "\\x41", "\\u0061", "[\\x41-\\x43]", "\\0", "\\08", "\\141", "(?#c)a", "a(?#)b", "\\Bb", "\\b", "\\B",
    "(?:(?i)a)", "a(?i)b", "(?L)a", "\\z", "\\q", "(", ")", "[", "a**", "(?<=a+)b", "(?P<1>a)", "*a", "[b-a]", "(a)(?(1)b|c)", "(?>a+)", "a++", "ß", "(?i)SS", "[\u0900-\u097f]+", "“(.*?)”", "\\w+@\\w+\\.?", "[A-D]\\)", "\\.", "é", "\\$", "[$]", "\\N{DIGIT ONE}",
]
SUBS = [("a", "X", 0), ("a*", "-", 0), ("(a)(b)?", "[\\1|\\2]", 0), ("(?P<n>\\w)", "<\\g<n>>", 2), ("\\s+", " ", 0), ("[^\\w\\s]", "", 0), ("a", "\\n\\t\\\\", 1), ("(a)", "\\g<1>0", 0), ("(a)", "\\2", 0), ("a", "\\q", 0), ("b", "\\0", 0), ("\\.$", "", 0), ("^\\s*|\\s*$", "", 0), ("(x)?", "\\1-", 0)]

cases = []
for pattern in PATTERNS:
    try:
        compiled = re.compile(pattern)
    except (re.error, ValueError):
        cases.append({"pattern": pattern, "error": True})
        continue
    found = {}
    for text in TEXTS:
        found[text] = [[m.group(0), *m.groups()] for m in compiled.finditer(text)]
    cases.append({"pattern": pattern, "found": found})
for pattern, repl, count in SUBS:
    try:
        found = {text: re.sub(pattern, repl, text, count=count) for text in TEXTS}
        cases.append({"pattern": pattern, "repl": repl, "count": count, "sub": found})
    except re.error:
        cases.append({"pattern": pattern, "repl": repl, "count": count, "sub": None})
json.dump(cases, sys.stdout, indent=0)
print()
