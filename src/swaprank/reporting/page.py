"""One self-contained HTML file from sections: style, script and drawings are in the file."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from swaprank.reporting.markup import Html, tag
from swaprank.reporting.subject import Section


def make_page(title: str, subtitle: object, summary: object, sections: Sequence[Section], footer: str) -> Html:
    """The whole page.

    >>> from swaprank.reporting.markup import Html
    >>> from swaprank.reporting.page import make_page
    >>> from swaprank.reporting.subject import Section
    >>> page = make_page("A & B", "", "", [Section("one", "One", Html("<p>1</p>"))], "")
    >>> page.startswith("<!doctype html>"), "<title>A &amp; B</title>" in page
    (True, True)
    """
    body = [
        page_top("report", title, subtitle, summary),
        _navigation(sections),
        _main(sections),
        tag("footer", footer),
    ]
    return whole_page(title, body)


def whole_page(title: str, body: Sequence[Html], *, style: str = "", script: str = "", fetch: str = "'none'") -> Html:
    """A page with the style, the theme and the tips of the report, and with more style and script if given.

    Args:
        title: The title of the page.
        body: What it shows, from top to bottom; one part has the id "content".
        style: More style, after that of the report.
        script: More script, after that of the report.
        fetch: Where the script may fetch from, as in a content security policy.

    >>> from swaprank.reporting.markup import tag
    >>> from swaprank.reporting.page import page_top, whole_page
    >>> page = whole_page("A & B", [page_top("report", "A & B", "", ""), tag("main", id="content")])
    >>> "connect-src &#x27;none&#x27;" in page
    True
    """
    style, script = Html(_part("style.css") + style), Html(_part("script.js") + script)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script, fetch)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="swaprank"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", style),
    )
    content = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        *body,
        tag("div", id="tip", role="status", aria_live="polite", hidden=""),
        tag("script", script),
    )
    return Html(f"<!doctype html>\n{tag('html', head, content, lang='en')}\n")


def page_top(what: str, title: str, subtitle: object, summary: object) -> Html:
    """The top of a page: what kind of page it is, the button for light and dark, the title and what is most important.

    >>> from swaprank.reporting.page import page_top
    >>> "<h1><bdi>Ours</bdi></h1>" in page_top("report", "Ours", "", "")
    True
    """
    brand = tag("div", tag("span", "swaprank", class_="brand"), f" {what}", class_="brand-line")
    toggle = tag(
        "button",
        tag("span", "Dark", id="theme-word"),
        id="theme",
        type="button",
        aria_label="Switch between light and dark",
    )
    heading = tag("h1", tag("bdi", title))
    return tag(
        "header",
        tag("div", brand, toggle, class_="bar"),
        heading,
        tag("p", subtitle, class_="below"),
        summary,
        class_="top",
    )


def _navigation(sections: Sequence[Section]) -> Html:
    links = [tag("li", tag("a", section.title, href=f"#{section.anchor}")) for section in sections]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _main(sections: Sequence[Section]) -> Html:
    parts = [
        tag(
            "section",
            tag("h2", section.title, id=f"{section.anchor}-title"),
            section.body,
            id=section.anchor,
            aria_labelledby=f"{section.anchor}-title",
        )
        for section in sections
    ]
    return tag("main", *parts, id="content")


def _part(name: str) -> Html:
    return Html((files("swaprank.reporting") / name).read_text("utf-8"))


def _policy(style: str, script: str, fetch: str) -> str:
    """A content security policy with which only this style and this script run, and nothing else is fetched."""

    def digest(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    run = f"style-src {digest(style)}; script-src {digest(script)}"
    return f"default-src 'none'; img-src data:; {run}; connect-src {fetch}"


def notebook_frame(page: str) -> Html:
    """The page in an iframe, for notebooks.

    >>> from swaprank.reporting.page import notebook_frame
    >>> notebook_frame("<p>")
    '<iframe srcdoc="&lt;p&gt;" width="100%" height="720" sandbox="allow-scripts"></iframe>'
    """
    return tag("iframe", srcdoc=str(page), width="100%", height=720, sandbox="allow-scripts")
