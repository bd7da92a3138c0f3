"""What holds for plugins of every kind: they can be made, listed, and written into a config."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from functools import cache
from typing import Any

import tomli_w

from pio._config import _plain
from pio._errors import PioError
from pio._hooks import KINDS
from pio._options import REQUIRED, options, settle
from pio._registry import Source, _import, _members
from pio.testing._check import Advice, Failure, Unfit, blame, check, culprit, require
from pio.testing._subject import Subject

CHECKED = ("equation", "architecture", "weighting", "embedding", "optimizer")


@check(*CHECKED)
def makes(subject: Subject) -> None:
    """It is made with these options, and has every member that its kind needs."""
    protocol = _import(str(KINDS[subject.kind].protocol))
    try:
        product = subject.product
    except PioError as error:
        raise Failure(
            str(error),
            f"help(pio.{protocol.__name__}) says what each member is; an option without a default is given by "
            "--set KEY=VALUE, or as a keyword of the suite.",
        ) from error
    for name in _members(protocol):
        try:
            member = getattr(product, name)
        except Exception as error:
            raise Failure(
                f"{subject.noun}.{name} raised {blame(error)}",
                "look at that line." if culprit(error) else "look at what it computes.",
            ) from error
        require(
            not isinstance(member, type),
            f"{subject.noun}.{name} is a class; make one: {getattr(member, '__name__', name)}().",
            f"write {name} = {getattr(member, '__name__', name)}(…), with its options.",
        )


@check(*CHECKED)
def registration(subject: Subject) -> None:
    """Listing it imports no JAX, so that `pio --help` stays quick."""
    entry = subject.entry
    if entry.source.path is not None:
        raise Unfit("a single file is imported as it is")
    if entry.source.distribution is None:
        raise Unfit("it was given by its class; check it by its name once it is installed")
    heavy = _imports(entry.source)
    require(
        not heavy,
        f"{entry.source.distribution} imports {' and '.join(heavy)} when plugins are listed: its entry point "
        f"{entry.source.entry_point!r} leads to a module that does.",
        'let the hook return pio.Spec("package.module:Class", "one line of summary"), and let the module that '
        "the entry point names import nothing but pio.",
    )
    if not entry.summary:
        raise Advice(
            f"`pio plugins` shows {subject} without a word about it.",
            "Give its pio.Spec a summary, or its class a docstring.",
        )


@cache
def _imports(source: Source) -> tuple[str, ...]:
    """Which heavy packages a new process has imported once it has listed what a distribution supplies."""
    code = (
        "import sys, pio; pio.discover(); "
        "print(*[name for name in ('jax', 'optax', 'scipy') if name in sys.modules])"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PIO_PLUGINS": source.distribution or "",
        "PIO_STRICT_PLUGINS": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise Failure(
            f"a new process cannot list {source}: {done.stderr.strip().splitlines()[-1]}",
            "import the module that the entry point names, and mend what it raises.",
        )
    return tuple(done.stdout.split())


@check(*CHECKED, after="makes", name="options")
def written(subject: Subject) -> None:
    """Its options go through a config file, and make the same thing again."""
    factory = subject.registry.load(subject.kind, subject.name)
    known = options(factory)
    values = {o.name: o.default for o in known if o.default is not REQUIRED}
    values |= settle(factory, subject.options, str(subject))
    try:
        text = tomli_w.dumps(_plain(values))
    except TypeError as error:
        odd = [f"{k} = {v!r}" for k, v in values.items() if not _writable(v)]
        raise Failure(
            f"a config file cannot hold {' and '.join(odd)} of {subject.noun}.",
            "make options numbers, text, booleans, none, or tuples of these, and build the rest from them.",
        ) from error
    again = settle(factory, tomllib.loads(text), str(subject))
    changed = [k for k, v in values.items() if _listed(again[k]) != _listed(v)]
    require(
        not changed,
        f"option {changed and changed[0]} of {subject.noun} comes back from a config file as "
        f"{changed and again[changed[0]]!r}.",
        "annotate it with the type that it has, `width: int = pio.option(64, …)`.",
    )
    other = subject.registry.make(subject.kind, subject.name, again)
    mend = "write it as a dataclass, with @dataclass(frozen=True): it then compares and hashes by its options."
    require(
        other == subject.product,
        f"two {subject.noun} made with the same options are not equal, so programs are compiled again for each.",
        mend,
    )
    if subject.kind in ("equation", "architecture", "embedding"):
        require(_hashes(other, subject.product), f"{subject.noun} cannot be hashed.", mend)
    silent = [o.name for o in known if not o.help]
    if silent:
        raise Advice(
            f"`pio describe {subject.kind} {subject.name}` says nothing about {', '.join(silent)}.",
            f'Write {silent[0]} as pio.option(default, "what it is").',
        )


def _writable(value: Any) -> bool:
    try:
        tomli_w.dumps({"value": _plain(value)})
    except TypeError:
        return False
    return True


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _hashes(a: Any, b: Any) -> bool:
    try:
        return hash(a) == hash(b)
    except TypeError:
        return False
