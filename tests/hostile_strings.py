"""Reports every string of which is hostile."""

from __future__ import annotations

from enum import Enum

import msgspec
from msgspec.structs import replace

from proctor.reporting import CaseSpool, RunReport

MARK = "pwned"
"""What a payload that runs leaves in the page."""

PAYLOADS = [
    f"</script><script>window.{MARK}=1</script>",
    f"<img src=x onerror=window.{MARK}=1>",
    f'"><svg onload=window.{MARK}=1>',
    f"javascript:window.{MARK}=1",
    f"<!--<script>window.{MARK}=1",
    f"</template></title></style><iframe srcdoc='<script>parent.{MARK}=1</script>'></iframe>",
    f"{{{{constructor.constructor('window.{MARK}=1')()}}}}${{window.{MARK}=1}}",
    f"&lt;script&gt;window.{MARK}=1&lt;/script&gt;&#x3cimg src=x&#x3e",
    f"\u2028window.{MARK}=1\u2029",
    f"\"'`;window.{MARK}=1//",
    "<base href=https://evil.example/><a href=https://evil.example/>here</a>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "]]><![CDATA[<style>@import 'https://evil.example/x.css';</style>",
    "__proto__",
    "[[data]][[script]]",
    "\u202e\x1b]0;\x07\x00\x85\ud800",
]

_OURS = {"judge", "limit"}
"""Objects whose keys are of the format, not data."""


def full_of(value, text: str, *, keeps_keys: bool = False):
    """The same value with `text` for every string in it, and for every key that is data."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return text
    if isinstance(value, msgspec.Struct):
        changes = {
            name: full_of(getattr(value, name), text, keeps_keys=name in _OURS)
            for name in value.__struct_fields__
        }
        return replace(value, **changes)
    if isinstance(value, dict):
        return {
            key if keeps_keys else f"{text}{place or ''}": full_of(
                member, text, keeps_keys=keeps_keys
            )
            for place, (key, member) in enumerate(value.items())
        }
    if isinstance(value, (list, tuple)):
        return type(value)(full_of(member, text, keeps_keys=keeps_keys) for member in value)
    return value


def hostile_report(made, text: str) -> RunReport:
    """A report as another one is, but every string of it is `text`."""
    spools = []
    for place, suite in enumerate(made.head.suites):
        spools.append([])
        for number in range(len(suite.subjects)):
            spool = CaseSpool()
            for one in made.cases(place, number):
                spool.add(full_of(one, text))
            spools[-1].append(spool)
    return RunReport(full_of(made.head, text), spools)
