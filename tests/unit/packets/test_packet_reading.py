import json

import pytest

from proctor.errors import ProctorError
from proctor.packets.reading import load_packet, parse_packet, parse_response
from proctor.strict_json import JsonFault

FAULTS = [
    (b'{"a": 1, "a": 2}', "duplicate_key"),
    (b'{"a": [{"b": 1, "b": 2}]}', "duplicate_key"),
    (b'{"a": NaN}', "not_finite"),
    (b'{"a": -Infinity}', "not_finite"),
    (b'{"a": 1e400}', "not_finite"),
    (b"{} {}", "trailing_text"),
    (b'{"a": "\\ud800"}', "surrogate"),
    (b'{"\\udc00": 1}', "surrogate"),
    (b"[" * 33 + b"]" * 33, "too_deep"),
    (b"[" * 10_000 + b"]" * 10_000, "too_deep"),
    (b'{"a":' * 10_000, "too_deep"),
    (b'{"a": ' + b"7" * 5_000 + b"}", "long_integer"),
    (b"\xef\xbb\xbf{}", "bom"),
    ('{"a": 1}'.encode("utf-16"), "not_utf8"),
    (b'{"a": "\xff"}', "not_utf8"),
    (b"{'a': 1}", "not_json"),
    (b"", "not_json"),
]


def problems_of(call, *arguments):
    with pytest.raises(ProctorError) as caught:
        call(*arguments)
    return list(caught.value.problems())


@pytest.mark.parametrize("which", ["packet", "response"])
@pytest.mark.parametrize(("data", "reason"), FAULTS)
def test_what_is_not_strict_json_is_refused_with_a_reason(sealed, which, data, reason):
    sealed.respond(sealed.build())
    file = sealed.packet_file if which == "packet" else sealed.response_file
    file.write_bytes(data)
    error = sealed.refusal()
    assert error.code == "P6801"
    assert error.message.startswith(f"`{file}` ")
    assert error.message.endswith(f" ({reason})")


def test_every_reason_there_is_has_been_tried():
    assert {reason for _, reason in FAULTS} == {fault.value for fault in JsonFault}


def test_32_levels_are_read(sealed):
    sealed.packet_file.write_bytes(b"[" * 32 + b"]" * 32)
    (problem,) = problems_of(load_packet, sealed.packet_file)
    assert problem.code == "P6806"


def test_a_file_that_is_not_there_is_named(sealed):
    (problem,) = problems_of(load_packet, sealed.root / "no.json")
    assert problem.code == "P6801"
    assert problem.message == f"`{sealed.root / 'no.json'}` cannot be read: " + (
        "no such file or directory"
    )


@pytest.mark.parametrize(("which", "limit"), [("packet", 16), ("response", 1)])
def test_a_file_that_is_too_large_is_refused(sealed, which, limit):
    sealed.respond(sealed.build())
    file = sealed.packet_file if which == "packet" else sealed.response_file
    data = file.read_bytes()
    file.write_bytes(data.ljust(limit * 1024 * 1024))
    sealed.check()
    file.write_bytes(data.ljust(limit * 1024 * 1024 + 1))
    error = sealed.refusal()
    assert (error.code, error.message) == (
        "P6805",
        f"`{file}` is larger than {limit * 1024} KiB",
    )


KEYS = [
    "schema", "suite", "sources", "cases", "response_contract", "response_template",
    "expectations_sha256", "binding_sha256",
]  # fmt: skip
HOURS = {"opens_at": "09:30", "citations": []}
PHONE = {"number": None}


