# Finds `!function module.name` as a task file means it: a Python file beside the YAML
# file, else a module of the environment.
import contextlib
import difflib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types


class LoadError(Exception):
    """A reference that leads nowhere; the message says why."""


class Folder:
    """The modules of one directory. They are kept apart from those of other
    directories: every second task has a `utils.py` of its own."""

    def __init__(self, path):
        self.path = path
        self.package = "_task_" + hashlib.sha1(os.fsencode(path)).hexdigest()[:16]
        self.loaded = {}
        self.siblings = {}
        self._depth = 0

    def _packages(self, parents):
        # Packages without code of their own, so that `from . import x` finds siblings.
        name, path = self.package, self.path
        for part in [None] + parents:
            if part is not None:
                name, path = name + "." + part, os.path.join(path, part)
            if name not in sys.modules:
                package = types.ModuleType(name)
                package.__path__ = [path]
                sys.modules[name] = package
        return name

    def module(self, dotted):
        """The module in the file that the name leads to, `None` if there is no file."""
        if os.path.isabs(dotted) and os.path.isfile(dotted + ".py"):
            # A whole path, whose folders may have dots in their names.
            place, name = os.path.split(dotted)
            home = folder(place)
            if home is not self:
                with home.entered():
                    return home.module(name)
            dotted = name
        parts = dotted.split(".")
        path = os.path.join(self.path, *parts) + ".py"
        try:
            modified = os.stat(path).st_mtime_ns
        except OSError:
            return None
        known = self.loaded.get(path)
        if known is not None and known[0] == modified:
            return known[1]
        name = self._packages(parts[:-1]) + "." + parts[-1]
        # Read afresh: a cached `.pyc` knows whole seconds only.
        loader = _SourceLoader(name, path)
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_file_location(name, path, loader=loader))
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        self.loaded[path] = (modified, module)
        return module

    @contextlib.contextmanager
    def entered(self):
        """While inside, plain `import sibling` works too, also late in a function. The
        directory comes last: it must not hide a module of the environment."""
        self._depth += 1
        if self._depth > 1:
            try:
                yield
            finally:
                self._depth -= 1
            return
        sys.modules.update(self.siblings)
        before, count = set(sys.modules), len(sys.modules)
        sys.path.append(self.path)
        try:
            yield
        finally:
            self._depth = 0
            with contextlib.suppress(ValueError):
                sys.path.remove(self.path)
            if len(sys.modules) != count:
                for name in set(sys.modules) - before:
                    file = getattr(sys.modules[name], "__file__", None) or ""
                    if file.startswith(self.path + os.sep) and not name.startswith("_task_"):
                        self.siblings[name] = sys.modules[name]
            for name, module in self.siblings.items():
                if sys.modules.get(name) is module:
                    del sys.modules[name]


class _SourceLoader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


_folders = {}


def folder(directory):
    path = os.path.abspath(directory)
    if path not in _folders:
        _folders[path] = Folder(path)
        for parent in _parents(path):
            if os.path.basename(parent) == "tasks" and parent not in TASK_ROOTS:
                TASK_ROOTS.append(parent)
    return _folders[path]


# Folders that `lm_eval.tasks` stands for when that package is not installed: those that are
# called `tasks`, and those in which something was found.
TASK_ROOTS = []


def task_root_of(name):
    """The folder above a task's own in which a name of `lm_eval.tasks` lies; trees need not
    be called `tasks`."""
    for home in reversed(list(_folders.values())):
        for parent in _parents(os.path.dirname(home.path)):
            path = os.path.join(parent, name)
            if os.path.isdir(path) or os.path.isfile(path + ".py"):
                return parent
    return None


def _parents(path):
    while True:
        yield path
        path, last = os.path.split(path)
        if not last:
            return


def registered(directory, name):
    """What the modules of a task register by decorator: `module, module::kind::name`."""
    modules, kind, wanted = name.rsplit("::", 2)
    loaded = []
    for module in modules.split(", "):
        place, _, dotted = module.rpartition("/")
        home = folder(place.replace("%2C", ",").replace("%25", "%") or directory)
        with home.entered():
            loaded.append((home, home.module(dotted) or importlib.import_module(dotted)))
    registry = importlib.import_module("lm_eval.api.registry")
    is_stand_in = getattr(registry, "__stand_in__", False)

    def own(names):
        """The modules that registered it: those of the task before all others."""
        here = {module.__name__ for _, module in loaded}
        homes = tuple(home.package + "." for home, _ in loaded)
        ranked = sorted(names, key=lambda name: (
            name in here, str(name).startswith(homes)), reverse=True)
        return ranked[0] if ranked else None

    if kind == "metric_aggregation":
        module = own([module for one, module in METRIC_AGGREGATION if one == wanted])
        if module is None:
            return mean if is_stand_in else _really_registered(registry, kind, wanted)
        wanted, kind = METRIC_AGGREGATION[wanted, module], "aggregation"
    module = own([by for a_kind, one, by in REGISTERED_BY if (a_kind, one) == (kind, wanted)])
    target = REGISTERED_BY.get((kind, wanted, module), REGISTERED[kind].get(wanted))
    if target is None and not is_stand_in:
        target = _really_registered(registry, kind, wanted)
    if target is None:
        there = sorted({one for a_kind, one, _ in REGISTERED_BY if a_kind == kind})
        raise LoadError("no %s `%s` is built in, and the code of the task registers %s" % (
            kind, wanted, ", ".join("`%s`" % one for one in there) or "none"))
    return target


def _really_registered(registry, kind, wanted):
    """What the installed package has under a name, `None` if nothing: it may log that, or
    raise something."""
    try:
        return getattr(registry, "get_" + kind)(wanted)
    except Exception:
        return None


def find(directory, name):
    """The function or class that a reference names."""
    if "::" in name:
        return registered(directory, name)
    module_name, dot, attribute = name.rpartition(".")
    if not dot or not module_name or not attribute:
        raise LoadError("it has no dot: a module and a name are needed, as in `utils.process`")
    home = folder(directory)
    module = home.module(module_name)
    if module is None:
        if not os.path.isdir(home.path):
            raise LoadError("its directory does not exist")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and (module_name + ".").startswith(error.name + "."):
                file = os.path.join(*module_name.split(".")) + ".py"
                raise LoadError("there is no file `%s` beside the YAML file and no module `%s` "
                                "for %s" % (file, module_name, sys.executable)) from None
            raise
    try:
        return getattr(module, attribute)
    except AttributeError:
        near = difflib.get_close_matches(attribute, list(vars(module)), 1)
        where = getattr(module, "__file__", None) or module_name
        raise LoadError("there is no `%s` in `%s`%s" % (
            attribute, where, "; did you mean `%s`?" % near[0] if near else "")) from None
