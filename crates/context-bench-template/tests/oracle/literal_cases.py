"""Writes golden/literal.json: what ast.literal_eval reads, and repr prints.

    python literal_cases.py > ../golden/literal.json
"""
import ast
import json
import sys

TEXTS = ["1", "-1", "+1", "--1", "1.5", "1e3", ".5", "1.", "1_000", "0x1f", "0o17", "0b101", "010", "00", "1__0", "_1", "None", "True", "False", "true", "x", "'a'", "\"a\"", "'it\\'s'", "'a' 'b'", "'a'\n'b'", "r'a\\n'", "b'a'", "u'a'", "f'a'", "'''a\nb'''", "'a\nb'", "'\\x41\\u00e9\\U0001F600\\n\\t\\\\\\101\\q'", "[1, 'a', None]", "[1, 2,]", "[]", "()", "(1)", "(1,)", "(1, 2)", "1, 2", "1,", "{}", "{'a': 1, 'b': [2]}", "{1: 2}", "{1, 2}", "{1, 1}", "set()", "{[1]: 2}", "[1", "[1 2]", "1 2", "", " 1", "1 ", "\n1", "[1] # c", "[\n 1,\n 2\n]", "1 + 2", "1+2j", "a.b", "f()", "['a', \"it's\", 'é', '😀', '\\xa0']", "[1.0, 1e16, 1e-05, inf]", "'unterminated", "[True, False]", "-5.5e-3", "1e", "9223372036854775807", "18446744073709551615", "{'a': {'b': ()}}", "('a' 'b', 'c')", "[[[]]]", "'tab\\\n le'"]


def plain(value):
    if isinstance(value, (tuple, set, frozenset)):
        return [plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (bytes, complex)):
        raise ValueError
    return value


out = []
for text in TEXTS:
    try:
        value = {"value": plain(ast.literal_eval(text))}
    except Exception:
        value = {}
    out.append({"text": text, **value})
json.dump(out, sys.stdout, indent=0)
print()
