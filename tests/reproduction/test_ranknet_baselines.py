"""[Burges2005, Table 4] on generated data: the data is of the kind of the paper, and the table has all learners."""

import numpy as np
import pytest

from swaprank.reproduction import ranknet_baselines
from swaprank.reproduction.experiment import Settings
from swaprank.reproduction.experiment_names import experiment


def test_the_data_is_like_that_of_the_paper() -> None:
    train, vali, test, whole = ranknet_baselines.web_like((200, 10, 10), seed=0)
    lengths = np.diff(train.indptr)
    assert lengths.mean() == pytest.approx(34, abs=1)
    rated = np.add.reduceat(train.labels > 0, train.indptr[:-1]).mean()
    assert rated == pytest.approx(15, abs=1)
    assert (vali.n_features, len(test), len(whole)) == (57, 1000, 20_000)
    # The learners see half of what the labels depend on.
    assert np.unique(train.labels).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(train.features[0], ranknet_baselines.web_like((200, 10, 10), seed=0)[0].features[0])


def test_the_table_has_all_learners_beside_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranknet_baselines, "QUICK_QUERIES", (20, 10, 10))
    monkeypatch.setattr(ranknet_baselines, "QUICK_EPOCHS", 2)
    messages: list[str] = []
    outcome = experiment("ranknet-table4").run(Settings(quick=True), messages.append)
    rows = outcome.text.splitlines()[-6:]
    assert [row.split("  ")[0] for row in rows] == list(ranknet_baselines.LEARNERS)
    assert len(messages) == 6
    published = [0.327, 0.412, 0.454, 0.460, 0.477, 0.488]
    assert all(f"{value:.3f}" in row for value, row in zip(published, rows, strict=True))
    assert [row.split("  ")[1].strip() for row in rows[-2:]] == ["0.479 ± 0.005", "0.500 ± 0.005"]
    ours, paper = outcome.chart.series
    assert paper.y == published
    assert 0 < min(ours.y) < max(ours.y) < 1
