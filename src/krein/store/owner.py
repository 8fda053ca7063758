"""Which process is at work, told apart from every other one, living or dead."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Owner"]


@dataclass(frozen=True)
class Owner:
    """A process by what no other process ever has: place, number, time of its start.

    Attributes
    ----------
    host, machine : str
        Name of the computer, and its number where the system has one.
    boot, space : str
        Which start of the system, and which container, the number belongs to.
    pid : int
        Number of the process.
    started : str
        When it was started, in ticks since the start of the system.
    """

    host: str
    machine: str
    boot: str
    space: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        """Return the owner that stands for the calling process."""
        return cls(*_place(), os.getpid(), _start_of(os.getpid()))

    @classmethod
    def from_facts(cls, facts: Any) -> Owner | None:
        """Read what `facts` wrote; None for anything else."""
        try:
            return cls(**facts)
        except TypeError:
            return None

    def facts(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self)

    @property
    def place(self) -> str:
        """Short digest of all but the process."""
        words = "\n".join([self.host, self.machine, self.boot, self.space])
        return hashlib.blake2b(words.encode(), digest_size=4).hexdigest()

    def is_alive(self) -> bool | None:
        """Whether the process still runs; None where that cannot be seen from here."""
        here = Owner.this_process()
        if (self.host, self.machine) != (here.host, here.machine):
            return None
        if self.boot != here.boot:
            return False  # the system was started anew since then
        if self.space != here.space or os.name != "posix":
            return None
        return _exists(self.pid) and _start_of(self.pid) == self.started


@cache
def _place() -> tuple[str, str, str, str]:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    boot = _line("/proc/sys/kernel/random/boot_id")
    return socket.gethostname(), _line("/etc/machine-id"), boot, space


def _line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, ValueError):
        return ""


def _start_of(pid: int) -> str:
    """Field 22 of /proc/PID/stat; what stands before it may contain anything."""
    fields = _line(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
