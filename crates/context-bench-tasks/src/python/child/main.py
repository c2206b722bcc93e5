# The loop: a request per line on a private copy of stdin, replies on one of stdout.
# Functions run in the main thread, since some of them set alarms.
import dataclasses
import inspect
import io
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback

CHUNK_ITEMS, CHUNK_CHARACTERS = 512, 1 << 18
OWN = "<context-bench"


class Printed(io.RawIOBase):
    """What functions print: passed on to stderr, its end kept for messages."""

    LIMIT = 4096

    def __init__(self):
        self.tail = b""

    def writable(self):
        return True

    def fileno(self):
        return 2

    def write(self, data):
        data = bytes(data)
        self.tail = (self.tail + data)[-self.LIMIT:]
        rest = data
        while rest:
            rest = rest[os.write(2, rest):]
        return len(data)

    def text(self):
        return self.tail.decode("utf-8", "replace")


class Replies:
    """Lines to the parent. Each goes out at once, so that what was answered is known
    to have been answered, whatever the next call does."""

    def __init__(self, fd):
        self.fd = fd

    def line(self, text):
        rest = memoryview((text + "\n").encode("utf-8"))
        while rest:
            rest = rest[os.write(self.fd, rest):]

    def send(self, **reply):
        self.line(_dumps(reply))

    def items(self, values, keep=None):
        """Sends all but the last items of a list in portions; gives what is left."""
        parts, size, sent = [], 0, False
        for value in values:
            part = _dumps(encode(value, keep))
            parts.append(part)
            size += len(part)
            if len(parts) >= CHUNK_ITEMS or size >= CHUNK_CHARACTERS:
                self.line('{"items":[' + ",".join(parts) + "]}")
                parts, size, sent = [], 0, True
        return "[" + ",".join(parts) + "]", sent

    def result(self, value, keep=None):
        """A value; long lists and iterators in portions."""
        is_tuple = isinstance(value, tuple)
        if is_tuple or isinstance(value, (list, Dataset)) or hasattr(value, "__next__"):
            rest, sent = self.items(value, keep)
            if sent:
                self.line('{"items":%s}' % rest)
                self.send(end="tuple" if is_tuple else "list")
            elif is_tuple:
                self.line('{"ok":{"%s":"tuple","value":%s}}' % (TAG, rest))
            else:
                self.line('{"ok":%s}' % rest)
        else:
            self.line('{"ok":%s}' % _dumps(encode(value, keep)))


def _dumps(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _own_frame(frame):
    name = frame.filename
    return name.startswith((OWN, "<frozen importlib")) or name.endswith("importlib/__init__.py")


def described(error, printed):
    """An exception as data, without the frames of this program."""
    report = traceback.TracebackException.from_exception(error, limit=-60)
    seen, chain = set(), [report]
    while chain:
        part = chain.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        part.stack[:] = [frame for frame in part.stack if not _own_frame(frame)]
        chain += [part.__cause__, part.__context__]
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__", __name__):
        name = kind.__module__ + "." + name
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be made)"
    last = report.stack[-1] if report.stack else None
    file, line = (last.filename, last.lineno) if last else (None, None)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    text = "".join(report.format())
    return {
        "type": name,
        "message": _clean(message[:20_000]),
        "traceback": _clean(text[-20_000:]),
        "printed": _clean(printed.text()),
        "file": None if file is None else _clean(file),
        "line": line,
        "package": lacking_package(error),
    }


# Packages whose modules have another name.
PACKAGES = {"sklearn": "scikit-learn", "yaml": "pyyaml", "rouge_score": "rouge-score",
            "bert_score": "bert-score", "math_verify": "math-verify", "lm_eval": "lm-eval",
            "antlr4": "antlr4-python3-runtime", "PIL": "pillow", "bs4": "beautifulsoup4",
            "dateutil": "python-dateutil", "kstar_planner": "kstar-planner"}


def lacking_package(error):
    """The package that is not installed, if that is why something could not be imported;
    code that guards an import raises something else then."""
    seen = set()
    # A reference that leads nowhere is a mistake in the file.
    if isinstance(error, LoadError):
        return None
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        name = getattr(error, "name", None)
        if isinstance(error, ImportError) and name:
            stands_in = getattr(sys.modules.get(name), "__stand_in__", False)
            if isinstance(error, ModuleNotFoundError) or stands_in:
                root = name.partition(".")[0]
                return PACKAGES.get(root, root)
        error = error.__cause__ or error.__context__
    return None


