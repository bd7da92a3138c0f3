"""The registry: what the installed plugins supply, and who supplied it.

`discover` reads the entry points of the group `pio`. Two environment variables steer it:

- `PIO_PLUGINS=a,b` loads only the plugins named, by distribution (`pio-heat`) or by entry point
  (`builtin`, which is ours). Empty, it loads none. Files given to `discover` are always loaded.
- `PIO_STRICT_PLUGINS=1` raises what a broken plugin raised, with its traceback, for its author.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pluggy

from pio import _hooks
from pio._errors import PioError, suggestion
from pio._hooks import GROUP, KINDS, Spec
from pio._options import settle


@dataclass(frozen=True)
class Source:
    """Where a plugin comes from: an entry point of a distribution, or a file."""

    distribution: str | None = None
    version: str | None = None
    entry_point: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        return self.path or " ".join(filter(None, [self.distribution, self.version]))


@dataclass(frozen=True)
class Entry:
    """One name that a plugin supplies."""

    kind: str
    name: str
    target: str | Callable[..., Any]
    summary: str
    source: Source
    settled: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True)
class Broken:
    """A plugin that failed to load, wholly or in one hook, and why."""

    source: Source
    reason: str


@dataclass(frozen=True)
class Plugin:
    """A plugin that was loaded, and the seconds that took."""

    source: Source
    seconds: float


@dataclass(frozen=True)
class Registry:
    """Everything that can be named, as `pio.discover()` finds it.

        registry = pio.discover()
        registry.make("equation", "kdv", {"delta": 0.1})

    A thing is imported when it is first made.
    """

    entries: tuple[Entry, ...]
    broken: tuple[Broken, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    _loaded: dict[tuple[str, str], Callable[..., Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def of(self, kind: str) -> Mapping[str, tuple[Entry, ...]]:
        """The names of a kind. A name that several plugins supply has several entries."""
        if kind not in KINDS:
            raise PioError(f"no kind of plugin named {kind!r}{suggestion(kind, KINDS)}")
        found: dict[str, tuple[Entry, ...]] = {}
        for entry in self.entries:
            if entry.kind == kind:
                found[entry.name] = (*found.get(entry.name, ()), entry)
        return found

    def conflicts(self) -> tuple[str, ...]:
        """A sentence for each name that more than one plugin supplies."""
        return tuple(
            _conflict(entries)
            for kind in KINDS
            for entries in self.of(kind).values()
            if len(entries) > 1
        )

    def find(self, kind: str, name: str) -> Entry:
        """The entry of a name, without importing what it stands for."""
        known = self.of(kind)
        if name not in known:
            blame = "".join(f"\n{complaint(broken)}" for broken in self.broken)
            raise PioError(f"no {kind} named {name!r}{suggestion(name, known)}{blame}")
        if len(known[name]) > 1:
            raise PioError(_conflict(known[name]))
        return known[name][0]

    def load(self, kind: str, name: str) -> Callable[..., Any]:
        """The class or factory behind a name, imported and checked."""
        entry = self.find(kind, name)
        if (kind, name) not in self._loaded:
            self._loaded[kind, name] = _load(entry)
        return self._loaded[kind, name]

    def make(self, kind: str, name: str, options: Mapping[str, Any] | None = None) -> Any:
        """The thing a name stands for, with options that differ from its defaults.

        Options may be text, as the command line brings it; they are converted to the types that
        the plugin declares. What comes back meets the protocol of its kind.
        """
        factory = self.load(kind, name)
        entry = self.find(kind, name)
        settled = settle(factory, options or {}, str(entry))
        try:
            product = factory(**settled)
        except PioError:
            raise
        except Exception as error:
            if _strict():
                raise
            given = (
                ", ".join(f"{key}={value!r}" for key, value in settled.items()) or "its defaults"
            )
            raise PioError(
                f"{entry} ({entry.source}) cannot be made with {given}: {reason(error)}."
            ) from error
        _require(product, entry, dir(product))
        return product


def discover(files: Iterable[str | os.PathLike[str]] = ()) -> Registry:
    """A registry of the installed plugins and of plugins in single files.

    Plugins load one by one. One that fails is recorded in `broken` and leaves the rest alone; a
    file that fails is an error, for it was asked for.
    """
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(_hooks)
    entries: list[Entry] = []
    broken: list[Broken] = []
    plugins: list[Plugin] = []
    for source, load in [*_installed(broken), *_given(files)]:
        start = time.perf_counter()
        problems: list[Broken] = []
        try:
            plugin = load()
            _register(manager, plugin, source)
            entries += _entries(manager, plugin, source, problems)
            plugins.append(Plugin(source, time.perf_counter() - start))
        except (Exception, SystemExit) as error:
            problems.append(_blame(source, error))
        if problems and source.path is not None:
            raise PioError("\n".join(map(complaint, problems)))
        broken += problems
    return Registry(tuple(entries), tuple(broken), tuple(plugins))


def complaint(broken: Broken) -> str:
    """A sentence about a plugin that failed to load."""
    return f"plugin {str(broken.source)!r} failed to load: {broken.reason}"


def _blame(source: Source, error: BaseException, where: str = "") -> Broken:
    """The record of a failure; when plugins are strict, the failure itself."""
    if _strict() and not isinstance(error, PioError):
        raise error
    broken = Broken(source, where + reason(error))
    if _strict():
        raise PioError(complaint(broken)) from error
    return broken


def _strict() -> bool:
    return os.environ.get("PIO_STRICT_PLUGINS", "0") not in ("", "0")


def _normal(name: str) -> str:
    """A distribution's name as packaging compares it: `Pio_Heat` is `pio-heat`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed(broken: list[Broken]) -> Iterator[tuple[Source, Callable[[], Any]]]:
    """The selected entry points, sorted so that listings do not depend on the installation."""
    found: dict[Source, Callable[[], Any]] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        metadata: Any = point.dist.metadata if point.dist else {}
        name = metadata.get("Name") or point.value
        found[Source(name, metadata.get("Version"), point.name)] = point.load
    selected = os.environ.get("PIO_PLUGINS")
    if selected is not None:
        wanted = {_normal(name.strip()) for name in selected.split(",") if name.strip()}
        names = {
            source: {_normal(source.distribution or ""), _normal(source.entry_point or "")}
            for source in found
        }
        known = set().union(*names.values())
        for name in sorted(wanted - known):
            missing = f"PIO_PLUGINS asks for it, and there is none{suggestion(name, known)}"
            broken.append(Broken(Source(name), missing))
        found = {source: load for source, load in found.items() if names[source] & wanted}
    for source in sorted(found, key=lambda s: (s.distribution or "", s.entry_point or "")):
        yield source, found[source]


