"""Errors are one line that says where, and cross process borders."""

from __future__ import annotations

import pickle

import pytest

from meshkit.errors import (
    FileError,
    LossError,
    MeshkitError,
    MissingPackage,
    ReadError,
    UnknownFormat,
    WriteError,
)
from meshkit.report import Ledger, Report


def test_one_line_with_file_place_found_expected_and_what_to_do() -> None:
    error = ReadError(
        "a.vtu", "3 points\n declared", place="line 2", expected="4", hint="write it again"
    )
    assert str(error) == "a.vtu: line 2: 3 points declared; expected 4; write it again"


def test_a_loss_lists_what_would_be_lost() -> None:
    ledger = Ledger(lambda report: LossError("a.stl", "stl", report))
    ledger.kept("points", "", 3)
    ledger.settle()
    ledger.dropped("cells", "ghost", 1, "held by another piece", loss=False)
    ledger.settle()
    ledger.dropped("field", "point_data/p", 3, "STL holds no fields")
    with pytest.raises(LossError, match="stl cannot hold field 'point_data/p'") as caught:
        ledger.settle()
    assert [e.name for e in caught.value.report.losses] == ["point_data/p"]
    assert Report.from_json(caught.value.report.to_json()) == caught.value.report


@pytest.mark.parametrize(
    "error",
    [
        ReadError("a", "broken", place="byte 3"),
        UnknownFormat("a", "what"),
        WriteError("a", "full"),
        LossError("a", "stl", Report()),
    ],
)
def test_errors_survive_pickling(error: FileError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert again.path == "a" and isinstance(again, MeshkitError)


def test_a_missing_package_says_what_to_install() -> None:
    assert "pip install 'meshkit[pyg]'" in str(MissingPackage("to_pyg", "meshkit[pyg]"))
