import subprocess
import sys

import pytest

from proctor.errors import SuiteError
from proctor.plugins import Plugin
from proctor.records import AssertionSpec
from proctor.registry import Listed, Registry, assertion_kinds, did_you_mean, renderers
from proctor.version import VERSION


@pytest.fixture
def registry():
    return Registry(
        "thing",
        {
            "zip": "zipfile:ZipFile",
            "join": "os.path:join",
            "gone": "no_such_module_here:Thing",
            "empty": "json:no_such_attribute",
        },
    )


def test_names_are_sorted(registry):
    assert registry.names() == ["empty", "gone", "join", "zip"]


def test_a_name_stands_for_what_its_module_holds(registry):
    import os.path

    assert registry.get("join") is os.path.join
    assert registry.get("join") is registry.get("join")


@pytest.mark.parametrize("name", ["", "Join", "join ", "os.path:join", "zipfile"])
def test_a_name_that_is_not_known_is_none(registry, name):
    assert registry.get(name) is None


def test_an_entry_that_does_not_hold_is_no_silent_none(registry):
    with pytest.raises(ModuleNotFoundError):
        registry.get("gone")
    with pytest.raises(AttributeError):
        registry.get("empty")


class Spec(AssertionSpec, frozen=True, kw_only=True):
    pass


class Kind:
    Spec = Spec

    @staticmethod
    def compile(spec, scope):
        return None


class NoSpec:
    Spec = str
    compile = None


class NoCompile:
    Spec = Spec


@pytest.fixture
def installed(monkeypatch):
    """Say which plugins there are: name to the packages that bring it."""

    def install(**plugins):
        found = sorted(
            Plugin(name, package, "1.0", f"{__name__}:{part}")
            for name, brought in plugins.items()
            for package, part in brought.items()
        )
        monkeypatch.setattr("proctor.plugins.find_plugins", lambda group: found)
        return Registry(
            "kind",
            {"join": "os.path:join"},
            group="proctor.things",
            unfit=assertion_kinds._unfit,
        )

    return install


def test_a_name_that_is_not_built_in_is_looked_for_in_other_packages(installed):
    registry = installed(polite={"acme": "Kind"})
    assert registry.get("polite") is Kind
    assert registry.get("polite") is Kind
    assert registry.get("rude") is None
    assert registry.names() == ["join"]
    assert registry.every_name() == ["join", "polite"]
    assert registry.listed() == [
        Listed("join", "proctor", VERSION, None),
        Listed("polite", "acme", "1.0", None),
    ]


def test_a_name_that_is_built_in_is_not_looked_for(monkeypatch, registry):
    def look(group):
        raise AssertionError(group)

    monkeypatch.setattr("proctor.plugins.find_plugins", look)
    grouped = Registry("thing", {"join": "os.path:join"}, group="proctor.things")
    assert grouped.get("join")
    assert registry.get("polite") is None
    assert registry.every_name() == registry.names()


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (
            {"polite": {"acme": "Kind", "zeta": "Kind"}},
            "the plugins `acme 1.0` and `zeta 1.0` have the same kind `polite`",
        ),
        (
            {"join": {"acme": "Kind"}, "polite": {"acme": "Kind"}},
            "the plugin `acme 1.0` has the kind `join`, a built-in one",
        ),
        (
            {"polite": {"acme": "NoSpec"}},
            "the plugin `acme 1.0` cannot give `polite`: it has no `Spec` that is an"
            " `AssertionSpec`",
        ),
        (
            {"polite": {"acme": "NoCompile"}},
            "the plugin `acme 1.0` cannot give `polite`: it has no `compile`",
        ),
    ],
)
def test_a_plugin_that_clashes_or_is_no_such_part_is_refused(installed, plugins, message):
    registry = installed(**plugins)
    with pytest.raises(SuiteError) as caught:
        registry.get("polite")
    assert (caught.value.code, caught.value.message) == ("P6201", message)
    assert registry.get("join")


def test_plugins_that_clash_elsewhere_do_not_matter_here(installed):
    registry = installed(polite={"acme": "Kind"}, other={"a": "Kind", "b": "Kind"})
    assert registry.get("polite") is Kind
    clash = "the plugins `a 1.0` and `b 1.0` have the same kind `other`"
    assert [one.problem for one in registry.listed()] == [None, clash, clash, None]


def test_what_was_given_cannot_be_changed_from_outside():
    entries = {"join": "os.path:join"}
    registry = Registry("thing", entries)
    entries["split"] = "os.path:split"
    assert registry.names() == ["join"]


@pytest.mark.parametrize("registry", [assertion_kinds, renderers], ids=lambda one: one.noun)
def test_every_part_that_comes_with_proctor_loads(registry):
    assert registry.names()
    for name in registry.names():
        assert registry.get(name) is not None


def test_listing_the_names_loads_none_of_the_parts():
    program = (
        "import sys\n"
        "from proctor.registry import assertion_kinds, renderers\n"
        "assert assertion_kinds.names() and renderers.names()\n"
        "parts = ('proctor.assertions', 'proctor.plugins', 'proctor.rendering', 'jsonschema_rs',\n"
        "    'regex', 'importlib.metadata')\n"
        "print([name for name in sys.modules if name.startswith(parts)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("asertions", ["assertions", "dataset"], "assertions"),
        ("promt", ["prompt", "prompts", "project"], "prompt"),
        ("one-off", ["regex", "one-of"], "one-of"),
        ("équals", ["equals"], "equals"),
    ],
)
def test_the_most_similar_word_is_suggested(word, known, found):
    assert did_you_mean(word, known) == f"did you mean `{found}`?"


@pytest.mark.parametrize(
    ("word", "known"),
    [("zzz", ["prompt", "dataset"]), ("", ["prompt"]), ("prompt", []), ("x" * 100_000, ["prompt"])],
)
def test_nothing_is_suggested_when_nothing_is_similar(word, known):
    assert did_you_mean(word, known) is None


def test_the_known_words_may_be_any_iterable():
    assert did_you_mean("regx", iter(["regex"])) == "did you mean `regex`?"
