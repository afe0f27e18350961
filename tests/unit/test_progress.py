import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from rich.live import Live

from live_support import FakeClock
from proctor.cli.output import Output
from proctor.cli.progress import open_progress
from proctor.records import Outcome
from support import Project

HIDE_CURSOR, SHOW_CURSOR, ERASE_LINE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:[39][0-7]|38;[\d;]+)m")


class Shown:
    """A progress that is open, its clock, and the output beside it."""

    def __init__(self, *, quiet=False, total=500):
        self.clock = FakeClock()
        self.output = Output()
        self._opened = open_progress(self.output, quiet=quiet, total=total, clock=self.clock)

    def __enter__(self):
        self.progress = self._opened.__enter__()
        return self

    def __exit__(self, *error):
        return self._opened.__exit__(*error)

    def rows(self, number, outcome=Outcome.PASSED):
        for _ in range(number):
            self.progress.row_done(outcome)

    def waiting(self, wait_s, *, attempt=3, reason="429", provider="openai"):
        self.progress.waiting(provider, wait_s, attempt, reason)

    def at(self, time_s):
        self.clock.time_s = time_s


@pytest.fixture
def lines(capsys):
    """The lines on stderr since they were last looked at; on stdout there is never one."""

    def read():
        out, err = capsys.readouterr()
        assert out == ""
        assert "\x1b" not in err
        return err.splitlines()

    return read


