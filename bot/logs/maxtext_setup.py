"""Reads what MaxText says before it trains: versions, devices, mesh, names, configuration.

In:  sightings of the literals in `SETUP`.
Out: `Environment`s with what one place states, and the number of steps that the configuration asks for.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import Figure, Quantity, Statement

# System Information: Jax Version: 0.9.2
_VERSION = re.compile(r"System Information: (?P<what>Jax|Jaxlib) Version: (?P<version>\d[\w.+-]{0,60})")
# Jax Backend: PJRT C API TFRT TPU v6 lite Built on Mar 4 2026 11:32:08 (1772652728) cl/878335365
_BACKEND = re.compile(r"System Information: Jax Backend: (?P<what>[^\0]{0,240})")
_DEVICE = re.compile(
    r"TFRT (?P<device>TPU ?v?\d\w{0,2}(?: lite)?|[A-Za-z][\w. ()-]{0,40}?(?=\s*[\r\n]|\s+Built on))"
)
_BUILD = re.compile(r"\bcl/\d{4,12}")
_OTHER_DEVICE = re.compile(r"(?P<device>NVIDIA [\w .-]{1,40}|AMD [\w .-]{1,40}|\A\s*cpu\b)")
# Num_devices: 32, shape (1, 1, 1, 32, 1)
_DEVICES = re.compile(r"Num_devices: (?P<count>\d{1,9})(?:, shape \((?P<shape>[\d, ]{1,200})\))?")
# orbax-checkpoint version: 0.11.34
_ORBAX = re.compile(r"orbax-checkpoint version: (?P<version>\d[\w.+-]{0,60})")
# Connecting to JAX distributed service on mt-04-int8-wddlh-slice-job-0-0.mt-04-int8-wddlh:8482
_SERVICE = re.compile(
    r"Connecting to JAX distributed service on (?P<host>[\w-]{1,120})(?:\.(?P<set>[\w-]{1,80}))?"
)
_POD = re.compile(r"(?P<workload>[a-z][\w-]*?)-(?:slice-job|job|worker|pathways-head)-\d+-\d+\Z")
# [process=4]
_PROCESS = re.compile(r"\[process=(?P<process>\d{1,6})\]")
# gs://bucket/linen_ckpt_xpk_main_20260417_235819/linen_xpk_main_20260417_235819_03_dropout/checkpoints
_RUN_PATH = re.compile(r"(?:gs://|/)\S{0,300}/(?P<run>[\w.-]{1,200})")
_PATH_ENDS = re.compile(r"[\s'\"=(`,]")
_LIBRARY = re.compile(r"/(?:site|dist)-packages$|/python[\d.]*\Z")
# run_name=nnx_test      Config param run_name: nnx_test     "run_name": "nnx_test"
_RUN_NAME = re.compile(r"run_name[\"']?\s?[:=]\s?[\"']?(?P<name>[A-Za-z0-9][\w.-]{1,200})")
# steps=10
_STEPS = re.compile(r"steps=(?P<count>\d{1,9})(?![\w.])")
_NOT_A_NAME_BEFORE = re.compile(r"[\w.-]\Z")
# Config param dtype: bfloat16      quantization=int8
_SETTING = re.compile(
    r"(?P<name>steps|run_name|dtype|quantization)[\"']?(?:=|: )[\"']?(?P<value>[\w.-]{0,200})"
)
MOST_STEPS = 10**9 - 1
"""Steps that a configuration may ask for: no run takes more, and a number cut to fit would be invented."""
_UNSET = frozenset({"", "None", "none", "null"})
_SHORT = {"bfloat16": "bf16", "float32": "f32", "float16": "f16"}


def _system(seen: Sighting) -> Iterator[Statement]:
    if found := _VERSION.match(seen.text):
        version = found["version"].rstrip(".")
        yield Environment(jax=version) if found["what"] == "Jax" else Environment(jaxlib=version)
    elif found := _BACKEND.match(seen.text):
        said = found["what"]
        device, build = _DEVICE.search(said) or _OTHER_DEVICE.search(said), _BUILD.search(said)
        kind = " ".join(device["device"].split()) if device else None
        yield Environment(device_kind=kind, libtpu=build[0] if build else None)


def _devices(seen: Sighting) -> Iterator[Statement]:
    if found := _DEVICES.match(seen.text):
        sizes = re.findall(r"\d{1,9}", found["shape"] or "")
        yield Environment(devices=int(found["count"]), mesh=tuple(map(int, sizes)) or None)


def _orbax(seen: Sighting) -> Iterator[Statement]:
    if found := _ORBAX.match(seen.text):
        yield Environment(orbax=found["version"].rstrip("."))


def _service(seen: Sighting) -> Iterator[Statement]:
    if found := _SERVICE.match(seen.text):
        pod = _POD.match(found["host"])
        name = pod["workload"] if pod else found["set"]
        if name:
            yield Environment(workload=name)


def _process(seen: Sighting) -> Iterator[Statement]:
    if found := _PROCESS.match(seen.text):
        yield Environment(process=int(found["process"]))


def _run_path(seen: Sighting) -> Iterator[Statement]:
    path = _PATH_ENDS.split(seen.front)[-1]
    found = _RUN_PATH.fullmatch(path)
    if found and not _LIBRARY.search(path):
        yield Environment(run_name=found["run"])


def _run_name(seen: Sighting) -> Iterator[Statement]:
    found = _RUN_NAME.match(seen.text)
    if found and found["name"] != "None" and not _NOT_A_NAME_BEFORE.search(seen.front):
        yield Environment(run_name=found["name"])


def _steps(seen: Sighting) -> Iterator[Statement]:
    found = _STEPS.match(seen.text)
    if found and int(found["count"]) > 0 and not _NOT_A_NAME_BEFORE.search(seen.front):
        yield Quantity(figure=Figure.EXPECTED_STEPS, value=float(found["count"]))


def _config(seen: Sighting) -> Iterator[Statement]:
    found = _SETTING.match(seen.text, len("Config param "))
    if found is None:
        return
    match found["name"], found["value"]:
        case "steps", value if value.isdecimal() and 0 < int(value) <= MOST_STEPS:
            yield Quantity(figure=Figure.EXPECTED_STEPS, value=float(value))
        case "run_name", value if value not in _UNSET:
            yield Environment(run_name=value)
        case "dtype", value if value:
            yield Environment(dtype=_SHORT.get(value, value))
        case "quantization", value if value not in _UNSET:
            yield Environment(dtype=f"quantization={value}")
        case _:
            pass


def _quantization(seen: Sighting) -> Iterator[Statement]:
    found = _SETTING.match(seen.text)
    if found and found["value"] not in _UNSET and not _NOT_A_NAME_BEFORE.search(seen.front):
        yield Environment(dtype=f"quantization={found['value']}")


def _activations(_: Sighting) -> Iterator[Statement]:
    yield Environment(dtype="activations=bf16")


def _interval(seen: Sighting) -> Iterator[Statement]:
    # save_decision_policy=FixedIntervalPolicy(interval=10)
    if found := re.match(r"FixedIntervalPolicy\(interval=(\d{1,9})\)", seen.text):
        yield Quantity(figure=Figure.SAVE_INTERVAL, value=float(found[1]))


SETUP = (
    Needle(literal=b"System Information: Jax", read=_system, telling=True),
    Needle(literal=b"Num_devices: ", read=_devices, telling=True),
    Needle(literal=b"orbax-checkpoint version: ", read=_orbax),
    Needle(literal=b"Connecting to JAX distributed service on ", read=_service),
    Needle(literal=b"[process=", read=_process, again=16),
    Needle(literal=b"/checkpoints", read=_run_path, again=12),
    Needle(literal=b"/tensorboard", read=_run_path, again=12),
    Needle(literal=b"run_name", read=_run_name, again=216),
    Needle(literal=b"Config param ", read=_config),
    Needle(literal=b"steps=", read=_steps, again=20),
    Needle(literal=b"quantization=", read=_quantization, again=215),
    Needle(literal=b"Logical: bfloat16", read=_activations, again=17),
    Needle(literal=b"FixedIntervalPolicy(interval=", read=_interval),
)
