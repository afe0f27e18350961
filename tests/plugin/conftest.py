"""A project in the folder that pytest is run in, and a record of what is run there."""

from __future__ import annotations

import pytest

from proctor.pytest_plugin import evaluating
from support import Project


@pytest.fixture
def project(pytester, monkeypatch):
    # So that lines are not cut.
    monkeypatch.setenv("COLUMNS", "200")
    return Project(pytester.path)


@pytest.fixture
def runs(monkeypatch):
    """The cases of each run of suites, in the order in which they are run."""
    made = []
    real = evaluating.run_selected

    def counting(rules, selected, **rest):
        made.append(
            [
                (one.name, [each.target.subject.id for each in one.subjects], cases_of(one))
                for one in selected
            ]
        )
        return real(rules, selected, **rest)

    monkeypatch.setattr(evaluating, "run_selected", counting)
    return made


def cases_of(selected):
    return [selected.suite.dataset.case(place).id for place in selected.plan.places]
