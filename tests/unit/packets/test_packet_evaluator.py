import hashlib
import re
import shutil
import zipfile
from pathlib import Path

import proctor
from proctor.packets.evaluator import SHARED, evaluator, evaluator_sha256
from proctor.version import VERSION

PACKAGE = Path(proctor.__file__).parent


def test_the_digest_is_over_the_sorted_paths_and_bytes_of_the_checker():
    paths = sorted(
        [*(f"packets/{one.name}" for one in (PACKAGE / "packets").glob("*.py")), *SHARED]
    )
    digest = hashlib.sha256()
    for path in paths:
        data = (PACKAGE / path).read_bytes()
        digest.update(path.encode() + b"\0" + str(len(data)).encode() + b"\0" + data)
    assert evaluator().sha256 == digest.hexdigest()
    assert evaluator().version == VERSION


def test_it_is_the_same_in_an_archive_and_in_another_folder(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "proctor")
    archive = tmp_path / "wheel.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(PACKAGE.rglob("*.py"), reverse=True):
            file.write(path, f"proctor/{path.relative_to(PACKAGE).as_posix()}")
    for place in (tmp_path / "proctor", zipfile.Path(archive, "proctor/")):
        assert evaluator_sha256(place) == evaluator().sha256


def test_a_byte_of_any_module_of_the_checker_changes_it(tmp_path):
    copy = tmp_path / "proctor"
    shutil.copytree(PACKAGE, copy)
    for path in ("packets/kinds.py", "canonical.py", "assertions/matching.py"):
        before = evaluator_sha256(copy)
        (copy / path).write_bytes((copy / path).read_bytes() + b"\n")
        assert evaluator_sha256(copy) != before


def test_what_the_checker_imports_to_read_compare_and_judge_is_in_it():
    """Modules without a say in what passes: words, settings, and how a message is spelled."""
    aside = {
        "config.py", "errors.py", "records.py", "registry.py", "version.py",
        "rendering/escaping.py", "rendering/report_json.py",
    }  # fmt: skip
    imported = set()
    for module in (PACKAGE / "packets").glob("*.py"):
        text = module.read_text(encoding="utf-8")
        names = re.findall(r"^\s*from proctor\.([\w.]+) import", text, re.MULTILINE)
        imported |= {f"{name.replace('.', '/')}.py" for name in names}
    others = {path for path in imported if not path.startswith("packets/")}
    assert others - aside <= set(SHARED)
