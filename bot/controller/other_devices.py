"""Runs that were on other devices than the configuration launches on.

In:  a suite, runs that we did not start for this pull request, what they were measured under.
Out: `OtherDevices`, by which sides do without them, and say so. Pure.

Beside a run on the configured device their times would mean nothing, and in its place they would keep it from
being started. A log that states no device, and a configuration that names none, leave everything as it is.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.config import Suite
from bot.controller.jobs import device_of
from bot.runs.devices import other_devices
from bot.runs.records import RunRecord
from bot.verdict.conditions import devices_in


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDevices:
    """`said` is what the runs' logs say, by run id, where that is not `wanted`."""

    wanted: str = ""
    said: Mapping[str, str] = field(default_factory=dict)

    def without(self, runs: Sequence[RunRecord]) -> Sequence[RunRecord]:
        """The runs that may count."""
        return [run for run in runs if run.id not in self.said]

    def left_out(self, runs: Iterable[RunRecord]) -> str:
        """Which of these runs are not used, and why, as a clause; empty where all are."""
        said = {run.id: self.said[run.id] for run in runs if run.id in self.said}
        if not said:
            return ""
        are = "1 run is not used: it was" if len(said) == 1 else f"{len(said)} runs are not used: they were"
        return f"{are} on {' and '.join(dict.fromkeys(said.values()))}, and this case is run on {self.wanted}"


def states_a_device(suite: Suite) -> bool:
    """Whether the configuration names the device that runs are launched on."""
    return suite.launch is not None and (device := device_of(suite.launch)) is not None and bool(device.place)


def on_other_devices(
    suite: Suite, runs: Iterable[RunRecord], under: Mapping[str, str], *, but: Collection[str]
) -> OtherDevices:
    """Those of these runs whose logs contradict the configured device, all `but` our own; `under` is what
    each was measured under, by id."""
    device = device_of(suite.launch) if suite.launch else None
    if device is None or device.place is None:
        return OtherDevices()
    said = {
        run.id: other_devices(device.place.device_type, device.place.slices, *devices_in(under[run.id]))
        for run in runs
        if run.id in under and run.id not in but
    }
    return OtherDevices(wanted=device.name, said={name: words for name, words in said.items() if words})
