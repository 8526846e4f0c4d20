"""The failure classes: signatures, advice, fingerprints."""

import pytest

from bot.logs.failure import FailureClass, Fault, advice, classify, fingerprint, masked

SIGNATURES = {
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack": "vmem_oom",
    "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G": "sparse_core_oom",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.28TiB": "device_oom",
    "MAXTEXT CONFIG ERROR: 'steps' not in 'x'": "config",
    "Barrier result: DEADLINE_EXCEEDED; # of tasks that reached the barrier: 1/8": "hang",
    "Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session e6c8": "bad_hardware",
    "*** A program or fatal error occurred, all pending programs will fail": "hardware_or_compiler",
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use": "tpu_busy",
    "Failed to pull image: ErrImagePull": "image",
    'Error from server: error when creating "/tmp/x": JobSet cannot be handled as a JobSet': "submit",
    "couldn't assign flavors: insufficient unused quota for google.com/tpu": "queue",
    "Preempted to accommodate a workload (UID: 1) due to prioritization": "preempted",
    "something else": "unknown",
}


@pytest.mark.parametrize(("error", "kind"), SIGNATURES.items())
def test_a_message_that_is_known_has_its_class(error: str, kind: str) -> None:
    """The words of XLA, libtpu, JAX, Kubernetes and xpk."""
    assert kind == classify(error)[0]


@pytest.mark.parametrize("kind", list(FailureClass))
def test_every_class_says_what_to_do(kind: FailureClass) -> None:
    """One plain sentence, a fault, and whether to try again."""
    found = advice(kind)
    assert found.next_step.endswith(".")
    assert "!" not in found.next_step
    assert found.fault in Fault


def test_only_the_clusters_fault_and_riddles_are_tried_again() -> None:
    """Running the author's mistake again spends chips on the same answer."""
    blamed = [kind for kind in FailureClass if advice(kind).retry]
    assert all(advice(kind).fault in (Fault.CLUSTER, Fault.UNKNOWN) for kind in blamed)


def test_a_fingerprint_forgets_the_day_the_host_and_the_line() -> None:
    """The same failure elsewhere has the same fingerprint; another one has not."""
    one = "ValueError: 0x7f3 at 10.0.0.7:8482 on mt-a-1b2c3-slice-job-0-3, step 12 of gs://b/x/12, 3.5 GB"
    two = "ValueError: 0xabc at 10.9.0.1:1 on mt-a-9z8y7-slice-job-0-1, step 977 of gs://c/y/9, 31 GB"
    assert masked(one) == masked(two)
    assert fingerprint("code", one, "a.py:f") == fingerprint("code", two, "a.py:f")
    others = {
        fingerprint("code", one, "a.py:g"),
        fingerprint("config", one, "a.py:f"),
        fingerprint("code", one.replace("ValueError", "KeyError"), "a.py:f"),
        fingerprint("code", one.replace("step", "file"), "a.py:f"),
    }
    assert 4 == len(others - {fingerprint("code", one, "a.py:f")})
