"""Parameters, each declared once, in the class that has it.

    class Trees(Parameters):
        n_trees: int = parameter(default=300, low=0, also="n_estimators", text="Maximum number of trees.")

The signature of the class, the checks, the documentation, `swaprank info`, what `tune` searches and the names of other
libraries are all made from the declaration. A class that inherits it may declare it again to change a part of it:
`n_trees: int = parameter(default=50)`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter as SignatureParameter
from inspect import Signature, cleandoc, get_annotations
from textwrap import fill
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

from swaprank.errors import ParameterError, did_you_mean
from swaprank.peer_names import ARGUMENTS, check_arguments

_LARGEST_SHOWN = 10**7
"""Larger upper bounds are there for safety, and not shown in messages."""


class Bounds(NamedTuple):
    """The range of a number. If open_low, low itself is excluded. If optional, None is allowed. So are the words."""

    whole: bool
    low: float
    high: float
    open_low: bool = False
    optional: bool = False
    words: Sequence[str] = ()


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter."""

    default: Any
    text: str = ""
    """Its meaning, for the documentation and `swaprank info`."""
    low: float | None = None
    """The smallest number that it may be."""
    above: float | None = None
    """Instead of low: a number that it must be larger than."""
    high: float | None = None
    """The largest number."""
    whole: bool | None = None
    """True for whole numbers only; by default if its default is one."""
    optional: bool = False
    """True if it may be None; it always may if that is its default."""
    means_none: int | None = None
    """A number that stands for None in other libraries, and is accepted."""
    words: Sequence[str] = ()
    """The words that it may be, in place of a number if it has bounds."""
    instances: tuple[type, ...] = ()
    """Classes whose instances are accepted as they are."""
    each: bool = False
    """True for a tuple of such numbers."""
    by_round: bool = False
    """True if it may also be a sequence, one number per round; the last one is kept for all later rounds."""
    also: str = ""
    """Names of other libraries for the same thing, which are accepted."""
    tune: Any = None
    """The range that `tune` searches by default: (low, high), or a list of values."""
    tuned_at: Any = None
    """The value that `tune` sets for all trials."""
    of_objective: bool = False
    """True if it belongs to the default objective; an objective that is given as an instance has its own."""
    is_ranker: bool = False
    """True for a fitted ranker, or several: what they have learned becomes part of the model."""
    kw_only: bool = True
    """False if it may be given by position."""
    last: bool = False
    """True if it is listed after the others, because most rankers have it."""

    @property
    def bounds(self) -> Bounds | None:
        """The range of the number or numbers; None for other parameters."""
        low = self.low if self.above is None else self.above
        if low is None:
            return None
        whole = isinstance(self.default, int) if self.whole is None else self.whole
        high = self.high if self.high is not None else 2**62 if whole else np.inf
        optional = self.optional or self.default is None
        return Bounds(whole, low, high, self.above is not None, optional, self.words)

    def is_none(self, value: Any) -> bool:
        """True for the number that stands for None in other libraries."""
        return self.means_none is not None and isinstance(value, int) and value == self.means_none

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError, with the name and the value, if the value is not one of this parameter."""
        if isinstance(value, self.instances):
            return
        if self.words and self.bounds is None and not (value is None and self.optional):
            check_word(name, value, self.words)
        elif isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise ParameterError(f"{name} must be True or False; found {value!r}.")
        elif self.bounds is not None:
            for number in self._numbers(name, value):
                check_parameter(name, number, self.bounds)

    def _numbers(self, name: str, value: Any) -> Sequence[Any]:
        is_sequence = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) > 0
        if self.each and not is_sequence:
            raise ParameterError(f"{name} must be a tuple of numbers, such as (10,); found {value!r}.")
        if self.by_round and is_sequence and len(value) == 0:
            raise ParameterError(f"{name} must be a number or a sequence of numbers, one per round; found none.")
        return value if is_sequence and (self.each or self.by_round) else (value,)


def parameter(**given: Any) -> Any:
    """Declare a parameter of a class derived from `Parameters`; the arguments are fields of `Parameter`.

    A parameter that is inherited keeps the fields that are not given.

    >>> from swaprank.parameters import Parameters, parameter
    >>> class Trees(Parameters):
    ...     n_trees: int = parameter(default=300, low=0, also="n_estimators num_trees", text="Maximum number of trees.")
    >>> Trees(n_estimators=50).n_trees
    50
    >>> Trees(n_trees=-1).check_parameters()
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: n_trees must be a whole number from 0; found -1.
    """
    return _Declared(given)


class _Declared(NamedTuple):
    """A call of `parameter`, until the class that it stands in is made."""

    given: dict[str, Any]


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter,))
class Parameters:
    """A class whose `__init__` takes the declared parameters and stores them under their names."""

    declared: ClassVar[Mapping[str, Parameter]] = {}
    """Declarations by name: those of the class itself, then the inherited ones."""
    _declared_here: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Declarations of the class itself, and its changes of inherited ones."""

    def __init_subclass__(cls, **others: Any) -> None:
        """Collect the declarations, and make the signature and the documentation of the class from them."""
        super().__init_subclass__(**others)
        here = {name: value for name, value in vars(cls).items() if isinstance(value, _Declared)}
        for name in here:
            delattr(cls, name)
        cls._declared_here = {name: each.given for name, each in here.items()}
        classes = [each for each in cls.__mro__ if issubclass(each, Parameters)]
        given: dict[str, dict[str, Any]] = {}
        for each in reversed(classes):
            # A parameter of a base class that is given a plain value is a parameter no more.
            given = {name: value for name, value in given.items() if name not in vars(each)}
            for name, changes in each._declared_here.items():
                given[name] = {**given.get(name, {}), **changes}
        declared = {name: Parameter(**each) for name, each in given.items()}
        # The nearest class first, and a parameter that is declared again where it was.
        first = {name: number for number, each in enumerate(classes) for name in each._declared_here}
        places = sorted(declared, key=lambda name: (declared[name].kw_only, declared[name].last, first[name]))
        cls.declared = {name: declared[name] for name in places}
        if "__init__" not in vars(cls):
            cls.__init__ = _init(cls)  # type: ignore[method-assign]
        if cls.__doc__ and cls.declared:
            cls.__doc__ = f"{cleandoc(cls.__doc__)}\n\nArgs:\n{_listed(cls.declared)}\n"

    def check_parameters(self) -> None:
        """Check types, bounds and words of all parameters; an error names the parameter and its value."""
        for name, each in self.declared.items():
            each.check(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        """Check what one declaration cannot say."""

    @classmethod
    def accepted_names(cls) -> dict[str, str]:
        """The parameters by all names that are accepted: their own, and those of other libraries."""
        theirs = {name: ours for ours, each in cls.declared.items() for name in each.also.split()}
        return {**theirs, **{name: name for name in cls.declared}}

    @classmethod
    def _own_names(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments under the names of this class; ArgumentError, naming all wrong ones, if one is not known."""
        accepted = cls.accepted_names()
        here = {name: accepted.get(name, name) for name in given}
        check_arguments(here.values(), cls.declared, cls.__name__)
        for ours in set(here.values()):
            given_as = [name for name in here if here[name] == ours]
            if len(given_as) > 1:
                raise ParameterError(f"{cls.__name__}: {' and '.join(given_as)} are both {ours}: give one of them.")
        values = {here[name]: value for name, value in given.items()}
        return {name: None if cls.declared[name].is_none(value) else value for name, value in values.items()}


def _init(cls: type[Parameters]) -> Any:
    """The `__init__` of a class: arguments become attributes of the same names."""
    by_position = [name for name, each in cls.declared.items() if not each.kw_only]

    def init(self: Any, *positional: Any, **given: Any) -> None:
        if len(positional) > len(by_position):
            first = f"only {by_position[0]}" if by_position else "nothing"
            raise TypeError(f"{type(self).__name__} takes {first} by position: name the other parameters.")
        values = type(self)._own_names({**dict(zip(by_position, positional, strict=False)), **given})
        for name, each in type(self).declared.items():
            setattr(self, name, values.get(name, each.default))

    annotations = {name: kind for base in reversed(cls.__mro__) for name, kind in get_annotations(base).items()}
    kinds = (SignatureParameter.POSITIONAL_OR_KEYWORD, SignatureParameter.KEYWORD_ONLY)
    init.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            SignatureParameter("self", SignatureParameter.POSITIONAL_OR_KEYWORD),
            *(
                SignatureParameter(
                    name,
                    kinds[each.kw_only],
                    default=each.default,
                    annotation=annotations.get(name, SignatureParameter.empty),
                )
                for name, each in cls.declared.items()
            ),
        ],
        return_annotation=None,
    )
    init.__name__ = "__init__"
    return init


def _listed(declared: Mapping[str, Parameter]) -> str:
    """The entries of an `Args:` section."""
    return "\n".join(
        fill(f"{name}: {each.text}", 120, initial_indent=" " * 4, subsequent_indent=" " * 8)
        for name, each in declared.items()
    )


def check_parameter(name: str, value: Any, bounds: Bounds) -> None:
    """Raise ParameterError if a value is not a number, not a whole one where that is needed, or out of bounds.

    >>> from swaprank.parameters import Bounds, check_parameter
    >>> check_parameter("n_trees", 10, Bounds(whole=True, low=0, high=1000))
    """
    if (value is None and bounds.optional) or (isinstance(value, str) and value in bounds.words):
        return
    kind = "a whole number" if bounds.whole else "a number"
    span = f"{kind} {'above' if bounds.open_low else 'from'} {bounds.low:g}"
    if bounds.high <= _LARGEST_SHOWN:
        span += f" to {bounds.high:g}"
    others = [*(f"'{word}'" for word in bounds.words), *(["None"] if bounds.optional else [])]
    if others:
        span = ", ".join([span, *others[:-1], f"or {others[-1]}"])
    numeric = isinstance(value, int | np.integer) or (not bounds.whole and isinstance(value, float | np.floating))
    largest = min(bounds.high, float(np.finfo(np.float64).max))
    fits = numeric and not isinstance(value, bool) and bounds.low <= value <= largest
    if not fits or (bounds.open_low and value == bounds.low):
        raise ParameterError(f"{name} must be {span}; found {value!r}.")


def check_word(name: str, value: Any, words: Collection[str]) -> None:
    """Raise ParameterError if a value is not one of the words that a parameter may be.

    >>> from swaprank.parameters import check_word
    >>> check_word("method", "swap", ("harvest", "swaps"))
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: there is no method 'swap'; did you mean 'swaps'?
    """
    if value not in words:
        raise ParameterError(f"there is no {name} '{value}'; {did_you_mean(str(value), words)}")


def own_name(cls: type[Parameters], name: str, of: str) -> str:
    """The name of a parameter in a class, which may be given by the name of another library.

    Args:
        cls: The class.
        name: The name that was given.
        of: What to call the class in the error if it has no such parameter.

    >>> import swaprank as sr
    >>> from swaprank.parameters import own_name
    >>> own_name(sr.LambdaMART, "num_leaves", "lambdamart")
    'n_leaves'
    """
    accepted = cls.accepted_names()
    if name not in accepted:
        meant = ARGUMENTS.get(name, name)
        raise ParameterError(f"{of} has no parameter '{name}'; {did_you_mean(meant, cls.declared)}")
    return accepted[name]
