"""Builds a wheel with compiled kernels, if the environment variable SWAPRANK_KERNELS names their folder."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the folder to the package, and tags the wheel for this Python and platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        folder = os.environ.get("SWAPRANK_KERNELS")
        if folder:
            build_data["force_include"][folder] = "swaprank/compilation/compiled"
            build_data["pure_python"], build_data["infer_tag"] = False, True
