import pytest

from proctor.importers.placeholders import NamesClash, Placeholders

IBAN = "DE89 3704 0044 0532 0130 00"
CARD = "4111 1111 1111 1111"
TOKEN = "ghp_" + "a1B2" * 9


def replaced(*texts):
    placeholders = Placeholders()
    return [placeholders.in_text(text, "id") for text in texts]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("mail jane@example.com, please", "mail [EMAIL-1], please"),
        (f"card {CARD}.", "card [CARD-1]."),
        (f"to {IBAN}\n", "to [IBAN-1]\n"),
        (f"token={TOKEN}", "token=[SECRET-1]"),
        (f"{CARD} {IBAN} jane@example.com", "[CARD-1] [IBAN-1] [EMAIL-1]"),
        (f"https://jane:{TOKEN}@example.com/x", "https://jane:[SECRET-1]@example.com/x"),
        ("jane@example.com@example.org", "[EMAIL-1]@example.org"),
        ("4111111111111111@example.com", "[EMAIL-1]"),
        (f"{TOKEN} {TOKEN}\u00e9 {TOKEN}", "[SECRET-1] [SECRET-1]\u00e9 [SECRET-1]"),
    ],
)
def test_what_is_found_becomes_a_placeholder_and_nothing_else_changes(text, clean):
    assert replaced(text) == [clean]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[EMAIL-1] wrote",
        "order 4111 1111 1111 1112",
        "DE88 3704 0044 0532 0130 00",
        "jane at example.com",
        "a\u0000\ud800b",
    ],
)
def test_what_is_none_of_these_stays_as_it_is(text):
    assert replaced(text) == [text]


def test_an_account_number_that_holds_the_number_of_a_card_is_one_account_number():
    # 16 of the digits after `NL93ABCD` cannot be there, so the card stands in the 18 of a German
    # one: 4111 1111 1111 1111 and two more.
    digits = "411111111111111100"
    check = 98 - int(f"{digits}131400") % 97
    assert replaced(f"pay DE{check:02}{digits} now") == ["pay [IBAN-1] now"]
    grouped = f"DE{check:02} {digits[:16]} {digits[16:]}"
    assert replaced(f"pay {grouped} now") == ["pay [IBAN-1] now"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("jane@example.com", "Jane@Example.COM"),
        (CARD, CARD.replace(" ", "-")),
        (IBAN, IBAN.replace(" ", "").lower()),
        (TOKEN, TOKEN),
    ],
)
def test_the_same_value_has_the_same_placeholder_however_it_is_spelled(first, second):
    one, other = replaced(first, f"again {second}")
    assert other == f"again {one}"


def test_other_values_have_other_numbers_in_the_order_in_which_they_come():
    texts = ["b@example.com a@example.com", f"{CARD} a@example.com", "c@example.com"]
    assert replaced(*texts) == ["[EMAIL-1] [EMAIL-2]", "[CARD-1] [EMAIL-2]", "[EMAIL-3]"]


def test_a_placeholder_that_was_there_before_is_not_given_out_again():
    placeholders = Placeholders()
    placeholders.keep_free("[EMAIL-7] and [EMAIL-3] and [CARD-x]")
    clean = placeholders.in_text(f"jane@example.com {CARD}", "id")
    assert clean == "[EMAIL-8] [CARD-1]"


def test_values_are_looked_through_at_any_depth_and_so_are_names():
    placeholders = Placeholders()
    value = {
        "jane@example.com": [{"deep": "to jane@example.com"}, 7, None, True, 1.5],
        "n": 4111111111111111,
        "order": 4111111111111112,
    }
    assert placeholders.in_value(value, "inputs.x") == {
        "[EMAIL-1]": [{"deep": "to [EMAIL-1]"}, 7, None, True, 1.5],
        "n": "[CARD-1]",
        "order": 4111111111111112,
    }
    assert placeholders.counts == {("inputs.x", "email"): 2, ("inputs.x", "card"): 1}


def test_names_that_would_become_one_are_refused():
    with pytest.raises(NamesClash):
        Placeholders().in_value({"a@example.com": 1, "A@example.com": 2}, "inputs.x")


@pytest.mark.parametrize(
    "secret",
    [
        "sk-test-000111222333",
        "sk-ant-api03-" + "Ab1_-" * 8,
        "sk_live_" + "a1" * 12,
        "rk_test_" + "a1" * 12,
        "whsec_" + "a1" * 16,
        TOKEN,
        "github_pat_" + "a1_B" * 10,
        "glpat-" + "a1-_" * 5,
        "AKIA" + "A1B2" * 4,
        "AIza" + "a1-_B" * 7,
        "ya29." + "a1-_B" * 7,
        "xoxb-1234567890-abcdefghij",
        "xapp-1-A0000000-0000",
        "hf_" + "aB" * 17,
        "gsk_" + "aB1" * 17,
        "r8_" + "aB1" * 12,
        "npm_" + "aB1" * 12,
        "pypi-" + "AgEIcHlwaS5vcmc-_" * 2,
        "xai-" + "aB1" * 20,
        "dckr_pat_" + "aB1-_" * 5,
        "lsv2_pt_" + "a1" * 16 + "_" + "b2" * 5,
        "dop_v1_" + "a1" * 32,
        "shpat_" + "a1" * 16,
        "SG." + "a1-_B" * 5 + "." + "a1-_B" * 8,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: x\n\nMIIE+/a=\n-----END RSA PRIVATE KEY-----",
    ],
    ids=lambda secret: secret[:12],
)
def test_a_secret_is_known_by_its_beginning(secret):
    assert replaced(f'key: "{secret}", and more') == ['key: "[SECRET-1]", and more']


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-and-other-packages-for-python",
        "disk-000111222333444555666",
        "sk-short1",
        "the hf_ prefix, AKIA and AIza",
        "AKIA" + "A" * 30,
        "eyJ is how a token begins, eyJabc.def.ghi is none",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    ],
)
def test_what_only_looks_like_the_beginning_of_a_secret_is_none(text):
    assert replaced(text) == [text]


@pytest.mark.parametrize(
    "piece", ["-eyJ", "sk-", "SG." + "a" * 60, "-----BEGIN PRIVATE KEY-----", "a@b.cc", "4111 "]
)
def test_a_hostile_text_of_a_mebibyte_is_looked_through(piece):
    text = piece * (1024 * 1024 // len(piece))
    clean = Placeholders().in_text(text, "id")
    assert Placeholders().in_text(clean, "id") == clean
