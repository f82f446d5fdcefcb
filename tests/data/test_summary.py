import numpy as np

import swaprank as sr


def test_figures() -> None:
    X = np.array([[1, 0, np.nan, 5], [2, 0, 1, 5], [3, 0, np.nan, 5], [4, 0, 2, 5]])
    summary = sr.data.summarize(sr.Dataset(X, [0, 2, 0, 0], qid=["a", "b", "a", "b"]))
    assert (summary.n_documents, summary.n_queries, summary.n_features) == (4, 2, 4)
    assert summary.labels == {"0": 3, "2": 1}
    assert (summary.n_one_label, summary.n_without_relevant) == (1, 1)
    assert (summary.missing, summary.constant, summary.all_zero) == ({"3": 2}, ["4"], ["2"])
    assert not summary.is_grouped


def test_bars_can_be_drawn_in_ascii() -> None:
    summary = sr.data.summarize(sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[1, 1, 1]))
    plain = summary.to_text("#")
    assert plain.isascii()
    assert plain == str(summary).replace("█", "#")
    assert [line.count("#") for line in plain.splitlines() if line.startswith("label")] == [15, 30]


def test_a_summary_is_a_table_in_notebooks() -> None:
    data = sr.Dataset([[1, 0], [2, 0]], [0, 1], qid=[1, 1], feature_names=["a", "<b>"])
    summary = sr.data.summarize(data)
    html = summary._repr_html_()
    assert html.count("<tr>") == len(str(summary).splitlines())
    assert "1: &lt;b&gt;" in html
    assert repr(summary) == str(summary)
