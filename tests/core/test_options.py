"""Options are read from dataclasses and functions, and convert what a user types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pio
from pio._options import REQUIRED, convert, options, settle


@dataclass(frozen=True)
class Box:
    size: int
    nu: float = pio.option(1e-2, "viscosity")
    layers: tuple[int, ...] = field(default_factory=lambda: (64, 64))
    strange: NotImported = None  # noqa: F821


def tower(width: Annotated[int, "neurons"] = 128, *, act: str = "tanh") -> None:
    del width, act


def test_options_of_a_dataclass():
    assert [(o.name, o.type_name, o.default, o.help) for o in options(Box)] == [
        ("size", "int", REQUIRED, ""),
        ("nu", "float", 1e-2, "viscosity"),
        ("layers", "tuple[int, ...]", (64, 64), ""),
        ("strange", "any", None, ""),
    ]


def test_options_of_a_function_and_of_a_partial():
    assert [(o.name, o.default, o.help) for o in options(tower)] == [
        ("width", 128, "neurons"),
        ("act", "tanh", ""),
    ]
    assert [o.name for o in options(partial(tower, act="sin"))] == ["width"]
    assert [o.name for o in options(partial(tower, 3))] == ["act"]


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("1e4", int, 10_000),
        ("1_000", int, 1000),
        ("1e-3", float, 1e-3),
        (3, float, 3.0),
        ("True", bool, True),
        ("off", bool, False),
        ("none", int | None, None),
        ("7", Optional[int], 7),  # noqa: UP045
        ("7", str | int, 7),
        ("seven", str | int, "seven"),
        ("64,64", tuple[int, ...], (64, 64)),
        ("(64, 32)", tuple[int, int], (64, 32)),
        ("[1.5]", list[float], [1.5]),
        ("1,2", Sequence[float], (1.0, 2.0)),
        ("", tuple[int, ...], ()),
        ([1, 2], tuple[int, ...], (1, 2)),
        ("32", Literal[32, 64], 32),
        ("soft", Literal["soft", "hard"], "soft"),
        ("as it is", Any, "as it is"),
        ("5", Annotated[int, "help"], 5),
    ],
)
def test_text_becomes_what_the_annotation_says(text, hint, value):
    converted = convert(text, hint)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("1.5", int),
        (1.5, int),
        (True, int),
        (True, float),
        ("maybe", bool),
        (1, bool),
        (1, str),
        ("inf", int),
        ("none", int),
        ("1,2,3", tuple[int, int]),
        ("1,x", tuple[int, ...]),
        (3, tuple[int, ...]),
        ("128", Literal[32, 64]),
        (None, float),
    ],
)
def test_what_is_not_of_the_type_is_refused(value, hint):
    with pytest.raises((TypeError, ValueError)):
        convert(value, hint)


@given(st.floats(allow_nan=False))
def test_floats_survive_the_way_through_text(value):
    assert convert(repr(value), float) == value


@given(st.lists(st.integers(), max_size=4).map(tuple))
def test_tuples_survive_the_way_through_text(value):
    assert convert(repr(value), tuple[int, ...]) == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 1, "mu": 1}, "box has no option 'mu'; did you mean 'nu'?"),
        ({"size": 1, "nu": "thick"}, "option 'nu' of box is of type float; got 'thick'."),
        ({}, "box needs a value for its option 'size' (int)."),
    ],
)
def test_a_wrong_option_gets_one_sentence(given, message):
    with pytest.raises(pio.PioError) as caught:
        settle(Box, given, "box")
    assert str(caught.value) == message


def test_what_takes_no_options_says_so():
    with pytest.raises(pio.PioError, match=r"plain has no option 'a'; it takes none\."):
        settle(lambda: None, {"a": 1}, "plain")
