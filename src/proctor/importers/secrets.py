"""Where keys and tokens stand in a text, as far as their first characters give them away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WORD: Final = "[A-Za-z0-9]"
_DASHED: Final = "[A-Za-z0-9_-]"

# Of several parts, each is possessive and begins where nothing of it can have been read before,
# so that no text is read twice.
_SHAPES: Final = (
    rf"(?<![_-])sk-(?={_DASHED}{{0,200}}[0-9]){_DASHED}{{16,}}+",  # OpenAI, Anthropic
    rf"(?:sk|rk)_(?:live|test)_{_WORD}{{10,}}+",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{16,}+",
    rf"gh[oprsu]_{_WORD}{{20,}}+",  # GitHub
    rf"github_pat_{_DASHED}{{20,}}+",
    rf"gl(?:pat|dt|rt|cbt|ptt|agent)-{_DASHED}{{16,}}+",  # GitLab
    r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    rf"AIza{_DASHED}{{30,}}+",  # Google
    rf"ya29\.{_DASHED}{{20,}}+",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}+",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}+",
    rf"(?:hf|gsk|r8|npm)_{_WORD}{{20,}}+",  # Hugging Face, Groq, Replicate, npm
    rf"pypi-{_DASHED}{{20,}}+",
    rf"xai-{_WORD}{{20,}}+",
    rf"(?:dckr_pat|lsv2_pt|lsv2_sk)_{_DASHED}{{20,}}+",  # Docker, LangSmith
    rf"do[opr]_v1_{_WORD}{{32,}}+",  # DigitalOcean
    rf"shp(?:at|ca|pa|ss)_{_WORD}{{20,}}+",  # Shopify
    rf"SG\.{_DASHED}{{16,64}}+\.{_DASHED}{{16,}}+",  # SendGrid
    rf"(?<![_-])eyJ{_DASHED}{{8,}}+\.eyJ{_DASHED}{{8,}}+\.{_DASHED}{{8,}}+",  # JSON Web Token
)
_KEY_BLOCK: Final = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----))*+"
    r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
_SECRET: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_SHAPES)})|{_KEY_BLOCK}")


def find_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where secrets begin and end, from left to right; no two overlap."""
    return (match.span() for match in _SECRET.finditer(text))