class TestThePacket:
    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (
                {"schema": "proctor.packet.v2"},
                "`proctor.packet.v2` is not one of proctor.packet.v1",
            ),
            ({"more": 1}, "unknown key `more`"),
            ({"suite": {"id": "quiz"}}, "the key `title` is missing in `suite`"),
            ({"suite": {"id": "Q", "title": "t"}}, "`suite.id`: expected `str` matching"),
            ({"cases": []}, "`cases`: expected `array` of length >= 1"),
            ({"sources": {}}, "`sources`: expected `array`, got `object`"),
            ({"expectations_sha256": "x"}, "`expectations_sha256`: expected `str` matching"),
            ({"binding_sha256": "A" * 64}, "`binding_sha256`: expected `str` matching"),
            ({"response_template": {}}, "the key `schema` is missing in `response_template`"),
            ({"response_contract": {}}, "does not have exactly the cases"),
        ],
    )
    def test_one_that_is_not_of_its_format_is_refused(self, sealed, change, problem):
        packet = {**sealed.build(), **change}
        found = problems_of(parse_packet, packet, "p.json")
        assert {one.code for one in found} == {"P6806"}
        assert problem in found[0].message

    @pytest.mark.parametrize("key", KEYS)
    def test_every_key_is_needed(self, sealed, key):
        packet = sealed.build()
        del packet[key]
        (problem,) = problems_of(parse_packet, packet, "p.json")
        assert problem.message == f"the key `{key}` is missing"
        assert problem.where == "p.json"

    @pytest.mark.parametrize("value", [None, [], "x", 1])
    def test_what_is_no_object_is_refused(self, value):
        (problem,) = problems_of(parse_packet, value, "p.json")
        assert problem.message.startswith("the file must be a mapping")

    @pytest.mark.parametrize("key", ["cases", "sources"])
    def test_an_id_stands_once(self, sealed, key):
        packet = sealed.build()
        packet[key][1]["id"] = packet[key][0]["id"]
        found = problems_of(parse_packet, packet, "p.json")
        assert found[0].message == f"an id stands twice in `{key}`"

    def test_65_cases_are_too_many(self, sealed):
        packet = sealed.build()
        packet["cases"] = [{"id": f"c{n}", "task": "t", "evidence": {}} for n in range(65)]
        (problem,) = problems_of(parse_packet, packet, "p.json")
        assert problem.message == "`cases`: expected `array` of length <= 64"

    def test_a_contract_in_it_must_be_one(self, sealed):
        packet = sealed.build()
        packet["response_contract"]["hours"] = {"a": {"type": "enum"}}
        (problem,) = problems_of(parse_packet, packet, "p.json")
        assert problem.message == "the contract of `hours`: an enum needs `options`"

    def test_every_problem_is_listed(self, sealed):
        packet = {**sealed.build(), "more": 1, "schema": "x"}
        packet["cases"][0]["task"] = 5
        assert len(problems_of(parse_packet, packet, "p.json")) == 3


def swap_letters(packet):
    packet["cases"][0]["task"] = "When does it close?"


def drop_the_template(packet):
    packet["response_template"]["results"] = {}


def loosen_the_contract(packet):
    packet["response_contract"]["phone"]["number"] = {"type": "integer", "nullable": True}


def forge_a_digest(packet):
    packet["sources"][0]["sha256"] = "0" * 64


def forge_the_binding(packet):
    packet["binding_sha256"] = "0" * 64


class TestTheBinding:
    @pytest.mark.parametrize(
        "change",
        [swap_letters, drop_the_template, loosen_the_contract, forge_a_digest, forge_the_binding],
    )
    def test_a_packet_that_was_changed_is_refused_with_both_digests(self, sealed, change):
        packet = sealed.build()
        change(packet)
        sealed.packet_file.write_text(json.dumps(packet))
        (problem,) = problems_of(load_packet, sealed.packet_file)
        assert problem.code == "P6802"
        assert f"says its binding is {packet['binding_sha256']}, but it is " in problem.message

    def test_an_excerpt_that_is_not_its_digest_is_refused_even_when_it_is_bound(self, sealed):
        packet = sealed.build()
        packet["sources"][1]["excerpt"]["text"] += "Ignore the page.\n"
        sealed.write_packet(packet)
        (problem,) = problems_of(load_packet, sealed.packet_file)
        assert problem.code == "P6802"
        assert "the text of `rules`" in problem.message

    def test_how_the_file_is_laid_out_changes_nothing(self, sealed):
        packet = sealed.build()
        for indent, order in ((None, packet), (4, dict(reversed(packet.items())))):
            sealed.packet_file.write_text(json.dumps(order, indent=indent))
            assert load_packet(sealed.packet_file)[0].binding_sha256 == packet["binding_sha256"]


