"""Takes the pictures of README in a browser: python tests/house/pictures.py. Needs build/site (make
site), demo/leaderboard (make demo) and Debian's chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "results" / "pictures"
PINNED = "+".join(f"axes%2Fbase%2F{name}%2Ftuned" for name in ("feddyn", "fedavg", "ringmaster"))
SHOTS = (
    # picture, page, width, height, colour scheme
    ("axes", "build/site/index.html", 1500, 1330, "light"),
    ("table", "build/site/table.html#point=base", 1300, 720, "dark"),
    ("compare", f"build/site/compare.html#rows={PINNED}", 1100, 900, "light"),
    ("phone", "build/site/axes/base.html#tuned", 390, 844, "dark"),
    ("papers", "build/site/papers/wu2021.html", 1180, 1250, "light"),
    ("digits-demo", "demo/leaderboard/index.html", 1280, 1500, "light"),
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
