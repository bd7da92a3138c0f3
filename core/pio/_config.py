"""A config: every choice of a run, with nothing left to defaults that may change."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import tomli_w

from pio._errors import PioError, suggestion
from pio._options import REQUIRED, convert, option, options, settle
from pio._recipe import Blocks, Choice, Recipe, Tables
from pio._registry import Registry

SCHEMA = 1
"""The form of a config and of a run directory. A higher number was written by a later version."""

# Sections that name a plugin, and the kind it is of.
PLUGINS = {
    "equation": "equation",
    "arch": "architecture",
    "embedding": "embedding",
    "weighting": "weighting",
    "optimizer": "optimizer",
}
SAMPLING = {"blocks": Blocks, "tables": Tables}


@dataclass(frozen=True)
class Train:
    """The section `[train]`: what determines the result, beside plugins and sampling."""

    steps: int = option(10_000, "steps of the optimiser")
    seed: int = option(0, "seed of parameters, functions and points")
    precision: Literal[32, 64] = option(32, "bits of a number")
    constraints: Literal["soft", "hard"] = option(
        "soft", "conditions as terms of the loss, or met exactly by the ansatz"
    )
    centred: bool = option(False, "networks see periodic u moved to a standard place")
    train_functions: int | Literal["fresh"] = option(
        "fresh", "input functions to train on, or fresh ones every step"
    )
    test_functions: int = option(100, "input functions to measure the error on")
    evaluations: int = option(20, "how often the test error is measured")
    init_from: str | None = option(None, "a run whose parameters are the first ones")
    init_sha256: str | None = option(None, "what these have to be; none is what they are at first")
    hold: int = option(1, "steps for which a batch is kept before the next is drawn")
    rows: int | None = option(None, "rows a network visits at a time; none is what fits the cache")

    def __post_init__(self) -> None:
        least = {"steps": 1, "seed": 0, "test_functions": 1, "evaluations": 1, "hold": 1, "rows": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                raise PioError(f"train.{name} is at least {bound} (got {value}).")
        if self.train_functions != "fresh" and self.train_functions < 1:
            raise PioError(
                f"train.train_functions is 'fresh' or at least 1 (got {self.train_functions})."
            )
        if self.seed >= 2**32:
            raise PioError(f"train.seed is below 2³² (got {self.seed}).")
        if self.steps >= 2**31:  # steps are counted in 32 bits
            raise PioError(f"train.steps is below 2³¹ (got {self.steps}).")
        if self.init_from is None and self.init_sha256 is not None:
            raise PioError("train.init_sha256 belongs to a run; name it with --init-from RUN.")


@dataclass(frozen=True)
class Data:
    """The section `[data]`: measurements of the solution, a term of the loss. Without a file there are none."""

    file: str | None = option(None, "an .npz file with u, coordinates and what was measured there")
    sha256: str | None = option(None, "what the file has to be; none is what it is at first")
    batch: int | None = option(None, "measurements in a step; none is all, 1024 at most")

    def __post_init__(self) -> None:
        if self.batch is not None and self.batch < 1:
            raise PioError(f"data.batch is at least 1 (got {self.batch}).")
        if self.file is None and (self.sha256 is not None or self.batch is not None):
            raise PioError("section 'data' names no file; give one with --data FILE.npz.")


@dataclass(frozen=True)
class Keep:
    """The section `[run]`: what is kept on the way. It does not change the result."""

    checkpoint_seconds: float = option(60.0, "seconds between checkpoints")
    checkpoints: int = option(2, "how many of the latest to keep, beside the best")

    def __post_init__(self) -> None:
        if not self.checkpoint_seconds > 0 or self.checkpoints < 1:
            raise PioError(
                "run.checkpoint_seconds is positive and run.checkpoints at least 1 "
                f"(got {self.checkpoint_seconds} and {self.checkpoints})."
            )


@dataclass(frozen=True)
class Config:
    """A run is a pure function of this. `toml` writes it, `resolve` reads it."""

    equation: Choice
    arch: Choice
    embedding: Choice
    weighting: Choice
    optimizer: Choice
    sampling: Tables | Blocks
    train: Train
    run: Keep = field(default_factory=Keep)
    preset: str = "fast"
    data: Data = field(default_factory=Data)

    def as_dict(self) -> dict[str, Any]:
        """Nested dictionaries, as they stand in the file."""
        kind = next(name for name, cls in SAMPLING.items() if isinstance(self.sampling, cls))
        found: dict[str, Any] = {"schema": SCHEMA, "preset": self.preset}
        for section in PLUGINS:
            choice: Choice = getattr(self, section)
            found[section] = {"name": choice.name, **choice.options}
        found["train"] = asdict(self.train)
        found["sampling"] = {"kind": kind, **asdict(self.sampling)}
        if self.data.file is not None:
            found["data"] = asdict(self.data)
        found["run"] = asdict(self.run)
        return dict(_plain(found))

    def toml(self) -> str:
        try:
            return tomli_w.dumps(self.as_dict())
        except TypeError as error:
            raise PioError(
                f"a config holds numbers, text and lists of them; an option cannot be written: {error}."
            ) from error


# What may differ between a config and the one that a run was begun with: labels, what does not change
# the result, and paths, where a digest says what was there.
_FREE = {"schema", "preset"}
_PINNED = {"train.init_from": "train.init_sha256", "data.file": "data.sha256"}


def changes(was: Config, now: Config) -> dict[str, tuple[Any, Any]]:
    """What decides on the result and differs between two configs, by dotted name."""
    before, after = (dict(_dotted(c.as_dict())) for c in (was, now))
    found = {}
    for key in dict.fromkeys([*before, *after]):
        pair = before.get(key, "none"), after.get(key, "none")
        pinned = before.get(_PINNED.get(key, ""), "none") != "none"
        if pair[0] != pair[1] and not (key in _FREE or key.startswith("run.") or pinned):
            found[key] = pair
    return found


def _dotted(section: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{head}{key}.")
        else:
            yield f"{head}{key}", value


def _plain(value: Any) -> Any:
    """A value as TOML has it. There is no null in TOML; options read `none`."""
    if isinstance(value, Mapping):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return "none" if value is None else value


def resolve(
    registry: Registry,
    *,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    flags: Mapping[str, Any] | None = None,
    stored: bool = False,
) -> Config:
    """The config that these sources make together: flags > settings > config file > preset.

    `config` is a TOML file or what such a file holds; `settings` maps dotted keys to values, as
    `--set` gives them; `flags` likewise, for what has a flag of its own. A `stored` config is whole:
    no preset stands behind it, so it means the same when presets have changed.

        resolve(registry, flags={"equation.name": "kdv", "arch.name": "bxtg"})
    """
    file = _checked(config if isinstance(config, Mapping) else read_toml(config), "the config file")
    command = _checked(_merge(_nested(settings or {}), _nested(flags or {})), "--set")
    layers = [file, command]
    equation = _choose(registry, "equation", layers)
    problem = registry.make("equation", equation.name, equation.options)
    preset = str(command.get("preset") or file.get("preset") or "fast")
    suggested: dict[str, Any] = {}
    if not stored:
        recipe = _recipe(problem, preset, equation.name)
        layers = [_layer(recipe), *layers]
        suggested["arch"] = recipe.architecture
    keep: dict[str, Any] = {}
    for layer in layers:
        keep |= layer.get("run", {})
    chosen = {
        section: _choose(registry, section, layers, suggested.get(section)) for section in PLUGINS
    }
    return Config(
        **chosen,
        sampling=_sampling([layer.get("sampling", {}) for layer in layers], problem),
        train=_train(registry, [layer.get("train", {}) for layer in layers], stored=stored),
        run=Keep(**settle(Keep, keep, "section 'run'")),
        preset=preset,
        data=_data([layer.get("data", {}) for layer in layers]),
    )


def _train(registry: Registry, layers: Sequence[Mapping[str, Any]], *, stored: bool) -> Train:
    """The section `[train]`, the run to begin with by its whole path, with its digest."""
    found: dict[str, Any] = {}
    for layer in layers:
        if "init_from" in layer:
            found.pop("init_sha256", None)  # it is that of another run, unless it is given along
        found |= layer
    train = Train(**settle(Train, found, "section 'train'"))
    if train.init_from is None or stored:  # that run is asked for only where training begins
        return train
    # Not at the top: most configs begin with no other run.
    from pio._run import digest_of_run

    sha256 = train.init_sha256 or digest_of_run(train.init_from, registry)
    path = os.path.abspath(train.init_from)  # noqa: PTH100 - links stay as they are
    return replace(train, init_from=path, init_sha256=sha256)


def _data(layers: Sequence[Mapping[str, Any]]) -> Data:
    """The section `[data]`, its file by its whole path, with its digest."""
    found: dict[str, Any] = {}
    for layer in layers:
        if "file" in layer:
            found.pop("sha256", None)  # it is that of another file, unless it is given along
        found |= layer
    data = Data(**settle(Data, found, "section 'data'"))
    if data.file is None:
        return data
    # Not at the top: most commands read configs and have no use for NumPy or SciPy.
    from pio._labels import digest

    path = os.path.abspath(data.file)  # noqa: PTH100 - links stay as they are
    return replace(data, file=path, sha256=data.sha256 or digest(path))


def read_toml(path: str | PathLike[str] | None) -> dict[str, Any]:
    """What a TOML file holds; nothing if there is none to read."""
    if path is None:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PioError(f"cannot read {fspath(path)}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PioError(f"{fspath(path)} is no TOML file: {error}.") from error


def _checked(given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A layer with known sections only, `architecture` spelt `arch`."""
    schema = given.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise PioError(
            f"{what} has schema {schema}, but this version of pio reads up to {SCHEMA}; it was made by "
            "a later one. Upgrade with `pip install -U pio-operators`."
        )
    known = {*PLUGINS, "train", "sampling", "data", "run"}
    found: dict[str, Any] = {}
    for key, value in given.items():
        section = {"architecture": "arch"}.get(key, key)
        if section in ("schema", "preset"):
            found[section] = value
            continue
        if section not in known:
            raise PioError(
                f"{what} has no section {key!r}{suggestion(key, [*known, 'preset', 'schema'])}"
            )
        if section in PLUGINS and isinstance(value, str):
            value = {"name": value}  # equation = "kdv" is how anyone would write it
        if not isinstance(value, Mapping):
            raise PioError(f"{section!r} in {what} is a section of options (got {value!r}).")
        found[section] = dict(value)
    return found


