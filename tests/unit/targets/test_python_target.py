"""Objects of the project that build and answer."""

import asyncio
import sys

import pytest

from proctor.errors import SuiteError, TargetError
from proctor.records import Case, Scenario
from proctor.targets.python import open_python

CASE = Case("a", {"q": "x"}, expected="y")
SCENARIO = Scenario("s", {"n": 1})

WHOLE = """\
import asyncio
import proctor

class Agent:
    def __init__(self):
        self.log = []

    def setup(self, lane):
        self.log.append(("setup", lane))
        return {"session": lane}

    async def teardown(self, lane, session):
        self.log.append(("teardown", lane, session))

    async def health(self, lane):
        return lane != "bad"

    async def build(self, case, repeat, lane):
        await asyncio.sleep(0)
        return proctor.Build({"for": case.id, "repeat": repeat}, transcript=[lane])

    def prepare(self, case, scenario, artifact, lane):
        self.log.append(("prepare", case.id, scenario.name, artifact, lane))

    def answer(self, case, scenario, artifact, repeat, lane):
        return proctor.TargetAnswer(text=f"{case.id} {scenario.name} {repeat}", evidence=artifact)

    def cleanup(self, artifact, lane):
        self.log.append(("cleanup", artifact, lane))
        return artifact is not None

agent = Agent()
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose module `agents` is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    yield tmp_path
    sys.modules.pop("agents", None)


@pytest.fixture
def opened(project):
    """Open `agents:<attribute>` of a module with this text; notes are in `opened.notes`."""

    class Opened:
        notes: list

        def __call__(self, text, attribute="agent", allow_code=True):
            self.notes = []
            (project / "agents.py").write_text(text, encoding="utf-8")
            return open_python(
                project, f"agents:{attribute}", allow_code=allow_code, note=self.notes.append
            )

    return Opened()


def answer(target, case=CASE, scenario=None, artifact=None, repeat=1, lane=None):
    return asyncio.run(target.answer(case, scenario, artifact, repeat, lane)).answer


def log():
    return sys.modules["agents"].agent.log


# The whole of it


def test_every_method_is_called_plain_or_coroutine(opened):
    target = opened(WHOLE)
    assert target.builds

    async def run():
        await target.setup("l1")
        built = await target.build(CASE, 2, "l1")
        await target.prepare(CASE, SCENARIO, built.artifact, "l1")
        reply = await target.answer(CASE, SCENARIO, built.artifact, 2, "l1")
        cleaned = await target.cleanup(built.artifact, "l1")
        health = await target.health("l1"), await target.health("bad")
        await target.teardown("l1")
        await target.aclose()
        return built, reply, cleaned, health

    built, reply, cleaned, health = asyncio.run(run())
    artifact = {"for": "a", "repeat": 2}
    assert (built.artifact, built.reply.answer.transcript) == (artifact, ["l1"])
    assert (reply.answer.text, reply.answer.evidence) == ("a s 2", artifact)
    assert (cleaned, health) == (True, (True, False))
    assert log() == [
        ("setup", "l1"),
        ("prepare", "a", "s", artifact, "l1"),
        ("cleanup", artifact, "l1"),
        ("teardown", "l1", {"session": "l1"}),
    ]


def test_a_lane_is_torn_down_with_its_own_session(opened):
    target = opened(WHOLE)

    async def run():
        for lane in ("l1", "l2", None):
            await target.setup(lane)
        for lane in ("l2", None, "l1"):
            await target.teardown(lane)

    asyncio.run(run())
    assert log()[3:] == [
        ("teardown", "l2", {"session": "l2"}),
        ("teardown", None, {"session": None}),
        ("teardown", "l1", {"session": "l1"}),
    ]


def test_everything_but_answer_may_be_missing(opened):
    target = opened("class Agent:\n    def answer(self, case): return case.inputs['q']\n", "Agent")
    assert not target.builds

    async def run():
        await target.setup("l")
        await target.prepare(CASE, SCENARIO, None, "l")
        said = await target.health("l"), await target.cleanup(None, "l")
        await target.teardown("l")
        return said

    assert asyncio.run(run()) == (True, True)
    assert answer(target).text == "x"


@pytest.mark.parametrize(
    ("body", "says"), [("pass", True), ("return False", False), ("return 0", False)]
)
def test_only_what_says_no_means_no(opened, body, says):
    text = (
        f"def answer(case): return 'a'\ndef health(lane): {body}\n"
        f"def cleanup(artifact, lane): {body}\n"
        "class Agent:\n    answer = staticmethod(answer)\n    health = staticmethod(health)\n"
        "    cleanup = staticmethod(cleanup)\n"
    )
    target = opened(text, "Agent")
    assert asyncio.run(target.health("l")) is says
    assert asyncio.run(target.cleanup(1, "l")) is says


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("def agent(case): return case.inputs['q']", "agent"),
        ("async def agent(case, **rest): return case.inputs['q']", "agent"),
        ("agent = lambda question: question.inputs['q']", "agent"),
        ("class Agent:\n    def answer(self, *given): return given[0].inputs['q']", "Agent"),
        ("class Agent:\n    def __call__(self, case): return case.inputs['q']", "Agent"),
        (
            "class A:\n    async def answer(self, case): return case.inputs['q']\nagent = A()",
            "agent",
        ),
        (
            "class Agent:\n    @classmethod\n    def answer(cls, case): return case.inputs['q']",
            "Agent",
        ),
    ],
    ids=range(7),
)
def test_a_class_an_object_and_a_function_will_do(opened, text, attribute):
    assert answer(opened(text, attribute)).text == "x"


def test_it_gets_copies(opened):
    target = opened(
        "def agent(case, scenario):\n"
        "    case.inputs['q'] = 'changed'\n    scenario.inputs.clear()\n    return 'a'\n"
    )
    answer(target, scenario=SCENARIO)
    assert (CASE.inputs, SCENARIO.inputs) == ({"q": "x"}, {"n": 1})


def test_it_knows_the_case_as_it_stands_in_the_dataset_and_its_scenario(opened):
    target = opened(
        "def agent(case, scenario, artifact, repeat, lane):\n"
        "    return [case.inputs, scenario.inputs, case.expected, artifact, repeat, lane]\n"
    )
    said = answer(target, scenario=SCENARIO, artifact=7, repeat=3, lane="l")
    assert said.text == '[{"q":"x"},{"n":1},"y",7,3,"l"]'


# What is in the way


def test_nothing_is_imported_unless_code_is_allowed(opened, project):
    with pytest.raises(SuiteError) as caught:
        opened("raise ValueError", allow_code=False)
    assert (caught.value.code, caught.value.hint) == ("P6220", "read it, then add `--allow-code`")
    assert "agents" not in sys.modules
    assert str(project) not in sys.path


@pytest.mark.parametrize(
    ("text", "attribute", "said"),
    [
        ("x = 1", "agent", "`agents` has no `agent`"),
        ("agent = None", "agent", "`agents` has no `agent`"),
        ("agent = 3", "agent", "`agents:agent` has no `answer`"),
        ("class Agent: pass", "Agent", "`agents:Agent` has no `answer`"),
        ("class Agent:\n    answer = 3", "Agent", "`agents:Agent` has no `answer`"),
        (
            "class Agent:\n    def __init__(self, a): pass\n    def answer(self): pass",
            "Agent",
            "making a `agents:Agent` failed: TypeError",
        ),
        (
            "class Agent:\n    def __init__(self): raise SystemExit(3)",
            "Agent",
            "making a `agents:Agent` failed: SystemExit",
        ),
        ("def (", "agent", "importing `agents` failed: SyntaxError"),
        ("import nowhere_at_all", "agent", "importing `agents` failed: ModuleNotFoundError"),
    ],
    ids=range(9),
)
def test_an_object_that_cannot_answer_is_told_before_the_first_row(opened, text, attribute, said):
    with pytest.raises(SuiteError) as caught:
        opened(text, attribute)
    assert (caught.value.code, caught.value.message) == ("P6203", said)


# What goes wrong


RAISES = "class Agent:\n    def answer(self, case): raise {}\nagent = Agent()\n"


@pytest.mark.parametrize("error", ["ValueError('x')", "ConnectionError('x')", "TimeoutError('x')"])
def test_what_it_raises_passes_through(opened, error):
    target = opened(RAISES.format(error))
    with pytest.raises(Exception, match="x") as caught:
        answer(target)
    assert type(caught.value).__name__ == error.partition("(")[0]


def test_each_kind_of_exception_is_told_once_with_its_place(opened):
    target = opened(
        "def agent(case):\n"
        "    raise {'v': ValueError, 'k': KeyError}[case.inputs['q']]('bad\\n one')\n"
    )
    for question in "vkv":
        with pytest.raises((ValueError, KeyError)):
            answer(target, Case("a", {"q": question}))
    assert opened.notes == [
        "`agents:agent`: `answer` raised ValueError: bad one (agents.py:2)",
        "`agents:agent`: `answer` raised KeyError: 'bad\\n one' (agents.py:2)",
    ]


def test_an_exception_whose_message_cannot_be_had_is_told_without_it(opened):
    target = opened(
        "class Bad(LookupError):\n    def __str__(self): raise ValueError\n"
        "def agent(case): raise Bad\n"
    )
    with pytest.raises(LookupError):
        answer(target)
    assert opened.notes == [
        "`agents:agent`: `answer` raised Bad: its message cannot be had (agents.py:3)"
    ]


def test_a_long_message_is_cut(opened):
    target = opened(RAISES.format("ValueError('x' * 1000)"))
    with pytest.raises(ValueError, match="x"):
        answer(target)
    (note,) = opened.notes
    assert note.count("x") == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "the target returned nothing"),
        ("return object()", "the target returned a value of type object that is no JSON"),
        ("raise SystemExit(1)", "the target left with SystemExit"),
    ],
)
def test_what_is_no_answer_is_a_failure_of_the_target(opened, body, said):
    with pytest.raises(TargetError) as caught:
        answer(opened(f"def agent(case): {body}"))
    assert (caught.value.code, caught.value.message) == ("P6701", said)
    assert opened.notes == []


@pytest.mark.parametrize(
    "text",
    [
        "import threading\ndef agent(case): threading.Event().wait(30)\n",
        "import asyncio\nasync def agent(case): await asyncio.Event().wait()\n",
    ],
    ids=["plain", "coroutine"],
)
def test_one_that_hangs_is_left_when_its_time_is_over(opened, text):
    target = opened(text)

    async def run():
        async with asyncio.timeout(0):
            await target.answer(CASE, None, None, 1, None)

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert opened.notes == []


def test_what_it_prints_is_no_part_of_the_output(opened, capsys):
    text = "print('import')\nclass Agent:\n    def __init__(self): print('make')\n"
    target = opened(text + "    def answer(self, case): print('answer'); return 'a'\n", "Agent")
    answer(target)
    assert capsys.readouterr() == ("", "import\nmake\nanswer\n")
