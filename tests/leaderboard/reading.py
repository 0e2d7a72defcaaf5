"""Reading a site back: its page with the standard library's HTML parser, and its table."""

import csv
import json
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
HOSTILE = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Checks that tags nest; collects the cells of the result tables, ids, tags and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.scripts = [], [], [], 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))
        if self.in_results and tag == "tr":
            self.rows.append([])
        if self.in_results and tag in ("td", "th") and ("tbody", {}) in self.open:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1]} in line {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        if self.in_results and self.rows and self.rows[-1] and any(tag in ("td", "th") for tag, _ in self.open):
            self.rows[-1][-1] += data + "|" if data.strip() else ""

    @property
    def in_results(self):
        return any(tag == "table" and at.get("class") == "results" for tag, at in self.open)

    def attributes(self, tag):
        return [at for name, at in self.tags if name == tag]


def name(cells):
    """Of a row: what stands before its options and its command."""
    return cells[0].partition("options|")[0].replace("|", "")


def read(folder):
    text = (folder / "index.html").read_text()
    return text, Page(text), json.loads((folder / "data.json").read_text())


def table(folder):
    """The rows of data.csv by selector."""
    with (folder / "data.csv").open(newline="") as file:
        return {row["selector"]: row for row in csv.DictReader(file)}
