import re

import pytest
import schwifty
from stdnum import luhn

from proctor.scanning import detectors
from proctor.scanning.detectors import FINDERS, Span, personal_data


def found(text, kind):
    return [text[span.start : span.end] for span in FINDERS[kind](text)]


# E-mail addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("jane@example.com", "jane@example.com"),
        ("to Jane.Doe+a_1%x@mail.example.co.uk, please.", "Jane.Doe+a_1%x@mail.example.co.uk"),
        ("<jane@example.com>", "jane@example.com"),
        ("'jane@example.com'", "jane@example.com"),
        ("mailto:JANE@EXAMPLE.COM?x", "JANE@EXAMPLE.COM"),
        ("j\u00fcrgen@b\u00fccher.example", "j\u00fcrgen@b\u00fccher.example"),
        ("a@b.xn--p1ai", "a@b.xn--p1ai"),
        ("x" * 99 + "@a.bc", "x" * 64 + "@a.bc"),
        ("jane@a-b.c--d.example.-", "jane@a-b.c--d.example"),
        ("(jane@example.com_)", "jane@example.com"),
    ],
)
def test_an_address_is_found_as_a_whole(text, address):
    assert found(text, "email") == [address]


@pytest.mark.parametrize(
    "text",
    [
        "jane@example",
        "@example.com",
        "jane @example.com",
        "jane@ example.com",
        "jane@.com",
        "jane@-a.com",
        "jane@example.c",
        "jane@example.com2",
        "lodash@4.17.21",
        "jane@10.0.0.1",
        "jane at example.com",
        "a@b@c",
    ],
)
def test_what_is_no_address_is_not(text):
    assert found(text, "email") == []


# Payment cards


CARDS = [
    "4111111111111111",  # Visa
    "4222222222222",
    "5555555555554444",  # Mastercard
    "2221000000000009",
    "2720992593319364",
    "378282246310005",  # American Express
    "6011111111111117",  # Discover
    "30569309025904",  # Diners
    "3530111333300000",  # JCB
    "6200000000000005",  # UnionPay
    "6304000000000000",  # Maestro
    "2200000000000053",  # Mir
    "4000000000000000006",
]


@pytest.mark.parametrize("number", CARDS)
def test_a_card_number_is_found(number):
    assert luhn.is_valid(number)
    assert found(f"card {number}.", "card") == [number]
    other = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert found(f"card {other}.", "card") == []


@pytest.mark.parametrize(
    "written",
    [
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111\u00a01111\u00a01111\u00a01111",
        "41111111 11111111",
        "411111-1111111111",
        "41 11 11 11 11 11 11 11",
        "3782 822463 10005",
        "4222 222 222 222",
        "4000 0000 0000 0000 006",
    ],
)
@pytest.mark.parametrize(
    "around", ["{}", "({}),", "No. {}!", "12 {} 03 2025", "0000-{}", "x 1 {} 2", "{}. {}"]
)
def test_a_card_number_may_be_written_in_groups(written, around):
    text = around.format(written, written)
    assert found(text, "card") == [written] * text.count(written)


@pytest.mark.parametrize(
    "text",
    [
        "9111111111111116",  # nobody's numbers begin like this
        "1000000000000008",
        "411111111111",  # 12 digits
        "40000000000000000004",  # 20
        "4111  1111 1111 1111",
        "4111.1111.1111.1111",
        "4111_1111_1111_1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "x4111111111111111",
        "4111111111111111x",
        "x4111 1111 1111 1111",
        "4111 1111 1111 1111x",
        "0.4111111111111111",
        "4111111111111111.5",
        "a41111111111111110000000000000000",
    ],
)
def test_other_digits_are_no_card(text):
    assert found(text, "card") == []


