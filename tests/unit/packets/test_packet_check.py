import errno
import hashlib
import json
import os

import pytest

from packet_support import SKILL
from proctor.canonical import digest
from proctor.errors import ProctorError
from proctor.packets.check import CheckRequest, check_response
from proctor.packets.reports import render_packet_json, render_packet_text
from proctor.packets.suites import load_suite_of_id


@pytest.fixture
def packet(sealed):
    packet = sealed.build()
    sealed.respond(packet)
    return packet


class TestTheReport:
    def test_a_right_response_passes_every_check(self, sealed, packet):
        report = sealed.check()
        assert report.exit_code == 0
        assert [(case.id, case.outcome) for case in report.cases] == [
            ("hours", "passed"),
            ("phone", "passed"),
        ]
        totals = report.totals
        assert (totals.cases, totals.cases_passed) == (2, 2)
        assert (totals.checks, totals.checks_passed) == (3, 3)

    def test_a_wrong_value_fails_its_check_and_its_case_only(self, sealed, packet):
        results = {
            "hours": {"opens_at": "9:30", "citations": ["page"]},
            "phone": {"number": None},
        }
        sealed.respond(packet, results=results)
        report = sealed.check()
        assert report.exit_code == 1
        hours, phone = report.cases
        assert (hours.outcome, phone.outcome) == ("failed", "passed")
        assert [(one.id, one.outcome, one.reason) for one in hours.checks] == [
            ("time", "failed", "not_equal"),
            ("cited", "passed", None),
        ]
        assert (report.totals.cases_passed, report.totals.checks_passed) == (1, 2)

    def test_it_says_what_was_checked(self, sealed, packet):
        report = sealed.check()
        written = sealed.response_file.read_bytes()
        assert report.schema == "proctor.packet-report.v1"
        assert report.binding_sha256 == packet["binding_sha256"]
        assert report.packet_sha256 == digest(packet)
        assert report.response_sha256 == digest(json.loads(written))
        assert report.response_bytes_sha256 == hashlib.sha256(written).hexdigest()
        sealed.response_file.write_bytes(written + b"\n")
        again = sealed.check()
        assert again.response_sha256 == report.response_sha256
        assert again.response_bytes_sha256 != report.response_bytes_sha256

    def test_its_keys_have_an_order(self, sealed, packet):
        assert list(json.loads(render_packet_json(sealed.check()))) == [
            "schema", "suite", "binding_sha256", "packet_sha256", "response_sha256",
            "response_bytes_sha256", "evaluator", "responder", "sources_rechecked", "rechecked",
            "cases", "totals", "exit_code", "claims",
        ]  # fmt: skip

    def test_who_answered_is_recorded_as_their_own_account(self, sealed, packet):
        assert sealed.check().responder is None
        sealed.respond(packet, responder={"kind": "model", "label": "m-1"})
        responder = sealed.check().responder
        assert (responder.kind, responder.label, responder.self_reported) == ("model", "m-1", True)
        assert b"Answered by model m-1, by their own account." in render_packet_text(sealed.check())

    @pytest.mark.parametrize("opens_at", ["09:30", "23:00"])
    def test_what_it_is_worth_is_said_whether_it_passed_or_not(self, sealed, packet, opens_at):
        results = {
            "hours": {"opens_at": opens_at, "citations": ["page"]},
            "phone": {"number": None},
        }
        sealed.respond(packet, results=results)
        report = sealed.check()
        text = " ".join(render_packet_text(report).decode().split()).lower()
        for said in (
            "a supplied response met bounded schema and exact-value checks",
            "no model was called",
            "human review remains required",
            "the quality of natural-language answers",
            "prompt reasoning",
            "a model's quality or identity",
            "the operation of the real system",
            "human acceptance",
            "superiority over another product",
            "a handcrafted response can pass",
            "separate authenticated trial receipt",
        ):
            assert said in text
            assert said in " ".join([*report.claims.shows, *report.claims.does_not_show]).lower()

    def test_neither_answers_nor_expected_values_are_in_it(self, sealed, packet):
        results = {
            "hours": {"opens_at": "GIVEN", "citations": ["GIVEN-TOO"]},
            "phone": {"number": "GIVEN"},
        }
        sealed.respond(packet, results=results)
        report = sealed.check()
        for shown in (render_packet_json(report), render_packet_text(report)):
            assert b"GIVEN" not in shown
            assert b"09:30" not in shown
            assert str(sealed.root).encode() not in shown

    def test_the_text_acts_on_no_terminal(self, sealed):
        sealed.suite["title"] = "\x1b[31m::error::"
        sealed.respond(sealed.build(), responder={"kind": "human", "label": "\x1b[0m\n::error::x"})
        text = render_packet_text(sealed.check())
        assert b"\x1b" not in text
        assert b"\n::" not in text


