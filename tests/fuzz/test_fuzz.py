"""A short slice of the fuzz suite: no crash, no hang, only our errors, nothing unsound."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import main


def test_a_slice(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--mutations", "40", "--seed", "0"]) == 0, capfd.readouterr().out


def test_it_sees_what_is_wrong(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.__main__.LIMIT", 1e-6)
    assert main([".off", "--mutations", "10", "--seed", "0"]) == 1
    assert "took longer" in capfd.readouterr().out
