"""Programs that answer: what they are told, what becomes of what they write, and that they end."""

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from proctor.errors import ProviderError, SuiteError, TargetError
from proctor.records import Case, Scenario, TargetSubject
from proctor.records.targets import CommandCall, LoadedTarget
from proctor.scrubbing import Scrubber
from proctor.targets import command, processes, replies
from proctor.targets.command import open_command

PATIENCE_S = 30
CASE = Case("a", {"q": "x", "n": 1}, expected="secret", metadata={"by": "Ada"})
SCENARIO = Scenario("s", {"n": 2}, expected="secret")


@pytest.fixture
def notes():
    return []


@pytest.fixture
def opened(tmp_path, notes):
    """A target that runs this Python program, or another command."""

    def open_it(program="", *arguments, argv=None, env=(), allow_code=True):
        how = CommandCall(tuple(argv or (sys.executable, "-c", program, *arguments)), tuple(env))
        subject = TargetSubject(kind="command", name="agent", bundle_sha256="0" * 64)
        target = LoadedTarget(subject=subject, how=how, where="evals/q.eval.yaml:1")
        return open_command(tmp_path, target, how, allow_code=allow_code, note=notes.append)

    return open_it


def reply(target, case=CASE, scenario=None, repeat=1, lane=None):
    return asyncio.run(target.answer(case, scenario, None, repeat, lane))


def said(target, **row):
    return reply(target, **row).answer.text


def failed(target):
    with pytest.raises(TargetError) as caught:
        reply(target)
    assert caught.value.code == "P6701"
    return caught.value


ECHO = "import sys; sys.stdout.write(sys.stdin.read())"
ENVIRON = "import os, json; print(json.dumps(dict(os.environ)))"


# What it is told


def test_the_case_comes_as_json_on_stdin(opened):
    told = json.loads(said(opened(ECHO), repeat=3, lane="http://127.0.0.1:9001"))
    assert told == {
        "case": "a",
        "inputs": {"q": "x", "n": 1},
        "scenario": None,
        "repeat": 3,
        "lane": "http://127.0.0.1:9001",
    }


def test_a_scenario_lays_its_inputs_over_those_of_the_case(opened):
    told = json.loads(said(opened(ECHO), scenario=SCENARIO))
    assert told["inputs"] == {"q": "x", "n": 2}
    assert told["scenario"] == {"name": "s", "inputs": {"n": 2}}
    assert "secret" not in json.dumps(told)


def test_a_case_may_be_larger_than_a_pipe_and_need_not_be_read(opened):
    large = Case("a", {"q": "x" * 900_000})
    assert int(said(opened("print(len(input()))"), case=large)) > 900_000
    assert said(opened("print('unread')"), case=large) == "unread"


def test_lone_surrogates_and_line_breaks_stay_what_they_are(opened):
    odd = Case("a", {"q": "\ud800 \n\u2028 é"})
    told = said(opened("import sys; print(ascii(sys.stdin.readlines()))"), case=odd)
    assert told.count("\\\\ud800") == 1
    assert told.startswith("['{")
    assert told.endswith("\\n']")


def test_arguments_are_never_read_by_a_shell(opened):
    program = "import sys, json; print(json.dumps(sys.argv[1:]))"
    odd = ["$HOME", "`id`", "a b", "{{input.q}}", ";exit 3", "*"]
    assert json.loads(said(opened(program, *odd))) == odd


def test_it_runs_in_the_projects_folder(opened, tmp_path):
    assert said(opened("import os; print(os.getcwd())")) == str(tmp_path.resolve())


def test_a_program_of_the_project_is_found_by_its_path(opened, tmp_path):
    script = tmp_path / "agents/run.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho ran\n", encoding="utf-8")
    script.chmod(0o755)
    assert said(opened(argv=["agents/run.sh"])) == "ran"
    assert said(opened(argv=["./agents/run.sh"])) == "ran"


# Its environment


def test_it_gets_four_variables_and_those_that_are_named(opened, monkeypatch, notes):
    for name in list(os.environ):
        if name not in {"PATH", "HOME"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "somewhere")
    monkeypatch.setenv("TMPDIR", "/tmp")  # noqa: S108 - a value like any other
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("AGENT_MODE", "fast")
    environ = json.loads(said(opened(ENVIRON, env=["AGENT_MODE"])))
    # Python itself may add one to say how its text is encoded.
    assert environ.keys() - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "AGENT_MODE"}
    assert environ["AGENT_MODE"] == "fast"
    assert notes == [f"giving the command `{sys.executable}` PATH, HOME, TMPDIR, AGENT_MODE"]


