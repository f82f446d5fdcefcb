"""The click models by name, and what each assumes about people."""

from typing import Literal, NamedTuple

ModelName = Literal[
    "rate", "rate_by_place", "rate_by_document", "pbm", "cascade", "dcm", "sdbn", "dbn", "ccm", "ubm", "ubm_clicks"
]
"""All click models, from simple to rich."""


class Assumptions(NamedTuple):
    """What a model is made of. A browsing model knows the examination of a place; a cascade, when people go on."""

    title: str
    examination: Literal["", "all", "place", "last click", "clicks above"] = ""
    """The examination of browsing models depends on this and on all before it in this list."""
    documents: bool = True
    """Whether documents differ."""
    after_click: Literal["", "never", "place", "document", "relevance"] = ""
    """In a cascade: what decides whether somebody goes on after a click."""
    impatient: bool = False
    """In a cascade: people may stop at a document that they did not click."""

    @property
    def is_cascade(self) -> bool:
        """True if people read from top to bottom until they stop."""
        return self.after_click != ""


MODELS: dict[str, Assumptions] = {
    "rate": Assumptions("one click rate", "all", documents=False),
    "rate_by_place": Assumptions("click rate by place", "place", documents=False),
    "rate_by_document": Assumptions("click rate by document"),
    "pbm": Assumptions("position-based", "place"),
    "cascade": Assumptions("cascade", after_click="never"),
    "dcm": Assumptions("dependent click", after_click="place"),
    "sdbn": Assumptions("simplified dynamic Bayesian", after_click="document"),
    "dbn": Assumptions("dynamic Bayesian", after_click="document", impatient=True),
    "ccm": Assumptions("click chain", after_click="relevance", impatient=True),
    "ubm": Assumptions("user browsing", "last click"),
    "ubm_clicks": Assumptions("user browsing, by the number of clicks above", "clicks above"),
}
