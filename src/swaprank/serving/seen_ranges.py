"""Served values beside those that training has seen: how many are missing, outside its range, or new categories."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.serving.scorer import Scorer

KINDS = ("missing", "outside", "new")
"""The kinds of unusual values: missing, outside of the training range, and categories that training has not met."""


class SeenRanges(NamedTuple):
    """The range of each feature in training, and the shares of unusual values there."""

    low: Features
    high: Features
    categorical: tuple[int, ...]
    shares: Floats
    """By feature and kind, in training."""

    @classmethod
    def of(cls, scorer: Scorer) -> Self | None:
        """What the model file of a scorer says; None if it says nothing.

        >>> import swaprank as sr
        >>> from swaprank.serving.seen_ranges import SeenRanges
        >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
        >>> ranges = SeenRanges.of(sr.Scorer(sr.MART(n_trees=2).fit(train)))
        >>> ranges.unusual(train.features).tolist() == [[0, 0, 0]] * 3
        False
        """
        seen = scorer.ranker.learned_.seen
        if seen is None or len(seen.features) != len(scorer.feature_names):
            return None
        known = [max(1, sum(each.counts)) for each in seen.features]
        outside = [each.outside / n for each, n in zip(seen.features, known, strict=True)]
        of_codes = [each.codes is not None for each in seen.features]
        shares = [
            (each.missing / seen.n_rows, 0.0 if is_code else share, share if is_code else 0.0)
            for each, share, is_code in zip(seen.features, outside, of_codes, strict=True)
        ]
        return cls(
            np.array([-np.inf if each.low is None else each.low for each in seen.features], np.float32),
            np.array([np.inf if each.high is None else each.high for each in seen.features], np.float32),
            tuple(np.flatnonzero(of_codes).tolist()),
            np.array(shares),
        )

    def unusual(
        self, rows: Features, named: Sequence[Mapping[str, Any]] | None = None, names: Sequence[str] = ()
    ) -> Ints:
        """The number of unusual values by feature and kind.

        Args:
            rows: The served documents.
            named: The same by name, if they were given so: only then are new categories known.
            names: The names of the features.
        """
        missing = np.isnan(rows)
        new = np.zeros(rows.shape[1], np.int64)
        if named is not None:
            for feature in self.categorical:
                given = np.array([each.get(names[feature]) is not None for each in named])
                new[feature] = np.count_nonzero(given & missing[:, feature])
        outside = (rows <= self.low) | (rows > self.high)
        return np.stack([missing.sum(axis=0) - new, outside.sum(axis=0), new], axis=1)
