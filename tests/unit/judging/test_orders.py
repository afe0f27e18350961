import pytest

from proctor.canonical import digest
from proctor.judging.fences import rubric_faults
from proctor.judging.orders import reverse_fences, reverse_rubric
from proctor.records import Message
from rubric_prompts import SYSTEM, rubric

EDGE = "{{input.boundary}}"


def fence(tag, text):
    return f"<{tag}-{EDGE}>{text}</{tag}-{EDGE}>"


A, B, C = fence("a", "1"), fence("b", "2"), fence("c", "3")


def user(content):
    return Message(role="user", content=content)


def reversed_text(text):
    (message,) = reverse_fences([user(text)])
    return message.content


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        (f"{A}{B}", f"{B}{A}"),
        (f"{A}\n{B}\n\n{C}\n", f"{C}\n{B}\n\n{A}\n"),
        (
            f"Judge.\n\nAsked:\n{A}\n\nSaid:\n{B}\nWell?",
            f"Judge.\n\nSaid:\n{B}\n\nAsked:\n{A}\nWell?",
        ),
        (f"Asked:\n\n{A}\n\nSaid:\n\n{B}", f"Said:\n\n{B}\n\nAsked:\n\n{A}"),
        (f"Asked: {A} Said: {B}.", f"Said: {B} Asked: {A}."),
        (
            f"{A}\nThis is what was said\nby somebody:\n{B}",
            f"This is what was said\nby somebody:\n{B}\n{A}",
        ),
        (f"{A}\n\nOf its own.\n\n{B}", f"{B}\n\nOf its own.\n\n{A}"),
        (f"Asked:\n{A}\n \t\nSaid:\n{B}", f"Said:\n{B}\n \t\nAsked:\n{A}"),
    ],
)
def test_fences_change_places_with_the_words_that_introduce_them(text, turned):
    assert reversed_text(text) == turned
    assert reversed_text(turned) == text


def test_a_boundary_may_be_spelled_short():
    assert reversed_text("<a-{{ boundary }}>1</a-{{boundary}}>" + B) == (
        f"{B}<a-{{{{ boundary }}}}>1</a-{{{{boundary}}}}>"
    )


@pytest.mark.parametrize(
    "text",
    [
        A,
        "no fence",
        f"{A}<b-\\{{{{input.boundary}}}}>2</b-\\{{{{input.boundary}}}}>",
        f"{A}</b-{EDGE}>",
    ],
)
def test_less_than_two_fences_have_no_order(text):
    assert reverse_fences([user(text)]) is None


def test_sections_change_places_across_user_messages_and_other_messages_stay():
    messages = [
        Message(role="system", content=f"{A} {B}"),
        user(f"Asked:\n{A}"),
        Message(role="assistant", content=C),
        user(f"Said:\n{B}\nWell?"),
    ]
    turned = reverse_fences(messages)
    assert [one.role for one in turned] == [one.role for one in messages]
    assert [one.content for one in turned] == [
        f"{A} {B}",
        f"Said:\n{B}",
        C,
        f"Asked:\n{A}\nWell?",
    ]


def test_a_reversed_rubric_is_another_prompt_with_the_hash_of_its_messages():
    before = rubric()
    after = reverse_rubric(before)
    content = after.prompt.messages[1].content
    assert content.index("The reply:") < content.index("<reply-") < content.index("The request:")
    assert content.endswith("\nWhat is your verdict?")
    assert after.prompt.bundle_sha256 != before.prompt.bundle_sha256
    text = {"type": "string"}
    assert after.prompt.bundle_sha256 == digest(
        {
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": content},
            ],
            "tools": [],
            "inputs": dict.fromkeys(("response", "case_inputs", "boundary"), text),
            "output": {"verdict": {"type": "enum", "options": ["pass", "fail"]}, "reason": text},
        }
    )
    assert (after.kind, after.used) == (before.kind, before.used)
    assert rubric_faults(after, allow_unfenced=None) == []
    assert reverse_rubric(after) == before


def test_what_a_judge_is_sent_is_in_reverse_order():
    values = {"case_inputs": "asked", "response": "said", "boundary": "b" * 16}
    _, message = reverse_rubric(rubric()).messages(values)
    assert message.content.index("said") < message.content.index("asked")


def test_a_rubric_with_one_fence_has_no_order():
    only = "<reply-{{input.boundary}}>{{input.response}}</reply-{{input.boundary}}>"
    assert reverse_rubric(rubric(messages=[("system", SYSTEM), ("user", only)])) is None
