"""Options: the dataclass fields or parameters of a plugin, with the help a user reads."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pio._errors import PioError, suggestion


def option(default: Any, help: str) -> Any:
    """A dataclass field that explains itself: `nu: float = pio.option(1e-2, "viscosity")`."""
    return dataclasses.field(default=default, metadata={"help": help})


REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Option:
    """One option as a user sees it. `default` is `REQUIRED` when there is none."""

    name: str
    type: Any
    default: Any
    help: str

    @property
    def type_name(self) -> str:
        return _spell(self.type)


def options(plugin: Callable[..., Any]) -> tuple[Option, ...]:
    """The options of a plugin's class or factory, in order.

    A dataclass has its fields, with the help given to `pio.option`. A function has its parameters;
    `width: Annotated[int, "neurons a layer"] = 128` carries help. What a `functools.partial` binds
    is settled and no option.
    """
    bound: set[str] = set()
    while isinstance(plugin, functools.partial):
        bound |= set(inspect.signature(plugin.func).bind_partial(*plugin.args).arguments)
        bound |= set(plugin.keywords)
        plugin = plugin.func
    hints = _hints(plugin)
    fields = getattr(plugin, "__dataclass_fields__", {})
    found = []
    for parameter in inspect.signature(plugin).parameters.values():
        name = parameter.name
        if name in bound or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint, default, help = hints.get(name, Any), parameter.default, ""
        if field := fields.get(name):
            help = field.metadata.get("help", "")
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            help = help or next((note for note in notes if isinstance(note, str)), "")
        found.append(Option(name, hint, default, help))
    return tuple(found)


def settle(plugin: Callable[..., Any], given: Mapping[str, Any], who: str) -> dict[str, Any]:
    """The options given, checked and converted to their types. `who` is named in complaints.

    Text, as `--set` and the environment bring it, is read as the type that the option declares.
    """
    known = {o.name: o for o in options(plugin)}
    for name in given:
        if name not in known:
            near = suggestion(name, known) if known else "; it takes none."
            raise PioError(f"{who} has no option {name!r}{near}")
    for o in known.values():
        if o.default is REQUIRED and o.name not in given:
            raise PioError(f"{who} needs a value for its option {o.name!r} ({o.type_name}).")
    settled = {}
    for name, value in given.items():
        try:
            settled[name] = convert(value, known[name].type)
        except (TypeError, ValueError):
            raise PioError(
                f"option {name!r} of {who} is of type {known[name].type_name}; got {value!r}."
            ) from None
    return settled


def convert(value: Any, hint: Any) -> Any:
    """`value` as the annotation `hint` asks. Raises `ValueError` or `TypeError` when it is not one.

    Integers, floats, booleans and strings, `None`, literals, unions, and tuples or lists of these.
    Text is parsed (`"1e4"` is an int, `"64,64"` a tuple); other values are checked. An annotation
    that is none of these is not ours to judge: the value passes as it is.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return convert(value, arguments[0])
    if origin in (Union, types.UnionType):
        return _first(value, arguments)
    if origin is Literal:
        for choice in arguments:
            if value == choice and type(value) is type(choice):
                return choice
        for choice in arguments:
            if isinstance(value, str) and value == str(choice):
                return choice
        raise ValueError(value)
    if hint is None or hint is type(None):
        if value is None or (isinstance(value, str) and value.lower() in ("none", "null", "")):
            return None
        raise ValueError(value)
    if (origin or hint) in (tuple, list, Sequence):
        return _items(value, origin or hint, arguments)
    if hint in _SCALARS:
        return _SCALARS[hint](value)
    return value


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if _of(value, str).lower() in _WORDS:
        return _WORDS[value.lower()]
    raise ValueError(value)


def _integer(value: Any) -> int:
    try:
        return int(_of(value, (numbers.Integral, str)))
    except ValueError:
        if (number := float(value)).is_integer():  # "1e4" is how people write ten thousand
            return int(number)
        raise


def _float(value: Any) -> float:
    return float(_of(value, (numbers.Real, str)))


def _string(value: Any) -> str:
    return str(_of(value, str))


_WORDS = dict.fromkeys(("true", "yes", "on", "1"), True)
_WORDS |= dict.fromkeys(("false", "no", "off", "0"), False)

_SCALARS: Mapping[Any, Callable[[Any], Any]] = {
    bool: _boolean,
    int: _integer,
    float: _float,
    str: _string,
}


def _of(value: Any, kinds: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError(value)
    return value


def _first(value: Any, hints: Sequence[Any]) -> Any:
    """`value` as the first of several types that takes it, `None` before all, `str` after all."""
    order = {type(None): 0, str: 2}
    for hint in sorted(hints, key=lambda h: order.get(h, 1)):
        try:
            return convert(value, hint)
        except (TypeError, ValueError):
            continue
    raise ValueError(value)


def _items(value: Any, container: Any, hints: Sequence[Any]) -> Any:
    """A list for `list[T]`, else a tuple."""
    make = list if container is list else tuple
    if isinstance(value, str):
        inside = (
            value.strip().removeprefix("(").removeprefix("[").removesuffix(")").removesuffix("]")
        )
        value = [item.strip() for item in inside.split(",")]
        if value[-1] == "":  # "64," is a tuple of one, "" of none
            value.pop()
    if not isinstance(value, (list, tuple)):
        raise TypeError(value)
    if not hints:
        return make(value)
    if container is not tuple or Ellipsis in hints:
        return make(convert(item, hints[0]) for item in value)
    if len(hints) != len(value):
        raise ValueError(value)
    return make(convert(item, hint) for item, hint in zip(value, hints, strict=True))


def _spell(hint: Any) -> str:
    """An annotation as a user reads it: `float`, `int | None`, `tuple[int, ...]`."""
    if hint is Any:
        return "any"
    return (
        hint.__name__
        if isinstance(hint, type) and not get_args(hint)
        else str(hint).replace("typing.", "")
    )


def _hints(plugin: Any) -> dict[str, Any]:
    """Annotations of a class's fields or a function's parameters, evaluated one by one.

    One that names what only a type checker imports stays unknown, and its option unchecked.
    """
    target = plugin
    if isinstance(plugin, type) and not dataclasses.is_dataclass(plugin):
        target = inspect.getattr_static(plugin, "__init__")
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        pass
    scope = vars(sys.modules.get(target.__module__, types.ModuleType("nowhere")))
    found: dict[str, Any] = {}
    for base in reversed(getattr(target, "__mro__", (target,))):
        for name, hint in inspect.get_annotations(base).items():
            try:
                found[name] = eval(hint, dict(scope)) if isinstance(hint, str) else hint
            except Exception:
                found[name] = Any
    return found
