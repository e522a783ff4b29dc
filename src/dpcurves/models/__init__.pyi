from .linear import Scorecard
from .model_json import Residual, predictor_from_json, predictor_from_object
from .terms import Level, Link, NumericColumn, Power, Term, Transform
from .trees import Tree, TreeEnsemble

__all__ = [
    "Level",
    "Link",
    "NumericColumn",
    "Power",
    "Residual",
    "Scorecard",
    "Term",
    "Transform",
    "Tree",
    "TreeEnsemble",
    "predictor_from_json",
    "predictor_from_object",
]  # fmt: skip
