"""Claim: the click rate of each policy of Open Bandit, estimated from the log of the other, agrees with its own log.

    python benchmarks/open_bandit.py PATH

PATH is the wheel of `obp` (pip download --no-deps obp), or a folder with its content. It has samples of the Open Bandit
Dataset [Saito2021]: for each of three campaigns, 10,000 impressions of a policy that draws items uniformly at random,
and 10,000 of Bernoulli Thompson sampling (bts), with the item, one of three positions, the click, and the probability
of the item at the position. Each impression is a session of its own here.

The table has, for each campaign and policy, the rate of its own log ("own"), and the estimates from the log of the
other. The uniform policy shows each item with probability 1 / items. Thompson sampling changes with time: it stands for
the shares of impressions that each item has at each position of its log.
"""

from __future__ import annotations

import argparse
import io
import zipfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

import swaprank as sr
from swaprank.clicks import ClickLog, Policy
from swaprank.clicks.policies.policy_evaluation import PolicyEstimate
from swaprank.clicks.policies.policy_values import PolicyEstimator
from swaprank.rendering.tables import text_table

CAMPAIGNS = ("all", "men", "women")
CLIP = 0.001


def read_log(path: Path, policy: str, campaign: str) -> ClickLog:
    name = f"obp/dataset/obd/{policy}/{campaign}/{campaign}.csv"
    content = (path / name).read_bytes() if path.is_dir() else zipfile.ZipFile(path).read(name)
    columns = ["item_id", "position", "click", "propensity_score"]
    table = pd.read_csv(io.BytesIO(content), usecols=columns)
    return ClickLog(
        session=np.arange(len(table)),
        qid=np.zeros(len(table), int),
        docid=table["item_id"].to_numpy(),
        position=table["position"].to_numpy(),
        click=table["click"].to_numpy(),
        propensity=table["propensity_score"].to_numpy(),
    )


def shares(own: ClickLog, log: ClickLog) -> Policy:
    """The share of each item in the impressions at each position of its own log, for another log of the same items."""
    item = {docid: pair for pair, docid in enumerate(log.pair_docid.tolist())}
    counts = np.zeros((log.n_pairs, 3))
    pairs = np.array([item[docid] for docid in own.pair_docid.tolist()])
    np.add.at(counts, (pairs[own.document], own.position - 1), 1.0)
    return Policy(log, counts / counts.sum(axis=0))


def line(row: PolicyEstimate, *names: str) -> list[str]:
    numbers = [f"{row.mean:.2%}", f"{row.low:.2%} to {row.high:.2%}", f"{row.n_effective:,.0f}"]
    return [*names, *numbers, f"{row.largest_weight:,.1f}", f"{row.mean_weight:.2f}"]


def estimates(log: ClickLog, policy: Policy, *names: str) -> list[list[str]]:
    rows = []
    for estimator in get_args(PolicyEstimator):
        options: list[dict[str, Any]] = [{}, {"clip": CLIP}] if estimator != "direct" else [{}]
        for option in options:
            row = sr.clicks.evaluate_policy(log, policy, "ctr", estimator=estimator, **option)["ctr"]
            if option and row.clipped == 0:
                continue
            rows.append(line(row, *names, estimator + (f", clip {CLIP:g}" if option else "")))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    table = []
    for campaign in CAMPAIGNS:
        random, bts = (read_log(path, policy, campaign) for policy in ("random", "bts"))
        for name, own, other, policy in (
            ("random", random, bts, Policy.uniform(bts)),
            ("bts", bts, random, shares(bts, random)),
        ):
            truth = sr.clicks.evaluate_policy(own, Policy.logged(own), "ctr")["ctr"]
            table.append(line(truth, campaign, name, "own", "click rate"))
            table += estimates(other, policy, campaign, name, "bts" if name == "random" else "random")
    header = ["campaign", "policy", "log", "estimator", "click rate", "95% interval", "effective", "largest weight"]
    print(text_table([*header, "mean weight"], table, left=4))


if __name__ == "__main__":
    main()
