"""Loops over reports in the field of 128 bits, as machine code. Import only where numba is."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .field import MODULUS, Words, of_integers

_UPPER = np.uint64(MODULUS >> 64)
_SQUARE = of_integers([2**256])[0]
_ONE = of_integers([2**128])[0]
_SQUARE_0, _SQUARE_1 = _SQUARE
_ONE_0, _ONE_1 = _ONE
_NO, _YES = np.uint64(0), np.uint64(1)


@intrinsic
def _upper(typing: Any, first: Any, second: Any) -> Any:
    """Upper word of the product of two words."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in given))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), code


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


@njit(cache=True, nogil=True)
def questioned(
    cells: Words, starts: Words, sums: Words, joint: Words, query: Words, nodes: Words, parts: Words, told: Words
) -> None:
    """Messages of one server, of all reports: see `Prio3Histogram.verified`.

    Args:
        cells: ``(reports, length, 2)``.
        starts: ``(reports, 2 * chunk, 2)``.
        sums: ``(reports, 2 * points - 1, 2)``.
        joint: ``(reports, calls, 2)``.
        query: ``(reports, 3, 2)``.
        nodes: ``(2 * points, 2)``: roots of unity of that order, marked.
        parts: ``(3, 2)``: an inverse of 2, and inverses of `points` and of its double, marked.
        told: ``(reports, 2 * chunk + 2, 2)``: what is written: what has to be 0, the wires, and the polynomial.
    """
    length, wires, calls, many = cells.shape[1], starts.shape[1], joint.shape[1], nodes.shape[0]
    chunk, points = wires // 2, many // 2
    zero, one = (_NO, _NO), (_YES, _NO)
    below, inverses = np.empty((many + 1, 2), np.uint64), np.empty((many, 2), np.uint64)
    weights = np.empty((calls + 1, 2), np.uint64)
    for report in range(cells.shape[0]):
        point = _marked(_at(query[report], 2))
        power = point
        step = 1
        while step < points:
            power = _times(power, power)
            step *= 2
        marked_one = (_ONE_0, _ONE_1)
        double = _minus(_times(power, power), marked_one)
        if double == zero:  # the point is a node: refused by all servers, once in more than 2**100 reports
            told[report] = 0
            _put(told[report], 0, one)
            continue
        # Inverses of the differences of the point and all nodes, by one inversion.
        _put(below, 0, marked_one)
        for place in range(many):
            _put(below, place + 1, _times(_at(below, place), _minus(point, _at(nodes, place))))
        back = _inverse(_at(below, many))
        for place in range(many - 1, -1, -1):
            _put(inverses, place, _times(back, _at(below, place)))
            back = _times(back, _minus(point, _at(nodes, place)))
        # The polynomial of sums of products: its degree is such that values times nodes add up to 0.
        scale = _times(double, _at(parts, 2))
        last, value, closed = zero, zero, zero
        for place in range(many):
            node = _at(nodes, place)
            if place < many - 1:
                number = _at(sums[report], place)
                last = _plus(last, _times(number, node))
            else:
                number = _minus(zero, _times(last, _at(nodes, 1)))
            value = _plus(value, _times(number, _times(node, _at(inverses, place))))
            if place % 2 == 0 and 2 <= place <= 2 * calls:
                closed = _plus(closed, number)
        _put(told[report], wires + 1, _times(value, scale))
        # Wires: at node 0 their starts, at node c what the chunk c shows.
        scale = _times(_minus(power, marked_one), _at(parts, 1))
        total = zero
        for call in range(calls + 1):
            weight = _times(_times(_at(nodes, 2 * call), _at(inverses, 2 * call)), scale)
            _put(weights, call, weight)
            if call:
                total = _plus(total, weight)
        half = _times(_at(parts, 0), one)
        less = _times(total, half)
        for place in range(chunk):
            _put(told[report], 2 * place + 1, _times(_at(starts[report], 2 * place), _at(weights, 0)))
            start = _times(_at(starts[report], 2 * place + 1), _at(weights, 0))
            _put(told[report], 2 * place + 2, _minus(start, less))
        whole = zero
        for call in range(calls):
            weight = _at(weights, call + 1)
            ratio = _marked(_at(joint[report], call))
            risen = weight
            for place in range(min(chunk, length - call * chunk)):
                cell = _at(cells[report], call * chunk + place)
                risen = _times(risen, ratio)
                whole = _plus(whole, cell)
                first, second = 2 * place + 1, 2 * place + 2
                _put(told[report], first, _plus(_at(told[report], first), _times(cell, risen)))
                _put(told[report], second, _plus(_at(told[report], second), _times(cell, weight)))
        whole = _minus(whole, half)
        first_part = _times(_marked(_at(query[report], 0)), closed)
        second_part = _times(_marked(_at(query[report], 1)), whole)
        _put(told[report], 0, _plus(first_part, second_part))


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
def proved(
    hot: NDArray[np.int64], starts: Words, joint: Words, first: Words, rest: Words, sums: Words
) -> None:
    """The polynomials of sums of products of some reports, each of one cell: see `Prio3Histogram.shared`.

    Args:
        hot: ``(reports,)``: the cell of each. SECRET.
        starts: ``(reports, 2 * chunk, 2)``.
        joint: ``(reports, calls, 2)``.
        first: ``(points, 2)``: values at odd nodes of the polynomial that is 1 at node 0, marked.
        rest: ``(points, 2)``: of the sum of those that are 1 at a call's node, marked.
        sums: ``(reports, 2 * points - 1, 2)``: what is written.
    """
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
