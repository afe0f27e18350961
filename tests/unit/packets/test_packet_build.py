import copy
import hashlib
import json

import pytest

from packet_support import SKILL
from proctor.canonical import canonical_json
from proctor.errors import FileError, ProctorError, SuiteError
from proctor.packets.build import build_packet
from proctor.packets.formats import MAX_SOURCE


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def one_source(sealed, text, section=None):
    """The first source of a packet whose only source has this text."""
    data = text if isinstance(text, bytes) else text.encode()
    sealed.source_file.write_bytes(data)
    source = {"id": "skill", "path": "skill.md"}
    sealed.suite["sources"] = [source if section is None else {**source, "section": section}]
    return sealed.build()["sources"][0]


def test_a_packet_has_these_keys_in_this_order(sealed):
    packet = sealed.build()
    assert list(packet) == [
        "schema", "suite", "sources", "cases", "response_contract", "response_template",
        "expectations_sha256", "binding_sha256",
    ]  # fmt: skip
    assert packet["schema"] == "proctor.packet.v1"
    assert packet["suite"] == {"id": "quiz", "title": "A quiz"}
    assert packet["cases"] == [
        {
            "id": "hours",
            "task": "When does it open?",
            "evidence": {"page": "It opens at 09:30."},
        },
        {"id": "phone", "task": "What is the number?", "evidence": {}},
    ]
    assert packet["response_contract"] == {
        case["id"]: case["response"] for case in sealed.suite["cases"]
    }
    assert packet["response_template"] == {
        "schema": "proctor.packet-response.v1",
        "binding_sha256": None,
        "results": {"hours": {"opens_at": {}, "citations": {}}, "phone": {"number": {}}},
    }
    assert json.loads(sealed.packet_file.read_bytes()) == packet


def test_the_binding_is_the_digest_of_every_other_member(sealed):
    packet = sealed.build()
    others = {key: value for key, value in packet.items() if key != "binding_sha256"}
    assert packet["binding_sha256"] == sha256(b"proctor.packet.v1\n" + canonical_json(others))


RULES = SKILL[SKILL.index("## Rules") : SKILL.index("## History")]


def test_the_digest_of_a_source_is_that_of_the_whole_file(sealed):
    whole, part = sealed.build()["sources"]
    for source in (whole, part):
        assert (source["bytes"], source["sha256"]) == (len(SKILL.encode()), sha256(SKILL))
    assert whole["excerpt"] == {
        "kind": "full",
        "selector": None,
        "text": SKILL,
        "sha256": sha256(SKILL),
    }
    assert part["excerpt"] == {
        "kind": "section",
        "selector": "## Rules",
        "text": RULES,
        "sha256": sha256(RULES),
    }


@pytest.mark.parametrize(
    ("text", "selector", "excerpt"),
    [
        ("# A\n1\n## B\n2\n### C\n3\n## D\n4\n", "## B", "## B\n2\n### C\n3\n"),
        ("# A\n1\n## B\n2\n# E\n3\n", "## B", "## B\n2\n"),
        ("# A\n1\n## B\n2\n", "# A", "# A\n1\n## B\n2\n"),
        ("## B\n```\n## B\n## D\n```\n2\n## D\n", "## B", "## B\n```\n## B\n## D\n```\n2\n"),
        ("## B\n2\n\nD\n---\n3\n", "## B", "## B\n2\n\n"),
        ("## B\r\n2\r\n# D", "## B", "## B\r\n2\r\n"),
        ("## B ##\n2\n## B\n3", "## B", "## B\n3"),
        ("## B", "## B", "## B"),
    ],
)
def test_a_section_goes_on_to_the_next_heading_of_its_level(sealed, text, selector, excerpt):
    assert one_source(sealed, text, selector)["excerpt"]["text"] == excerpt


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("## Rule\n", "no heading `## Rules`", "did you mean `## Rule`?"),
        ("## Rules \n", "no heading `## Rules`", "did you mean `## Rules `?"),
        ("# Rules\n", "no heading `## Rules`", "did you mean `# Rules`?"),
        ("```\n## Rules\n```\n", "no heading", "write the whole line of the heading"),
        ("## Rules\n\n## Rules\n", "2 headings `## Rules`", "a heading of its own"),
    ],
)
def test_a_section_that_is_not_there_exactly_once_is_refused(sealed, text, message, hint):
    with pytest.raises(SuiteError) as caught:
        one_source(sealed, text, "## Rules")
    assert caught.value.code == "P6201"
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.where == f"{sealed.suite_file}:1"