def _given(
    files: Iterable[str | os.PathLike[str]],
) -> Iterator[tuple[Source, Callable[[], Any]]]:
    """The files, each once."""
    for path in {Path(path).resolve(): path for path in files}.values():
        yield Source(path=os.fspath(path)), functools.partial(_file, Path(path))


def _file(path: Path) -> Any:
    """The module in a file. It is known to `sys.modules`, as dataclasses require."""
    if not path.is_file():
        raise PioError("there is no such file.")
    # The digest keeps two files of one name apart.
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]
    name = f"pio_file_{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise PioError("a plugin is a Python file, with a name that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _register(manager: pluggy.PluginManager, plugin: Any, source: Source) -> None:
    hooks = [kind.hook for kind in KINDS.values()]
    if manager.is_registered(plugin):
        raise PioError("another plugin has registered the same module.")
    manager.register(plugin, name=f"{source} {source.entry_point}")
    implemented = [caller.name for caller in manager.get_hookcallers(plugin) or ()]
    for name in implemented:
        if name not in hooks:
            manager.unregister(plugin)
            raise PioError(f"there is no hook named {name!r}{suggestion(name, hooks)}")
    if not implemented:
        bare = [hook for hook in hooks if callable(getattr(plugin, hook, None))]
        raise PioError(
            f"its {bare[0]} is not marked as a hook; write @pio.hookimpl above it."
            if bare
            else f"it implements no hook; write @pio.hookimpl above a function named {', '.join(hooks[:-1])} or {hooks[-1]}."
        )


def _entries(
    manager: pluggy.PluginManager, plugin: Any, source: Source, broken: list[Broken]
) -> Iterator[Entry]:
    """What each hook of one plugin returns. Hooks are called one by one, to know whom to blame."""
    kinds = {kind.hook: name for name, kind in KINDS.items()}
    for caller in manager.get_hookcallers(plugin) or ():
        for implementation in caller.get_hookimpls():
            if implementation.plugin is not plugin:
                continue
            try:
                supplied = implementation.function()
                yield from [_entry(kinds[caller.name], n, t, source) for n, t in _items(supplied)]
            except (Exception, SystemExit) as error:
                broken.append(_blame(source, error, f"{caller.name}: "))