class TestLines:
    def test_a_line_says_what_is_done_failed_spent_left_and_waited_for(self, lines):
        with Shown() as shown:
            shown.rows(117)
            shown.rows(3, Outcome.FAILED)
            shown.progress.money(0.42, 1.58)
            shown.waiting(40)
        assert lines() == [
            "120 of 500 rows done, 3 failed, USD 0.42 spent, USD 1.58 left, "
            "waiting 40 s, attempt 3, 429 (openai)"
        ]

    def test_there_is_a_line_every_ten_seconds_at_most_when_something_happens(self, lines):
        with Shown() as shown:
            for time_s, said in [
                (0, []),
                (9.9, []),
                (10, ["3 of 500 rows done, 0 failed"]),
                (19.9, []),
                (300, ["5 of 500 rows done, 0 failed"]),
                (309, []),
            ]:
                shown.at(time_s)
                shown.rows(1)
                assert lines() == said

    def test_money_is_something_that_happens(self, lines):
        with Shown() as shown:
            shown.at(10)
            shown.progress.money(1.5, None)
        assert lines() == ["0 of 500 rows done, 0 failed, USD 1.50 spent"]

    @pytest.mark.parametrize(
        ("spent", "said"),
        [(0, "0.00"), (0.0999, "0.10"), (12, "12.00"), (0.01, "0.01"), (0.00034, "0.00034")],
    )
    def test_what_was_spent_is_never_said_to_be_nothing(self, lines, spent, said):
        with Shown() as shown:
            shown.at(10)
            shown.progress.money(spent, 2)
        assert lines() == [f"0 of 500 rows done, 0 failed, USD {said} spent, USD 2.00 left"]

    def test_what_could_not_be_measured_is_no_failure(self, lines):
        with Shown(total=9) as shown:
            shown.rows(1, Outcome.ERRORED)
            shown.rows(1, Outcome.UNMEASURED)
            shown.rows(1, Outcome.FAILED)
            shown.at(10)
            shown.rows(2)
        assert lines() == ["4 of 9 rows done, 1 failed, 1 errored, 1 unmeasured"]

    @pytest.mark.parametrize(("wait_s", "said"), [(4.9, 0), (5, 0), (5.1, 1), (40, 1)])
    def test_a_wait_over_five_seconds_is_said_at_once(self, lines, wait_s, said):
        with Shown() as shown:
            shown.waiting(wait_s)
        assert len(lines()) == said

    def test_waits_that_end_with_the_one_that_was_said_are_not_said_again(self, lines):
        with Shown() as shown:
            for time_s, wait_s, said in [
                (0, 40, 1),
                (0, 40, 0),
                (1, 44, 0),
                (2, 60, 1),
                (3, 20, 0),
            ]:
                shown.at(time_s)
                shown.waiting(wait_s)
                assert len(lines()) == said
            shown.at(63)
            shown.waiting(6)
            assert len(lines()) == 1

    def test_of_many_waits_the_last_to_end_is_shown_with_the_time_that_is_left(self, lines):
        with Shown() as shown:
            shown.waiting(40, attempt=5, reason="503")
            shown.waiting(7)
            lines()
            shown.at(29.7)
            shown.rows(1)
            assert lines() == [
                "1 of 500 rows done, 0 failed, waiting 10 s, attempt 5, 503 (openai)"
            ]

    def test_a_wait_that_is_over_is_not_shown(self, lines):
        with Shown() as shown:
            shown.waiting(40)
            lines()
            shown.at(39.7)
            shown.rows(1)
            assert lines() == ["1 of 500 rows done, 0 failed, waiting 1 s, attempt 3, 429 (openai)"]
            shown.at(50)
            shown.rows(1)
            assert lines() == ["2 of 500 rows done, 0 failed"]

    def test_quiet_says_nothing_but_notes(self, lines):
        with Shown(quiet=True) as shown:
            shown.at(600)
            shown.rows(1)
            shown.progress.money(1, 1)
            shown.waiting(40)
            shown.progress.note("sending a key")
        assert lines() == ["sending a key"]

    def test_a_note_is_a_line_at_once(self, lines):
        with Shown() as shown:
            shown.progress.note("sending a key")
        assert lines() == ["sending a key"]

    def test_data_cannot_act_on_the_terminal(self, lines):
        with Shown() as shown:
            shown.waiting(40, provider="\x1b[31m", reason="##[group]")
        (line,) = lines()
        assert line.endswith(r"attempt 3, \x23#[group] (\x1b[31m)")

    def test_a_full_stderr_is_nobodys_business(self, monkeypatch):
        with Path("/dev/full").open("w", buffering=1, encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stderr", full)
            with Shown() as shown:
                shown.waiting(40)
                shown.progress.note("sending a key")
            with pytest.raises(OSError, match="28"):
                full.flush()
            monkeypatch.undo()
            with suppress(OSError):
                full.close()


class Terminal:
    """A terminal that is stderr, and everything that is written to it."""

    def __init__(self, monkeypatch):
        self._reading, writing = pty.openpty()
        self._stream = open(writing, "w", buffering=1, encoding="utf-8")  # noqa: PTH123, SIM115
        self._parts = []
        self._reader = Thread(target=self._read)
        self._monkeypatch = monkeypatch
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": "80", "LINES": "25"}.items():
            monkeypatch.setenv(name, value)

    def _read(self):
        # The end of a terminal is an error here.
        with suppress(OSError):
            while part := os.read(self._reading, 65_536):
                self._parts.append(part)

    def show(self, *, read=True, **options):
        """Show a progress on it, and read what is written unless it will be taken away."""
        if read:
            self._reader.start()
        self._monkeypatch.setattr(sys, "stderr", self._stream)
        return Shown(**options)

    def hang_up(self):
        """Take it away from who writes to it."""
        os.close(self._reading)

    def text(self):
        """Everything that was written, once nothing more will be."""
        if not self._stream.closed:
            with suppress(OSError):
                self._stream.close()
        if self._reader.is_alive():
            self._reader.join()
            self.hang_up()
        return b"".join(self._parts).decode().replace("\r\n", "\n")


@pytest.fixture
def terminal(monkeypatch, capsys):
    terminal = Terminal(monkeypatch)
    yield terminal
    terminal.text()
    assert capsys.readouterr().out == ""


class TestBar:
    def test_a_bar_says_what_is_done_failed_spent_left_and_waited_for(self, terminal):
        with terminal.show() as shown:
            shown.rows(117)
            shown.rows(3, Outcome.FAILED)
            shown.progress.money(0.42, 1.58)
            shown.waiting(40)
        text = terminal.text()
        assert "120 of 500 rows done, 3 failed, USD 0.42 spent, USD 1.58 left\n" in text
        assert "waiting 40 s, attempt 3, 429 (openai)" in text
        assert re.search("m\u2501{14}\\x1b", text)  # 120 of 500 of its width of 60

    @pytest.mark.parametrize("total", [0, 1, 500])
    def test_it_is_there_from_the_start_and_gone_at_the_end(self, terminal, total):
        with terminal.show(total=total):
            pass
        text = terminal.text()
        assert f"0 of {total} rows done" in text
        assert text.rindex(ERASE_LINE) > text.rindex("rows done")

    @pytest.mark.parametrize("error", [None, KeyboardInterrupt, SystemExit, ZeroDivisionError])
    def test_the_cursor_comes_back_whatever_ends_the_run(self, terminal, error):
        with suppress(KeyboardInterrupt, SystemExit, ZeroDivisionError), terminal.show():
            if error is not None:
                raise error
        text = terminal.text()
        assert text.index(HIDE_CURSOR) < text.index("rows done")
        assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)

    def test_so_it_does_when_ctrl_c_is_pressed_while_it_starts(self, terminal, monkeypatch):
        refresh, presses = Live.refresh, iter([KeyboardInterrupt])

        def interrupted(live):
            for press in presses:
                raise press
            refresh(live)

        monkeypatch.setattr(Live, "refresh", interrupted)
        with pytest.raises(KeyboardInterrupt), terminal.show():
            pass
        text = terminal.text()
        assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)

    def test_lines_of_others_stand_above_it_and_are_not_broken(self, terminal):
        long = "stopping: " + "calls in flight have 10 s; " * 8
        with terminal.show() as shown:
            shown.output.note(long)
            shown.progress.note("[red]sending[/red] \x1b[31m :smile:")
        shown.output.note("stopped")
        text = terminal.text()
        assert f"{long}\n" in text
        assert "[red]sending[/red] \\x1b[31m :smile:\n" in text
        assert text.index("rows done") < text.index("stopping")
        assert text.rindex("rows done") > text.index(":smile:")
        assert text.endswith("stopped\n")

    def test_what_is_written_to_stdout_goes_there(self, terminal, capsys):
        with terminal.show():
            sys.stdout.write("a report\n")
        assert capsys.readouterr().out == "a report\n"
        assert "a report" not in terminal.text()

    def test_data_is_text_and_one_line(self, terminal):
        with terminal.show() as shown:
            shown.waiting(40, reason="[bold]x[/bold]\n\x1b[31m", provider="p" * 200)
        text = terminal.text()
        (line,) = {line for line in text.split("\n") if "attempt 3" in line}
        assert "attempt 3, [bold]x[/bold]\\n\\x1b[31m (ppp" in line
        assert "\u2026" in line

    def test_a_wait_that_is_over_leaves_the_bar(self, terminal):
        with terminal.show() as shown:
            shown.waiting(40)
            shown.at(40)
            shown.output.note("over")
        assert "waiting" not in terminal.text().split("over\n")[1]

    @pytest.mark.parametrize(("value", "coloured"), [(None, True), ("", True), ("1", False)])
    def test_no_colour_is_still_a_bar(self, terminal, monkeypatch, value, coloured):
        if value is not None:
            monkeypatch.setenv("NO_COLOR", value)
        with terminal.show() as shown:
            shown.rows(250)
        text = terminal.text()
        assert "\u2501" * 30 in text
        assert "250 of 500 rows done" in text
        assert (COLOUR.search(text) is not None) is coloured

    @pytest.mark.parametrize("variable", ["TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"])
    def test_it_does_not_depend_on_variables_for_other_programs(
        self, terminal, monkeypatch, variable
    ):
        monkeypatch.setenv(variable, "" if variable == "FORCE_COLOR" else "0")
        with terminal.show():
            pass
        assert "0 of 500 rows done" in terminal.text()

    @pytest.mark.parametrize("term", ["dumb", "DUMB", "unknown"])
    def test_a_terminal_that_cannot_draw_gets_lines(self, terminal, monkeypatch, term):
        monkeypatch.setenv("TERM", term)
        with terminal.show() as shown:
            shown.waiting(40)
        assert terminal.text() == (
            "0 of 500 rows done, 0 failed, waiting 40 s, attempt 3, 429 (openai)\n"
        )

    def test_without_what_draws_it_there_are_lines(self, terminal, monkeypatch):
        monkeypatch.setitem(sys.modules, "rich.live", None)
        with terminal.show() as shown:
            shown.rows(1)
            shown.at(10)
            shown.rows(1)
        assert terminal.text() == "2 of 500 rows done, 0 failed\n"

    def test_quiet_draws_nothing(self, terminal):
        with terminal.show(quiet=True) as shown:
            shown.rows(1)
            shown.waiting(40)
            shown.progress.note("sending a key")
        assert terminal.text() == "sending a key\n"

    def test_a_terminal_that_goes_away_is_nobodys_business(self, terminal):
        with terminal.show(read=False) as shown:
            terminal.hang_up()
            shown.rows(500)
            shown.output.note("stopped")
        shown.output.note("over")


def test_a_replay_loads_nothing_that_draws(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes"})
    code = (
        "import sys, proctor.cli.main as main\n"
        "try: main.main(['run'])\n"
        "except SystemExit as end: print(end.code, 'rich' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "0 False\n"
