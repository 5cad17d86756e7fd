"""What a command shows while it works, on a terminal and elsewhere."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

import pytest

from lm_eval_ext.cli.progress import LINES, checking, print_past_progress, training


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> str:
    """Return what work shows on a terminal of 80 columns, on which both streams end."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with open(its, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:  # noqa: PTH123 # a descriptor
        patch.setattr(sys, "stderr", terminal)
        patch.setattr(sys, "stdout", terminal)
        work()
    shown = b""
    # How Linux says that the other end is closed.
    with suppress(OSError):
        while part := os.read(ours, 1024):
            shown += part
    os.close(ours)
    return shown.decode()


def check() -> None:
    with checking("one thing"):
        print_past_progress("ok     one")


def test_a_terminal_shows_what_is_checked_and_complete_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(monkeypatch, check)
    assert shown.index("checking one thing …") < shown.index("ok     one\r\n")
    # What stood there has been wiped out before the line.
    assert "\r" in shown[shown.index("checking one thing …") : shown.index("ok     one")]


def test_only_lines_are_printed_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    check()
    assert capsys.readouterr() == ("ok     one\n", "")


def train() -> None:
    with training(2, 50) as done:
        for step in range(100):
            done(4.0 if step < 50 else 1.0)


def test_training_shows_epoch_and_loss_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    last = on_a_terminal(monkeypatch, train).rstrip().split("\r")[-1]
    assert last.startswith("training: 100%")
    assert "100/100" in last
    assert last.endswith("epoch=2/2, loss=1.000]")


def test_training_prints_lines_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    train()
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert (out, len(lines)) == ("", LINES)
    assert lines[0] == "training: epoch 1 of 2, step 10 of 100, loss 4.000"
    assert lines[-1] == "training: epoch 2 of 2, step 100 of 100, loss 1.000"


def test_the_loss_is_the_mean_over_the_epoch_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    with training(1, 2) as done:
        done(1.0)
        done(2.0)
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["1.000", "1.500"]
