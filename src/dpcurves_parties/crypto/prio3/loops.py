"""Loops over reports in the field of 128 bits, as machine code. Import only where numba is."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .field import MODULUS, Questioned, Words, of_integers

_UPPER = np.uint64(MODULUS >> 64)
_SQUARE = of_integers([2**256])[0]
_ONE = of_integers([2**128])[0]
_SQUARE_0, _SQUARE_1 = _SQUARE
_ONE_0, _ONE_1 = _ONE
_NO, _YES = np.uint64(0), np.uint64(1)


@intrinsic
def _upper_of(typing: Any, first: Any, second: Any) -> Any:
    """Upper word of the product of two words."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in given))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), code


_upper: Any = _upper_of


@njit(cache=True, inline="always")
def _reduced(low: Any, high: Any, beyond: Any) -> Any:
    """A number below twice the modulus, of 129 bits, less the modulus if it is not below."""
    if beyond or high > _UPPER or (high == _UPPER and low >= _YES):
        borrow = _YES if low < _YES else _NO
        return low - _YES, high - _UPPER - borrow
    return low, high


@njit(cache=True)
def _plus(a: Any, b: Any) -> Any:
    low = a[0] + b[0]
    carry = _YES if low < a[0] else _NO
    high = a[1] + b[1]
    beyond = high < a[1]
    high += carry
    return _reduced(low, high, beyond or high < carry)


@njit(cache=True)
def _minus(a: Any, b: Any) -> Any:
    low, high = a[0] - b[0], a[1] - b[1]
    borrow = _YES if a[0] < b[0] else _NO
    below = a[1] < b[1] or (a[1] == b[1] and borrow == _YES)
    high -= borrow
    if below:
        low += _YES
        high += _UPPER + (_YES if low == _NO else _NO)
    return low, high


@njit(cache=True)
def _times(a: Any, b: Any) -> Any:
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
    return _reduced(t2, t3, t3 < part)


@njit(cache=True)
def _at(words: Any, place: Any) -> Any:
    return words[place, 0], words[place, 1]


@njit(cache=True)
def _put(words: Any, place: Any, number: Any) -> None:
    words[place, 0], words[place, 1] = number


@njit(cache=True)
def _marked(number: Any) -> Any:
    """A number times 2**128, with which products are plain numbers."""
    return _times(number, (_SQUARE_0, _SQUARE_1))


@njit(cache=True)
def _inverse(number: Any) -> Any:
    """The inverse, marked, of a number that is marked: its power of the modulus less 2."""
    result = (_ONE_0, _ONE_1)
    # The modulus less 2 is (2**64 - 29) * 2**64 + (2**64 - 1) in words.
    for word in (_UPPER - _YES, ~_NO):
        for place in range(63, -1, -1):
            result = _times(result, result)
            if (word >> np.uint64(place)) & _YES:
                result = _times(result, number)
    return result


@njit(cache=True)
def _inverses(point: Any, nodes: Words) -> Any:
    """Inverses of the differences of a point and all nodes, marked, by one inversion."""
    below, inverses = np.empty((len(nodes) + 1, 2), np.uint64), np.empty((len(nodes), 2), np.uint64)
    _put(below, 0, (_ONE_0, _ONE_1))
    for place in range(len(nodes)):
        _put(below, place + 1, _times(_at(below, place), _minus(point, _at(nodes, place))))
    back = _inverse(_at(below, len(nodes)))
    for place in range(len(nodes) - 1, -1, -1):
        _put(inverses, place, _times(back, _at(below, place)))
        back = _times(back, _minus(point, _at(nodes, place)))
    return inverses


@njit(cache=True)
def _polynomial(sums: Words, nodes: Words, inverses: Words, calls: Any) -> Any:
    """The polynomial of sums of products: its value but for a factor, and the sum of its values at calls' nodes.

    Its degree is such that its values times the nodes add up to 0; the last value is not told.
    """
    last, value, closed = (_NO, _NO), (_NO, _NO), (_NO, _NO)
    for place in range(len(nodes)):
        node = _at(nodes, place)
        if place < len(nodes) - 1:
            number = _at(sums, place)
            last = _plus(last, _times(number, node))
        else:
            number = _minus((_NO, _NO), _times(last, _at(nodes, 1)))
        value = _plus(value, _times(number, _times(node, _at(inverses, place))))
        if place % 2 == 0 and 2 <= place <= 2 * calls:
            closed = _plus(closed, number)
    return value, closed


@njit(cache=True)
def _wires(shares: tuple[Words, Words], joint: Words, weights: Words, half: Any, told: Words) -> Any:
    """Write the values of wires: at node 0 they are their starts, at node c what the chunk c shows. Sum of cells."""
    cells, starts = shares
    chunk, total, whole = len(starts) // 2, (_NO, _NO), (_NO, _NO)
    for call in range(len(joint)):
        total = _plus(total, _at(weights, call + 1))
    less = _times(total, half)
    for place in range(chunk):
        _put(told, 2 * place + 1, _times(_at(starts, 2 * place), _at(weights, 0)))
        _put(told, 2 * place + 2, _minus(_times(_at(starts, 2 * place + 1), _at(weights, 0)), less))
    for call in range(len(joint)):
        weight, ratio = _at(weights, call + 1), _marked(_at(joint, call))
        risen = weight
        for place in range(min(chunk, len(cells) - call * chunk)):
            cell, first, second = _at(cells, call * chunk + place), 2 * place + 1, 2 * place + 2
            risen, whole = _times(risen, ratio), _plus(whole, cell)
            _put(told, first, _plus(_at(told, first), _times(cell, risen)))
            _put(told, second, _plus(_at(told, second), _times(cell, weight)))
    return whole


