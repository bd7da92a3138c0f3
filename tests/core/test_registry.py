"""The registry finds plugins, survives broken ones, and says who supplied what."""

from __future__ import annotations

import importlib.util

import pytest

import pio
from pio._hooks import KINDS

RAISES = "raise RuntimeError('no such luck')\n"
ONE = """
    import pio

    @pio.hookimpl
    def pio_equations():
        return {"one": pio.Spec("pio_one_lazy:One", "the first")}
"""


def names(registry, kind="equation"):
    return set(registry.of(kind))


def only(registry, distribution):
    """What one distribution supplied and what became of it."""
    entries = [e for e in registry.entries if e.source.distribution == distribution]
    broken = [b for b in registry.broken if b.source.distribution == distribution]
    return entries, broken


def test_our_own_plugins_come_through_the_same_door():
    entry = pio.discover().find("equation", "kdv")
    assert (entry.source.distribution, entry.source.entry_point) == ("pio-operators", "builtin")
    assert isinstance(entry.target, str)


@pytest.mark.parametrize(
    ("kind", "name"), [(e.kind, e.name) for e in pio.discover().entries if e.kind in KINDS]
)
def test_every_registered_name_resolves_and_meets_its_protocol(kind, name):
    registry = pio.discover()
    if kind == "command":
        registry.load(kind, name)
    elif kind == "tracker" and importlib.util.find_spec(name) is None:
        # An optional library, which is asked for by the name of its extra.
        with pytest.raises(pio.PioError, match=rf"pip install 'pio-operators\[{name}\]'"):
            registry.make(kind, name)
    else:
        registry.make(kind, name)


def test_an_installed_distribution_is_found_with_its_version(install):
    install("pio-one", ONE, version="2.5")
    entry = pio.discover().find("equation", "one")
    assert str(entry.source) == "pio-one 2.5"
    assert entry.summary == "the first"


def test_a_single_file_is_a_plugin(write, heat):
    path = write("heat.py", heat)
    registry = pio.discover([path])
    entry = registry.find("equation", "heat")
    assert entry.summary == "Heat on a rod, s_t = α s_xx."
    assert entry.source.path == str(path)
    assert registry.make("equation", "heat", {"alpha": "1e-3"}).alpha == 1e-3


def test_two_files_of_one_name_are_two_plugins(write, heat):
    files = [write("a/heat.py", heat), write("b/heat.py", heat.replace('"heat"', '"warm"'))]
    assert {"heat", "warm"} <= names(pio.discover(files))


def test_a_file_given_twice_is_one_plugin(write, heat):
    path = write("heat.py", heat)
    assert pio.discover([path, path.parent / "." / "heat.py"]).find("equation", "heat")


