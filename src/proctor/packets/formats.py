"""The files of sealed packets as structs: what people write, what is sealed, what comes back.

The order of the fields is the order of the keys in the files that Proctor writes.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from proctor.records import Count, Identifier, Json, Outcome, Sha256
from proctor.safe_io import MEBIBYTE

PACKET_SCHEMA: Final = "proctor.packet.v1"
RESPONSE_SCHEMA: Final = "proctor.packet-response.v1"
REPORT_SCHEMA: Final = "proctor.packet-report.v1"

MAX_SOURCE: Final = MEBIBYTE
MAX_SOURCES: Final = 8 * MEBIBYTE
"""Bytes of all sources together."""
MAX_PACKET: Final = 16 * MEBIBYTE
MAX_RESPONSE: Final = MEBIBYTE
MAX_DEPTH: Final = 32
MAX_CASES: Final = 64
MAX_CHECKS: Final = 100
"""Of one case."""

SuiteId = Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9-]{0,63}\Z")]
Salt = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Text = Annotated[str, Meta(min_length=1)]
Size = Annotated[int, Meta(ge=0, le=2**53)]


class Grammar(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a text must be made: of 1 to 8 words, all of them from one evidence text.

    Args:
        words_from: The name of the evidence.
    """

    words_from: Identifier