def _nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """`{"equation.nu": 1e-3}` as `{"equation": {"nu": 1e-3}}`. A bare key belongs to `train`."""
    found: dict[str, Any] = {}
    for key, value in dotted.items():
        if value is None:
            continue
        if "." not in key and key not in (*PLUGINS, "architecture", "preset", "schema"):
            if key not in {o.name for o in options(Train)}:
                near = [o.name for o in options(Train)] + [f"{section}.…" for section in PLUGINS]
                raise PioError(
                    f"no setting named {key!r}{suggestion(key, near)} "
                    "An option of a plugin is written with its section, equation.nu=1e-3."
                )
            key = f"train.{key}"
        *sections, last = key.split(".")
        inner = found
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise PioError(f"{key!r} is set both as a value and as a section.")
        inner[last] = value
    return found


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        mine = merged.get(key)
        both = isinstance(mine, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(mine, value) if both else value  # type: ignore[arg-type]
    return merged


# ---------------------------------------------------------------------------------------------
# Plugins


def _choose(
    registry: Registry,
    section: str,
    layers: Sequence[Mapping[str, Any]],
    suggested: Mapping[str, Any] | None = None,
) -> Choice:
    """A plugin's name and all its options, defaults written out.

    Options belong to the plugin they were given for: naming another leaves them behind. Only those of
    an architecture, and those a preset suggests to any, go along where the other one has them too: a
    width is a width.
    """
    kind = PLUGINS[section]
    name: str | None = None
    own: dict[str, Any] = {}
    inherited = dict(suggested or {})
    for layer in layers:
        mine = dict(layer.get(section, {}))
        named = mine.pop("name", None)
        if named is not None and named != name:
            if not isinstance(named, str):
                raise PioError(f"{section}.name is a name (got {named!r}).")
            if name is not None:
                inherited |= own if section == "arch" else {}
                own = {}
            name = named
        own |= mine
    if name is None:
        article = "an" if kind[0] in "aeiou" else "a"
        raise PioError(f"name {article} {kind} with --{section}{suggestion('', registry.of(kind))}")
    factory = registry.load(kind, name)
    known = {o.name: o for o in options(factory)}
    passed = {key: value for key, value in inherited.items() if key in known} | own
    settled = settle(factory, passed, f"{kind} {name!r}")
    defaults = {o.name: o.default for o in known.values() if o.default is not REQUIRED}
    return Choice(name, {**defaults, **settled})


# ---------------------------------------------------------------------------------------------
# Presets and sampling


def presets(equation: Any) -> Mapping[str, Recipe]:
    """An equation's presets with nothing left open, `smoke` among them; plain ones where it has none."""
    own: Mapping[str, Recipe] = getattr(equation, "presets", None) or {"fast": Recipe()}
    for name, recipe in own.items():
        if not isinstance(recipe, Recipe):
            raise PioError(
                f"preset {name!r} of {type(equation).__name__} is a pio.Recipe (got {recipe!r})."
            )
    known = {name: recipe.settled(equation) for name, recipe in own.items()}
    first = known.get("fast") or next(iter(known.values()))
    return {**known, "smoke": known.get("smoke") or first.small(equation)}


def _recipe(equation: Any, preset: str, name: str) -> Recipe:
    known = presets(equation)
    if preset not in known:
        raise PioError(f"equation {name!r} has no preset {preset!r}{suggestion(preset, known)}")
    return known[preset]


def _layer(recipe: Recipe) -> dict[str, Any]:
    """A recipe as the lowest layer of a config."""
    assert recipe.sampling is not None
    assert recipe.embedding is not None
    kind = next(name for name, cls in SAMPLING.items() if isinstance(recipe.sampling, cls))
    named = {
        section: {"name": choice.name, **choice.options}
        for section, choice in (
            ("embedding", recipe.embedding),
            ("weighting", recipe.weighting),
            ("optimizer", recipe.optimizer),
        )
    }
    fresh = recipe.train_functions is None
    train = {
        "steps": recipe.steps,
        "precision": recipe.precision,
        "constraints": recipe.constraints,
        "centred": recipe.centred,
        "train_functions": "fresh" if fresh else recipe.train_functions,
        "test_functions": recipe.test_functions,
    }
    sampling = {"kind": kind, **asdict(recipe.sampling)}
    return {**named, "train": train, "sampling": sampling}


def _sampling(layers: Sequence[Mapping[str, Any]], equation: Any) -> Tables | Blocks:
    found: dict[str, Any] = {}
    for layer in layers:
        if "kind" in layer and layer["kind"] != found.get("kind"):
            if layer["kind"] not in SAMPLING:
                raise PioError(
                    f"sampling.kind is blocks or tables{suggestion(str(layer['kind']), SAMPLING)}"
                )
            found = {}
        found = _merge(found, layer)
    if "kind" not in found:
        raise PioError(f"section 'sampling' names no kind; there is {' and '.join(SAMPLING)}.")
    cls = SAMPLING[found.pop("kind")]
    who = "section 'sampling'"
    settled = settle(cls, found, who)
    for key, (keys, hint) in _entries(equation).items():
        inner = settled.get(key)
        if key == "residual" and isinstance(inner, str):
            inner = settled[key] = _value(inner, int, f"sampling.{key}")
        if isinstance(inner, Mapping):
            for name in inner:
                if name not in keys:
                    raise PioError(f"sampling.{key} has no entry {name!r}{suggestion(name, keys)}")
            settled[key] = {
                name: _value(value, hint, f"sampling.{key}.{name}") for name, value in inner.items()
            }
        elif key in settled and (key != "residual" or not isinstance(inner, int)):
            raise PioError(f"sampling.{key} has one entry for each name (got {inner!r}).")
    made: Tables | Blocks = cls(**settled)
    return made


def _entries(equation: Any) -> dict[str, tuple[tuple[str, ...], Any]]:
    """The entries that a section within `[sampling]` may have, and their type."""
    coordinates = tuple(equation.domain.names)
    conditions = tuple(c.name for c in equation.conditions())
    placement = Literal["random", "sensors", "grid"]
    return {
        "points": (coordinates, int),
        "residual": (coordinates, int),
        "conditions": (conditions, int),
        "placement": (coordinates + conditions, placement),
    }


def _value(value: Any, hint: Any, who: str) -> Any:
    try:
        found = convert(value, hint)
    except (TypeError, ValueError):
        wanted = "a whole number" if hint is int else "random, sensors or grid"
        raise PioError(f"{who} is {wanted} (got {value!r}).") from None
    if hint is int and found < 1:
        raise PioError(f"{who} is at least 1 (got {found}).")
    return found
