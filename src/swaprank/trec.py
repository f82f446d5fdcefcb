"""Judgements and runs of TREC: relevance by document id, and ranked lists of a system."""

from swaprank.data.judgements import Qrels as Qrels
from swaprank.data.judgements import Run as Run
from swaprank.reading.trec import read_qrels as read_qrels
from swaprank.reading.trec import read_run as read_run
from swaprank.reading.trec import write_run as write_run

__all__ = ["Qrels", "Run", "read_qrels", "read_run", "write_run"]
