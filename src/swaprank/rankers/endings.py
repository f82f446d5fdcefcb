"""How training ended, in one line: when it stopped and what was kept, or what was assumed."""

from swaprank.errors import Wording
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import VALID


def ending(ranker: Ranker) -> Wording | None:
    """Say when training stopped by itself, or why it had so many rounds if nobody said how many; None otherwise.

    >>> import swaprank as sr
    >>> from swaprank.rankers.endings import ending
    >>> train, vali = sr.datasets.random_net((20, 20), n_features=5, random_state=0)
    >>> ranker = sr.MART(n_leaves=4, early_stopping_rounds=5)
    >>> print(ending(ranker.fit(train, valid=vali)))
    stopped after 58 trees, kept 53: ndcg@10 0.9469 on valid
    >>> print(ending(sr.MART(n_leaves=4).fit(train)))
    n_trees: 300, because there is no validation data; give fit(…, valid=…) for early stopping
    >>> ending(ranker.set_params(n_trees=5).fit(train, valid=vali)) is None
    True
    """
    name = ranker.can.rounds_parameter
    if name is None or ranker.interrupted_:
        return None
    chosen = getattr(ranker, "chosen_", {}).get(name)
    most = getattr(ranker, name) if chosen is None else chosen
    if not ranker.history_:
        assumed = f"{name}: {most:,}, because there is no validation data; give {{}} for early stopping"
        words = Wording(assumed.format(VALID), assumed.format(VALID.for_command_line()))
        return None if chosen is None else words
    if ranker.n_rounds_ == most and chosen is None:
        return None
    verb = "trained all" if ranker.n_rounds_ == most else "stopped after"
    text = f"{verb} {ranker.n_rounds_:,} {ranker.can.round_name}s, kept {ranker.best_round_:,}: {_measured(ranker)}"
    return Wording(text, text)


def _measured(ranker: Ranker) -> str:
    """The watched metric of the round that is kept: the first metric of the last set."""
    watched, metrics = list(ranker.history_.items())[-1]
    metric, values = next(iter(metrics.items()))
    if ranker.best_round_ == 0:
        return f"the start is best by {metric} on {watched}"
    return f"{metric} {values[ranker.best_round_ - 1]:.4f} on {watched}"
