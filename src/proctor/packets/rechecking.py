"""Whether the suite and the sources on disk are still what a packet was built from.

Only files that the suite names are opened; what a packet names is a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import to_builtins

from proctor.canonical import digest, sha256_hex
from proctor.errors import FileError, raise_all
from proctor.packets.build import asked, require_total, source_member
from proctor.packets.formats import Packet, PacketSource, Recheck
from proctor.packets.suites import NoSuchSuite, PacketSuite, SourcePlace
from proctor.records import JsonObject
from proctor.safe_io import reason_of

FindSuite = Callable[[str], PacketSuite]
"""From the id of a packet's suite to that suite on disk; raises `NoSuchSuite` without one."""


def recheck(
    packet: Packet, value: JsonObject, find_suite: FindSuite, *, with_sources: bool
) -> tuple[PacketSuite, list[Recheck]]:
    """The suite of a packet, and what was compared, all of it still the same.

    Args:
        packet: The packet.
        value: The value of its file.
        find_suite: Finds the suite.
        with_sources: Whether the sources are compared too. The suite always is.

    Raises:
        FileError: P6803 for each part that changed or is missing, with both digests.
        ProctorError: When the suite or a source is there and cannot be used.
    """
    try:
        suite = find_suite(packet.suite.id)
    except NoSuchSuite as missing:
        raise _stale(
            Recheck("suite", "missing", _asked_sha256(value), None), missing.message
        ) from None
    compared = [
        _compared("suite", _asked_sha256(value), _suite_sha256(suite)),
        _compared("expectations", packet.expectations_sha256, suite.expectations_sha256),
    ]
    if with_sources:
        compared += _sources(packet.sources, suite.sources)
    raise_all([_stale(each) for each in compared if each.status != "ok"])
    return suite, compared


def _compared(what: str, packet_sha256: str, disk_sha256: str) -> Recheck:
    is_same = packet_sha256 == disk_sha256
    return Recheck(what, "ok" if is_same else "changed", packet_sha256, disk_sha256)


def _asked_sha256(value: JsonObject) -> str:
    """The digest of what a packet takes from the suite's file, expectations aside."""
    members = ("suite", "cases", "response_contract", "response_template")
    sources = [
        {"id": each["id"], "path": each["path"], "section": each["excerpt"]["selector"]}
        for each in value["sources"]
    ]
    return digest({**{name: value[name] for name in members}, "sources": sources})


def _suite_sha256(suite: PacketSuite) -> str:
    written = [place.written for place in suite.sources]
    sources = [{"id": one.id, "path": one.path, "section": one.section} for one in written]
    return digest({**asked(suite), "sources": sources})


def _sources(packed: Sequence[PacketSource], places: Sequence[SourcePlace]) -> Iterator[Recheck]:
    by_name = {(place.written.id, place.written.path): place for place in places}
    total = 0
    for source in packed:
        what = f"source {source.id}"
        place = by_name.get((source.id, source.path))
        data = None if place is None else _read(place)
        if place is None or data is None:
            yield Recheck(what, "missing", source.sha256, None)
            continue
        total += len(data)
        require_total(total)
        found = _compared(what, source.sha256, sha256_hex(data))
        if found.status == "ok":
            packed_sha256, read_sha256 = map(
                digest, (to_builtins(source), source_member(place, data))
            )
            # The file is the same. A packet that somebody wrote may still say something else of it.
            if packed_sha256 != read_sha256:
                found = _compared(what, packed_sha256, read_sha256)
        yield found


def _read(place: SourcePlace) -> bytes | None:
    try:
        return place.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FileError(
            f"the source `{place.written.path}` cannot be read: {reason_of(error)}",
            code="P6801",
            hint="check its permissions",
            where=place.where,
        ) from error


def _stale(found: Recheck, why: str | None = None) -> FileError:
    on_disk = found.disk_sha256 or "nothing"
    message = f"{found.what} {found.status}: {found.packet_sha256} in the packet, {on_disk} on disk"
    return FileError(
        message if why is None else f"{message}; {why}",
        code="P6803",
        hint="bring back what the packet was built from, or build the packet again"
        + (
            "; an archive is checked with `--no-recheck`" if found.what.startswith("source") else ""
        ),
    )
