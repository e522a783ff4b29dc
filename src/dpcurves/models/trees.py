"""Tree ensembles: single decision trees, random forests and gradient boosting, imported from scikit-learn.

`TreeEnsemble.from_sklearn` converts a fitted model, and `predict` returns a score for each record:

    response(base + factor * sum over trees of the value of the leaf that the record falls into)

where ``response`` is the inverse of the link function. At each node a record goes left if its number is at or below the
threshold, else right. A forest has the factor 1 / trees, a boosted model its learning rate.

Numbers are only compared with thresholds, so columns need no declared range, even with huge or infinite numbers.
scikit-learn rounds numbers to single precision before it compares them. Here doubles are compared, with thresholds that
give the same decisions (`threshold_before_rounding`).

Formal guarantees: as for `Predictor`, a score is a function of one row, computed in the same order on all machines.

References: Breiman 2001 (random forests); Friedman 2001 (gradient boosting).

>>> stump = Tree((0, -1, -1), (40.0, 0.0, 0.0), (1, 0, 0), (2, 0, 0), (0.0, 0.1, 0.7))
>>> TreeEnsemble("late", ("delay",), (stump,)).predict({"delay": [40, 41]}).tolist()  # at most 40, above
[0.1, 0.7]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from ..arguments import (
    InvalidArgument,
    parse_choice,
    require_integer,
    require_known_fields,
    require_number,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray, IntArray, compile_loop
from ..data.axis import Input, Predictor, require_name
from .terms import Link

LEAF = -1
"""Column index of a node without children, as scikit-learn writes it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree as lists with one entry per node. Node 0 is the root, and children come after their parents.

    Attributes:
        column: Index of the column that the node compares; -1 for a leaf.
        threshold: Threshold of the comparison. Not used in a leaf.
        left: Index of the next node if the number is at most the threshold. Not used in a leaf.
        right: Index of the next node if the number is above the threshold. Not used in a leaf.
        value: Prediction of a leaf. Not used in other nodes.

    Raises:
        ValueError: the lists differ in length, a child does not come after its parent, or a number is not finite.
        TypeError: an attribute is not a list of numbers.
    """

    column: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("column", "left", "right"):
            numbers = require_sequence(name, getattr(self, name), "a list of whole numbers")
            object.__setattr__(self, name, tuple(require_integer(name, number) for number in numbers))
        for name in ("threshold", "value"):
            numbers = require_sequence(name, getattr(self, name), "a list of numbers")
            object.__setattr__(self, name, tuple(require_number(name, number) for number in numbers))
        size = len(self.column)
        if size < 1 or {len(self.threshold), len(self.left), len(self.right), len(self.value)} != {size}:
            raise InvalidArgument(
                "trees", "the lists of a tree differ in length, or are empty: give each one entry for every node"
            )
        inner = [node for node, column in enumerate(self.column) if column != LEAF]
        if any(not node < child < size for node in inner for child in (self.left[node], self.right[node])):
            raise InvalidArgument(
                "trees",
                "a child stands before its parent, or does not exist: number the nodes so that children follow their "
                "parents",
            )
        if not all(map(isfinite, (*self.threshold, *self.value))):
            raise InvalidArgument("trees", "thresholds and values must be finite: refit the model, or clip them")


# Models of scikit-learn that can be read.
SINGLE_TREE_CLASSES = {"DecisionTreeRegressor", "DecisionTreeClassifier", "ExtraTreeRegressor", "ExtraTreeClassifier"}
"""Classes of scikit-learn that are read as one tree. A class in none of these three sets is refused."""
FOREST_CLASSES = {"RandomForestRegressor", "RandomForestClassifier", "ExtraTreesRegressor", "ExtraTreesClassifier"}
"""Classes of scikit-learn whose trees are averaged."""
BOOSTED_CLASSES = {"GradientBoostingRegressor", "GradientBoostingClassifier"}
"""Classes of scikit-learn whose trees are added up, times the learning rate, to a constant."""
EnsembleParts = tuple[tuple[str, ...], tuple[Tree, ...], float, float, Link]
"""Fields of a `TreeEnsemble` except its name: columns, trees, base, factor and link."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TreeEnsemble(Predictor):
    """A sum of decision trees, times a factor, and a link function, usable wherever a column of scores is.

    Numbers are only compared with thresholds, so infinite and huge numbers need no declared range. A record that lacks
    one of the columns has no score.

    Formal guarantees: as for `Predictor`; leaves are added in the order of the trees, record by record.

    Attributes:
        name: Name of the scores in plots, statements and ledgers.
        columns: The numeric columns.
        trees: The trees, in order.
        base: Constant added to `factor` times the sum of leaves.
        factor: Factor of the sum of leaves, such as 1 / trees for a forest.
        link: Link function from the sum to the prediction.

    Raises:
        ValueError: a tree compares a missing column, there are more than 2**20 nodes, or the sum could overflow.

    >>> stump = Tree((0, -1, -1), (40.0, 0.0, 0.0), (1, 0, 0), (2, 0, 0), (0.0, 0.1, 0.7))
    >>> TreeEnsemble("late", ("delay",), (stump,)).predict({"delay": [40, 41, float("inf"), None]}).tolist()
    [0.1, 0.7, 0.7, nan]
    """

    KIND: ClassVar[str] = "tree-ensemble"

    name: str
    columns: tuple[str, ...]
    trees: tuple[Tree, ...]
    base: float = 0.0
    factor: float = 1.0
    link: Link = Link.IDENTITY

    def __post_init__(self) -> None:
        require_name(self.name)
        for name in ("columns", "trees"):
            object.__setattr__(self, name, require_sequence(name, getattr(self, name), "a tuple of them"))
        for name in ("base", "factor"):
            object.__setattr__(self, name, require_number(name, getattr(self, name)))
        object.__setattr__(self, "link", parse_choice("link", self.link, Link))
        for each in self.columns:
            require_type("columns", each, str, "the name of a column")
        if not self.columns or len(set(self.columns)) < len(self.columns) or not self.trees:
            raise InvalidArgument(
                "columns",
                "at least one column, each named once, and at least one tree are needed; use the text of to_json",
            )
        if any(not LEAF <= column < len(self.columns) for tree in self.trees for column in tree.column):
            raise InvalidArgument("trees", "a tree compares a column that does not exist: add its name to columns")
        most_nodes = 2**20  # each is compared for each record
        if sum(len(tree.column) for tree in self.trees) > most_nodes:
            raise InvalidArgument("trees", f"at most {most_nodes} nodes are allowed: fit fewer or smaller trees")
        size = sum(max(map(abs, tree.value)) for tree in self.trees)
        largest = 1e300  # so that the sum is a finite double
        if not abs(self.base) + size * max(1.0, abs(self.factor)) <= largest:
            raise InvalidArgument(
                "trees", f"the prediction could exceed {largest:g}: fit the model to an outcome in larger units"
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The numeric columns that the trees compare, in order."""
        return tuple(Input(column) for column in self.columns)

    @property
    def linear(self) -> TreeEnsemble:
        """This ensemble with the identity link: it predicts linear predictors such as log-odds."""
        return TreeEnsemble(self.name, self.columns, self.trees, self.base, self.factor)

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the prediction for each record, shape (records,); NaN where a column is missing.

        Args:
            columns: Numbers of each column, in the order of `columns`, each of shape (records,).
        """
        table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        summed = self.base + self.factor * _sum_trees(table, *self._concatenate_nodes())
        return self.link.response(np.where(np.isnan(table).any(axis=1), np.nan, summed))

    def _concatenate_nodes(self) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, FloatArray]:
        """Return the nodes of all trees in common arrays, as `_sum_trees` takes them.

        Returns:
            Index of the root of each tree, shape (trees,). Then for each node, shape (nodes,): column, threshold, left
            child, right child and value, with children as indices into the common arrays.
        """
        sizes = [len(tree.column) for tree in self.trees]
        roots = np.cumsum([0, *sizes[:-1]])
        joined = [
            (tree.column, tree.threshold, np.add(tree.left, root), np.add(tree.right, root), tree.value)
            for tree, root in zip(self.trees, roots, strict=True)
        ]
        column, threshold, left, right, value = (np.concatenate(parts) for parts in zip(*joined, strict=True))
        return (
            roots.astype(np.int64), column.astype(np.int64), threshold.astype(np.float64),
            left.astype(np.int64), right.astype(np.int64), value.astype(np.float64),
        )  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """Return the fields except the name as JSON values, for `from_fields`.

        Returns:
            Link, base, factor, names of the columns, and the arrays of each tree by name.
        """
        return {
            "link": self.link.value, "base": self.base, "factor": self.factor, "columns": list(self.columns),
            "trees": [{name: list(getattr(tree, name)) for name in Tree.__slots__} for tree in self.trees],
        }  # fmt: skip

    @classmethod
    def from_fields(cls, name: str, fields: Mapping[str, Any]) -> TreeEnsemble:
        """Return the tree ensemble from its JSON fields, as `fields` returned them.

        Args:
            name: Name of the scores.
            fields: Values that `fields` returned.

        Raises:
            ValueError: `fields` is not a valid sum of trees.
            KeyError: a field is missing.
        """
        require_known_fields(fields, ("link", "base", "factor", "columns", "trees"))
        trees = tuple(Tree(**{key: each[key] for key in Tree.__slots__}) for each in fields["trees"])
        link = parse_choice("link", fields.get("link", "identity"), Link)
        return cls(name, tuple(fields["columns"]), trees, fields.get("base", 0.0), fields.get("factor", 1.0), link)

    @classmethod
    def from_sklearn(cls, model: Any, *, name: str, columns: Sequence[str] | None = None) -> TreeEnsemble:
        """Return the ensemble of a fitted decision tree, random forest or gradient boosting of scikit-learn.

        Classifiers must have two classes, regressors one outcome.

        Args:
            model: The fitted model. For a classifier the probability of its second class is predicted.
            name: Name of the scores in plots, statements and ledgers.
            columns: Column names, if the model was fitted without names.

        Raises:
            ValueError: the model is not supported, has more than two classes, or has no column names.
        """
        return cls(name, *parse_sklearn_trees(model, columns))


