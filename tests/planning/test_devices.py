"""Whether a log contradicts the device that a configuration names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.planning.devices import chip_count, contradicting_devices, is_quiet_device


@pytest.mark.parametrize(
    ("device_type", "kind", "devices"),
    [
        ("v6e-32", "TPU v6 lite", 32),
        ("v6e-32", "TPU v6e", 32),
        ("v5litepod-16", "TPU v5 lite", 16),
        ("v5e-16", "TPU v5e", 16),
        ("v5p-8", "TPU v5p", 4),
        ("v5p-8", "TPU v5", 8),
        ("v4-16", "TPU v4", 8),
        ("v3-8", "TPU v3", 8),
        ("h100-mega-80gb-8", "NVIDIA H100 80GB HBM3", 8),
        ("a100-40gb-8", "NVIDIA A100-SXM4-40GB", 8),
        ("v6e-32", None, None),
        ("v6e-32", "TPU v6 lite", None),
        ("v6e-32", None, 32),
        ("v6e-32", "an accelerator", 32),
    ],
)
def test_the_same_devices_under_other_names_are_no_others(
    device_type: str, kind: str | None, devices: int | None
) -> None:
    """JAX and XPK name them differently, and a log need not say everything."""
    assert contradicting_devices(device_type, 1, kind, devices) is None


@pytest.mark.parametrize(
    ("device_type", "kind", "devices", "said"),
    [
        ("v6e-32", "TPU v5 lite", 32, "TPU v5 lite × 32"),
        ("v6e-32", "TPU v6 lite", 8, "TPU v6 lite × 8"),
        ("v6e-32", "TPU v6 lite", 64, "TPU v6 lite × 64"),
        ("v6e-32", "cpu", None, "cpu"),
        ("v6e-32", "NVIDIA H100 80GB HBM3", 32, "NVIDIA H100 80GB HBM3 × 32"),
        ("v6e-32", None, 16, "a device that is not named × 16"),
        ("v5p-8", "TPU v5 lite", 4, "TPU v5 lite × 4"),
        ("v5litepod-8", "TPU v5p", 8, "TPU v5p × 8"),
        ("v5p-8", "TPU v5p", 16, "TPU v5p × 16"),
        ("h100-80gb-8", "NVIDIA H200", 8, "NVIDIA H200 × 8"),
        ("h100-80gb-8", "TPU v6 lite", 8, "TPU v6 lite × 8"),
        ("v6e-32", "TPU v5 lite" + "!" * 90, 32, "TPU v5 lite" + "!" * 29 + " × 32"),
    ],
)
def test_other_devices_are_named(device_type: str, kind: str | None, devices: int | None, said: str) -> None:
    """By their kind, by their number, or by both; a name is no longer than a line."""
    assert said == contradicting_devices(device_type, 1, kind, devices)


@given(kind=st.none() | st.text(max_size=60), devices=st.none() | st.integers(0, 10_000))
def test_a_device_type_that_we_do_not_know_contradicts_nothing(kind: str | None, devices: int | None) -> None:
    """What we do not know we do not guess."""
    for device_type in ("tpu7x-16", "n2-standard-32-256", ""):
        assert contradicting_devices(device_type, 1, kind, devices) is None


@given(kind=st.text(max_size=60), devices=st.integers(0, 10_000))
def test_any_text_of_a_log_is_judged(kind: str, devices: int) -> None:
    """Nothing that a log says fails."""
    for device_type in ("v6e-32", "v5p-8", "gb200-4", "l4-1"):
        said = contradicting_devices(device_type, 1, kind, devices)
        assert said is None or str(devices) in said


def test_several_slices_are_counted_together() -> None:
    """A run of one slice is not one of two."""
    two = [contradicting_devices("v6e-32", 2, "TPU v6 lite", devices) for devices in (64, 32, None)]
    assert two == [None, "TPU v6 lite × 32", None]


@pytest.mark.parametrize(
    ("device_type", "chips"),
    [
        ("v6e-32", 32),
        ("v5litepod-16", 16),
        ("v5e-8", 8),
        ("v5p-128", 64),
        ("v4-8", 4),
        ("v3-8", 4),
        ("h100-80gb-8", 8),
        ("h100-mega-80gb-8", 8),
        ("l4-1", 1),
        ("n2-standard-32-256", None),
        ("n2-standard-32-2", None),
        ("tpu7x-16", None),
        ("v6-8", None),
        ("", None),
    ],
)
def test_chips_are_read_from_the_device_type(device_type: str, chips: int | None) -> None:
    """Some families count chips, the others cores; what we do not know we do not guess."""
    assert chips == chip_count(device_type)


def test_chips_of_slices_are_added() -> None:
    """What is not known of one is not known of two."""
    assert [chip_count(one, 2) for one in ("v6e-32", "v5p-8", "tpu7x-16")] == [64, 8, None]


def test_tpus_are_quiet_and_others_are_not_known_to_be() -> None:
    """Runs of a quiet device are compared across days."""
    assert [True, True, False, False] == [
        is_quiet_device(one) for one in ("v6e-32", "v4-8", "h100-80gb-8", "cpu")
    ]


@given(st.text(max_size=30))
def test_any_device_type_has_chips_or_none(device_type: str) -> None:
    """Nothing that people write fails, and no device has no chips."""
    chips = chip_count(device_type)
    assert chips is None or chips >= 1
