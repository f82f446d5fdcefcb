"""The certificate section: the test of local optimality and its curves."""

import numpy as np

import swaprank as sr
from swaprank.reporting.markup import Html, join, paragraph, table, tag
from swaprank.reporting.plots import Axes, Line, chart, legend, level, line_path, lines, scale_of, stretched, thinned
from swaprank.reporting.subject import Section, section

_FAINT_LINES = 60


def certificate_section(found: sr.instruments.Certificate, on: str) -> Section:
    """The verdict, and the metric along the tested directions.

    >>> import swaprank as sr
    >>> from swaprank.reporting.certification import certificate_section
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> certificate = sr.certify(sr.LinearRegressionRanker().fit(train), train)
    >>> certificate_section(certificate, "train.txt").title
    'Certificate'
    """
    word, style = ("passed", "up") if found.passed else ("not passed", "down")
    facts = [
        ["directions that raise it", f"{found.n_rising:,} of {found.n_directions:,}"],
        ["parameters that raise it alone", f"{found.n_weights_rising:,} of {len(found.weights):,}"],
        ["moved", found.parameters],
        ["steps", f"{found.steps.min():g} to {found.steps.max():g}"],
        [str(found.metric), f"{found.value:.6f} over {found.n_queries:,} queries"],
        ["data", on],
    ]
    words = join([tag("span", word, class_=f"badge {style}"), " ", found.verdict()])
    side = table(["", ""], facts, class_="data facts")
    note = paragraph(
        "This tests the training, not the quality of the ranker: early stopping is often right, but fails the test.",
        class_="note",
    )
    pair = tag("div", _chart(found), tag("div", side, note), class_="pair")
    return section("certificate", "Certificate", words, pair)


def _chart(found: sr.instruments.Certificate) -> Html:
    best, (steps, curves) = found.highest, found.from_zero()
    drawn = thinned(found.n_directions, _FAINT_LINES)
    axes = Axes(
        scale_of(steps, pad=0.0),
        scale_of(np.concatenate((curves[drawn].ravel(), curves[best])), pad=0.08),
        "step",
        str(found.metric),
    )
    faint = stretched(*(line_path(steps, curves[at], axes, "faint") for at in drawn.tolist()))
    highest = Line("highest direction", steps, curves[best], "s0")
    tips = [
        (float(step), f"step {step:g}\nhighest direction {value:.4f}\nall: {low:.4f} to {high:.4f}")
        for step, value, low, high in zip(steps, curves[best], curves.min(axis=0), curves.max(axis=0), strict=True)
    ]
    rows = [
        [f"{step:g}", f"{curves[best, at]:.5f}", f"{curves[:, at].min():.5f}", f"{curves[:, at].max():.5f}"]
        for at, step in enumerate(steps.tolist())
    ]
    return chart(
        f"{found.metric} along random directions",
        f"Line chart of {found.metric} along {len(drawn)} of {found.n_directions} directions from {found.value:.4f}; "
        f"the highest reaches {curves[best].max():.4f}.",
        axes,
        join([faint, level(axes, found.value), lines([highest], axes, tips)]),
        legend=legend([("s0", "highest"), ("tie", f"{len(drawn)} others")]),
        numbers=table(["step", "highest direction", "minimum", "maximum"], rows, left=0),
        class_="tall",
    )
