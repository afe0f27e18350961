"""What a reader makes of Markdown, and data that would like to be more than data."""

import html
import re

from markdown_it import MarkdownIt

OURS = re.compile(r"</?code>|<!-- -->|<details><summary>.*</summary>|</details>")

HOSTILE = [
    "harmless",
    "[link](https://evil.example) <https://evil.example> https://evil.example www.evil.example",
    "![image](https://evil.example/x.png)",
    "@octocat and octocat@evil.example and a.b-c+d@evil.example",
    "mailto:a@evil.example xmpp:a@evil.example",
    "#1 GH-1 owner/repo#1 0123456789abcdef0123456789abcdef01234567 :tada: $x$",
    "| a | b |\n|---|---|\n| c | d |",
    "> [!TIP]\n> all is well",
    "\n\n# heading\n\n- list\n\n---\n\n```\nfence\n```\n\n    indented",
    "</code></td></table><script>alert(1)</script><!-- --> --> &amp; &#60;",
    "</summary></details><img src=x onerror=alert(1)>",
    "`code` **bold** _em_ ~~gone~~ [^1] \\| \\",
    "nul\0 \x1b[31m\r\t\v \ud800 \u202egpj.exe\u2028 \u200b \ufeff \x85",
    "a" * 5_000,
    "|" * 5_000,
    "@" * 5_000,
    "😀" * 5_000,
]


def parsed(text):
    return MarkdownIt("commonmark").enable("table").parse(text)


def shapes(text):
    """What a reader makes of the text: every block with the kinds of what stands in it."""
    return [
        (token.type, {child.type for child in token.children or ()} - {"html_inline"})
        for token in parsed(text)
    ]


def visible(text):
    """The text a reader sees, without the parts that only mark it up."""
    return html.unescape(re.sub(r"<[^>]*>", "", text))
