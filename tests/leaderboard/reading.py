"""Reading a site back: its page with the standard library's HTML parser, and its table."""

import csv
from html.parser import HTMLParser

from fedbench.documents import read as documents
from fedbench.documents.site import Content
from fedbench.documents.suite import Document

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
HOSTILE = "<script>alert('x')</script>"


def named(record, selector, **scenario):
    """The record with a selector, and with keys of its scenario, of which none is valid: whatever
    was checked before, a site keeps to itself."""
    changes = {"selector": selector, "scenario": record.spec.scenario.model_copy(update=scenario)}
    return record.model_copy(update={"spec": record.spec.model_copy(update=changes)})


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
        if any(at.get("class") == "full-name" for _, at in self.open):
            return  # a code name follows
        if self.in_results and self.rows and self.rows[-1] and any(tag in ("td", "th") for tag, _ in self.open):
            self.rows[-1][-1] += data + "|" if data.strip() else ""

    @property
    def in_results(self):
        return any(tag == "table" and at.get("class") == "results" for tag, at in self.open)

    def attributes(self, tag):
        return [at for name, at in self.tags if name == tag]


def name(cells):
    """Of a row: its label."""
    return cells[0].replace("|", "")


def document(folder):
    (name,) = documents.read(folder / "data" / "site.json", Content).documents
    return documents.read(folder / "data" / f"{name}.json", Document)


def scenarios(data):
    """The scenarios of a document of records, in the order of its points."""
    return [data.sections["given"][point.name] for point in data.points]


def pages(folder):
    """The overview and, where it has several points, those of the scenarios: all of them in one
    text."""
    files = [folder / "index.html", *sorted((folder / document(folder).name).glob("*.html"))]
    return "\n".join(file.read_text() for file in (files if len(document(folder).points) > 1 else files[:1]))


def read(folder):
    text = pages(folder)
    return text, Page(text), document(folder)


def record_pages(folder):
    """The pages of all rows in one text."""
    return "\n".join(file.read_text() for file in sorted((folder / document(folder).name).glob("*/*.html")))


def data_file(folder):
    return folder / "data" / f"{document(folder).name}.json"


def table(folder):
    """The rows of the CSV by selector."""
    with (folder / "data" / f"{document(folder).name}.csv").open(newline="") as file:
        return {row["selector"]: row for row in csv.DictReader(file)}
