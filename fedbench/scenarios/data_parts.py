"""Parts of a scenario: the task, which examples a client has, and which examples are held out."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer, model_validator

from fedbench import own_models
from fedbench.errors import UsageError
from fedbench.scenarios.base import Float, Integer, Part, PositiveInt

Name = Annotated[str, Field(min_length=1, max_length=200)]
Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class TextPart(Part):
    """Files of texts for task `text`.

    `train` and `test` are files below the data root (.tsv, .txt, .parquet, .arrow). `columns` names
    the column of the texts, or two columns for pairs of texts. `label` names the column of the
    labels 0, 1, .. An example is cut or filled up to `tokens` tokens. `sha256` has the sums of both
    files; they are computed when the scenario is read if they are left out.
    """

    train: Name
    test: Name
    columns: Annotated[tuple[Name, ...], Field(min_length=1, max_length=2)]
    label: Name
    tokens: Annotated[Integer, Field(ge=4, le=4096)] = 64
    sha256: tuple[Sum, Sum] | None = None

    @model_serializer(mode="wrap")
    def _without_unknown_sums(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without the sums where they are not known, as in older records."""
        content: dict[str, object] = handler(self)
        return {key: value for key, value in content.items() if key != "sha256" or value is not None}


OF_A_FILE = ("file", "label", "kind", "client", "features", "test", "test_share", "standardize", "sha256")
"""Keys of a task that only a file of one's own data has."""
OF_SOME = ("encoder", "encoder_sha256", "text", "model_sha256", "loss", "loss_sha256")
"""Keys that only tasks of texts have, and those with a model or a loss of one's own."""
LATER = {"kind": "classification"}
"""Keys of a file that are written only where they have not their default."""
TEST_SHARE = 0.2


class HeldOut(Part):
    """The share of every class, or of every owner, that is held out of a file for testing. Within
    owners every owner keeps at least one example."""

    share: Annotated[Float, Field(gt=0, lt=1)] = TEST_SHARE
    within: Literal["class", "owner"] = "class"


TEST_BRANCHES: dict[str, object] = {"name of a file": str, "held out": HeldOut}
"""What `test` can be. Pydantic names them in the paths of its errors."""


def _kind_of_test(value: object) -> str:
    return "held out" if isinstance(value, dict | HeldOut) else "name of a file"


Test = Annotated[
    Annotated[str, Tag("name of a file")] | Annotated[HeldOut, Tag("held out")],
    Discriminator(_kind_of_test),
]


