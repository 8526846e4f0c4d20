"""What counts as a command, and what a command means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.intake.command import (
    MOST_COMMANDS,
    USAGE,
    Command,
    Help,
    NotOffered,
    Rerun,
    Resolved,
    Run,
    Scope,
    Status,
    Unclear,
    read_commands,
    resolve,
)

CASES = ("03_dropout", "04_int8", "10_shardy_true", "11_optimizer_offload_false", "nnx_only", "both")
VARIANTS = ("linen", "nnx", "both")

# What a comment says, and how its commands read; `|` stands for a line's end.
READ = (
    # the family
    ("/benchmark", "run all"),
    ("/benchmark run", "run all"),
    ("/benchmark run 03_dropout", "run named 03_dropout"),
    ("/benchmark run 03_dropout 04_int8", "run named 03_dropout 04_int8"),
    ("/benchmark run 03_dropout nnx", "run named 03_dropout nnx"),
    ("/benchmark run 03_* nnx", "run named 03_* nnx"),
    ("/benchmark run nnx", "run named nnx"),
    ("/benchmark rerun 03_dropout", "rerun named 03_dropout"),
    ("/benchmark rerun 03_dropout nnx", "rerun named 03_dropout nnx"),
    ("/benchmark rerun", "rerun all"),
    ("/benchmark rerun all", "rerun all"),
    ("/benchmark rerun failed", "rerun failed"),
    ("/benchmark rerun failed nnx", "rerun failed nnx"),
    ("/benchmark rerun all linen", "rerun all linen"),
    ("/benchmark status", "status"),
    ("/benchmark help", "help"),
    ("/benchmark help rerun", "help"),
    # known, and not offered yet
    ("/benchmark cancel", "not offered: cancel"),
    ("/benchmark baseline main", "not offered: baseline"),
    ("/benchmark approve 0123456", "not offered: approve"),
    ('/benchmark ack 03_dropout reason="known"', "not offered: ack"),
    ("/benchmark plan", "not offered: plan"),
    ("/benchmark PLAN", "not offered: plan"),
    # letters and spaces
    ("/Benchmark Run 03_dropout", "run named 03_dropout"),
    ("/benchmark RERUN FAILED", "rerun failed"),
    ("/benchmark   rerun \t 03_dropout  ", "rerun named 03_dropout"),
    ("/benchmark\trun", "run all"),
    ("/benchmark\u00a0rerun\u00a003_dropout", "rerun named 03_dropout"),
    (" /benchmark", "run all"),
    ("  /benchmark", "run all"),
    ("   /benchmark", "run all"),
    ("/benchmark\r\n", "run all"),
    ("/benchmark status\r\n/benchmark help\r\n", "status; help"),
    ("/benchmark status\r/benchmark help", "status; help"),
    # around it
    ("Please:|/benchmark rerun failed|Thank you", "rerun failed"),
    ("/benchmark status||/benchmark help", "status; help"),
    ("/benchmark run 03_dropout|/benchmark run 04_int8 nnx", "run named 03_dropout; run named 04_int8 nnx"),
    ("- a point|/benchmark", "run all"),
    ("# Title|/benchmark", "run all"),
    ("| table |\n/benchmark", "run all"),
    ("/benchmark rerun `03_dropout`", "rerun named 03_dropout"),
    ("/benchmark rerun 03_dropout <!-- once more -->", "rerun named 03_dropout"),
    ("/benchmark <!-- hidden --> status", "status"),
    ("see `code`|/benchmark", "run all"),
    ("a lone ` tick|/benchmark", "run all"),
    ("an escaped \\` tick|/benchmark|and \\` more", "run all"),
    ("``` not a fence ```|/benchmark", "run all"),
    ("> quoted|/benchmark", "run all"),
    ("> quoted||/benchmark", "run all"),
    ("> ```|/benchmark", "run all"),
    ("```|code|```|/benchmark", "run all"),
    ("```py|code|```|/benchmark", "run all"),
    ("~~~|```|~~~|/benchmark", "run all"),
    ("````|```|````|/benchmark", "run all"),
    ("```|code|``````|/benchmark", "run all"),
    ("   ```|code|   ```|/benchmark", "run all"),
    ("- ```|  code|  ```|/benchmark", "run all"),
    ("1. ```sh|   code|   ```|/benchmark", "run all"),
    ("<!-- note -->|/benchmark", "run all"),
    ("<!--|/benchmark help|-->|/benchmark", "run all"),
    ("<pre>|/benchmark help|</pre>|/benchmark", "run all"),
    ("<details>||/benchmark||</details>", "run all"),
    ("    indented||/benchmark", "run all"),
    ("    `||/benchmark||    `", "run all"),
    ("`code over|two lines`|/benchmark", "run all"),
    ("x `` ` `` y|/benchmark", "run all"),
    # not commands
    ("", ""),
    ("hello", ""),
    ("benchmark", ""),
    ("/benchmarks", ""),
    ("/benchmark-run", ""),
    ("/benchmark:run", ""),
    ("//benchmark", ""),
    ("\\/benchmark", ""),
    ("/ benchmark", ""),
    ("please /benchmark", ""),
    ("**/benchmark**", ""),
    ("[/benchmark](x)", ""),
    ("- /benchmark", ""),
    ("1. /benchmark", ""),
    ("# /benchmark", ""),
    ("| /benchmark |", ""),
    ("    /benchmark", ""),
    ("\t/benchmark", ""),
    ("  \t/benchmark", ""),
    ("`/benchmark`", ""),
    ("``/benchmark``", ""),
    ("```|/benchmark|```", ""),
    ("```sh|/benchmark|```", ""),
    ("```|/benchmark", ""),
    ("~~~|/benchmark|~~~", ""),
    ("~~~|/benchmark|```|/benchmark", ""),
    ("````|/benchmark|```|/benchmark|````", ""),
    ("```|/benchmark|    ```|/benchmark", ""),
    ("   ~~~~|/benchmark|   ~~~~", ""),
    ("- ```|  /benchmark|  ```", ""),
    ("1. ~~~|   /benchmark|   ~~~", ""),
    ("> /benchmark", ""),
    (">/benchmark", ""),
    ("   > /benchmark", ""),
    ("> > /benchmark", ""),
    ("<!-- /benchmark -->", ""),
    ("<!--|/benchmark|-->", ""),
    ("<!--||/benchmark||-->", ""),
    ("<!--|/benchmark", ""),
    ("text <!-- a|/benchmark|b --> text", ""),
    ("<!-- x -->/benchmark", ""),
    ("<pre>|/benchmark|</pre>", ""),
    ("<PRE class=x>||/benchmark||</PRE>", ""),
    ("<pre><code>|/benchmark", ""),
    ("<blockquote>|/benchmark|</blockquote>", ""),
    ("a <code>|/benchmark|</code>", ""),
    ("`a|/benchmark|b`", ""),
    ("a ``b|/benchmark ` c|d`` e", ""),
    ("\u2028/benchmark", ""),
    ("a\u2028/benchmark", ""),
    # not understood
    ("/benchmark rrun", "unclear: /benchmark rerun"),
    ("/benchmark rerunn 03_dropout", "unclear: /benchmark rerun 03_dropout"),
    ("/benchmark retry failed", "unclear: /benchmark rerun failed"),
    ("/benchmark staus", "unclear: /benchmark status"),
    ("/benchmark hlep", "unclear: /benchmark help"),
    ("/benchmark status please", "unclear: /benchmark status"),
    ("/benchmark 03_dropout nnx", "unclear: /benchmark run 03_dropout nnx"),
    ("/benchmark rerun 03_dropout failed", "unclear: /benchmark rerun failed"),
    ("/benchmark rerun 03_dropout ALL", "unclear: /benchmark rerun all"),
    ("/benchmark cancl", "unclear: /benchmark help"),
)

# A command, and what it means in the suite above.
RESOLVED = (
    ("run", "all: every case; every variant"),
    ("run nnx", "all: every case; nnx"),
    ("run linen nnx", "all: every case; linen nnx"),
    ("run 03_dropout", "named: 03_dropout; every variant"),
    ("run 04_int8 03_dropout", "named: 03_dropout 04_int8; every variant"),
    ("run 03_dropout 03_dropout", "named: 03_dropout; every variant"),
    ("run 03_dropout nnx", "named: 03_dropout; nnx"),
    ("run nnx 03_dropout", "named: 03_dropout; nnx"),
    ("run 1*", "named: 10_shardy_true 11_optimizer_offload_false; every variant"),
    ("run 0[34]_* linen", "named: 03_dropout 04_int8; linen"),
    ("run ?3_dropout", "named: 03_dropout; every variant"),
    ("run *", "named: every case; every variant"),
    ("run both", "named: both; every variant"),
    ("run 03_dropout both", "named: 03_dropout; both"),
    ("rerun failed", "failed: every case; every variant"),
    ("rerun failed nnx", "failed: every case; nnx"),
    ("rerun all linen", "all: every case; linen"),
    ("run dropout", "/benchmark run 03_dropout"),
    ("run 03_dropuot nnx", "/benchmark run 03_dropout nnx"),
    ("run 03_DROPOUT", "/benchmark run 03_dropout"),
    ("rerun int8", "/benchmark rerun 04_int8"),
    ("rerun 9*", "/benchmark rerun "),
    ("run 03_dropout nxn", "/benchmark run 03_dropout nnx"),
    ("rerun failed lnen", "/benchmark rerun failed linen"),
    ("rerun all 03_dropout", "/benchmark rerun all "),
)


def _shown(command: Command | Unclear) -> str:
    match command:
        case Run():
            return " ".join(["run", command.scope, *command.words])
        case Rerun():
            return " ".join(["rerun", command.scope, *command.words])
        case Status():
            return "status"
        case Help():
            return "help"
        case NotOffered():
            return f"not offered: {command.verb}"
        case Unclear():
            return f"unclear: {command.nearest}"


def _lines(comment: str) -> str:
    return comment if "\n" in comment or comment.startswith("| ") else comment.replace("|", "\n")


@pytest.mark.parametrize(("comment", "expected"), READ)
def test_a_comment_holds_these_commands(comment: str, expected: str) -> None:
    """Each line of the table is one comment and the commands in it."""
    commands = read_commands(_lines(comment))
    assert expected == "; ".join(_shown(command) for command in commands)


def test_the_table_of_comments_is_a_specification() -> None:
    """It has a hundred lines at least, each another."""
    assert len(READ) == len({comment for comment, _ in READ})
    assert len(READ) >= 100


@pytest.mark.parametrize(("words", "expected"), RESOLVED)
def test_a_command_means_these_cases_and_variants(words: str, expected: str) -> None:
    """Each line of the table is a command and what it means, or the nearest spelling that means something."""
    (command,) = read_commands(f"/benchmark {words}")
    assert isinstance(command, Run | Rerun)
    meant = resolve(command, CASES, VARIANTS)
    if isinstance(meant, Unclear):
        assert meant.nearest.startswith(expected)
        (nearest,) = read_commands(meant.nearest)
        assert isinstance(nearest, Run | Rerun)
        return
    cases = "every case" if meant.cases == CASES else " ".join(meant.cases)
    variants = "every variant" if meant.variants == VARIANTS else " ".join(meant.variants)
    assert expected == f"{meant.scope}: {cases}; {variants}"


def test_a_miss_names_the_word_and_the_nearest_case() -> None:
    """The refusal says what was not found and what would be."""
    (command,) = read_commands("/benchmark rerun 03_dropot")
    assert isinstance(command, Rerun)
    assert resolve(command, CASES, VARIANTS) == Unclear(
        text="/benchmark rerun 03_dropot",
        why="03_dropot is no case or variant of this suite; the nearest is 03_dropout.",
        nearest="/benchmark rerun 03_dropout",
    )


def test_a_suite_without_cases_has_no_nearest() -> None:
    """Where there is nothing to name, nothing is named."""
    (command,) = read_commands("/benchmark run 03_dropout")
    assert isinstance(command, Run)
    assert resolve(command, (), ()) == Unclear(
        text="/benchmark run 03_dropout",
        why="03_dropout is no case of this suite.",
        nearest="/benchmark run",
    )


def test_a_suite_without_variants_runs_as_it_is() -> None:
    """No variants stay no variants."""
    (command,) = read_commands("/benchmark run 04_int8")
    assert isinstance(command, Run)
    assert Resolved(scope=Scope.NAMED, cases=("04_int8",), variants=()) == resolve(command, CASES, ())


def test_commands_beyond_the_limit_are_named_once() -> None:
    """Ten commands are read; the rest is one sentence."""
    commands = read_commands("/benchmark status\n" * (MOST_COMMANDS + 5))
    assert MOST_COMMANDS + 1 == len(commands)
    assert isinstance(commands[-1], Unclear)
    assert commands[-1].why.startswith("one comment may hold 10 commands")


@pytest.mark.parametrize("words", ["x " * 200, "x" * 5000])
def test_an_endless_command_is_cut_and_refused(words: str) -> None:
    """What is shown again stays short."""
    (command,) = read_commands(f"/benchmark run {words}")
    assert isinstance(command, Unclear)
    assert len(command.text) < 300


def test_each_usage_line_reads_as_a_command() -> None:
    """Help shows nothing that is refused."""
    for line in USAGE:
        (command,) = read_commands(line.replace("[", "").replace("]", "").replace("|failed|all", ""))
        assert not isinstance(command, Unclear | NotOffered)


def test_not_offered_says_what_is() -> None:
    """The sentence names the command and those that work."""
    (command,) = read_commands("/benchmark cancel")
    assert isinstance(command, NotOffered)
    assert command.why == "cancel is not offered by this installation yet: run, rerun, status and help are."


_PIECES = st.sampled_from(
    [
        "/benchmark",
        " run",
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
        assert command.text.startswith("/benchmark")
        if isinstance(command, Run | Rerun):
            resolve(command, CASES, VARIANTS)


@given(st.text(alphabet="/benchmark run\n `<>-", max_size=200))
def test_a_fence_around_a_comment_hides_all_commands(comment: str) -> None:
    """Nothing inside a fence longer than any in it is a command."""
    assert () == read_commands(f"{'`' * 210}\n{comment}\n{'`' * 210}")


@given(st.lists(st.sampled_from(CASES[:5]), min_size=1), st.lists(st.sampled_from(VARIANTS[:2])))
def test_what_is_named_is_meant(cases: list[str], variants: list[str]) -> None:
    """Cases and variants that are spelt rightly are meant, each once, in the suite's order."""
    (command,) = read_commands(" ".join(["/benchmark run", *cases, *variants]))
    if isinstance(command, Unclear):
        assert len(cases) + len(variants) >= 100
        return
    assert isinstance(command, Run)
    assert resolve(command, CASES, VARIANTS) == Resolved(
        scope=Scope.NAMED,
        cases=tuple(case for case in CASES if case in cases),
        variants=tuple(variant for variant in VARIANTS if variant in variants or not variants),
    )