def _items(supplied: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(supplied, Mapping):
        raise PioError(
            f"a hook returns a mapping from names to pio.Spec or to classes; got {supplied!r}."
        )
    return supplied.items()


def _entry(kind: str, name: Any, target: Any, source: Source) -> Entry:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w+-]*", name):
        raise PioError(f"{name!r} is no {kind}'s name; use letters, digits and hyphens.")
    if isinstance(target, Spec):
        if not re.fullmatch(r"[\w.]+:[\w.]+", target.target):
            raise PioError(f"{kind} {name!r} is at {target.target!r}; write 'package.module:Name'.")
        return Entry(kind, name, target.target, target.summary, source, target.settled)
    if not callable(target):
        raise PioError(
            f"{kind} {name!r} is {target!r}; give a pio.Spec('package.module:Name', 'summary'), "
            "a class or a function."
        )
    return Entry(kind, name, target, first_line(target), source)


def unwrap(target: Any) -> Any:
    """What `functools.partial` wraps: it has the docstring, the file and the fields."""
    while isinstance(target, functools.partial):
        target = target.func
    return target


def documentation(target: Any) -> str:
    """The docstring someone wrote: not the signature that a dataclass makes up for itself."""
    target = unwrap(target)
    text = inspect.getdoc(target) or ""
    name = getattr(target, "__name__", "")
    if isinstance(target, type) and text.startswith(f"{name}("):
        return ""
    return text


def first_line(target: Any) -> str:
    return documentation(target).partition("\n")[0]


def _conflict(entries: tuple[Entry, ...]) -> str:
    names = [repr(e.source.distribution or str(e.source)) for e in entries]
    if len(set(names)) < len(names):  # one distribution, two entry points
        names = [repr(f"{e.source} ({e.source.entry_point})") for e in entries]
    both = "both " if len(names) == 2 else ""
    listed = " and ".join([", ".join(names[:-1]), names[-1]])
    if any(e.source.path for e in entries):
        advice = "leave one out, or rename it."
    else:
        advice = "uninstall one, or select plugins with `PIO_PLUGINS`."
    return f"{entries[0]} is supplied by {both}{listed}; {advice}"


def _load(entry: Entry) -> Callable[..., Any]:
    target = entry.target
    if isinstance(target, str):
        try:
            target = _import(target)
        except (Exception, SystemExit) as error:
            if _strict():
                raise
            raise PioError(
                f"{entry} ({entry.source}) cannot be imported from {entry.target}: {reason(error)}"
            ) from error
    if not callable(target):
        raise PioError(f"{entry} ({entry.source}) is {target!r}, which is no class or function.")
    # A dataclass shows all its members before it is made; other classes may add them in __init__.
    if fields := getattr(bare := unwrap(target), "__dataclass_fields__", None):
        _require(bare, entry, [*dir(bare), *fields])
    return functools.partial(target, **entry.settled) if entry.settled else target


def _import(target: str) -> Any:
    module, _, name = target.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _require(product: Any, entry: Entry, members: Iterable[str]) -> None:
    """Refuse a product that lacks a member of its protocol.

    Membership is looked up in `dir` first, because `hasattr` would run properties.
    """
    if (address := KINDS[entry.kind].protocol) is None:
        return
    protocol = _import(address)
    present = set(members)
    lacking = [
        name + ("()" if inspect.isfunction(member) else "")
        for name, member in _members(protocol).items()
        if name not in present and not hasattr(product, name)
    ]
    if lacking:
        raise PioError(
            f"{entry} ({entry.source}) lacks {' and '.join(lacking)}, "
            f"which {_article(protocol.__name__)} needs; see help(pio.{protocol.__name__})."
        )


def _members(protocol: type) -> dict[str, Any]:
    """What a protocol asks for, in the order it is written: methods, properties, annotations."""
    found: dict[str, Any] = {}
    for base in reversed(protocol.__mro__):
        if getattr(base, "_is_protocol", False) and base.__name__ != "Protocol":
            names = [*inspect.get_annotations(base), *vars(base)]
            found |= {name: vars(base).get(name) for name in names if not name.startswith("_")}
    return found


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"


def reason(error: BaseException) -> str:
    """An exception in one line, with the file and line of the plugin that raised it."""
    if isinstance(error, PioError):
        return str(error)
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<") and Path(frame.filename) != Path(__file__)
    ]
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    if frames and "importlib" not in Path(frames[-1].filename).parts:
        return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"
    return text
