import hashlib
import json
import re
from base64 import b64encode
from textwrap import dedent

import pytest
from markdown_reading import HOSTILE, OURS, shapes
from msgspec.structs import replace

from hostile_strings import PAYLOADS, full_of
from pairwise_findings import (
    EVERYTHING,
    LOST,
    MIXED,
    A,
    answers,
    found,
    pair,
    vote,
)
from proctor.records import RenderOptions
from proctor.registry import pairwise_renderers

FEW = "nothing can be told from fewer than 6 decided cases"


def rendered(made, *, format_="text", compared=None, **options):
    render = pairwise_renderers.get(format_)
    held = answers(*made.pairs) if compared is None else compared
    return b"".join(render(made, held, RenderOptions(**options))).decode("utf-8")


def golden(text):
    return dedent(text).lstrip("\n")


class TestText:
    def test_everything_there_can_be(self):
        assert rendered(EVERYTHING) == golden("""
            UNMEASURED  4 measured pairs: A 1, B 1, ties 2 (1 called a tie, 1 by inconsistency)
              in no rate: 1 errored, 1 unmeasured

            quiz
              A  brief@local/tiny, report 111111111111
              B  long@local/tiny, report 333333333333
              judged by local/judge, with the rubric prefer
              win rate of A: 1/2 decided pairs, 0.5 [0.09453, 0.9055]
              sign test over cases: A ahead in 1, B in 1, neither in 2; p 1; {few}
              1 of 4 verdicts changed with the order of the answers, 0.25
              cost: $0.5 paid now, 1 call at a cost that is not known
              not compared: 1 case only in the report of A: old
              not compared: 2 cases only in the report of B: new, newer
              not compared: 1 case with other inputs or another expected value: other
              not compared: 3 answers without a counterpart in the other report
              lost: errored: P6402: no recording: this case is not in x.jsonl
              junk: unmeasured: P6601: no valid verdict
                judge: no verdict
                  A first: A: It is.
                  B first: no verdict: It is.
              one: A wins
                judge: A
                  A first: A: It is.
                  B first: A: It is.
              two: B wins
                judge: B
                  A first: B: It is.
                  B first: B: It is.
              three: tie by inconsistency
                judge: inconsistent
                  A first: A: It is.
                  B first: B: It is.
              four: tie
                judge: tie
                  A first: tie: It is.
                  B first: tie: It is.
            warning: P6215 `local/judge` judges its own answers
        """).replace("{few}", FEW)

    def test_a_panel_is_told_apart_and_repeats_are_named(self):
        votes = (A, vote("b", "second", "first", model="local/other"))
        text = rendered(found(pair("x", "tie", *votes, reason="no_majority", repeat=2)))
        assert "  x, repeat 2: tie without a majority\n    judge 1 (local/judge): A\n" in text
        assert "    judge 2 (local/other): B\n" in text

    def test_twenty_pairs_are_shown_and_all_on_request(self):
        made = found(*(pair(f"case-{number}", "a", A) for number in range(25)), verdict="a")
        text = rendered(made)
        assert text.startswith("A WINS  25 measured pairs: A 25, B 0, ties 0\n")
        assert "case-19: " in text
        assert "case-20: " not in text
        assert "  ... and 5 more (--all shows them)\n" in text
        assert "case-24: " in rendered(made, all_cases=True)

    @pytest.mark.parametrize(
        ("verdict", "word"),
        [
            ("a", "A WINS"),
            ("b", "B WINS"),
            ("undecided", "UNDECIDED"),
            ("interrupted", "INTERRUPTED"),
        ],
    )
    def test_the_verdict_stands_first_and_is_coloured_where_that_is_wanted(self, verdict, word):
        made = found(pair("one", "a", A), verdict=verdict, planned=3)
        assert rendered(made).startswith(f"{word}  ")
        assert "in no rate: 2 not run" in rendered(made)
        assert re.match(rf"\x1b\[\d+m{word}\x1b\[0m  ", rendered(made, colour=True))

    def test_nothing_measured_says_so(self):
        text = rendered(found(LOST, verdict="unmeasured"))
        assert "win rate of A: 0/0 decided pairs, n/a [0, 1]" in text
        assert "0 of 0 verdicts changed" in text

    @pytest.mark.parametrize("text", [*HOSTILE, "::error::forged", "##[error]forged"])
    def test_data_ends_no_line_and_starts_no_command(self, text):
        said = rendered(full_of(EVERYTHING, text))
        assert len(said.splitlines()) < 60
        assert not re.search(r"^\s*::|##\[", said, re.MULTILINE)
        assert "\x1b" not in said
        assert not set(said) & set("\u202e\u200b\u2028\r\v\x00")