@njit(cache=True, nogil=True)
def questioned(asked: Questioned, nodes: Words, parts: Words, told: Words) -> None:
    """Messages of one server, of all reports: see `Prio3Histogram.verified`.

    Args:
        asked: What is known of the reports.
        nodes: ``(2 * points, 2)``: roots of unity of that order, marked.
        parts: ``(3, 2)``: an inverse of 2, and inverses of `points` and of its double, marked.
        told: ``(reports, 2 * chunk + 2, 2)``: what is written: what has to be 0, the wires, and the polynomial.
    """
    calls, points = asked.joint.shape[1], nodes.shape[0] // 2
    zero, one, marked_one = (_NO, _NO), (_YES, _NO), (_ONE_0, _ONE_1)
    weights, half = np.empty((calls + 1, 2), np.uint64), _times(_at(parts, 0), one)
    for report in range(asked.cells.shape[0]):
        point, query = _marked(_at(asked.query[report], 2)), asked.query[report]
        power, step = point, 1
        while step < points:
            power, step = _times(power, power), 2 * step
        double = _minus(_times(power, power), marked_one)
        if double == zero:  # the point is a node: refused by all servers, once in more than 2**100 reports
            told[report] = 0
            _put(told[report], 0, one)
            continue
        inverses = _inverses(point, nodes)
        value, closed = _polynomial(asked.sums[report], nodes, inverses, calls)
        _put(told[report], told.shape[1] - 1, _times(value, _times(double, _at(parts, 2))))
        scale = _times(_minus(power, marked_one), _at(parts, 1))
        for call in range(calls + 1):
            _put(weights, call, _times(_times(_at(nodes, 2 * call), _at(inverses, 2 * call)), scale))
        whole = _wires((asked.cells[report], asked.starts[report]), asked.joint[report], weights, half, told[report])
        first = _times(_marked(_at(query, 0)), closed)
        _put(told[report], 0, _plus(first, _times(_marked(_at(query, 1)), _minus(whole, half))))


@njit(cache=True, nogil=True)
def agreed(first: Words, second: Words, passed: NDArray[np.bool_]) -> None:
    """Decide of each report whether both servers' messages, ``(reports, 2 * chunk + 2, 2)``, add up to a proof."""
    wires = first.shape[1] - 2
    for report in range(first.shape[0]):
        total = _plus(_at(first[report], 0), _at(second[report], 0))
        value = (_NO, _NO)
        for place in range(1, wires + 1, 2):
            left = _plus(_at(first[report], place), _at(second[report], place))
            right = _plus(_at(first[report], place + 1), _at(second[report], place + 1))
            value = _plus(value, _times(_marked(left), right))
        claimed = _plus(_at(first[report], wires + 1), _at(second[report], wires + 1))
        passed[report] = total == (_NO, _NO) and value == claimed


@njit(cache=True, nogil=True)
def proved(hot: NDArray[np.int64], starts: Words, joint: Words, odd: tuple[Words, Words], sums: Words) -> None:
    """The polynomials of sums of products of some reports, each of one cell: see `Prio3Histogram.shared`.

    Args:
        hot: ``(reports,)``: the cell of each. SECRET.
        starts: ``(reports, 2 * chunk, 2)``.
        joint: ``(reports, calls, 2)``.
        odd: ``(points, 2)`` each: values at odd nodes, of the polynomial that is 1 at node 0, and of the sum of those
            that are 1 at a call's node; marked.
        sums: ``(reports, 2 * points - 1, 2)``: what is written.
    """
    first, rest = odd
    chunk, points = starts.shape[1] // 2, first.shape[0]
    zero, one = (_NO, _NO), (_ONE_0, _ONE_1)
    for report in range(hot.shape[0]):
        call, place = hot[report] // chunk, hot[report] % chunk
        ratio = _marked(_at(joint[report], call))
        risen = one
        for step in range(chunk):  # as many for each cell
            risen = _times(risen, ratio) if step <= place else risen
        products, left = zero, zero
        for each in range(chunk):
            a, b = _at(starts[report], 2 * each), _at(starts[report], 2 * each + 1)
            products, left = _plus(products, _times(_marked(a), b)), _plus(left, a)
        a, b = _at(starts[report], 2 * place), _at(starts[report], 2 * place + 1)
        sums[report] = 0
        _put(sums[report], 0, products)
        for number in range(points - 1):
            start, others = _at(first, number), _at(rest, number)
            own = _at(first, (number - call - 1) % points)
            inner = _plus(_minus(_marked(_times(b, start)), others), own)
            value = _times(_minus(_times(products, start), _times(left, others)), start)
            value = _plus(value, _times(_times(a, start), own))
            value = _plus(value, _times(_times(risen, _times(own, inner)), (_YES, _NO)))
            _put(sums[report], 2 * number + 1, value)
