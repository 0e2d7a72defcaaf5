"""Types of the extension; tests/house compares them with the module."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

_Float64s = npt.NDArray[np.float64]
_Int64s = npt.NDArray[np.int64]
_Int32s = npt.NDArray[np.int32]
_Uint32s = npt.NDArray[np.uint32]
_Bools = npt.NDArray[np.bool_]
_Array = npt.NDArray[Any]

__version__: str

def build_info() -> dict[str, Any]: ...

# ---- random ----

class Purpose(enum.IntEnum):
    partition = 1
    speed = 2
    compute = 3
    download = 4
    upload = 5
    steps = 6
    selection = 7
    initial = 8
    replacement = 9
    parameters = 10
    data_order = 11
    dropout = 12
    module_seed = 13
    evaluation = 14
    holdout = 15
    availability = 16
    loss = 17
    rarity = 18
    augmentation = 19

class RandomStream:
    def __init__(self, seed: int, purpose: Purpose, client: int = 0, k: int = 0) -> None: ...
    def words(self, count: int) -> _Uint32s: ...
    def uniform(self, count: int) -> _Float64s: ...
    def normal(self, count: int) -> _Float64s: ...
    def exponential(self, count: int) -> _Float64s: ...
    def below(self, n: int) -> int: ...
    def permutation(self, n: int) -> _Int64s: ...

def philox4x32(counter: Sequence[int], key: Sequence[int]) -> list[int]: ...
def draw_batches(
    seed: int, client: int, k: int, examples: int, batch_size: int, steps: int, shuffled: bool = True
) -> tuple[_Int64s, _Int64s]: ...
def draw_per_client(seed: int, purpose: Purpose, clients: int, k: int = 0) -> _Float64s: ...
def draw_below_per_client(seed: int, purpose: Purpose, clients: int, k: int, n: int) -> tuple[_Int64s, _Float64s]: ...
def portable_log(x: float) -> float: ...
def portable_exp(x: float) -> float: ...
def portable_pow(base: _Float64s, exponent: _Float64s) -> _Float64s: ...

# ---- accumulate ----

def weighted_sum(weights: _Float64s, vectors: Any, out: _Array, isa: str = "") -> float: ...
def movement(x: _Array, base: _Array, delta: _Array, isa: str = "") -> tuple[float, float, float, float]: ...
def dot(a: _Array, b: _Array, isa: str = "") -> float: ...
def row_dots(matrix: _Float64s, vector: _Float64s) -> _Float64s: ...

# ---- distill ----

def distill(
    student: _Array,
    teacher: _Array,
    alpha_min: float,
    alpha_max: float,
    out: tuple[_Array, ...],
    probabilities: bool = False,
    isa: str = "",
) -> tuple[float, float, float]: ...

# ---- cache ----

class CacheOrder(enum.Enum):
    deferred = 0
    immediate = 1
    newest = 2

def update_cache(
    weights: _Float64s, vectors: Any, rows: Any, sum: _Float64s, scale: float, order: CacheOrder, out: _Array, isa: str = ""
) -> None: ...

# ---- optimise ----

def clip_sgd(x: _Array, g: _Array, rate: float, bound: float, isa: str = "") -> tuple[float, float]: ...
def clip_adam(
    x: _Array,
    moments: tuple[_Array, ...],
    g: _Array,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    bound: float,
    isa: str = "",
) -> tuple[float, float]: ...
def adaptive_step(
    x: _Array,
    moments: tuple[_Array, ...],
    direction: _Array,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    use_maximum: bool,
    isa: str = "",
) -> None: ...
def sum_adaptive_step(
    x: _Array,
    moments: tuple[_Array, ...],
    weights: _Float64s,
    vectors: Any,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    use_maximum: bool,
    isa: str = "",
) -> None: ...

# ---- probe ----

class Hold:
    def __init__(self, times: _Int64s) -> None: ...
    def run(self, increments: _Int64s) -> tuple[int, int]: ...

def read_rows(vectors: npt.NDArray[np.float32]) -> int: ...

# ---- scheduler ----

class DurationKind(enum.Enum):
    constant = 0
    uniform = 1
    exponential = 2
    lognormal = 3
    pareto = 4
    table = 5

class Select(enum.Enum):
    all = 0
    without_replacement = 1
    with_replacement = 2
    weighted = 3
    scripted = 4
    external = 5

class Restart(enum.Enum):
    resample = 0
    self = 1

class DispatchOrder(enum.Enum):
    after_update = 0
    before_update = 1

class Receive(enum.Enum):
    pop = 0
    peek = 1

class Send(enum.Enum):
    continuous = 0
    on_demand = 1

class Resend(enum.Enum):
    turn = 0
    newest = 1

class WhenOffline(enum.Enum):
    lost = 0
    paused = 1

class Durations:
    def __init__(self, *, name: str, kind: DurationKind, a: _Float64s, b: _Float64s, per_step: bool) -> None: ...
    @staticmethod
    def table(*, name: str, rows: Sequence[Sequence[float]], per_step: bool) -> Durations: ...

class Traces:
    def __init__(
        self,
        *,
        name: str,
        offsets: _Int64s,
        duration_ns: _Int64s,
        bits_per_second: _Int64s,
        latency_ns: _Int64s,
        trace_of: _Int32s,
        shift_ns: _Int64s,
        bits: int,
        exchanges: int,
        more_ns: int,
    ) -> None: ...
    def takes(self, clients: int, from_ns: int) -> _Int64s: ...

class Steps:
    @staticmethod
    def constant(values: _Int32s) -> Steps: ...
    @staticmethod
    def table(rows: Sequence[Sequence[int]]) -> Steps: ...
    @staticmethod
    def normal(mean: float, variance: float) -> Steps: ...

class Availability:
    def __init__(self) -> None: ...
    @staticmethod
    def periodic(period_seconds: _Float64s, on_fraction: _Float64s, phase: _Float64s) -> Availability: ...
    @staticmethod
    def alternating(mean_on_seconds: _Float64s, mean_off_seconds: _Float64s) -> Availability: ...
    @staticmethod
    def table(rows: Sequence[Sequence[float]], period_seconds: float) -> Availability: ...

class Rounds:
    def __init__(
        self,
        *,
        select: Select,
        cohort: int,
        probabilities: Sequence[float],
        selections: Sequence[Sequence[int]],
        deadline_seconds: float,
        over_selection: int,
    ) -> None: ...

class StreamPolicy:
    def __init__(
        self,
        *,
        concurrency: int,
        buffer: int,
        restart: Restart,
        order: DispatchOrder,
        initial: Sequence[int],
        replacements: Sequence[int],
        scripted: bool,
        max_staleness: int,
        stop_stale: bool,
        harmonic: float,
    ) -> None: ...

class Routed:
    def __init__(
        self, *, tasks: int, buffer: int, routing: _Float64s, initial: Sequence[int], replacements: Sequence[int], scripted: bool
    ) -> None: ...

def route(p: _Float64s, u: _Float64s) -> _Int32s: ...

class Broadcast:
    def __init__(self, *, buffer: int, receive: Receive) -> None: ...

class Mailbox:
    def __init__(self, *, cohort: int, send: Send, receive: Receive, selections: Sequence[Sequence[int]]) -> None: ...

class Poll:
    def __init__(self, *, period_seconds: float, max_steps: int, cohort: int, selections: Sequence[Sequence[int]]) -> None: ...

class Turns:
    def __init__(self, *, resend: Resend) -> None: ...

class PlanChunk:
    first_version: Final[int]
    done: Final[bool]
    client: Final[_Int32s]
    k: Final[_Int32s]
    base: Final[_Int32s]
    steps: Final[_Int32s]
    consumed_by: Final[_Int32s]
    t_dispatch: Final[_Int64s]
    t_start: Final[_Int64s]
    t_finish: Final[_Int64s]
    t_arrive: Final[_Int64s]
    t_lost: Final[_Int64s]
    t_stop: Final[_Int64s]
    time: Final[_Int64s]
    offsets: Final[_Int64s]
    entries: Final[_Int64s]
    resumed: Final[_Int64s]
    live_bases: Final[_Int32s]

class Scheduler:
    def __init__(
        self,
        *,
        clients: int,
        seed: int,
        compute: Durations,
        download: Durations | Traces,
        upload: Durations | Traces,
        steps: Steps,
        availability: Availability,
        when_offline: WhenOffline,
        dropout: _Float64s,
        gradients_per_step: int,
        gradients_beside: _Int32s,
        start_ns: int,
        server_ns: int,
        policy: Rounds | StreamPolicy | Broadcast | Mailbox | Poll | Routed | Turns,
        max_updates: int,
        max_seconds: float,
        max_jobs: int,
    ) -> None: ...
    def next(self, max_updates: int) -> PlanChunk: ...
    awaiting_selection: Final[bool]
    available: Final[_Int32s]
    def select(self, clients: _Int32s) -> None: ...
    outcome: Final[Literal["running", "finished", "stalled"]]
    ended_by: Final[str]
    missing: Final[list[int]]
    now: Final[int]
    end: Final[int]
    version: Final[int]
    totals: Final[dict[str, int]]

class Hindsight:
    def __init__(self, scheduler: Scheduler) -> None: ...
    def done(
        self, client: _Int32s, k: _Int32s, steps: _Int32s, begin: _Int64s, end: _Int64s
    ) -> tuple[_Int64s, _Int32s, _Int64s]: ...
    def is_left(self, client: _Int32s, time: _Int64s) -> _Bools: ...
    def there(self, until: int) -> _Int64s: ...
    def stays(self, client: int, until: int) -> list[tuple[int, int]]: ...

class LocalTrainerFloat32:
    """Layers, jobs and rules are objects with the attributes of LayerSpec, LocalJob and Rule of kernels.train."""

    def __init__(
        self,
        layers: Sequence[Any],
        input_shape: Sequence[int],
        x: _Array,
        y: _Int64s,
        seed: int,
        batch_size: int,
        threads: int,
        isa: str,
        shuffled: bool = True,
        padding: int = 0,
        fill: _Array | None = None,
    ) -> None: ...
    dim: Final[int]
    isa: Final[str]
    def train(self, jobs: Sequence[Any], progress: Callable[[int], None] | None) -> None: ...
    def set_shards(self, rows: _Int64s, begin: _Int64s, count: _Int64s) -> None: ...
    def train_columns(
        self,
        client: _Int32s,
        k: _Int32s,
        steps: _Int32s,
        rules: Sequence[Any],
        rule: _Int64s,
        out: Sequence[_Array],
        matrix: _Int64s,
        row: _Int64s,
        sends: str,
    ) -> None: ...
    def logits(self, x: _Array, features: _Array, out: _Array) -> None: ...
    def forward(self, x: _Array, features: _Array, masks: tuple[int, int, int, int] | None, out: _Array) -> int: ...
    def pullback(self, dlogits: _Array, out: _Array) -> None: ...

class LocalTrainerFloat64(LocalTrainerFloat32): ...

def score(logits: _Array, labels: _Int64s) -> tuple[_Float64s, _Float64s]: ...
