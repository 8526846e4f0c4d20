"""What never stands in a public comment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report.redact import redacted

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


@pytest.mark.parametrize(("secret", "shown"), SECRETS.items())
def test_a_secret_is_named_by_its_kind_only(secret: str, shown: str) -> None:
    """It is gone wherever it stands in a sentence."""
    assert redacted(secret) == shown
    assert redacted(f"failed ({secret}) today") == f"failed ({shown}) today"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_a_reader_needs_is_left_alone(text: str) -> None:
    """Errors, versions, files and figures stay."""
    assert redacted(text) == text


@given(st.lists(st.sampled_from([*SECRETS, *HARMLESS, " ", "=", "@", "."]), max_size=6).map(" ".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """The result is stable, so it does not matter who redacts first."""
    assert redacted(redacted(text)) == redacted(text)


def test_long_text_without_a_secret_takes_no_time() -> None:
    """Every rule is linear: nothing to match costs nothing to speak of."""
    for text in (
        "a" * 20_000,
        "a-" * 10_000,
        "a." * 10_000,
        "=" * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 700,
    ):
        redacted(text)
