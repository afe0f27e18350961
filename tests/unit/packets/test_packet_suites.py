import json

import pytest

from packet_support import SUITE
from proctor.errors import FileError, ProctorError, SuiteError, UsageError
from proctor.packets.build import build_packet
from proctor.packets.suites import load_suite_file, load_suite_of_id

YAML = """\
id: yaml
title: Written by hand
salt: "5f0c91d2a7b84e36b1a2f6c8d40e5937"
sources:
  - {id: skill, path: skill.md, section: "## Rules"}
cases:
  - id: hours
    task: >-
      When does it
      open?
    evidence: {page: "no, on: 09:30"}
    response:
      opens_at: {type: string, maxLength: 5}
    checks:
      - {id: exact-time, kind: equals, field: opens_at, value: 09:30}
"""


def test_a_suite_in_yaml_is_read(sealed):
    path = sealed.root / "a.packet.yaml"
    path.write_text(YAML, encoding="utf-8")
    packet = build_packet(load_suite_file(path))
    assert packet["suite"] == {"id": "yaml", "title": "Written by hand"}
    assert packet["cases"] == [
        {"id": "hours", "task": "When does it open?", "evidence": {"page": "no, on: 09:30"}}
    ]


def test_the_schema_a_suite_names_for_editors_changes_nothing(sealed):
    before = sealed.build()
    sealed.suite["$schema"] = ".schema/packet.json"
    assert sealed.build() == before


def put(sealed, key, value):
    """Change the suite, or its first case or source when the key says so."""
    holder, _, name = key.rpartition(".")
    place = {"": sealed.suite, "case": sealed.case, "source": sealed.suite["sources"][0]}[holder]
    if value is ...:
        del place[name]
    else:
        place[name] = value


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("id", "Quiz", "`id`: expected `str` matching"),
        ("id", "-quiz", "`id`: expected `str` matching"),
        ("id", "q" * 65, "`id`: expected `str` matching"),
        ("id", ..., "the key `id` is missing"),
        ("title", "", "`title`: expected `str` of length >= 1"),
        ("salt", ..., "the key `salt` is missing"),
        ("salt", "0" * 31, "`salt`: expected `str` matching"),
        ("salt", "0" * 33, "`salt`: expected `str` matching"),
        ("salt", "A" * 32, "`salt`: expected `str` matching"),
        ("salt", 0, "`salt`: expected `str`, got `int`"),
        ("cases", [], "`cases`: expected `array` of length >= 1"),
        ("more", 1, "unknown key `more`"),
        ("case.id", "a b", "`cases[0].id`: expected `str` matching"),
        ("case.id", "phone", "the id `phone` stands twice in `cases`"),
        ("case.task", "", "`cases[0].task`: expected `str` of length >= 1"),
        ("case.evidence", {"page": 1}, "`cases[0].evidence`: expected `str`, got `int`"),
        ("case.evidence", {"a b": ""}, "`cases[0].evidence`: expected `str` matching"),
        ("case.checks", ..., "the key `checks` is missing in `cases[0]`"),
        ("case.checks", [{}] * 101, "`cases[0].checks`: expected `array` of length <= 100"),
        ("case.expected", 1, "unknown key `expected` in `cases[0]`"),
        ("source.id", "rules", "the id `rules` stands twice in `sources`"),
        ("source.section", "Rules", "`Rules` is not the line of a heading"),
        ("source.section", "## Rules\n", "is not the line of a heading"),
        ("source.section", "# A\n# B", "is not the line of a heading"),
        ("source.section", "    # Rules", "is not the line of a heading"),
        ("source.section", "", "`` is not the line of a heading"),
    ],
)
def test_a_suite_that_is_not_one_is_refused_with_its_place(sealed, key, value, problem):
    put(sealed, key, value)
    (found,) = sealed.problems()
    assert found.startswith("P6201 ")
    assert problem in found


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ({"type": "text"}, "`text` is not one of string, number, integer"),
        ({}, "the key `type` is missing"),
        ({"type": "string", "optional": True}, "unknown key `optional`"),
        ({"type": "string", "default": ""}, "unknown key `default`"),
        ({"type": "string", "value": ""}, "unknown key `value`"),
        ({"type": "string", "maxLength": 0}, "expected `int` >= 1"),
        ({"type": "list", "minItems": -1}, "expected `int` >= 0"),
        ({"type": "enum", "options": []}, "expected `array` of length >= 1"),
        ({"type": "enum", "options": [1]}, "expected `str`, got `int`"),
        ({"type": "enum"}, "an enum needs `options`"),
        ({"type": "string", "grammar": {"words": "page"}}, "unknown key `words`"),
        ({"type": "list", "items": {"type": "list", "items": {}}}, "the key `type` is missing"),
        ({"type": "object", "fields": {"a": {"type": "x"}}}, "`x` is not one of string"),
    ],
)
def test_a_contract_that_is_none_is_refused_with_its_place(sealed, field, problem):
    sealed.case["response"]["more"] = field
    assert any(problem in found and found.startswith("P6201") for found in sealed.problems()), (
        sealed.problems()
    )


