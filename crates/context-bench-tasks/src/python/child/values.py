# Values to JSON and back. What JSON cannot say is an object with the key `$python`;
# docs/reference/tasks-python.md has the table, value.rs the other side.
import base64
import datetime
import decimal
import json
import math
from collections.abc import Iterable, Mapping

TAG = "$python"
MAX_DEPTH = 110
MIN_INT, MAX_INT = -(2**63), 2**64 - 1


class NotConvertible(TypeError):
    """A value that cannot leave this process."""


def tagged(kind, value):
    return {TAG: kind, "value": value}


def encode(value, keep=None):
    """A value as JSON; `keep` takes what has no such form and gives a handle."""
    return _encode(value, keep, ())


def _encode(value, keep, inside):
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _encode_text(value)
    if kind is int:
        return _encode_int(value)
    if kind is float:
        return _encode_float(value)
    # Anything below may hold itself. `inside` has an entry per level of JSON, and
    # readers of JSON stop at 128 levels.
    if id(value) in inside or len(inside) >= MAX_DEPTH:
        raise NotConvertible("a value that contains itself, or is nested too deep")
    inside = inside + (id(value),)
    if isinstance(value, list):
        return [_encode(item, keep, inside) for item in value]
    if isinstance(value, tuple):
        inside = inside + (0,)
        return tagged("tuple", [_encode(item, keep, inside) for item in value])
    if isinstance(value, Mapping):
        return _encode_mapping(value, keep, inside)
    if isinstance(value, str):
        return _encode_text(str.__str__(value))
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return _encode_int(int(value))
    if isinstance(value, float):
        return _encode_float(float(value))
    if isinstance(value, (set, frozenset)):
        name = "frozenset" if isinstance(value, frozenset) else "set"
        inside = inside + (0,)
        return tagged(name, [_encode(item, keep, inside) for item in in_order(value)])
    if isinstance(value, (bytes, bytearray, memoryview)):
        return tagged("bytes", base64.b64encode(bytes(value)).decode("ascii"))
    for base in (datetime.datetime, datetime.date, datetime.time):
        if isinstance(value, base):
            return tagged(base.__name__, value.isoformat())
    if isinstance(value, datetime.timedelta):
        return tagged("timedelta", [value.days, value.seconds, value.microseconds])
    if isinstance(value, decimal.Decimal):
        return tagged("decimal", str(value))
    if isinstance(value, complex):
        return tagged("complex", [_encode_float(value.real), _encode_float(value.imag)])
    if not isinstance(value, type):
        # Scalars and arrays of numpy, tensors; then tables and other containers.
        for method in ("tolist", "to_list", "to_dict"):
            convert = getattr(value, method, None)
            if callable(convert):
                return _encode(convert(), keep, inside)
        if keep is None or hasattr(value, "__next__"):
            if isinstance(value, Iterable):
                return [_encode(item, keep, inside) for item in value]
    if keep is not None:
        return keep(value, lambda part: _encode(part, keep, inside))
    raise NotConvertible(
        "a value of type `%s.%s` (text, numbers, lists, dicts and the like can be)"
        % (kind.__module__, kind.__qualname__)
    )


def _encode_text(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return tagged("str", text.encode("unicode_escape").decode("ascii"))
    return text


def _encode_int(number):
    if MIN_INT <= number <= MAX_INT:
        return number
    # Beyond some thousand digits Python refuses decimal text, but not hexadecimal.
    return tagged("int", str(number) if number.bit_length() < 10_000 else hex(number))


def _encode_float(number):
    return number if math.isfinite(number) else tagged("float", repr(number))


def _encode_mapping(value, keep, inside):
    if all(type(key) is str for key in value) and TAG not in value:
        try:
            for key in value:
                key.encode("utf-8")
            return {key: _encode(item, keep, inside) for key, item in value.items()}
        except UnicodeEncodeError:
            pass
    inside = inside + (0, 0)
    pairs = [
        [_encode(key, keep, inside), _encode(item, keep, inside)] for key, item in value.items()
    ]
    return tagged("dict", pairs)


def in_order(items):
    """The items of a set; their own order means nothing and must not vary."""
    if len({type(item) for item in items} | {int, str}) == 2:
        return sorted(items, key=lambda item: (type(item) is str, item))
    return sorted(items, key=lambda item: json.dumps(encode(item)))


def as_row(value):
    """A record as a column store keeps it: tuples and sets are lists, keys are text."""
    if isinstance(value, Mapping):
        return {str(key): as_row(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_row(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [as_row(item) for item in in_order(value)]
    return value


def decode(value, handles=None):
    if isinstance(value, list):
        return [decode(item, handles) for item in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: decode(item, handles) for key, item in value.items()}
    kind, inner = value[TAG], value.get("value")
    if kind == "handle":
        if handles is None or value.get("id") not in handles:
            raise NotConvertible("a handle of another process")
        return handles[value["id"]]
    reader = _READERS.get(kind)
    if reader is None:
        raise NotConvertible("a value with the unknown tag `%s`" % kind)
    return reader(inner, handles)


_READERS = {
    "tuple": lambda v, h: tuple(decode(item, h) for item in v),
    "set": lambda v, h: {decode(item, h) for item in v},
    "frozenset": lambda v, h: frozenset(decode(item, h) for item in v),
    "dict": lambda v, h: {decode(key, h): decode(item, h) for key, item in v},
    "str": lambda v, h: v.encode("ascii").decode("unicode_escape"),
    "int": lambda v, h: int(v, 0),
    "float": lambda v, h: float(v),
    "complex": lambda v, h: complex(decode(v[0]), decode(v[1])),
    "bytes": lambda v, h: base64.b64decode(v),
    "decimal": lambda v, h: decimal.Decimal(v),
    "datetime": lambda v, h: datetime.datetime.fromisoformat(v),
    "date": lambda v, h: datetime.date.fromisoformat(v),
    "time": lambda v, h: datetime.time.fromisoformat(v),
    "timedelta": lambda v, h: datetime.timedelta(*v),
}