class TaskPart(Part):
    """The data set and the model, by name.

    `augmentation` says how the images of a job's steps are changed. If it is left out, the task
    decides (crop_flip for CIFAR); only tasks that state how can have crop_flip. `encoder` is for
    tasks of texts: the folder of a pretrained encoder below the data root; if it is left out, the
    encoder is that of a package. `encoder_sha256` is the sum of that folder's files, which is
    computed when the scenario is read if it is left out. `text` names files of texts of one's own.

    A `file` of one's own data can stand in the place of a name; docs/own-data.md has the formats.
    `label` names the column of the classes. With `kind: regression` that is a column of real
    numbers, which a model with one output learns by the mean squared error. It is the kind of a
    task and not its loss that says so, since a loss of one's own may be for classes or for numbers,
    and partitions, metrics and targets follow from what a label is. Such a task has no accuracy; it
    is judged by `test_loss`. `client` names the column of the owners of the examples, and
    `features` those that make an example (all others if it is left out). `test` is another such
    file, or says what is held out for testing, such as {share: 0.2, within: owner}; without it,
    `test_share` of every class is. With `standardize` features get the mean 0 and the deviation 1
    over the training examples. `sha256` has the sums of file and test; they are computed when the
    scenario is read if they are left out.

    A `model` of one's own is named by its code, `path/to/mynet.py:Net` or `package.module:Net`: a
    class or function that makes a torch.nn.Module. `model_sha256` is the sum of that file, which is
    likewise computed if it is left out. So is `loss`: a function of outputs and labels, or a class
    that makes one, which gives the mean over a mini-batch. It takes the place of the cross-entropy
    or the squared error in training and in evaluated losses.
    """

    name: str
    model: str = "softmax"
    augmentation: Literal["none", "crop_flip"] | None = None
    encoder: Name | None = None
    encoder_sha256: Sum | None = None
    text: TextPart | None = None
    file: str | None = None
    label: str | None = None
    kind: Literal["classification", "regression"] = "classification"
    client: str | None = None
    features: tuple[str, ...] = ()
    test: Test | None = None
    test_share: Annotated[Float, Field(gt=0, lt=1)] = TEST_SHARE
    standardize: bool = False
    sha256: tuple[Sum, ...] = ()
    model_sha256: Sum | None = None
    loss: Annotated[str, Field(max_length=4000)] | None = None
    loss_sha256: Sum | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_file(cls, content: object) -> object:
        if not isinstance(content, dict) or not isinstance(content.get("file"), str):
            return content
        name = f"file:{PurePath(content['file']).stem}"
        if content.get("name", name) != name:
            raise ValueError(f"give a name or a file, got name {content['name']!r} and file {content['file']!r}")
        return {**content, "name": name}

    def _check(self) -> None:
        self._check_model()
        nothing = (None, (), False, *LATER.values())
        given = [key for key in OF_A_FILE if key in self.model_fields_set and getattr(self, key) not in nothing]
        if self.file is None and given:
            raise ValueError(f"{', '.join(given)} belong to a file of your own data, got none; give task.file")
        if self.file is not None and (texts := self.model_fields_set & {"encoder", "encoder_sha256", "text"}):
            raise ValueError(f"{', '.join(sorted(texts))} belong to tasks of texts, got a file of your own data")
        if self.file is not None and self.label is None:
            raise ValueError("a file needs label, the name of its column of classes or numbers, got none")
        files = 2 if isinstance(self.test, str) else 1
        if self.sha256 and len(self.sha256) != files:
            raise ValueError(f"sha256 must have one sum for each of {files} files, got {len(self.sha256)}")
        if self.test is not None and self.test_share != TEST_SHARE:
            given_test = self.test if isinstance(self.test, str) else self.test.model_dump()
            raise ValueError(f"give test or test_share, got {given_test!r:.200} and {self.test_share:g}")
        if isinstance(self.test, HeldOut) and self.test.within == "owner" and self.client is None:
            raise ValueError("test: within owner needs client, the name of the column of owners, got none")
        if self.client is not None and self.client == self.label and self.kind == "regression":
            raise ValueError(f"client must be another column than that of the numbers, got {self.label!r:.60} for both")

    def _check_model(self) -> None:
        if own_models.is_own(self.model) != (self.model_sha256 is not None):
            got = f"model {self.model!r:.60} and sum {str(self.model_sha256)[:16]}"
            raise ValueError(f"model_sha256 belongs to a model of your own, file.py:Class; got {got}")
        try:
            if self.model_sha256 is not None:
                own_models.name_of(self.model)
            if self.loss is not None:
                own_models.name_of(self.loss, "loss")
        except UsageError as error:
            raise ValueError(str(error)) from None
        if (self.loss is None) != (self.loss_sha256 is None):
            raise ValueError("loss and loss_sha256 belong together, got one of them")

    @model_serializer(mode="wrap")
    def _without_what_others_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without those of texts, files and code where they do not apply, so that
        older records and hashes stay as they are."""
        content: dict[str, object] = handler(self)
        left_out = [key for key, value in LATER.items() if content[key] == value] if self.file is not None else OF_A_FILE
        return {key: value for key, value in content.items() if key not in left_out and (key not in OF_SOME or value is not None)}

    @property
    def is_regression(self) -> bool:
        """Returns whether labels are real numbers."""
        return self.kind == "regression"

    @property
    def torch_only(self) -> list[str]:
        """Returns the keys, with their values, that the native trainer does not take."""
        found = [f"task.kind={self.kind}"] if self.is_regression else []
        return found if self.loss is None else [*found, f"task.loss={own_models.short(self.loss)}"]

    @property
    def own_loss(self) -> tuple[str, str] | None:
        """Returns the code of a loss of one's own and its sum."""
        return None if self.loss is None or self.loss_sha256 is None else (self.loss, self.loss_sha256)


