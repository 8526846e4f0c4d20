"""What counts as a command, and what a command means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.grammar import (
    MAX_COMMANDS,
    AcknowledgeCommand,
    ApproveCommand,
    BaselineCommand,
    CancelCommand,
    Command,
    HelpCommand,
    ParseError,
    PlanCommand,
    RerunCommand,
    RotateLinksCommand,
    RunCommand,
    Scope,
    StatusCommand,
    read_commands,
    split_words,
)
from bot.commands.scope import ResolvedScope, resolve_scope
from tests.commands.grammar_tables import READ, RESOLVED
from tests.commands.usage import USAGE

CASES = ("03_dropout", "04_int8", "10_shardy_true", "11_optimizer_offload_false", "nnx_only", "both")

VARIANTS = ("linen", "nnx", "both")

Cased = RunCommand | RerunCommand | CancelCommand | AcknowledgeCommand


def _shown(command: Command | ParseError) -> str:
    return " ".join(_words(command)).rstrip()


def _words(command: Command | ParseError) -> tuple[str, ...]:
    verb = type(command).__name__.removesuffix("Command").lower()
    match command:
        case RunCommand() | RerunCommand() | CancelCommand():
            return verb, command.scope, *command.words
        case AcknowledgeCommand():
            return "ack", *command.words, "because", command.reason
        case ApproveCommand(sha=said) | BaselineCommand(ref=said):
            return verb, said or ""
        case StatusCommand() | PlanCommand() | HelpCommand():
            return (verb,)
        case RotateLinksCommand():
            return ("rotate-links",)
        case ParseError():
            return "unclear:", command.nearest


def _lines(comment: str) -> str:
    return comment if "\n" in comment or comment.startswith("| ") else comment.replace("|", "\n")


@pytest.mark.parametrize(("comment", "expected"), READ, ids=range(len(READ)))
def test_a_comment_holds_these_commands(comment: str, expected: str) -> None:
    """Each line of the table is one comment and the commands in it."""
    commands = read_commands(_lines(comment))
    assert expected == "; ".join(_shown(command) for command in commands)


def test_the_table_of_comments_is_a_specification() -> None:
    """It has three hundred lines at least, each another."""
    assert len(READ) == len({comment for comment, _ in READ})
    assert len(READ) >= 300


@pytest.mark.parametrize("comment", [comment for comment, _ in READ], ids=range(len(READ)))
def test_the_nearest_spelling_is_a_command(comment: str) -> None:
    """What is proposed can be copied and is understood, but for words that stand for others."""
    for one in read_commands(_lines(comment)):
        if isinstance(one, ParseError) and "SHA" not in one.nearest:
            (nearest,) = read_commands(one.nearest)
            assert not isinstance(nearest, ParseError)


@pytest.mark.parametrize(("words", "expected"), RESOLVED)
def test_a_command_means_these_cases_and_variants(words: str, expected: str) -> None:
    """Each line of the table is a command and what it means, or the nearest spelling that means something."""
    (command,) = read_commands(f"/benchmark {words}")
    assert isinstance(command, Cased)
    meant = resolve_scope(command, CASES, VARIANTS)
    if isinstance(meant, ParseError):
        assert meant.nearest.startswith(expected)
        (nearest,) = read_commands(meant.nearest)
        assert isinstance(nearest, Cased)
        return
    cases = "every case" if meant.cases == CASES else " ".join(meant.cases)
    variants = "every variant" if meant.variants == VARIANTS else " ".join(meant.variants)
    assert expected == f"{meant.scope}: {cases}; {variants}"


def test_a_miss_names_the_word_and_the_nearest_case() -> None:
    """The refusal says what was not found and what would be."""
    (command,) = read_commands("/benchmark rerun 03_dropot")
    assert isinstance(command, RerunCommand)
    assert resolve_scope(command, CASES, VARIANTS) == ParseError(
        text="/benchmark rerun 03_dropot",
        why="03_dropot is no case or variant of this suite; the nearest is 03_dropout.",
        nearest="/benchmark rerun 03_dropout",
    )


@pytest.mark.parametrize(
    ("words", "nearest"),
    [("03_dropout,04_int8 nnx", "03_dropout 04_int8 nnx"), ("03_*, 04_int8", "03_* 04_int8")],
)
def test_names_with_commas_between_them_are_spelt_as_they_should_be(words: str, nearest: str) -> None:
    """All of them: half of what somebody meant would be worse than nothing."""
    (command,) = read_commands(f"/benchmark run {words}")
    assert isinstance(command, RunCommand)
    assert resolve_scope(command, CASES, VARIANTS) == ParseError(
        text=f"/benchmark run {words}",
        why="names stand apart, without commas.",
        nearest=f"/benchmark run {nearest}",
    )


def test_a_suite_without_cases_has_no_nearest() -> None:
    """Where there is nothing to name, nothing is named."""
    (command,) = read_commands("/benchmark run 03_dropout")
    assert isinstance(command, RunCommand)
    assert resolve_scope(command, (), ()) == ParseError(
        text="/benchmark run 03_dropout",
        why="03_dropout is no case of this suite.",
        nearest="/benchmark run",
    )


def test_a_suite_without_variants_runs_as_it_is() -> None:
    """No variants stay no variants."""
    (command,) = read_commands("/benchmark run 04_int8")
    assert isinstance(command, RunCommand)
    assert ResolvedScope(scope=Scope.NAMED, cases=("04_int8",), variants=()) == resolve_scope(
        command, CASES, ()
    )


def test_commands_beyond_the_limit_are_named_once() -> None:
    """Ten commands are read; the rest is one sentence."""
    commands = read_commands("/benchmark status\n" * (MAX_COMMANDS + 5))
    assert MAX_COMMANDS + 1 == len(commands)
    assert isinstance(commands[-1], ParseError)
    assert commands[-1].why.startswith("one comment may hold 10 commands")


@pytest.mark.parametrize("words", ["x " * 200, "x" * 5000])
def test_an_endless_command_is_cut_and_refused(words: str) -> None:
    """What is shown again stays short."""
    (command,) = read_commands(f"/benchmark run {words}")
    assert isinstance(command, ParseError)
    assert len(command.text) < 300


def test_each_usage_line_reads_as_a_command() -> None:
    """Help shows nothing that is refused."""
    for line in USAGE:
        filled = line.replace("SHA", "0123456").replace("|failed|all", "").translate({91: None, 93: None})
        (command,) = read_commands(filled)
        assert not isinstance(command, ParseError)


def test_a_word_that_is_no_command_is_named() -> None:
    """The sentence names the word and all that would be understood."""
    (command,) = read_commands("/benchmark xyzzy")
    assert isinstance(command, ParseError)
    assert command.why == (
        "xyzzy is not a command: run, rerun, cancel, status, plan, baseline, approve, ack, "
        "rotate-links and help are."
    )


_PIECES = st.sampled_from(
    [
        "/benchmark",
        "@bob ",
        "／",
        " run",
        " ack x",
        " reason=",
        '"',
        "“",
        "'",
        "03_*",
        "`",
        "```",
        "~~~",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "> ",
        "- ",
        "\n",
        "\r",
        " ",
        "\\",
        "[",
        "é",
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES).map("".join)))
def test_any_comment_is_read(comment: str) -> None:
    """Nothing that people write raises, neither when read nor when resolved."""
    for command in read_commands(comment):
        assert isinstance(command, ParseError) or command.text.lower().startswith("/benchmark")
        if isinstance(command, Cased):
            resolve_scope(command, CASES, VARIANTS)


@given(st.text(alphabet="/benchmark run\n `<>-", max_size=200))
def test_a_fence_around_a_comment_hides_all_commands(comment: str) -> None:
    """Nothing inside a fence longer than any in it is a command."""
    assert () == read_commands(f"{'`' * 210}\n{comment}\n{'`' * 210}")


@given(st.lists(st.sampled_from(CASES[:5]), min_size=1), st.lists(st.sampled_from(VARIANTS[:2])))
def test_what_is_named_is_meant(cases: list[str], variants: list[str]) -> None:
    """Cases and variants that are spelt rightly are meant, each once, in the suite's order."""
    (command,) = read_commands(" ".join(["/benchmark run", *cases, *variants]))
    if isinstance(command, ParseError):
        assert len(cases) + len(variants) >= 100
        return
    assert isinstance(command, RunCommand)
    assert resolve_scope(command, CASES, VARIANTS) == ResolvedScope(
        scope=Scope.NAMED,
        cases=tuple(case for case in CASES if case in cases),
        variants=tuple(variant for variant in VARIANTS if variant in variants or not variants),
    )


@given(st.text(st.characters(exclude_categories=["Cs", "Cf"]), max_size=60).map(str.strip).filter(bool))
def test_a_reason_comes_back_as_it_was_quoted(reason: str) -> None:
    """Any text stands inside quotes, with a backslash before each quote and backslash."""
    escaped = reason.replace("\\", "\\\\").replace('"', '\\"')
    assert (f"reason={reason}",) == split_words(f'reason="{escaped}"').words


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("\u3000/benchmark run", "an odd space or an invisible sign stands before it"),
        ("\ufeff/benchmark run", "an odd space or an invisible sign stands before it"),
        ("\u200b\u00a0/benchmark run", "an odd space or an invisible sign stands before it"),
        ("/benchmrk run", "its first word is another"),
        ("@maxview /benchmark run", "somebody is addressed before it"),
        ("said\n     /benchmark run", "it is indented"),
    ],
)
def test_what_is_wrong_with_the_beginning_of_a_line_is_told(line: str, why: str) -> None:
    """Where the two spellings look the same, the reader learns why they are not."""
    (said,) = read_commands(line)
    assert isinstance(said, ParseError)
    assert f"a command begins its line with /benchmark; here {why}." == said.why
