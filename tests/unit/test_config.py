import os
from pathlib import Path

import pytest

from proctor.config import COMMAND_LINE_ONLY, ProviderConfig, configures, find_project, load_config
from proctor.errors import FileError, ProctorError, UsageError

MINIMAL = 'project = "acme-support"\n'
NAMES = [
    "cache",
    "max-cost",
    "allow-host",
    "allow-local",
    "allow-code",
    "allow-key",
    "driver",
    "otel",
    "otel-content",
    "tracker-content",
    "engine",
    "address",
]


@pytest.fixture
def root(tmp_path):
    """A folder that is the top of a git work tree, so that nothing above it is looked at."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    return root


def load(directory, *, is_root=False, flags=None, environ=None):
    return load_config(directory, is_root=is_root, flags=flags or {}, environ=environ or {})


def load_text(root, text, name="proctor.toml", **options):
    (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(root, **options)


def problems_of(function, *arguments, **options):
    """What is refused, as `where: message`."""
    with pytest.raises(ProctorError) as caught:
        function(*arguments, **options)
    problems = list(caught.value.problems())
    assert all(problem.code == "P6003" for problem in problems)
    assert all(isinstance(problem, UsageError) for problem in problems)
    return [f"{problem.where}: {problem.message}" for problem in problems]


def hint_of(function, *arguments, **options):
    with pytest.raises(ProctorError) as caught:
        function(*arguments, **options)
    return caught.value.hint


class TestFinding:
    def test_the_shortest_project_has_every_default(self, root):
        config = load_text(root, MINIMAL)
        assert config.root == root.resolve()
        assert config.values.project == "acme-support"
        assert (config.values.evals, config.values.prompts) == ("evals", "prompts")
        assert (config.values.max_cases, config.values.concurrency) == (1000, 8)
        assert (config.values.providers, config.values.prices) == ({}, {})
        assert config.origins == {
            "project": "proctor.toml",
            "evals": "default",
            "prompts": "default",
            "langsmith_url": "default",
            "max_cases": "default",
            "concurrency": "default",
            "providers": "default",
            "prices": "default",
            "scan": "default",
            "gates": "default",
            "labels": "default",
        }

    def test_a_table_of_pyproject_is_a_project_too(self, root):
        text = f"[tool.other]\nproject = 5\n\n[tool.proctor]\n{MINIMAL}"
        config = load_text(root, text, "pyproject.toml")
        assert config.values.project == "acme-support"
        assert config.origins["project"] == "pyproject.toml"

    @pytest.mark.parametrize("is_root", [True, False])
    def test_two_configurations_are_refused(self, root, is_root):
        (root / "pyproject.toml").write_text(f"[tool.proctor]\n{MINIMAL}", "utf-8")
        assert problems_of(load_text, root, MINIMAL, is_root=is_root) == [
            "proctor.toml: both `proctor.toml` and `[tool.proctor]` in `pyproject.toml` "
            "configure this project"
        ]

    def test_a_pyproject_about_other_things_stands_beside_a_proctor_toml(self, root):
        (root / "pyproject.toml").write_text("[project]\nname = 'proctor-user'\n", "utf-8")
        assert load_text(root, MINIMAL).origins["project"] == "proctor.toml"

    def test_no_configuration_is_refused_with_what_to_write(self, root):
        assert problems_of(load, root) == [
            "None: there is no Proctor project here or in a folder above"
        ]
        assert "`proctor.toml`" in hint_of(load, root)
        assert "`--cwd`" in hint_of(load, root)

    def test_a_folder_that_is_not_there_holds_no_configuration(self, root):
        assert problems_of(load, root / "missing", is_root=True) == [
            "None: there is no Proctor project here"
        ]

    def test_the_nearest_configuration_upward_is_taken(self, root):
        load_text(root, 'project = "outer"\n')
        inner = root / "services" / "mail"
        deep = inner / "src" / "deep"
        deep.mkdir(parents=True)
        assert load(deep).values.project == "outer"
        assert load(deep).root == root.resolve()
        (inner / "pyproject.toml").write_text('[tool.proctor]\nproject = "inner"\n', "utf-8")
        assert load(deep).values.project == "inner"
        assert load(deep).root == inner.resolve()
        assert load(root / "services").values.project == "outer"

    def test_the_folder_of_cwd_is_the_root_itself(self, root):
        load_text(root, MINIMAL)
        below = root / "below"
        below.mkdir()
        assert load(root, is_root=True).root == root.resolve()
        assert problems_of(load, below, is_root=True) == ["None: there is no Proctor project here"]

    @pytest.mark.parametrize("kind", ["folder", "file"])
    def test_the_search_ends_at_the_top_of_the_git_work_tree(self, root, kind):
        load_text(root, MINIMAL)
        nested = root / "vendored"
        (nested / "src").mkdir(parents=True)
        assert load(nested / "src").root == root.resolve()
        if kind == "folder":
            (nested / ".git").mkdir()
        else:
            (nested / ".git").write_text("gitdir: elsewhere\n", "utf-8")
        for folder in (nested, nested / "src"):
            assert problems_of(load, folder) == [
                "None: there is no Proctor project here or in a folder above"
            ]

    def test_the_top_of_the_work_tree_itself_is_looked_at(self, root):
        (root / "src").mkdir()
        assert load_text(root, MINIMAL).root == load(root / "src").root

    def test_outside_of_git_the_search_goes_on_upward(self, tmp_path):
        (tmp_path / "proctor.toml").write_text(MINIMAL, "utf-8")
        (tmp_path / "a" / "b").mkdir(parents=True)
        assert load(tmp_path / "a" / "b").root == tmp_path.resolve()

    def test_a_folder_reached_through_a_link_is_looked_at_where_it_really_is(self, root, tmp_path):
        load_text(root, MINIMAL)
        (root / "deep").mkdir()
        (tmp_path / "link").symlink_to(root / "deep")
        assert load(tmp_path / "link").root == root.resolve()


class TestWhetherAFolderIsAProject:
    def test_the_file_that_makes_it_one_is_named(self, root):
        assert configures(root) is None
        (root / "pyproject.toml").write_text("[project]\nname = 'proctor-user'\n", "utf-8")
        assert configures(root) is None
        (root / "pyproject.toml").write_text("[tool.proctor]\n", "utf-8")
        assert configures(root) == "pyproject.toml"
        (root / "proctor.toml").write_text("", "utf-8")
        assert configures(root) == "proctor.toml"

    def test_folders_above_do_not_count(self, root):
        (root / "proctor.toml").write_text(MINIMAL, "utf-8")
        (root / "below").mkdir()
        assert configures(root / "below") is None

    def test_a_file_that_might_be_one_is_no_silent_no(self, root):
        (root / "proctor.toml").write_text("not toml", "utf-8")
        with pytest.raises(UsageError, match="is not TOML"):
            configures(root)
        (root / "proctor.toml").unlink()
        (root / "proctor.toml").symlink_to("elsewhere.toml")
        with pytest.raises(FileError, match="goes through the link"):
            configures(root)


class TestWhatTheFileIs:
    @pytest.mark.parametrize("name", ["proctor.toml", "pyproject.toml"])
    @pytest.mark.parametrize("is_root", [True, False])
    def test_a_link_is_not_followed(self, root, tmp_path, name, is_root):
        (tmp_path / "real.toml").write_text(MINIMAL, "utf-8")
        (root / name).symlink_to(tmp_path / "real.toml")
        with pytest.raises(FileError, match="goes through the link") as caught:
            load(root, is_root=is_root)
        assert (caught.value.code, caught.value.where) == ("P6805", name)

    @pytest.mark.parametrize("name", ["proctor.toml", "pyproject.toml"])
    def test_a_pipe_and_a_folder_are_refused_at_once(self, root, name):
        os.mkfifo(root / name)
        with pytest.raises(FileError, match="is a pipe or device, not a file"):
            load(root)
        (root / name).unlink()
        (root / name).mkdir()
        with pytest.raises(FileError, match="is a folder, not a file"):
            load(root)

    def test_a_file_of_another_user_is_refused_unless_its_folder_is_named(self, root, monkeypatch):
        load_text(root, MINIMAL)
        monkeypatch.setattr(os, "getuid", lambda: (root / "proctor.toml").stat().st_uid + 1)
        assert problems_of(load, root) == ["proctor.toml: `proctor.toml` belongs to another user"]
        assert "`--cwd`" in hint_of(load, root)
        assert load(root, is_root=True).values.project == "acme-support"

    def test_whose_a_pyproject_about_other_things_is_does_not_matter(self, root, monkeypatch):
        load_text(root, MINIMAL)
        (root / "src").mkdir()
        (root / "src" / "pyproject.toml").write_text("[project]\nname = 'x'\n", "utf-8")
        theirs = (root / "proctor.toml").stat().st_uid
        really_stat = os.fstat

        def fstat(descriptor):
            found = really_stat(descriptor)
            if found.st_ino != (root / "src" / "pyproject.toml").stat().st_ino:
                return found
            return os.stat_result([*found[:4], theirs + 1, *found[5:]])

        monkeypatch.setattr(os, "fstat", fstat)
        assert load(root / "src").root == root.resolve()

    def test_a_file_that_cannot_be_read_is_refused_with_the_reason(self, root, monkeypatch):
        load_text(root, MINIMAL)

        def denied(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", denied)
        assert problems_of(load, root) == [
            "proctor.toml: `proctor.toml` cannot be read: permission denied"
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "name = 'x'\n",
            "[project]\nname = 'x'\ndependencies = ['proctor']\n",
            "[tool.other]\nx = 1\n",
            "[tool.other]\nx = 'proctor'\n",
            "[tool]\n",
            "tool = 1\nx = 'proctor'\n",
            "# [tool.proctor]\n",
            "[proctor]\nproject = 'x'\n",
        ],
    )
    def test_a_pyproject_without_our_table_is_passed_over(self, root, text):
        (root / "src").mkdir()
        (root / "src" / "pyproject.toml").write_text(text, "utf-8")
        assert load_text(root, MINIMAL).root == load(root / "src").root

    @pytest.mark.parametrize("text", [b"not toml\n", b"\xff\xfe", b"[a\n", b"x = 1\n" * 200_000])
    def test_a_broken_pyproject_that_does_not_name_us_is_passed_over(self, root, text):
        (root / "src").mkdir()
        (root / "src" / "pyproject.toml").write_bytes(text)
        assert load_text(root, MINIMAL).root == load(root / "src").root

    def test_a_broken_pyproject_that_names_us_is_refused(self, root):
        text = "[project]\nname = x\n[tool.proctor]\n"
        (found,) = problems_of(load_text, root, text, "pyproject.toml")
        assert found.startswith("pyproject.toml:2: `pyproject.toml` is not TOML: ")

    @pytest.mark.parametrize("value", ["1", "'x'", "[]", "[{project = 'x'}]"])
    def test_a_value_instead_of_our_table_is_refused(self, root, value):
        assert problems_of(load_text, root, f"[tool]\nproctor = {value}\n", "pyproject.toml") == [
            "pyproject.toml: `tool.proctor` must be a table"
        ]

    def test_the_table_of_pyproject_in_a_proctor_toml_is_refused_with_where_keys_go(self, root):
        text = f"[tool.proctor]\n{MINIMAL}"
        assert problems_of(load_text, root, text) == [
            "proctor.toml: `proctor.toml` has the table `tool`"
        ]
        assert "at the top level" in hint_of(load, root)

    def test_a_table_called_tool_in_our_table_of_pyproject_is_an_unknown_key(self, root):
        text = f"[tool.proctor]\n{MINIMAL}[tool.proctor.tool]\n"
        assert problems_of(load_text, root, text, "pyproject.toml") == [
            "pyproject.toml:3: unknown key `tool`"
        ]


class TestUnreadableToml:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("project = x\n", 1),
            (f"{MINIMAL}\nevals =\n", 3),
            (f"{MINIMAL}\n\n[providers\n", 4),
            (f"{MINIMAL}x = '\\\n", 2),
            (f"{MINIMAL}{MINIMAL}", 2),
            (f"{MINIMAL}\r\nx = 2026-13-40\r\n", 3),
            (f"{MINIMAL}x = 1\0\n", 2),
            (f"{MINIMAL}x = '\\ud800'\ny = \"\\ud800\"", 3),
        ],
    )
    def test_what_is_not_toml_is_refused_with_its_line(self, root, text, line):
        (found,) = problems_of(load_text, root, text)
        assert found.startswith(f"proctor.toml:{line}: `proctor.toml` is not TOML: ")

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"a = 1\nb = '\xe9'\n", "proctor.toml:2: `proctor.toml` is not UTF-8"),
            (MINIMAL.encode("utf-16"), "proctor.toml:1: `proctor.toml` is UTF-16, not UTF-8"),
            (MINIMAL.encode("utf-32"), "proctor.toml:1: `proctor.toml` is UTF-32, not UTF-8"),
            (b"a = " + b"9" * 5000, "proctor.toml: `proctor.toml` has a number of too many digits"),
            (b"a = " + b"[" * 100_000, "proctor.toml: `proctor.toml` is nested too deep"),
            (b"x = 1\n" * 200_000, "proctor.toml: `proctor.toml` is larger than 1 MiB"),
            (
                b"\na" + b".a" * 400_000 + b" = 1",
                "proctor.toml:2: `proctor.toml` has more than 500 dots in one line",
            ),
        ],
        ids=["latin-1", "UTF-16", "UTF-32", "digits", "depth", "size", "dots"],
    )
    def test_hostile_bytes_are_refused_and_do_not_crash_or_hang(self, root, data, message):
        assert problems_of(load_text, root, data) == [message]
        has_a_line = message.startswith(("proctor.toml:1", "proctor.toml:2"))
        if "larger" not in message:
            assert hint_of(load, root) == f"mend this {'line' if has_a_line else 'file'}"

    def test_a_file_may_have_one_mebibyte_and_no_more(self, root):
        room = 1024 * 1024 - len(MINIMAL)
        assert load_text(root, MINIMAL + "#" * room).values.project == "acme-support"
        assert problems_of(load_text, root, MINIMAL + "#" * (room + 1)) == [
            "proctor.toml: `proctor.toml` is larger than 1 MiB"
        ]

    def test_a_line_may_have_500_dots_and_no_more(self, root):
        assert load_text(root, f"{MINIMAL}# {'.' * 500}\n").values.project == "acme-support"
        assert problems_of(load_text, root, f"{MINIMAL}# {'.' * 501}\n") == [
            "proctor.toml:2: `proctor.toml` has more than 500 dots in one line"
        ]

    def test_a_number_may_be_written_in_hex_and_has_the_same_range(self, root):
        assert load_text(root, f"{MINIMAL}max_cases = 0x1_0\n").values.max_cases == 16
        assert problems_of(load_text, root, f"{MINIMAL}max_cases = 0x{'f' * 9000}\n") == [
            "proctor.toml:2: `max_cases`: expected `int` <= 1000000"
        ]

    @pytest.mark.parametrize(
        "line",
        [
            " " * 1_000_000,
            f"# {'x' * 1_000_000}",
            f"# {'[' * 1_000_000}",
            f"evals{' ' * 1_000_000}= 'evals'",
            f"evals = {' ' * 1_000_000}'evals'",
            f"[{' ' * 1_000_000}prices]",
        ],
        ids=["blank", "comment", "brackets", "before =", "after =", "table"],
    )
    def test_a_very_long_line_is_read_like_a_short_one(self, root, line):
        assert load_text(root, f"{MINIMAL}{line}\n").values.evals == "evals"

    def test_a_byte_order_mark_is_passed_over(self, root):
        assert load_text(root, f"\ufeff{MINIMAL}").values.project == "acme-support"

    def test_lines_may_end_as_on_windows(self, root):
        text = f'{MINIMAL}evals = "checks"\n'.replace("\n", "\r\n")
        assert load_text(root, text).values.evals == "checks"


class TestCommandLineOnly:
    def test_the_list_is_the_documented_one(self):
        assert {name.replace("-", "_") for name in NAMES} == COMMAND_LINE_ONLY

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("spell", [str, lambda name: name.replace("-", "_")])
    @pytest.mark.parametrize("value", ["true", "'x'", "0", "{a = 1}"])
    def test_an_option_that_sends_spends_or_runs_is_refused_in_a_file(
        self, root, name, spell, value
    ):
        text = f"{MINIMAL}\n{spell(name)} = {value}\n"
        assert problems_of(load_text, root, text) == [
            f"proctor.toml:3: `{spell(name)}` is read from the command line only"
        ]
        assert f"`--{name}`" in hint_of(load, root)

    def test_it_is_refused_in_pyproject_and_as_a_table(self, root):
        text = f"[tool.proctor]\n{MINIMAL}[tool.proctor.cache]\nmode = 'record'\n"
        assert problems_of(load_text, root, text, "pyproject.toml") == [
            "pyproject.toml:3: `cache` is read from the command line only"
        ]

    def test_it_is_reported_together_with_everything_else(self, root):
        text = "max_cost = 5\nproject = 'Bad'\ncolour = 1\nallow-host = 'x'\n"
        assert problems_of(load_text, root, text) == [
            "proctor.toml:1: `max_cost` is read from the command line only",
            "proctor.toml:4: `allow-host` is read from the command line only",
            "proctor.toml:3: unknown key `colour`",
            "proctor.toml:2: `project`: expected `str` matching regex '\\\\A[a-z0-9-]{1,64}\\\\Z'",
        ]

    @pytest.mark.parametrize("name", ["Cache", "MAX_COST", "maxCost", "allowHost", "timeout"])
    def test_another_spelling_is_an_unknown_key(self, root, name):
        assert problems_of(load_text, root, f"{MINIMAL}{name} = 1\n") == [
            f"proctor.toml:2: unknown key `{name}`"
        ]

    @pytest.mark.parametrize("name", NAMES)
    def test_a_variable_changes_nothing(self, root, name):
        variable = f"PROCTOR_{name.upper().replace('-', '_')}"
        plain = load_text(root, MINIMAL)
        for value in ("record", "1", "true", ""):
            config = load(root, environ={variable: value})
            assert (config.values, config.origins) == (plain.values, plain.origins)

    def test_a_variable_of_any_other_name_changes_nothing(self, root):
        plain = load_text(root, MINIMAL)
        environ = {
            "PROCTOR_PROVIDERS": "x",
            "PROCTOR_PRICES": "x",
            "PROCTOR_max_cases": "5",
            "PROCTOR_MAX-CASES": "5",
            "PROCTOR": "x",
            "MAX_CASES": "5",
            "PROCTOR_ROOT": "/",
        }
        assert load(root, environ=environ).values == plain.values


class TestPrecedence:
    KEYS = (
        ("project", '"from-file"', "from-environment", "from-flag"),
        ("evals", '"file"', "environment", "flag"),
        ("prompts", '"file"', "environment", "flag"),
        ("max_cases", "5", "6", 7),
        ("concurrency", "5", "6", 7),
    )

    @pytest.mark.parametrize(("key", "in_file", "in_environment", "in_flag"), KEYS)
    def test_a_flag_beats_the_environment_beats_the_file(
        self, root, key, in_file, in_environment, in_flag
    ):
        variable, flag = f"PROCTOR_{key.upper()}", f"--{key.replace('_', '-')}"
        start = "" if key == "project" else MINIMAL
        kind = type(in_flag)

        config = load_text(root, f"{start}{key} = {in_file}\n")
        assert str(getattr(config.values, key)) == in_file.strip('"')
        assert config.origins[key] == "proctor.toml"

        config = load(root, environ={variable: in_environment})
        assert getattr(config.values, key) == kind(in_environment)
        assert config.origins[key] == f"environment {variable}"

        config = load(root, environ={variable: in_environment}, flags={key: in_flag})
        assert getattr(config.values, key) == in_flag
        assert config.origins[key] == f"flag {flag}"

    def test_a_flag_that_was_not_given_changes_nothing(self, root):
        config = load_text(root, f"{MINIMAL}max_cases = 5\n", flags={"max_cases": None})
        assert config.values.max_cases == 5
        assert config.origins["max_cases"] == "proctor.toml"

    def test_a_project_may_get_its_id_from_the_environment(self, root):
        config = load_text(root, "", environ={"PROCTOR_PROJECT": "acme"})
        assert config.values.project == "acme"

    @pytest.mark.parametrize("text", ["2026", "007", "-5"])
    def test_text_from_the_environment_stays_text_when_it_looks_like_a_number(self, root, text):
        environ = {"PROCTOR_PROJECT": text, "PROCTOR_EVALS": text}
        config = load_text(root, MINIMAL, environ=environ)
        assert (config.values.project, config.values.evals) == (text, text)

    def test_a_value_that_overrides_a_wrong_one_is_enough(self, root):
        config = load_text(root, f"{MINIMAL}evals = 5\n", environ={"PROCTOR_EVALS": "checks"})
        assert config.values.evals == "checks"


class TestValues:
    @pytest.mark.parametrize("project", ["a", "7", "-", "acme-support", "x" * 64])
    def test_a_project_id_is_lower_case_letters_digits_and_dashes(self, root, project):
        assert load_text(root, f'project = "{project}"\n').values.project == project

    @pytest.mark.parametrize(
        "project",
        [
            "",
            "x" * 65,
            "Acme",
            "a b",
            "a_b",
            "a.b",
            "a/b",
            "é",
            "\u0663",
            "a\\n",
            "\\na",
            "@you",
            "`x`",
        ],
    )
    def test_any_other_project_id_is_refused(self, root, project):
        (found,) = problems_of(load_text, root, f'\nproject = "{project}"\n')
        assert found.startswith("proctor.toml:2: `project`: expected `str` matching regex")

    def test_a_project_without_an_id_is_refused(self, root):
        assert problems_of(load_text, root, "") == ["proctor.toml: the key `project` is missing"]
        (root / "proctor.toml").unlink()
        text = "[project]\nname = 'x'\n[tool.proctor]\n"
        assert problems_of(load_text, root, text, "pyproject.toml") == [
            "pyproject.toml:3: the key `project` is missing"
        ]
        text = "[project]\nname = 'x'\n\n[tool.proctor.prices]\n"
        assert problems_of(load_text, root, text, "pyproject.toml") == [
            "pyproject.toml:4: the key `project` is missing"
        ]

    @pytest.mark.parametrize(
        ("key", "smallest", "largest"), [("max_cases", 1, 1_000_000), ("concurrency", 1, 1_024)]
    )
    def test_numbers_have_a_range_wherever_they_come_from(self, root, key, smallest, largest):
        variable, flag = f"PROCTOR_{key.upper()}", f"--{key.replace('_', '-')}"
        for good in (smallest, largest):
            assert getattr(load_text(root, f"{MINIMAL}{key} = {good}\n").values, key) == good
            assert getattr(load(root, flags={key: good}).values, key) == good
            assert getattr(load(root, environ={variable: str(good)}).values, key) == good
        for bad, limit in ((smallest - 1, f">= {smallest}"), (largest + 1, f"<= {largest}")):
            message = f"`{key}`: expected `int` {limit}"
            load_text(root, MINIMAL)
            assert problems_of(load, root, flags={key: bad}) == [f"flag {flag}: {message}"]
            assert problems_of(load, root, environ={variable: str(bad)}) == [
                f"environment {variable}: {message}"
            ]
            assert problems_of(load_text, root, f"{MINIMAL}{key} = {bad}\n") == [
                f"proctor.toml:2: {message}"
            ]

    @pytest.mark.parametrize("value", ["'5'", "5.0", "true", "[5]", "{}", "2026-11-30", "nan"])
    def test_a_number_is_a_whole_number_of_toml(self, root, value):
        (found,) = problems_of(load_text, root, f"{MINIMAL}max_cases = {value}\n")
        assert found.startswith("proctor.toml:2: `max_cases`: expected `int`, got `")

    @pytest.mark.parametrize(
        "value", ["", "five", "5.0", "1_000", "+5", " 5", "\u0665", "5\n", "0x5"]
    )
    def test_a_number_of_the_environment_is_written_in_digits(self, root, value):
        load_text(root, MINIMAL)
        assert problems_of(load, root, environ={"PROCTOR_MAX_CASES": value}) == [
            "environment PROCTOR_MAX_CASES: `max_cases`: expected `int`, got `str`"
        ]

    def test_a_number_of_the_environment_may_be_far_too_large(self, root):
        load_text(root, MINIMAL)
        (found,) = problems_of(load, root, environ={"PROCTOR_MAX_CASES": "9" * 10_000})
        assert found.startswith("environment PROCTOR_MAX_CASES: `max_cases`: expected `int`")

    @pytest.mark.parametrize("key", ["evals", "prompts"])
    @pytest.mark.parametrize("value", ["5", "true", "['evals']", "{path = 'evals'}"])
    def test_a_folder_is_a_string(self, root, key, value):
        (found,) = problems_of(load_text, root, f"{MINIMAL}{key} = {value}\n")
        assert found.startswith(f"proctor.toml:2: `{key}`: expected `str`, got `")

    @pytest.mark.parametrize("key", ["evals", "prompts"])
    @pytest.mark.parametrize(
        ("written", "normal"),
        [("checks", "checks"), ("./a//b/", "a/b"), ("a/../b", "b"), ("a\\b", "a/b")],
    )
    def test_a_folder_is_kept_in_its_normal_form(self, root, key, written, normal):
        config = load_text(root, f"{MINIMAL}{key} = '{written}'\n")
        assert getattr(config.values, key) == normal

    @pytest.mark.parametrize("key", ["evals", "prompts"])
    @pytest.mark.parametrize(
        "value", ["..", "../other", "a/../../b", "/etc", "C:\\x", "file:///etc", "", "."]
    )
    def test_a_folder_outside_of_the_project_is_refused_with_where_it_was_written(
        self, root, key, value
    ):
        variable, flag = f"PROCTOR_{key.upper()}", f"--{key}"
        for where, text, options in (
            ("proctor.toml:3", f"{MINIMAL}\n{key} = '{value}'\n", {}),
            (f"environment {variable}", MINIMAL, {"environ": {variable: value}}),
            (f"flag {flag}", MINIMAL, {"flags": {key: value}}),
        ):
            with pytest.raises(FileError) as caught:
                load_text(root, text, **options)
            assert (caught.value.code, caught.value.where) == ("P6805", where)

    def test_providers_and_prices_are_read(self, root):
        config = load_text(
            root,
            MINIMAL + "[providers.local]\n"
            'kind = "openai"\n'
            'base_url = "http://127.0.0.1:8080/v1"\n'
            'key_env = "LOCAL_KEY"\n'
            '[prices."local/gemma-3-270m-q4_k_m"]\n'
            "input = 0\n"
            "output = 0.25\n",
        )
        assert config.values.providers == {
            "local": ProviderConfig(
                kind="openai", base_url="http://127.0.0.1:8080/v1", key_env="LOCAL_KEY"
            )
        }
        (price,) = config.values.prices.values()
        assert (price.input, price.output) == (0.0, 0.25)

    @pytest.mark.parametrize("price", ["-0.1", "nan", "inf", "-inf", "1e400", "true", "'1'"])
    def test_a_price_is_a_finite_number_that_is_not_negative(self, root, price):
        text = f"{MINIMAL}[prices.'a/b']\ninput = {price}\noutput = 1\n"
        (found,) = problems_of(load_text, root, text)
        assert found.startswith("proctor.toml:3: `prices.a/b.input`: expected `float`")

    def test_the_scan_is_set_rule_by_rule(self, root):
        scan = load_text(root, MINIMAL).values.scan
        assert (scan.depth, scan.patterns) == ("deep", [])
        assert scan.levels() == {
            "S005": "stop",
            "S010": "warn",
            "S011": "stop",
            "S012": "warn",
            "S014": "stop",
        }
        text = '[scan]\ndepth = "top"\npatterns = ["zeus"]\nS010 = "stop"\nS014 = "off"\n'
        config = load_text(root, f"{MINIMAL}{text}")
        scan = config.values.scan
        assert (scan.depth, scan.patterns) == ("top", ["zeus"])
        levels = {"S005": "stop", "S010": "stop", "S011": "stop", "S012": "warn", "S014": "off"}
        assert scan.levels() == levels
        assert config.origins["scan"] == "proctor.toml"
        origins = {key for key in config.origins if key.startswith("scan.")}
        assert origins == {"scan.S005", "scan.S011", "scan.S012"}
        assert {config.origins[key] for key in origins} == {"default"}

    def test_every_problem_is_reported_at_once_with_its_line(self, root):
        text = (
            'evals = ["a"]\n'
            'promts = "x"\n'
            "[providers.local]\n"
            'kind = "opnai"\n'
            "key = 'sk-test-000111222333'\n"
            "[providers.other]\n"
            "[prices]\n"
            "# the price of one\n"
            '"a/b" = {input = 1}\n'
            "'c.d'.output = -1\n"
        )
        found = problems_of(load_text, root, text)
        assert found == [
            "proctor.toml:2: unknown key `promts`",
            "proctor.toml: the key `project` is missing",
            "proctor.toml:1: `evals`: expected `str`, got `array`",
            "proctor.toml:5: unknown key `key` in `providers.local`",
            "proctor.toml:4: `providers.local.kind`: `opnai` is not one of anthropic, openai, "
            "scripted",
            "proctor.toml:6: the key `kind` is missing in `providers.other`",
            "proctor.toml:9: the key `output` is missing in `prices.a/b`",
            "proctor.toml:10: the key `input` is missing in `prices.c.d`",
            "proctor.toml:10: `prices.c.d.output`: expected `float` >= 0.0",
        ]
        assert "sk-test" not in "".join(found)

    def test_a_problem_of_the_file_stays_at_the_file_when_a_flag_is_given_too(self, root):
        text = f"{MINIMAL}[providers.local]\nkind = 'openai'\nproject = 'x'\n"
        found = problems_of(load_text, root, text, flags={"project": "acme"})
        assert found == ["proctor.toml:4: unknown key `project` in `providers.local`"]


class TestLines:
    def where(self, root, text, name="pyproject.toml"):
        (found,) = problems_of(load_text, root, text, name)
        return found.partition(": ")[0]

    def test_a_key_of_another_table_is_not_taken_for_ours(self, root):
        text = (
            "# about [tool.proctor]\n"
            "[tool.other]\n"
            "evals = 1\n"
            "[tool.proctor]\n"
            "project = 'x'\n"
            "evals = 2\n"
            "[tool.more]\n"
            "evals = 3\n"
        )
        assert self.where(root, text) == "pyproject.toml:6"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("[tool]\nproctor.project = 'x'\nproctor.evals = 1\n", 3),
            ("tool.proctor.project = 'x'\n\ntool.proctor.evals = 1\n", 3),
            ("[tool]\n[ tool . proctor ]\n  project='x'\n  evals=1\n", 4),
            ("[tool.'proctor']\nproject='x'\n\"evals\" = 1\n", 3),
            ("[tool]\n\nproctor = {project = 'x', evals = 1}\n", 3),
            ("[tool.proctor]\r\nproject = 'x'\r\nevals = 1\r\n", 3),
            ("[tool.proctor]\nproject = 'x' # \u2028 \u0085\nevals = 1\n", 3),
        ],
    )
    def test_a_key_has_its_line_however_its_table_is_written(self, root, text, line):
        assert self.where(root, text) == f"pyproject.toml:{line}"


def test_the_root_is_absolute_and_free_of_links(tmp_path, monkeypatch):
    real = tmp_path / "real"
    (real / ".git").mkdir(parents=True)
    (real / "proctor.toml").write_text(MINIMAL, "utf-8")
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    assert load(Path("link")).root == real.resolve()
    assert load(Path("link"), is_root=True).root == real.resolve()


def test_a_folder_belongs_to_the_nearest_project_or_to_none(tmp_path):
    inner = tmp_path / "project" / "evals"
    (tmp_path / ".git").mkdir()
    inner.mkdir(parents=True)
    assert find_project(inner) is None
    (tmp_path / "project/proctor.toml").write_text(MINIMAL, "utf-8")
    assert find_project(inner) == tmp_path / "project"
    assert find_project(inner, is_root=True) is None
    assert find_project(tmp_path / "project", is_root=True) == tmp_path / "project"