@compile_loop
def _sum_trees(  # noqa: PLR0917
    table: FloatArray,
    roots: IntArray,
    column: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
) -> FloatArray:
    """Return the sum over all trees of the value of the leaf that each record falls into, shape (records,).

    Args:
        table: Numbers, shape (records, columns). NaN goes right at each node; the caller discards such records.
        roots: Index of the root of each tree.
        column: Index of the column that each node compares; negative for a leaf. Nodes of all trees, shape (nodes,).
        threshold: Threshold of each node.
        left: Index of the next node if the number is at most the threshold.
        right: Index of the next node if it is above.
        value: Prediction of each leaf.
    """
    sums = np.zeros(len(table))
    for record in range(len(table)):
        total = 0.0
        for root in roots:
            node = root
            while column[node] >= 0:
                node = left[node] if table[record, column[node]] <= threshold[node] else right[node]
            total += value[node]
        sums[record] = total
    return sums


def parse_sklearn_trees(model: Any, columns: Sequence[str] | None) -> EnsembleParts:
    """Return the parts of a `TreeEnsemble` from a fitted model of scikit-learn.

    Args:
        model: A fitted tree, forest or gradient boosting.
        columns: Names of the columns in the order of the fit. None: the names that the model stores.

    Raises:
        ValueError: see `TreeEnsemble.from_sklearn`.
    """
    kind = type(model).__name__
    readable = SINGLE_TREE_CLASSES | FOREST_CLASSES | BOOSTED_CLASSES
    if kind not in readable:
        raise InvalidArgument("model", f"{kind} cannot be read; use one of {', '.join(sorted(readable))}")
    if not hasattr(model, "n_features_in_"):
        raise InvalidArgument("model", "the model is not fitted: fit it first")
    names = columns if columns is not None else getattr(model, "feature_names_in_", None)
    if names is None or len(names) != model.n_features_in_:
        raise InvalidArgument(
            "columns",
            f"the names of the {model.n_features_in_} columns of the model are needed: pass columns=, or fit it to a "
            "data frame",
        )
    if getattr(model, "n_classes_", 2) not in (1, 2) or getattr(model, "n_outputs_", 1) != 1:
        raise InvalidArgument(
            "model", "a single prediction for each record is needed: fit the model to two classes, or to one outcome"
        )

    # Boosted trees add up to a log-odds or a value; members of a forest are averaged.
    named = tuple(map(str, names))
    if kind in BOOSTED_CLASSES:
        base, link = _initial_prediction(model)
        trees = [_convert_tree(member.tree_) for member in model.estimators_[:, 0]]
        return named, tuple(trees), base, float(model.learning_rate), link
    holds_classes = kind.endswith("Classifier")
    members = [model] if kind in SINGLE_TREE_CLASSES else model.estimators_
    trees = [_convert_tree(member.tree_, holds_classes=holds_classes) for member in members]
    return named, tuple(trees), 0.0, 1 / len(members), Link.IDENTITY


