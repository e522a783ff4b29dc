"""Prio3 proofs over many reports in Field128 (VDAF), compiled by numba: field arithmetic, and loops over reports.

    prove_reports     client: the proof that a report counts exactly one cell
    query_reports     server: its verification message about each report, from its shares of report and proof
    decide_reports    both servers' messages -> whether each report is accepted

The results equal those of `plain`, which uses Python integers; import this module only if numba is installed.

A field element is a pair of 64-bit words (low, high); arrays are (..., 2). Products are in Montgomery form, with the
radix R = 2**128:

    _to_montgomery(a)    a * R mod p             _multiply(a, b)    a * b / R mod p

so one factor in Montgomery form gives the plain product.

Reference: Montgomery 1985, *Modular multiplication without trial division*.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpcurves.arrays import compile_with_numba

from .field import MODULUS, QueryInputs, Words, from_integers

_UPPER = np.uint64(MODULUS >> 64)
"""Upper 64-bit word of the field's modulus, whose lower word is 1: pairs of words are compared with it and reduced by
it."""
_SQUARE = from_integers([2**256])[0]
"""2**256 modulo the prime, as two words: Montgomery multiplication by it converts a number to Montgomery form."""
_ONE = from_integers([2**128])[0]
"""1 in Montgomery form, 2**128 modulo the prime, as two words: the factor that changes nothing."""
_SQUARE_0, _SQUARE_1 = _SQUARE  # its words, as numba takes scalars only as constants
_ONE_0, _ONE_1 = _ONE
_NO = np.uint64(0)
"""Word 0, of numba's unsigned type: no carry or borrow, or a zero word of a number."""
_YES = np.uint64(1)
"""Word 1, of numba's unsigned type: a carry or borrow, or the low word of the modulus."""


@compile_with_numba
def prove_reports(
    cells: NDArray[np.int64], wire_seeds: Words, joint_rand: Words, odd: tuple[Words, Words], gadget_values: Words
) -> None:
    """Write the gadget polynomials of reports with one cell each (see `Prio3Histogram.shard`).

    Args:
        cells: SECRET. The cell of each report, ``(reports,)``.
        wire_seeds: ``(reports, 2 * chunk, 2)``.
        joint_rand: ``(reports, calls, 2)``.
        odd: Values at odd nodes, ``(points, 2)`` each, in Montgomery form: of the Lagrange polynomial of node 0, and of
            the sum over the nodes of calls.
        gadget_values: Output, ``(reports, 2 * points - 1, 2)``.
    """
    first, call_sums = odd
    chunk = wire_seeds.shape[1] // 2
    points = first.shape[0]
    zero = (_NO, _NO)
    montgomery_one = (_ONE_0, _ONE_1)
    for report in range(cells.shape[0]):
        call = cells[report] // chunk
        cell_position = cells[report] % chunk
        ratio = _to_montgomery(_load(joint_rand[report], call))
        power = montgomery_one
        for step in range(chunk):  # the same number of steps for each cell, so that the time shows no cell
            power = _multiply(power, ratio) if step <= cell_position else power
        products, left_sum = zero, zero
        for position in range(chunk):
            a = _load(wire_seeds[report], 2 * position)
            b = _load(wire_seeds[report], 2 * position + 1)
            products = _add(products, _multiply(_to_montgomery(a), b))
            left_sum = _add(left_sum, a)
        a = _load(wire_seeds[report], 2 * cell_position)
        b = _load(wire_seeds[report], 2 * cell_position + 1)
        gadget_values[report] = 0
        _store(gadget_values[report], 0, products)
        for number in range(points - 1):
            start = _load(first, number)
            others = _load(call_sums, number)
            call_value = _load(first, (number - call - 1) % points)
            inner = _add(_subtract(_to_montgomery(_multiply(b, start)), others), call_value)
            value = _multiply(_subtract(_multiply(products, start), _multiply(left_sum, others)), start)
            value = _add(value, _multiply(_multiply(a, start), call_value))
            value = _add(value, _multiply(_multiply(power, _multiply(call_value, inner)), (_YES, _NO)))
            _store(gadget_values[report], 2 * number + 1, value)


