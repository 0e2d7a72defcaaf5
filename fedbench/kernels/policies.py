"""Conversion of dispatch policies to those of the core."""

from __future__ import annotations

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.kernels import checks, inputs
from fedbench.kernels.timing import named
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns, Weights

NO_LIMIT = -1
Policy = _core.Rounds | _core.StreamPolicy | _core.Routed | _core.Broadcast | _core.Mailbox | _core.Poll | _core.Turns


def to_policy(dispatch: Dispatch, p: Weights | None) -> Policy:
    """Returns the core's policy. `p` are the probabilities of weighted rounds. UsageError or
    ValueError names the field, the value and what was expected."""
    match dispatch:
        case Rounds():
            return _core.Rounds(
                select=named(_core.Select, dispatch.select, "rounds: select"),
                cohort=inputs.size("rounds: cohort_size", dispatch.cohort_size),
                probabilities=inputs.parameter("rounds: p", p).tolist(),
                selections=inputs.table("rounds: selections", dispatch.selections, inputs.client),
                deadline_seconds=_deadline(dispatch),
                over_selection=inputs.size("rounds: over_selection", dispatch.over_selection),
            )
        case Stream():
            return _stream(dispatch) if dispatch.routing is None else _routed(dispatch)
        case Broadcast():
            return _core.Broadcast(
                buffer=inputs.size("broadcast: buffer_size", dispatch.buffer_size),
                receive=named(_core.Receive, dispatch.receive, "broadcast: receive"),
            )
        case Mailbox():
            return _core.Mailbox(
                cohort=inputs.size("mailbox: cohort_size", dispatch.cohort_size),
                send=named(_core.Send, dispatch.send, "mailbox: send"),
                receive=named(_core.Receive, dispatch.receive, "mailbox: receive"),
                selections=inputs.table("mailbox: selections", dispatch.selections, inputs.client),
            )
        case Poll():
            return _poll(dispatch)
        case Turns():
            return _core.Turns(resend=named(_core.Resend, dispatch.resend, "turns: resend"))
    raise UsageError(f"dispatch: expected Rounds, Stream, Broadcast, Mailbox, Poll or Turns, got {type(dispatch).__name__}")


def _stream(dispatch: Stream) -> _core.StreamPolicy:
    if dispatch.close not in ("count", "harmonic"):
        raise UsageError(f"stream: close: expected count or harmonic, got {dispatch.close!r}")
    is_counted, size = dispatch.close == "count", dispatch.buffer_size
    limit = dispatch.max_staleness
    return _core.StreamPolicy(
        concurrency=inputs.size("stream: concurrency", dispatch.concurrency),
        buffer=inputs.size("stream: buffer_size", size) if is_counted else 1,
        restart=named(_core.Restart, dispatch.restart, "stream: restart"),
        order=named(_core.DispatchOrder, dispatch.order, "stream: order"),
        initial=inputs.clients("stream: initial", dispatch.initial),
        replacements=_replacements(dispatch),
        scripted=dispatch.replacements is not None,
        max_staleness=NO_LIMIT if limit is None else inputs.size("stream: max_staleness", limit),
        stop_stale=dispatch.stop_stale,
        harmonic=0.0 if is_counted else checks.within("stream: buffer_size", size, "a number >= 1", low=1),
    )


def _routed(dispatch: Stream) -> _core.Routed:
    """Returns the policy of tasks that are routed to queues. Options that have no published meaning
    for queues are refused."""
    for name, value in (("order", "after_update"), ("max_staleness", None), ("stop_stale", False), ("close", "count")):
        if (got := getattr(dispatch, name)) != value:
            raise UsageError(f"stream: with routing, {name} must be {value}, got {got}")
    return _core.Routed(
        tasks=inputs.size("stream: concurrency", dispatch.concurrency),
        buffer=inputs.size("stream: buffer_size", dispatch.buffer_size),
        routing=inputs.parameter("stream: routing", dispatch.routing),
        initial=inputs.clients("stream: initial", dispatch.initial),
        replacements=_replacements(dispatch),
        scripted=dispatch.replacements is not None,
    )


def _replacements(dispatch: Stream) -> list[int]:
    return [] if dispatch.replacements is None else inputs.clients("stream: replacements", dispatch.replacements)


def _poll(dispatch: Poll) -> _core.Poll:
    if dispatch.steps is not None:
        raise UsageError(
            f"poll: the steps of a job are known at its poll only; give max_steps, not steps, got steps={dispatch.steps}"
        )
    return _core.Poll(
        period_seconds=checks.number("poll: period_seconds", dispatch.period_seconds),
        max_steps=inputs.size("poll: max_steps", dispatch.max_steps),
        cohort=inputs.size("poll: cohort_size", dispatch.cohort_size),
        selections=inputs.table("poll: selections", dispatch.selections, inputs.client),
    )


def _deadline(dispatch: Rounds) -> float:
    """Returns the deadline in seconds, which is 0 if there is none."""
    if dispatch.deadline_seconds is None:
        return 0.0
    seconds = checks.number("rounds: deadline_seconds", dispatch.deadline_seconds)
    if not seconds >= 1e-9:
        raise UsageError(f"rounds: deadline_seconds must be at least a nanosecond, got {seconds:g}")
    return seconds
