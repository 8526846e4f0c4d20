"""A next-character network: three characters in, one hidden layer, a probability for each next character.

In:  parameters and examples. Out: their loss, and its gradient with respect to every parameter.
The arithmetic is written out in plain Python, so that what a change costs can be seen in the step time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

Vector = list[float]
Matrix = list[Vector]

CONTEXT = 3


@dataclass
class Parameters:
    """Weights by layer; a gradient has the same shape. Rows of `embedding` are characters, rows of the other
    matrices are outputs."""

    embedding: Matrix
    hidden: Matrix
    hidden_bias: Vector
    output: Matrix
    output_bias: Vector

    def rows(self) -> Iterator[Vector]:
        """Every weight, in rows that may be changed in place."""
        yield from self.embedding
        yield from self.hidden
        yield self.hidden_bias
        yield from self.output
        yield self.output_bias

    def count(self) -> int:
        """How many numbers there are to train."""
        return sum(len(row) for row in self.rows())


@dataclass
class Passed:
    """What one forward pass leaves for the backward pass."""

    inputs: Vector
    activations: Vector
    probabilities: Vector


def initial_parameters(*, characters: int, embedding: int, hidden: int, seed: int) -> Parameters:
    """Small weights that depend on nothing but the sizes and the seed."""
    numbers = _uniform(seed)
    return Parameters(
        embedding=_matrix(numbers, characters, embedding, scale=0.5),
        hidden=_matrix(numbers, hidden, CONTEXT * embedding, scale=0.5),
        hidden_bias=[0.0] * hidden,
        output=_matrix(numbers, characters, hidden, scale=0.5),
        output_bias=[0.0] * characters,
    )


def zeros_like(parameters: Parameters) -> Parameters:
    """The same shape, filled with zeros."""
    return Parameters(
        embedding=[[0.0] * len(row) for row in parameters.embedding],
        hidden=[[0.0] * len(row) for row in parameters.hidden],
        hidden_bias=[0.0] * len(parameters.hidden_bias),
        output=[[0.0] * len(row) for row in parameters.output],
        output_bias=[0.0] * len(parameters.output_bias),
    )


def forward(parameters: Parameters, context: Sequence[int]) -> Passed:
    """What one context makes of the network."""
    inputs = [number for character in context for number in parameters.embedding[character]]
    activations = [
        math.tanh(sum(map(mul, row, inputs)) + bias)
        for row, bias in zip(parameters.hidden, parameters.hidden_bias, strict=True)
    ]
    scores = [
        sum(map(mul, row, activations)) + bias
        for row, bias in zip(parameters.output, parameters.output_bias, strict=True)
    ]
    highest = max(scores)
    shares = [math.exp(score - highest) for score in scores]
    total = sum(shares)
    return Passed(inputs, activations, [share / total for share in shares])


def backward(
    parameters: Parameters, gradient: Parameters, context: Sequence[int], target: int, passed: Passed
) -> None:
    """Add one example's gradient to `gradient`."""
    inputs, activations = passed.inputs, passed.activations
    errors = list(passed.probabilities)
    errors[target] -= 1.0
    behind = [0.0] * len(activations)
    for number, error in enumerate(errors):
        add_scaled(gradient.output[number], activations, error)
        gradient.output_bias[number] += error
        add_scaled(behind, parameters.output[number], error)
    first = [0.0] * len(inputs)
    for number, (error, activation) in enumerate(zip(behind, activations, strict=True)):
        slope = error * (1.0 - activation * activation)
        add_scaled(gradient.hidden[number], inputs, slope)
        gradient.hidden_bias[number] += slope
        add_scaled(first, parameters.hidden[number], slope)
    width = len(parameters.embedding[0])
    for place, character in enumerate(context):
        add_scaled(gradient.embedding[character], first[place * width : (place + 1) * width], 1.0)


def add_scaled(into: Vector, row: Vector, scale: float) -> None:
    """into += scale * row, in place."""
    into[:] = [old + scale * new for old, new in zip(into, row, strict=True)]


def accumulate(
    parameters: Parameters, gradient: Parameters, examples: Sequence[tuple[Sequence[int], int]]
) -> float:
    """Add the gradient of each example to `gradient`; returns the sum of their cross-entropies (nats)."""
    loss = 0.0
    for context, target in examples:
        passed = forward(parameters, context)
        loss -= math.log(passed.probabilities[target])
        backward(parameters, gradient, context, target, passed)
    return loss


def divide(gradient: Parameters, examples: int) -> None:
    """Make the mean of a sum over examples, in place."""
    for row in gradient.rows():
        row[:] = [number / examples for number in row]


def _matrix(numbers: Iterator[float], rows: int, columns: int, *, scale: float) -> Matrix:
    return [[scale * next(numbers) for _ in range(columns)] for _ in range(rows)]


def _uniform(seed: int) -> Iterator[float]:
    """Numbers in [-1, 1) from a linear congruential generator, so that no library's version matters."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 11) / 2**52 - 1.0
