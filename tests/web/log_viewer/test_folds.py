"""What repeats is folded, with how many lines and what about; nothing that tells is hidden."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.web.log_viewer.view import MIN_FOLD_LINES, fold_lines
from bot.web.log_viewer.window import LogLine, LogMark, LogMarkKind

CHATTER = (
    "I0421 10:17:11.{0:06} 1366 attentions.py:1088] attentions/q_{0} Logical: bfloat16[{0},2048] ('embed')."
)


def lines(*texts: str) -> list[LogLine]:
    """The lines of a window."""
    return [LogLine(number=n, offset=n * 100, text=text) for n, text in enumerate(texts, 1)]


def test_a_run_of_alike_lines_is_one_fold() -> None:
    """Named after what it is about, with its mask and the count of each."""
    chatter = [CHATTER.format(n) for n in range(20)]
    (fold,) = fold_lines(lines("before", *chatter, "after"))
    assert (1, 21, 20, "sharding chatter") == (fold.begin, fold.end, fold.count, fold.subject)
    assert (("attentions.py:#] attentions/q_# Logical: bfloat#[#] ('embed').", 20),) == fold.masks


def test_several_kinds_in_turn_are_one_fold() -> None:
    """Logical and physical axes take turns; both masks are named."""
    chatter = [
        CHATTER.format(n).replace("Logical", kind) for n in range(10) for kind in ("Logical", "Physical")
    ]
    (fold,) = fold_lines(lines(*chatter))
    assert (20, 2) == (fold.count, len(fold.masks))


def test_an_error_is_never_hidden() -> None:
    """Nor a warning, a marked line, or one of its kind: the fold ends before it."""
    chatter = [CHATTER.format(n) for n in range(40)]
    for telling in ("ValueError: no", "W0421 warning: slow", "Traceback (most recent call last):"):
        texts = [*chatter[:20], telling, *chatter[20:]]
        assert [(0, 20), (21, 41)] == [(fold.begin, fold.end) for fold in fold_lines(lines(*texts))]
    marked = lines(*chatter)
    mark = LogMark(offset=0, anchor="step-0", words="step 0", kind=LogMarkKind.STEP)
    marked[20] = replace(marked[20], mark=mark)
    assert [(0, 20), (21, 40)] == [(fold.begin, fold.end) for fold in fold_lines(marked)]


def test_a_few_lines_are_read_as_they_are() -> None:
    """Folding saves nothing there."""
    assert () == fold_lines(lines(*(CHATTER.format(n) for n in range(MIN_FOLD_LINES - 1))))


@given(st.lists(st.sampled_from(["a 1", "a 2", "b", "error: x", ""]), max_size=80))
def test_folds_lie_in_the_window_one_behind_the_other(texts: list[str]) -> None:
    """Whatever the log; none holds a line that tells."""
    at = 0
    for fold in fold_lines(lines(*texts)):
        assert at <= fold.begin < fold.end <= len(texts)
        assert not any("error" in text for text in texts[fold.begin : fold.end])
        at = fold.end
