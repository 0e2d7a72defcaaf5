"""Types of the extension; tests/house compares them with the module."""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
    def words(self, count: int) -> npt.NDArray[np.uint32]: ...
    def uniform(self, count: int) -> npt.NDArray[np.float64]: ...
    def normal(self, count: int) -> npt.NDArray[np.float64]: ...
    def exponential(self, count: int) -> npt.NDArray[np.float64]: ...
    def below(self, n: int) -> int: ...
    def permutation(self, n: int) -> npt.NDArray[np.int64]: ...

def philox4x32(counter: Sequence[int], key: Sequence[int]) -> list[int]: ...
def draw_batches(
    seed: int, client: int, k: int, examples: int, batch_size: int, steps: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def draw_per_client(seed: int, purpose: Purpose, clients: int) -> npt.NDArray[np.float64]: ...
def portable_log(x: float) -> float: ...
def portable_exp(x: float) -> float: ...

# ---- accumulate ----

def weighted_sum_float32(weights: npt.NDArray[np.float64], vectors: Any, out: npt.NDArray[Any], isa: str = "") -> float: ...
weighted_sum_float64 = weighted_sum_float32
def movement_float32(
    x: npt.NDArray[Any], base: npt.NDArray[Any], delta: npt.NDArray[Any], isa: str = ""
) -> tuple[float, float, float, float]: ...
movement_float64 = movement_float32
def dot_float32(a: npt.NDArray[Any], b: npt.NDArray[Any], isa: str = "") -> float: ...
dot_float64 = dot_float32

# ---- distill ----

def distill_float32(
    student: npt.NDArray[Any],
    teacher: npt.NDArray[Any],
    alpha_min: float,
    alpha_max: float,
    out: tuple[npt.NDArray[Any], ...],
    probabilities: bool = False,
    isa: str = "",
) -> tuple[float, float, float]: ...
distill_float64 = distill_float32

# ---- cache ----

class CacheOrder(enum.Enum):
    deferred = 0
    immediate = 1
    newest = 2

def update_cache_float32(
    weights: npt.NDArray[np.float64],
    vectors: Any,
    rows: Any,
    sum: npt.NDArray[np.float64],
    scale: float,
    order: CacheOrder,
    out: npt.NDArray[Any],
    isa: str = "",
) -> None: ...
update_cache_float64 = update_cache_float32

# ---- optimise ----

def clip_sgd_float32(x: npt.NDArray[Any], g: npt.NDArray[Any], rate: float, bound: float, isa: str = "") -> tuple[float, float]: ...
def clip_adam_float32(
    x: npt.NDArray[Any],
    moments: tuple[npt.NDArray[Any], ...],
    g: npt.NDArray[Any],
    rule: tuple[float, float, float, float, bool, int, bool],
    bound: float,
    isa: str = "",
) -> tuple[float, float]: ...
def adaptive_step_float32(
    x: npt.NDArray[Any],
    moments: tuple[npt.NDArray[Any], ...],
    direction: npt.NDArray[Any],
    rule: tuple[float, float, float, float, bool, int, bool],
    use_maximum: bool,
    isa: str = "",
) -> None: ...
def sum_adaptive_step_float32(
    x: npt.NDArray[Any],
    moments: tuple[npt.NDArray[Any], ...],
    weights: npt.NDArray[np.float64],
    vectors: Any,
    rule: tuple[float, float, float, float, bool, int, bool],
    use_maximum: bool,
    isa: str = "",
) -> float: ...
clip_sgd_float64 = clip_sgd_float32
clip_adam_float64 = clip_adam_float32
adaptive_step_float64 = adaptive_step_float32
sum_adaptive_step_float64 = sum_adaptive_step_float32

# ---- probe ----

class Hold:
    def __init__(self, times: npt.NDArray[np.int64]) -> None: ...
    def run(self, increments: npt.NDArray[np.int64]) -> tuple[int, int]: ...

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

class Outcome(enum.Enum):
    running = 0
    finished = 1
    stalled = 2

class Durations:
    def __init__(
        self, *, name: str, kind: DurationKind, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], per_step: bool
    ) -> None: ...
    @staticmethod
    def table(*, name: str, rows: Sequence[Sequence[float]], per_step: bool) -> Durations: ...

class Traces:
    def __init__(
        self,
        *,
        name: str,
        offsets: npt.NDArray[np.int64],
        duration_ns: npt.NDArray[np.int64],
        bits_per_second: npt.NDArray[np.int64],
        latency_ns: npt.NDArray[np.int64],
        trace_of: npt.NDArray[np.int32],
        shift_ns: npt.NDArray[np.int64],
        bits: int,
        exchanges: int,
        more_ns: int,
    ) -> None: ...
    def takes(self, clients: int, from_ns: int) -> npt.NDArray[np.int64]: ...

class Steps:
    @staticmethod
    def constant(values: npt.NDArray[np.int32]) -> Steps: ...
    @staticmethod
    def table(rows: Sequence[Sequence[int]]) -> Steps: ...
    @staticmethod
    def normal(mean: float, variance: float) -> Steps: ...

