"""How xpk is called, and what is refused before it is called."""

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from bot.errors import Told
from bot.runs.clusters.xpk.order import check_name, check_place, create, delete, inside, labels
from tests.runs.clusters.xpk.stage import JOB, NAME, PLACE, SHA

IMAGE = "gcr.io/my-project/maxtext@sha256:" + "0" * 64


def made(**changes: Any) -> list[str]:
    """The command line of a job that differs in this."""
    return create(replace(JOB, **changes), PLACE, image=IMAGE, app="1", project_number="12")


def test_a_workload_is_made_by_one_plain_command_line() -> None:
    """Every option that keeps xpk from asking, downloading, restarting or overwriting."""
    *words, command = made()
    assert words == [
        "workload",
        "create",
        "--cluster=v6e-bench",
        "--project=my-project",
        "--zone=us-east5-b",
        "--skip-validation",
        "--no-dependency-auto-download",
        "--project-number=12",
        f"--workload={NAME}",
        "--device-type=v6e-32",
        f"--docker-image={IMAGE}",
        "--priority=low",
        "--num-slices=1",
        "--max-restarts=0",
        "--ttl-seconds-after-finished=259200",
        "--env=MAXVIEW_APP=1",
    ]
    meta = json.dumps({"sha": SHA, "case": "04_int8", "variant": "linen", "image": IMAGE})
    assert command == (
        f"--command=echo 'BENCH_META {meta}'; exec env PYTHONUNBUFFERED=1 "
        "timeout --verbose --kill-after=30 2700 python3 -m train steps=30 run_name=linen_main_04"
    )


def test_nothing_is_ever_overwritten_and_only_one_workload_deleted() -> None:
    """`--quiet` overwrites what is there; a deletion without a name deletes everything."""
    assert "--quiet" not in made()
    words = delete(NAME, PLACE)
    assert words[:2] == ["workload", "delete"]
    assert words[-1] == f"--workload={NAME}"
    for name in ("", "-", "A", "a b", "a;b", "--force", "a" * 41, "a-", "ä", "a\n"):
        with pytest.raises(Told, match="cannot be a workload's name"):
            delete(name, PLACE)
        with pytest.raises(Told, match="cannot be a workload's name"):
            made(name=name)
    check_name("a" * 40)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("project", "p;reboot"),
        ("project", "$(id)"),
        ("zone", "us-east5-b --quiet"),
        ("zone", "../x"),
        ("cluster", "c&&id"),
        ("cluster", "c\nid"),
        ("cluster", "--quiet"),
        ("device_type", "v6e 32"),
        ("priority", "highest"),
        ("priority", ""),
    ],
)
def test_a_place_that_a_shell_could_read_is_refused(part: str, value: str) -> None:
    """xpk pastes these into commands that a shell runs."""
    with pytest.raises(Told, match=rf"launch\.xpk\.{part.replace('_', '-')} is"):
        check_place(replace(PLACE, **{part: value}))  # type: ignore[arg-type]  # single fields of it


@pytest.mark.parametrize(
    "image", ["", "a b", "a\nb", 'i"', "i'", "-i", "i:{sha}", "i@sha256:0", "i#x", "$i", "i:a\n  x: y"]
)
def test_an_image_that_yaml_could_read_is_refused(image: str) -> None:
    """xpk pastes it into the manifest without quotes."""
    with pytest.raises(Told, match="no image's name"):
        create(JOB, PLACE, image=image, app="1", project_number="12")


@pytest.mark.parametrize("end", ["\n", "\r", "\x00", "\x85", "\u2028", "\u2029", "\x1b", "\ufeff"])
def test_a_command_of_several_lines_is_refused(end: str) -> None:
    """YAML knows more line ends than a shell does, and xpk reports success for a broken manifest."""
    with pytest.raises(Told, match="04_int8 cannot be started"):
        made(command=f"train a{end}b")


@pytest.mark.parametrize("field", ["run_name", "case", "variant", "sha"])
def test_names_that_a_shell_could_read_are_refused(field: str) -> None:
    """Cases and branches are other people's words."""
    for value in ("a b", "a;id", "$(id)", "`id`", "a'b", 'a"b', "a\nb", "a|b", "ä"):
        with pytest.raises(Told, match="cannot stand in a command"):
            made(**{field: value})


def test_a_command_for_a_shell_is_one_word_of_ours() -> None:
    """Its comments and parentheses cannot reach the frame that xpk draws around it."""
    said = inside(replace(JOB, command="cd /deps; train # ) & exit 0"), image=IMAGE)
    words = shlex.split(said)
    assert words[-3:] == ["bash", "-c", "cd /deps; train # ) & exit 0"]


def test_variables_are_words_of_their_own() -> None:
    """A value may hold anything; a name may not."""
    said = inside(replace(JOB, environment=(("A", "b c; $d"),)), image=IMAGE)
    assert "A=b c; $d" in shlex.split(said)
    with pytest.raises(Told, match="no variable's name"):
        inside(replace(JOB, environment=(("A=B -c", "x"),)), image=IMAGE)


def test_labels_say_whose_a_workload_is_and_what_it_measures() -> None:
    """In the characters that Kubernetes takes, cut to its length."""
    job = replace(JOB, case="x" * 70, variant="-a b/ä.", labels=(("maxview/pull", "7"), ("maxview/app", "9")))
    assert labels(job, "1") == {
        "maxview/app": "1",
        "maxview/case": "x" * 63,
        "maxview/variant": "a-b",
        "maxview/sha": SHA,
        "maxview/pull": "7",
    }
