"""A headless Chromium, driven through chromedriver's HTTP interface."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """Why there is no browser here, or an empty string."""
    absent = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"{' and '.join(absent)} not installed" if absent else ""


class Browser:
    """One window; use as a context manager."""

    def __init__(self, profile, width=1200, height=900):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.root = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.session = ""
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ]
        options = {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": arguments,
            },
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._wait_until_ready()
        made = self._call("POST", "/session", capabilities={"alwaysMatch": options})
        self.session = f"/session/{made['sessionId']}"
        self._call("POST", "/url", url="about:blank")

    def _wait_until_ready(self):
        for _ in range(150):
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except urllib.error.URLError:
                time.sleep(0.2)
        raise RuntimeError("chromedriver did not start within 30 s")

    def _call(self, verb, path, **body):
        request = urllib.request.Request(
            self.root + self.session + path,
            method=verb,
            data=json.dumps(body).encode() if verb == "POST" else None,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())["value"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(30)

    def open(self, path):
        self._call("POST", "/url", url=path.resolve().as_uri())

    def script(self, text, *args):
        return self._call("POST", "/execute/sync", script=text, args=list(args))

    def find(self, selector):
        return self._call("POST", "/element", using="css selector", value=selector)

    def click(self, selector):
        element = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", element)
        self._call("POST", f"/element/{element[ELEMENT]}/click")

    def hover(self, selector):
        element = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", element)
        move = {"type": "pointerMove", "duration": 50, "x": 0, "y": 0}
        self._call(
            "POST",
            "/actions",
            actions=[
                {
                    "type": "pointer",
                    "id": "mouse",
                    "actions": [{**move, "origin": element}],
                }
            ],
        )

    def keys(self, selector, text):
        element = self.find(selector)
        self.script("arguments[0].focus()", element)
        strokes = [
            {"type": kind, "value": key}
            for key in text
            for kind in ("keyDown", "keyUp")
        ]
        self._call(
            "POST",
            "/actions",
            actions=[{"type": "key", "id": "keyboard", "actions": strokes}],
        )

    def console(self):
        return self._call("POST", "/se/log", type="browser")

    def requests(self):
        """Addresses of everything the page asked for."""
        events = [
            json.loads(entry["message"])["message"]
            for entry in self._call("POST", "/se/log", type="performance")
        ]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def _devtools(self, command, **params):
        self._call("POST", "/goog/cdp/execute", cmd=command, params=params)

    def emulate(self, scheme, media=""):
        """Prefer the light or the dark colour scheme; media may be "print"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._devtools("Emulation.setEmulatedMedia", media=media, features=features)

    def resize(self, width, height):
        """Lay the page out as on a screen of this size."""
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))
        return path
