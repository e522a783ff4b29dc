"""Loops over reports in the field of 128 bits, in Python's integers: the same numbers as `loops`, without numba."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .field import MODULUS, QueryInputs, Words, from_integers, roots_of_unity, to_integers

HALF = pow(2, -1, MODULUS)


def _inner_product(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True)) % MODULUS


def _lagrange_weights(nodes: Sequence[int], point: int) -> list[int]:
    """Values at a point of the polynomials that are 1 at one of all roots of unity of an order, 0 at the others."""
    scale = (pow(point, len(nodes), MODULUS) - 1) * pow(len(nodes), -1, MODULUS) % MODULUS
    return [scale * node * pow(point - node, -1, MODULUS) % MODULUS for node in nodes]


def query_reports(inputs: QueryInputs, points: int, messages: Words) -> None:
    """Messages of one server, of all reports: as `loops.query_reports`."""
    nodes = roots_of_unity(2 * points)
    for report in range(len(inputs.cells)):
        cells, starts, sums, joint, query = (to_integers(each[report]) for each in inputs)
        if pow(query[2], 2 * points, MODULUS) == 1:
            messages[report] = from_integers([1] + [0] * (len(starts) + 1))
            continue
        last = -_inner_product(sums, nodes[:-1]) * nodes[1] % MODULUS
        value = _inner_product([*sums, last], _lagrange_weights(nodes, query[2]))
        wires = _evaluate_wires(cells, starts, joint, _lagrange_weights(nodes[::2], query[2])[: len(joint) + 1])
        zero = query[0] * sum(sums[2 : 2 * len(joint) + 1 : 2]) + query[1] * (sum(cells) - HALF)
        messages[report] = from_integers([zero, *wires, value])


def _evaluate_wires(
    cells: Sequence[int], starts: Sequence[int], joint: Sequence[int], weights: Sequence[int]
) -> list[int]:
    chunk, less = len(starts) // 2, sum(weights[1:]) * HALF
    wires = [start * weights[0] for start in starts]
    for call, (ratio, weight) in enumerate(zip(joint, weights[1:], strict=True)):
        risen = weight
        for place, cell in enumerate(cells[call * chunk : (call + 1) * chunk]):
            risen = risen * ratio % MODULUS
            wires[2 * place] += cell * risen
            wires[2 * place + 1] += cell * weight
    return [wire - less * (place % 2) for place, wire in enumerate(wires)]


def decide_reports(first: Words, second: Words, is_accepted: NDArray[np.bool_]) -> None:
    """Decide of each report whether both servers' messages add up to a proof: as `loops.decide_reports`."""
    for report in range(len(first)):
        both = zip(to_integers(first[report]), to_integers(second[report]), strict=True)
        zero, *wires, value = (sum(pair) for pair in both)
        is_accepted[report] = zero % MODULUS == 0 and (_inner_product(wires[::2], wires[1::2]) - value) % MODULUS == 0


def prove_reports(
    cells: NDArray[np.int64],
    wire_seeds: Words,
    joint_rand: Words,
    odd: tuple[Sequence[int], Sequence[int]],
    gadget_values: Words,
) -> None:
    """The polynomials of sums of products of some reports, each of one cell: as `loops.prove_reports`."""
    first, rest = odd
    points, chunk = len(first), wire_seeds.shape[1] // 2
    for report, cell in enumerate(cells.tolist()):
        call, place = divmod(cell, chunk)
        risen = pow(to_integers(joint_rand[report])[call], place + 1, MODULUS)
        wires = to_integers(wire_seeds[report])
        products, left = _inner_product(wires[::2], wires[1::2]), sum(wires[::2])
        found = [0] * (2 * points - 1)
        found[0] = products
        for number in range(points - 1):
            start, others, own = first[number], rest[number], first[(number - call - 1) % points]
            inner = wires[2 * place + 1] * start - others + own
            found[2 * number + 1] = (
                (products * start - left * others) * start + wires[2 * place] * start * own + risen * own * inner
            )
        gadget_values[report] = from_integers(found)
