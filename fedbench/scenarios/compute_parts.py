"""Parts of a scenario: how long a local step or a job takes to compute."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedbench.scenarios.base import Float, Part, PositiveFloat, Seconds
from fedbench.scenarios.slowdowns import Slowdown


class PerStep(Part):
    """A local step takes `step_seconds` times the client's slowdown.

    In the place of `step_seconds` there can be `harmonic_job_seconds`: the harmonic mean over the
    clients of the compute time of a job. It is the throughput of a fleet whose clients all work,
    clients over seconds, and stays the same whatever their slowdowns and their numbers of local
    steps are. With wide slowdowns the arithmetic mean is much longer; a plan prints both.
    """

    kind: Literal["per_step"] = "per_step"
    step_seconds: Seconds | None = None
    harmonic_job_seconds: PositiveFloat | None = None
    slowdown: Slowdown = Slowdown()

    def _check(self) -> None:
        if (self.step_seconds is None) == (self.harmonic_job_seconds is None):
            has = "neither" if self.step_seconds is None else "both"
            raise ValueError(f"exactly one of step_seconds and harmonic_job_seconds is needed, got {has}")


class Constant(Part):
    """`seconds` for every job."""

    distribution: Literal["constant"] = "constant"
    seconds: Seconds


class Uniform(Part):
    """A uniform time, U(low_seconds, high_seconds)."""

    distribution: Literal["uniform"]
    low_seconds: Seconds
    high_seconds: Seconds


class Exponential(Part):
    """An exponential time of this mean."""

    distribution: Literal["exponential"]
    mean_seconds: Seconds


class Lognormal(Part):
    """exp(log_mean + log_sigma z) seconds, z ~ N(0, 1)."""

    distribution: Literal["lognormal"]
    log_mean: Annotated[Float, Field(allow_inf_nan=False)]
    log_sigma: Annotated[Float, Field(ge=0, allow_inf_nan=False)]


class Pareto(Part):
    """At least `scale_seconds`, with P(time > t) = (scale_seconds / t)^shape."""

    distribution: Literal["pareto"]
    scale_seconds: Seconds
    shape: PositiveFloat


class PerJob(Part):
    """A whole job takes a time that is drawn for every job, whatever the number of its steps."""

    kind: Literal["per_job"]
    time: Constant | Uniform | Exponential | Lognormal | Pareto = Field(discriminator="distribution")


class SizeScore(Part):
    """Clients with many examples tend to be slow.

    They are ranked by (n_i - mean n) / std n + gamma e_i with e_i ~ N(0, 1). The first
    floor(long_share N) are in the class long, the next round(medium_share N) in medium, the others
    in short. With gamma = 0 the size alone decides.

    Source: Wang et al. 2025. They say that the class depends on the size, the more so the smaller
    gamma is, and that at most 10% are long. The rule is ours.
    """

    kind: Literal["size_score"] = "size_score"
    gamma: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 1.0
    long_share: Annotated[Float, Field(ge=0, le=1)] = 0.1
    medium_share: Annotated[Float, Field(ge=0, le=1)] = 0.3

    def _check(self) -> None:
        if self.long_share + self.medium_share > 1 + 1e-9:
            raise ValueError(
                f"long_share and medium_share must be at most 1 together, got {self.long_share:g} and {self.medium_share:g}"
            )


class Fadas(Part):
    """The class does not depend on the sizes: it is the place of the largest share in a draw from
    Dirichlet(3 scale, 2 scale, scale), for short, medium and long.

    Source: public code of FADAS (yujiaw98/FADAS), whose `--scale` is 1.
    """

    kind: Literal["fadas"]
    scale: Annotated[Float, Field(ge=1e-3, le=1e6)] = 1.0


class DelayClasses(Part):
    """A job takes U(low, high) seconds, whatever the number of its steps, with the [low, high] of
    the client's class. The time is drawn for every job.

    Source: Wang et al. 2025 and FADAS, whose unit of 1 is 10 seconds here. Their long class is
    U(50, 80) with large delays. With mild delays it is U(10, 20) in Wang et al. 2025, and U(5, 8)
    in FADAS's code.
    """

    kind: Literal["delay_classes"]
    short_seconds: tuple[Seconds, Seconds] = (10.0, 20.0)
    medium_seconds: tuple[Seconds, Seconds] = (30.0, 50.0)
    long_seconds: tuple[Seconds, Seconds]
    assignment: SizeScore | Fadas = Field(default=SizeScore(), discriminator="kind")

    def _check(self) -> None:
        for name in ("short_seconds", "medium_seconds", "long_seconds"):
            low, high = getattr(self, name)
            if high < low:
                raise ValueError(f"{name} must be [low, high] with high >= low, got [{low:g}, {high:g}]")


class ExponentialSteps(Part):
    """A local step takes an exponential time, whose mean is `slow_mean_seconds` for slow clients
    and `fast_mean_seconds` for others. round(slow_share N) clients are slow, drawn uniformly once
    per seed. The time is drawn for every job and is the same for all its steps.

    Source: the simulation in QuAFL's code (ShayanTalaei/QuAFL), whose means are 2 and 8. One time
    for all steps of a job is ours: the mean of a job is the same, its variance is larger.
    """

    kind: Literal["exponential_steps"]
    fast_mean_seconds: Seconds = 2.0
    slow_mean_seconds: Seconds = 8.0
    slow_share: Annotated[Float, Field(ge=0, le=1)]


class Devices(Part):
    """A local step of client i takes `seconds_per_example[i]` times local.batch_size.

    The file of a scenario can have the key `file` instead: the name of a CSV file with the columns
    client, seconds_per_example, megabit_per_second.
    """

    kind: Literal["devices"]
    seconds_per_example: tuple[PositiveFloat, ...]
