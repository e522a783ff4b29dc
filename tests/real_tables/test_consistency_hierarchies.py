"""Counts that are made consistent are whole, from 0 on, and add up over any hierarchy, near least squares."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.curves.consistency import apportion_total, round_parts

NESTED = {
    "north": {"n1": ["n11", "n12", "n13"], "n2": ["n21"]},
    "south": {"s1": ["s11", "s12"], "s2": ["s21", "s22", "s23", "s24"], "s3": ["s31", "s32"]},
}
LEVELS = "country", "region", "town"
REGION = {region: country for country, regions in NESTED.items() for region in regions}
TOWN = {town: region for regions in NESTED.values() for region, towns in regions.items() for town in towns}
TOWNS, REGIONS, SEXES = tuple(TOWN), tuple(REGION), ("F", "M")


def people(size: int, seed: int) -> dict[str, Any]:
    """A table in which some towns have hardly anybody."""
    draw = np.random.default_rng(seed)
    weights = draw.exponential(1.0, len(TOWNS)) ** 2
    town = draw.choice(TOWNS, size, p=weights / weights.sum()).tolist()
    region = [TOWN[each] for each in town]
    country, sex = [REGION[each] for each in region], draw.choice(SEXES, size).tolist()
    return {"age": [40.0] * size, "town": town, "region": region, "country": country, "sex": sex}


def released(table: Any, by: Any, seed: int, adjacency: Any = dp.ADD_REMOVE) -> dict[str, Any]:
    """Counts by each of these categories."""
    loss = dp.PrivacyLoss.pure("0.2")
    whole = loss * Fraction(len(by))
    with dp.Session(table, budget=whole, adjacency=adjacency, randomness=dp.Randomness.from_seed(seed)) as session:
        return {name: session.ask(dp.CountQuestion("age", by=each), loss) for name, each in by.items()}


COUNTRY = dp.Categories("country", tuple(NESTED))
BY = {
    "towns": dp.Categories("town", TOWNS), "regions": dp.Categories("region", REGIONS), "countries": COUNTRY,
    "all": None,
}  # fmt: skip
WITH_SEX = {
    "parts": (BY["towns"], dp.Categories("sex", SEXES)), "regions": (BY["regions"], dp.Categories("sex", SEXES)),
    "sexes": dp.Categories("sex", SEXES), "countries": COUNTRY,
}  # fmt: skip


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [30, 3000])
def test_counts_of_a_tree_of_four_levels_are_whole_and_add_up(size: int, seed: int) -> None:
    fitted = dp.make_consistent(released(people(size, seed), BY, seed), levels=LEVELS, nested=NESTED)
    towns, regions, countries = (fitted.table(name) for name in ("towns", "regions", "countries"))
    for region in REGIONS:
        assert regions[region] == sum(towns[town] for town in TOWNS if TOWN[town] == region)
    for country in NESTED:
        assert countries[country] == sum(regions[region] for region in REGIONS if REGION[region] == country)
    assert fitted.table("all")[()] == sum(countries.values())
    assert all(type(count) is int and count >= 0 for count in (*towns.values(), *regions.values()))
    # Numbers that could stay are moved by less than one for each level; of 30 people, noise sets many to 0.
    if size > 100 and fitted.least_squares.min() > 1:
        assert np.abs(fitted.values - fitted.least_squares).max() <= len(LEVELS)
    low, high = fitted.intervals(0.5).T
    assert ((low <= fitted.values) & (fitted.values <= high)).all()
    assert (low == np.floor(low)).all()
    assert (low >= 0).all()


def test_totals_that_cross_add_up_and_stay_near() -> None:
    table = people(4000, 5)
    fitted = dp.make_consistent(released(table, WITH_SEX, 5), levels=LEVELS, nested=NESTED)
    parts = fitted.table("parts")
    for sex in SEXES:
        assert fitted.table("sexes")[sex] == sum(parts[town, sex] for town in TOWNS)
        for region in REGIONS:
            assert fitted.table("regions")[region, sex] == sum(parts[t, sex] for t in TOWNS if TOWN[t] == region)
    for country in NESTED:
        own = [town for town in TOWNS if REGION[TOWN[town]] == country]
        assert fitted.table("countries")[country] == sum(parts[town, sex] for town in own for sex in SEXES)
    positive = np.maximum(fitted.least_squares, 0.0)
    crossing = fitted.to_frame()["table"] == "sexes"
    assert np.abs(fitted.values - positive)[crossing].max() <= 1.0


def test_whole_parts_are_the_nearest_ones_where_all_can_be_tried() -> None:
    """In two groups of two parts, no other whole parts with their totals are nearer in parts and totals together."""
    draw = np.random.default_rng(3)
    group = [np.array([0, 0, 1, 1])]
    for _ in range(40):
        parts = draw.normal(1.0, 1.5, 4)
        whole = round_parts(parts, group)
        assert (whole >= 0).all()
        total = max(round(float(parts.sum())), 0)
        assert whole.sum() == total
        for side in (slice(0, 2), slice(2, 4)):
            share, ways = whole[side], range(int(whole[side].sum()) + 1)
            squares = [((np.array([one, len(ways) - 1 - one]) - parts[side]) ** 2).sum() for one in ways]
            assert ((share - parts[side]) ** 2).sum() <= min(squares) + 1e-9
    assert apportion_total(np.array([0.5, 0.5]), 1).sum() == 1
    assert round_parts(np.array([-3.0, -2.0]), []).tolist() == [0.0, 0.0]
    assert round_parts(np.array([7.2, 5.0]), [], 10).sum() == 10


def test_crossing_totals_of_a_large_table_are_near() -> None:
    """Rows and columns of 40 x 30 cells, each off by a fraction: all margins come within one."""
    parts = np.random.default_rng(1).uniform(0, 9, 1200)
    rows, columns = np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40)
    whole = round_parts(parts, [rows, columns])
    for group in (rows, columns):
        assert np.abs(np.bincount(group, whole - parts)).max() <= 1.5
    assert np.abs(whole - parts).max() <= 2


def test_a_public_number_of_people_is_no_less_than_their_counts() -> None:
    fitted = dp.make_consistent(released(people(40, 1), BY, 1, dp.REPLACE_ONE), levels=LEVELS, nested=NESTED)
    assert fitted.table("all")[()] <= 40
    assert fitted.intervals(0.9)[:, 1].max() <= 40


def test_documents_frames_and_commands_have_the_tree(tmp_path: Path) -> None:
    results = released(people(500, 2), BY, 2)
    fitted = dp.make_consistent(results, levels=LEVELS, nested=NESTED)
    again = dp.ConsistentTotals.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert again.values.tolist() == fitted.values.tolist()
    frame = fitted.to_frame()
    row = frame[(frame["table"] == "towns") & (frame["town"] == "s23")].iloc[0]
    assert (row["country"], row["region"]) == ("south", "s2")
    names = []
    for name, result in results.items():
        names.append(str(tmp_path / f"{name}.json"))
        Path(names[-1]).write_text(result.to_json())
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps({"levels": LEVELS, "nested": NESTED}))
    out = tmp_path / "totals.csv"
    asked = CliRunner().invoke(build(), ["make-consistent", *names, "--tree", str(tree), "--csv", str(out)])
    assert asked.exit_code == 0, asked.output
    assert len(out.read_text().splitlines()) == 1 + len(fitted.values)


@pytest.mark.parametrize(
    ("levels", "nested", "words"),
    [
        (("region",), ["a"], "levels: give two or more"),
        (("region", "town"), {}, "nested: give levels and nested together"),
        (("region", "town"), {"a": {"b": ["c"]}}, "nested: a list of labels"),
        (("region", "town"), ["a"], "nested: a mapping from labels of 'region'"),
        (("region", "town"), {"n1": ["n11"], "n2": ["n11"]}, "nested: label 'n11' of 'town' has two parents"),
        (("region", "town"), {"n1": ["n11"]}, "nested: label 'n12' of 'town' is missing"),
        ((), (), "results: a result with the categories of all"),
    ],
)
def test_a_tree_that_does_not_fit_is_refused(levels: Any, nested: Any, words: str) -> None:
    results = released(people(50, 1), {name: BY[name] for name in ("towns", "regions")}, 1)
    with pytest.raises(InvalidArgument, match=f"^{words}"):
        dp.make_consistent(results, levels=levels, nested=nested)
