"""For the site: citations such as [Burges2005, Eq. 3] are links to entries of the bibliography."""

import re
from typing import Any

KEY = r"[A-Z][A-Za-z]+(?:19|20)\d\d[a-z]?"
PAGE = "bibliography.html"
LEFT_ALONE = re.compile(r"(<(pre|code|a|h\d|title)\b.*?</\2>|<[^>]*>)", re.DOTALL)
CITED = re.compile(r"\[[^\[\]]*\]")


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Called once for every page, with its content."""
    if page.url.endswith(PAGE):
        return re.sub(rf"<strong>\[({KEY})\]</strong>", r'<strong id="\1">[\1]</strong>', html)
    target = "../" * page.url.count("/") + PAGE
    parts = LEFT_ALONE.split(html)
    # Of every three parts, the first is text, the second is left alone, and the third is the name of its element.
    texts = (CITED.sub(lambda found: _linked(found[0], target), text) for text in parts[::3])
    kept = [*parts[1::3], ""]
    return "".join(text + element for text, element in zip(texts, kept, strict=True))


def _linked(cited: str, target: str) -> str:
    return re.sub(rf"\b({KEY})\b", rf'<a href="{target}#\1">\1</a>', cited)
