# Rows that answer to the methods of `datasets.Dataset` that functions of tasks use,
# so that the package itself need not be installed. Rows are dicts in a list.
import secrets
from math import ceil, floor

_M32, _M64, _M128 = 2**32 - 1, 2**64 - 1, 2**128 - 1


class _Pcg64:
    """numpy's `default_rng(seed)`, as far as `permutation` needs it: a shuffle must
    give the order that it gives elsewhere, with or without numpy."""

    def __init__(self, seed):
        words = []
        while seed or not words:
            words.append(seed & _M32)
            seed >>= 32
        constant = [0x43B0D7E5]

        def hashed(value, multiplier=0x931E8875):
            value ^= constant[0]
            constant[0] = constant[0] * multiplier & _M32
            value = value * constant[0] & _M32
            return value ^ value >> 16

        def mixed(x, y):
            result = (0xCA01F9DD * x - 0x4973F715 * y) & _M32
            return result ^ result >> 16

        pool = [hashed(words[i] if i < len(words) else 0) for i in range(4)]
        for source in range(4):
            for target in range(4):
                if source != target:
                    pool[target] = mixed(pool[target], hashed(pool[source]))
        for word in words[4:]:
            for target in range(4):
                pool[target] = mixed(pool[target], hashed(word))
        constant[0] = 0x8B51F9DD
        state = [hashed(pool[i % 4], 0x58F38DED) for i in range(8)]
        high, low, inc_high, inc_low = (state[i] | state[i + 1] << 32 for i in range(0, 8, 2))
        self._increment = ((inc_high << 64 | inc_low) << 1 | 1) & _M128
        self._state = 0
        self._step()
        self._state = (self._state + (high << 64 | low)) & _M128
        self._step()
        self._half = None

    def _step(self):
        multiplier = 0x2360ED051FC65DA44385DF649FCCF645
        self._state = (self._state * multiplier + self._increment) & _M128

    def _next32(self):
        if self._half is not None:
            half, self._half = self._half, None
            return half
        self._step()
        word, turn = (self._state >> 64 ^ self._state) & _M64, self._state >> 122
        word = (word >> turn | word << (64 - turn)) & _M64
        self._half = word >> 32
        return word & _M32

    def _up_to(self, limit):
        mask = (1 << limit.bit_length()) - 1
        while True:
            value = self._next32() & mask
            if value <= limit:
                return value

    def permutation(self, n):
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self._up_to(i)
            order[i], order[j] = order[j], order[i]
        return order


def _permutation(n, seed):
    return _Pcg64(secrets.randbits(128) if seed is None else int(seed)).permutation(n)


def _names(value):
    return [value] if isinstance(value, str) else list(value or ())


