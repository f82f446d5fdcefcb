"""Who saw what in an A/B test: the variant of each session, the units that were assigned to one, and their shares."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.grouping import first_appearance_codes
from swaprank.data.ids import document_ids
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, Hint, did_you_mean

_MOST_VARIANTS = 100


def variants_of(log: ClickLog, variant: Any) -> tuple[list[str], Ints]:
    """The names of the variants, sorted, and the number of each session's."""
    distinct, codes = np.unique(_of_sessions(log, variant, "variant"), return_inverse=True)
    names = [str(each) for each in distinct.tolist()]
    if len(names) < 2:
        raise DataError(f"an A/B test needs sessions of two variants, found only '{names[0]}'.")
    if len(names) > _MOST_VARIANTS:
        raise DataError(
            f"there are {len(names):,} different variants, such as '{names[0]}' and '{names[1]}': ",
            Hint("variant", option="--variant"),
            " is most likely another column.",
        )
    return names, codes


def units_of(log: ClickLog, unit: Any, of_session: Ints, names: list[str]) -> tuple[Ints, Ints]:
    """The number of each session's unit, and the variant of each unit; raises DataError for a unit of two variants."""
    if unit is None:
        return np.arange(log.n_sessions), of_session
    given = _of_sessions(log, unit, "unit")
    codes = first_appearance_codes(given)
    variant = np.empty(int(codes.max()) + 1, np.int64)
    variant[codes] = of_session
    both = np.flatnonzero(variant[codes] != of_session)
    if len(both):
        n_both = len(np.unique(codes[both]))
        raise DataError(
            f"{n_both:,} of {len(variant):,} units saw more than one variant, such as {given[both[0]]}, which saw "
            f"'{names[of_session[both[0]]]}' and '{names[variant[codes[both[0]]]]}'. Leave them out with all their "
            "sessions, or, if the coin was thrown for every session, do not give ",
            Hint("unit"),
            ".",
        )
    return codes, variant


def _of_sessions(log: ClickLog, given: Any, argument: str) -> AnyArray:
    """One id per session: of a column of the context, or as given."""
    if not isinstance(given, str):
        return document_ids(given, log.n_sessions, argument)
    if given not in log.context:
        known = did_you_mean(given, log.context) if log.context else "it was read without such columns."
        raise DataError(
            f"the log has no column '{given}' for the {argument} of each session; {known} Give it with ",
            Hint("context", [...], f"--{argument} COLUMN"),
            ".",
        )
    values = log.context[given]
    return values if values.dtype.kind in "iuU" else values.astype(str)


def p_of_shares(sizes: Ints, shares: Sequence[float] | None) -> float:
    """The p-value of the chi-square test that the variants have their planned shares; equal ones if None."""
    planned = np.ones(len(sizes)) if shares is None else number_column("shares", shares, len(shares))
    if len(planned) != len(sizes) or not (planned > 0).all():
        raise DataError(Hint("shares"), f" must be {len(sizes)} numbers above 0, one per variant; found {shares!r}.")
    from scipy.stats import chisquare

    return float(chisquare(sizes, planned / planned.sum() * sizes.sum()).pvalue)
