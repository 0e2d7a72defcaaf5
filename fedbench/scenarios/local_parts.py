"""Parts of a scenario: the local work of a job, and numbers of steps that differ from client to
client (step asynchronism).

Source of the kinds: the generators in FedaGrac's code (HarliWu/FedaGrac), where clients are
numbered from 1.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer

from fedbench import own_models
from fedbench.errors import UsageError
from fedbench.scenarios.base import Float, Integer, Part, PositiveFloat, PositiveInt
from fedbench.scenarios.schedule_parts import AnySchedule


class NormalSteps(Part):
    """K = max(minimum, floor(abs(X))) local steps, where X ~ Normal(mean, variance).

    K is drawn once per client (fixed) or for every job (random). A `minimum` above 1 goes with
    fixed only. Source: step asynchronism of FedaGrac (Wu et al. 2021), whose code has no minimum;
    the standard deviation is sqrt(variance).
    """

    kind: Literal["normal"] = "normal"
    mean: PositiveFloat
    variance: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    mode: Literal["fixed", "random"] = "fixed"
    minimum: PositiveInt = 1

    def _check(self) -> None:
        if self.mode == "random" and self.minimum > 1:
            raise ValueError(f"minimum must be 1 with mode: random, where the virtual clock draws, got {self.minimum}")


class ExtremeSteps(Part):
    """The last client does `high` local steps, all others `low`."""

    kind: Literal["extreme"]
    low: PositiveInt
    high: PositiveInt

    def _check(self) -> None:
        if self.high < self.low:
            raise ValueError(f"high must be >= low, got low {self.low}, high {self.high}")


class UniformSteps(Part):
    """The number of local steps is uniform on low, .., high - 1 and drawn once per client. The mode
    that draws it for every job does not exist."""

    kind: Literal["uniform"]
    low: PositiveInt
    high: PositiveInt
    mode: Literal["fixed"] = "fixed"

    def _check(self) -> None:
        if self.high <= self.low:
            raise ValueError(f"high must be > low, which is the least that is drawn, got low {self.low}, high {self.high}")


class LinearSteps(Part):
    """Client i = 0, 1, .. does low + increment (i + 1) local steps."""

    kind: Literal["linear"]
    low: PositiveInt
    increment: Annotated[Integer, Field(ge=0, le=2**31 - 1)]


DifferentSteps = NormalSteps | ExtremeSteps | UniformSteps | LinearSteps
STEPS_BRANCHES: dict[str, object] = {"number": PositiveInt, "list": tuple[PositiveInt, ...]}
"""Members of the union `Steps` that no key of a file chooses. Pydantic names them in the paths of
its errors."""


def _kind_of_steps(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "normal"))
    return "list" if isinstance(value, list | tuple) else getattr(value, "kind", "number")


Steps = Annotated[
    Annotated[PositiveInt, Tag("number")]
    | Annotated[tuple[PositiveInt, ...], Tag("list")]
    | Annotated[NormalSteps, Tag("normal")]
    | Annotated[ExtremeSteps, Tag("extreme")]
    | Annotated[UniformSteps, Tag("uniform")]
    | Annotated[LinearSteps, Tag("linear")],
    Discriminator(_kind_of_steps),
]


LATER = ("order", "schedule", "clip_norm", "label_smoothing", "momentum", "nesterov", "optimizer", "optimizer_sha256")
"""Keys of the local work that are written only where they are set."""


class LocalPart(Part):
    """The local work of a job: `steps` mini-batches, or as many as `epochs` passes over the
    client's data take.

    Steps are a number, a list with one number per client, or a group whose `kind` says how they
    differ; without a kind it is normal.

    `order` is that of a client's examples. They are shuffled anew for every pass over them. With
    as_stored every job takes them in the order of the training data, from the first one on, and
    with by_class class by class, as a loader without shuffling has them after a deal of examples
    that were sorted by class. `schedule` has the factors of the rate. `clip_norm` bounds the
    Euclidean norm of the gradient of every mini-batch: a longer one is scaled to it, before weight
    decay and all other terms. `label_smoothing` is the weight of the uniform distribution over
    classes in the targets of the clients' loss; evaluated losses are without it. `momentum` is that
    of every algorithm's local SGD, and begins anew in every job; with `nesterov` it has Nesterov's
    form, as torch defines it. It takes the place of plain SGD, as an `optimizer` does, which is the
    code of an optimiser of one's own, `path/to/myopt.py:Lion` or `package.module:Lion`, and
    `optimizer_sha256` the sum of that file, which is filled in when the scenario is read.
    """

    steps: Steps | None = None
    epochs: PositiveInt | None = None
    batch_size: PositiveInt = 10
    order: Literal["shuffled", "as_stored", "by_class"] = "shuffled"
    schedule: AnySchedule | None = None
    clip_norm: PositiveFloat | None = None
    label_smoothing: Annotated[Float, Field(ge=0, lt=1)] = 0.0
    momentum: Annotated[Float, Field(ge=0, lt=1)] = 0.0
    nesterov: bool = False
    optimizer: Annotated[str, Field(max_length=4000)] | None = None
    optimizer_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    def _check(self) -> None:
        self._check_optimizer()
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(f"exactly one of steps and epochs is needed, got {'neither' if self.steps is None else 'both'}")

    def _check_optimizer(self) -> None:
        try:
            name = None if self.optimizer is None else own_models.name_of(self.optimizer, "optimizer")
        except UsageError as error:
            raise ValueError(str(error)) from None
        if (name is None) != (self.optimizer_sha256 is None):
            raise ValueError("optimizer and optimizer_sha256 belong together, got one of them")
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov: true needs a momentum above 0, got 0")
        if self.optimizer and self.momentum:
            raise ValueError(
                f"momentum belongs to SGD, got {self.momentum:g} with optimizer {own_models.short(self.optimizer)}; leave out one of them"
            )

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without the later ones that have their default, so that older records
        and hashes stay as they are."""
        content: dict[str, object] = handler(self)
        defaults = {key: type(self).model_fields[key].default for key in LATER}
        return {key: value for key, value in content.items() if key not in LATER or value != defaults[key]}

    def factor_of_version(self, version: int) -> float:
        """Returns the factor of the rate in jobs that start from this version."""
        return self.schedule.factor(version) if self.schedule is not None and self.schedule.by == "version" else 1.0

    def factor_of_step(self, step: int) -> float:
        """Returns the factor of the rate in this local step, from 0."""
        return self.schedule.factor(step) if self.steps_differ and self.schedule is not None else 1.0

    @property
    def steps_differ(self) -> bool:
        """Returns whether the rate changes from step to step within a job."""
        return self.schedule is not None and self.schedule.by == "local_step"

    @property
    def torch_only(self) -> list[str]:
        """Returns the keys, with their values, that the native trainer does not take."""
        found = {
            "schedule.by": "local_step" if self.steps_differ else None,
            "clip_norm": self.clip_norm,
            "label_smoothing": self.label_smoothing or None,
            "momentum": self.momentum or None,
            "nesterov": self.nesterov or None,
            "optimizer": self.optimizer and own_models.short(self.optimizer),
        }
        return [f"local.{key}={value}" for key, value in found.items() if value is not None]

    @property
    def step_rule(self) -> str:
        """Returns the key, with its value, that takes the place of plain SGD; empty if none
        does."""
        if self.optimizer is not None:
            return f"local.optimizer {own_models.short(self.optimizer)}"
        return f"local.momentum {self.momentum:g}" if self.momentum else ""

    def of_one(self, clients: int) -> LocalPart:
        """Returns the local work of one client that replaces so many. If the clients have different
        steps that are not drawn for every job, its steps are their mean, rounded."""
        match self.steps:
            case tuple() as steps:
                mean = sum(steps) / len(steps)
            case NormalSteps(mode="fixed", mean=normal, minimum=minimum):
                mean = max(normal, minimum)
            case ExtremeSteps(low=low, high=high):
                mean = low + (high - low) / clients
            case UniformSteps(low=low, high=high):
                mean = (low + high - 1) / 2
            case LinearSteps(low=low, increment=increment):
                mean = low + increment * (clients + 1) / 2
            case _:
                return self
        return self.model_copy(update={"steps": round(mean)})
