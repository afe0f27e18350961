"""A small project that passes at once: its files, and writing them where nothing is in the way."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from proctor.canonical import FORMAT_VERSION, CallKeys, digest
from proctor.cassette_files import README
from proctor.config import FILE, PYPROJECT, configures
from proctor.errors import ProctorError, UsageError, raise_all
from proctor.judging.boundary import Judged, judge_inputs
from proctor.judging.rubrics import parse_rubric
from proctor.loading.bundles import LoadedPrompt
from proctor.loading.prompts import ENDING, parse_prompt
from proctor.loading.yaml import parse_yaml
from proctor.records import (
    CallKind,
    Case,
    JsonObject,
    KeyParts,
    Prompt,
    Provenance,
    Recording,
    encode_json,
    model_answer,
)
from proctor.safe_io import make_folder, make_named_folder, open_regular, write_whole
from proctor.schemas import FOLDER, render_schema, schema_names
from proctor.version import VERSION

CI_FILES = {"github": ".github/workflows/evals.yml", "gitlab": ".gitlab-ci.yml"}
"""Where each kind of CI looks for its file."""

_LINES = {".gitattributes": "evals/cassettes/** -text", ".gitignore": ".proctor/"}
"""A line each of these files must have; it may have others."""

_SUITE = "triage"
_RUBRIC = "judge-summary"
_ASSERTION, _JUDGED = "tells-all", "summary"
_DATASET = f"evals/datasets/{_SUITE}.jsonl"
_MADE_ON = "2026-11-30"


class _Handwritten(Struct, frozen=True):
    """One of the answers that stand in the cassette, and what a judge says of it."""

    case: str
    answer: JsonObject
    judge: JsonObject


def starter_files(project: str, *, ci: str | None) -> dict[str, bytes]:
    """The files of a new project, by their path below its folder.

    Args:
        project: The project's id.
        ci: One of `CI_FILES`, or None.
    """
    found = {
        FILE: _text("proctor.toml", PROJECT=project),
        **{
            path: _text(path)
            for path in (
                f"prompts/{_SUITE}{ENDING}",
                f"prompts/{_RUBRIC}{ENDING}",
                f"evals/{_SUITE}.eval.yaml",
                _DATASET,
            )
        },
        "evals/cassettes/README.md": README.encode(),
    }
    found[f"evals/cassettes/{_SUITE}.jsonl"] = _cassette(found)
    for name in schema_names():
        found[f"evals/{FOLDER}/{name}.json"] = render_schema(name)
    if ci is not None:
        found[CI_FILES[ci]] = _text(f"ci/{ci}.yml", VERSION=VERSION)
    return found


def write_project(folder: Path, *, ci: str | None) -> list[str]:
    """Write a new project.

    Args:
        folder: Where; it is made when it is not there, and the project is called after it.
        ci: One of `CI_FILES`, or None.

    Returns:
        What was done, a sentence per file.

    Raises:
        UsageError: P6004 when a file stands in the way or cannot be written; then everything is
            as it was.
        FileError: P6805 when one of git's files is a link.
    """
    new = starter_files(project_id(folder.resolve().name), ci=ci)
    _require_free(folder, new)
    undo = _Undo(folder, new)
    try:
        return _write(folder, new, undo)
    except BaseException:
        undo.now()
        raise


class _Undo:
    """What a folder was like before; files that were there have only been added to since."""

    def __init__(self, folder: Path, new: Iterable[str]) -> None:
        below = (parent for path in new for parent in (folder / path).parents)
        folders = {folder, *folder.parents, *below}
        self._folders = [each for each in folders if not os.path.lexists(each)]
        self._files: dict[Path, int | None] = {}

    def note(self, file: Path) -> None:
        """Note a file that is about to be written."""
        self._files[file] = file.stat().st_size if file.exists() else None

    def now(self) -> None:
        """Make it so again, as far as the disk lets us; needs no room on it."""
        for file, size in self._files.items():
            with suppress(OSError):
                if size is None:
                    file.unlink(missing_ok=True)
                else:
                    os.truncate(file, size)
        for folder in sorted(self._folders, reverse=True):
            with suppress(OSError):
                folder.rmdir()


def _write(folder: Path, new: Mapping[str, bytes], undo: _Undo) -> list[str]:
    make_named_folder(folder)
    added = {
        name: lines for name, line in _LINES.items() if (lines := _with_line(folder / name, line))
    }
    done: list[str] = []
    for path, data in {**new, **added}.items():
        parent = path.rpartition("/")[0]
        target = (make_folder(folder, parent) if parent else folder) / path.rpartition("/")[2]
        done.append(f"{'changed' if target.exists() else 'wrote'} {path}")
        undo.note(target)
        write_whole(target, [data])
    return done


def project_id(name: str) -> str:
    """An id for a project whose folder has this name.

    Example:
        >>> project_id("My Shop (new)")
        'my-shop-new'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "my-project"


