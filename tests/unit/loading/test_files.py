import os
from pathlib import Path

import pytest

from proctor.errors import FileError, SuiteError
from proctor.loading.files import list_files, read_document, read_text

ENDINGS = (".eval.yaml", ".eval.json")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    (root / "evals").mkdir(parents=True)
    return root


def write(root, path, data=b"a: 1\n"):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    return path


class TestListing:
    def test_files_are_found_at_any_depth_in_the_order_of_their_paths(self, root):
        paths = [
            write(root, path)
            for path in (
                "evals/b.eval.yaml",
                "evals/a.eval.json",
                "evals/deep/er/c.eval.yaml",
                "evals/Z.eval.yaml",
                "evals/a/x.eval.yaml",
            )
        ]
        assert list_files(root, "evals", ENDINGS) == sorted(paths)

    def test_files_with_another_ending_and_hidden_ones_are_passed_over(self, root):
        for path in (
            "evals/a.yaml",
            "evals/a.eval.yaml.bak",
            "evals/a.eval.YAML",
            "evals/.a.eval.yaml",
            "evals/.schema/b.eval.yaml",
            "evals/x/.hidden/deep/c.eval.yaml",
            "other/d.eval.yaml",
        ):
            write(root, path)
        assert list_files(root, "evals", ENDINGS) == []

    def test_a_folder_that_is_not_there_holds_no_files(self, root):
        write(root, "file")
        assert list_files(root, "missing", ENDINGS) == []
        assert list_files(root, "missing/deep", ENDINGS) == []
        assert list_files(root, "file", ENDINGS) == []

    def test_a_name_that_no_path_of_a_project_file_could_have_is_listed_as_it_is(self, root):
        paths = [
            write(root, f"evals/{name}.eval.yaml")
            for name in ("c:x", "file:", "a\\..\\b", "with space", "new\nline", "é")
        ]
        assert list_files(root, "evals", ENDINGS) == sorted(paths)
        for path in paths:
            assert read_document(root, path, error=SuiteError, code="P6201").value == {"a": 1}

    def test_links_to_files_are_listed_but_not_followed(self, root, tmp_path):
        write(root, "evals/real/a.eval.yaml")
        write(tmp_path, "outside/b.eval.yaml")
        (root / "evals" / "file.eval.yaml").symlink_to(tmp_path / "outside" / "b.eval.yaml")
        (root / "evals" / "other").symlink_to(tmp_path / "outside" / "b.eval.yaml")
        (root / "evals" / ".hidden").symlink_to(tmp_path / "outside")
        found = list_files(root, "evals", ENDINGS)
        assert found == ["evals/file.eval.yaml", "evals/real/a.eval.yaml"]
        with pytest.raises(FileError, match="goes through the link"):
            read_document(root, found[0], error=SuiteError, code="P6201")

    @pytest.mark.parametrize("name", ["link", "link.eval.yaml", "real/link"])
    @pytest.mark.parametrize("target", ["outside", "root/evals"])
    def test_a_folder_below_that_is_a_link_is_refused(self, root, tmp_path, name, target):
        write(root, "evals/real/a.eval.yaml")
        write(tmp_path, "outside/b.eval.yaml")
        (root / "evals" / name).symlink_to(tmp_path / target)
        with pytest.raises(FileError) as caught:
            list_files(root, "evals", ENDINGS)
        assert (caught.value.code, caught.value.where) == ("P6805", f"evals/{name}")
        link = name.rpartition("/")[2]
        assert caught.value.message == f"`evals/{name}` goes through the link `{link}`"

    @pytest.mark.parametrize("folder", ["evals", "evals/deep", "evals/deep/er"])
    @pytest.mark.parametrize("target", ["/", "..", "nowhere", "."])
    def test_a_folder_reached_through_a_link_is_not_walked(self, root, folder, target, monkeypatch):
        (root / "evals").rmdir()
        (root / "evals").symlink_to(target)
        monkeypatch.setattr(os, "walk", None)
        with pytest.raises(FileError) as caught:
            list_files(root, folder, ENDINGS)
        assert caught.value.code == "P6805"
        assert caught.value.message == f"`{folder}` goes through the link `evals`"

    def test_a_link_further_down_the_folder_is_refused_as_well(self, root):
        (root / "evals" / "real").mkdir()
        (root / "evals" / "link").symlink_to("real")
        assert list_files(root, "evals/real", ENDINGS) == []
        with pytest.raises(FileError, match="goes through the link `link`"):
            list_files(root, "evals/link", ENDINGS)

    def test_a_folder_that_cannot_be_read_is_no_empty_folder(self, root, monkeypatch):
        write(root, "evals/a.eval.yaml")
        write(root, "evals/closed/b.eval.yaml")
        really_scan = os.scandir

        def scandir(path):
            if str(path).endswith("closed"):
                raise PermissionError(13, "Permission denied", path)
            return really_scan(path)

        monkeypatch.setattr(os, "scandir", scandir)
        with pytest.raises(FileError) as caught:
            list_files(root, "evals", ENDINGS)
        assert caught.value.code == "P6805"
        assert caught.value.message == "the folder `closed` cannot be read: permission denied"