def change_source(sealed):
    sealed.source_file.write_text(SKILL + " ", encoding="utf-8")


CHANGES = [
    change_source,
    lambda sealed: sealed.suite.update(title="Another"),
    lambda sealed: sealed.suite.update(id="other"),
    lambda sealed: sealed.suite.update(salt="1" * 32),
    lambda sealed: sealed.suite["cases"].reverse(),
    lambda sealed: sealed.suite["sources"].reverse(),
    lambda sealed: sealed.suite["sources"][0].update(id="other"),
    lambda sealed: sealed.suite["sources"][0].update(path="./skill.md"),
    lambda sealed: sealed.case.update(task="When does it close?"),
    lambda sealed: sealed.case.update(id="times"),
    lambda sealed: sealed.case["evidence"].update(page="It opens at 09:31."),
    lambda sealed: sealed.case["response"]["opens_at"].update(maxLength=6),
    lambda sealed: sealed.case["response"].update(more={"type": "boolean"}),
    lambda sealed: sealed.case["checks"][0].update(value="09:31"),
    lambda sealed: sealed.case["checks"][0].update(id="exact"),
    lambda sealed: sealed.case["checks"].reverse(),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_whatever_is_changed_changes_the_binding(sealed, number):
    before = sealed.build()["binding_sha256"]
    CHANGES[number](sealed)
    assert sealed.build()["binding_sha256"] != before


def test_a_change_of_what_a_section_leaves_out_changes_the_binding_too(sealed):
    sealed.suite["sources"].pop(0)
    before = sealed.build()
    sealed.source_file.write_text(SKILL.replace("None.", "Some."), encoding="utf-8")
    after = sealed.build()
    assert before["sources"][0]["excerpt"] == after["sources"][0]["excerpt"]
    assert before["binding_sha256"] != after["binding_sha256"]


def test_the_order_of_keys_in_the_suite_changes_nothing_that_is_bound(sealed):
    before = sealed.build()["binding_sha256"]
    for case in sealed.suite["cases"]:
        case["response"] = dict(reversed(case["response"].items()))
        case["checks"] = [dict(reversed(check.items())) for check in case["checks"]]
    assert sealed.build()["binding_sha256"] == before


CANARIES = [
    {"kind": "equals", "field": "text", "value": "CANARY-1"},
    {"kind": "exact-text", "field": "text", "value": "CANARY-2"},
    {"kind": "contains", "field": "text", "value": "CANARY-3"},
    {"kind": "not-contains", "field": "text", "value": "CANARY-4"},
    {"kind": "ordered-equals", "field": "list", "values": ["CANARY-5"]},
    {"kind": "set-equals", "field": "list", "values": ["CANARY-6"]},
    {"kind": "one-of", "field": "text", "values": ["CANARY-7", "CANARY-8"]},
    {"kind": "regex", "field": "text", "pattern": "CANARY-9"},
    {"kind": "equals", "field": "object", "value": {"CANARY-10": ["CANARY-11"]}},
    {"kind": "all-of", "field": "text", "of": [{"kind": "equals", "value": "CANARY-12"}]},
]


def test_no_expected_value_no_check_and_no_salt_is_in_the_packet_or_the_page(sealed):
    from proctor.packets.pages import render_page
    from proctor.packets.reading import parse_packet

    sealed.case["response"] = {
        "text": {"type": "string"},
        "list": {"type": "list"},
        "object": {"type": "object"},
    }
    sealed.case["checks"] = [
        {"id": f"CANARY-ID-{number}", **check} for number, check in enumerate(CANARIES)
    ]
    sealed.suite["salt"] = "c0ffee" * 5 + "00"
    packet = sealed.build()
    page = render_page(parse_packet(packet, "packet"), packet)
    for text in (sealed.packet_file.read_text(), page):
        assert "CANARY" not in text
        assert "c0ffee" not in text
        assert str(sealed.root) not in text


def test_the_same_files_give_the_same_packet_at_another_place(sealed, tmp_path_factory):
    from packet_support import Sealed

    other = Sealed(tmp_path_factory.mktemp("other"))
    sealed.build()
    other.build()
    assert sealed.packet_file.read_bytes() == other.packet_file.read_bytes()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xef\xbb\xbf# Skill\n", "starts with a byte order mark (bom)"),
        ("# Skill\n".encode("utf-16"), "is UTF-16, not UTF-8 (not_utf8)"),
        (b"# Skill\n\xff", "is not UTF-8 (not_utf8)"),
    ],
)
def test_a_source_that_is_not_utf8_is_refused(sealed, data, reason):
    with pytest.raises(FileError) as caught:
        one_source(sealed, data)
    assert (caught.value.code, caught.value.message) == ("P6801", f"`skill.md` {reason}")


