"""What is shown on a terminal while a command works, and what where there is none."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

import pytest

from lm_eval_ext.progress import checking, print_past_progress


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
    with checking("one thing") as announce:
        announce("another")
        print_past_progress("ok     one")


def test_a_terminal_shows_what_is_being_checked_and_lines_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(monkeypatch, check)
    assert shown.index("checking one thing …") < shown.index("checking another …") < shown.index("ok     one\r\n")
    # What stood there has been wiped out before the line.
    assert "\r" in shown[shown.index("checking another …") : shown.index("ok     one")]


def test_elsewhere_the_lines_are_all(capsys: pytest.CaptureFixture[str]) -> None:
    check()
    assert capsys.readouterr() == ("ok     one\n", "")
