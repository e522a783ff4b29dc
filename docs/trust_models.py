"""Write ``docs/trust_questions.md``: all questions, rehearsed with their defaults under all trust models.

Usage: python docs/trust_models.py
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import dpcurves as dp
from dpcurves.conversation import UnsupportedQuery
from dpcurves.privacy import EACH_RECORD
from dpcurves.trust import Central
from dpcurves_local.trust import Local
from dpcurves_parties.shares.function_shares import FunctionShares, Owners
from dpcurves_sites.trust import SecureSum

OWN: dict[str, dict[str, Any]] = {
    "PlaneBoundsQuestion": {"x": dp.BoundsQuestion("x", 0.25, "0.9"), "y": dp.BoundsQuestion("r", 0.25, "0.9")},
    "OrdinalClassesQuestion": {"label": dp.Categories("y", (0, 1, 2))},
    "QuantileForecastsQuestion": {"grid": dp.Grid(-1, 1, cells=64)},
    "MulticlassQuestion": {"label": dp.Categories("y", (0, 1, 2))},
}
"""Arguments of some kinds that differ from those of the others."""
PAGE = Path(__file__).parent / "trust_questions.md"
MODELS = {
    "one curator": Central(), "two servers": FunctionShares(), "two servers that check": FunctionShares(Owners.CHECKED),
    "secure sums of sites": SecureSum(), "each person at home": Local(),
}  # fmt: skip
GIVEN: dict[str, Any] = {
    "weight": "w", "weight_cap": 2,
    "column": "x", "label": "y", "score": "x", "grid": dp.Grid(0, 1, cells=64), "probabilities": (0.5,),
    "pieces": 4,
    "unit": 0.25, "coverage": "0.9", "predicted": "x", "residual": "r", "unit_predicted": 0.25, "unit_residual": 0.25,
    "model": dp.PUBLIC_MODEL, "lower": 0, "upper": 1,
    "first": "x", "second": "r", "scores": ("x", "r", "w"), "errors": ("x",), "quantiles": (0.5,),
    "outcome": "y", "treatment": "w", "observed": "r", "observed_grid": dp.Grid(0, 1, cells=8),
    "features": (dp.NumericColumn("x", 0, 1), dp.NumericColumn("r", -1, 1)),
    "time": "x", "event": "y", "entry": "r", "last": "r", "causes": (1, 2), "times": dp.Grid(0, 1, cells=4),
    "x": "x", "y": "r",
    "by": dp.Categories("y", (0, 1)), "rows": dp.Categories("y", (0, 1)), "columns": dp.Categories("x", (1, 2)),
    "x_grid": dp.Grid(0, 1, cells=8), "y_grid": dp.Grid(0, 1, cells=8),
}  # fmt: skip
HEAD = """# Questions by trust model

Made by `python docs/trust_models.py`, which rehearses each question with its defaults, on a grid of 64 cells where it
has no other, under replace-one for 10,000 records at epsilon 1. The table says in how many rounds (queries, of which
later ones depend on the noisy answers to earlier ones) a question is answered, or why it is refused; a refusal comes
before anything is charged. A question has the same class under all trust models, and so has its result.
[Two servers](two_servers.md) answer from one count of all cells of a task's grid, or from counts below thresholds where
a task counts those; both add noise, which makes errors larger by a factor of the root of 2. Of the five
[sites](secure_sums.md) one may collude with the coordinator. People who trust nobody send one randomised report each,
from which counts of all cells are estimated.

"""


def questions() -> dict[str, Any]:
    """One of each kind, with defaults where there are any."""
    kinds = {name: getattr(dp, name) for name in dp.__all__ if name.endswith("Question")}
    made = {name: _made(name, kind) for name, kind in kinds.items() if hasattr(kind, "__dataclass_fields__")}
    return {name: question for name, question in sorted(made.items()) if question is not None}


def _made(name: str, kind: Any) -> Any:
    needed = {field.name for field in fields(kind) if _is_needed(field)}
    given = {**GIVEN, **OWN.get(name, {})}
    return kind(**{each: given[each] for each in needed}) if needed <= given.keys() else None


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def answered(question: Any, model: Any) -> str:
    """Whether it is, and how; or why not."""
    adjacency = dp.REPLACE_ONE.to_adjacency(EACH_RECORD, 10_000)
    try:
        plans = dp.plan_question(question, dp.PrivacyLoss.pure(1), adjacency, model)
    except UnsupportedQuery as refusal:
        return f"no: {refusal.rule}"
    return "1 round" if len(plans) == 1 else f"{len(plans)} rounds"


def page(found: dict[str, list[str]]) -> str:
    """The page with a table of these answers: numbers of rounds, and letters of the rules that refuse."""
    rules = list(dict.fromkeys(each for row in found.values() for each in row if each.startswith("no")))
    letters = {rule: f"no ({chr(ord('a') + place)})" for place, rule in enumerate(rules)}
    rows = [
        f"| `{name}` | " + " | ".join(letters.get(each, each) for each in row) + " |" for name, row in found.items()
    ]
    told = "\n".join(f"- {letters[rule]}: {rule.removeprefix('no: ')}" for rule in rules)
    table = f"| question | {' | '.join(MODELS)} |\n|{'---|' * (len(MODELS) + 1)}\n" + "\n".join(rows)
    return f"{HEAD}{table}\n\n{told}\n"


if __name__ == "__main__":
    everything = {
        name: [answered(question, model) for model in MODELS.values()] for name, question in questions().items()
    }
    PAGE.write_text(page(everything), encoding="utf-8")
