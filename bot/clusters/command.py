"""From a case's command to the program that is started, and the number of steps it asks for.

A placeholder's value never becomes more than a part of a word. A shell is used only where the command is
written for one.
"""

import re
import shlex

from bot.clusters.interface import Job

_PLACEHOLDER = re.compile(r"\{(?P<name>run_name|sha|case|variant)\}")

# What `shlex.quote` leaves alone: such a value means the same with and without quotes, in a shell or not.
_PLAIN_VALUE = re.compile(r"[\w@%+=:,./-]*", re.ASCII)

# Anything that a shell could read as more than a word. Characters inside quotes count too: an unneeded
# shell does no harm, a missing one does.
_SHELL_SYNTAX = re.compile(r"[;&|<>()$`*?\[\]~#!\n]|\A\s*[A-Za-z_]\w*=")


def argument_list(job: Job, *, interpreter: str = "/bin/sh") -> list[str]:
    """The words to execute; `interpreter` is the shell for a command that needs one.

    Raises ValueError, with a sentence for people, where the command is empty, a quote is not closed, or a
    value holds characters that a shell would read.
    """
    values = {"run_name": job.run_name, "sha": job.sha, "case": job.case, "variant": job.variant}
    for name, value in values.items():
        if not _PLAIN_VALUE.fullmatch(value):
            raise ValueError(f"the {name} {value!r} holds characters that cannot stand in a command")
    command = _PLACEHOLDER.sub(lambda found: values[found["name"]], job.command)
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise ValueError(f"the command cannot be read: {problem}") from problem
    if not words:
        raise ValueError("the command is empty")
    return [interpreter, "-c", command] if _SHELL_SYNTAX.search(command) else words


# python3 -m maxtext.trainers.pre_train.train … steps=30 run_name=… , or --steps 30
_STEPS_ARGUMENT = re.compile(r"(?<![\w.-])(?:--)?steps[= ](?P<steps>[1-9]\d{0,8})(?![\w.])")


def expected_steps(command: str) -> int | None:
    """The number of steps that a command asks for; None where it names none, or several."""
    found = {int(one["steps"]) for one in _STEPS_ARGUMENT.finditer(command)}
    return found.pop() if len(found) == 1 else None
