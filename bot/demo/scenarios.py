"""The pull requests of the demo: one for each kind of verdict.

Each is a real change of the training program's files. The expected verdicts are only compared with the
answers; nothing else reads them.
"""

from collections.abc import Mapping

from msgspec import Struct

from bot.domain.case_key import CaseKey
from bot.verdict.judgement import Verdict


class Edit(Struct, frozen=True, kw_only=True):
    """One edit of one file: `old` occurs exactly once and becomes `new`."""

    file: str
    old: str
    new: str


class Scenario(Struct, frozen=True, kw_only=True):
    """A pull request of the demo. `expected` is the verdict that each of its cases earns."""

    branch: str
    title: str
    body: str
    edits: tuple[Edit, ...]
    expected: Mapping[CaseKey, Verdict]


def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, in the order they are opened."""
    return (_NO_CHANGE, _SLOWDOWN, _CRASH, _LOSS_CURVE, _ENVIRONMENT)


_BASE, _WIDE = CaseKey("01_base", "default"), CaseKey("02_wide", "default")

_NO_CHANGE = Scenario(
    branch="tidy/batch-names",
    title="Name the places of a batch, and say why they are spread",
    body="No behaviour change: a comment and two clearer names in the batch reader.",
    edits=(
        Edit(
            file="training/train.py",
            old="""        places = range(step * size, (step + 1) * size)
        starts = [place * 7 % (len(self._text) - CONTEXT) for place in places]
        return [(self._text[start : start + CONTEXT], self._text[start + CONTEXT]) for start in starts]
""",
            new="""        # Steps of seven, so that the examples of one batch do not overlap.
        examples = range(step * size, (step + 1) * size)
        begins = [example * 7 % (len(self._text) - CONTEXT) for example in examples]
        return [(self._text[begin : begin + CONTEXT], self._text[begin + CONTEXT]) for begin in begins]
""",
        ),
    ),
    expected={_BASE: Verdict.SAME, _WIDE: Verdict.SAME},
)

_SLOWDOWN = Scenario(
    branch="feat/overflow-guard",
    title="Refuse weights that have overflowed, in every layer",
    body="Looks at every weight before each layer uses them, forwards and backwards, so that an overflow is "
    "found where it happens.",
    edits=(
        Edit(
            file="training/model.py",
            old="""def forward(parameters: Parameters, context""",
            new="""def check_finite(parameters: Parameters) -> None:
    \"\"\"Raise where a weight is not a finite number.\"\"\"
    for row in parameters.rows():
        # Zero times infinity, or times NaN, is NaN.
        if math.isnan(sum([0.0 * number for number in row])):
            raise FloatingPointError("a weight has overflowed")


def forward(parameters: Parameters, context""",
        ),
        Edit(
            file="training/model.py",
            old="""    inputs = [number for""",
            new="""    check_finite(parameters)
    inputs = [number for""",
        ),
        Edit(
            file="training/model.py",
            old="""    activations = [
        math.tanh""",
            new="""    check_finite(parameters)
    activations = [
        math.tanh""",
        ),
        Edit(
            file="training/model.py",
            old="""    scores = [
        sum(map(mul, row, activations))""",
            new="""    check_finite(parameters)
    scores = [
        sum(map(mul, row, activations))""",
        ),
        Edit(
            file="training/model.py",
            old="""    behind = [0.0]""",
            new="""    check_finite(parameters)
    behind = [0.0]""",
        ),
        Edit(
            file="training/model.py",
            old="""    first = [0.0]""",
            new="""    check_finite(parameters)
    first = [0.0]""",
        ),
    ),
    expected={_BASE: Verdict.SLOWER, _WIDE: Verdict.SLOWER},
)

_CRASH = Scenario(
    branch="feat/hidden-blocks",
    title="Lay the hidden layer out in blocks of sixteen",
    body="Blocks are easier to split over devices. The sizes we use fit.",
    edits=(
        Edit(
            file="training/model.py",
            old="""CONTEXT = 3
""",
            new="""CONTEXT = 3
BLOCK = 16
""",
        ),
        Edit(
            file="training/model.py",
            old="""    numbers = _uniform(seed)
""",
            new="""    if hidden % BLOCK:
        raise ValueError(f"hidden_size {hidden} does not divide into blocks of {BLOCK}")
    numbers = _uniform(seed)
""",
        ),
    ),
    # Blocks fit the hidden layer of the one case, and not that of the other.
    expected={_BASE: Verdict.SAME, _WIDE: Verdict.NEW_FAILURE},
)

_LOSS_CURVE = Scenario(
    branch="refactor/update-in-one-pass",
    title="Update weights in one pass",
    body="Saves one pass over the optimizer state in every step.",
    edits=(
        # The bug: the old speed is dropped, so there is no momentum any more.
        Edit(
            file="training/train.py",
            old="""        speed[:] = [config["momentum"] * old for old in speed]
        add_scaled(speed, slope, 1.0)
        add_scaled(weights""",
            new="""        speed[:] = slope
        add_scaled(weights""",
        ),
    ),
    expected={_BASE: Verdict.DIVERGED, _WIDE: Verdict.DIVERGED},
)

_ENVIRONMENT = Scenario(
    branch="chore/pin-older-jax",
    title="Pin JAX to the version of the other images",
    body="Our other images are still on 0.8.1.",
    edits=(
        Edit(
            file="requirements.txt",
            old="jax==0.9.2\njaxlib==0.9.2\n",
            new="jax==0.8.1\njaxlib==0.8.1\n",
        ),
    ),
    expected={_BASE: Verdict.NOT_LIKE_FOR_LIKE, _WIDE: Verdict.NOT_LIKE_FOR_LIKE},
)
