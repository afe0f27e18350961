"""Packets and responses as they come back: read safely, parsed strictly, held against the format.

Nothing is mended on the way. A file that is not what it should be is refused with a reason.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from proctor.canonical import canonical_json, sha256_hex
from proctor.documents import Document, StructReader
from proctor.errors import FileError, ProctorError, raise_all
from proctor.packets.contract import contract_faults, result_faults
from proctor.packets.formats import (
    MAX_DEPTH,
    MAX_PACKET,
    PACKET_SCHEMA,
    Packet,
    PacketResponse,
)
from proctor.records import Json, JsonObject
from proctor.safe_io import read_supplied, reason_of
from proctor.strict_json import JsonFault, JsonProblem, parse_json

BINDING = "binding_sha256"
_SHOWN = 20
"""Faults of one case that are listed."""


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a file that the command line names.

    Raises:
        FileError: P6805 when its path is not safe or it is too large, P6801 when it cannot be read.
    """
    try:
        return read_supplied(path, limit=limit)
    except OSError as error:
        raise FileError(
            f"`{path}` cannot be read: {reason_of(error)}",
            code="P6801",
            hint="check the path and its permissions",
        ) from error


def parse_strictly(data: bytes | str, name: str) -> Json:
    """The value of a text that is one strict JSON value.

    Raises:
        FileError: P6801 with the reason, as a word that stays the same.
    """
    try:
        return parse_json(data, max_depth=MAX_DEPTH, surrogates=False)
    except JsonProblem as problem:
        raise malformed(name, problem.fault, problem.detail, problem.line) from None


def malformed(name: str, fault: JsonFault, detail: str, line: int | None) -> FileError:
    """A file that is not what it should be (P6801)."""
    return FileError(
        f"`{name}` {detail} ({fault.value})",
        code="P6801",
        hint="nothing is repaired here; have it written again",
        where=None if line is None else f"{name}:{line}",
    )


def load_packet(path: Path) -> tuple[Packet, JsonObject]:
    """A packet that is whole: its format and its binding hold.

    Returns:
        The packet, and the value of its file.

    Raises:
        FileError: P6801, P6802, P6805 or P6806.
    """
    value = parse_strictly(read_file(path, MAX_PACKET), str(path))
    packet = parse_packet(value, str(path))
    require_binding(packet, value, str(path))
    return packet, value


def parse_packet(value: Json, name: str) -> Packet:
    """A packet, of which only the format is known.

    Raises:
        FileError: P6806 with everything that is wrong with it.
    """
    reader = StructReader(Document(name, value, {}), error=FileError, code="P6806")
    packet = reader.read(Packet, value)
    if packet is not None:
        _hold_together(packet, reader)
    raise_all(reader.problems)
    assert packet is not None  # noqa: S101 - raise_all has raised otherwise
    return packet


def _hold_together(packet: Packet, reader: StructReader) -> None:
    cases = [case.id for case in packet.cases]
    for key, ids in (("cases", cases), ("sources", [source.id for source in packet.sources])):
        if len(set(ids)) < len(ids):
            reader.problem(f"an id stands twice in `{key}`", (key,))
    if list(packet.response_contract) != cases:
        reader.problem(
            "`response_contract` does not have exactly the cases, in their order",
            ("response_contract",),
        )
        return
    for case in packet.cases:
        path = ("response_contract", case.id)
        contract = packet.response_contract[case.id]
        for place, fault in contract_faults(contract, case.evidence, path):
            reader.problem(f"the contract of `{case.id}`: {fault}", place)


def require_binding(packet: Packet, value: JsonObject, name: str) -> None:
    """Make sure that a packet is what its digests say.

    Raises:
        FileError: P6802 when it is not.
    """
    found = binding_of(value)
    if found != packet.binding_sha256:
        raise FileError(
            f"`{name}` says its binding is {packet.binding_sha256}, but it is {found}",
            code="P6802",
            hint="the packet was changed after it was built; build it again",
        )
    for source in packet.sources:
        found = sha256_hex(source.excerpt.text.encode())
        if found != source.excerpt.sha256:
            raise FileError(
                f"`{name}` says the text of `{source.id}` has the digest "
                f"{source.excerpt.sha256}, but it has {found}",
                code="P6802",
                hint="the packet was not made by `proctor packet build`; build it again",
            )


def binding_of(packet: JsonObject) -> str:
    """The digest of every member of a packet but the binding itself."""
    bound = {key: member for key, member in packet.items() if key != BINDING}
    return sha256_hex(f"{PACKET_SCHEMA}\n".encode() + canonical_json(bound))


def parse_response(value: Json, packet: Packet, name: str) -> PacketResponse:
    """A response that holds every case and every field of a packet's contract, and nothing else.

    Whether it belongs to that packet is another question.

    Raises:
        FileError: P6806 with what is wrong with it, at most 20 faults a case.
    """
    reader = StructReader(Document(name, value, {}), error=FileError, code="P6806")
    response = reader.read(PacketResponse, value)
    problems: list[ProctorError] = list(reader.problems)
    if response is not None:
        problems += _result_problems(response, packet, name)
    raise_all(problems)
    assert response is not None  # noqa: S101 - raise_all has raised otherwise
    return response


def _result_problems(response: PacketResponse, packet: Packet, name: str) -> list[ProctorError]:
    faults: list[tuple[str, str]] = []
    for case, fields in packet.response_contract.items():
        place = f"results.{case}"
        values = response.results.get(case)
        if case not in response.results:
            faults.append((place, "is missing"))
        elif not isinstance(values, dict):
            faults.append((place, "must be an object"))
        else:
            faults += islice(result_faults(fields, values, place), _SHOWN)
    unknown = [case for case in response.results if case not in packet.response_contract]
    faults += [(f"results.{case[:_SHOWN]}", "is not a case") for case in unknown[:_SHOWN]]
    hint = "fill in the contract of the packet exactly; `proctor packet template` prints a blank"
    return [
        FileError(f"`{place}` {fault}", code="P6806", hint=None if index else hint, where=name)
        for index, (place, fault) in enumerate(faults)
    ]