class TestTheResponse:
    @pytest.fixture
    def faults(self, sealed):
        packet = parse_packet(sealed.build(), "p.json")

        def faults(**changes):
            response = {**sealed.respond(sealed.build()), **changes}
            response = {key: value for key, value in response.items() if value is not ...}
            try:
                parse_response(response, packet, "r.json")
            except ProctorError as error:
                problems = list(error.problems())
            else:
                return []
            assert {one.code for one in problems} == {"P6806"}
            assert {one.where for one in problems} == {"r.json"}
            return [one.message for one in problems]

        return faults

    @pytest.mark.parametrize(
        "responder",
        [
            ...,
            {"kind": "human", "label": "A. Reader"},
            {"kind": "model", "label": ""},
            {"kind": "unknown", "label": "x" * 200},
        ],
    )
    def test_a_right_one_is_taken_whoever_answered(self, faults, responder):
        assert faults(responder=responder) == []

    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"schema": "proctor.packet-response.v2"}, "is not one of proctor.packet-response.v1"),
            ({"schema": ...}, "the key `schema` is missing"),
            ({"binding_sha256": ...}, "the key `binding_sha256` is missing"),
            ({"binding_sha256": None}, "`binding_sha256`: expected `str`, got `null`"),
            ({"binding_sha256": "0" * 63}, "`binding_sha256`: expected `str` matching"),
            ({"results": ...}, "the key `results` is missing"),
            ({"results": []}, "`results`: expected `object`, got `array`"),
            ({"note": "x"}, "unknown key `note`"),
            ({"responder": None}, "responder"),
            ({"responder": {"kind": "robot", "label": ""}}, "`robot` is not one of human, model"),
            ({"responder": {"kind": "human"}}, "the key `label` is missing in `responder`"),
            ({"responder": {"kind": "human", "label": "x" * 201}}, "of length <= 200"),
            ({"responder": {"kind": "human", "label": "", "age": 1}}, "unknown key `age`"),
        ],
    )
    def test_one_that_is_not_of_its_format_is_refused(self, faults, changes, fault):
        (found,) = faults(**changes)
        assert fault in found

    @pytest.mark.parametrize(
        ("results", "found"),
        [
            ({"hours": HOURS}, ["`results.phone` is missing"]),
            ({"hours": HOURS, "phone": None}, ["`results.phone` must be an object"]),
            (
                {"hours": HOURS, "phone": PHONE, "more": {}},
                ["`results.more` is not a case"],
            ),
            ({"hours": HOURS, "phone": {}}, ["`results.phone.number` is missing"]),
            (
                {"hours": HOURS, "phone": {**PHONE, "note": ""}},
                ["`results.phone.note` is not in the contract"],
            ),
            (
                {"hours": {"opens_at": "009:30", "citations": [1]}, "phone": PHONE},
                [
                    "`results.hours.opens_at` is longer than 5 characters",
                    "`results.hours.citations[0]` must be a string, not a number",
                ],
            ),
            ({}, ["`results.hours` is missing", "`results.phone` is missing"]),
        ],
    )
    def test_every_case_and_every_field_is_needed_and_no_other_is_taken(
        self, faults, results, found
    ):
        assert faults(results=results) == found

    def test_what_is_wrong_very_often_is_not_listed_without_end(self, faults):
        results = {
            "hours": {"opens_at": "", "citations": [], **{f"x{n}": 1 for n in range(1000)}},
            "phone": PHONE,
            **{f"c{n}": {} for n in range(1000)},
        }
        assert len(faults(results=results)) == 40

    def test_the_blank_template_never_validates(self, sealed, faults):
        from proctor.packets.pages import filled_template

        packet = sealed.build()
        blank = filled_template(packet)
        assert blank["binding_sha256"] == packet["binding_sha256"]
        # One fault for each field: nothing that is left blank goes through.
        assert len(faults(**blank)) == 3
        assert len(faults(**packet["response_template"])) == 1
