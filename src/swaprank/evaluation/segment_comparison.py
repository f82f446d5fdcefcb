"""Rankings against a baseline in every segment of the queries, and the segments where the winner loses."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from swaprank.errors import DataError, did_you_mean
from swaprank.evaluation.comparison import Comparison, Difference, compare_evaluations, draw_differences, paired_rows
from swaprank.evaluation.segment_evaluation import SegmentEvaluation
from swaprank.evaluation.segments import WHOLE
from swaprank.evaluation.significance import p_in_words
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals, probability


@final
@dataclass(frozen=True, eq=False, repr=False)
class SegmentComparison(Result):
    """Rankings against a baseline, on all queries and in each segment; prints as a table with the results in words.

    The p-values and intervals of segments are corrected together (Holm), for all rankings and all segments with two
    queries or more, on each metric. Those of all queries are those of `compare` without segments.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> systems = {"old": [0.9, 0.1, 0.1, 0.9], "new": [0.1, 0.9, 0.9, 0.1]}
    >>> result = sr.compare(data, systems, "map", by=["phone", "web"])
    >>> isinstance(result, sr.evaluation.SegmentComparison), result["web"][0].difference
    (True, -0.5)
    """

    by: str
    whole: Comparison
    segments: Mapping[str, tuple[Difference, ...]]
    """The differences in each segment, in the order of those of `whole`."""
    evaluations: Mapping[str, SegmentEvaluation]

    def __getitem__(self, segment: str) -> tuple[Difference, ...]:
        if segment not in self.segments:
            raise DataError(f"there is no segment '{segment}'; {did_you_mean(str(segment), self.segments)}")
        return self.segments[segment]

    def __iter__(self) -> Iterator[str]:
        return iter(self.segments)

    def sentences(self) -> list[str]:
        """For each ranking and metric, the segments where the better ranking over all queries is the worse one."""
        return [self._reversals(at, whole) for at, whole in enumerate(self.whole.differences) if whole.difference != 0]

    def correction(self) -> str:
        """A sentence about the correction of the p-values of segments; empty if there is nothing to correct."""
        n_comparisons = next(iter(self.segments.values()))[0].n_comparisons
        if n_comparisons < 2:
            return ""
        return (
            f"p-values and intervals of segments are corrected for {n_comparisons:,} comparisons on each metric (Holm)."
        )

    def _reversals(self, at: int, whole: Difference) -> str:
        sign = 1 if whole.difference > 0 else -1
        winner, loser = (whole.system, whole.baseline)[::sign]
        rows = {name: rows[at] for name, rows in self.segments.items()}
        worse = {name: row for name, row in rows.items() if row.difference * sign < 0}
        seems = "is better than" if whole.is_significant else "looks better than"
        luck = "" if whole.is_significant else " (which may be luck)"
        words = f"{whole.metric}: {winner} {seems} {loser} over all queries{luck}"
        if not worse:
            return f"{words} and worse in no segment."
        sure = _listed({name: row for name, row in worse.items() if row.is_significant})
        unsure = _listed({name: row for name, row in worse.items() if not row.is_significant})
        parts = [f"is worse in {sure}"] if sure else []
        parts += [f"looks worse in {unsure}, which may be luck"] if unsure else []
        return f"{words}, but {'; it '.join(parts)}."

    def _all(self) -> list[tuple[str, Difference]]:
        """Every row, by metric and ranking: all queries first, then each segment."""
        rows = []
        for at, whole in enumerate(self.whole.differences):
            rows += [(WHOLE, whole), *((name, rows[at]) for name, rows in self.segments.items())]
        return rows

    def _blocks(self) -> Blocks:
        header = ["metric", "ranking", "against", self.by, "queries", "mean", "mean against", "difference"]
        rows = [
            [
                row.metric,
                row.system,
                row.baseline,
                name,
                f"{row.wins + row.ties + row.losses:,}",
                decimals(row.mean),
                decimals(row.baseline_mean),
                decimals(row.difference, signed=True),
                "-" if row.low != row.low else f"{decimals(row.low)} to {decimals(row.high)}",
                f"{row.wins:,}/{row.ties:,}/{row.losses:,}",
                probability(row.p_randomization),
            ]
            for name, row in self._all()
        ]
        words = [*self.sentences(), self.correction()]
        table = Table([*header, "95% interval", "wins/ties/losses", "p random."], rows, left=4)
        return [table, "\n".join(text for text in words if text)]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"segment": name, "n_queries": row.wins + row.ties + row.losses, **asdict(row)} for name, row in self._all()
        ]

    def _values(self) -> dict[str, Any]:
        return {"by": self.by, "differences": self._rows(), "sentences": self.sentences()}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the differences on all queries and in each segment with 95% intervals, and the wins, ties and losses.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        shown = self._all()
        one_metric, one_system = (len({getattr(row, name) for _, row in shown}) == 1 for name in ("metric", "system"))
        names = [
            ", ".join([*([] if one_system else [row.system]), *([] if one_metric else [row.metric]), name])
            for name, row in shown
        ]
        return draw_differences(ax, names, [row for _, row in shown])


def _listed(rows: Mapping[str, Difference]) -> str:
    """Segments with the sizes of their differences and their p-values."""
    listed = []
    for name, row in rows.items():
        corrected = "corrected " if row.n_comparisons > 1 else ""
        test = "" if row.p_randomization != row.p_randomization else f", {corrected}{p_in_words(row.p_randomization)}"
        listed.append(f"{name} (by {abs(row.difference):.4f}{test})")
    return " and ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))


def compare_segments(
    evaluations: Mapping[str, SegmentEvaluation], baseline: str, n_resamples: int = 10_000, random_state: int = 0
) -> SegmentComparison:
    """Compare evaluations of the same queries with the same metrics in every segment.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.segment_comparison import compare_segments
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> old, new = (sr.evaluate(data, scores, "map", by=["phone"]) for scores in ([0.9, 0.1], [0.1, 0.9]))
    >>> compare_segments({"old": old, "new": new}, "old")["phone"][0].difference
    0.5
    """
    first = evaluations[baseline]
    whole = {name: evaluation.whole for name, evaluation in evaluations.items()}
    others = [name for name in evaluations if name != baseline]
    found: dict[str, list[Difference]] = {segment: [] for segment in first}
    for at in range(len(first.whole.results)):
        pairs = [
            (name, baseline, evaluations[name][segment].results[at], first[segment].results[at])
            for segment in first
            for name in others
        ]
        rows = iter(paired_rows(pairs, n_resamples, random_state))
        for segment in first:
            found[segment] += [next(rows) for _ in others]
    segments = {segment: tuple(rows) for segment, rows in found.items()}
    comparison = compare_evaluations(whole, baseline, n_resamples, random_state)
    return SegmentComparison(first.by, comparison, segments, dict(evaluations))