class Dataset:
    """A table of rows."""

    def __init__(self, rows=(), columns=None):
        self._rows = [dict(row) for row in rows]
        self._columns = columns

    @classmethod
    def from_list(cls, rows, **_):
        return cls(rows)

    @classmethod
    def from_dict(cls, columns, **_):
        names = list(columns)
        return cls((dict(zip(names, cells)) for cells in zip(*columns.values())), names)

    @classmethod
    def from_pandas(cls, frame, **_):
        return cls(frame.to_dict("records"), list(frame.columns))

    @classmethod
    def from_generator(cls, generator, gen_kwargs=None, **_):
        return cls(generator(**(gen_kwargs or {})))

    @property
    def column_names(self):
        names = dict.fromkeys(self._columns or ())
        for row in self._rows:
            names.update(dict.fromkeys(row))
        return list(names)

    @property
    def features(self):
        return dict.fromkeys(self.column_names)

    @property
    def num_rows(self):
        return len(self._rows)

    @property
    def num_columns(self):
        return len(self.column_names)

    @property
    def shape(self):
        return (self.num_rows, self.num_columns)

    def __len__(self):
        return len(self._rows)

    def __iter__(self):
        return (dict(row) for row in self._rows)

    def __getitem__(self, key):
        if isinstance(key, str):
            if key not in self.column_names:
                raise KeyError("column `%s`; there are %s" % (key, self.column_names))
            return [row.get(key) for row in self._rows]
        if isinstance(key, slice):
            return self._batch(self._rows[key])
        if hasattr(key, "__index__"):
            return dict(self._rows[key])
        return self._batch([self._rows[index] for index in key])

    def __repr__(self):
        return "Dataset({\n    features: %s,\n    num_rows: %d\n})" % (self.column_names, len(self))

    def _batch(self, rows):
        return {name: [row.get(name) for row in rows] for name in self.column_names}

    def _calls(self, function, with_indices, input_columns, fn_kwargs):
        kwargs, columns = fn_kwargs or {}, _names(input_columns)

        def call(row, index):
            args = [row[name] for name in columns] if columns else [row]
            return function(*args, *([index] if with_indices else []), **kwargs)

        return call

    def map(self, function=None, with_indices=False, batched=False, batch_size=1000,
            remove_columns=None, fn_kwargs=None, input_columns=None, **_):
        if function is None:
            return Dataset(self._rows, self._columns)
        call = self._calls(function, with_indices, input_columns, fn_kwargs)
        removed, out = set(_names(remove_columns)), []
        if batched:
            size = batch_size if batch_size and batch_size > 0 else max(len(self), 1)
            for start in range(0, len(self), size):
                rows = self._rows[start:start + size]
                columns = self._batch(rows)
                result = call(columns, list(range(start, start + len(rows))))
                merged = {k: v for k, v in columns.items() if k not in removed}
                merged.update(result or {})
                lengths = {len(cells) for cells in merged.values()}
                if len(lengths) > 1:
                    raise ValueError("columns of different length after a batched `map`: %s"
                                     % {k: len(v) for k, v in merged.items()})
                out.extend(dict(zip(merged, cells)) for cells in zip(*merged.values()))
            return Dataset(out)
        for index, row in enumerate(self._rows):
            given = dict(row)
            result = call(given, index)
            if result is None:
                out.append(given)
                continue
            merged = {k: v for k, v in given.items() if k not in removed}
            merged.update(result)
            out.append(merged)
        return Dataset(out)

    def filter(self, function=None, with_indices=False, batched=False, batch_size=1000,
               fn_kwargs=None, input_columns=None, **_):
        if function is None:
            return Dataset(self._rows, self._columns)
        call = self._calls(function, with_indices, input_columns, fn_kwargs)
        if batched:
            kept, size = [], batch_size if batch_size and batch_size > 0 else max(len(self), 1)
            for start in range(0, len(self), size):
                rows = self._rows[start:start + size]
                flags = call(self._batch(rows), list(range(start, start + len(rows))))
                kept.extend(row for row, flag in zip(rows, flags) if flag)
        else:
            kept = [row for i, row in enumerate(self._rows) if call(dict(row), i)]
        return Dataset(kept, self.column_names)

    def select(self, indices, **_):
        return Dataset((self._rows[index] for index in indices), self.column_names)

    def take(self, n):
        return Dataset(self._rows[:n], self.column_names)

    def skip(self, n):
        return Dataset(self._rows[n:], self.column_names)

    def shuffle(self, seed=None, generator=None, **_):
        if generator is not None:
            return self.select(generator.permutation(len(self)))
        return self.select(_permutation(len(self), seed))

    def sort(self, column_names, reverse=False, **_):
        names = _names(column_names)
        reverses = reverse if isinstance(reverse, list) else [reverse] * len(names)
        rows = list(self._rows)
        for name, backwards in reversed(list(zip(names, reverses))):
            rows.sort(key=lambda row: row[name], reverse=backwards)
        return Dataset(rows, self.column_names)

    def shard(self, num_shards, index, contiguous=True, **_):
        if contiguous:
            size, extra = divmod(len(self), num_shards)
            start = index * size + min(index, extra)
            return self.select(range(start, start + size + (index < extra)))
        return self.select(range(index, len(self), num_shards))

    def train_test_split(self, test_size=None, train_size=None, shuffle=True, seed=None, **_):
        n = len(self)

        def count(size, rounded):
            return None if size is None else rounded(size * n) if isinstance(size, float) else size

        test, train = count(test_size, ceil), count(train_size, floor)
        if test is None:
            test = ceil(0.25 * n) if train is None else n - train
        train = n - test if train is None else train
        if test < 0 or train < 0 or test + train > n:
            raise ValueError("cannot split %d rows into %d and %d" % (n, train, test))
        if not shuffle:
            order = list(range(n))
            return DatasetDict(train=self.select(order[:train]), test=self.select(order[train:train + test]))
        order = _permutation(n, seed)
        return DatasetDict(train=self.select(order[test:test + train]), test=self.select(order[:test]))

    def unique(self, column):
        return list(dict.fromkeys(self[column]))

    def rename_column(self, old, new):
        return self.rename_columns({old: new})

    def rename_columns(self, names):
        self._check(names)
        return Dataset(({names.get(k, k): v for k, v in row.items()} for row in self._rows),
                       [names.get(name, name) for name in self.column_names])

    def remove_columns(self, names):
        gone = set(_names(names))
        self._check(gone)
        return Dataset(({k: v for k, v in row.items() if k not in gone} for row in self._rows),
                       [name for name in self.column_names if name not in gone])

    def select_columns(self, names):
        self._check(_names(names))
        return Dataset(({name: row.get(name) for name in _names(names)} for row in self._rows))

    def add_column(self, name, column, **_):
        if len(column) != len(self):
            raise ValueError("a column of %d values for %d rows" % (len(column), len(self)))
        return Dataset((dict(row, **{name: cell}) for row, cell in zip(self._rows, column)))

    def add_item(self, item, **_):
        return Dataset(self._rows + [item])

    def flatten_indices(self, **_):
        return self

    def cast_column(self, *_, **__):
        return self

    def with_format(self, *_, **__):
        return self

    def to_pandas(self, **_):
        import pandas
        return pandas.DataFrame(self._rows, columns=self.column_names)

    def to_list(self):
        return [dict(row) for row in self._rows]

    def to_dict(self, **_):
        return self._batch(self._rows)

    def _check(self, names):
        missing = [name for name in names if name not in self.column_names]
        if missing:
            raise ValueError("no column %s; there are %s" % (missing, self.column_names))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            "the built-in stand-in for `datasets.Dataset` has no `%s`" % name)