def _require_free(folder: Path, new: Mapping[str, bytes]) -> None:
    parents = {
        parent.as_posix(): folder / parent
        for path in new
        for parent in reversed(PurePosixPath(path).parents)
    }
    problems = [
        _taken(f"`{name}` is not a folder")
        for name, parent in parents.items()
        if name != "." and os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir())
    ]
    problems += [
        _taken(f"`{path}` exists already") for path in new if os.path.lexists(folder / path)
    ]
    raise_all(problems)
    if folder.is_dir() and configures(folder) is not None:
        raise _taken(f"`{PYPROJECT}` makes this folder a project already")


def _taken(message: str) -> ProctorError:
    return UsageError(
        f"{message}; nothing was written",
        code="P6004",
        hint="name a new folder: `proctor init DIR`",
    )


def _with_line(file: Path, line: str) -> bytes | None:
    """What a file holds with this line at its end; None when it has the line."""
    try:
        with open_regular(file) as opened:
            before = opened.read()
    except FileNotFoundError:
        before = b""
    if line.encode() in (one.strip() for one in before.splitlines()):
        return None
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    return before + gap + line.encode() + b"\n"


def _text(path: str, **values: str) -> bytes:
    """One of the packaged files, with the words in capitals replaced."""
    file = files("proctor").joinpath("starter", "files", *path.split("/"))
    text = file.read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(word, value)
    return text.encode()


def _cassette(found: Mapping[str, bytes]) -> bytes:
    """The recordings, their keys made of the prompts and the dataset, as a replay makes them."""
    prompt, judge = _prompt(found, _SUITE), _prompt(found, _RUBRIC)
    rubric, _ = parse_rubric(judge.prompt, judge.templates)
    if rubric is None:
        raise RuntimeError("the packaged rubric cannot be used")
    written = {
        one.case: one
        for one in msgspec.json.Decoder(_Handwritten).decode_lines(_text("answers.jsonl"))
    }
    answers, verdicts = [], []
    for case in msgspec.json.Decoder(Case).decode_lines(found[_DATASET]):
        one = written[case.id]
        answers.append(_recording(prompt.prompt, case.id, digest(case.inputs), one.answer))
        judged = Judged(response=one.answer[_JUDGED], case_inputs=case.inputs)
        inputs = judge_inputs(rubric, judged).sha256
        verdicts.append(_recording(judge.prompt, case.id, inputs, one.judge, assertion=_ASSERTION))
    return b"".join(encode_json(line) + b"\n" for line in (*answers, *verdicts))


def _prompt(found: Mapping[str, bytes], prompt_id: str) -> LoadedPrompt:
    path = f"prompts/{prompt_id}{ENDING}"
    loaded, _ = parse_prompt(parse_yaml(found[path], path), prompt_id)
    if loaded is None:
        raise RuntimeError("a packaged prompt cannot be used")
    return loaded


def _recording(
    prompt: Prompt, case: str, inputs: str, answer: JsonObject, *, assertion: str | None = None
) -> Recording:
    """A recording that nobody was paid for: its tokens and its time are unknown."""
    if prompt.model is None:
        raise RuntimeError("a packaged prompt has no model")
    call = CallKind.ANSWER if assertion is None else CallKind.JUDGE
    parts = KeyParts(prompt=prompt.bundle_sha256, inputs=inputs, params=prompt.model.params)
    keys = CallKeys(call=call, prompt=parts.prompt, model=prompt.model.ref, params=parts.params)
    return Recording(
        v=FORMAT_VERSION,
        key=keys.key(inputs, 1),
        model=prompt.model.ref,
        case=case,
        scenario=None,
        assertion=assertion,
        call=call,
        take=1,
        parts=parts,
        answer=model_answer(encode_json(answer).decode("utf-8")),
        usage=None,
        cost_usd=0.0,
        latency_ms=None,
        recorded=Provenance(provider="handwritten", host=None, response_model=None, on=_MADE_ON),
    )