@compile_with_numba
def query_reports(inputs: QueryInputs, nodes: Words, parts: Words, messages: Words) -> None:
    """Write one server's verification messages about all reports: its side of the Prio3 proof check, in compiled code.

    Args:
        inputs: Shares of the reports, with joint and query randomness.
        nodes: ``(2 * points, 2)``: roots of unity of this order, in Montgomery form.
        parts: ``(3, 2)``: inverses of 2, of `points` and of ``2 * points``, in Montgomery form.
        messages: Output, ``(reports, 2 * chunk + 2, 2)``: the number that must be 0, the wires, the gadget polynomial.
    """
    calls = inputs.joint_rand.shape[1]
    points = nodes.shape[0] // 2
    zero = (_NO, _NO)
    plain_one = (_YES, _NO)
    montgomery_one = (_ONE_0, _ONE_1)
    weights = np.empty((calls + 1, 2), np.uint64)
    half = _multiply(_load(parts, 0), plain_one)
    for report in range(inputs.cells.shape[0]):
        point = _to_montgomery(_load(inputs.query_rand[report], 2))
        query = inputs.query_rand[report]
        power = point
        step = 1
        while step < points:
            power = _multiply(power, power)
            step = 2 * step
        double = _subtract(_multiply(power, power), montgomery_one)
        if double == zero:  # the point is a node: both servers refuse it; one in over 2**100 reports
            messages[report] = 0
            _store(messages[report], 0, plain_one)
            continue
        inverses = _invert_differences(point, nodes)
        value, call_sum = _evaluate_gadget(inputs.gadget_values[report], nodes, inverses, calls)
        _store(messages[report], messages.shape[1] - 1, _multiply(value, _multiply(double, _load(parts, 2))))
        scale = _multiply(_subtract(power, montgomery_one), _load(parts, 1))
        for call in range(calls + 1):
            _store(weights, call, _multiply(_multiply(_load(nodes, 2 * call), _load(inverses, 2 * call)), scale))
        cell_sum = _write_wires(
            (inputs.cells[report], inputs.wire_seeds[report]),
            inputs.joint_rand[report],
            weights,
            half,
            messages[report],
        )
        first = _multiply(_to_montgomery(_load(query, 0)), call_sum)
        _store(messages[report], 0, _add(first, _multiply(_to_montgomery(_load(query, 1)), _subtract(cell_sum, half))))


@compile_with_numba
def decide_reports(first: Words, second: Words, is_accepted: NDArray[np.bool_]) -> None:
    """Decide for each report whether both servers' messages add up to a valid proof.

    Args:
        first: Messages of one server, ``(reports, 2 * chunk + 2, 2)``.
        second: Messages of the other, of the same shape.
        is_accepted: Output, ``(reports,)``.
    """
    wires = first.shape[1] - 2
    for report in range(first.shape[0]):
        total = _add(_load(first[report], 0), _load(second[report], 0))
        value = (_NO, _NO)
        for index in range(1, wires + 1, 2):
            left_wire = _add(_load(first[report], index), _load(second[report], index))
            right_wire = _add(_load(first[report], index + 1), _load(second[report], index + 1))
            value = _add(value, _multiply(_to_montgomery(left_wire), right_wire))
        claimed = _add(_load(first[report], wires + 1), _load(second[report], wires + 1))
        is_accepted[report] = total == (_NO, _NO) and value == claimed


