"""The page in a real browser."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.report.browser import Browser

PATIENCE = 200.0  # seconds, on a busy machine
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}


class _NoPageYetError(AssertionError):
    """The tab is on its way from one page to another."""


class Page(Browser):
    """A tab of a browser that keeps what the page complained of: broken policies, failed loads, errors in scripts."""

    def __enter__(self) -> Page:
        self.complaints: list[str] = []
        super().__enter__()
        self._watch()
        self.resize(1280)
        return self

    def _watch(self) -> None:
        for domain in ("Log", "Runtime", "Page"):
            self.call(f"{domain}.enable")

    def _next(self) -> dict[str, Any]:
        message = super()._next()
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(message["params"]["exceptionDetails"]))
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            entry = message["params"]["entry"]
            if "status of 503" not in entry["text"]:  # it is being computed, and the page asks again
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        return message

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        try:
            return super().call(method, **params)
        except AssertionError as error:
            if "execution context" in str(error):
                raise _NoPageYetError(str(error)) from error
            raise

    def resize(self, width: int, *, dark: bool = False, still: bool = False, height: int = 900) -> None:
        """`still`: as for people who want nothing to move."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, motion])

    def paper(self, on: bool) -> None:
        """As it is printed, or on a screen again."""
        self.call("Emulation.setEmulatedMedia", media="print" if on else "screen")
        self.value(f"dispatchEvent(new Event('{'before' if on else 'after'}print'))")

    def visit(self, address: str, ready: str = "document.querySelector('h1')") -> None:
        """Load the page anew at this address, and wait until an expression holds."""
        self.call("Page.navigate", url="about:blank")  # otherwise only the part behind the # changes
        self.until("location.href === 'about:blank'")
        self.call("Page.navigate", url=address)
        self.until(ready)

    def until(self, expression: str) -> Any:
        """What an expression gives, once it gives something."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(_NoPageYetError):
                found = self.value(f"(() => {{ try {{ return {expression} || null }} catch {{ return null }} }})()")
                if found is not None:
                    return found
            time.sleep(0.05)
        raise AssertionError(f"it never held: {expression}; the page says: {self.text()[:2000]}")

    def text(self, selector: str = "body") -> str:
        return str(self.value(f"document.querySelector({selector!r})?.innerText ?? ''"))

    def says(self, *words: str, selector: str = "main") -> None:
        """Wait until a part of the page has these words."""
        for word in words:
            self.until(f"document.querySelector({selector!r}).innerText.includes({word!r})")

    def press(self, key: str) -> None:
        event = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.until(f"document.querySelector({selector!r})")
        self.value(f"(field => (field.focus(), field.select?.()))(document.querySelector({selector!r}))")
        self.call("Input.insertText", text=text)

    def click(self, words: str, within: str = "body") -> None:
        """Press the button with these words."""
        named = f"b => b.innerText.trim() === {words!r} && !b.disabled"
        button = f"[...document.querySelectorAll({within + ' button'!r})].find({named})"
        self.until(f"(found => found && (found.click(), true))({button})")  # found and pressed in one step

    def new_tab(self, address: str) -> str:
        """Another tab of the same browser is used from now on. Returns the session of the one before."""
        before, self._session = self._session, ""
        target = self.call("Target.createTarget", url=address)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._watch()
        return before

    def close_tab(self, back_to: str) -> None:
        self.call("Page.close")
        self._session = back_to

    def violations(self) -> list[str]:
        """What axe-core finds that is serious."""
        self.value(AXE.read_text(encoding="utf-8") + "; true")
        run = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations"
        run += ".filter(v => ['serious', 'critical'].includes(v.impact))"
        run += ".map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | '))))"
        found = self.call("Runtime.evaluate", expression=run, awaitPromise=True, returnByValue=True)
        listed: list[str] = json.loads(found["result"]["value"])
        return listed
