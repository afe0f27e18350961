"""`proctor packet` from end to end, on the example and on files that do not cooperate."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from packet_support import Sealed
from support import EXAMPLES, proctor

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

WIKI = EXAMPLES / "wiki-notes"
README = (WIKI / "README.md").read_text(encoding="utf-8")
RESPONSES = re.findall(r"^\| `([\w-]+)` \| ([012]) \| (.*) \|$", README, re.MULTILINE)

BROKEN = """\
import sys
import proctor.packets.kinds
def broken(*args, **kwargs):
    raise RuntimeError("broken inside")
proctor.packets.{where} = broken
from proctor.cli.main import main
main(sys.argv[1:])
"""


def check(folder, response, *options, packet="packet.json", **settings):
    return proctor(
        "packet", "check", response, "--packet", packet, *options, cwd=folder, **settings
    )


@pytest.fixture
def sealed(tmp_path):
    """A suite in a folder that is no project, its packet, and a right response."""
    sealed = Sealed(tmp_path)
    (tmp_path / ".git").mkdir()
    sealed.respond(sealed.build())
    folder = tmp_path / "evals/packets"
    folder.mkdir(parents=True)
    for file in (sealed.suite_file, sealed.source_file):
        file.rename(folder / file.name)
    return sealed


# the example


def test_the_committed_packet_is_what_build_prints():
    built = proctor("packet", "build", "wiki-notes", cwd=WIKI)
    assert (built.code, built.err) == (0, "")
    assert built.out == (WIKI / "packet.json").read_bytes()
    by_file = proctor("packet", "build", "evals/packets/wiki-notes.packet.yaml", cwd=WIKI)
    assert by_file.out == built.out


def test_every_response_of_the_example_is_described():
    assert sorted(name for name, _, _ in RESPONSES) == sorted(
        path.stem for path in (WIKI / "responses").iterdir()
    )


@pytest.mark.parametrize(("name", "code", "why"), RESPONSES, ids=[row[0] for row in RESPONSES])
def test_a_response_of_the_example_comes_to_what_its_readme_says(name, code, why):
    result = check(WIKI, f"responses/{name}.json", "--format", "text")
    assert result.code == int(code)
    said = result.text if code != "2" else result.err
    if code == "2":
        assert result.out == b""
    for part in re.findall(r"`([^`]+)`", why) if code != "0" else ["PASSED  4 of 4 cases passed"]:
        assert part in said
    if why.startswith("P6"):
        assert f"{why[:5]}: " in said


def test_a_wrong_response_of_the_example_fails_one_case_only():
    for name, code, _ in RESPONSES:
        if code == "1":
            report = check(WIKI, f"responses/{name}.json").report
            assert report["totals"]["cases_passed"] == 3, name


def test_the_example_asks_what_it_says_it_asks():
    packet = json.loads((WIKI / "packet.json").read_bytes())
    right = json.loads((WIKI / "responses/correct.json").read_bytes())["results"]
    evidence = {case["id"]: case["evidence"] for case in packet["cases"]}
    assert right["opening-hours"]["opens_at"] in evidence["opening-hours"]["boathouse"]
    assert "23:00" in evidence["closing-hours"]["leaflet"]
    assert "23:00" not in str(right)
    assert right["saved-note"]["body"] == evidence["saved-note"]["selection"]
    assert right["telephone"] == {
        "telephone": None,
        "is_known": False,
        "status": "unsupported",
        "citations": [],
    }
    claims = packet["sources"][2]["excerpt"]
    assert claims["text"].startswith("## Claim rules\n")
    assert "### Review" in claims["text"]
    assert "## History" not in claims["text"]


# build


@pytest.fixture(scope="module")
def printed():
    """What each command prints, by its arguments."""
    commands = [
        ("build", "wiki-notes"),
        ("build", "wiki-notes", "--markdown"),
        ("template", "packet.json"),
        ("check", "responses/other-order.json", "--packet", "packet.json"),
    ]
    outputs = {command: proctor("packet", *command, cwd=WIKI).out for command in commands}
    assert all(outputs.values())
    return outputs


@pytest.mark.parametrize(
    "env",
    [
        {"TZ": "Pacific/Kiritimati"},
        {"LC_ALL": "C", "LANG": "C"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
        {"PYTHONUTF8": "0", "LC_ALL": "POSIX"},
        {"COLUMNS": "20", "USER": "somebody", "HOME": "/nowhere"},
    ],
    ids=lambda env: "-".join(env.values()),
)
def test_packet_page_and_report_do_not_depend_on_the_environment(printed, env):
    for arguments, plain in printed.items():
        assert proctor("packet", *arguments, cwd=WIKI, env=env).out == plain


def test_they_do_not_depend_on_where_they_are(tmp_path):
    copy = tmp_path / "deep" / "copy"
    shutil.copytree(WIKI, copy)
    built = (WIKI / "packet.json").read_bytes()
    suite = "evals/packets/wiki-notes.packet.yaml"
    assert proctor("packet", "build", "wiki-notes", "--cwd", str(copy), cwd="/").out == built
    assert proctor("packet", "build", str(copy / suite), cwd=tmp_path).out == built
    assert proctor("packet", "build", f"../{suite}", cwd=copy / "skills").out == built
    response = ("responses/correct.json", "--cwd", "deep/copy")
    there = check(tmp_path, *response)
    assert there.code == 0
    assert there.out == check(WIKI, "responses/correct.json").out
    assert str(tmp_path) not in there.text


def test_no_project_is_needed(sealed):
    assert (
        proctor("packet", "build", "quiz", cwd=sealed.root).out == sealed.packet_file.read_bytes()
    )
    result = check(sealed.root, "response.json")
    assert (result.code, result.report["exit_code"]) == (0, 0)


def test_the_folder_of_the_suites_is_that_of_the_project(sealed):
    (sealed.root / "evals").rename(sealed.root / "exams")
    assert "0 of 0 packet suites" in proctor("packet", "build", "quiz", cwd=sealed.root).err
    (sealed.root / "proctor.toml").write_text('project = "x"\nevals = "exams"\n')
    assert check(sealed.root, "response.json").code == 0
    assert check(sealed.root / "exams", "../response.json", packet="../packet.json").code == 0


def test_a_suite_that_is_not_there_is_2(sealed):
    for name in ("wiki", "no.packet.yaml"):
        result = proctor("packet", "build", name, cwd=sealed.root)
        assert (result.code, result.out) == (2, b"")
        assert "P6001: " in result.err


def test_what_is_wrong_with_a_suite_is_listed_with_its_lines(tmp_path):
    suite = yaml.safe_load((WIKI / "evals/packets/wiki-notes.packet.yaml").read_text())
    suite["cases"][0]["checks"][0]["kind"] = "equal"
    del suite["salt"]
    suite["sources"] = []
    (tmp_path / "a.packet.yaml").write_text(yaml.safe_dump(suite))
    result = proctor("packet", "build", "a.packet.yaml", cwd=tmp_path)
    assert result.code == 2
    assert "a.packet.yaml:1: P6201: the key `salt` is missing" in result.err


def test_the_page_and_a_chat_lead_to_a_response(sealed):
    page = proctor("packet", "build", "quiz", "--markdown", cwd=sealed.root)
    assert page.code == 0
    answer = sealed.response_file.read_text()
    chat = f"{page.text}\n---\n\nHere it is.\n\n```json\n{answer}\n```\n"
    (sealed.root / "chat.md").write_text(chat)
    extracted = proctor("packet", "extract", "chat.md", cwd=sealed.root)
    assert (extracted.code, extracted.text) == (0, f"{answer}\n")
    (sealed.root / "chat.md").write_text(chat + chat)
    extracted = proctor("packet", "extract", "chat.md", cwd=sealed.root)
    assert (extracted.code, extracted.out) == (2, b"")
    assert "P6801: `chat.md` has 2 fenced JSON blocks" in extracted.err


def test_the_template_is_bound_and_is_no_response(sealed):
    result = proctor("packet", "template", "packet.json", cwd=sealed.root)
    assert result.code == 0
    packet = json.loads(sealed.packet_file.read_bytes())
    assert result.report["binding_sha256"] == packet["binding_sha256"]
    (sealed.root / "response.json").write_bytes(result.out)
    checked = check(sealed.root, "response.json")
    assert (checked.code, checked.out) == (2, b"")
    assert checked.err.count("P6806: ") == 3


# check


@pytest.mark.parametrize(("opens_at", "code"), [("09:30", 0), ("23:00", 1)])
def test_the_boundary_is_printed_whether_it_passed_or_not(sealed, opens_at, code):
    response = json.loads(sealed.response_file.read_text())
    response["results"]["hours"]["opens_at"] = opens_at
    sealed.response_file.write_text(json.dumps(response))
    as_text = check(sealed.root, "response.json", "--format", "text")
    as_json = check(sealed.root, "response.json")
    assert as_text.code == as_json.code == as_json.report["exit_code"] == code
    assert as_text.err == ""
    for printed in (as_text.text, as_json.text, as_json.err):
        assert "No model was called." in printed
        assert "Human review remains required." in printed
    assert as_json.err.startswith("PASSED" if code == 0 else "FAILED")


def test_nothing_of_the_checks_is_printed_when_an_earlier_stage_failed(sealed):
    (sealed.root / "evals/packets/skill.md").write_text("# Another\n\n## Rules\n")
    for options in ((), ("--format", "text")):
        result = check(sealed.root, "response.json", *options)
        assert (result.code, result.out) == (2, b"")
        assert "P6803: source skill changed: " in result.err
        assert "cited" not in result.err
        assert "PASSED" not in result.err
    archive = check(sealed.root, "response.json", "--no-recheck")
    assert archive.code == 0
    assert archive.report["sources_rechecked"] is False


def test_a_suite_elsewhere_is_named(sealed):
    (sealed.root / "evals").rename(sealed.root / "moved")
    result = check(sealed.root, "response.json")
    assert result.code == 2
    assert "P6803: suite missing: " in result.err
    suite = "moved/packets/quiz.packet.json"
    assert check(sealed.root, "response.json", "--suite", suite).code == 0


def test_a_suite_that_is_no_more_there_does_not_stop_an_earlier_stage(sealed):
    shutil.rmtree(sealed.root / "evals")
    sealed.packet_file.write_text("{")
    assert "P6801: " in check(sealed.root, "response.json").err


@pytest.mark.parametrize("missing", ["packet", "response"])
def test_a_file_that_is_missing_is_2(sealed, missing):
    (sealed.root / f"{missing}.json").unlink()
    result = check(sealed.root, "response.json")
    assert result.code == 2
    assert f"P6801: `{missing}.json` cannot be read: no such file or directory" in result.err


def test_the_packet_must_be_named(sealed):
    result = proctor("packet", "check", "response.json", cwd=sealed.root)
    assert result.code == 2
    assert "P6002: Missing option '--packet'." in result.err


HOSTILE = {
    "1e400": b'{"schema": 1e400}',
    "depth": b"[" * 10_000 + b"]" * 10_000,
    "digits": b"[" + b"7" * 5_000 + b"]",
    "bom": b"\xef\xbb\xbf{}",
    "utf-16": '{"schema": "x"}'.encode("utf-16"),
    "surrogate": b'{"\\ud800": "\\udfff"}',
    "nul": b"\0" * 100,
    "empty": b"",
    "hostile key": b'{"\\u001b[31m\\n::error::": 1, "\\u001b[31m\\n::error::": 1}',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("which", ["packet", "response", "chat"])
def test_a_hostile_file_is_2_without_a_traceback(sealed, name, which):
    (sealed.root / f"{which}.json").write_bytes(HOSTILE[name])
    if which == "chat":
        result = proctor("packet", "extract", "chat.json", cwd=sealed.root)
    else:
        result = check(sealed.root, "response.json")
    assert (result.code, result.out) == (2, b"")
    assert "P6801: " in result.err
    assert "Traceback" not in result.err
    assert "\x1b" not in result.err
    assert "\n::" not in result.err


def as_a_fifo(sealed):
    os.mkfifo(sealed.root / "x")
    return "x"


def as_a_folder(sealed):
    (sealed.root / "x").mkdir()
    return "x"


def as_a_link(sealed):
    (sealed.root / "x").symlink_to("response.json")
    return "x"


def below_a_link(sealed):
    (sealed.root / "x").symlink_to(".")
    return "x/response.json"


def far_below_a_link(sealed):
    (sealed.root / "tmp").symlink_to(sealed.root)
    return str(sealed.root / "tmp/evals/../response.json")


@pytest.mark.parametrize(
    "place", [as_a_fifo, as_a_folder, as_a_link, below_a_link, far_below_a_link, "/dev/zero"]
)
@pytest.mark.parametrize("which", ["response", "packet", "suite", "extract", "template", "build"])
def test_what_is_not_a_plain_file_is_2_without_waiting(sealed, place, which):
    path = place if isinstance(place, str) else place(sealed)
    here = f"./{path}" if not path.startswith("/") else path
    arguments = {
        "response": ("check", path, "--packet", "packet.json"),
        "packet": ("check", "response.json", "--packet", path),
        "suite": ("check", "response.json", "--packet", "packet.json", "--suite", here),
        "extract": ("extract", path),
        "template": ("template", path),
        "build": ("build", here),
    }[which]
    result = proctor("packet", *arguments, cwd=sealed.root)
    assert (result.code, result.out) == (2, b"")
    assert "P6805: " in result.err
    assert "Traceback" not in result.err
    if "link" in getattr(place, "__name__", ""):
        assert "goes through the link `" in result.err
        assert f"use `{sealed.root / 'response.json'}`" in result.err


@pytest.mark.parametrize(
    ("where", "arguments"),
    [
        ("kinds.json_equal", ("check", "response.json", "--packet", "packet.json")),
        ("kinds._same_values", ("check", "response.json", "--packet", "packet.json")),
        ("reading.binding_of", ("check", "response.json", "--packet", "packet.json")),
        ("outline._Scanner.take", ("extract", "response.json")),
    ],
)
def test_a_fault_of_proctor_is_70_and_never_0_or_1(sealed, where, arguments):
    module = where.partition(".")[0]
    program = BROKEN.format(where=where).replace("packets.kinds\n", f"packets.{module}\n")
    done = subprocess.run(
        [sys.executable, "-c", program, "packet", *arguments],
        cwd=sealed.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (70, "")
    assert "RuntimeError: broken inside" in done.stderr
    assert "report it" in done.stderr


def test_no_file_is_written(sealed):
    before = sorted(sealed.root.rglob("*"))
    for arguments in (
        ("build", "quiz"),
        ("build", "quiz", "--markdown"),
        ("template", "packet.json"),
        ("check", "response.json", "--packet", "packet.json"),
    ):
        assert proctor("packet", *arguments, cwd=sealed.root).code == 0
    assert sorted(sealed.root.rglob("*")) == before


# the schema


@pytest.fixture(scope="module")
def fits():
    schema = json.loads(proctor("schema", "packet", cwd=WIKI).out)
    return jsonschema_rs.validator_for(schema).is_valid


def suite_of_the_example():
    return yaml.safe_load((WIKI / "evals/packets/wiki-notes.packet.yaml").read_text())


def test_every_file_of_a_packet_fits_the_schema(fits):
    assert fits({"$schema": "../.schema/packet.json", **suite_of_the_example()})
    assert fits(json.loads((WIKI / "packet.json").read_bytes()))
    assert fits(json.loads((WIKI / "responses/correct.json").read_bytes()))
    assert fits(check(WIKI, "responses/other-order.json").report)


@pytest.mark.parametrize("key", ["id", "title", "salt", "cases"])
def test_a_suite_that_lacks_something_does_not_fit(fits, key):
    suite = suite_of_the_example()
    del suite[key]
    assert not fits(suite)


@pytest.mark.parametrize(
    ("check", "fitting"),
    [
        ({"kind": "equals", "value": None}, True),
        ({"kind": "regex", "pattern": "x", "flags": "i"}, True),
        ({"kind": "all-of", "of": [{"kind": "is-null"}]}, True),
        ({"kind": "words-from", "evidence": "page"}, True),
        ({"kind": "equal", "value": 1}, False),
        ({"kind": "equals"}, False),
        ({"kind": "equals", "values": [1]}, False),
        ({"kind": "one-of", "value": 1}, False),
        ({"kind": "all-of", "of": []}, False),
        ({"kind": "all-of", "of": [{"kind": "equals"}]}, False),
    ],
)
def test_a_check_fits_when_it_can_be_written(fits, check, fitting):
    suite = suite_of_the_example()
    suite["cases"][0]["checks"] = [{"id": "c", "field": "f", **check}]
    assert fits(suite) is fitting
    suite["cases"][0]["checks"] = [{"id": "c", **check}]
    assert not fits(suite)


@pytest.mark.parametrize("name", ["packet.json", "responses/correct.json", "report"])
def test_what_is_sealed_or_comes_back_has_every_key_and_no_other(fits, name):
    if name == "report":
        value = check(WIKI, "responses/correct.json").report
    else:
        value = json.loads((WIKI / name).read_bytes())
    assert not fits({**value, "more": 1})
    for key in value.keys() - {"responder"}:
        assert not fits({other: value[other] for other in value if other != key}), key


# the page


def test_the_suite_that_the_page_shows_is_one(tmp_path):
    page = (EXAMPLES.parent / "docs/packets.md").read_text(encoding="utf-8")
    suite = page.split("```yaml\n")[1].split("```")[0]
    (tmp_path / "evals/packets").mkdir(parents=True)
    (tmp_path / "evals/packets/a.packet.yaml").write_text(suite)
    for path, text in (("skills/query.md", "x"), ("references/provenance.md", "## Claim rules\n")):
        file = tmp_path / "evals/packets" / path
        file.parent.mkdir()
        file.write_text(text)
    assert proctor("packet", "build", "opening-hours", cwd=tmp_path).code == 0


def test_the_page_names_every_kind_and_every_code_of_a_failed_check():
    from proctor.packets import kinds

    page = (EXAMPLES.parent / "docs/packets.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in kinds.listed_kinds())
    source = Path(kinds.__file__).read_text(encoding="utf-8")
    codes = set(re.findall(r'"((?:not|no|other|repeated|timed|foreign)_\w+|found)"', source))
    assert {"not_equal", "timed_out", "found", "foreign_word", "no_match"} <= codes
    assert all(f"`{code}`" in page for code in codes)