def test_64_cases_are_read_and_no_more(sealed):
    sealed.suite["cases"] = [{**sealed.case, "id": f"c{n}"} for n in range(64)]
    assert sealed.problems() == []
    sealed.suite["cases"].append({**sealed.case, "id": "c64"})
    assert sealed.problems() == ["P6201 `cases`: expected `array` of length <= 64"]


def test_every_problem_is_listed_with_its_line(sealed):
    path = sealed.root / "a.packet.yaml"
    path.write_text(YAML.replace("kind: equals", "kind: equal").replace("type: string", "type: s"))
    with pytest.raises(ProctorError) as caught:
        load_suite_file(path)
    (problem,) = caught.value.problems()
    assert problem.where == f"{path}:13"
    path.write_text(YAML.replace("kind: equals", "kind: equal").replace("## Rules", "Rules"))
    with pytest.raises(ProctorError) as caught:
        load_suite_file(path)
    assert [one.where for one in caught.value.problems()] == [f"{path}:5", f"{path}:15"]


def test_who_has_no_salt_is_told_how_to_make_one(sealed):
    del sealed.suite["salt"]
    with pytest.raises(SuiteError) as caught:
        sealed.load()
    assert "secrets.token_hex(16)" in caught.value.hint


@pytest.mark.parametrize("key", ["title", "case.task"])
def test_a_lone_surrogate_is_refused(sealed, key):
    put(sealed, key, "a\ud800")
    assert sealed.problems() == ["P6201 the file has a lone surrogate, which is no character"]


def test_a_file_that_is_no_suite_is_refused(sealed):
    sealed.suite_file.write_text("[")
    with pytest.raises(SuiteError, match="is not JSON") as caught:
        load_suite_file(sealed.suite_file)
    assert caught.value.code == "P6201"
    sealed.suite_file.write_text("[]")
    with pytest.raises(SuiteError, match="the file must be a mapping"):
        load_suite_file(sealed.suite_file)


def test_a_missing_file_and_one_that_cannot_be_read_are_told_apart(sealed):
    with pytest.raises(UsageError, match="there is no packet suite") as caught:
        load_suite_file(sealed.root / "no.packet.yaml")
    assert caught.value.code == "P6001"
    with pytest.raises(SuiteError, match="cannot be read: not a directory"):
        load_suite_file(sealed.source_file / "x.packet.yaml")


