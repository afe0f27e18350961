"""Shares of 1 on the command line, kept as they are written."""

from __future__ import annotations

import re
from fractions import Fraction

import click

_DECIMAL = re.compile(r"\d{1,6}(\.\d{1,12})?\Z|\.\d{1,12}\Z")


def as_share(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> Fraction | None:
    """A decimal number from 0 to 1, exactly: `0.05` is 1/20. The callback of an option."""
    if text is None:
        return None
    if not _DECIMAL.match(text) or Fraction(text) > 1:
        message = f"`{text}` is not a number from 0 to 1, like 0.05"
        raise click.BadParameter(message, ctx=context, param=parameter)
    return Fraction(text)