def test_every_known_prefix_is_one_and_no_other():
    issuers = [
        *("4", "51", "55", "2221", "2229", "2230", "2299", "2300", "2699", "2700", "2719", "2720"),
        *("34", "37", "6011", "644", "649", "65", "300", "305", "3095", "36", "38", "39"),
        *("3528", "3529", "3530", "3589", "62", "2200", "2204", "60", "81", "82", "508"),
        *("5018", "5020", "5038", "56", "57", "58", "6304", "6759", "6761", "6763"),
    ]
    others = [
        *("0", "1", "2205", "2220", "2721", "7", "9", "33", "31", "306", "3527", "3590", "640"),
        *("643", "66", "6301", "6758", "6764", "69", "80", "83", "501", "503", "59"),
    ]
    for prefix in [*issuers, *others]:
        number = prefix + "0" * (15 - len(prefix))
        number += luhn.calc_check_digit(number)
        assert found(number, "card") == ([number] if prefix in issuers else []), prefix


# IBANs


IBANS = [
    "AT611904300234573201", "BE68539007547034", "BG80BNBG96611020345678", "CH9300762011623852957",
    "CY17002001280000001200527600", "CZ6508000000192000145399", "DE89370400440532013000",
    "DK5000400440116243", "EE382200221020145685", "ES9121000418450200051332", "FI2112345600000785",
    "FR1420041010050500013M02606", "GB29NWBK60161331926819", "GR1601101250000000012300695",
    "HR1210010051863000160", "HU42117730161111101800000000", "IE29AIBK93115212345678",
    "IT60X0542811101000000123456", "LT121000011101001000", "LU280019400644750000",
    "LV80BANK0000435195001", "MT84MALT011000012345MTLCAST001S", "NL91ABNA0417164300",
    "NO9386011117947", "PL61109010140000071219812874", "PT50000201231234567890154",
    "RO49AAAA1B31007593840000", "SE4550000000058398257466", "SI56263300012039086",
    "SK3112000000198742637541",
]  # fmt: skip


def test_there_is_an_example_of_every_country():
    assert sorted(one[:2] for one in IBANS) == sorted(detectors._LENGTHS)
    for example in IBANS:
        assert schwifty.IBAN(example).length == detectors._LENGTHS[example[:2]] == len(example)


@pytest.mark.parametrize("number", IBANS)
def test_an_iban_is_found_in_every_spelling(number):
    groups = " ".join(re.findall(".{1,4}", number))
    for written in (number, number.lower(), groups, groups.replace(" ", "\u00a0")):
        for text in (written, f"to {written}, please", f"({written})", f"IBAN: {written} is it"):
            assert found(text, "iban") == [written]
    other = number[:2] + f"{(int(number[2:4]) + 1) % 97:02}" + number[4:]
    assert found(other, "iban") == []


@pytest.mark.parametrize(
    "text",
    [
        "DE8937040044053201300",
        "DE893704004405320130000",
        "xDE89370400440532013000",
        "DE89370400440532013000x",
        "DE89  3704 0044 0532 0130 00",
        "DE89-3704-0044-0532-0130-00",
        "DE 89370400440532013000",
        "XK051212012345678906",
        "SA0380000000608010167519",
        "DE89370400440532013O00",
        "\u0130T60X0542811101000000123456",
    ],
)
def test_another_number_is_no_iban(text):
    assert found(text, "iban") == []


# All of it


def test_all_kinds_are_told_from_left_to_right():
    text = (
        "IBAN DE89370400440532013000 of jane@example.com, card 4111 1111 1111 1111, bob@a.example"
    )
    spans = personal_data(text)
    assert [(text[span.start : span.end], span.kind) for span in spans] == [
        ("DE89370400440532013000", "iban"),
        ("jane@example.com", "email"),
        ("4111 1111 1111 1111", "card"),
        ("bob@a.example", "email"),
    ]


def test_what_is_found_can_be_replaced():
    text = "from jane@example.com to 4111111111111111"
    for span in reversed(personal_data(text)):
        text = f"{text[: span.start]}[{span.kind}]{text[span.end :]}"
    assert text == "from [email] to [card]"


def test_no_two_spans_overlap():
    # The account of this IBAN is a card number as well.
    iban = "NO9386011117947"
    text = f"4111111111111111@a.example {iban}@b.example"
    spans = personal_data(text)
    assert spans == [Span(0, 26, "email"), Span(27, 52, "email")]


@pytest.mark.parametrize("separator", [" ", ", ", "\n"])
def test_many_in_a_row_are_all_found(separator):
    assert found(separator.join(CARDS), "card") == CARDS
    assert found(separator.join(IBANS), "iban") == IBANS
