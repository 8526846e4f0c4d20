"""A language model of three layers that really trains, so that a changed learning rate has its true effect.

Next-word prediction on a made-up language, Adam with weight decay and warm-up, in float32 or with weights and
activations rounded to bfloat16.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WORDS, WIDTH, HIDDEN, BATCH, WARM_UP = 128, 24, 48, 128, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train. `shuffled`: the same batch in another order, so that sums round differently. `seed` makes
    the first weights, `data_seed` the batches."""

    steps: int = 50
    learning_rate: float = 3e-3
    weight_decay: float = 0.1
    epsilon: float = 1e-8
    bf16: bool = True
    shuffled: bool = False
    seed: int = 0
    data_seed: int = 1


@lru_cache(maxsize=64)
def train(recipe: Recipe) -> tuple[float, ...]:
    """The loss of each step, in nats."""
    weights = _first_weights(recipe.seed)
    first = [np.zeros_like(weight) for weight in weights]
    second = [np.zeros_like(weight) for weight in weights]
    language = np.random.default_rng(7).dirichlet(np.full(WORDS, 0.03), size=WORDS).cumsum(axis=1)
    data = np.random.default_rng(recipe.data_seed)
    order = np.random.default_rng(99).permutation(BATCH) if recipe.shuffled else np.arange(BATCH)
    found = []
    for step in range(1, recipe.steps + 1):
        words = data.integers(0, WORDS, BATCH)
        after = np.minimum((language[words] < data.random(BATCH)[:, None]).sum(axis=1), WORDS - 1)
        loss, slopes = _loss_and_slopes(weights, words[order], after[order], bf16=recipe.bf16)
        found.append(loss)
        rate = recipe.learning_rate * min(1.0, step / WARM_UP)
        for place, slope in enumerate(slopes):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.95 * second[place] + 0.05 * slope**2
            size = np.sqrt(second[place] / (1 - 0.95**step)) + recipe.epsilon
            move = first[place] / (1 - 0.9**step) / size + recipe.weight_decay * weights[place]
            weights[place] = (weights[place] - rate * move).astype(np.float32)
    return tuple(found)


def _first_weights(seed: int) -> list[Floats]:
    numbers = np.random.default_rng(seed)
    shapes = ((WORDS, WIDTH, 0.3), (WIDTH, HIDDEN, WIDTH**-0.5), (HIDDEN, WORDS, HIDDEN**-0.5))
    return [numbers.normal(0, scale, (rows, columns)).astype(np.float32) for rows, columns, scale in shapes]


def _loss_and_slopes(
    weights: list[Floats], words: NDArray[np.int64], after: NDArray[np.int64], *, bf16: bool
) -> tuple[float, list[Floats]]:
    embedding, hidden, output = (_rounded(weight, bf16=bf16) for weight in weights)
    inputs = embedding[words]
    before = _rounded(inputs @ hidden, bf16=bf16)
    active = np.maximum(before, 0)
    scores = _rounded(active @ output, bf16=bf16)
    scores = scores - scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    rows = np.arange(len(words))
    loss = float(np.mean(np.log(totals[:, 0]) - scores[rows, after]))
    wrong = shares / totals
    wrong[rows, after] -= 1
    wrong = _rounded(wrong / np.float32(len(words)), bf16=bf16)
    back = _rounded(wrong @ output.T, bf16=bf16) * (before > 0)
    at_embedding = np.zeros_like(embedding)
    np.add.at(at_embedding, words, _rounded(back @ hidden.T, bf16=bf16))
    slopes = (at_embedding, inputs.T @ back, active.T @ wrong)
    return loss, [_rounded(slope, bf16=bf16) for slope in slopes]


def _rounded(values: Floats, *, bf16: bool) -> Floats:
    """The values as bfloat16 holds them: the upper half of a float32, rounded to even."""
    exact = values.astype(np.float32)
    if not bf16:
        return exact
    bits = exact.view(np.uint32)
    half = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    return ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)
