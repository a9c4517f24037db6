"""What people read: one line each, whatever a file has named its things."""

from __future__ import annotations

import sys

from meshkit.words import one_line


def shown(text: str) -> str:
    r"""The text as one printable line; "" for an empty one.

    >>> shown("wall"), shown("Température °C"), shown("a\n\x1b[2J")
    ('wall', 'Température °C', 'a\\n\\x1b[2J')
    """
    if not text:
        return '""'
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def named(file: str, problem: str) -> str:
    """The problem, beginning with the file it is about.

    >>> named("a.vtu", "a.vtu: is empty"), named("a.vtu", "took longer than 5 s")
    ('a.vtu: is empty', 'a.vtu: took longer than 5 s')
    """
    begins = problem.startswith(one_line(file))  # as our errors name it
    return problem if begins else f"{file}: {problem}"


def complain(problem: str) -> None:
    """Say on stderr what is wrong, in one line."""
    print(f"meshkit: {shown(one_line(problem))}", file=sys.stderr)


def counted(n: int, what: str) -> str:
    """A number and what it counts.

    >>> counted(1, "case"), counted(12000, "cell")
    ('1 case', '12000 cells')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
