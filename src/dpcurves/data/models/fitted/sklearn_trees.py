"""Trees of scikit-learn as lists of thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....arguments import Refused
from ..link import Link
from ..tree import LEAF, Tree

SINGLE = {"DecisionTreeRegressor", "DecisionTreeClassifier", "ExtraTreeRegressor", "ExtraTreeClassifier"}
FORESTS = {"RandomForestRegressor", "RandomForestClassifier", "ExtraTreesRegressor", "ExtraTreesClassifier"}
BOOSTED = {"GradientBoostingRegressor", "GradientBoostingClassifier"}
Parts = tuple[tuple[str, ...], tuple[Tree, ...], float, float, Link]


def read(model: Any, columns: Sequence[str] | None) -> Parts:
    """Columns, trees, base, factor and link of a fitted model.

    Raises:
        ValueError: see `Trees.from_sklearn`.
    """
    kind = type(model).__name__
    if kind not in SINGLE | FORESTS | BOOSTED:
        raise Refused("model", f"{kind} is not read; there are {', '.join(sorted(SINGLE | FORESTS | BOOSTED))}")
    if not hasattr(model, "n_features_in_"):
        raise Refused("model", "it is not fitted")
    names = columns if columns is not None else getattr(model, "feature_names_in_", None)
    if names is None or len(names) != model.n_features_in_:
        raise Refused("columns", f"the names of its {model.n_features_in_} columns are needed")
    if getattr(model, "n_classes_", 2) not in (1, 2) or getattr(model, "n_outputs_", 1) != 1:
        raise Refused("model", "one prediction for each record is needed: two classes, or one number")
    named = tuple(map(str, names))
    if kind in BOOSTED:
        base, link = _start(model)
        grown = [_tree(each.tree_, -1) for each in model.estimators_[:, 0]]
        return named, tuple(grown), base, float(model.learning_rate), link
    place = 1 if kind.endswith("Classifier") else -1
    members = [model] if kind in SINGLE else model.estimators_
    return named, tuple(_tree(each.tree_, place) for each in members), 0.0, 1 / len(members), Link.IDENTITY


def _start(model: Any) -> tuple[float, Link]:
    """The initial prediction of boosting: read at one record, for it is the same for all."""
    if not (isinstance(model.init_, str) or type(model.init_).__name__ in {"DummyRegressor", "DummyClassifier"}):
        raise Refused("model", "boosting that begins with a model of its own is not read")
    classifier = type(model).__name__ == "GradientBoostingClassifier"
    if classifier and model.loss != "log_loss":
        raise Refused("model", "of boosted classifiers those with log_loss are read")
    if isinstance(model.init_, str):  # 'zero'
        return 0.0, Link.LOGIT if classifier else Link.IDENTITY
    blank = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return float(model._raw_predict_init(blank).item()), Link.LOGIT if classifier else Link.IDENTITY


def _tree(tree: Any, place: int) -> Tree:
    inner = tree.children_left != LEAF
    values = tree.value[:, 0, :]
    # Counts in older versions, shares in newer ones: a share either way.
    leaves = values[:, place] / values.sum(axis=1) if place == 1 else values[:, 0]
    return Tree(
        tuple(np.where(inner, tree.feature, LEAF).tolist()),
        tuple(map(before_rounding, np.where(inner, tree.threshold, 0.0).tolist())),
        tuple(np.where(inner, tree.children_left, 0).tolist()),
        tuple(np.where(inner, tree.children_right, 0).tolist()),
        tuple(np.where(inner, 0.0, leaves).tolist()),
    )


def before_rounding(threshold: float) -> float:
    """The largest double that is not above the threshold after it is rounded to single precision.

    >>> before_rounding(0.5) > 0.5, float(np.float32(before_rounding(0.5)))
    (True, 0.5)
    """
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    middle = (float(below) + float(above)) / 2
    return middle if float(np.float32(middle)) <= threshold else float(np.nextafter(middle, -np.inf))