class TestJson:
    def test_its_keys_stand_in_the_order_of_the_format(self):
        made = json.loads(rendered(EVERYTHING, format_="json"))
        assert list(made)[:5] == ["schema", "tool", "project", "suite", "verdict"]
        assert made["schema"] == "proctor.pairwise.v1"
        assert list(made)[-1] == "pairs"

    def test_answers_and_what_people_see_change_nothing(self):
        bytes_ = rendered(EVERYTHING, format_="json")
        assert rendered(EVERYTHING, format_="json", compared=[]) == bytes_
        assert rendered(EVERYTHING, format_="json", all_cases=True, colour=True) == bytes_
        assert "the answer of A" not in bytes_


class TestMarkdown:
    def test_everything_there_can_be(self):
        text = rendered(EVERYTHING, format_="markdown")
        assert text.startswith("### Proctor pairwise: <code>tests</code>, <code>quiz</code>\n")
        assert "> [!WARNING]\n> **UNMEASURED**: 4 measured pairs: A 1, B 1, ties 2" in text
        assert "> in no rate: 1 errored, 1 unmeasured." in text
        assert "| <code>one</code> | A wins | <code>It&#32;is&#46;</code> |" in text
        assert "- not compared: 2 cases only in the report of B: <code>new</code>" in text
        assert "- warning: <code>P6215</code> <code>" in text

    def test_its_first_line_is_not_that_of_a_run(self):
        assert not rendered(EVERYTHING, format_="markdown").startswith("### Proctor: ")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_data_is_data(self, text):
        made = full_of(EVERYTHING, text)
        said = rendered(made, format_="markdown")
        wanted = shapes(rendered(full_of(EVERYTHING, "harmless"), format_="markdown"))
        # Long data takes the room of what stands behind it.
        found_ = shapes(said)
        assert (
            found_ == wanted
            if len(text) < 1_000
            else set(map(str, found_)) <= set(map(str, wanted))
        )
        assert not re.search(r"[<>]", OURS.sub("", said).replace("> ", ""))

    def test_it_keeps_to_its_room(self):
        made = found(*(pair("x" * 900 + str(number), "a", A) for number in range(2_000)))
        text = rendered(made, format_="markdown")
        assert len(text) <= 60_000
        assert re.search(r"Left out: \d+ of 2000 pairs\.", text)


class TestHtml:
    def page(self, made=EVERYTHING, **options):
        return rendered(made, format_="html", **options)

    def data(self, page):
        (block,) = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>', page, re.S
        )
        return json.loads(block)

    def test_a_page_is_one_file_that_asks_for_nothing(self):
        page = self.page()
        assert page.startswith("<!doctype html>\n")
        assert page.endswith("</html>\n")
        assert re.findall(r'\s(?:src|href|action|srcset|data)="([^"]*)"', page) == ["#pairs"]
        assert "://" not in page.partition('id="data">')[0]
        assert "[[" not in page.partition('id="data">')[0]

    def test_the_policy_allows_exactly_what_the_page_holds(self):
        page = self.page()
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
        (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
        digests = [
            f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in (script, style)
        ]
        assert policy.split("; ")[:3] == [
            "default-src 'none'",
            f"script-src {digests[0]}",
            f"style-src {digests[1]}",
        ]

    def test_it_holds_the_comparison_and_the_answers(self):
        held = self.data(self.page())
        assert held["pairwise"] == json.loads(rendered(EVERYTHING, format_="json"))
        assert [one["case"] for one in held["answers"]] == [one.case for one in MIXED]
        assert held["answers"][0]["a"] == "the answer of A"
        assert held["facts"]["verdict"] == "UNMEASURED"
        assert held["facts"]["pairs"][0] == "A wins"

    @pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
    def test_data_cannot_end_its_block(self, payload):
        made = full_of(EVERYTHING, payload)
        compared = full_of(answers(*EVERYTHING.pairs), payload)
        page = self.page(made, compared=compared)
        assert page.count("</script>") == 2
        held = self.data(page)
        assert held["answers"][0]["a"] == payload.encode("utf-8", "surrogatepass").decode(
            "utf-8", "surrogatepass"
        )
        assert held["pairwise"]["suite"] == payload

    def test_a_pair_without_a_text_is_none(self):
        compared = [replace(one, b=None) for one in answers(*MIXED)]
        assert self.data(self.page(compared=compared))["answers"][4]["b"] is None
