"""`outputs` of a suite: answers that are there already."""

from __future__ import annotations

from pathlib import Path as FilePath

from proctor.canonical import digest, sha256_hex
from proctor.documents import Path, StructReader
from proctor.errors import ProctorError
from proctor.records import TargetSubject
from proctor.records.targets import LoadedTarget, OutputFile, StoredOutputs
from proctor.safe_io import inside, read_inside, reason_of
from proctor.strict_json import JsonProblem, decode_utf8


def read_outputs(
    written: dict[str, list[str]], reader: StructReader, *, root: FilePath, suite: str
) -> LoadedTarget | None:
    """Answers of a suite that are there already, or None; what is wrong is noted in the reader.

    Args:
        written: What stands under `outputs`.
        reader: Of the suite's document.
        root: The project's folder.
        suite: The name of the suite.
    """
    before = len(reader.problems)
    if not written:
        reader.problem("`outputs` names no answers", ("outputs",), hint="name files, case by case")
    files: dict[str, tuple[OutputFile, ...]] = {}
    for case, paths in written.items():
        if not paths:
            reader.problem(
                f"the case `{case}` has no files",
                ("outputs", case),
                hint="leave the case out, or name at least one file",
            )
        read = [
            _read_output(path, ("outputs", case, number), reader, root)
            for number, path in enumerate(paths)
        ]
        files[case] = tuple(one for one in read if one is not None)
    if len(reader.problems) > before:
        return None
    hashed = {"outputs": {case: [one.sha256 for one in files[case]] for case in files}}
    return LoadedTarget(
        subject=TargetSubject(kind="outputs", name=suite, bundle_sha256=digest(hashed)),
        how=StoredOutputs(files),
        where=reader.document.where(("outputs",)),
        max_cost_usd={"answer": 0.0},
    )


def _read_output(
    written: str, place: Path, reader: StructReader, root: FilePath
) -> OutputFile | None:
    """A file of an answer, found to be there and to be text."""
    where = reader.document.where(place)
    try:
        path = inside(written, base=reader.document.name.rpartition("/")[0], where=where)
        data = read_inside(root, path, where=where)
        decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
    except ProctorError as problem:
        reader.problems.append(problem)
    except OSError as error:
        reader.problem(
            f"`{path}` cannot be read: {reason_of(error)}",
            place,
            hint="paths in a suite are relative to the suite's own folder",
        )
    except JsonProblem as problem:
        reader.problem(f"`{path}` {problem.detail}", place, hint="save the file as UTF-8")
    else:
        return OutputFile(path, sha256_hex(data))
    return None