def _clean(text):
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Child:
    def __init__(self, requests, replies, printed):
        self.requests, self.replies, self.printed = requests, replies, printed
        self.staged = {}
        self.task = None
        self.handles = {}

    def run(self):
        while True:
            request = self.requests.get()
            if request is None:
                return
            getattr(self, "do_" + request["op"])(request)

    def answer(self, work, kind="raised", keep=None):
        """Sends the result of `work`, or what it raised."""
        self.printed.tail = b""
        try:
            self.replies.result(work(), keep)
        except BaseException as error:
            self.fail(error, kind)

    def fail(self, error, kind="raised"):
        if isinstance(error, LoadError):
            kind = "reference"
        elif isinstance(error, NotConvertible):
            kind = "value"
        self.replies.send(error=dict(described(error, self.printed), kind=kind))

    def found(self, request):
        """The function of a request, or `None` after its failure was sent."""
        self.printed.tail = b""
        function = request["function"]
        try:
            with folder(function["directory"]).entered():
                return (find(function["directory"], function["name"]),)
        except BaseException as error:
            self.fail(error, "load")
            return None

    def do_call(self, request):
        target = self.found(request)
        if target is None:
            return
        # The number of replies is known only from here on: loading may have failed.
        self.replies.send(loaded=None)
        with folder(request["function"]["directory"]).entered():
            for call in request["calls"]:
                self.answer(lambda: applied(target[0], call))

    def do_stage(self, request):
        rows = self.staged.setdefault(request.get("split"), [])
        rows.extend(decode(request["rows"]))
        self.replies.send(ok=len(rows))

    def do_rows(self, request):
        rows = self.staged.pop(None, [])
        target = self.found(request)
        if target is None:
            return
        with folder(request["function"]["directory"]).entered():
            self.answer(lambda: map(as_row, rows_of(target[0](Dataset(rows)))))

    def do_splits(self, request):
        target = self.found(request)
        if target is None:
            return
        self.printed.tail = b""
        try:
            with folder(request["function"]["directory"]).entered():
                splits = target[0](**decode(request["kwargs"]))
                if not isinstance(splits, Mapping):
                    raise NotConvertible("a mapping from split to rows was expected, found a "
                                         "`%s`" % type(splits).__name__)
                for split, rows in splits.items():
                    rest, _ = self.replies.items(map(as_row, rows_of(rows)))
                    self.replies.line('{"items":%s}' % rest)
                    self.replies.send(split=str(split))
                self.replies.send(end="splits")
        except BaseException as error:
            self.fail(error)

    # A class of a task: one object per process, ended with it.

    def do_build(self, request):
        target = self.found(request)
        if target is None:
            return
        splits = {name: Dataset(rows) for name, rows in self.staged.items()}
        self.staged = {}
        self.home = folder(request["function"]["directory"])

        def build():
            PROVIDED.update(splits)
            config = decode(request["config"])
            functions_in(config)
            takes = "config" in inspect.signature(target[0]).parameters
            self.task = target[0](config=config) if takes else target[0]()
            named(self.task, config.get("task"))
            return {"type": type(self.task).__qualname__, "config": takes}

        with self.home.entered():
            self.answer(build)

    def do_method(self, request):
        def call():
            target = self.at(request)
            method = getattr(target, request["name"])
            return method(*decode(request["args"], self.handles),
                          **decode(request["kwargs"], self.handles))

        with self.home.entered():
            self.answer(call, keep=self.keep)

    def do_get(self, request):
        with self.home.entered():
            self.answer(lambda: getattr(self.at(request), request["name"]), keep=self.keep)

    def do_set(self, request):
        with self.home.entered():
            self.answer(lambda: setattr(
                self.at(request), request["name"], decode(request["value"], self.handles)))

    def do_requests(self, request):
        def build():
            arguments = inspect.signature(self.task.build_all_requests).parameters
            given = decode(request["kwargs"])
            if not any(p.kind is p.VAR_KEYWORD for p in arguments.values()):
                given = {k: v for k, v in given.items() if k in arguments}
            self.task.build_all_requests(**given)
            return map(described_request, self.task.instances)

        with self.home.entered():
            self.answer(build)

    def do_scores(self, request):
        """Responses in; per document and filter, what `process_results` says."""
        responses = self.staged.pop(None, [])

        def score():
            instances = self.task.instances
            if len(responses) != len(instances):
                raise ValueError("%d lists of responses for %d requests"
                                 % (len(responses), len(instances)))
            groups = {}
            for one, texts in zip(instances, responses):
                one.resps = texts
                groups.setdefault(one.doc_id, []).append(one)
            self.task.apply_filters()
            for doc_id, group in groups.items():
                group.sort(key=lambda one: one.idx)
                for name in group[0].filtered_resps:
                    results = [one.filtered_resps[name] for one in group]
                    yield {"doc_id": doc_id, "filter": name, "filtered_resps": results,
                           "metrics": self.task.process_results(group[0].doc, results),
                           "doc": group[0].doc, "target": target_of(self.task, group[0].doc)}

        with self.home.entered():
            self.answer(score)

    def do_aggregate(self, request):
        def aggregate():
            functions = self.task.aggregation()
            if request["metric"] not in functions:
                raise LookupError("no aggregation for the metric `%s`; there are %s"
                               % (request["metric"], sorted(functions)))
            return functions[request["metric"]](decode(request["values"]))

        with self.home.entered():
            self.answer(aggregate)

    def do_drop(self, request):
        self.handles.pop(request["id"], None)
        self.replies.send(ok=None)

    def at(self, request):
        handle = request.get("handle")
        return self.task if handle is None else decode(handle, self.handles)

    def keep(self, value, encoded):
        """Holds on to an object that has no JSON form; gives the handle to it."""
        number = len(self.handles) + 1
        while number in self.handles:
            number += 1
        self.handles[number] = value
        handle = {TAG: "handle", "id": number, "type": type(value).__qualname__}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            handle["value"] = {
                field.name: encoded(getattr(value, field.name, None))
                for field in dataclasses.fields(value)
            }
        return handle