def _initial_prediction(model: Any) -> tuple[float, Link]:
    """Return the constant that gradient boosting starts from, and the link function.

    The constant is equal for all records, so the private method of scikit-learn is called for a single record of zeros.

    Args:
        model: Fitted gradient boosting of scikit-learn.

    Raises:
        InvalidArgument: the model starts from another model, or has another loss than ``log_loss``.
    """
    if not (isinstance(model.init_, str) or type(model.init_).__name__ in {"DummyRegressor", "DummyClassifier"}):
        raise InvalidArgument("model", "boosting with an initial model is not supported: leave out init")
    classifier = type(model).__name__ == "GradientBoostingClassifier"
    if classifier and model.loss != "log_loss":
        raise InvalidArgument("model", "boosted classifiers need loss='log_loss': refit the model with it")
    if isinstance(model.init_, str):  # 'zero'
        return 0.0, Link.LOGIT if classifier else Link.IDENTITY
    blank = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return float(model._raw_predict_init(blank).item()), Link.LOGIT if classifier else Link.IDENTITY


def _convert_tree(tree: Any, *, holds_classes: bool = False) -> Tree:
    """Convert a fitted decision tree of scikit-learn to a `Tree`.

    Args:
        tree: The attribute `tree_` of a fitted estimator.
        holds_classes: True if leaves hold the classes of their records; the leaf then predicts the share of the second
            class. False: leaves hold one number.
    """
    inner = tree.children_left != LEAF
    values = tree.value[:, 0, :]
    # Older versions of scikit-learn store counts, newer versions shares; normalise to shares.
    leaves = values[:, 1] / values.sum(axis=1) if holds_classes else values[:, 0]
    return Tree(
        tuple(np.where(inner, tree.feature, LEAF).tolist()),
        tuple(map(threshold_before_rounding, np.where(inner, tree.threshold, 0.0).tolist())),
        tuple(np.where(inner, tree.children_left, 0).tolist()),
        tuple(np.where(inner, tree.children_right, 0).tolist()),
        tuple(np.where(inner, 0.0, leaves).tolist()),
    )


def threshold_before_rounding(threshold: float) -> float:
    """Return the largest double that rounds to at most the threshold in single precision, so that doubles are compared
    as the model compares floats.

    Args:
        threshold: Threshold of a tree node.

    >>> threshold_before_rounding(0.5) > 0.5, float(np.float32(threshold_before_rounding(0.5)))
    (True, 0.5)
    """
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    middle = (float(below) + float(above)) / 2
    return middle if float(np.float32(middle)) <= threshold else float(np.nextafter(middle, -np.inf))
