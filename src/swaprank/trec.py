"""Judgements and runs of TREC, and files of scores: relevance by document id, and what systems made of it."""

from swaprank.data.judgements import Qrels as Qrels
from swaprank.data.judgements import Run as Run
from swaprank.reading.trec import read_qrels as read_qrels
from swaprank.reading.trec import read_run as read_run
from swaprank.reading.trec import read_scores as read_scores
from swaprank.reading.trec import write_run as write_run
from swaprank.reading.trec import write_scores as write_scores

__all__ = ["Qrels", "Run", "read_qrels", "read_run", "read_scores", "write_run", "write_scores"]
