"""Dictionaries of OpenFOAM: keyed entries with macros and included files.

Untrusted: nothing is run. `#calc`, `#codeStream` and the like become `Unread` items, which whoever
needs the value refuses and the report counts. An `#include` stays inside of the case.

Source: OpenFOAM user guide, "Basic input/output file format"; what dictionary and primitiveEntry
read.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from meshkit.readers.openfoam.choices import same, truth
from meshkit.readers.openfoam.entries import Dictionary, Dims, Item, Unread, Word
from meshkit.readers.openfoam.files import Bytes, opened, present
from meshkit.readers.openfoam.header import Encoding, Header, read_header
from meshkit.readers.openfoam.lists import WIDTHS, read_list
from meshkit.readers.openfoam.macros import copied, look_up, named
from meshkit.readers.openfoam.scanner import Scanner, Token
from meshkit.words import BLANKS

_DEEPEST: Final = 64
_ITEMS: Final = 2_000_000
_FILES: Final = 200
_MODES: Final = {
    "default": "merge",
    "merge": "merge",
    "overwrite": "overwrite",
    "error": "error",
    "protect": "protect",
    "warn": "protect",
}
"""What becomes of an entry whose key is known: by the words of #inputMode."""
_FORMULAS: Final = frozenset({"calc", "eval"})
_INCLUDES: Final = frozenset({"include", "includeIfPresent", "sinclude"})


