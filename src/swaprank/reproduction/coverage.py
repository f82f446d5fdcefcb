"""Every table and figure of the five papers: repeated by which experiment, what differs, or what is missing.

`swaprank reproduce --list` and the last table of docs/reproduction.md are made from this list.
"""

from typing import Any, Literal, NamedTuple

from swaprank.rendering.tables import text_table

Status = Literal["reproduced", "in part", "not to be had"]


class Item(NamedTuple):
    """A table or a figure of a paper."""

    paper: str
    item: str
    what: str
    status: Status
    experiments: tuple[str, ...] = ()
    difference: str = ""
    """What differs from the paper, or which data is missing."""


_WEB_2005 = "17,004 queries of a web search engine are not public"
_GENERATED = "generated data in place of web data"
ITEMS = (
    Item("Burges2005", "Figure 1", "the cost of a pair; combined probabilities", "reproduced", ("ranknet-figure1",)),
    Item("Burges2005", "Table 1", "accuracy by training size", "reproduced", ("ranknet-table1",)),
    Item("Burges2005", "Table 2", "learning from ties", "reproduced", ("ranknet-table2",)),
    Item("Burges2005", "Table 3", "sizes of the web data", "not to be had", (), _WEB_2005),
    Item("Burges2005", "Table 4", "six learners on test queries", "in part", ("ranknet-table4",),
         "generated data, a tenth of the queries and features"),
    Item("Burges2005", "Table 5", "RankNet on training queries", "in part", ("ranknet-table4",),
         "generated data, a tenth of the queries and features"),
    Item("Burges2005", "Table 6", "training times", "in part", ("ranknet-table4",),
         "generated data, a tenth of the queries and features"),
    Item("Burges2006", "Figure 1", "speed of factored training", "in part", ("lambdarank-speedup",),
         "generated data; seconds per epoch, not NDCG by time; V1 to 16,000 documents only"),
    Item("Burges2006", "Figure 2", "LambdaRank and RankNet, NDCG@1 to 10", "in part", ("lambdarank-vs-ranknet",),
         "artificial data only: the intranet data is not public"),
    Item("Burges2006", "Figure 3", "the same on web data", "not to be had", (), "the web data is not public"),
    Item("Donmez2009", "Table 1", "constructions of lambdas for MAP", "in part", ("constructions",), _GENERATED),
    Item("Donmez2009", "Table 2", "constructions of lambdas for MRR", "in part", ("constructions",), _GENERATED),
    Item("Donmez2009", "Table 3", "trained and tested metrics, 10,000 queries", "in part", ("matching-measures",),
         _GENERATED),
    Item("Donmez2009", "Table 4", "trained and tested metrics, 22,000 queries", "in part", ("matching-measures",),
         _GENERATED),
    Item("Donmez2009", "Figure 1", "local optimality, NDCG", "in part", ("local-optimality",),
         "artificial data only: the two web data sets are not public"),
    Item("Donmez2009", "Figure 2", "local optimality, NDCG@10", "in part", ("local-optimality",),
         "artificial data only: the two web data sets are not public"),
    Item("Donmez2009", "Figure 3", "local optimality, MAP", "in part", ("local-optimality",),
         "artificial data only: the two web data sets are not public"),
    Item("Donmez2009", "Figure 4", "local optimality, MRR", "in part", ("local-optimality",),
         "artificial data only: the two web data sets are not public"),
    Item("Donmez2009", "Figure 5", "MRR by pairs with a lambda", "in part", ("matching-measures",),
         "three sizes per metric; the sizes of the paper are not stated"),
    Item("Donmez2009", "Figure 6", "random weights, NDCG", "in part", ("local-optimality",), _GENERATED),
    Item("Burges2010", "Figure 1", "pairwise errors and the top of a list", "reproduced", ("overview-figure1",)),
    Item("Chapelle2010", "Table 1", "sizes of the LETOR data sets", "in part", ("ohsumed-table",),
         "OHSUMED; HP, NP and TD 2003 and 2004 with --data"),
    Item("Chapelle2010", "Table 2", "nine learners on seven data sets", "in part",
         ("smoothrank-ohsumed", "ohsumed-table"), "OHSUMED; HP, NP and TD 2003 and 2004 with --data"),
    Item("Chapelle2010", "Table 3", "the k of NDCG@k in training", "reproduced", ("smoothrank-truncation",)),
    Item("Chapelle2010", "Figure 1", "smooth NDCG along a line", "reproduced", ("smoothrank-line",)),
    Item("Chapelle2010", "Figure 2", "NDCG during annealing", "reproduced", ("smoothrank-annealing",)),
    Item("Chapelle2010", "Figure 3", "nine learners on OHSUMED", "reproduced",
         ("smoothrank-ohsumed", "ohsumed-table")),
    Item("Chapelle2010", "Figure 4", "means over the seven LETOR data sets", "not to be had", (),
         "HP, NP and TD 2003 and 2004 of LETOR 3.0"),
    Item("Chapelle2010", "Figure 5", "SoftRank with a Gaussian process, OHSUMED of LETOR 2.0", "not to be had", (),
         "OHSUMED of LETOR 2.0, and the published curve, which has no numbers"),
)  # fmt: skip


def coverage_table() -> str:
    """All tables and figures as text.

    >>> from swaprank.reproduction.coverage import coverage_table
    >>> [line.split()[:3] for line in coverage_table().splitlines()[2:4]]
    [['Burges2005', 'Figure', '1'], ['Burges2005', 'Table', '1']]
    """
    rows = [
        [item.paper, item.item, item.what, item.status, ", ".join(item.experiments), item.difference] for item in ITEMS
    ]
    return text_table(
        ["paper", "item", "what it is", "status", "experiment", "what differs, or is missing"], rows, left=6
    )


def coverage_values() -> list[dict[str, Any]]:
    """All tables and figures as plain values for JSON.

    >>> from swaprank.reproduction.coverage import coverage_values
    >>> coverage_values()[1]["experiments"]
    ['ranknet-table1']
    """
    return [{**item._asdict(), "experiments": list(item.experiments)} for item in ITEMS]
