"""How often two whole reports are called a regression: a smaller sample of `make noise`."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

spec = spec_from_file_location("noise", Path(__file__).parents[2] / "bench/noise.py")
noise = module_from_spec(spec)
spec.loader.exec_module(noise)


@pytest.mark.parametrize("trial", noise.TRIALS, ids=lambda trial: trial.name)
def test_regressions_are_found_and_noise_is_not_called_one(trial):
    assert trial.sample.least <= noise.red_of(trial, trial.sample.pairs) <= trial.sample.most
