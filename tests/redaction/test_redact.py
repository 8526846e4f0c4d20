"""What never stands in a public comment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.redaction.redact import MAX_REDACTED_LENGTH, RULES, deobfuscated, redact
from tests.redaction.sample_secrets import NUMBER, ORDINARY, canaries

SECRETS = {
    "gs://lance-maxtext/linen_ckpt/run/x.log": "[bucket]",
    "https://storage.googleapis.com/lance-maxtext/x": "[bucket]",
    "562977990677-compute@developer.gserviceaccount.com": "[service account]",
    "runner@my-project.iam.gserviceaccount.com": "[service account]",
    "ada@example.com": "[e-mail address]",
    "ghs_16C7e42F292c6912E7710c838347Ae178B4a": "[token]",
    "github_pat_11AAAAAAA0abcdefghijkl_mnopqrstuv": "[token]",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv": "[API key]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123": "[token]",
    "hf_abcdefghijklmnopqrstuvwxyz": "[token]",
    "Bearer abcdefghijklmnop.qrstuv": "Bearer [token]",
    "HF_TOKEN=abcdef123456": "HF_TOKEN=[secret]",
    "password: hunter22": "password: [secret]",
    "https://me:secret@example.com/x": "https://[credentials]@example.com/x",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----": "[private key]",
    "mt-11-optimizer-offload-lf0zn-slice-job-0-0.mt-11-optimizer-offload-lf0zn:8482": "[host]",
    "gke-v6e-32-bench-pool-1a2b": "[host]",
    "vm1.us-east5-b.c.my-project.internal:80": "[internal host]",
    "kueue.kueue-system.svc.cluster.local": "[internal host]",
    "10.12.0.7:8471": "[internal address]",
    "gcr.io/my-project/maxtext:abc": "gcr.io/[image]:abc",
    "/home/ada/maxtext": "/home/[user]/maxtext",
}

HARMLESS = (
    "NotImplementedError: Pure NNX support has not been implemented yet.",
    "ValueError: unexpected token: expected ')' at train_utils.py:217",
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 63.80G of 30.75G hbm.",
    "jax._src.internal threading.local libtpu cl/878335365 jax@0.9.2 TPU v6 lite",
    "file src/maxtext/layers/attentions.py, line 12, in __call__",
)

MARKS = sorted({mark for rule in RULES for mark in rule.marks})

ODD = (" ", "\n", "\t", "\u2003", "=", ":", "@", ".", "-", "_", "//", "[token]", "\ud83d", "é", "ſecret",
       "toKen", "ı", "a" * 90, "10.2.3.4", "A1" * 12, "abcdefgh1234")  # fmt: skip
"""What stands between shapes, and what breaks or completes them."""


def _ruled(text: str) -> str:
    """One rule after the other over the whole text: what the search for marks must not change."""
    for rule in RULES:
        text = rule.pattern.sub(rule.shown, text)
    return text


@pytest.mark.parametrize(("secret", "shown"), SECRETS.items())
def test_a_secret_is_named_by_its_kind_only(secret: str, shown: str) -> None:
    """It is gone wherever it stands in a sentence."""
    assert redact(secret) == shown
    assert redact(f"failed ({secret}) today") == f"failed ({shown}) today"


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_not_redacted(text: str) -> None:
    """Errors, versions, files and figures stay."""
    assert redact(text) == text


@given(st.lists(st.sampled_from([*SECRETS, *HARMLESS, " ", "=", "@", "."]), max_size=6).map(" ".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """The result is stable, so it does not matter who redacts first."""
    assert redact(redact(text)) == redact(text)


@given(
    st.lists(
        st.sampled_from([*SECRETS, *HARMLESS, *MARKS, *(mark.upper() for mark in MARKS), *ODD]), max_size=14
    ).map("".join),
    st.sampled_from(["", "x" * 1_001]),
)
@settings(max_examples=400, deadline=None)
def test_the_search_for_marks_changes_nothing(text: str, behind: str) -> None:
    """What comes out is what the rules make of the whole text, remembered or not."""
    assert _ruled(deobfuscated(text + behind, _ruled)) == redact(text + behind)


def test_no_mark_hides_another_one() -> None:
    """Marks of rules over several words do not overlap: behind one the search would miss the next."""
    marks = [mark for rule in RULES if rule.tail for mark in rule.marks]
    hidden = [
        (one, other)
        for one in marks
        for other in marks
        for n in range(1 if one == other else 0, len(one))
        if one[n:].startswith(other[: len(one) - n])
    ]
    assert [] == hidden


def test_a_rule_for_single_words_matches_no_white_space() -> None:
    """Only a rule with a tail may match over the end of a word; every rule has a mark."""
    for rule in RULES:
        assert rule.marks
        for secret in SECRETS:
            found = rule.pattern.search(f"failed ({secret}) today")
            assert rule.tail or not found or len(found[0].split()) == 1


def test_only_the_beginning_of_long_text_is_kept() -> None:
    """What is longer is cut, as nothing longer is shown."""
    assert MAX_REDACTED_LENGTH == len(redact("a b" * MAX_REDACTED_LENGTH))


def test_long_text_without_a_secret_takes_no_time() -> None:
    """Every rule is linear: nothing to match costs nothing to speak of."""
    for text in (
        "a" * 20_000,
        "a-" * 10_000,
        "a." * 10_000,
        "=" * 20_000,
        "a" * 19_999 + "%",
        "%41" * 6_000,
        "-----BEGIN PRIVATE KEY-----" * 700,
    ):
        redact(text)


def test_none_of_two_thousand_canaries_is_seen() -> None:
    """Every family, in every surrounding, percent-encoded and broken over lines."""
    every = list(canaries())
    leaks = [(one.family, one.text) for one in every if any(part in redact(one.text) for part in one.parts)]
    assert (NUMBER, []) == (len(every), leaks[:5])


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_and_our_own_advice_stay_as_they_are(line: str) -> None:
    """What a reader needs is not mangled, alone or beside other lines."""
    assert line == redact(line)
    for other in (ORDINARY[0], ORDINARY[14], ORDINARY[17]):
        assert f"{line}\n{other}" == redact(f"{line}\n{other}")


def test_redacting_a_canary_twice_changes_nothing_more() -> None:
    """Whoever redacts first."""
    for one in canaries():
        once = redact(one.text)
        assert once == redact(once)