class ResponseField(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What one field of a response may hold; never what it should hold.

    Args:
        nullable: Whether null will do.
        max_length: Characters of a string.
        min_items: Items of a list.
        max_items: Items of a list.
        options: The values of an enum.
        items: What a list holds; without it, anything.
        fields: What an object holds; without them, anything.
        grammar: How a string must be made. A string that is not fails a check.
    """

    type: Literal["string", "number", "integer", "boolean", "enum", "list", "object"]
    nullable: bool = False
    max_length: Annotated[int, Meta(ge=1)] | None = None
    min_items: Size | None = None
    max_items: Size | None = None
    options: Annotated[list[str], Meta(min_length=1)] | None = None
    items: ResponseField | None = None
    fields: dict[str, ResponseField] | None = None
    grammar: Grammar | None = None


ResponseFields = dict[str, ResponseField]


class SourceFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text the responder is to work by.

    Args:
        id: Unique in the packet.
        path: The file, relative to the suite's folder.
        section: The heading line of the only section that is included. Without it, all of it.
    """

    id: Identifier
    path: str
    section: str | None = None


class PacketCaseFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of a packet.

    Args:
        id: Unique in the packet.
        task: What the responder is asked.
        response: What a response to it holds: fields with their types.
        checks: What the response must pass. They stay out of the packet.
        evidence: Named texts that the responder must use.
    """

    id: Identifier
    task: Text
    response: ResponseFields
    checks: Annotated[list[Json], Meta(max_length=MAX_CHECKS)]
    evidence: dict[Identifier, str] = {}


class PacketSuiteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A packet suite as it stands in its file. Checks are read kind by kind.

    Args:
        id: Lower-case letters, digits and dashes.
        title: For people.
        salt: 32 random hexadecimal digits, which are not in the packet; they keep expected values
            from being guessed from its digest.
        cases: The questions, 1 to 64.
        sources: The texts to work by.
        schema_: A relative path, for editors; ignored at run time.
    """

    id: SuiteId
    title: Text
    salt: Salt
    cases: Annotated[list[PacketCaseFile], Meta(min_length=1, max_length=MAX_CASES)]
    sources: list[SourceFile] = []
    schema_: str | None = field(default=None, name="$schema")


class PacketSuiteName(Struct, frozen=True, forbid_unknown_fields=True):
    """Which suite a packet was built from."""

    id: SuiteId
    title: Text


class Excerpt(Struct, frozen=True, forbid_unknown_fields=True):
    """What of a source is included.

    Args:
        selector: The heading line of a section, null when all of the source is included.
        sha256: Of the text as UTF-8.
    """

    kind: Literal["full", "section"]
    selector: str | None
    text: str
    sha256: Sha256


class PacketSource(Struct, frozen=True, forbid_unknown_fields=True):
    """A source as it was when the packet was built.

    Args:
        bytes: The size of the whole file.
        sha256: Of the whole file, also when only a section is included.
    """

    id: Identifier
    path: str
    bytes: Size
    sha256: Sha256
    excerpt: Excerpt


class PacketCase(Struct, frozen=True, forbid_unknown_fields=True):
    """A question, with the material to answer it from."""

    id: Identifier
    task: Text
    evidence: dict[Identifier, str]


class ResponseTemplate(Struct, frozen=True, forbid_unknown_fields=True):
    """A response with nothing filled in: `{}`, or `[]` for an object, stands for each value."""

    schema: str
    binding_sha256: None
    results: dict[str, Json]


class Packet(Struct, frozen=True, forbid_unknown_fields=True):
    """A sealed exam, `proctor.packet.v1`.

    Args:
        response_contract: What a response holds, by case and field.
        expectations_sha256: Of the checks and the salt, neither of which is in the packet.
        binding_sha256: Of everything else. A response repeats it.
    """

    schema: Literal["proctor.packet.v1"]
    suite: PacketSuiteName
    sources: list[PacketSource]
    cases: Annotated[list[PacketCase], Meta(min_length=1, max_length=MAX_CASES)]
    response_contract: dict[str, ResponseFields]
    response_template: ResponseTemplate
    expectations_sha256: Sha256
    binding_sha256: Sha256


class Responder(Struct, frozen=True, forbid_unknown_fields=True):
    """Who answered, by their own account.

    Args:
        label: A name of any kind.
    """

    kind: Literal["human", "model", "unknown"]
    label: Annotated[str, Meta(max_length=200)]


class PacketResponse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A response to a packet, `proctor.packet-response.v1`.

    Args:
        binding_sha256: Of the packet that is answered.
        results: The values by case and field: every case, every field, no others.
        responder: Who answered. Nobody proves it.
    """

    schema: Literal["proctor.packet-response.v1"]
    binding_sha256: Sha256
    results: dict[str, Json]
    responder: Responder | UnsetType = UNSET


class Evaluator(Struct, frozen=True):
    """What checked the response: the version of Proctor, and a digest of the code that did it."""

    version: str
    sha256: Sha256


class SelfReport(Struct, frozen=True):
    """Who answered, by their own account, which nothing proves."""

    kind: str
    label: str
    self_reported: bool = True


class Recheck(Struct, frozen=True):
    """Whether something is still what the packet was built from.

    Args:
        what: `suite`, `expectations`, or `source <id>`.
        packet_sha256: By the packet.
        disk_sha256: On disk, null when it is missing.
    """

    what: str
    status: Literal["ok", "changed", "missing"]
    packet_sha256: Sha256
    disk_sha256: Sha256 | None


class PacketCheck(Struct, frozen=True):
    """One check of a response, with a code that says why it failed."""

    id: str
    kind: str
    field: str
    outcome: Outcome
    reason: str | None


class CheckedCase(Struct, frozen=True):
    """A case with its checks; it passed when all of them did."""

    id: str
    outcome: Outcome
    checks: list[PacketCheck]


class PacketTotals(Struct, frozen=True):
    """How many there are, and how many of them passed."""

    cases: Count
    cases_passed: Count
    checks: Count
    checks_passed: Count


class Claims(Struct, frozen=True):
    """What a report is evidence of, and what it is not."""

    shows: list[str]
    does_not_show: list[str]


class PacketReport(Struct, frozen=True, kw_only=True):
    """What became of a response, `proctor.packet-report.v1`.

    Args:
        packet_sha256: Of the canonical packet.
        response_sha256: Of the canonical response.
        response_bytes_sha256: Of the response's file as it is.
        responder: Null when the response says nothing about it.
        sources_rechecked: Whether the sources on disk were compared with the packet.
        rechecked: What was.
    """

    schema: str
    suite: PacketSuiteName
    binding_sha256: Sha256
    packet_sha256: Sha256
    response_sha256: Sha256
    response_bytes_sha256: Sha256
    evaluator: Evaluator
    responder: SelfReport | None
    sources_rechecked: bool
    rechecked: list[Recheck]
    cases: list[CheckedCase]
    totals: PacketTotals
    exit_code: int
    claims: Claims
