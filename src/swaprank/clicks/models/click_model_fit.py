"""Fit a click model to a log."""

from typing import get_args

import numpy as np

from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.browsing_em import Browsing, fit_browsing
from swaprank.clicks.models.cascade_fit import Cascade, fit_cascade
from swaprank.clicks.models.click_model import ClickModel, chances_on
from swaprank.clicks.models.click_model_names import MODELS, Assumptions, ModelName
from swaprank.clicks.models.click_prediction import click_chances, examined_rows
from swaprank.clicks.models.shown_pages import pages_of, places_of
from swaprank.clicks.models.shrinkage import PAIR_STRENGTH
from swaprank.parameters import check_word
from swaprank.threads import thread_count


def fit_model(log: ClickLog, model: ModelName = "ubm", *, n_threads: int | None = None) -> ClickModel:
    """Fit a click model: what people examine, and the relevance of each document, without any features.

    Every grade above 0 is a click. All models are fitted by maximum likelihood, with documents and places that were
    seldom shown drawn towards the others.

    Args:
        log: The clicks.
        model: "pbm": position-based, the place decides what is examined [Richardson2007]. "ubm": user browsing, the
            place and that of the last click above decide [Dupret2008]; "ubm_clicks": the number of clicks above, too.
            People who read from top to bottom until they stop: "cascade", at the first click [Craswell2008]; "dcm":
            after a click, by its place [Guo2009]; "sdbn": when a document satisfies them; "dbn": or when they lose
            patience [Chapelle2009]; "ccm": by the relevance of what they clicked, or without patience [Guo2009b]. To
            compare with: "rate", "rate_by_place", "rate_by_document".
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(data, data.column("match"), 20_000, n_shown=3, random_state=0)
    >>> print(sr.clicks.fit_model(log, "pbm"))
    position  examination
    --------  -----------
    1              1.0000
    2              0.5320
    3              0.3576
    <BLANKLINE>
    pbm (position-based): 823 parameters, fitted on 20,000 sessions in 58 rounds.
    """
    check_word("model", model, get_args(ModelName))
    kind, places, threads = MODELS[model], places_of(log), thread_count(n_threads)
    pages = pages_of(log, places)
    fit = fit_cascade if kind.is_cascade else fit_browsing
    fitted: Browsing | Cascade = fit(pages, kind, len(places), log.pair_query, log.n_queries, threads)
    chances = chances_on(kind, fitted, pages, len(places), np.arange(log.n_pairs), log.pair_query)
    examined = examined_rows(pages, chances, threads)
    # The information of a row about the relevance r, times r (1 - r): one of an examination that is certain.
    certain = examined * (1.0 - chances.attraction[pages.pair]) / (1.0 - click_chances(pages, chances, examined))
    shown = np.bincount(log.document, minlength=log.n_pairs)
    return ClickModel(
        name=model,
        qids=log.qids,
        pair_query=log.pair_query,
        pair_docid=log.pair_docid,
        shown=shown,
        clicks=np.bincount(log.document[pages.click], minlength=log.n_pairs),
        places=places,
        fitted=fitted,
        examined=PAIR_STRENGTH + sums(log.document, certain, log.n_pairs),
        n_sessions=log.n_sessions,
        n_parameters=_n_parameters(kind, fitted, int((shown > 0).sum())),
    )


def _n_parameters(kind: Assumptions, fitted: Browsing | Cascade, n_documents: int) -> int:
    """Free numbers of what was shown."""
    n = n_documents if kind.documents else 0
    if isinstance(fitted, Browsing):
        # With documents, the examination at the top is 1 by convention.
        n_contexts = int((fitted.seen > 0).sum()) if kind.examination else 0
        return n + n_contexts - (1 if n_contexts and kind.documents else 0)
    n += n_documents if fitted.satisfaction is not None else 0
    n += {"place": len(fitted.after_click) - 1, "relevance": 2}.get(kind.after_click, 0)
    return n + kind.impatient
