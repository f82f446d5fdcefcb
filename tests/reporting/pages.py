"""A strict HTML reader: every element must be closed where it was opened."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr"}


@dataclass
class Page:
    ids: list[str] = field(default_factory=list)
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    text: str = ""
    headings: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page, self.open = Page(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, attrs)
        attributes = dict(attrs)
        self.page.elements.append((tag, attributes))
        if "id" in attributes:
            self.page.ids.append(str(attributes["id"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            self.page.headings.append(tag)
        if tag == "table":
            self.page.tables.append([])
        if tag == "tr":
            self.page.tables[-1].append([])
        if tag in ("td", "th"):
            self.page.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag, (tag, self.open[-3:])

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "script" in self.open:
            return
        self.page.text += data
        if "td" in self.open or "th" in self.open:
            self.page.tables[-1][-1][-1] += data


def read_page(html: str) -> Page:
    """The content of a page; fails if it is not well formed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert len(set(reader.page.ids)) == len(reader.page.ids)
    return reader.page