class DatasetDict(dict):
    """Tables by split."""

    def _each(name):
        def method(self, *args, **kwargs):
            return DatasetDict({k: getattr(v, name)(*args, **kwargs) for k, v in self.items()})

        method.__name__ = name
        return method

    for _name in ("map", "filter", "shuffle", "sort", "select_columns", "rename_column",
                  "rename_columns", "remove_columns", "with_format", "cast_column"):
        locals()[_name] = _each(_name)
    del _each, _name

    @property
    def column_names(self):
        return {split: table.column_names for split, table in self.items()}


def concatenate_datasets(tables, **_):
    return Dataset(row for table in tables for row in table)


def load_dataset(path, *args, **kwargs):
    raise ImportError("`datasets.load_dataset(%r)` needs the package `datasets`; it is not "
                      "installed for %s" % (path, sys.executable), name="datasets")


def load_metric(path, *args, **kwargs):
    raise ImportError("`datasets.load_metric(%r)` is gone from current versions of `datasets`; "
                      "`evaluate.load` of the package `evaluate` took its place" % path,
                      name="evaluate")


class Features(dict):
    """Types of columns, which are not modelled: kept, without effect."""


class Value:
    def __init__(self, *args, **kwargs):
        self.dtype = args[0] if args else kwargs.get("dtype")


class Sequence(Value):
    pass


class ClassLabel(Value):
    def __init__(self, num_classes=None, names=None, **_):
        self.names = list(names or map(str, range(num_classes or 0)))
        self.num_classes = len(self.names)

    def int2str(self, number):
        return self.names[number]

    def str2int(self, name):
        return self.names.index(name)


def _without_effect(*_, **__):
    """Caches and progress bars, of which there are none."""
