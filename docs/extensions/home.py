"""The home of the site is the README, with links from docs/ instead of from the root of the repository."""

import re
from pathlib import Path
from typing import Any

ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "policy.md#security",
    "examples/README.md": "gallery.md",
}
"""Files outside docs/, and the pages of the site that stand for them; of other files, only the name is left."""


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Called for every page before it is rendered."""
    if page.file.src_uri != "index.md":
        return markdown
    text = (Path(config.config_file_path).parent / "README.md").read_text("utf-8")
    return re.sub(r"\[([^]]*)\]\(([^)]+)\)", _of_site, text)


def _of_site(link: re.Match[str]) -> str:
    text, target = link.groups()
    page = target.removeprefix("docs/") if target.startswith("docs/") else ELSEWHERE.get(target)
    return text if page is None else f"[{text}]({page})"
