import sys

import pytest

from proctor.errors import FileError, SuiteError, UsageError
from proctor.project_code import guarded, import_function, read_module, split_reference


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project whose modules are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("made:build", ("made", "build")),
        ("made.refund_2:_build", ("made.refund_2", "_build")),
        ("made", None),
        ("made:", None),
        (":build", None),
        ("made.:build", None),
        ("2made:build", None),
        ("made:build.inner", None),
        ("../made:build", None),
        ("made:build\n", None),
    ],
)
def test_a_reference_is_a_module_and_an_attribute(reference, parts):
    assert split_reference(reference) == parts


def test_the_file_of_a_module_is_read_from_below_the_root(root):
    write(root, "made/refund.py", "x = 1\n")
    file = read_module(root, "made.refund", where="here")
    assert (file.path, file.data) == ("made/refund.py", b"x = 1\n")
    with pytest.raises(SuiteError) as caught:
        read_module(root, "made.other", where="here")
    assert (caught.value.code, caught.value.where) == ("P6203", "here")
    assert caught.value.hint == "write `made/other.py`; the path starts at the project's folder"


def test_a_module_that_is_a_folder_or_too_large_is_refused(root):
    (root / "made.py").mkdir()
    (root / "large.py").write_bytes(b"#" * (2**20 + 1))
    for module in ("made", "large"):
        with pytest.raises(FileError) as caught:
            read_module(root, module, where="here")
        assert caught.value.code == "P6805"


def test_a_function_of_a_package_is_imported_with_its_siblings(root):
    write(root, "made_up/__init__.py", "")
    write(root, "made_up/words.py", "WORD = 'Hi'\n")
    write(root, "made_up/refund.py", "from made_up.words import WORD\ndef build(): return WORD\n")
    function = import_function(root, "made_up.refund:build", allow_code=True)
    assert function() == "Hi"


def test_code_that_is_not_allowed_is_not_imported(root):
    write(root, "made_up.py", "raise SystemExit\n")
    with pytest.raises(SuiteError) as caught:
        import_function(root, "made_up:build", allow_code=False)
    assert caught.value.code == "P6220"
    assert "made_up" not in sys.modules


def test_a_reference_written_otherwise_imports_nothing(root):
    with pytest.raises(SuiteError) as caught:
        import_function(root, "made_up", allow_code=True)
    assert caught.value.code == "P6203"


def test_an_error_of_ours_passes_through_and_others_are_named_without_their_text():
    ours = UsageError("ours", code="P6002")

    def fail(error):
        raise error

    with pytest.raises(UsageError) as caught:
        guarded(lambda: fail(ours), "this", code="P6701")
    assert caught.value is ours
    for error in (ValueError("secret"), SystemExit("secret"), RecursionError("secret")):
        with pytest.raises(SuiteError) as caught:
            guarded(lambda error=error: fail(error), "this", code="P6701")
        assert caught.value.message == f"this failed: {type(error).__name__}"
        assert caught.value.code == "P6701"


def test_an_interrupt_is_not_taken_for_a_fault_of_the_code():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted, "this", code="P6701")
