"""The seven data sets of LETOR 3.0: how their folders are named, and what the papers publish about them."""

import re
from pathlib import Path
from typing import NamedTuple

from swaprank.experiments.folds import FoldData


class LetorSet(NamedTuple):
    """One data set [Chapelle2010, Tables 1 and 2]."""

    folder: str
    """A regular expression of the names that its folder has in LETOR 2.0, 3.0 and elsewhere."""
    n_queries: int
    n_features: int
    published: dict[str, tuple[float, float]]
    """NDCG@10 and MAP by learner."""


LEARNERS = (
    "SVM-MAP",
    "RankBoost",
    "ListNet",
    "FRank",
    "AdaRank-NDCG",
    "AdaRank-MAP",
    "regression",
    "RankSVM",
    "SmoothRank",
)


def _letor_set(folder: str, n_queries: int, n_features: int, ndcg: str, ap: str) -> LetorSet:
    """A set with its published values, in thousandths, in the order of LEARNERS."""
    values = [(int(first) / 1000, int(second) / 1000) for first, second in zip(ndcg.split(), ap.split(), strict=True)]
    return LetorSet(folder, n_queries, n_features, dict(zip(LEARNERS, values, strict=True)))


SETS = {
    "OHSUMED": _letor_set(
        "ohsumed", 106, 45, "432 430 441 443 450 443 444 450 457", "445 441 446 444 450 449 444 445 448"
    ),
    "HP2003": _letor_set(
        "hp2003|2003_hp(_dataset)?",
        150,
        64,
        "799 817 837 797 806 838 822 818 833",
        "742 733 766 710 748 771 749 764 764",
    ),
    "HP2004": _letor_set(
        "hp2004|2004_hp(_dataset)?",
        75,
        64,
        "806 743 784 761 806 833 719 772 824",
        "718 625 690 682 691 722 630 671 724",
    ),
    "NP2003": _letor_set(
        "np2003|2003_np(_dataset)?",
        150,
        64,
        "797 807 802 776 767 764 802 789 784",
        "687 707 690 664 668 678 682 688 676",
    ),
    "NP2004": _letor_set(
        "np2004|2004_np(_dataset)?",
        75,
        64,
        "808 691 813 730 738 750 804 795 807",
        "662 564 672 601 627 622 687 675 676",
    ),
    "TD2003": _letor_set(
        "td2003|2003_td(_dataset)?",
        50,
        64,
        "328 312 348 269 304 307 330 357 336",
        "244 227 275 203 237 228 243 265 270",
    ),
    "TD2004": _letor_set(
        "td2004|2004_td(_dataset)?",
        75,
        64,
        "291 350 318 333 316 329 283 291 335",
        "205 261 223 239 194 219 199 206 233",
    ),
}
_FOLD = re.compile(r"fold[ _-]?\d+", re.IGNORECASE)
_BETWEEN = ("querylevelnorm", "data", "feature_min")
"""Folders between that of a data set and its folds: features scaled per query first."""


def folds_folder(folder: Path) -> Path:
    """The folder that has the folds: the given one, or one below it, as in OHSUMED/QueryLevelNorm of LETOR 3.0.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from swaprank.reproduction.letor_sets import folds_folder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     (Path(place) / "TD2003" / "QueryLevelNorm" / "Fold1").mkdir(parents=True)
    ...     folds_folder(Path(place) / "TD2003").name
    'QueryLevelNorm'
    """
    if not folder.is_dir():
        return folder
    inside = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    if any(_FOLD.fullmatch(path.name) for path in inside):
        return folder
    for name in _BETWEEN:
        for path in inside:
            if path.name.lower() == name:
                return folds_folder(path)
    return folder


def known_set(folder: Path, first_fold: FoldData) -> str | None:
    """The name of the LETOR 3.0 data set in a folder: by the names of the folders, and by its first fold's size.

    The sets of LETOR 2.0 have the same names, but other features or documents; the papers publish no table of them.
    """
    n_queries, n_features = sum(part.n_queries for part in first_fold), first_fold.train.n_features
    alike = [name for name, known in SETS.items() if (known.n_queries, known.n_features) == (n_queries, n_features)]
    if len(alike) == 1:
        return alike[0]
    place = folder.resolve()
    for part in (place, *list(place.parents)[:3]):
        for name in alike:
            if re.fullmatch(SETS[name].folder, part.name, re.IGNORECASE):
                return name
    return None
