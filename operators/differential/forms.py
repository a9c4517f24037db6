"""What an operator does with the coefficients of its stencil: a table, one row an operator.

The stencil gives, for each neighbour, a few coefficients and the difference of the field's
components; a form says which products of the two add up to which component of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

Term = tuple[int, int, int, float]
"""To component `out` add sign x coefficient x input component: (out, coefficient, in, sign)."""

Shape = tuple[int, ...]


def axes(n: int, last: Shape) -> str:
    """How messages write the shape of a field of n rows with these last axes."""
    return f"[{', '.join(map(str, (n, '...', *last)))}]"


@dataclass(frozen=True)
class Form:
    """The terms for one unit of a field: the axes that the operator takes, a scalar for ().

    A field [n, ..., *takes] is so many units and becomes [n, ..., *gives].
    """

    takes: Shape
    gives: Shape
    pattern: tuple[Term, ...]

    def __post_init__(self) -> None:
        wrong = [sign for *_, sign in self.pattern if abs(sign) != 1]
        if wrong:
            raise ValueError(f"expected signs of 1 or -1 (loops write no factor), found {wrong[0]}")

    def terms(self, units: int) -> list[Term]:
        """For a field of this many units, ordered by the input component."""
        inputs, outputs = prod(self.takes), prod(self.gives)
        found = [
            (u * outputs + out, at, u * inputs + given, sign)
            for u in range(units)
            for out, at, given, sign in self.pattern
        ]
        return sorted(found, key=lambda term: (term[2], term[0]))

    def transposed(self) -> Form:
        """Inputs and outputs swapped."""
        swapped = tuple((given, at, out, sign) for out, at, given, sign in self.pattern)
        return Form(self.gives, self.takes, swapped)


SCALAR = Form((), (), ((0, 0, 0, 1.0),))
"""One coefficient: a weighted sum of the field."""


def gradient_form(d: int) -> Form:
    """d coefficients, one derivative each: [n, ...] -> [n, ..., d]."""
    return Form((), (d,), tuple((a, a, 0, 1.0) for a in range(d)))


def divergence_form(d: int) -> Form:
    """The sum of the derivatives along their own axes: [n, ..., d] -> [n, ...]."""
    return Form((d,), (), tuple((0, a, a, 1.0) for a in range(d)))


def curl_form(d: int) -> Form:
    """[n, ..., 3] -> [n, ..., 3]; in the plane [n, ..., 2] -> [n, ...]."""
    if d == 2:
        return Form((2,), (), ((0, 0, 1, 1.0), (0, 1, 0, -1.0)))
    cyclic = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    plus = [(out, a, b, 1.0) for out, a, b in cyclic]
    minus = [(out, b, a, -1.0) for out, a, b in cyclic]
    return Form((3,), (3,), (*plus, *minus))


def of_gradient(form: Form, d: int) -> Form:
    """What `form` makes of a gradient that d x d coefficients turn: the coefficients' b-th column
    takes its b-th component. Takes [n, ..., *takes, d].
    """
    pattern = tuple(
        (out, a * d + b, given * d + b, sign)
        for out, a, given, sign in form.pattern
        for b in range(d)
    )
    return Form((*form.takes, d), form.gives, pattern)
