"""The home of the site is the README, with links from docs/ instead of from the root of the repository."""

from pathlib import Path
from typing import Any

ELSEWHERE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "design.md"}
"""Files outside docs/, and the pages of the site that stand for them."""


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Called for every page before it is rendered."""
    if page.file.src_uri != "index.md":
        return markdown
    text = (Path(config.config_file_path).parent / "README.md").read_text("utf-8").replace("](docs/", "](")
    for file, page_of_site in ELSEWHERE.items():
        text = text.replace(f"]({file})", f"]({page_of_site})")
    return text
