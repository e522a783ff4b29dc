"""Loops over reports in the field of 128 bits, as machine code. Import only where numba is."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .field import MODULUS, QueryInputs, Words, from_integers

_UPPER = np.uint64(MODULUS >> 64)
_SQUARE = from_integers([2**256])[0]
_ONE = from_integers([2**128])[0]
_SQUARE_0, _SQUARE_1 = _SQUARE
_ONE_0, _ONE_1 = _ONE
_NO, _YES = np.uint64(0), np.uint64(1)


@intrinsic
def _emit_upper_word(typing: Any, first: Any, second: Any) -> Any:
    """Upper word of the product of two words."""

    def generate_code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in given))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate_code


_upper: Any = _emit_upper_word


@njit(cache=True, inline="always")
def _reduce(low: Any, high: Any, beyond: Any) -> Any:
    """A number below twice the modulus, of 129 bits, less the modulus if it is not below."""
    if beyond or high > _UPPER or (high == _UPPER and low >= _YES):
        borrow = _YES if low < _YES else _NO
        return low - _YES, high - _UPPER - borrow
    return low, high


@njit(cache=True)
def _add(a: Any, b: Any) -> Any:
    low = a[0] + b[0]
    carry = _YES if low < a[0] else _NO
    high = a[1] + b[1]
    beyond = high < a[1]
    high += carry
    return _reduce(low, high, beyond or high < carry)


@njit(cache=True)
def _subtract(a: Any, b: Any) -> Any:
    low, high = a[0] - b[0], a[1] - b[1]
    borrow = _YES if a[0] < b[0] else _NO
    below = a[1] < b[1] or (a[1] == b[1] and borrow == _YES)
    high -= borrow
    if below:
        low += _YES
        high += _UPPER + (_YES if low == _NO else _NO)
    return low, high


@njit(cache=True)
def _multiply(a: Any, b: Any) -> Any:
    """The product over 2**128 (Montgomery); one factor times 2**128 and another one make their product.

    The modulus is 1 modulo 2**64: so a multiple of it that clears the lowest word is that word's negative.
    """
    t0 = a[0] * b[0]
    t1 = _upper(a[0], b[0])
    part = a[0] * b[1]
    t1 += part
    t2 = _upper(a[0], b[1]) + (_YES if t1 < part else _NO)
    m = _NO - t0
    part = m * _UPPER + (_YES if t0 else _NO)  # no overflow: multiples of _UPPER are even
    t1 += part
    carry = _YES if t1 < part else _NO
    part = _upper(m, _UPPER) + carry
    t2 += part
    t3 = _YES if t2 < part else _NO
    # The second word of a.
    low = a[1] * b[0]
    t1 += low
    carry = _YES if t1 < low else _NO
    part = _upper(a[1], b[0]) + carry
    t2 += part
    t3 += _YES if t2 < part else _NO
    low = a[1] * b[1]
    t2 += low
    carry = _YES if t2 < low else _NO
    t3 += _upper(a[1], b[1]) + carry
    m = _NO - t1
    part = m * _UPPER + (_YES if t1 else _NO)
    t2 += part
    carry = _YES if t2 < part else _NO
    part = _upper(m, _UPPER) + carry
    t3 += part
    return _reduce(t2, t3, t3 < part)


@njit(cache=True)
def _load(words: Any, place: Any) -> Any:
    return words[place, 0], words[place, 1]


@njit(cache=True)
def _store(words: Any, place: Any, number: Any) -> None:
    words[place, 0], words[place, 1] = number


@njit(cache=True)
def _to_montgomery(number: Any) -> Any:
    """A number times 2**128, with which products are plain numbers."""
    return _multiply(number, (_SQUARE_0, _SQUARE_1))


@njit(cache=True)
def _invert(number: Any) -> Any:
    """The inverse, marked, of a number that is marked: its power of the modulus less 2."""
    result = (_ONE_0, _ONE_1)
    # The modulus less 2 is (2**64 - 29) * 2**64 + (2**64 - 1) in words.
    for word in (_UPPER - _YES, ~_NO):
        for place in range(63, -1, -1):
            result = _multiply(result, result)
            if (word >> np.uint64(place)) & _YES:
                result = _multiply(result, number)
    return result


@njit(cache=True)
def _invert_differences(point: Any, nodes: Words) -> Any:
    """Inverses of the differences of a point and all nodes, marked, by one inversion."""
    below, inverses = np.empty((len(nodes) + 1, 2), np.uint64), np.empty((len(nodes), 2), np.uint64)
    _store(below, 0, (_ONE_0, _ONE_1))
    for place in range(len(nodes)):
        _store(below, place + 1, _multiply(_load(below, place), _subtract(point, _load(nodes, place))))
    back = _invert(_load(below, len(nodes)))
    for place in range(len(nodes) - 1, -1, -1):
        _store(inverses, place, _multiply(back, _load(below, place)))
        back = _multiply(back, _subtract(point, _load(nodes, place)))
    return inverses


@njit(cache=True)
def _evaluate_gadget(sums: Words, nodes: Words, inverses: Words, calls: Any) -> Any:
    """The polynomial of sums of products: its value but for a factor, and the sum of its values at calls' nodes.

    Its degree is such that its values times the nodes add up to 0; the last value is not told.
    """
    last, value, closed = (_NO, _NO), (_NO, _NO), (_NO, _NO)
    for place in range(len(nodes)):
        node = _load(nodes, place)
        if place < len(nodes) - 1:
            number = _load(sums, place)
            last = _add(last, _multiply(number, node))
        else:
            number = _subtract((_NO, _NO), _multiply(last, _load(nodes, 1)))
        value = _add(value, _multiply(number, _multiply(node, _load(inverses, place))))
        if place % 2 == 0 and 2 <= place <= 2 * calls:
            closed = _add(closed, number)
    return value, closed


@njit(cache=True)
def _write_wires(shares: tuple[Words, Words], joint: Words, weights: Words, half: Any, told: Words) -> Any:
    """Write the values of wires: at node 0 they are their starts, at node c what the chunk c shows. Sum of cells."""
    cells, starts = shares
    chunk, total, whole = len(starts) // 2, (_NO, _NO), (_NO, _NO)
    for call in range(len(joint)):
        total = _add(total, _load(weights, call + 1))
    less = _multiply(total, half)
    for place in range(chunk):
        _store(told, 2 * place + 1, _multiply(_load(starts, 2 * place), _load(weights, 0)))
        _store(told, 2 * place + 2, _subtract(_multiply(_load(starts, 2 * place + 1), _load(weights, 0)), less))
    for call in range(len(joint)):
        weight, ratio = _load(weights, call + 1), _to_montgomery(_load(joint, call))
        risen = weight
        for place in range(min(chunk, len(cells) - call * chunk)):
            cell, first, second = _load(cells, call * chunk + place), 2 * place + 1, 2 * place + 2
            risen, whole = _multiply(risen, ratio), _add(whole, cell)
            _store(told, first, _add(_load(told, first), _multiply(cell, risen)))
            _store(told, second, _add(_load(told, second), _multiply(cell, weight)))
    return whole


@njit(cache=True, nogil=True)
def query_reports(inputs: QueryInputs, nodes: Words, parts: Words, messages: Words) -> None:
    """Messages of one server, of all reports: see `Prio3Histogram.verify_init`.

    Args:
        inputs: What is known of the reports.
        nodes: ``(2 * points, 2)``: roots of unity of that order, marked.
        parts: ``(3, 2)``: an inverse of 2, and inverses of `points` and of its double, marked.
        messages: ``(reports, 2 * chunk + 2, 2)``: what is written: what has to be 0, the wires, and the polynomial.
    """
    calls, points = inputs.joint_rand.shape[1], nodes.shape[0] // 2
    zero, one, marked_one = (_NO, _NO), (_YES, _NO), (_ONE_0, _ONE_1)
    weights, half = np.empty((calls + 1, 2), np.uint64), _multiply(_load(parts, 0), one)
    for report in range(inputs.cells.shape[0]):
        point, query = _to_montgomery(_load(inputs.query_rand[report], 2)), inputs.query_rand[report]
        power, step = point, 1
        while step < points:
            power, step = _multiply(power, power), 2 * step
        double = _subtract(_multiply(power, power), marked_one)
        if double == zero:  # the point is a node: refused by all servers, once in more than 2**100 reports
            messages[report] = 0
            _store(messages[report], 0, one)
            continue
        inverses = _invert_differences(point, nodes)
        value, closed = _evaluate_gadget(inputs.gadget_values[report], nodes, inverses, calls)
        _store(messages[report], messages.shape[1] - 1, _multiply(value, _multiply(double, _load(parts, 2))))
        scale = _multiply(_subtract(power, marked_one), _load(parts, 1))
        for call in range(calls + 1):
            _store(weights, call, _multiply(_multiply(_load(nodes, 2 * call), _load(inverses, 2 * call)), scale))
        whole = _write_wires(
            (inputs.cells[report], inputs.wire_seeds[report]),
            inputs.joint_rand[report],
            weights,
            half,
            messages[report],
        )
        first = _multiply(_to_montgomery(_load(query, 0)), closed)
        _store(messages[report], 0, _add(first, _multiply(_to_montgomery(_load(query, 1)), _subtract(whole, half))))


@njit(cache=True, nogil=True)
def decide_reports(first: Words, second: Words, is_accepted: NDArray[np.bool_]) -> None:
    """Decide of each report whether both servers' messages, ``(reports, 2 * chunk + 2, 2)``, add up to a proof."""
    wires = first.shape[1] - 2
    for report in range(first.shape[0]):
        total = _add(_load(first[report], 0), _load(second[report], 0))
        value = (_NO, _NO)
        for place in range(1, wires + 1, 2):
            left = _add(_load(first[report], place), _load(second[report], place))
            right = _add(_load(first[report], place + 1), _load(second[report], place + 1))
            value = _add(value, _multiply(_to_montgomery(left), right))
        claimed = _add(_load(first[report], wires + 1), _load(second[report], wires + 1))
        is_accepted[report] = total == (_NO, _NO) and value == claimed


