"""What the shell completes: names of rankers, metrics, conventions and formats, and parameters with their values."""

from collections.abc import Iterable
from dataclasses import fields

import typer


def complete_ranker(incomplete: str) -> list[str]:
    """Names of rankers."""
    from swaprank.registry import PRESETS, RANKERS

    return _beginning((*RANKERS, *PRESETS), incomplete)


def complete_metric(incomplete: str) -> list[str]:
    """Names of metrics, also to rank 10 if they have a last rank.

    >>> from swaprank.cli.completion import complete_metric
    >>> complete_metric("nd"), complete_metric("mr")
    (['ndcg', 'ndcg@10'], ['mrr', 'mrr@10'])
    """
    from swaprank.metrics.parse import NAMED

    names = []
    for kind in NAMED:
        names.append(kind.names[0])
        if any(field.name == "k" for field in fields(kind)):
            names.append(f"{kind.names[0]}@10")
    return _beginning(names, incomplete)


def complete_convention(incomplete: str) -> list[str]:
    """Names of conventions of metrics."""
    from swaprank.metrics.metric_options import CONVENTIONS

    return _beginning(CONVENTIONS, incomplete)


def complete_format(incomplete: str) -> list[tuple[str, str]]:
    """Formats of exported models, with what they are."""
    from swaprank.exchange.export import ALIASES, FORMATS

    described = {name: each.description for name, each in FORMATS.items()}
    described |= {name: FORMATS[same].description for name, same in ALIASES.items()}
    return [(name, described[name]) for name in _beginning(described, incomplete)]


def complete_setting(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Parameters of the ranker that `--ranker` names; after "NAME=", the words that the parameter may be."""
    from swaprank.registry import PRESETS, RANKERS, ranker_class

    name = ctx.params.get("ranker")
    declared = ranker_class(name if name in RANKERS or name in PRESETS else "lambdamart").declared
    given, equals, _ = incomplete.partition("=")
    if not equals:
        return [(f"{each}=", declared[each].text) for each in _beginning(declared, incomplete)]
    if given not in declared:
        return []
    if given == "metric":
        words: Iterable[str] = complete_metric("")
    else:
        words = ("True", "False") if isinstance(declared[given].default, bool) else declared[given].words
    return [(each, declared[given].text) for each in _beginning((f"{given}={word}" for word in words), incomplete)]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