def target_of(task, doc):
    """For logs only: a class that tells no target still has its scores."""
    try:
        return task.doc_to_target(doc)
    except Exception:
        return None


def described_request(one):
    return {
        "request_type": one.request_type, "arguments": list(one.args), "doc_id": one.doc_id,
        "idx": one.idx, "repeats": getattr(one, "repeats", 1) or 1,
    }


def named(task, name):
    """Gives the task its name, as far as its configuration takes one."""
    config = getattr(task, "config", None)
    if name is None or config is None:
        return
    if isinstance(config, dict):
        config["task"] = name
    else:
        try:
            config.task = name
        except AttributeError:
            pass


def functions_in(value):
    """Puts the functions themselves where a configuration refers to them."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(pairs):
        if isinstance(item, dict) and set(item) == {"!function", "directory"}:
            value[key] = find(item["directory"], item["!function"])
        elif isinstance(item, (dict, list)):
            functions_in(item)


def applied(target, call):
    args, kwargs = decode(call["args"]), decode(call["kwargs"])
    if isinstance(target, type) and not args and "resps" in kwargs and "docs" in kwargs:
        # A filter of the task's own.
        resps, docs = kwargs.pop("resps"), kwargs.pop("docs")
        return target(**kwargs).apply(resps, docs)
    if not args and "references" in kwargs and "predictions" in kwargs and not takes(target, kwargs):
        # A metric of one parameter gets the right answer and what was answered.
        return target([kwargs["references"][0], kwargs["predictions"][0]])
    return target(*args, **kwargs)


def takes(target, kwargs):
    """Whether a function can be called with these keywords."""
    try:
        inspect.signature(target).bind(**kwargs)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def rows_of(table):
    """The rows of whatever a function takes for a table."""
    if table is None:
        raise NotConvertible("`None` instead of rows; is a `return` missing?")
    if isinstance(table, (str, bytes)) or not isinstance(table, Iterable):
        raise NotConvertible("a `%s` instead of rows" % type(table).__name__)
    if isinstance(table, Mapping):
        return (dict(zip(table, cells)) for cells in zip(*table.values()))
    to_dict = getattr(table, "to_dict", None)
    if callable(to_dict) and hasattr(table, "iterrows"):
        return to_dict("records")
    return iter(table)


def read_requests(stream, requests):
    """Ends the process when the parent is gone, even in the middle of a call."""
    for line in stream:
        requests.put(json.loads(line))
    requests.put(None)
    time.sleep(1)
    os._exit(0)


def main(stream):
    replies_fd = os.dup(1)
    # From here on nobody else has the pipes: prints go to stderr, reads find nothing.
    os.dup2(2, 1)
    printed = Printed()
    for name in ("stdout", "stderr"):
        setattr(sys, name, io.TextIOWrapper(
            printed, encoding="utf-8", errors="backslashreplace", write_through=True))
    sys.stdin = open(os.devnull)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
    # `-c` puts the current directory first; it is not part of any task.
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    sys.argv = ["context-bench"]
    sys.meta_path.insert(0, WatchedRegistry())
    sys.meta_path.append(StandIns())
    requests, replies = queue.Queue(), Replies(replies_fd)
    threading.Thread(target=read_requests, args=(stream, requests), daemon=True).start()
    replies.send(ready=None)
    Child(requests, replies, printed).run()
