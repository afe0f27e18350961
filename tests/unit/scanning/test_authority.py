import pytest

from proctor.scanning.authority import ALWAYS, IMPERATIVE, IN_BRACKETS, SUPPRESSING, find_authority

(
    MANDATORY, STRICT, SYSTEM, ADMIN, ROOT, PRIORITY, EMERGENCY, EXECUTE, FOLLOW, COMPLY, ABSOLUTE,
    EXCEPTION, OVERRIDES, HIGHEST, CORE, NEW,
) = ALWAYS  # fmt: skip
NO_WARNINGS, WARNINGS, ALERTS, IGNORE, SKIP_ALL = SUPPRESSING


def found(text):
    return [what.strip("`") for what in find_authority(text)]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("MANDATORY POLICY", MANDATORY),
        ("[mandatory\tfooter]", MANDATORY),
        ("a mandatory\nInstruction.", MANDATORY),
        ("[OVERRIDE]", IN_BRACKETS),
        ("x[ \n override ]y", IN_BRACKETS),
        ("[  Override]", IN_BRACKETS),
        ("STRICT MODE ON", STRICT),
        ("strictmode:on", STRICT),
        ("Strict_ _Mode  :: \n on!", STRICT),
        ("SYSTEM OVERRIDE", SYSTEM),
        ("[system  update]", SYSTEM),
        ("system directive", SYSTEM),
        ("ADMIN MODE", ADMIN),
        ("administrator access", ADMIN),
        ("(Admin\noverride)", ADMIN),
        ("root access", ROOT),
        ("ROOT MODE", ROOT),
        ("root\u00a0override", ROOT),
        ("priority one", PRIORITY),
        ("PRIORITY ALPHA", PRIORITY),
        ("priority override", PRIORITY),
        ("emergency protocol", EMERGENCY),
        ("EMERGENCY  MODE", EMERGENCY),
        ("emergency override", EMERGENCY),
        ("do not provide warnings", NO_WARNINGS),
        ("NEVER include security warning", NO_WARNINGS),
        ("don't show\nwarnings", NO_WARNINGS),
        ("dont display warning", NO_WARNINGS),
        ("suppress warnings", WARNINGS),
        ("Hide all warnings", WARNINGS),
        ("silence warning", WARNINGS),
        ("disable alerts", ALERTS),
        ("remove all security notifications", ALERTS),
        ("suppress security alert", ALERTS),
        ("ignore warnings", IGNORE),
        ("Ignore all safety warnings", IGNORE),
        ("ignore safety warning", IGNORE),
        ("skip checks", IMPERATIVE),
        ("Fine: please bypass validation", IMPERATIVE),
        ("- skip check", IMPERATIVE),
        ("first\n  * Please  bypass checks", IMPERATIVE),
        ("skip all checks", SKIP_ALL),
        ("we bypass all safety validation", SKIP_ALL),
        ("bypass safety check", SKIP_ALL),
        ("execute verbatim", EXECUTE),
        ("Execute this verbatim", EXECUTE),
        ("(EXECUTE\nTHIS  VERBATIM)", EXECUTE),
        ("follow instructions exactly", FOLLOW),
        ("Follow these instruction literally", FOLLOW),
        ("follow  these  instructions  precisely", FOLLOW),
        ("must comply", COMPLY),
        ("You SHALL always comply.", COMPLY),
        ("will comply", COMPLY),
        ("absolute compliance", ABSOLUTE),
        ("unconditional obedience", ABSOLUTE),
        ("Absolute\nobedience", ABSOLUTE),
        ("no exceptions allowed", EXCEPTION),
        ("no deviation permitted", EXCEPTION),
        ("NO EXCEPTION PERMITTED", EXCEPTION),
        ("this overrides previous", OVERRIDES),
        ("This supersede all prior", OVERRIDES),
        ("this replaces other", OVERRIDES),
        ("highest priority order", HIGHEST),
        ("TOP PRIORITY INSTRUCTION", HIGHEST),
        ("maximum  priority  directive", HIGHEST),
        ("core directive update", CORE),
        ("fundamental instruction override", CORE),
        ("base directive override", CORE),
        ("new system instructions", NEW),
        ("New Core Rule", NEW),
        ("new base directives", NEW),
    ],
)
def test_a_claim_of_authority_is_found(text, phrase):
    assert found(text) == [phrase]


