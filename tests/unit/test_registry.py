import subprocess
import sys

import pytest

from proctor.registry import Registry, assertion_kinds, did_you_mean, renderers


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
        "parts = ('proctor.assertions', 'proctor.rendering', 'jsonschema_rs', 'regex')\n"
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