@njit(cache=True, nogil=True)
def prove_reports(
    cells: NDArray[np.int64], wire_seeds: Words, joint_rand: Words, odd: tuple[Words, Words], gadget_values: Words
) -> None:
    """The polynomials of sums of products of some reports, each of one cell: see `Prio3Histogram.shard`.

    Args:
        cells: ``(reports,)``: the cell of each. SECRET.
        wire_seeds: ``(reports, 2 * chunk, 2)``.
        joint_rand: ``(reports, calls, 2)``.
        odd: ``(points, 2)`` each: values at odd nodes, of the polynomial that is 1 at node 0, and of the sum of those
            that are 1 at a call's node; marked.
        gadget_values: ``(reports, 2 * points - 1, 2)``: what is written.
    """
    first, rest = odd
    chunk, points = wire_seeds.shape[1] // 2, first.shape[0]
    zero, one = (_NO, _NO), (_ONE_0, _ONE_1)
    for report in range(cells.shape[0]):
        call, place = cells[report] // chunk, cells[report] % chunk
        ratio = _to_montgomery(_load(joint_rand[report], call))
        risen = one
        for step in range(chunk):  # as many for each cell
            risen = _multiply(risen, ratio) if step <= place else risen
        products, left = zero, zero
        for each in range(chunk):
            a, b = _load(wire_seeds[report], 2 * each), _load(wire_seeds[report], 2 * each + 1)
            products, left = _add(products, _multiply(_to_montgomery(a), b)), _add(left, a)
        a, b = _load(wire_seeds[report], 2 * place), _load(wire_seeds[report], 2 * place + 1)
        gadget_values[report] = 0
        _store(gadget_values[report], 0, products)
        for number in range(points - 1):
            start, others = _load(first, number), _load(rest, number)
            own = _load(first, (number - call - 1) % points)
            inner = _add(_subtract(_to_montgomery(_multiply(b, start)), others), own)
            value = _multiply(_subtract(_multiply(products, start), _multiply(left, others)), start)
            value = _add(value, _multiply(_multiply(a, start), own))
            value = _add(value, _multiply(_multiply(risen, _multiply(own, inner)), (_YES, _NO)))
            _store(gadget_values[report], 2 * number + 1, value)
