"""What hatchling asks while it builds: the README for a package index, and the kernels of a compiled wheel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def for_index(text: str, repository: str, tag: str) -> str:
    """The README as a package index shows it, without the repository around it.

    Relative links and pictures lead to the files of a tag, as on GitHub, and pip installs by name.
    """

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/{tag}/{target})"

    return LINK.sub(absolute, text).replace("pip install . ", "pip install swaprank ")


class Readme(MetadataHookInterface):
    """The README, for a package index if `project.urls` says where the repository is."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called whenever metadata is read, before a build too."""
        text = Path(self.root, "README.md").read_text("utf-8")
        if repository := metadata.get("urls", {}).get("Repository"):
            text = for_index(text, repository, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the folder that the environment variable SWAPRANK_KERNELS names, and tags the wheel for where it runs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        folder = os.environ.get("SWAPRANK_KERNELS")
        if folder:
            build_data["force_include"][folder] = "swaprank/compilation/compiled"
            build_data["pure_python"], build_data["tag"] = False, os.environ["SWAPRANK_KERNELS_TAG"]