@intrinsic
def _emit_upper_word(typing: Any, first: Any, second: Any) -> Any:
    """Return the upper 64 bits of the 128-bit product of two words (numba intrinsic).

    Args:
        typing: Typing context of numba.
        first: Type of the first factor.
        second: Type of the second factor.

    Returns:
        The signature, and the function that emits the LLVM code.
    """

    def generate_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit one product into the LLVM builder, and return its upper word.

        Args:
            context: Unused; numba passes its target context.
            builder: LLVM instruction builder of the calling function.
            signature: Unused; numba passes the types of the call.
            arguments: Both 64-bit factors, as LLVM values.

        Returns:
            Upper 64 bits of the 128-bit product, as an LLVM value.
        """
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(factor, wide) for factor in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate_code


_upper: Any = _emit_upper_word


@partial(compile_with_numba, inline="always")
def _reduce(low: Any, high: Any, beyond: Any) -> Any:
    """Reduce a number below twice the modulus by one conditional subtraction; return it as two words.

    Args:
        low: Low word of the number.
        high: High word.
        beyond: Whether bit 128 of the number is set.
    """
    if beyond or high > _UPPER or (high == _UPPER and low >= _YES):
        borrow = _YES if low < _YES else _NO
        return low - _YES, high - _UPPER - borrow
    return low, high


@compile_with_numba
def _add(a: Any, b: Any) -> Any:
    """Return the sum of two field elements, as a pair of words below the modulus.

    Args:
        a: Pair of a low and a high word, below the modulus.
        b: Another pair.
    """
    low = a[0] + b[0]
    carry = _YES if low < a[0] else _NO
    high = a[1] + b[1]
    overflows = high < a[1]
    high += carry
    return _reduce(low, high, overflows or high < carry)


@compile_with_numba
def _subtract(a: Any, b: Any) -> Any:
    """Return the difference of two field elements, as a pair of words below the modulus.

    Args:
        a: Pair of a low and a high word, below the modulus.
        b: The pair that is subtracted.
    """
    low = a[0] - b[0]
    high = a[1] - b[1]
    borrow = _YES if a[0] < b[0] else _NO
    is_negative = a[1] < b[1] or (a[1] == b[1] and borrow == _YES)
    high -= borrow
    if is_negative:
        low += _YES
        high += _UPPER + (_YES if low == _NO else _NO)
    return low, high


@compile_with_numba
def _multiply(a: Any, b: Any) -> Any:
    """Return the Montgomery product ``a * b / 2**128`` modulo the modulus, as a pair of words below it.

    With one factor in Montgomery form this is the plain product. The modulus is 1 modulo 2**64, so the factor of the
    modulus that clears the lowest word is that word's negative.

    Args:
        a: Pair of a low and a high word.
        b: Another pair.
    """
    t0 = a[0] * b[0]
    t1 = _upper(a[0], b[0])
    product = a[0] * b[1]
    t1 += product
    t2 = _upper(a[0], b[1]) + (_YES if t1 < product else _NO)
    m = _NO - t0
    product = m * _UPPER + (_YES if t0 else _NO)  # no overflow: multiples of _UPPER are even
    t1 += product
    carry = _YES if t1 < product else _NO
    product = _upper(m, _UPPER) + carry
    t2 += product
    t3 = _YES if t2 < product else _NO
    # Second pass: the high word of a.
    low = a[1] * b[0]
    t1 += low
    carry = _YES if t1 < low else _NO
    product = _upper(a[1], b[0]) + carry
    t2 += product
    t3 += _YES if t2 < product else _NO
    low = a[1] * b[1]
    t2 += low
    carry = _YES if t2 < low else _NO
    t3 += _upper(a[1], b[1]) + carry
    m = _NO - t1
    product = m * _UPPER + (_YES if t1 else _NO)
    t2 += product
    carry = _YES if t2 < product else _NO
    product = _upper(m, _UPPER) + carry
    t3 += product
    return _reduce(t2, t3, t3 < product)


@compile_with_numba
def _load(words: Any, index: Any) -> Any:
    """Return one element of an array as a pair of a low and a high word.

    Args:
        words: Elements, (number, 2).
        index: Position of the element.
    """
    return words[index, 0], words[index, 1]


@compile_with_numba
def _store(words: Any, index: Any, number: Any) -> None:
    """Write one field element, a pair of words, into an array.

    Args:
        words: Elements, (number, 2).
        index: Position of the element.
        number: Pair of a low and a high word.
    """
    words[index, 0], words[index, 1] = number


@compile_with_numba
def _to_montgomery(number: Any) -> Any:
    """Convert a field element to Montgomery form (the number times 2**128), in which products are fast.

    Args:
        number: Residue as a pair of 64-bit words, the lower one first.

    Returns:
        Pair of 64-bit words of the product, reduced modulo the prime.
    """
    return _multiply(number, (_SQUARE_0, _SQUARE_1))


@compile_with_numba
def _invert(number: Any) -> Any:
    """Return the inverse of a number, both in Montgomery form: its power with exponent modulus - 2."""
    result = (_ONE_0, _ONE_1)
    # The exponent, modulus - 2, is (2**64 - 29) * 2**64 + (2**64 - 1): two words.
    for word in (_UPPER - _YES, ~_NO):
        for bit in range(63, -1, -1):
            result = _multiply(result, result)
            if (word >> np.uint64(bit)) & _YES:
                result = _multiply(result, number)
    return result


@compile_with_numba
def _invert_differences(point: Any, nodes: Words) -> Any:
    """Return the inverses of ``point - node`` for all nodes, by one inversion (Montgomery's trick).

    Args:
        point: An element that is no node, in Montgomery form.
        nodes: Elements in Montgomery form, (nodes, 2).

    Returns:
        Elements in Montgomery form, (nodes, 2).
    """
    prefix_products = np.empty((len(nodes) + 1, 2), np.uint64)
    inverses = np.empty((len(nodes), 2), np.uint64)
    _store(prefix_products, 0, (_ONE_0, _ONE_1))
    for index in range(len(nodes)):
        _store(
            prefix_products, index + 1, _multiply(_load(prefix_products, index), _subtract(point, _load(nodes, index)))
        )
    inverse_product = _invert(_load(prefix_products, len(nodes)))
    for index in range(len(nodes) - 1, -1, -1):
        _store(inverses, index, _multiply(inverse_product, _load(prefix_products, index)))
        inverse_product = _multiply(inverse_product, _subtract(point, _load(nodes, index)))
    return inverses


@compile_with_numba
def _evaluate_gadget(sums: Words, nodes: Words, inverses: Words, calls: Any) -> Any:
    """Return the gadget polynomial's value at a point, up to a factor, and the sum of its values at calls' nodes.

    The values times the nodes add up to 0 because of the polynomial's degree; this determines the last value, which
    proofs omit.

    Args:
        sums: Values of the polynomial at all nodes except the last, (nodes - 1, 2).
        nodes: Roots of unity in Montgomery form, (nodes, 2).
        inverses: Inverses of the point minus each node, in Montgomery form, (nodes, 2).
        calls: Number of calls of the gadget.
    """
    weighted_sum = (_NO, _NO)
    value = (_NO, _NO)
    call_sum = (_NO, _NO)
    for index in range(len(nodes)):
        node = _load(nodes, index)
        if index < len(nodes) - 1:
            number = _load(sums, index)
            weighted_sum = _add(weighted_sum, _multiply(number, node))
        else:
            number = _subtract((_NO, _NO), _multiply(weighted_sum, _load(nodes, 1)))
        value = _add(value, _multiply(number, _multiply(node, _load(inverses, index))))
        if index % 2 == 0 and 2 <= index <= 2 * calls:
            call_sum = _add(call_sum, number)
    return value, call_sum


@compile_with_numba
def _write_wires(shares: tuple[Words, Words], joint: Words, weights: Words, half: Any, message: Words) -> Any:
    """Write the gadget's wire values at the random point into a verifier message, and return the sum of the cell
    shares.

    At node 0 wires have their random starts, at the node of call c the cells of chunk c.

    Args:
        shares: The server's shares of the cells and of the wires' starts.
        joint: Joint randomness, one element per call, (calls, 2).
        weights: Lagrange weights at the point, in Montgomery form: of node 0 and of each call's node, (calls + 1, 2).
        half: One half: each server subtracts half of a public constant.
        message: Output, (2 * chunk + 2, 2), of which all but the first and last element are written.
    """
    cells, starts = shares
    chunk = len(starts) // 2
    total = (_NO, _NO)
    cell_sum = (_NO, _NO)
    for call in range(len(joint)):
        total = _add(total, _load(weights, call + 1))
    half_total = _multiply(total, half)
    for position in range(chunk):
        _store(message, 2 * position + 1, _multiply(_load(starts, 2 * position), _load(weights, 0)))
        _store(
            message,
            2 * position + 2,
            _subtract(_multiply(_load(starts, 2 * position + 1), _load(weights, 0)), half_total),
        )
    for call in range(len(joint)):
        weight = _load(weights, call + 1)
        ratio = _to_montgomery(_load(joint, call))
        power = weight
        for position in range(min(chunk, len(cells) - call * chunk)):
            cell = _load(cells, call * chunk + position)
            first = 2 * position + 1
            second = 2 * position + 2
            power = _multiply(power, ratio)
            cell_sum = _add(cell_sum, cell)
            _store(message, first, _add(_load(message, first), _multiply(cell, power)))
            _store(message, second, _add(_load(message, second), _multiply(cell, weight)))
    return cell_sum