def test_a_named_variable_that_is_not_set_stops_the_run(opened, monkeypatch):
    monkeypatch.delenv("AGENT_KEY", raising=False)
    with pytest.raises(ProviderError) as caught:
        opened(env=["AGENT_KEY"])
    assert (caught.value.code, caught.value.message) == (
        "P6306",
        "the variable `AGENT_KEY` is not set",
    )


@pytest.fixture
def key(monkeypatch):
    """A variable whose value nobody may see."""
    scrubber = Scrubber()
    for module in (command, replies):
        monkeypatch.setattr(module, "SECRETS", scrubber)
    monkeypatch.setenv("AGENT_KEY", "sk-agent-0001")
    return "sk-agent-0001"


def test_an_answer_with_the_value_of_a_named_variable_is_not_kept(opened, key):
    with pytest.raises(TargetError) as caught:
        reply(opened("import os; print(os.environ['AGENT_KEY'])", env=["AGENT_KEY"]))
    assert caught.value.code == "P6312"


@pytest.mark.parametrize("status", [0, 1])
def test_a_secret_on_stderr_is_taken_out(opened, key, notes, status):
    program = (
        "import os, sys; sys.stderr.write('key ' + os.environ['AGENT_KEY'] + '!\\n'); print('a'); "
        f"sys.exit({status})"
    )
    target = opened(program, env=["AGENT_KEY"])
    debug = failed(target).debug if status else reply(target).answer.debug
    assert debug == {"stderr": "key [redacted]!\n"}
    assert not any(key in note for note in notes)


# What it writes


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a\\n", "a"),
        ("a", "a"),
        ("a\\r\\n", "a"),
        ("a\\n\\n", "a\n"),
        ("  a ", "  a "),
        ("", ""),
        ("\\n", ""),
        ('{"label": "yes"}\\n', '{"label": "yes"}'),
        ('{"text": "b", "evidence": [1]}\\n', "b"),
        ("caf\\u00e9", "café"),
    ],
)
def test_an_answer_is_text_or_json(opened, written, text):
    program = f"import sys; sys.stdout.buffer.write('''{written}'''.encode())"
    assert said(opened(program)) == text


def test_stderr_is_kept_from_its_end(opened):
    found = reply(opened("import sys; sys.stderr.write('x' * 20000 + 'end'); print('a')")).answer
    assert len(found.debug["stderr"]) == 16 * 1024
    assert found.debug["stderr"].endswith("xend")
    assert reply(opened("print('a')")).answer.debug is None


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("raise SystemExit(3)", "ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("import os; os.write(1, b'caf\\xe9')", "wrote an answer that is not UTF-8"),
    ],
)
def test_a_program_that_fails_says_how(opened, program, words):
    error = failed(opened(program))
    assert error.message == f"`{sys.executable}` {words}"


def test_what_it_wrote_when_it_failed_is_told_once(opened, notes):
    target = opened("import sys; sys.stderr.write('first\\nlast line\\n\\n'); sys.exit(1)")
    notes.clear()
    for _ in range(2):
        assert failed(target).debug == {"stderr": "first\nlast line\n\n"}
    assert notes == [f"`{sys.executable}` wrote: last line"]


# What is in the way


def test_nothing_is_started_unless_code_is_allowed(opened, tmp_path, notes):
    with pytest.raises(SuiteError) as caught:
        opened("open('started', 'w')", allow_code=False)
    assert (caught.value.code, caught.value.hint) == ("P6220", "read it, then add `--allow-code`")
    assert list(tmp_path.iterdir()) == []
    assert notes == []


@pytest.mark.parametrize("program", ["no-such-program-at-all", "./none.sh", "folder/", "plain.txt"])
def test_a_program_that_is_not_there_is_told_before_the_first_row(opened, tmp_path, program):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.txt").write_text("", encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        opened(argv=[program])
    assert (caught.value.code, caught.value.where) == ("P6203", "evals/q.eval.yaml:1")
    assert caught.value.message == f"there is no program `{program}` that can be started"


