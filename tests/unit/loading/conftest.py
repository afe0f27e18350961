"""Fixtures of the tests of datasets, whatever the format."""

import pytest
from dataset_rules import WHERE, AnyCase

from proctor.loading.datasets import load_dataset


@pytest.fixture
def dataset_path():
    """Where a dataset is; the ending says its format."""
    return "evals/cases.jsonl"


@pytest.fixture
def load(tmp_path, dataset_path):
    """Write a dataset and load it; datasets are closed at the end."""
    opened = []

    def load_bytes(data, *, rules=None, max_cases=1_000, path=dataset_path, **options):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
        dataset, problems = load_dataset(
            tmp_path, path, rules=rules or AnyCase(), max_cases=max_cases, where=WHERE, **options
        )
        if dataset is not None:
            opened.append(dataset)
        return dataset, problems

    yield load_bytes
    for dataset in opened:
        dataset.close()


@pytest.fixture
def read(load):
    """The cases of a dataset that must have no problems."""

    def read_bytes(data, **options):
        dataset, problems = load(data, **options)
        assert [problem.message for problem in problems] == []
        return [dataset.case(index) for index in range(len(dataset))]

    return read_bytes


@pytest.fixture
def refused(load):
    """`line: code: message` of each problem of a dataset that must not be used."""

    def refuse_bytes(data, **options):
        dataset, problems = load(data, **options)
        assert dataset is None
        return [f"{one.where.rpartition(':')[2]}: {one.code}: {one.message}" for one in problems]

    return refuse_bytes
