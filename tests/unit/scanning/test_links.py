import pytest

from proctor.scanning.links import find_links

PLAIN = "an `http://` address"
SHORT = "a shortened address"
SECRET = "an address with a secret in its query"  # noqa: S105 - a message
PUNYCODE = "a punycode host"
MIXED = "a host in mixed scripts"
OTHER = "a host in another script"
BRAND = " that looks like a well-known name"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://a", [PLAIN]),
        ("see (HTTP://example.com/x)", [PLAIN]),
        ("xhttp://a http://b", [PLAIN]),
        ("https://a.b/?u=http://c", [PLAIN]),
        ("bit.ly/a", [SHORT]),
        ("https://TinyURL.com/abc", [SHORT]),
        ("at&t.co/x", [SHORT]),
        ("my-cutt.ly/1", [SHORT]),
        ("https://a.b/?token=1", [SECRET]),
        ("https://a.b/c?x=1&monkey=1", [SECRET]),
        ("HTTPS://a.b?API_KEY=&refresh_token=z", [SECRET]),
        ("https://a.b/?next=/login?session=8", [SECRET]),
        ("https://xn--nxasmq6b.example/", [PUNYCODE]),
        ("https://www.XN--abc-1x.com", [PUNYCODE]),
        ("https://me@xn--a-b.org", [PUNYCODE]),
        ("https://xn--pple-43d.com/login", [PUNYCODE + BRAND]),
        ("https://\u0433\u0443\u0433\u043b.com", [MIXED]),
        ("https://\u03b4\u0431\u0432.x1", [MIXED]),
        ("https://g\u043e\u043egle.com", [MIXED + BRAND]),
        ("https://p\u0430yp\u0430l.com:443/x", [MIXED + BRAND]),
        ("https://\u0430\u0440\u0440\u04cf\u0435.\u0440\u0444", [OTHER + BRAND]),
        ("https://\u0430\u0440\u0440\u04cf\u0435", [OTHER + BRAND]),
        ("https://www.\u0430\u0501\u043e\u0432\u0435.\u0440\u0444", [MIXED + BRAND]),
        ("http://bit.ly/a?key=1", [PLAIN, SHORT, SECRET]),
        ("https://xn--a-b.c https://xn--pple-43d.com", [PUNYCODE + BRAND]),
        ("https://\u03a7.\u0130x.com/?a=1&auth=2", [SECRET, MIXED]),
    ],
)
def test_a_suspicious_address_is_found(text, found):
    assert list(find_links(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/a?b=c#d",
        "http:// a",
        "http://",
        'http://"',
        "xhttp://a",
        "1http://a",
        "http:/a",
        "bit.ly",
        "bit.ly/ a",
        "rabbit.ly/a",
        "bit.ly.com/a",
        "got.co/a",
        "https://a.b/?token=",
        "https://a.b/?key=&x=1",
        "https://a.b/token=1",
        "https://a.b/?tokens=1",
        "?token=1",
        "https://a.b/? token=1",
        "https://axn--b.com",
        "https://a.b/xn--c",
        "https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/path",
        "https://\u03b5\u03bb\u03bb\u03ac\u03b4\u03b1.\u03b3\u03c1",
        "https://m\u00fcnchen.de",
        "https://example.com/\u0434\u0430?q=\u03b1",
        "https://example.com?q=\u0434\u0430",
        "ftp://xn--a.com",
    ],
)
def test_another_address_is_not(text):
    assert list(find_links(text)) == []


@pytest.mark.parametrize(
    ("host", "is_close"),
    [
        ("g\u043e\u043egle.com", True),  # the name itself, once it is read as Latin
        ("g\u043e\u043egla.com", True),  # one other character
        ("g\u043exxxe.com", False),  # three other ones
        ("g\u043eog.com", True),  # two less, the rest the same
        ("g\u043e\u043egle-x.com", True),  # two more
        ("g\u043e\u043egle-me.com", False),  # three more
        ("z\u043e\u043em.com", True),
        ("z\u043e\u043ems.com", True),
        ("\u0430w.com", True),  # part of `aws`
        ("\u0430x.com", False),  # shorter than four, and no part of a name
        ("www.micr\u043es\u043eft.co", True),
        ("micr\u043es\u043eft.evil.com", False),  # what comes before the last dot is `evil`
        ("\u039cicrosoft.com", True),  # a capital letter
        ("my\u0455\u04cf\u0430ck.com", True),
    ],
)
def test_a_name_is_close_to_a_well_known_one(host, is_close):
    (found,) = find_links(f"https://{host}/")
    assert found == MIXED + (BRAND if is_close else "")


def test_nothing_is_missed_behind_very_many_hosts():
    many = " ".join(f"https://\u0431{number}.com" for number in range(1_001))
    found = list(
        find_links(
            f"{many} https://xn--a-b.com https://\u0430\u0440\u0440\u04cf\u0435.\u0440\u0444"
        )
    )
    assert found == [MIXED, PUNYCODE, OTHER + BRAND]
