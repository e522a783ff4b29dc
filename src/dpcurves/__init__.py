"""Differentially private curves from real tables: distribution functions, quantiles, ROC, calibration and more."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dpcurves_local
    import dpcurves_streams
    from dpcurves_audit import audit as audit
    from dpcurves_engines import postgres as postgres
    from dpcurves_engines import spark as spark
    from dpcurves_engines import spark_at as spark_at
    from dpcurves_engines import sql as sql
    from dpcurves_judging import *  # noqa: F403
    from dpcurves_local import Local as Local
    from dpcurves_parties import pairs as pairs
    from dpcurves_server.remote import Remote as Remote
    from dpcurves_survival import *  # noqa: F403

    from .conversation import UnsupportedQuery as UnsupportedQuery
    from .curves import *  # noqa: F403
    from .data import Categories as Categories
    from .data import CsvFile as CsvFile
    from .data import Grid as Grid
    from .data import HashUniverse as HashUniverse
    from .data import Outside as Outside
    from .data import TextUniverse as TextUniverse
    from .data import UnlistedCategories as UnlistedCategories
    from .data import Values as Values
    from .display import curve_schema as curve_schema
    from .expressions import Expression as Expression
    from .expressions import col as col
    from .expressions import when as when
    from .forecasts import Forecast as Forecast
    from .forecasts import forecast as forecast
    from .ledger import Account as Account
    from .ledger import BudgetExceeded as BudgetExceeded
    from .ledger import Ledger as Ledger
    from .models import NumericColumn as NumericColumn
    from .models import Residual as Residual
    from .models import Scorecard as Scorecard
    from .models import TreeEnsemble as TreeEnsemble
    from .models import predictor_from_json as predictor_from_json
    from .noise.randomness import Randomness as Randomness
    from .privacy import DISJOINT_RECORDS as DISJOINT_RECORDS
    from .privacy import EACH_RECORD as EACH_RECORD
    from .privacy import PRIVATE_MODEL as PRIVATE_MODEL
    from .privacy import PUBLIC_MODEL as PUBLIC_MODEL
    from .privacy import Neighbours as Neighbours
    from .privacy import PrivacyLoss as PrivacyLoss
    from .privacy import Unit as Unit
    from .publication import publish as publish
    from .publication import read_result as read_result
    from .queries import Hint as Hint
    from .session import Session as Session
    from .session import plan_question as plan_question
    from .shortcuts import *  # noqa: F403
    from .study import Study as Study
    from .translation import use_language as use_language

    local = dpcurves_local
    streams = dpcurves_streams
    ADD_REMOVE = Neighbours.ADD_REMOVE
    REPLACE_ONE = Neighbours.REPLACE_ONE

_LAZY_NAMES = {
    "conversation": ("UnsupportedQuery",),
    "data": (
        "Categories", "CsvFile", "Grid", "HashUniverse", "Outside", "TextUniverse", "UnlistedCategories", "Values",
    ),
    "display": ("curve_schema",),
    "models": ("NumericColumn", "Residual", "Scorecard", "TreeEnsemble", "predictor_from_json"),
    "expressions": ("Expression", "col", "when"),
    "forecasts": ("Forecast", "forecast"),
    "ledger": ("Account", "BudgetExceeded", "Ledger"),
    "noise.randomness": ("Randomness",),
    "privacy": (
        "DISJOINT_RECORDS", "EACH_RECORD", "PRIVATE_MODEL", "PUBLIC_MODEL", "Neighbours", "PrivacyLoss", "Unit",
    ),
    "publication": ("publish", "read_result"),
    "queries": ("Hint",),
    "session": ("Session", "plan_question"),
    "study": ("Study",),
    "translation": ("use_language",),
}  # fmt: skip
"""Public names of `dpcurves` by the module that has them. Each is imported at its first use, so that ``import
dpcurves`` stays fast."""
_STAR_MODULES = ("curves", "shortcuts")
"""Modules all of whose public names (``__all__``) are also names of `dpcurves`, imported at their first use."""
_EXTENSION_NAMES = {
    "Federation": "servers", "Local": "local", "Remote": "server", "audit": "audit", "local": "local", "pairs": "pairs",
    "postgres": "postgres", "spark": "spark", "spark_at": "spark", "sql": "sql", "streams": "streams",
}  # fmt: skip
"""Public names of `dpcurves` that other packages declare as entry points, each with the pip extra that installs their
dependencies. Without that package, using the name raises `MissingPackage`, which names the extra."""
_MODULE_OF_NAME = {name: module_name for module_name, names in _LAZY_NAMES.items() for name in names}
"""The module of each name in `_LAZY_NAMES`."""
_ADJACENCIES = ("ADD_REMOVE", "REPLACE_ONE")
"""Members of `Neighbours` that are also names of `dpcurves`, as in ``dpcurves.ADD_REMOVE``."""


def __getattr__(name: str) -> Any:
    """Return a public name, imported at its first use, so that the command line starts before heavy libraries are
    loaded. Raises `AttributeError` for an unknown name."""
    if name in _ADJACENCIES:
        return getattr(import_module(".privacy", __name__).Neighbours, name)
    if name in _MODULE_OF_NAME:
        return getattr(import_module(f".{_MODULE_OF_NAME[name]}", __name__), name)
    if name in _EXTENSION_NAMES:
        return _load_extension(name)
    if name == "__all__":
        return _list_names()
    is_module = find_spec(f".{name}", __name__) is not None  # the import system finds it without loading anything else
    for module_name in () if is_module or name.startswith("_") else _STAR_MODULES:
        module = import_module(f".{module_name}", __name__)
        if name in module.__all__:
            return getattr(module, name)
    if not is_module:
        from .extensions import load_field_object

        try:
            return load_field_object(name)
        except AttributeError:
            pass
    raise AttributeError(f"module 'dpcurves' has no attribute {name!r}")


def _load_extension(name: str) -> Any:
    """Return the object that another package declares under this name.

    Args:
        name: Public name that `dpcurves` forwards to another package.

    Raises:
        MissingPackage: the package, or one of its dependencies, is not installed.
    """
    from .arguments import MissingPackage
    from .extensions import find_entry_points

    rule = f"more packages are needed: pip install dpcurves[{_EXTENSION_NAMES[name]}]"
    for entry_point in find_entry_points("dpcurves.wings", name):
        try:
            return entry_point.load()
        except ModuleNotFoundError as error:
            raise MissingPackage(name, f"{rule} ({error})") from error
    raise MissingPackage(name, rule)


def __dir__() -> list[str]:
    return _list_names()


def _list_names() -> list[str]:
    """Return all public names, sorted, including the names of installed packages of fields."""
    from .extensions import find_packages

    modules = (*(import_module(f".{module_name}", __name__) for module_name in _STAR_MODULES), *find_packages())
    star_names = (name for module in modules for name in module.__all__)
    return sorted([*_ADJACENCIES, *_MODULE_OF_NAME, *_EXTENSION_NAMES, *star_names])
