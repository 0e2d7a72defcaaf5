"""LEAF's JSON: users with their data, whatever the order of keys, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.tasks import arrays
from fedbench.tasks.own.choice import Wanted

from .reading_here import read

USERS = {
    'f0"1{': {"x": [[0.0, 1.0], [2.0, 3.0]], "y": [7, 3]},
    "f2": {"x": [[4, 5]], "y": [3]},
    "f1": {"x": [], "y": []},
    "f3": {"x": [[6.5, 7]], "y": [9]},
}
WHOLE = {"users": list(USERS), "num_samples": [2, 1, 0, 1], "user_data": USERS}
WANTED = Wanted("y", "user")
ONE = '{"user_data": {"a": {"x": [[1]], "y": [1]}}}'


def write(folder: Path, content: Any, name: str = "all_data.json", **options: Any) -> Path:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, **options), encoding="utf-8-sig")
    return folder / name


@pytest.mark.parametrize("options", [{}, {"indent": 4}, {"sort_keys": True}, {"separators": (",", ":")}])
def test_users_own_their_examples(options: dict[str, Any], tmp_path: Path) -> None:
    found = read(write(tmp_path, WHOLE, **options), "train", WANTED)
    assert found.features == ("x",)
    assert found.owners is not None
    users = [found.owners.values[code] for code in found.owners.codes]
    labels = [found.labels.values[code] for code in found.labels.codes]
    rows = sorted(zip(users, labels, found.x.tolist(), strict=True))
    assert rows == [('f0"1{', 3, [2, 3]), ('f0"1{', 7, [0, 1]), ("f2", 3, [4, 5]), ("f3", 9, [6.5, 7])]


def test_hierarchies_may_be_owners(tmp_path: Path) -> None:
    content = {"user_data": USERS, "hierarchies": ["A", "B", "B", "A"], "users": list(USERS)}
    found = read(write(tmp_path, content), "train", Wanted("y", "hierarchy", features=("x",)))
    assert found.owners is not None
    assert [found.owners.values[code] for code in found.owners.codes] == ["A", "A", "B", "A"]


def test_folders_of_train_and_test_as_leaf_lays_them_out(tmp_path: Path) -> None:
    for part, names in (("train", ('f0"1{', "f2")), ("test", ("f2", "f3"))):
        (tmp_path / part).mkdir()
        for i, name in enumerate(names):
            one = {
                "users": [name],
                "num_samples": [len(USERS[name]["y"])],
                "user_data": {name: {**USERS[name], "y": [i % 2] * len(USERS[name]["y"])}},
            }
            write(tmp_path / part, one, f"all_data_{i}.json")
    source = arrays.Source(name="file:train", file=str(tmp_path / "train"), test=str(tmp_path / "test"), label="y", client="user")
    data = arrays.dataset(source)
    assert (data.train.x.tolist(), data.test.x.tolist(), data.owners) == ([[0, 1], [2, 3], [4, 5]], [[4, 5], [6.5, 7]], 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read as LEAF's JSON: expected an object at character 0"),
        ("[]", "expected an object at character 0"),
        ('{"users": ["a"], "user_data": {"a": {"x": [[1]], "y": [1]}', "cannot be read as LEAF's JSON: no end of what begins"),
        ('{"users": ["a"]}', "expected the keys users and user_data, got users"),
        ('{"user_data": []}', "expected an object at character"),
        ('{"user_data": {}}', "has no users"),
        ('{"user_data": {"a": 3}}', "user a must have x and y, got int"),
        ('{"user_data": {"a": {"x": 3, "y": [1]}}}', "user a must have lists of one length, x, y"),
        ('{"user_data": {"a": {"x": [[1], [2]], "y": [1]}}}', "user a must have lists of one length, x, y"),
        ('{"user_data": {"a": {"x": [[1]], "y": [1]}, "b\\n": {"y": [1]}}}', r"user b\\n has no x"),
        (
            '{"user_data": {"a": {"x": [[1]], "y": [1]}, "b": {"x": [[1, 2]], "y": [1]}}}',
            r"from row 1 on have shape \(2,\), those before \(1,\)",
        ),
        ('{"user_data": {"a": {"x": [[1], [1, 2]], "y": [1, 0]}}}', "column x, row 0 must hold numbers, or lists of one length"),
        ('{"user_data": {"a": {"x": ["one"], "y": [1]}}}', "column x must be numbers, got <U3"),
        ('{"user_data": {"a": {"x": [[1]], "y": [null]}}}', "column y, row 0 must hold numbers or texts"),
        ('{"user_data": {"a": {"x": [[NaN]], "y": [1]}}}', "column x, row 0 is not finite"),
        (
            '{"hierarchies": ["A"], "users": [], "user_data": {"a": {"x": [[1]], "y": [1]}}}',
            "hierarchies must be a list, with one for every user",
        ),
        ('{"users": ["a"], "num_samples": [], "user_data": {}}', "num_samples must be a list, with one for every user"),
        ('{"users": null, "num_samples": [1], "user_data": {"a": {}}}', "num_samples must be a list, with one for every user"),
        ('{"users": ["a", "a"], "user_data": {"a": {}}}', "users must name every user once, got a 2 times"),
        (f"{ONE}{ONE}", r"all_data.json: cannot .* expected one object in a file, got more behind it at character 44: ."),
        (f"{ONE}\n{ONE}\n", "expected one object in a file, got more behind it at character"),
        (f"{ONE} garbage", "expected one object in a file, got more behind it at character .*: garbage"),
        (ONE.replace("{", '{"user_data": {"b": {}}, ', 1), "expected the key user_data once, got it again at character"),
        ('{"user_data": {"a": {"x": [[1]], "y": [1]}, "a": {"x": [[2]], "y": [1]}}}', "expected the key a once, got it again"),
        ('{"user_data": {"a": {"x": [[1]], "y": [1], "y": [2]}}}', "expected every key of a user once, got x, y, y"),
        (
            '{"users": ["a", "ghost"], "num_samples": [1, 700], ' + ONE[1:],
            "users must name those in user_data; it has ghost beside",
        ),
        ('{"users": ["b"], ' + ONE[1:], "users must name those in user_data; it lacks a"),
        ('{"users": ["a"], "num_samples": [5], ' + ONE[1:], "user a must have as many examples as num_samples states, 5, got 1"),
        ('{"user_data": {"a": {"x": [[1], [2]], "y": [1, "2"]}}}', "column y, row 1 must hold numbers or texts, got both"),
        ('{"user_data": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}", "cannot be read as LEAF's JSON"),
        ("{" * 100_000, "cannot be read as LEAF's JSON"),
    ],
)
def test_what_is_none(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message) as error:
        read(write(tmp_path, content), "train", WANTED)
    assert str(error.value).isprintable()
