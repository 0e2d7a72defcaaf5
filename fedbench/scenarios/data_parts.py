"""Parts of a scenario: the task, who has which of its examples, and which nobody has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.scenarios.part import Float, Integer, Part, PositiveInt

Name = Annotated[str, Field(min_length=1, max_length=200)]


class TextPart(Part):
    """Files of texts for task `text`, below the data root: `train` and `test` (.tsv, .txt, .parquet, .arrow), the columns that hold the
    texts (one, or two for pairs) and the labels 0, 1, .., and to how many `tokens` an example is cut or filled up."""

    train: Name
    test: Name
    columns: Annotated[tuple[Name, ...], Field(min_length=1, max_length=2)]
    label: Name
    tokens: Annotated[Integer, Field(ge=4, le=4096)] = 64


class TaskPart(Part):
    """Data set and model by name. `augmentation`: what happens to the images of a job's steps; left out, what the task does by itself
    (crop_flip for CIFAR). crop_flip is for tasks that say how. `encoder` and `text` are for tasks of texts: the folder of a pretrained
    encoder below the data root (left out: that of a package), and files of one's own."""

    name: str
    model: str = "softmax"
    augmentation: Literal["none", "crop_flip"] | None = None
    encoder: Name | None = None
    text: TextPart | None = None


class Iid(Part):
    """Uniform random split into equal shards."""

    kind: Literal["iid"] = "iid"


class TwoClass(Part):
    """Every class cut into shards of one size, 2 N in all; every client gets two shards of different classes."""

    kind: Literal["two_class"]


class Dirichlet(Part):
    """The examples of every class are dealt out by shares ~ Dirichlet(alpha, .., alpha) over the clients; the smaller alpha, the
    fewer classes a client has. Every client has at least `min_examples`. `stop_at_mean`: a client that holds n / N examples gets
    none of the classes that are still to be dealt out, as FedaGrac's code has it."""

    kind: Literal["dirichlet"]
    alpha: Annotated[Float, Field(ge=1e-3, le=1e6)]
    min_examples: PositiveInt = 10
    stop_at_mean: bool = False


class ShardsOfClasses(Part):
    """Every client has examples of `classes_per_client` classes. `balanced`: everybody holds as many shards of one size, and every
    example is used; otherwise, as in FedaGrac's code, a class is split evenly over the clients that happen to hold it, so sizes
    differ and a division's remainder is nobody's."""

    kind: Literal["shards"]
    classes_per_client: PositiveInt
    balanced: bool = True


class Overlapping(Part):
    """Every client has `examples_per_client` examples, drawn uniformly and without repetition, and one example may be of many clients: so
    that there can be more clients than examples."""

    kind: Literal["overlapping"]
    examples_per_client: PositiveInt


HELD_OUT = "held_out"


class PublicPart(Part):
    """Unlabelled examples that the server has, for algorithms that need some; drawn uniformly once per seed.

    source: held_out, `size` rows taken out of the training data before it is partitioned, so that no client has them, whatever the
    algorithm; or the name of another task whose examples have the same shape: `size` of its training examples, all of them without a
    size, and the clients keep everything.
    """

    source: str = HELD_OUT
    size: PositiveInt | None = None

    @model_validator(mode="after")
    def _held_out_has_a_size(self) -> PublicPart:
        if self.source == HELD_OUT and self.size is None:
            raise ValueError("source: held_out needs a size, got none")
        return self


class ValidationPart(Part):
    """For tuning: a `share` of the training data, of every class alike, drawn once per seed, is held out before all else. Models are
    evaluated on it instead of the test set."""

    share: Annotated[Float, Field(gt=0, lt=1)]
