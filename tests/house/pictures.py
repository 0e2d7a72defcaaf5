"""Takes the picture of README in a browser: python tests/house/pictures.py. Needs build/site (make
site) and Debian's chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "results" / "pictures"
SHOTS = (
    # picture, page, width, height, colour scheme
    ("home", "build/site/index.html", 1440, 900, "light"),
)


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, address, width, height, scheme in SHOTS:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(f"{ROOT.as_uri()}/{address}")
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(500)  # curves come in scripts of their own
            page.screenshot(path=OUT / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
