"""The cases of parametrised tests that `make test` runs; `make test-slow` runs the others.

A case that `@pytest.mark.quick_share(8)` leaves out has the marker `reproduction`. Without `-m` a file runs whole.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

QUICK_SHARE = (
    "quick_share(one_in, kinds=None): one case in so many and one of each kind are quick, others `reproduction`"
)


def choose_quick_cases(
    cases: Mapping[str, Mapping[str, object]], one_in: int, kinds: Collection[str | tuple[str, ...]] | None = None
) -> set[str]:
    """Return the cases of a parametrised test that stay quick: one in `one_in` or more, the same ones in all runs.

    `cases` maps names of cases to their arguments. Each value of the arguments that `kinds` names is in a case that
    stays, and each combination of values, where names are in a tuple; by default each value of all arguments whose
    values repeat, such as those of a cross product. Each adjacency stays under each kind of loss, whatever `kinds` are.
    """
    values: dict[str, dict[str, object]] = defaultdict(dict)
    for case, arguments in cases.items():
        for name, value in arguments.items():
            values[name][case] = comparable_value(value)
    if kinds is None:
        kinds = [name for name, of_cases in values.items() if 2 * len(set(of_cases.values())) <= len(cases)]
    together = [(kind,) if isinstance(kind, str) else kind for kind in kinds]
    if unknown := {name for names in together for name in names} - set(values):
        raise pytest.UsageError(f"quick_share: kinds must be arguments of the test, got {', '.join(sorted(unknown))}")
    order = sorted(cases, key=lambda case: hashlib.sha256(case.encode()).digest())
    kinds_of = {
        case: {
            *((names, tuple(values[name].get(case) for name in names)) for names in together),
            ((), privacy_kind(cases[case])),
        }
        for case in order
    }
    missing = set().union(*kinds_of.values())
    chosen: list[str] = []
    while missing:
        best = max(order, key=lambda case: len(missing & kinds_of[case]))
        chosen.append(best)
        missing -= kinds_of[best]
    others = [case for case in order if case not in chosen]
    wanted = -(-len(cases) // one_in)  # rounded up
    return {*chosen, *others[: max(wanted - len(chosen), 0)]}


def privacy_kind(arguments: Mapping[str, object]) -> tuple[object, ...]:
    """Return the adjacencies among the arguments of a case, and of each loss whether it is pure."""
    # Late, because `conftest.py` limits the threads of NumPy before it is imported.
    from dpcurves.privacy import AddRemove, Neighbours, PrivacyLoss, ReplaceOne

    adjacencies = [value for value in arguments.values() if isinstance(value, AddRemove | Neighbours | ReplaceOne)]
    return (*adjacencies, *(value.is_pure for value in arguments.values() if isinstance(value, PrivacyLoss)))


def comparable_value(value: object) -> object:
    """Return what is equal for equal arguments: the value, or the object itself where it has no hash."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def mark_slow_cases(items: Sequence[pytest.Item]) -> None:
    """Give each case that `quick_share` leaves out the marker `reproduction`."""
    families: dict[tuple[Path, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        markers = {marker.name for marker in item.iter_markers()}
        if isinstance(item, pytest.Function) and "quick_share" in markers and "reproduction" not in markers:
            families[item.path, item.nodeid.split("[")[0]].append(item)
    for family in families.values():
        marker = family[0].get_closest_marker("quick_share")
        assert marker is not None
        cases = {item.name: item.callspec.params for item in family}
        quick = choose_quick_cases(cases, *marker.args, **marker.kwargs)
        for item in family:
            if item.name not in quick:
                item.add_marker("reproduction")
