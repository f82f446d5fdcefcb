"""A policy: how likely it puts each document at each place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints, ReadOnly
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.logged_propensities import logged_propensities
from swaprank.clicks.policies.policy_candidates import (
    Candidates,
    candidate_scores,
    candidates,
    plackett_luce_placements,
    ranked_placements,
    sum_over_documents,
    uniform_placements,
    used_places,
)
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, ParameterError
from swaprank.parameters import Bounds, check_parameter
from swaprank.rendering.tables import counted
from swaprank.seeds import random_generator

_ROUNDING = 1e-6


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Policy(ReadOnly):
    """A way to show documents, as probabilities: one ranking for each query, or rankings that are drawn at random.

    Make one with `Policy.ranking`, `plackett_luce`, `uniform`, `mixture` or `contextual`, or from probabilities that
    you know. It is for the log that it was made with, and for subsets of it; a contextual policy only for the log
    itself. If the log lacks positions, such as those of ads, ranks are at the positions that it has.

    Args:
        log: The log that the policy is evaluated on.
        placements: One row per (query, document) pair of the log and one column per position from 1: the probability
            that the policy shows the document there. What a place lacks to 1 is the probability that it stays empty.

    >>> import swaprank as sr
    >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
    >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
    >>> sr.clicks.Policy(log, [[0.9, 0.1], [0.1, 0.9]])
    Policy(2 documents of 1 query, 2 positions)
    """

    placements: Floats | None
    """Pairs x positions; None if the policy is contextual."""
    filled: Floats | None
    """Queries x positions: the probability that the place has a document, also one that the log never showed."""
    of_rows: Floats | None
    """The probability of what each row of the log shows, if the policy is contextual."""
    session_ids: AnyArray | None
    """The sessions of these rows, if the policy is contextual."""
    qids: AnyArray
    pair_query: Ints
    pair_docid: AnyArray

    def __init__(self, log: ClickLog, placements: Any) -> None:
        given = _checked_placements(log, placements)
        wide = np.zeros((log.n_pairs, log.max_position))
        kept = min(given.shape[1], log.max_position)
        wide[:, :kept] = given[:, :kept]
        self._fill_from(log, wide, sum_over_documents(wide, np.array(log.pair_indptr)))

    @classmethod
    def ranking(cls, log: ClickLog, ranking: Any, *, data: Dataset | None = None) -> "Policy":
        """Show one ranking for each query: by falling scores.

        Args:
            log: The log that the policy is evaluated on.
            ranking: A fitted ranker, or scores: one per (query, document) pair of the log, or per row of `data`.
            data: All documents that the policy chooses from, with docid, if it also shows others than the log did.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> sr.clicks.Policy.ranking(log, [0.2, 0.7]).placements.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        among = candidates(log, data)
        scores = candidate_scores(log, ranking, among)
        return cls._of_candidates(log, among, ranked_placements(scores, among, used_places(log)))

    @classmethod
    def plackett_luce(
        cls,
        log: ClickLog,
        ranking: Any,
        *,
        temperature: float = 1.0,
        n_samples: int = 1000,
        random_state: int | None = 0,
        data: Dataset | None = None,
    ) -> "Policy":
        """Draw the documents one after the other: of those left, each in proportion to exp(score / temperature).

        Args:
            log: The log that the policy is evaluated on.
            ranking: A fitted ranker, or scores, as for `ranking`.
            temperature: The higher, the more random.
            n_samples: The number of rankings that are drawn for each query, to compute the probabilities. Those of the
                first place are exact.
            random_state: The seed.
            data: All documents that the policy chooses from, as for `ranking`.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> sr.clicks.Policy.plackett_luce(log, [0.0, 1.0]).placements.round(2).tolist()
        [[0.27, 0.74], [0.73, 0.26]]
        """
        check_parameter("temperature", temperature, Bounds(False, 0, np.inf, open_low=True))
        check_parameter("n_samples", n_samples, Bounds(True, 1, 2**31))
        among = candidates(log, data)
        scores = candidate_scores(log, ranking, among) / temperature
        if not np.isfinite(scores).all():
            raise DataError("the scores of a Plackett-Luce policy must be finite.")
        rng = random_generator(random_state)
        return cls._of_candidates(
            log, among, plackett_luce_placements(scores, among, used_places(log), n_samples, rng)
        )  # fmt: skip

    @classmethod
    def uniform(cls, log: ClickLog, *, data: Dataset | None = None) -> "Policy":
        """Show the documents of each query in a random order.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> sr.clicks.Policy.uniform(log).placements.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        among = candidates(log, data)
        return cls._of_candidates(log, among, uniform_placements(among, used_places(log)))

    @classmethod
    def mixture(cls, policies: Sequence["Policy"], weights: Sequence[float]) -> "Policy":
        """Draw one of several policies for each session, with the given probabilities.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> new, random = sr.clicks.Policy.ranking(log, [0.2, 0.7]), sr.clicks.Policy.uniform(log)
        >>> sr.clicks.Policy.mixture([new, random], [0.8, 0.2]).placements.round(2).tolist()
        [[0.1, 0.9], [0.9, 0.1]]
        """
        share = np.asarray(weights, dtype=np.float64)
        if not policies or share.shape != (len(policies),):
            raise DataError(f"a mixture needs one weight for each policy; found {len(policies)} and {share.shape}.")
        if not (share >= 0).all() or abs(share.sum() - 1) > _ROUNDING:
            raise DataError(f"the weights of a mixture must be from 0 and add up to 1; found {share.tolist()}.")
        if any(policy.placements is None for policy in policies):
            raise DataError("a contextual policy cannot be mixed: mix its probabilities of the rows instead.")
        first = policies[0]
        if any(not first._has_documents_of(policy) for policy in policies):
            raise DataError("the policies of a mixture must be made with the same log.")
        parts = {
            name: np.sum([w * getattr(policy, name) for w, policy in zip(share, policies, strict=True)], axis=0)
            for name in ("placements", "filled")
        }
        return first._with(**parts)

    @classmethod
    def contextual(cls, log: ClickLog, probabilities: Any) -> "Policy":
        """A policy that depends on more than the query, such as the user.

        Args:
            log: The log that the policy is evaluated on.
            probabilities: One per row of the log, sorted by session and position as in `log.position`: the probability
                that this policy shows the row's document at the row's place, in this session.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> sr.clicks.Policy.contextual(log, [0.9, 0.9, 0.3, 0.3])
        Policy(contextual, 4 rows)
        """
        if len(probabilities) != log.n_rows:
            raise DataError(
                f"a contextual policy needs one probability for each of the log's {log.n_rows:,} rows; "
                f"found {len(probabilities):,}."
            )
        given = number_column("probabilities", probabilities, log.n_rows)
        if given.min() < 0 or given.max() > 1:
            row = int(np.argmax((given < 0) | (given > 1)))
            raise DataError(f"probabilities, row {row}: {given[row]:g} was found, but they are from 0 to 1.")
        policy = object.__new__(cls)
        policy._fill_from(log, None, None, given)
        return policy

    @classmethod
    def logged(cls, log: ClickLog) -> "Policy":
        """The policy that was logged, to compare others with: what it gets is what the log has.

        >>> import swaprank as sr
        >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
        >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
        >>> sr.clicks.evaluate_policy(log, sr.clicks.Policy.logged(log))["ctr"].mean
        0.5
        """
        return cls.contextual(log, logged_propensities(log))

    def __repr__(self) -> str:
        if self.placements is None or self.filled is None:
            return f"Policy(contextual, {counted(len(np.asarray(self.of_rows)), 'row', 'rows')})"
        n_pairs, n_positions = self.placements.shape
        documents, queries = counted(n_pairs, "document", "documents"), counted(len(self.filled), "query", "queries")
        return f"Policy({documents} of {queries}, {counted(n_positions, 'position', 'positions')})"

    @classmethod
    def _of_candidates(cls, log: ClickLog, among: Candidates, placements: Floats) -> "Policy":
        policy = object.__new__(cls)
        filled = sum_over_documents(placements, among.indptr)[among.query]
        policy._fill_from(log, placements[among.pair], filled)
        return policy

    def _fill_from(
        self, log: ClickLog, placements: Floats | None, filled: Floats | None, of_rows: Floats | None = None
    ) -> None:
        self._fill(
            placements=placements,
            filled=filled,
            of_rows=of_rows,
            session_ids=None if of_rows is None else log.session_ids,
            qids=log.qids,
            pair_query=log.pair_query,
            pair_docid=log.pair_docid,
        )

    def _has_documents_of(self, other: "Policy | ClickLog") -> bool:
        names = ("qids", "pair_query", "pair_docid")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def of_documents(self) -> tuple[Floats, Floats]:
        """The placements and what is filled; raises ParameterError if the policy is contextual."""
        if self.placements is None or self.filled is None:
            raise ParameterError(
                "a reward model needs the probabilities of all documents, and a contextual policy has those of the "
                "shown ones only: use estimator='self_normalized' or 'ips'."
            )
        return self.placements, self.filled

    def check_log(self, log: ClickLog) -> None:
        """Raise DataError if the policy was made for another log."""
        same = self._has_documents_of(log)
        if self.placements is not None:
            same = same and self.placements.shape[1] >= log.max_position
        if not same:
            raise DataError("this policy was made for another log: make it with the log that it is evaluated on.")
        if self.of_rows is not None and not (
            len(self.of_rows) == log.n_rows and np.array_equal(np.asarray(self.session_ids), log.session_ids)
        ):
            raise DataError(
                "this contextual policy was made for other sessions, and has no probabilities for these: make it with "
                "the log that it is evaluated on, also if that is a subset."
            )


def _checked_placements(log: ClickLog, placements: Any) -> Floats:
    try:
        given = np.asarray(placements, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"placements must be numbers, one row per document: {error}.") from None
    if given.ndim != 2 or given.shape[0] != log.n_pairs or given.shape[1] == 0:
        raise DataError(
            f"placements must have a row for each of the log's {log.n_pairs:,} documents and a column for each "
            f"position; found shape {given.shape}."
        )
    # NaN fails this comparison, too.
    bad = np.argwhere(~((given >= 0) & (given <= 1 + _ROUNDING)))
    if len(bad):
        pair, place = bad[0]
        raise DataError(
            f"placements: {given[pair, place]:g} was found for {log._pair_name(pair)} at position {place + 1}, but "
            "probabilities are from 0 to 1."
        )
    of_pair = given.sum(axis=1)
    # If every session has one place only, its position is part of the question, and the same document may fill all.
    if (of_pair > 1 + _ROUNDING).any() and log.n_rows > log.n_sessions:
        pair = int(of_pair.argmax())
        raise DataError(
            f"placements: the probabilities of {log._pair_name(pair)} add up to {of_pair[pair]:.4g} over its "
            "positions, but a page shows a document at one place at most."
        )
    of_place = sum_over_documents(given, np.array(log.pair_indptr))
    if (of_place > 1 + _ROUNDING).any():
        query, place = np.unravel_index(of_place.argmax(), of_place.shape)
        raise DataError(
            f"placements: the probabilities of the documents of query {log.qids[query]} add up to "
            f"{of_place[query, place]:.4g} at position {place + 1}, but a place has one document at most."
        )
    return given