class Dealt(Part):
    """What partitions have in common in which no two clients share an example.

    `held_out_clients` more clients are dealt examples, and never take part. They are drawn among
    all. Their examples are those of unseen clients in evaluation.
    """

    held_out_clients: Annotated[Integer, Field(ge=0, le=1_000_000)] = 0

    @model_serializer(mode="wrap")
    def _without_what_others_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without `held_out_clients` where there are none, so that older records
        and hashes stay as they are."""
        found: dict[str, object] = handler(self)
        if not self.held_out_clients:
            del found["held_out_clients"]
        return found


class Iid(Dealt):
    """A uniformly random split into shards of one size."""

    kind: Literal["iid"] = "iid"


class TwoClass(Dealt):
    """Every class is cut into shards of one size, 2 N in all for N clients, and every client gets
    two shards of different classes."""

    kind: Literal["two_class"]


class Dirichlet(Dealt):
    """The examples of every class are dealt out by shares ~ Dirichlet(alpha, .., alpha) over the
    clients; the smaller alpha, the fewer classes a client has.

    Every client has at least `min_examples`. With `stop_at_mean` a client that already holds n / N
    examples gets none of the classes that are still to be dealt out, as in FedaGrac's code.
    """

    kind: Literal["dirichlet"]
    alpha: Annotated[Float, Field(ge=1e-3, le=1e6)]
    min_examples: PositiveInt = 10
    stop_at_mean: bool = False


class ShardsOfClasses(Dealt):
    """Every client has examples of `classes_per_client` classes.

    If it is `balanced`, all clients hold the same number of shards of one size, and every example
    is used. Otherwise a class is split evenly over the clients that happen to hold it, as in
    FedaGrac's code: clients have different sizes, and no client gets the remainder of a division.
    """

    kind: Literal["shards"]
    classes_per_client: PositiveInt
    balanced: bool = True


class Overlapping(Part):
    """Every client has `examples_per_client` examples, drawn uniformly and without repetition.

    Several clients may have the same example, so there can be more clients than examples.
    """

    kind: Literal["overlapping"]
    examples_per_client: PositiveInt


class Natural(Dealt):
    """A client has the examples of one owner, as the data set states owners.

    The clients are chosen among the owners of at least `min_examples` training examples, after what
    is held out for the test: those who own most (largest), or owners drawn uniformly once per seed
    (drawn). They are in the data set's order of owners. No client has the examples of the other
    owners.
    """

    kind: Literal["natural"]
    min_examples: PositiveInt = 1
    select: Literal["largest", "drawn"] = "largest"


HELD_OUT = "held_out"


class PublicPart(Part):
    """Unlabelled examples that the server has, for algorithms that need some. They are drawn
    uniformly once per seed.

    With the `source` held_out, `size` rows are taken out of the training data before it is
    partitioned, so that no client has them, whatever the algorithm. Otherwise `source` names
    another task whose examples have the same shape. Then the server has `size` of its training
    examples, or all of them without a size, and the clients keep everything.
    """

    source: str = HELD_OUT
    size: PositiveInt | None = None

    def _check(self) -> None:
        if self.source == HELD_OUT and self.size is None:
            raise ValueError("source: held_out needs a size, got none")


class ValidationPart(Part):
    """Validation data for tuning: models are evaluated on them instead of the test set.

    They are a `share` of the training data of every class, drawn once per seed and held out before
    anything else is.
    """

    share: Annotated[Float, Field(gt=0, lt=1)]