def test_a_source_that_is_not_there_is_named_with_its_place(sealed):
    sealed.source_file.unlink()
    with pytest.raises(ProctorError) as caught:
        sealed.build()
    problems = list(caught.value.problems())
    assert [problem.code for problem in problems] == ["P6201", "P6201"]
    message = "the source `skill.md` cannot be read: no such file or directory"
    assert problems[0].message == message
    assert problems[0].where == f"{sealed.suite_file}:1"


def test_a_source_may_have_a_mebibyte_and_no_more(sealed):
    assert one_source(sealed, b"x" * MAX_SOURCE)["bytes"] == 1024 * 1024
    with pytest.raises(FileError, match="larger than 1024 KiB") as caught:
        one_source(sealed, b"x" * (MAX_SOURCE + 1))
    assert caught.value.code == "P6805"


def test_all_sources_may_have_8_mebibytes_and_no_more(sealed):
    sealed.source_file.write_bytes(b"x" * MAX_SOURCE)
    sealed.suite["sources"] = [{"id": f"s{n}", "path": "skill.md"} for n in range(8)]
    assert len(sealed.build()["sources"]) == 8
    (sealed.root / "more.md").write_text("x")
    sealed.suite["sources"].append({"id": "more", "path": "more.md"})
    with pytest.raises(FileError, match="larger than 8 MiB together") as caught:
        sealed.build()
    assert caught.value.code == "P6805"


def test_a_packet_that_nobody_could_read_is_not_built(sealed):
    sealed.source_file.write_bytes(b"\x01" * MAX_SOURCE)
    sealed.suite["sources"] = [{"id": f"s{n}", "path": "skill.md"} for n in range(3)]
    with pytest.raises(SuiteError, match="larger than 16 MiB") as caught:
        sealed.build()
    assert caught.value.code == "P6201"


def nested_contract(depth):
    field = {"type": "boolean"}
    for _ in range(depth):
        field = {"type": "object", "fields": {"f": field}}
    return field


def test_a_packet_is_nested_at_most_32_deep(sealed):
    check = {"id": "c", "kind": "equals", "field": "opens_at", "value": "x"}
    sealed.case["checks"] = [check]
    fitting = 0
    for depth in range(12, 16):
        sealed.case["response"]["deep"] = nested_contract(depth)
        try:
            packet = sealed.build()
        except SuiteError as error:
            assert error.message.endswith("would be nested deeper than 32")  # noqa: PT017
        else:
            fitting = depth
            assert depth_of(packet) <= 32
    # The packet, the contract, the case, and two for each object with what is in it.
    assert fitting == (32 - 4) // 2


def depth_of(value):
    members = value.values() if isinstance(value, dict) else value
    inner = (depth_of(member) for member in members if isinstance(member, (dict, list)))
    return 1 + max(inner, default=0)


def test_a_suite_is_not_changed_by_being_built(sealed):
    suite = sealed.load()
    before = copy.deepcopy(suite.cases[0].contract)
    assert build_packet(suite) == build_packet(suite)
    assert suite.cases[0].contract == before
