"""Looks at a page in headless Chromium, over the pipe of its debugging protocol; see scripts/check_report."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = {"screen": 1920, "desktop": 1280, "phone": 390}
# Labels of one chart that lie over each other, and what sticks out of the page.
LOOK = """(() => {
  const faults = [];
  for (const svg of document.querySelectorAll('svg')) {
    const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    const whole = svg.getBoundingClientRect();
    for (const [text, box] of boxes) {
      if (box.left < whole.left - 1 || box.right > whole.right + 1) faults.push(`"${text}" is cut off`);
      for (const [other, by] of boxes) {
        if (text < other && box.left < by.right && by.left < box.right && box.top + 2 < by.bottom && by.top + 2 < box.bottom)
          faults.push(`"${text}" and "${other}" overlap`);
      }
    }
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) faults.push(`${page.scrollWidth} pixels wide, where there are ${page.clientWidth}`);
  return JSON.stringify({faults, svgs: document.querySelectorAll('svg').length, height: page.scrollHeight,
                         background: getComputedStyle(document.body).backgroundColor});
})()"""


class Browser:
    def __init__(self, program, profile):
        to_browser, self.requests = os.pipe()
        self.answers, from_browser = os.pipe()

        def as_three_and_four():  # the browser's ends, wherever they are now
            high = [os.dup2(end, 100 + i) for i, end in enumerate((to_browser, from_browser))]
            for target, end in zip((3, 4), high):
                os.dup2(end, target)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=as_three_and_four, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def receive(self):
        while b"\0" not in self.buffer:
            some = os.read(self.answers, 1 << 20)
            if not some:
                sys.exit("FAILED  the browser is gone")
            self.buffer += some
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"FAILED  {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def open_page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def end(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(20)


def check(what, holds, why=""):
    print("ok     " if holds else "FAILED ", what, "" if holds else why, flush=True)
    if not holds:
        sys.exit(1)


def look(browser, page, scheme, device, folder):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setDeviceMetricsOverride", width=WIDTHS[device], height=900, deviceScaleFactor=1,
                 mobile=device == "phone")
    browser.events.clear()
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait_for("Page.loadEventFired")
    seen = json.loads(browser.call("Runtime.evaluate", expression=LOOK)["result"]["value"])
    name = f"{page.stem}: {scheme}, {device}"
    requested = [event["params"]["request"]["url"] for event in browser.events
                 if event.get("method") == "Network.requestWillBeSent"]
    requested = [url for url in requested if not url.startswith("data:")]  # pictures within the page
    check(f"{name}: nothing but the page is asked for", requested == [page.as_uri()], requested)
    said = [event for event in browser.events if event.get("method") in
            ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
    check(f"{name}: the console is empty", not said, said)
    check(f"{name}: {seen['svgs']} charts, no label over another, nothing sticks out", seen["svgs"] > 0 and not seen["faults"],
          seen["faults"])
    dark = sum(map(int, seen["background"].strip("rgb()").split(","))) < 200
    check(f"{name}: the background is {seen['background']}", dark == (scheme == "dark"))
    picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": WIDTHS[device], "height": seen["height"], "scale": 1})
    (folder / f"{page.stem}-{scheme}-{device}.png").write_bytes(base64.b64decode(picture["data"]))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="dtrain-browser-", ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        browser.open_page()
        for page in sys.argv[3:]:
            for scheme in ("light", "dark"):
                for device in WIDTHS:
                    look(browser, pathlib.Path(page).resolve(), scheme, device, folder)
        browser.end()


main()
