"""Scores of a logistic regression on patients with diabetes: is one readmitted within 30 days? One record for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
FILE = Path("tabular") / "diabetic_data.csv.gz"
TESTED = 661, 5000
"""Positives and negatives of the test set: as many positives as in Figure 3."""
LEFT_OUT = [
    "encounter_id", "patient_nbr", "readmitted", "weight", "payer_code", "medical_specialty",
    "diag_1", "diag_2", "diag_3",
]  # fmt: skip


def are_there(folder: Path) -> bool:
    """Whether the file of patients is in the folder of data sets."""
    return (folder / FILE).exists()


def scores(folder: Path) -> tuple[FloatArray, FloatArray]:
    """Scores of the positives and of the negatives of a test set, by a model of all other patients."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    read = pd.read_csv(folder / FILE, na_values="?", keep_default_na=False, low_memory=False)
    read = read.drop_duplicates("patient_nbr")
    label = (read["readmitted"] == "<30").to_numpy()
    columns = StandardScaler().fit_transform(pd.get_dummies(read.drop(columns=LEFT_OUT), dtype=float))
    chance = np.random.default_rng(30)
    tested = np.concatenate(
        [
            chance.choice(np.flatnonzero(label == own), many, replace=False)
            for own, many in zip((True, False), TESTED, strict=True)
        ]
    )
    others = np.setdiff1d(np.arange(len(label)), tested)
    model = LogisticRegression(max_iter=200).fit(columns[others], label[others])
    found = model.predict_proba(columns[tested])[:, 1]
    return found[: TESTED[0]], found[TESTED[0] :]