def test_a_program_that_went_away_is_a_failure_of_the_target(opened, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\necho a\n", encoding="utf-8")
    script.chmod(0o755)
    target = opened(argv=["./run.sh"])
    script.unlink()
    assert failed(target).message == "`./run.sh` cannot be started: no such file or directory"


# That it ends


def is_there(pid):
    """Whether a process is there and is not only waiting to be reaped."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid):
    """Wait until a process has ended; killing one takes the system a moment."""
    end = time.monotonic() + PATIENCE_S
    while is_there(pid) and time.monotonic() < end:
        time.sleep(0.002)
    return not is_there(pid)


def told_pids(tmp_path, number):
    """The process ids that a program has written to files, once they are there."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        files = sorted(tmp_path.glob("pid-*"))
        if len(files) == number and all(file.read_text() for file in files):
            return [int(file.read_text()) for file in files]
        time.sleep(0.002)
    raise AssertionError("it did not start")


LEAKS = """\
import os, sys, time
if os.fork() == 0:
    open(f"pid-child", "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists("pid-child") or not open("pid-child").read():
    time.sleep(0.002)
print("answered", flush=True)
"""

HANGS = LEAKS + "open('pid-main', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"


def test_a_child_that_is_left_behind_is_killed_and_not_waited_for(opened, tmp_path):
    """It holds both outputs open, so that whoever reads them to their end would wait for it."""
    assert said(opened(LEAKS)) == "answered"
    (child,) = told_pids(tmp_path, 1)
    assert gone(child)


ESCAPES = """\
import os, time
if os.fork() == 0:
    os.setsid()
    open("pid-child", "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists("pid-child") or not open("pid-child").read():
    time.sleep(0.002)
print("answered", flush=True)
"""


def test_a_child_that_has_left_the_group_is_not_waited_for(opened, tmp_path):
    assert said(opened(ESCAPES)) == "answered"
    (child,) = told_pids(tmp_path, 1)
    with suppress(ProcessLookupError):
        os.kill(child, 9)


def test_at_the_timeout_it_is_killed_with_its_children(opened, tmp_path):
    async def run():
        task = asyncio.create_task(opened(HANGS).answer(CASE, None, None, 1, None))
        pids = await asyncio.to_thread(told_pids, tmp_path, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    pids = asyncio.run(run())
    assert [gone(pid) for pid in pids] == [True, True]


def test_a_program_that_ignores_signals_is_killed_too(opened, tmp_path):
    program = (
        "import os, signal, time\n"
        "for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
        "open('pid-main', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )

    async def run():
        task = asyncio.create_task(opened(program).answer(CASE, None, None, 1, None))
        pids = await asyncio.to_thread(told_pids, tmp_path, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert gone(*asyncio.run(run()))


@pytest.mark.parametrize("number", [1, 2])
def test_a_program_that_writes_without_end_is_killed(opened, monkeypatch, number):
    monkeypatch.setattr(processes, "MAX_OUTPUT", 100_000)
    error = failed(opened(f"import os\nwhile True: os.write({number}, b'x' * 10000)"))
    assert error.message == f"`{sys.executable}` wrote more than 16 MiB, and was killed"


def test_as_much_as_is_allowed_is_read(opened, monkeypatch):
    monkeypatch.setattr(processes, "MAX_OUTPUT", 200_001)
    assert len(said(opened("print('x' * 200_000)"))) == 200_000


def open_files():
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_nothing_stays_open_behind_it(opened):
    target = opened("print('a')")
    reply(target)
    before = open_files()
    for _ in range(3):
        reply(target)
    assert open_files() == before


def test_many_run_at_once(opened):
    target = opened("import sys, json; print(json.loads(sys.stdin.read())['repeat'])")

    async def run():
        return await asyncio.gather(
            *(target.answer(CASE, None, None, repeat, None) for repeat in range(1, 9))
        )

    assert [one.answer.text for one in asyncio.run(run())] == [str(n) for n in range(1, 9)]


def test_a_key_on_the_keyboard_does_not_reach_it(opened):
    assert said(opened("import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))")) == "True"


def test_it_builds_nothing(opened):
    target = opened("print('a')")
    assert not target.builds
    assert asyncio.run(target.health("l")) is True
    with pytest.raises(TargetError):
        asyncio.run(target.build(CASE, 1, None))
