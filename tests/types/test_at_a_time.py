"""How many clients a policy lets work at a time."""

from __future__ import annotations

import pytest

from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Rounds(select="all"), 100),
        (Rounds(select="without_replacement", cohort_size=10), 10),
        (Rounds(select="without_replacement", cohort_size=10, over_selection=3), 13),
        (Rounds(select="without_replacement", cohort_size=99, over_selection=3), 100),
        (Rounds(select="external"), 100),
        (Rounds(select="without_replacement", cohort_size=10, prelude=True), 10),
        (Rounds(select="scripted", selections=((1,), (2, 3))), 2),
        (Stream(concurrency=10), 10),
        (Stream(concurrency=1000), 100),
        (Broadcast(buffer_size=5), 100),
        (Mailbox(cohort_size=5), 100),
        (Poll(cohort_size=5), 100),
        (Turns(), 100),
    ],
)
def test_at_a_time(policy: Dispatch, expected: int) -> None:
    assert policy.at_a_time(100) == expected
