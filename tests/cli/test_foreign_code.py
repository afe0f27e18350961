"""Code of the project that writes to stdout behind Python's back, or ends the program."""

import os

from agent_support import AgentProject, case
from proctor.cli.foreign_code import foreign_code

CODE = """\
import os
import subprocess


class Agent:
    def answer(self, case):
        subprocess.run(["echo", "::error::from a child"], check=True)
        os.write(1, b"from the file itself")
        if case.id == "ends":
            os._exit(0)
        return case.id
"""


def project_of(folder, *names):
    project = AgentProject(folder)
    project.write("agents.py", CODE)
    project.agent_suite(expectations=None)
    project.cases(*map(case, names))
    return project


def test_stdout_is_the_report_alone_and_ending_the_program_is_no_pass(tmp_path):
    project = project_of(tmp_path, "a", "ends")
    options = ("run", "--cache", "record", "--allow-code", "--format", "json", "--concurrency", "1")
    ended = project.proctor(*options)
    assert (ended.code, ended.out) == (70, b"")
    assert "code of the project ended the program" in ended.err
    project.cases(case("a"))
    result = project.proctor(*options, "--cache", "refresh")
    assert (result.code, result.report["verdict"]) == (0, "passed")
    assert "::error::from a child" in result.err


def test_afterwards_stdout_is_what_it_was(capfd):
    with foreign_code():
        os.write(1, b"told")
    os.write(1, b"said")
    assert capfd.readouterr() == ("said", "told")