class TestReading:
    def read(self, root, path, **options):
        return read_document(root, path, error=SuiteError, code="P6201", **options)

    def refused(self, root, path, data, **options):
        write(root, path, data)
        with pytest.raises(SuiteError) as caught:
            self.read(root, path, **options)
        assert caught.value.code == "P6201"
        return caught.value

    def test_the_ending_says_how_a_file_is_read(self, root):
        data = b'{"a": 012}\n'
        write(root, "f.yaml", data)
        assert self.read(root, "f.yaml").value == {"a": 12}
        assert self.refused(root, "f.json", data).where == "f.json:1"

    @pytest.mark.parametrize("name", ["f.yaml", "f.yml", "f.json"])
    def test_a_document_has_the_name_and_the_lines_of_its_file(self, root, name):
        write(root, f"evals/{name}", b'{\n"a": 1\n}\n')
        document = self.read(root, f"evals/{name}")
        assert document.value == {"a": 1}
        assert document.where(("a",)) == f"evals/{name}:2"

    @pytest.mark.parametrize("name", ["f.yaml", "f.json"])
    @pytest.mark.parametrize(
        ("data", "line", "detail", "hint"),
        [
            (b"", 1, "is empty", "write the file, or delete it"),
            (b'{"a": 1,\n\n"a": 2}', 3, "has the key `a` twice", "mend this line"),
            (b'{"empty": 1,\n"empty": 2}', 2, "has the key `empty` twice", "mend this line"),
            (b'{"UTF-8": 1,\n"UTF-8": 2}', 2, "has the key `UTF-8` twice", "mend this line"),
            (b'{"a":\n"\xe9"}', 2, "is not UTF-8", "save the file as UTF-8"),
            ("{}".encode("utf-16"), 1, "is UTF-16, not UTF-8", "save the file as UTF-8"),
            (b"[" * 65, 1, "is nested deeper than 64", "mend this line"),
            (b"[1,\n" + b"9" * 5000 + b"]", 2, "has an integer of more than 4000 digits", None),
        ],
        ids=["empty", "twice", "'empty'", "'UTF-8'", "latin-1", "UTF-16", "deep", "digits"],
    )
    def test_what_cannot_be_read_is_said_in_the_same_words_for_yaml_and_json(
        self, root, name, data, line, detail, hint
    ):
        if name == "f.json" and data == b"[" * 65:
            data += b"]" * 65
        error = self.refused(root, name, data)
        assert error.message == f"`{name}` {detail}"
        assert error.where == f"{name}:{line}"
        assert error.hint == (hint or "mend this line")

    def test_a_missing_file_is_placed_where_it_is_named(self, root):
        with pytest.raises(SuiteError) as caught:
            self.read(root, "missing.yaml", where="evals/s.eval.yaml:3")
        assert caught.value.message == "`missing.yaml` cannot be read: no such file or directory"
        assert caught.value.where == "evals/s.eval.yaml:3"
        with pytest.raises(SuiteError) as caught:
            self.read(root, "missing.yaml")
        assert caught.value.where == "missing.yaml"

    def test_a_file_may_have_one_mebibyte_and_no_more(self, root):
        write(root, "f.yaml", b"a: " + b"x" * (1024 * 1024 - 3))
        assert len(self.read(root, "f.yaml").value["a"]) == 1024 * 1024 - 3
        write(root, "f.yaml", b"a: " + b"x" * (1024 * 1024 - 2))
        with pytest.raises(FileError, match="is larger than 1024 KiB") as caught:
            self.read(root, "f.yaml")
        assert caught.value.code == "P6805"

    @pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda p: p.symlink_to("/etc/passwd")])
    def test_what_is_no_regular_file_is_refused(self, root, make):
        make(root / "f.yaml")
        with pytest.raises(FileError) as caught:
            self.read(root, "f.yaml", where="evals/s.eval.yaml:3")
        assert (caught.value.code, caught.value.where) == ("P6805", "evals/s.eval.yaml:3")


class TestReadingText:
    def read(self, root, path):
        return read_text(root, path, error=SuiteError, code="P6204")

    @pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
    def test_a_text_is_read_as_it_stands_without_its_byte_order_mark(self, root, mark):
        write(root, "f.md", mark + "a: [\r\n\0\u2028é ".encode())
        assert self.read(root, "f.md") == "a: [\r\n\0\u2028é "

    @pytest.mark.parametrize(
        ("data", "line", "detail"),
        [
            (b"one\ntw\xe9\n", 2, "is not UTF-8"),
            ("text".encode("utf-16"), 1, "is UTF-16, not UTF-8"),
        ],
    )
    def test_another_encoding_is_refused_with_its_line(self, root, data, line, detail):
        write(root, "f.md", data)
        with pytest.raises(SuiteError) as caught:
            self.read(root, "f.md")
        assert caught.value.message == f"`f.md` {detail}"
        assert (caught.value.code, caught.value.where) == ("P6204", f"f.md:{line}")
        assert caught.value.hint == "save the file as UTF-8"

    def test_a_file_that_is_not_there_is_refused(self, root):
        with pytest.raises(SuiteError, match="no such file or directory") as caught:
            self.read(root, "f.md")
        assert (caught.value.code, caught.value.where) == ("P6204", "f.md")

    def test_a_link_is_refused(self, root):
        (root / "f.md").symlink_to("/etc/passwd")
        with pytest.raises(FileError, match="goes through the link"):
            self.read(root, "f.md")