@dataclass
class Parser:
    """One dictionary file and what it includes.

    Args:
        scanner: stands behind the head.
        encoding: how lists of numbers are written.
        root: the directory that included files must lie in.
        files: the files that are open, the outermost first.
    """

    scanner: Scanner
    encoding: Encoding
    root: Path
    files: tuple[Path, ...]
    budget: list[int] = field(default_factory=lambda: [_ITEMS, _FILES])
    branches: list[str] = field(default_factory=list)  # where those began that are not at an end
    mode: list[str] = field(default_factory=lambda: ["merge"])  # also that of the files around

    def whole(self, scopes: list[Dictionary] | None = None) -> Dictionary:
        """All entries up to the end of the file.

        Raises:
            ReadError: the text breaks the syntax, or an included file is missing, outside of the
                case or includes itself.
        """
        scopes = scopes or [Dictionary()]
        self._entries(scopes, nested=False)
        if self.branches:
            raise self.scanner.error("#if has no end", place=self.branches[-1], expected="#endif")
        return scopes[-1]

    def named(self, until: str) -> list[tuple[str, Dictionary]]:
        """Names with a dictionary each, up to a sign.

        Raises:
            ReadError: something else stands there.
        """
        out: list[tuple[str, Dictionary]] = []
        top = Dictionary()
        while True:
            token = self._next(nested=True)
            if token == ("sign", until):
                return out
            if token is None or token.kind not in ("word", "text", "number"):
                said = "the end" if token is None else repr(token.value)
                raise self.scanner.error(f"found {said}", expected="a name")
            line = self.scanner.line
            self.scanner.expect(b"{", f"entry {token.value!r}")
            below = Dictionary(line)
            self._entries([top, below], nested=True)
            out.append((str(token.value), below))

    # --- entries --------------------------------------------------------------------------------

    def _entries(self, scopes: list[Dictionary], *, nested: bool) -> None:
        here = scopes[-1]
        if len(scopes) > _DEEPEST:
            raise self.scanner.error("dictionaries are nested too deep")
        while True:
            token = self._next(nested)
            if token is None or (nested and token == ("sign", "}")):
                return
            match token.kind:
                case "directive":
                    self._statement(token.value, scopes)
                case "macro":
                    found = look_up(token.value, scopes)
                    if isinstance(found, Dictionary):
                        self._weigh(found)
                        here.merge(copied(found))
                    else:
                        here.put(
                            f"${token.value}", [self._unread(f"${token.value}")], pattern=False
                        )
                    self.scanner.taken(b";")
                case "word" | "text" | "number":
                    self._entry(token, scopes)
                case _ if token == ("sign", ";"):
                    continue
                case _:
                    raise self.scanner.error(f"found {token.value!r}", expected="a key")

    def _next(self, nested: bool) -> Token | None:
        token = self._spent_token()
        if token is None and nested:
            raise self.scanner.error("a dictionary has no end", expected="}")
        return token

    def _spent_token(self) -> Token | None:
        self._spend(1)
        return self.scanner.token()

    def _entry(self, token: Token, scopes: list[Dictionary]) -> None:
        key, pattern = str(token.value), token.kind == "text"
        line, home, mode = self.scanner.line, scopes[-1], self.mode[0]
        known = (home.patterns if pattern else home.entries).get(key)
        if known is not None and mode == "error":
            raise self.scanner.error(f"{key!r} stands twice", expected="once, as #inputMode says")
        if known is not None and mode == "overwrite":
            home.remove(key, pattern=pattern)
            known = None
        kept = known is not None and mode == "protect"
        if self.scanner.taken(b"{"):
            below = Dictionary(line)
            if isinstance(known, Dictionary) and not pattern and not kept:
                below = known
            if not kept:
                home.put(key, below, pattern=pattern)
            self._entries([*scopes, below], nested=True)
            return
        items = self._items(scopes, ";", key)
        if kept:
            return
        # "key $other;" takes over a whole dictionary.
        whole = len(items) == 1 and isinstance(items[0], Dictionary)
        home.put(key, items[0] if whole else items, pattern=pattern)

    def _items(self, scopes: list[Dictionary], until: str, what: str, depth: int = 0) -> list[Item]:
        """Items up to a sign, which is passed over."""
        out: list[Item] = []
        if depth > _DEEPEST:
            raise self.scanner.error("lists are nested too deep")
        begun = self.scanner.place()
        while True:
            self._spend(1)
            # A list without a type is text, also in a binary file.
            token = self.scanner.token()
            if token is None:
                raise self.scanner.error(
                    f"entry {what!r} that begins at {begun} has no end", expected=repr(until)
                )
            if token.kind != "sign":
                out += self._item(token, scopes)
            elif token.value == until:
                return out
            elif token.value == "(":
                out.append(self._items(scopes, ")", what, depth + 1))
            elif token.value == "[":
                out.append(Dims(tuple(self._items(scopes, "]", what, depth + 1))))
            elif token.value == "{":
                below = Dictionary(self.scanner.line)
                self._entries([*scopes, below], nested=True)
                if out and isinstance(out[-1], Word) and until == ")":
                    out[-1] = (out[-1], below)  # name { ... } in a list
                else:
                    out.append(below)
            elif token.value == ";" and until != ";":
                continue  # old files end the entries of a list with ;
            else:
                raise self.scanner.error(
                    f"found {token.value!r} in entry {what!r}", expected=repr(until)
                )

    def _item(self, token: Token, scopes: list[Dictionary]) -> list[Item]:
        value = token.value
        match token.kind:
            case "word" if value.startswith("List<") and value[5:-1] in WIDTHS:
                return [read_list(self.scanner, self.encoding, value[5:-1])]
            case "word":
                return [Word(value)]
            case "macro":
                name, _, other = named(value, scopes).partition(":-")
                found = look_up(name, scopes)
                if found is None and other:
                    return self._items_of_text(other, scopes)
                if found is None:
                    return [self._unread(f"${value}")]
                self._weigh(found)
                return [copied(found)] if isinstance(found, Dictionary) else found
            case "directive":
                return [self._not_run(value)]
            case "code":
                return [Unread("#{", self.scanner.line, f"{value}#}}")]
            case _:
                return [value]

    def _items_of_text(self, text: str, scopes: list[Dictionary]) -> list[Item]:
        """The items of a piece of text: what "${x:-...}" stands for where there is no x."""
        if text.count("$") > _DEEPEST:
            raise self.scanner.error("macros are nested too deep")
        raw = f"{text};".encode()
        source = Bytes(self.scanner.source.path, io.BytesIO(raw), len(raw), packed=False)
        inner = Parser(Scanner(source), self.encoding, self.root, self.files, self.budget)
        return inner._items(scopes, ";", text)

    def _spend(self, count: int) -> None:
        self.budget[0] -= count
        if self.budget[0] < 0:
            raise self.scanner.error(f"its dictionary has more than {_ITEMS} items")

    def _weigh(self, found: Any) -> None:
        """Spend what a macro stands for, with all that is in it, before it is copied."""
        todo: list[tuple[Any, int]] = [(found, 1)]
        while todo:
            one, depth = todo.pop()
            if depth > _DEEPEST:
                raise self.scanner.error("what a macro stands for is nested too deep")
            if isinstance(one, tuple):
                one = one[1]
            if isinstance(one, Dictionary):
                inside = [*one.entries.values(), *one.patterns.values()]
            else:
                inside = one
            self._spend(len(inside))
            todo += [(x, depth + 1) for x in inside if isinstance(x, list | tuple | Dictionary)]

    def _unread(self, what: str) -> Unread:
        return Unread(what, self.scanner.line)

    # --- directives -----------------------------------------------------------------------------

    def _not_run(self, name: str) -> Unread:
        """Pass over what a directive would be made of."""
        line = self.scanner.line
        following = self.scanner.peek()
        text = ""
        if following == b"{" and name in _FORMULAS:
            text = self.scanner.braced(f"#{name} {{").strip(BLANKS)
        elif following == b"{":
            self.scanner.advance(1)
            below = Dictionary(line)
            self._entries([Dictionary(), below], nested=True)
            codes = [x.text for _, x in below.unread() if x.what == "#{"]
            text = " ".join(codes)
        elif following in (b'"', b"#"):
            token = self.scanner.token()
            text = "" if token is None else str(token.value)
        return Unread(f"#{name}", line, text)

    def _statement(self, name: str, scopes: list[Dictionary]) -> None:
        """A directive that stands where a key could."""
        if name in _INCLUDES:
            self._include(name, scopes)
        elif name == "inputMode":
            token = self.scanner.token()
            said = "" if token is None else str(token.value)
            if said not in _MODES:
                raise self.scanner.error(f"#inputMode {said!r}", expected=", ".join(_MODES))
            self.mode[0] = _MODES[said]
        elif name == "inputSyntax":
            self.scanner.token()
        elif name == "remove":
            self._remove(scopes[-1])
        elif name in ("if", "ifeq"):
            self._choose(name, scopes)
        elif name in ("else", "endif"):
            self._end_branch(name)
        else:
            line = self.scanner.line
            following = self.scanner.token()
            said = f"#{name}" if following is None else f"#{name} {following.value}"
            while following is not None and self.scanner.line == line:
                sign = self.scanner.peek()
                if self.scanner.line != line or not sign or sign == b"}":
                    break
                if self.scanner.token() == ("sign", ";"):
                    break
            scopes[-1].put(said[:200], [Unread(said[:200], line)], pattern=False)

    def _choose(self, name: str, scopes: list[Dictionary]) -> None:
        """Go on in the branch that #if or #ifeq takes; `_end_branch` ends it."""
        place = self.scanner.place()
        given = [self._operand(name, scopes) for _ in range(2 if name == "ifeq" else 1)]
        taken = truth(given[0]) if name == "if" else same(*given)
        if taken is None:
            said = " ".join(map(str, given))[:40]
            raise self.scanner.error(f"#{name} {said!r}", place=place, expected="yes or no")
        if taken or self._pass_branch(place) == "else":
            self.branches.append(place)

    def _operand(self, name: str, scopes: list[Dictionary]) -> Item:
        token = self.scanner.token()
        items = [None] if token is None else self._item(token, scopes)
        if len(items) == 1 and isinstance(items[0], Unread):
            raise self.scanner.error(
                f"#{name} {items[0].what}, which is not run", hint="write the entries it chooses"
            )
        return items[0] if len(items) == 1 else None

    def _end_branch(self, name: str) -> None:
        """Pass over what stands behind the branch that was taken."""
        if not self.branches:
            raise self.scanner.error(f"#{name} without #if")
        place = self.branches.pop()
        if name == "else" and self._pass_branch(place) == "else":
            raise self.scanner.error("a second #else", expected="#endif")

    def _pass_branch(self, begun: str) -> str:
        """Pass over a branch with all choices in it: "else" or "endif", which ended it."""
        depth = 0
        while True:
            token = self._spent_token()
            if token is None:
                raise self.scanner.error("#if has no end", place=begun, expected="#endif")
            if token.kind != "directive":
                continue
            if depth == 0 and token.value in ("else", "endif"):
                return str(token.value)
            depth += (token.value in ("if", "ifeq")) - (token.value == "endif")

    def _remove(self, home: Dictionary) -> None:
        """ "#remove key", or several keys and patterns in parentheses."""
        several = self.scanner.taken(b"(")
        while True:
            token = self.scanner.token()
            if token is None:
                raise self.scanner.error("#remove has no end", expected="keys")
            if several and token == ("sign", ")"):
                return
            home.remove(str(token.value), pattern=token.kind == "text")
            if not several:
                return

    def _include(self, name: str, scopes: list[Dictionary]) -> None:
        token = self.scanner.token()
        if token is None or token.kind not in ("text", "word"):
            raise self.scanner.error(f"#{name} names no file", expected='"name"')
        said = str(token.value)
        file = self._included(said)
        if file is None and name != "include":
            return
        if file is None:
            raise self.scanner.error(f"includes {said[:200]!r}, which is missing")
        if file in self.files:
            chain = " > ".join(f.name for f in (*self.files[self.files.index(file) :], file))
            raise self.scanner.error(f"includes itself: {chain}")
        self.budget[1] -= 1
        if len(self.files) > _DEEPEST or self.budget[1] < 0:
            raise self.scanner.error(f"includes more than {_FILES} files")
        with opened(file) as source:
            scanner = Scanner(source)
            header = read_header(scanner)
            encoding = self.encoding if header is None else header.encoding
            inner = Parser(
                scanner, encoding, self.root, (*self.files, file), self.budget, mode=self.mode
            )
            inner.whole(scopes)

    def _included(self, said: str) -> Path | None:
        """The file that is meant; None if there is none."""
        text = said
        for name in ("$FOAM_CASE", "${FOAM_CASE}", "<case>"):
            text = text.replace(name, str(self.root))
        for name in ("<system>", "<constant>"):
            text = text.replace(name, str(self.root / name[1:-1]))
        if "$" in text or "~" in text or "\0" in text:
            raise self.scanner.error(
                f"includes {said[:200]!r}", expected="a file of the case without other variables"
            )
        path = self.files[-1].parent / text
        real, base = os.path.realpath(path), os.path.realpath(self.root)
        if os.path.commonpath([base, real]) != base:
            raise self.scanner.error(
                f"includes {said[:200]!r}, out of its case",
                expected="a file in the case's directory",
            )
        found = present(Path(real).parent, Path(real).name)
        return None if found is None else Path(os.path.realpath(found))


def read_dictionary(path: Path, root: Path) -> tuple[Header | None, Dictionary]:
    """A dictionary file, for example system/controlDict.

    Raises:
        ReadError: it is missing or damaged.
    """
    with opened(path) as source:
        scanner = Scanner(source)
        header = read_header(scanner)
        encoding = Encoding() if header is None else header.encoding
        parser = Parser(scanner, encoding, root, (Path(os.path.realpath(path)),))
        return header, parser.whole()