def test_one_module_behind_two_entry_points_is_one_plugin(install):
    path = install("pio-one", ONE)
    points = path.parent / "pio_one-1.0.dist-info" / "entry_points.txt"
    points.write_text("[pio]\nfirst = pio_one\nsecond = pio_one\n")
    entries, [broken] = only(pio.discover(), "pio-one")
    assert len(entries) == 1
    assert "the same module" in broken.reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (RAISES, "RuntimeError: no such luck"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("import there_is_no_such_module\n", "No module named 'there_is_no_such_module'"),
        ("def (\n", "SyntaxError"),
        ("x = 1\n", "implements no hook"),
        ("def pio_equations(): return {}\n", "@pio.hookimpl"),
        ("import pio\n@pio.hookimpl\ndef pio_equation(): return {}\n", "did you mean 'pio_equations'"),
        ("import pio\n@pio.hookimpl\ndef pio_equations(): return ['heat']\n", "returns a mapping"),
        ("import pio\n@pio.hookimpl\ndef pio_equations(): return {'heat': 3}\n", "give a pio.Spec"),
        ("import pio\n@pio.hookimpl\ndef pio_equations(): return {'a b': dict}\n", "no equation's name"),
        ("import pio\n@pio.hookimpl\ndef pio_equations(): return {'a': pio.Spec('x', '')}\n", "package.module:Name"),
        ("import pio\n@pio.hookimpl\ndef pio_equations(): 1 / 0\n", "pio_equations: ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_broken_plugin_is_recorded_and_the_rest_work(install, source, reason):
    install("pio-broken", source)
    install("pio-one", ONE)
    registry = pio.discover()
    _, [broken] = only(registry, "pio-broken")
    assert reason in broken.reason
    assert {"one", "kdv"} <= names(registry)


def test_a_broken_plugin_is_blamed_where_it_broke(install):
    path = install("pio-broken", "\n\n" + RAISES)
    [broken] = pio.discover().broken
    assert broken.reason.endswith(f"({path}, line 3)")


def test_one_failing_hook_leaves_the_others_of_its_plugin(install):
    install("pio-half", ONE + "\n    @pio.hookimpl\n    def pio_commands(): 1 / 0\n")
    entries, broken = only(pio.discover(), "pio-half")
    assert (len(entries), len(broken)) == (1, 1)


def test_strict_plugins_raise_what_they_raised(install, monkeypatch):
    install("pio-broken", RAISES)
    monkeypatch.setenv("PIO_STRICT_PLUGINS", "1")
    with pytest.raises(RuntimeError, match="no such luck"):
        pio.discover()


def test_a_strict_complaint_of_ours_names_the_plugin(install, monkeypatch):
    install("pio-broken", "x = 1\n")
    monkeypatch.setenv("PIO_STRICT_PLUGINS", "1")
    with pytest.raises(pio.PioError, match=r"'pio-broken 1\.0' .* implements no hook"):
        pio.discover()


def test_a_distribution_without_metadata_does_no_harm(install):
    path = install("pio-one", ONE)
    (path.parent / "pio_one-1.0.dist-info" / "METADATA").unlink()
    assert {"one", "kdv"} <= names(pio.discover())


def test_a_broken_file_is_an_error_since_it_was_asked_for(write):
    with pytest.raises(pio.PioError, match="no such luck"):
        pio.discover([write("broken.py", RAISES)])
    with pytest.raises(pio.PioError, match=r"nowhere\.py.*no such file"):
        pio.discover(["nowhere.py"])


@pytest.mark.parametrize(
    "selection", ["pio-one,builtin", "PIO_One, pio_operators", "pio_one,builtin"]
)
def test_plugins_are_selected_by_distribution_or_entry_point(install, monkeypatch, selection):
    install("pio-one", ONE)
    install("pio-broken", RAISES)
    monkeypatch.setenv("PIO_PLUGINS", selection)
    registry = pio.discover()
    assert {"one", "kdv"} <= names(registry)
    assert not registry.broken


def test_an_empty_selection_leaves_only_files(write, heat, monkeypatch):
    monkeypatch.setenv("PIO_PLUGINS", "")
    assert names(pio.discover([write("heat.py", heat)])) == {"heat"}


def test_selecting_what_is_not_there_is_reported(monkeypatch):
    monkeypatch.setenv("PIO_PLUGINS", "builtin,bultin")
    [broken] = pio.discover().broken
    assert "did you mean 'builtin'" in broken.reason


def test_a_name_supplied_twice_is_refused_naming_both_and_others_stay_usable(install):
    install("pio-one", ONE)
    install("pio-uno", ONE)
    registry = pio.discover()
    message = (
        "equation 'one' is supplied by both 'pio-one' and 'pio-uno'; "
        "uninstall one, or select plugins with `PIO_PLUGINS`."
    )
    with pytest.raises(pio.PioError) as caught:
        registry.load("equation", "one")
    assert str(caught.value) == message
    assert registry.conflicts() == (message,)
    assert registry.find("equation", "kdv")


def test_an_unknown_name_gets_its_nearest_neighbours():
    with pytest.raises(pio.PioError, match=r"no equation named 'kdvv'; did you mean 'kdv'\?"):
        pio.discover().load("equation", "kdvv")


def test_an_unknown_name_that_a_broken_plugin_may_hold_mentions_the_plugin(install):
    install("pio-broken", RAISES)
    with pytest.raises(pio.PioError, match=r"pio-broken 1\.0' failed to load"):
        pio.discover().load("equation", "heat")


def test_a_spec_that_leads_nowhere_names_plugin_and_address(install):
    install("pio-one", ONE)
    with pytest.raises(
        pio.PioError, match=r"'one' \(pio-one 1.0\) cannot be imported.*pio_one_lazy"
    ):
        pio.discover().load("equation", "one")


@pytest.mark.parametrize("decorator", ["    @dataclass(frozen=True)\n", ""])
def test_a_class_that_lacks_a_method_is_told_which(write, heat, decorator):
    source = heat.replace("    @dataclass(frozen=True)\n", decorator).replace(
        "conditions", "condition"
    )
    registry = pio.discover([write("heat.py", source)])
    with pytest.raises(
        pio.PioError, match=r"'heat' \(.*heat\.py\) lacks conditions\(\).*pio\.Equation"
    ):
        registry.make("equation", "heat")


def test_a_spec_may_settle_options_of_a_shared_class(install, heat):
    settled = 'pio.Spec("pio_heat:Heat", "slow", {"alpha": 0.001})'
    install("pio-heat", heat.replace('{"heat": Heat}', f'{{"slow": {settled}}}'))
    registry = pio.discover()
    assert registry.make("equation", "slow").alpha == 0.001
    with pytest.raises(pio.PioError, match="has no option 'alpha'"):
        registry.make("equation", "slow", {"alpha": 1.0})


def test_a_factory_that_fails_is_named_with_what_it_was_given(write, heat):
    fails = heat.replace(
        "def conditions", "def __post_init__(self): 1 / self.alpha\n\n        def conditions"
    )
    registry = pio.discover([write("heat.py", fails)])
    with pytest.raises(pio.PioError, match=r"'heat' .* made with alpha=0\.0: ZeroDivisionError"):
        registry.make("equation", "heat", {"alpha": 0})


def test_an_unknown_kind_gets_its_nearest_neighbours():
    with pytest.raises(pio.PioError, match="did you mean 'equation'"):
        pio.discover().of("equations")
