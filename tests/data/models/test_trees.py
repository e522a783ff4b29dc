"""Trees: thresholds alone, and the numbers of scikit-learn."""

from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.models import Tree, TreeEnsemble, predictor_from_json

STUMP = Tree((0, -1, -1), (0.5, 0.0, 0.0), (1, 0, 0), (2, 0, 0), (0.0, 1.0, 2.0))


def flights(size: int = 2000) -> pd.DataFrame:
    draw = np.random.default_rng(3)
    return pd.DataFrame({"delay": draw.normal(0, 1, size), "stay": draw.exponential(1, size)})


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=6), RandomForestClassifier(7, max_depth=5, random_state=1),
        RandomForestRegressor(5, max_depth=5, random_state=1), GradientBoostingClassifier(n_estimators=12),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_predictions_are_those_of_scikit_learn_at_its_own_thresholds_too(model: object) -> None:
    table = flights()
    model.fit(table, (table["delay"] + table["stay"] > 1).astype(int))  # type: ignore[attr-defined]
    found = dp.TreeEnsemble.from_sklearn(model, name="late")
    cuts = np.array([cut for tree in found.trees for cut, told in zip(tree.threshold, tree.column, strict=True)
                     if told >= 0])  # fmt: skip
    near = np.concatenate([cuts, np.nextafter(cuts, inf), np.nextafter(cuts, -inf)])
    tried = pd.concat([table, pd.DataFrame({"delay": near, "stay": near})])
    classifier = hasattr(model, "predict_proba")
    wanted = model.predict_proba(tried)[:, 1] if classifier else model.predict(tried)  # type: ignore[attr-defined]
    assert np.abs(found.predict(tried) - wanted).max() < 1e-12
    again = predictor_from_json(found.to_json())
    assert again == found
    assert again.predict(tried).tobytes() == found.predict(tried).tobytes()


def test_a_score_does_not_depend_on_other_records_nor_on_batches_nor_on_places() -> None:
    table, draw = flights(500), np.random.default_rng(4)
    grown = RandomForestRegressor(9, random_state=1).fit(table, draw.normal(size=500))
    model = TreeEnsemble.from_sklearn(grown, name="late")
    whole = model.predict(table)
    for size in (1, 3, 64):
        end = min(100 * size, len(table))
        parts = [model.predict(table.iloc[start : min(start + size, end)]) for start in range(0, end, size)]
        assert np.concatenate(parts).tobytes() == whole[:end].tobytes()
    order = draw.permutation(len(table))
    assert model.predict(table.iloc[order]).tobytes() == whole[order].tobytes()


def test_missing_and_infinite_values_have_a_declared_outcome() -> None:
    found = TreeEnsemble("t", ("x",), (STUMP,)).predict({"x": [0.5, inf, -inf, 1e308, nan, None, "x"]})
    assert found[:4].tolist() == [1, 2, 1, 2]
    assert np.isnan(found[4:]).all()


@pytest.mark.parametrize(
    ("left", "column", "value"),
    [((0, 0, 0), (0, -1, -1), 1.0), ((3, 0, 0), (0, -1, -1), 1.0), ((1, 0, 0), (1, -1, -1), 1.0),
     ((1, 0, 0), (0, -1, -1), nan), ((1, 0, 0), (0, -1, -1), 1e301)],
)  # fmt: skip
def test_a_tree_that_could_run_for_ever_or_leave_its_lists_is_refused(
    left: tuple[int, ...], column: tuple[int, ...], value: float
) -> None:
    with pytest.raises(InvalidArgument):
        TreeEnsemble("t", ("x",), (Tree(column, (0.5, 0.0, 0.0), left, (2, 0, 0), (0.0, value, 2.0)),))
