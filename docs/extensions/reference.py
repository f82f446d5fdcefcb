"""For the site's reference, which reads the sources without running them."""

import re
from importlib import import_module
from inspect import getdoc, signature
from typing import Any

from griffe import Class, Docstring, Extension, Function, Object, Parameter, ParameterKind, Parameters

EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^(?!\s*$).*\n?|^\s*\n(?=>>> ))*", re.MULTILINE)
FENCE = "```pycon"
KINDS = {"POSITIONAL_OR_KEYWORD": ParameterKind.positional_or_keyword, "KEYWORD_ONLY": ParameterKind.keyword_only}


class DeclaredParameters(Extension):
    """Signature and documentation of classes whose parameters are declared, which are made when they are imported."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Called once for every class that has been loaded."""
        if not cls.path.startswith("swaprank.") or cls.name.startswith("_"):
            return
        found = getattr(import_module(cls.module.path), cls.name, None)
        if not getattr(found, "declared", None):
            return
        given = signature(found).parameters.items()
        parameters = [
            Parameter(name, kind=KINDS[each.kind.name], default=repr(each.default), annotation=_shown(each.annotation))
            for name, each in given
        ]
        cls.set_member("__init__", Function("__init__", parameters=Parameters(*parameters)))
        cls.docstring = Docstring(_fenced(getdoc(found) or ""), parent=cls)


def _shown(annotation: Any) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


class DoctestBlocks(Extension):
    """Put a fence around every run of lines that begins with `>>>` and ends with a blank line."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for every object that has been loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _fenced(obj.docstring.value)


def _fenced(text: str) -> str:
    """The text with fences, once: it depends on the version of griffe which of the two extensions comes first."""
    return text if FENCE in text else EXAMPLE.sub(lambda found: f"{FENCE}\n{found[0].rstrip()}\n```\n", text)