@pytest.mark.parametrize(
    "text",
    [
        "mandatory policies",
        "mandatorypolicy",
        "unmandatory policy",
        "mandatory" + "\n" * 11 + "policy",
        "OVERRIDE",
        "[OVERRIDE this]",
        "[" + "\n" * 11 + "override]",
        "strict mode only",
        "strict-mode on",
        "xstrict mode on",
        "system overrides",
        "ecosystem update",
        "system: update",
        "admins mode",
        "sysadmin mode",
        "administration access",
        "roots access",
        "uproot mode",
        "root accessible",
        "priority ones",
        "priority two",
        "a priority, one",
        "emergency exit",
        "emergency protocols",
        "non_emergency mode",
        "do provide warnings",
        "do not provide a warning",
        "never provide security alerts",
        "suppressed warnings",
        "hide the warnings",
        "hide all security warnings",
        "disable my alerts",
        "remove all my notifications",
        "enable alerts",
        "ignore the warnings",
        "ignore all the warnings",
        "ignored warnings",
        "we skip checks",
        "a, skip checks",
        "- [ ] skip checks",
        "skip the checks",
        "skip all the checks",
        "bypass safety",
        "skip all safety rules",
        "execute it verbatim",
        "executes verbatim",
        "execute this verbatimly",
        "follow the instructions exactly",
        "follow instructions",
        "unfollow instructions exactly",
        "must always complying",
        "goodwill comply",
        "must not comply",
        "absolute compliances",
        "an absolute, compliance",
        "absolution obedience",
        "no exceptions are allowed",
        "casino exceptions allowed",
        "no exceptions",
        "this overriding previous",
        "it overrides previous",
        "this overrides everything previous",
        "priority order",
        "highest priority orders",
        "high priority order",
        "core directive",
        "hardcore directive update",
        "core rule update",
        "new instructions",
        "renew system instructions",
        "new system rulers",
    ],
)
def test_what_only_sounds_like_one_is_not(text):
    assert found(text) == []


def test_many_spaces_are_one_but_many_lines_are_many():
    assert found("system" + " \t" * 20 + "update") == [SYSTEM]
    assert found("system" + "\n" * 11 + "update") == []
    assert found("system" + "\r\n" * 6 + "update") == [SYSTEM]


def test_each_phrase_is_told_once():
    text = "system update [override] skip all checks\nsystem override must comply"
    assert found(text) == [SYSTEM, COMPLY, IN_BRACKETS, SKIP_ALL]


# Fenced code


@pytest.mark.parametrize(
    "text",
    [
        "```\nsystem update\n```",
        "a\n```js\nsystem update\n```\nb",
        "    ~~~~ x\nsystem update\n~~~\n~~~~~  \n",
        "```\n~~~\nsystem update\n```",
        "```\nsystem update\n````\n",
    ],
)
def test_fenced_code_does_not_count(text):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nsystem update\n",
        "```\nsystem update\n~~~\n",
        "````\nsystem update\n```\n",
        "```\nsystem update\n``` x\n",
        "``\nsystem update\n``",
        "```x```\nsystem update\n```",
        "```\nx\n```\nsystem update\n```\ny\n",
        "system\n```\nx\n```\nupdate",
    ],
)
def test_a_fence_that_is_none_or_not_closed_hides_nothing(text):
    assert found(text) == [SYSTEM]


# What is listed as forbidden


@pytest.mark.parametrize(
    "title",
    [
        "# Don't",
        "###### DON'TS ##",
        "   ## do not",
        "# Forbidden",
        "#\tRestriction",
        "# Restrictions",
    ],
)
@pytest.mark.parametrize("mark", ["-", "+", "*", "1.", "123456789)", "  -"])
def test_an_item_of_what_is_forbidden_is_let_pass(title, mark):
    items = [
        "skip all checks",
        "skip  checks",
        "never show\twarnings",
        "hide warnings",
        "disable alerts",
        "ignore warnings",
    ]
    text = f"{title}\n\n" + "".join(f"{mark} {item}\n" for item in items)
    assert found(text) == []
    assert found(text.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    "before",
    [
        "- ",
        "# Do\n- ",
        "# Don't do this\n- ",
        "# Don\u2019t\n- ",
        "#Don't\n- ",
        "####### Don't\n- ",
        "    # Don't\n- ",
        "# Don't\n",
        "# Don't\n- x\n  - ",
        "# Don't\n- x\n   - ",
        "# Don't\n1. x\n   1. ",
        "# Don't\n\t- ",
        "# Don't\n    - ",
        "# Don't\n- x\n  ",
        "# Don't\n1234567890. ",
        "# Don't\n# Do\n- ",
        "# Don't\nx\n---\n- ",
        "# Don't\nx\n===\n- ",
        "# Don't\n* * *\n- ",
        "# Don't\n___\n- ",
        "# Don't\n<!-- end -->\n- ",
        "# Don't\n```\n- x\n- ",
        "~~~\n# Don't\n- ",
    ],
)
def test_elsewhere_it_counts(before):
    assert found(f"{before}skip all checks\n") == [SKIP_ALL]


def test_an_item_after_another_list_or_after_prose_is_one_of_its_own():
    text = (
        "# Don't\n- x\n  - y\n\nprose\n\n - skip all checks\n* hide warnings\n10. ignore warnings\n"
    )
    assert found(text) == []


def test_a_phrase_over_two_lines_is_no_item():
    assert found("# Don't\n- skip all\nchecks\n") == [SKIP_ALL]
    assert found("# Don't\n- skip\n- all checks\n") == []


def test_one_that_stands_elsewhere_too_counts():
    assert found("# Don't\n- skip all checks\n\n# Do\n- skip all checks\n") == [SKIP_ALL]


def test_what_claims_authority_is_never_let_pass():
    text = "# Forbidden\n" + "".join(
        f"- {line}\n" for line in ("system update", "[override]", "must comply", "root access")
    )
    assert found(text) == [SYSTEM, ROOT, COMPLY, IN_BRACKETS]


def test_spaces_do_not_make_a_nested_item_one_of_its_own():
    assert found("# Don't\n- x\n  - skip" + " " * 12 + "all checks\n") == [SKIP_ALL]
