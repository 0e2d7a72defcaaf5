"""Describes the published results for other people's tools. Usage: python -m tests.house.croissant

Writes results/croissant.json: the archives of the suites in the form of Croissant 1.0
(https://docs.mlcommons.org/croissant), with the sum of every file and the meaning of every column.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "results/croissant.json"
SUITES = ROOT / "results/suites"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {"string": "sc:Text", "int64": "sc:Integer", "double": "sc:Float", "float": "sc:Float"}
COLUMNS = {
    "run_id": "Identifies the run: a hash of scenario, algorithm with its options, and seed.",
    "scenario": "The name of the scenario.",
    "selector": "The algorithm with the options that are not its defaults.",
    "state": "finished, or why the run ended early, such as diverged.",
    "specification": "JSON: the whole scenario, the algorithm with all options, the seed.",
    "provenance": "JSON: version, commit, compiler, instruction set, libraries.",
    "rest": "JSON: outcome, times to targets, ledger of bytes and steps, digests.",
    "seed": "The seed of the run; runs of one seed share data, speeds and availability.",
    "points": "How many rows of the table of curves belong to the run. Both tables have the same order of runs.",
    "seconds": "Virtual time of the evaluation.",
    "version": "How many server updates the evaluated model has had.",
    "steps": "Local steps of all clients until then.",
    "gradient_evaluations": "Mini-batch gradients of all clients until then.",
    "bytes": "Bytes sent and received by all clients until then.",
    "test_accuracy": "Accuracy on the test set, or on validation examples where the run says so.",
    "test_loss": "Mean loss on the same examples.",
    "train_loss": "Mean loss on the training examples of all clients.",
    "server_passes": "Forward passes of examples that the server computed until then.",
}


def described() -> dict[str, Any]:
    """Returns the description of all archives of suites. KeyError for a column without a
    meaning."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    files = sorted(SUITES.glob("*/*.parquet"))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "fedbench-results",
        "description": "Runs of federated optimisation algorithms under heterogeneity, by suite: what was run, what it cost and how "
        "accuracy grew. Every run can be made again to the same digests.",
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "citeAs": f"{citation['authors'][0]['name']}, {citation['title']}, version {citation['version']}",
        "version": citation["version"],
        "datePublished": citation["date-released"],
        "url": "https://pypi.org/project/fedbench-suite/",
        "creator": {"@type": "sc:Organization", "name": citation["authors"][0]["name"]},
        "distribution": [_file(file) for file in files],
        "recordSet": [_table(file) for file in files],
    }


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def _file(file: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{_name(file)}.parquet",
        "name": f"{_name(file)}.parquet",
        "contentUrl": str(file.relative_to(FILE.parent)),
        "contentSize": f"{file.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }


def _table(file: Path) -> dict[str, Any]:
    what = "a row for every run" if file.stem == "runs" else "a row for every evaluation"
    rows = pq.read_metadata(file).num_rows
    return {
        "@type": "cr:RecordSet",
        "@id": _name(file),
        "name": _name(file),
        "description": f"Suite {file.parent.name}: {what}, {rows:,} rows.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{_name(file)}/{column.name}",
                "name": column.name,
                "description": COLUMNS[column.name],
                "dataType": TYPES[str(column.type)],
                "source": {"fileObject": {"@id": f"{_name(file)}.parquet"}, "extract": {"column": column.name}},
            }
            for column in pq.read_schema(file)
        ],
    }


def main() -> None:
    FILE.write_text(json.dumps(described(), indent=1) + "\n")


if __name__ == "__main__":
    main()
