"""Prio3 proofs over many reports in Field128 (VDAF), in plain Python integers: equal results to `loops`, without numba.

    prove_reports     client: the proof that a report counts exactly one cell
    query_reports     server: its verification message about each report, from its shares of report and proof
    decide_reports    both servers' messages -> whether each report is accepted

A report is accepted if the servers' messages add up to those of a valid proof. Polynomials are given by their values at
roots of unity, and evaluated elsewhere with Lagrange weights (barycentric formula). Arrays hold field elements as
64-bit words, (reports, elements, 2); results are written into an array of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .field import MODULUS, QueryInputs, Words, from_integers, roots_of_unity, to_integers

INVERSE_OF_TWO = pow(2, -1, MODULUS)
"""Inverse of 2 in the field: each of two servers subtracts this half of a public constant, so that the sum of their
shares changes by the whole."""


def prove_reports(
    cells: NDArray[np.int64],
    wire_seeds: Words,
    joint_rand: Words,
    odd: tuple[Sequence[int], Sequence[int]],
    gadget_values: Words,
) -> None:
    """Write the gadget polynomials of all reports' proofs into `gadget_values`; equals `loops.prove_reports`.

    Args:
        cells: SECRET. The one cell that each report counts, (reports,).
        wire_seeds: Random first value of each wire, (reports, wires, 2).
        joint_rand: Joint randomness, one element per call of the gadget, (reports, calls, 2).
        odd: Values at odd nodes: of the Lagrange polynomial of node 0, and of the sum of those of all calls' nodes.
        gadget_values: Output, (reports, 2 * points - 1, 2).
    """
    first, call_sums = odd
    points = len(first)
    chunk = wire_seeds.shape[1] // 2
    for report, cell in enumerate(cells.tolist()):
        call, cell_position = divmod(cell, chunk)
        power = pow(to_integers(joint_rand[report])[call], cell_position + 1, MODULUS)
        wires = to_integers(wire_seeds[report])
        products = _inner_product(wires[::2], wires[1::2])
        left_sum = sum(wires[::2])
        node_values = [0] * (2 * points - 1)
        node_values[0] = products
        for number in range(points - 1):
            start = first[number]
            others = call_sums[number]
            call_value = first[(number - call - 1) % points]
            inner = wires[2 * cell_position + 1] * start - others + call_value
            node_values[2 * number + 1] = (
                (products * start - left_sum * others) * start
                + wires[2 * cell_position] * start * call_value
                + power * call_value * inner
            )
        gadget_values[report] = from_integers(node_values)


def query_reports(inputs: QueryInputs, points: int, messages: Words) -> None:
    """Write one server's verification messages about all reports into `messages`; equals `loops.query_reports`.

    Args:
        inputs: The server's shares of cells and proofs, and the random points, for all reports.
        points: Number of roots of unity at which a wire polynomial is given.
        messages: Output, (reports, elements of a message, 2). If a report's random point is a root of unity, its
            message is 1 followed by zeros, which no pair of servers accepts.
    """
    nodes = roots_of_unity(2 * points)
    for report in range(len(inputs.cells)):
        cells, starts, sums, joint, query = (to_integers(array[report]) for array in inputs)
        if pow(query[2], 2 * points, MODULUS) == 1:
            messages[report] = from_integers([1] + [0] * (len(starts) + 1))
            continue
        last = -_inner_product(sums, nodes[:-1]) * nodes[1] % MODULUS
        value = _inner_product([*sums, last], _lagrange_weights(nodes, query[2]))
        wires = _evaluate_wires(cells, starts, joint, _lagrange_weights(nodes[::2], query[2])[: len(joint) + 1])
        zero = query[0] * sum(sums[2 : 2 * len(joint) + 1 : 2]) + query[1] * (sum(cells) - INVERSE_OF_TWO)
        messages[report] = from_integers([zero, *wires, value])


def decide_reports(first: Words, second: Words, is_accepted: NDArray[np.bool_]) -> None:
    """Decide for each report whether both servers' messages add up to a valid proof; equals `loops.decide_reports`.

    Args:
        first: Messages of one server, (reports, elements, 2).
        second: Messages of the other, of the same shape.
        is_accepted: Output, (reports,).
    """
    for report in range(len(first)):
        element_pairs = zip(to_integers(first[report]), to_integers(second[report]), strict=True)
        zero, *wires, value = (sum(summands) for summands in element_pairs)
        is_accepted[report] = zero % MODULUS == 0 and (_inner_product(wires[::2], wires[1::2]) - value) % MODULUS == 0


def _inner_product(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the sum of the elementwise products, modulo the field's modulus.

    Args:
        first: Field elements.
        second: Equally many.
    """
    return sum(a * b for a, b in zip(first, second, strict=True)) % MODULUS


def _lagrange_weights(nodes: Sequence[int], point: int) -> list[int]:
    """Return the values of all Lagrange polynomials of some roots of unity at a point (barycentric formula).

    Args:
        nodes: All n-th roots of unity, for n their number.
        point: Field element that is none of them.
    """
    scale = (pow(point, len(nodes), MODULUS) - 1) * pow(len(nodes), -1, MODULUS) % MODULUS
    return [scale * node * pow(point - node, -1, MODULUS) % MODULUS for node in nodes]


def _evaluate_wires(
    cells: Sequence[int], starts: Sequence[int], joint: Sequence[int], weights: Sequence[int]
) -> list[int]:
    """SECRET: return one server's shares of all wire polynomials' values at the random point.

    Args:
        cells: Shares of the report's cells.
        starts: Shares of the wires' first values, which the client drew at random.
        joint: Joint randomness, one element for each call of the gadget.
        weights: Lagrange weights at the point, of the first node and of one node per call.
    """
    chunk = len(starts) // 2
    half_total = sum(weights[1:]) * INVERSE_OF_TWO
    wires = [start * weights[0] for start in starts]
    for call, (ratio, weight) in enumerate(zip(joint, weights[1:], strict=True)):
        power = weight
        for position, cell in enumerate(cells[call * chunk : (call + 1) * chunk]):
            power = power * ratio % MODULUS
            wires[2 * position] += cell * power
            wires[2 * position + 1] += cell * weight
    return [wire - half_total * (position % 2) for position, wire in enumerate(wires)]
