"""Which process is at work, told apart from every other one, living or dead."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process by what no other process ever has: place, number, time of its start.

    Attributes
    ----------
    place : str
        Short digest of the computer, the start of its system and the container.
    pid : int
        Number of the process.
    started : str
        When it was started, in ticks since the start of the system.
    """

    place: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        """Return the owner that stands for the calling process."""
        return cls(_place(), os.getpid(), _start_of(os.getpid()))

    def is_alive(self) -> bool | None:
        """Whether the process still runs; None where that cannot be seen from here."""
        if self.place != _place() or os.name != "posix":
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass  # it exists
        return _start_of(self.pid) == self.started


@cache
def _place() -> str:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    system = [_line("/etc/machine-id"), _line("/proc/sys/kernel/random/boot_id")]
    words = "\n".join([socket.gethostname(), *system, space])
    return hashlib.blake2b(words.encode(), digest_size=4).hexdigest()


def _line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, ValueError):
        return ""


def _start_of(pid: int) -> str:
    """Field 22 of /proc/PID/stat; what stands before it may contain anything."""
    fields = _line(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""
