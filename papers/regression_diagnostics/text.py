"""Two sets of short texts, and the predictions of a private logistic regression for a tenth of each."""

from __future__ import annotations

import csv
import gzip
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from answering import Columns
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SMS, TWEETS = "SMSSpamCollection.tsv", "sentiment140_sample10k.csv.gz"
DRAWN = 6840  # tweets, as in the papers
WORDS = 2048
TESTED = 0.1
STRENGTH = 0.003
RHO_OF_MODEL = 0.1
SEED = 4


def are_there(folder: Path) -> bool:
    """Whether both files are."""
    return all((folder / "text" / name).is_file() for name in (SMS, TWEETS))


def judged(folder: Path) -> dict[str, Columns]:
    """Labels and predictions of the records that the model was not trained on."""
    chance = np.random.default_rng(SEED)
    return {"SMS": _judged(*_messages(folder), chance), "TWITTER": _judged(*_tweets(folder, chance), chance)}


def _messages(folder: Path) -> tuple[FloatArray, list[str]]:
    lines = (folder / "text" / SMS).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    return np.array([float(kind == "ham") for kind, _ in pairs]), [text for _, text in pairs]


def _tweets(folder: Path, chance: np.random.Generator) -> tuple[FloatArray, list[str]]:
    with gzip.open(folder / "text" / TWEETS, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [rows[place] for place in chance.permutation(len(rows))[:DRAWN]]
    return np.array([float(row["positive"]) for row in rows]), [row["text"] for row in rows]


def _judged(label: FloatArray, texts: list[str], chance: np.random.Generator) -> Columns:
    features = _words(texts)
    order = chance.permutation(len(label))
    tested, trained = np.split(order, [-(-len(order) // round(1 / TESTED))])
    weights = _private_weights(features[trained], label[trained], chance)
    score = 1 / (1 + np.exp(-(features[tested] @ weights)))
    return {"label": label[tested], "score": np.asarray(score)}


def _words(texts: list[str]) -> Any:
    """Which words occur, by a public hash: a vocabulary that is read from records is not public. Rows of norm 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=WORDS, binary=True, alternate_sign=False, stop_words="english").transform(texts)


def _private_weights(features: Any, label: FloatArray, chance: np.random.Generator) -> FloatArray:
    """Weights of a ridge logistic regression, with Gaussian noise: `RHO_OF_MODEL`-zCDP by output perturbation.

    The loss of a record is 1-Lipschitz in the weights, as rows have norm 1 at most, and the penalty is strongly convex
    with constant `STRENGTH`; so one replaced record moves the weights by at most 2 over records times `STRENGTH`
    (Chaudhuri and Monteleoni 2008). Floating-point noise: for a picture of a private model, not for a release.
    """
    from sklearn.linear_model import LogisticRegression

    records, words = features.shape
    fitted = LogisticRegression(C=1 / (records * STRENGTH), fit_intercept=False, tol=1e-8, max_iter=10_000)
    weights = np.asarray(fitted.fit(features, label).coef_[0], dtype=np.float64)
    deviation = 2 / (records * STRENGTH) / sqrt(2 * RHO_OF_MODEL)
    return np.asarray(weights + chance.normal(0.0, deviation, words))