class Availability:
    def __init__(self) -> None: ...
    @staticmethod
    def periodic(
        period_seconds: npt.NDArray[np.float64], on_fraction: npt.NDArray[np.float64], phase: npt.NDArray[np.float64]
    ) -> Availability: ...
    @staticmethod
    def alternating(mean_on_seconds: npt.NDArray[np.float64], mean_off_seconds: npt.NDArray[np.float64]) -> Availability: ...
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
        self,
        *,
        tasks: int,
        buffer: int,
        routing: npt.NDArray[np.float64],
        initial: Sequence[int],
        replacements: Sequence[int],
        scripted: bool,
    ) -> None: ...

def route(p: npt.NDArray[np.float64], u: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]: ...

class Broadcast:
    def __init__(self, *, buffer: int, receive: Receive) -> None: ...

class Mailbox:
    def __init__(self, *, cohort: int, send: Send, receive: Receive, selections: Sequence[Sequence[int]]) -> None: ...

class Poll:
    def __init__(
        self, *, period_seconds: float, max_steps: int, cohort: int, selections: Sequence[Sequence[int]]
    ) -> None: ...

class Turns:
    def __init__(self, *, resend: Resend) -> None: ...

class PlanChunk:
    @property
    def first_version(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def client(self) -> npt.NDArray[np.int32]: ...
    @property
    def k(self) -> npt.NDArray[np.int32]: ...
    @property
    def base(self) -> npt.NDArray[np.int32]: ...
    @property
    def steps(self) -> npt.NDArray[np.int32]: ...
    @property
    def consumed_by(self) -> npt.NDArray[np.int32]: ...
    @property
    def t_dispatch(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_start(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_finish(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_arrive(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_lost(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_stop(self) -> npt.NDArray[np.int64]: ...
    @property
    def time(self) -> npt.NDArray[np.int64]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def entries(self) -> npt.NDArray[np.int64]: ...
    @property
    def resumed(self) -> npt.NDArray[np.int64]: ...
    @property
    def live_bases(self) -> npt.NDArray[np.int32]: ...

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
        dropout: npt.NDArray[np.float64],
        gradients_per_step: int,
        gradients_beside: npt.NDArray[np.int32],
        start_ns: int,
        policy: Rounds | StreamPolicy | Broadcast | Mailbox | Poll | Routed | Turns,
        max_updates: int,
        max_seconds: float,
        max_jobs: int,
    ) -> None: ...
    def next(self, max_updates: int) -> PlanChunk: ...
    @property
    def awaiting_selection(self) -> bool: ...
    @property
    def available(self) -> npt.NDArray[np.int32]: ...
    def select(self, clients: npt.NDArray[np.int32]) -> None: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def ended_by(self) -> str: ...
    @property
    def missing(self) -> list[int]: ...
    @property
    def now(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def jobs_created(self) -> int: ...
    @property
    def downloads(self) -> int: ...
    @property
    def messages_peak(self) -> int: ...
    @property
    def open_jobs_peak(self) -> int: ...

class Hindsight:
    def __init__(self, scheduler: Scheduler) -> None: ...
    def done(
        self,
        client: npt.NDArray[np.int32],
        k: npt.NDArray[np.int32],
        steps: npt.NDArray[np.int32],
        begin: npt.NDArray[np.int64],
        end: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def is_left(self, client: npt.NDArray[np.int32], time: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]: ...
    def there(self, until: int) -> npt.NDArray[np.int64]: ...
    def stays(self, client: int, until: int) -> list[tuple[int, int]]: ...

class LocalTrainerFloat32:
    """Layers, jobs and rules are objects with the attributes of LayerSpec, LocalJob and Rule of kernels.train."""

    def __init__(
        self,
        layers: Sequence[Any],
        input_shape: Sequence[int],
        x: npt.NDArray[Any],
        y: npt.NDArray[np.int64],
        seed: int,
        batch_size: int,
        threads: int,
        isa: str,
    ) -> None: ...
    @property
    def dim(self) -> int: ...
    @property
    def isa(self) -> str: ...
    def train(self, jobs: Sequence[Any], progress: Callable[[int], None] | None) -> None: ...
    def set_shards(self, rows: npt.NDArray[np.int64], begin: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> None: ...
    def train_columns(
        self,
        client: npt.NDArray[np.int32],
        k: npt.NDArray[np.int32],
        steps: npt.NDArray[np.int32],
        rules: Sequence[Any],
        rule: npt.NDArray[np.int64],
        out: Sequence[npt.NDArray[Any]],
        matrix: npt.NDArray[np.int64],
        row: npt.NDArray[np.int64],
        sends: str,
    ) -> None: ...
    def gradient(self, x: npt.NDArray[Any], rows: npt.NDArray[np.int64], out: npt.NDArray[Any]) -> None: ...
    def logits(self, x: npt.NDArray[Any], features: npt.NDArray[Any], out: npt.NDArray[Any]) -> None: ...
    def forward(
        self, x: npt.NDArray[Any], features: npt.NDArray[Any], masks: tuple[int, int, int, int] | None, out: npt.NDArray[Any]
    ) -> int: ...
    def pullback(self, dlogits: npt.NDArray[Any], out: npt.NDArray[Any]) -> None: ...

class LocalTrainerFloat64(LocalTrainerFloat32): ...

def score_float32(
    logits: npt.NDArray[Any], labels: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
score_float64 = score_float32