class TestSources:
    def packet(self, sealed, path, suite="suites/quiz.packet.json"):
        sealed.suite["sources"] = [{"id": "skill", "path": path}]
        sealed.suite_file = sealed.root / suite
        sealed.suite_file.parent.mkdir(parents=True, exist_ok=True)
        return sealed.build()

    def refusal(self, sealed, path):
        with pytest.raises(FileError) as caught:
            self.packet(sealed, path)
        assert caught.value.code == "P6805"
        return caught.value

    def test_a_path_starts_at_the_folder_of_the_suite(self, sealed):
        (sealed.root / "suites/texts").mkdir(parents=True)
        (sealed.root / "suites/texts/a.md").write_text("here")
        (source,) = self.packet(sealed, "texts/a.md")["sources"]
        assert (source["path"], source["excerpt"]["text"]) == ("texts/a.md", "here")

    @pytest.mark.parametrize("path", ["../skill.md", "./../skill.md", "x/../../skill.md"])
    def test_without_a_project_nothing_above_that_folder_is_read(self, sealed, path):
        (sealed.root / ".git").mkdir()
        assert "leaves the project" in self.refusal(sealed, path).message

    def test_in_a_project_nothing_outside_of_it_is_read(self, sealed):
        (sealed.root / ".git").mkdir()
        (sealed.root / "suites").mkdir()
        (sealed.root / "proctor.toml").write_text('project = "x"\n')
        (source,) = self.packet(sealed, "../skill.md")["sources"]
        assert source["path"] == "../skill.md"
        assert "leaves the project" in self.refusal(sealed, "../../skill.md").message

    @pytest.mark.parametrize("path", ["/etc/passwd", "C:\\x", "file:///x", "", "a\0b"])
    def test_a_path_that_is_not_relative_is_refused(self, sealed, path):
        assert self.refusal(sealed, path).where == f"{sealed.suite_file}:1"

    @pytest.mark.parametrize(
        ("name", "fault"), [("file", "link `file`"), ("folder/a.md", "link `folder`")]
    )
    def test_a_link_on_the_way_is_refused(self, sealed, name, fault):
        (sealed.root / "suites/real").mkdir(parents=True)
        (sealed.root / "suites/real/a.md").write_text("x")
        (sealed.root / "suites/file").symlink_to("real/a.md")
        (sealed.root / "suites/folder").symlink_to("real")
        assert fault in self.refusal(sealed, name).message

    def test_a_suite_that_is_reached_through_a_link_is_refused(self, sealed):
        sealed.write_suite()
        (sealed.root / "link").symlink_to(sealed.root)
        with pytest.raises(FileError, match="goes through the link `link`") as caught:
            load_suite_file(sealed.root / "link/quiz.packet.json")
        assert str(sealed.suite_file) in caught.value.hint


class TestFindingBySuiteId:
    def write(self, root, name, **changes):
        path = root / "evals/packets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**SUITE, "sources": [], **changes}))

    def test_an_id_is_that_in_the_file_and_not_its_name(self, tmp_path):
        self.write(tmp_path, "a.packet.json", id="one")
        self.write(tmp_path, "deep/one.packet.yaml", id="two")
        assert load_suite_of_id("one", tmp_path, "evals").name == "evals/packets/a.packet.json"
        assert load_suite_of_id("two", tmp_path, "evals").id == "two"

    def test_none_is_said_to_be_none_of_how_many(self, tmp_path):
        with pytest.raises(UsageError, match="0 of 0 packet suites") as caught:
            load_suite_of_id("one", tmp_path, "evals")
        assert caught.value.code == "P6001"
        self.write(tmp_path, "a.packet.json", id="wiki-notes")
        with pytest.raises(
            UsageError, match="0 of 1 packet suites below `evals/packets/`"
        ) as caught:
            load_suite_of_id("wiki-note", tmp_path, "evals")
        assert caught.value.hint == "did you mean `wiki-notes`?"

    def test_two_of_one_id_are_refused(self, tmp_path):
        self.write(tmp_path, "a.packet.json")
        self.write(tmp_path, "b.packet.json")
        with pytest.raises(SuiteError, match="is taken by `evals/packets/a") as caught:
            load_suite_of_id("quiz", tmp_path, "evals")
        assert caught.value.code == "P6201"

    def test_another_suite_that_is_broken_is_in_nobodys_way(self, tmp_path):
        self.write(tmp_path, "a.packet.json")
        (tmp_path / "evals/packets/b.packet.yaml").write_text("{")
        (tmp_path / "evals/packets/c.packet.yaml").symlink_to("a.packet.json")
        (tmp_path / "evals/packets/d.packet.json").write_text("[]")
        assert load_suite_of_id("quiz", tmp_path, "evals").id == "quiz"

    def test_a_suite_that_is_broken_may_be_the_one_that_is_meant(self, tmp_path):
        self.write(tmp_path, "a.packet.json")
        (tmp_path / "evals/packets/b.packet.yaml").write_text("id: other\nid: other\n")
        with pytest.raises(SuiteError, match="has the key `id` twice"):
            load_suite_of_id("other", tmp_path, "evals")
