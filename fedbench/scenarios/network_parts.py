"""Parts of a scenario: how fast messages travel."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedbench.scenarios.base import Float, Part, PositiveFloat, Seconds

LogSigma = Annotated[Float, Field(ge=0, le=5)]
Throughput = Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)]
GivenTrace = Annotated[tuple[tuple[PositiveFloat, Throughput, Seconds], ...], Field(min_length=1, max_length=100_000)]


class Links(Part):
    """The measured link of every client: a trace of throughput and latency over time, which is
    repeated for ever.

    With `folder`, every client draws one of the traces in that folder of .csv and .json files. The
    folder is looked for beside the scenario's file, in the working directory and in FEDBENCH_DATA.
    `sha256` is the sum of its files. Without one it is computed when the scenario is read; files
    that are used later must have it. `given` holds traces as lists of [duration in seconds, megabit
    per second, latency in seconds]: one for all clients, or one per client. The file of a scenario
    can have `file` instead, for links that do not change: the name of a CSV file with the columns
    client, seconds_per_example, megabit_per_second.

    `offset_seconds` says how far all clients are into their traces at time 0. Without it, every
    client's place is drawn uniformly over its trace.
    """

    folder: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    given: Annotated[tuple[GivenTrace, ...], Field(min_length=1)] | None = None
    offset_seconds: Seconds | None = None

    def _check(self) -> None:
        if (self.folder is None) == (self.given is None):
            raise ValueError(f"exactly one of folder and given is needed, got {'neither' if self.given is None else 'both'}")
        if self.given is not None and self.sha256 is not None:
            raise ValueError(f"sha256 is the sum of a folder's files, got {self.sha256} with given")


class TracePart(Links):
    """The links of both directions, or only those of downloads if `upload` has other ones."""

    upload: Links | None = None


class Network(Part):
    """How long messages take: a rate per client and direction, and a latency per message.

    Rates are in megabit per second; without a rate, sending takes only the latency. With a
    `log_sigma` every client has a rate of its own: the given one times exp(log_sigma z), z ~ N(0,
    1), drawn once per client, so that the given rate is the median. With `message` fixed, every
    message has `message_megabytes` (10^6 bytes) whatever it holds, as the papers have it; with
    payload it has the size of its vectors. A `trace` replaces rates and latency by measured links.

    `upload_over_compute` states the uploads' rate, one for all clients, by the weight of
    communication: the upload of one vector of the model's size takes so many times the median
    client's compute time of a job, of which it takes the mean where that is drawn. Messages of
    other sizes take their share. So the weight is the same for small and large models.
    """

    download_megabit_per_second: PositiveFloat | None = None
    upload_megabit_per_second: PositiveFloat | None = None
    download_log_sigma: LogSigma = 0.0
    upload_log_sigma: LogSigma = 0.0
    upload_over_compute: Annotated[Float, Field(gt=0, le=1e6)] | None = None
    latency_seconds: Seconds = 0.0
    message: Literal["fixed", "payload"] = "payload"
    message_megabytes: PositiveFloat | None = None
    trace: TracePart | None = None

    def _check(self) -> None:
        others = {
            "upload_megabit_per_second": self.upload_megabit_per_second,
            "trace": self.trace,
            "message": self.message == "fixed",
        }
        if self.upload_over_compute is not None and (other := next((key for key in others if others[key]), "")):
            got = "message: fixed" if other == "message" else other
            raise ValueError(f"upload_over_compute states the rate of a payload's upload, so it goes without {got}, got both")
        if (self.message == "fixed") != (self.message_megabytes is not None):
            has = "none" if self.message_megabytes is None else f"{self.message_megabytes:g}"
            raise ValueError(
                f"message: fixed goes with message_megabytes, payload without, got {self.message} and message_megabytes {has}"
            )
        for way in ("download", "upload"):
            if getattr(self, f"{way}_log_sigma") and getattr(self, f"{way}_megabit_per_second") is None:
                raise ValueError(f"{way}_log_sigma needs {way}_megabit_per_second, the median of the rates, got none")
        for name in ("download_megabit_per_second", "upload_megabit_per_second", "latency_seconds"):
            if self.trace is not None and getattr(self, name):
                raise ValueError(f"trace goes without {name}, which the traces say, got {getattr(self, name):g}")

    @property
    def links(self) -> dict[str, Links]:
        """Returns the measured links by the end of their path in the part `trace`: empty for the
        part itself, or `.upload`."""
        if self.trace is None:
            return {}
        return {"": self.trace} | ({} if self.trace.upload is None else {".upload": self.trace.upload})
