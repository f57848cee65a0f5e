"""What a program prints, read while it runs: so much and no more."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

MOST_OUTPUT = 2**24  # bytes of standard output: 16 MB
MOST_ERRORS = 2**16  # bytes that are kept of the end of standard error

_PART = 2**16  # bytes, the usual size of a pipe
_LAST_PARTS = 16  # parts read after the end: more than a pipe holds, so what is still written comes from elsewhere


class Outputs:
    """The pipes of one program, and a thread that reads them. The thread also keeps the time.

    Parameters
    ----------
    keep_output : bool
        Whether standard output is read; otherwise it is thrown away.
    """

    def __init__(self, *, keep_output: bool) -> None:
        self.timed_out = self.too_much = False
        self._output, self._errors = bytearray(), bytearray()
        self._wake, self._waker = os.pipe()
        self._read_errors, self.stderr = os.pipe()
        self._read_output, self.stdout = os.pipe() if keep_output else (-1, subprocess.DEVNULL)
        self._sources = [fd for fd in (self._read_output, self._read_errors) if fd >= 0]
        for source in self._sources:
            os.set_blocking(source, False)
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()
        ours = (self._wake, self._waker, self._read_errors, self._read_output, self.stderr, self.stdout)
        for fd in ours:
            if fd >= 0:  # DEVNULL is negative
                os.close(fd)

    def start(self, timeout: float, kill: Callable[[], None]) -> None:
        """Read from now on. `kill` is called at the timeout, or when too much is printed."""
        self._thread = threading.Thread(target=self._read, args=(timeout, kill), name="kabc-output", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Read what is there, and no more."""
        if self._thread is not None:
            os.write(self._waker, b".")
            self._thread.join()
            self._thread = None

    @property
    def output(self) -> str:
        """Standard output."""
        return self._output.decode(errors="replace")

    @property
    def errors(self) -> str:
        """The end of standard error."""
        return self._errors[-MOST_ERRORS:].decode(errors="replace")

    def _read(self, timeout: float, kill: Callable[[], None]) -> None:
        end = time.monotonic() + timeout
        ready = select.poll()
        for source in (*self._sources, self._wake):
            ready.register(source, select.POLLIN)
        while True:
            left = None if self.timed_out else max(0.0, end - time.monotonic()) * 1000
            found = [fd for fd, _ in ready.poll(left)]
            for source in found:
                if source != self._wake and not self._take(source, kill):
                    ready.unregister(source)
            if self._wake in found:
                break
            if not found and time.monotonic() >= end:
                self.timed_out = True
                kill()
        for source in self._sources:
            for _ in range(_LAST_PARTS):
                if not self._take(source, kill):
                    break

    def _take(self, source: int, kill: Callable[[], None]) -> bool:
        """Read one part. False: there is nothing to read."""
        try:
            part = os.read(source, _PART)
        except BlockingIOError:
            return False
        if source == self._read_errors:
            self._errors += part
            if len(self._errors) > 2 * MOST_ERRORS:
                del self._errors[:-MOST_ERRORS]
        elif not self.too_much:
            self._output += part
            if len(self._output) > MOST_OUTPUT:
                self.too_much = True
                self._output.clear()
                kill()
        return bool(part)