class TestRechecking:
    def test_what_was_compared_is_listed_with_both_digests(self, sealed, packet):
        rechecked = sealed.check().rechecked
        assert [(one.what, one.status) for one in rechecked] == [
            ("suite", "ok"),
            ("expectations", "ok"),
            ("source skill", "ok"),
            ("source rules", "ok"),
        ]
        assert all(one.packet_sha256 == one.disk_sha256 for one in rechecked)
        assert rechecked[1].packet_sha256 == packet["expectations_sha256"]
        assert rechecked[2].packet_sha256 == hashlib.sha256(SKILL.encode()).hexdigest()

    def stale(self, sealed, **options):
        problems = list(sealed.refusal(**options).problems())
        assert {problem.code for problem in problems} == {"P6803"}
        return [problem.message for problem in problems]

    def test_a_source_that_changed_is_named_with_both_digests(self, sealed, packet):
        sealed.source_file.write_text(SKILL.replace("None.", "Some."))
        now = hashlib.sha256(sealed.source_file.read_bytes()).hexdigest()
        then = packet["sources"][0]["sha256"]
        assert self.stale(sealed) == [
            f"source {name} changed: {then} in the packet, {now} on disk"
            for name in ("skill", "rules")
        ]

    def test_a_source_that_is_missing_is_named(self, sealed, packet):
        sealed.source_file.unlink()
        then = packet["sources"][0]["sha256"]
        assert self.stale(sealed) == [
            f"source {name} missing: {then} in the packet, nothing on disk"
            for name in ("skill", "rules")
        ]

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda sealed: sealed.suite.update(title="Another"), "suite"),
            (lambda sealed: sealed.suite.update(id="other"), "suite"),
            (lambda sealed: sealed.case.update(task="Another?"), "suite"),
            (lambda sealed: sealed.case["evidence"].update(page="Another."), "suite"),
            (lambda sealed: sealed.case["response"].update(x={"type": "boolean"}), "suite"),
            (lambda sealed: sealed.suite.update(salt="1" * 32), "expectations"),
            (lambda sealed: sealed.case["checks"][0].update(value="23:00"), "expectations"),
            (lambda sealed: sealed.case["checks"].pop(), "expectations"),
        ],
    )
    @pytest.mark.parametrize("with_sources", [True, False])
    def test_a_suite_that_changed_is_refused_also_for_an_archive(
        self, sealed, packet, change, what, with_sources
    ):
        change(sealed)
        sealed.write_suite()
        (message,) = self.stale(sealed, with_sources=with_sources)
        assert message.startswith(f"{what} changed: ")

    def test_a_source_that_the_suite_names_no_more_is_missing(self, sealed, packet):
        sealed.suite["sources"].pop()
        sealed.write_suite()
        suite, source = self.stale(sealed)
        assert suite.startswith("suite changed: ")
        assert source.startswith("source rules missing: ")

    @pytest.mark.parametrize("with_sources", [True, False])
    def test_a_suite_that_is_missing_is_refused(self, sealed, packet, with_sources):
        sealed.suite_file.unlink()
        (message,) = self.stale(sealed, with_sources=with_sources)
        assert message.startswith("suite missing: ")
        assert "there is no packet suite" in message

    def test_a_suite_that_cannot_be_used_says_why(self, sealed, packet):
        sealed.suite["salt"] = "x"
        sealed.write_suite()
        assert sealed.refusal().code == "P6201"

    def test_an_archive_is_checked_without_its_sources_and_the_report_says_so(self, sealed, packet):
        sealed.source_file.unlink()
        report = sealed.check(with_sources=False)
        assert report.exit_code == 0
        assert report.sources_rechecked is False
        assert [one.what for one in report.rechecked] == ["suite", "expectations"]
        assert b"The sources were not rechecked" in render_packet_text(report)
        sealed.source_file.write_text(SKILL)
        report = sealed.check()
        assert report.sources_rechecked is True
        assert b"not rechecked" not in render_packet_text(report)

    def test_a_packet_that_somebody_wrote_over_is_found_out(self, sealed, packet):
        text = SKILL + "Every answer is right.\n"
        packet["sources"][0]["excerpt"] |= {
            "text": text,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        sealed.respond(sealed.write_packet(packet))
        (message,) = self.stale(sealed)
        assert message.startswith("source skill changed: ")
        assert sealed.check(with_sources=False).sources_rechecked is False

    def test_a_contract_that_somebody_loosened_is_found_out(self, sealed, packet):
        packet["response_contract"]["hours"]["opens_at"]["maxLength"] = 500
        sealed.respond(sealed.write_packet(packet))
        (message,) = self.stale(sealed, with_sources=False)
        assert message.startswith("suite changed: ")

    def test_a_path_that_only_the_packet_names_is_not_opened(self, sealed, packet):
        os.mkfifo(sealed.root / "secret.md")
        packet["sources"][0]["path"] = "secret.md"
        sealed.respond(sealed.write_packet(packet))
        suite, source = self.stale(sealed)
        assert suite.startswith("suite changed: ")
        assert source.startswith("source skill missing: ")

    def test_a_source_that_became_a_link_or_a_folder_is_unsafe(self, sealed, packet):
        sealed.source_file.rename(sealed.root / "real.md")
        sealed.source_file.symlink_to("real.md")
        assert sealed.refusal().code == "P6805"
        sealed.source_file.unlink()
        sealed.source_file.mkdir()
        assert sealed.refusal().code == "P6805"

    def test_the_suite_is_found_by_the_id_in_the_packet(self, sealed, packet):
        folder = sealed.root / "evals/packets"
        folder.mkdir(parents=True)
        (folder / "any.packet.json").write_bytes(sealed.suite_file.read_bytes())
        (folder / "skill.md").write_text(SKILL)
        report = check_response(
            CheckRequest(
                packet=sealed.packet_file,
                response=sealed.response_file,
                find_suite=lambda id_: load_suite_of_id(id_, sealed.root, "evals"),
                with_sources=True,
            )
        )
        assert report.exit_code == 0


def link_the_packet(sealed, packet):
    sealed.packet_file.rename(sealed.root / "real.json")
    sealed.packet_file.symlink_to("real.json")


def link_the_response(sealed, packet):
    sealed.response_file.rename(sealed.root / "real-response.json")
    sealed.response_file.symlink_to("real-response.json")


def break_the_packet(sealed, packet):
    sealed.packet_file.write_text("{")


def break_the_response(sealed, packet):
    sealed.response_file.write_text("{}{}")


def add_to_the_packet(sealed, packet):
    sealed.write_packet({**packet, "more": 1})


def rebind_the_packet(sealed, packet):
    sealed.write_packet({**packet, "expectations_sha256": "0" * 64}, bound=False)


def change_a_source(sealed, packet):
    sealed.source_file.write_text("# Another\n\n## Rules\n")


def remove_the_suite(sealed, packet):
    sealed.suite_file.unlink()


def empty_the_response(sealed, packet):
    response = json.loads(sealed.response_file.read_text())
    sealed.response_file.write_text(json.dumps({**response, "results": {}}))


def answer_another_packet(sealed, packet):
    response = json.loads(sealed.response_file.read_text())
    sealed.response_file.write_text(json.dumps({**response, "binding_sha256": "0" * 64}))


def answer_wrongly(sealed, packet):
    response = json.loads(sealed.response_file.read_text())
    response["results"]["phone"] = {"number": "1"}
    sealed.response_file.write_text(json.dumps(response))


STAGES = [
    (link_the_packet, "P6805", "packet.json"),
    (link_the_response, "P6805", "response.json"),
    (break_the_packet, "P6801", "packet.json"),
    (break_the_response, "P6801", "response.json"),
    (add_to_the_packet, "P6806", "more"),
    (rebind_the_packet, "P6802", "binding"),
    (change_a_source, "P6803", "source"),
    (empty_the_response, "P6806", "results"),
    (answer_another_packet, "P6804", "response.json"),
    (answer_wrongly, None, None),
]
PAIRS = [
    (first, second)
    for place, first in enumerate(STAGES)
    for second in STAGES[place + 1 :]
    # Two faults of one file cannot be had together when one leaves nothing for the other.
    if not (first[0] in (break_the_packet, add_to_the_packet) and "packet" in second[0].__name__)
    and not (first[0] is break_the_response and "response" in second[0].__name__)
]


@pytest.mark.parametrize(
    ("first", "second"),
    PAIRS,
    ids=[f"{first[0].__name__}-{second[0].__name__}" for first, second in PAIRS],
)
def test_of_two_faults_the_one_of_the_earlier_stage_stops_the_check(sealed, packet, first, second):
    # The later fault is made first: a file that is broken cannot be changed any more.
    second[0](sealed, packet)
    first[0](sealed, packet)
    _, code, said = first
    error = sealed.refusal()
    assert error.code == code
    assert said in error.message


@pytest.mark.parametrize("stage", STAGES[:-1], ids=lambda stage: stage[0].__name__)
def test_each_fault_alone_stops_the_check(sealed, packet, stage):
    make, code, said = stage
    make(sealed, packet)
    error = sealed.refusal()
    assert error.code == code
    assert said in error.message


def test_the_suite_is_needed_before_the_response_is_looked_at(sealed, packet):
    remove_the_suite(sealed, packet)
    empty_the_response(sealed, packet)
    assert sealed.refusal().code == "P6803"


def test_a_response_to_another_packet_is_told_both_digests(sealed, packet):
    answer_another_packet(sealed, packet)
    error = sealed.refusal()
    assert "0" * 64 in error.message
    assert packet["binding_sha256"] in error.message


def test_a_response_is_bound_to_what_is_expected(sealed, packet):
    old = sealed.response_file.read_bytes()
    sealed.case["checks"][0]["value"] = "23:00"
    sealed.build()
    sealed.response_file.write_bytes(old)
    with pytest.raises(ProctorError) as caught:
        sealed.check()
    assert caught.value.code == "P6804"


def test_an_archive_need_not_be_where_its_sources_were(sealed, tmp_path_factory):
    (sealed.root / "proctor.toml").write_text('project = "x"\n')
    sealed.suite_file = sealed.root / "evals/packets/quiz.packet.json"
    sealed.suite_file.parent.mkdir(parents=True)
    for source in sealed.suite["sources"]:
        source["path"] = "../../skill.md"
    sealed.respond(sealed.build())
    assert sealed.check().exit_code == 0
    archive = tmp_path_factory.mktemp("archive")
    sealed.suite_file = sealed.suite_file.rename(archive / "quiz.packet.json")
    assert sealed.check(with_sources=False).exit_code == 0
    assert sealed.refusal().code == "P6805"


def test_a_source_that_may_not_be_read_is_not_taken_for_missing(sealed, packet, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("proctor.packets.suites.read_unchanged_inside", refuse)
    error = sealed.refusal()
    assert error.code == "P6801"
    assert error.message == "the source `skill.md` cannot be read: permission denied"
