"""Random streams: the counter layout, and every draw re-implemented from the generator's words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench import _core
from fedbench.kernels.random import Purpose, RandomStream, draw_batches, draw_below_per_client, draw_per_client
from tests.kernels.reference import philox4x32

DETERMINISTIC = settings(derandomize=True, deadline=None, max_examples=100, database=None)
word = st.integers(0, 2**32 - 1)
seeds = st.integers(0, 2**64 - 1)
purposes = st.sampled_from(list(Purpose))


def words_of(seed: int, purpose: Purpose, client: int = 0, k: int = 0) -> Iterator[int]:
    """The layout: key (seed low, seed high), counter (draw, k, client, purpose), words in order."""
    for draw in itertools.count():
        yield from philox4x32((draw, k, client, int(purpose)), (seed & 0xFFFFFFFF, seed >> 32))


def below(words: Iterator[int], n: int) -> int:
    """Lemire: the high half of word * n, unless the low half is one of the 2^32 mod n that would
    bias it."""
    while True:
        product = next(words) * n
        if product & 0xFFFFFFFF >= 2**32 % n:
            return product >> 32


def permutation(words: Iterator[int], n: int) -> list[int]:
    """Fisher-Yates from the front."""
    items = list(range(n))
    for i in range(n - 1):
        j = i + below(words, n - i)
        items[i], items[j] = items[j], items[i]
    return items


def test_known_answers() -> None:
    """Random123's kat_vectors, for the reference and for the C++."""
    ones = 0xFFFFFFFF
    known = {
        ((0, 0, 0, 0), (0, 0)): (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
        ((ones,) * 4, (ones, ones)): (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)): (
            0xD16CFE09,
            0x94FDCCEB,
            0x5001E420,
            0x24126EA1,
        ),
    }
    for (counter, key), expected in known.items():
        assert philox4x32(counter, key) == expected
        assert tuple(_core.philox4x32(counter, key)) == expected


@DETERMINISTIC
@given(st.tuples(word, word, word, word), st.tuples(word, word))
def test_the_block_equals_the_reference(counter: tuple[int, int, int, int], key: tuple[int, int]) -> None:
    assert tuple(_core.philox4x32(counter, key)) == philox4x32(counter, key)


@DETERMINISTIC
@given(seeds, purposes, word, word)
def test_the_layout_of_key_and_counter(seed: int, purpose: Purpose, client: int, k: int) -> None:
    got = RandomStream(seed, purpose, client, k).words(11)
    assert got.dtype == np.uint32
    assert got.tolist() == list(itertools.islice(words_of(seed, purpose, client, k), 11))


def test_purposes_are_frozen() -> None:
    """Changing a value changes every published run."""
    names = (
        "partition speed compute download upload steps selection initial replacement parameters data_order dropout module_seed "
        "evaluation holdout availability loss rarity augmentation"
    )
    assert {purpose.name: purpose.value for purpose in Purpose} == {name: i for i, name in enumerate(names.split(), 1)}


@DETERMINISTIC
@given(seeds, purposes, word, word)
def test_uniform_has_53_bits_of_two_words(seed: int, purpose: Purpose, client: int, k: int) -> None:
    words = words_of(seed, purpose, client, k)
    expected = [((next(words) << 32 | next(words)) >> 11) / 2**53 for _ in range(7)]
    got = RandomStream(seed, purpose, client, k).uniform(7)
    assert got.tolist() == expected
    assert (got >= 0).all()
    assert (got < 1).all()


@DETERMINISTIC
@given(seeds, st.one_of(st.integers(1, 20), st.sampled_from([2**31, 2**31 + 1, 3 << 30, 2**32 - 1]), st.integers(1, 2**32 - 1)))
def test_below_is_lemires(seed: int, n: int) -> None:
    stream, words = RandomStream(seed, Purpose.selection), words_of(seed, Purpose.selection)
    assert [stream.below(n) for _ in range(30)] == [below(words, n) for _ in range(30)]
    assert stream.words(1)[0] == next(words)  # as many words used, rejected ones included


@DETERMINISTIC
@given(seeds, st.integers(0, 60))
def test_permutation_is_fisher_yates(seed: int, n: int) -> None:
    got = RandomStream(seed, Purpose.partition).permutation(n)
    assert got.dtype == np.int64
    assert got.tolist() == permutation(words_of(seed, Purpose.partition), n)


@DETERMINISTIC
@given(seeds, word, word, st.integers(1, 30), st.integers(1, 40), st.integers(0, 9))
def test_draw_batches(seed: int, client: int, k: int, examples: int, batch: int, steps: int) -> None:
    """Consecutive slices of a permutation, the short last one used, then a new permutation of the
    same stream."""
    words = words_of(seed, Purpose.data_order, client, k)
    expected: list[list[int]] = []
    while len(expected) < steps:
        order = permutation(words, examples)
        expected += [order[i : i + batch] for i in range(0, examples, batch)]
    rows, offsets = draw_batches(seed, client, k, examples, batch, steps)
    assert rows.dtype == offsets.dtype == np.int64
    assert len(offsets) == steps + 1
    assert [rows[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected[:steps]
    assert len(rows) == offsets[-1]


@DETERMINISTIC
@given(seeds, purposes)
def test_exponential_and_normal_from_the_uniforms(seed: int, purpose: Purpose) -> None:
    uniforms = iter(RandomStream(seed, purpose).uniform(200).tolist())
    got = RandomStream(seed, purpose).exponential(5).tolist()
    assert got == pytest.approx([-math.log1p(-next(uniforms)) for _ in range(5)], rel=1e-14)

    uniforms = iter(RandomStream(seed, purpose).uniform(400).tolist())
    expected: list[float] = []
    while len(expected) < 10:
        a, b = 2 * next(uniforms) - 1, 2 * next(uniforms) - 1
        s = a * a + b * b
        if 0 < s < 1:  # Marsaglia's polar method; the second value of the pair is discarded
            expected.append(a * math.sqrt(-2 * math.log(s) / s))
    assert RandomStream(seed, purpose).normal(10).tolist() == pytest.approx(expected, rel=1e-14)


@DETERMINISTIC
@given(seeds, st.lists(st.integers(0, 9), max_size=8))
def test_cutting_a_stream_does_not_change_it(seed: int, counts: list[int]) -> None:
    stream = RandomStream(seed, Purpose.dropout, 1, 2)
    parts = [stream.words(n) for n in counts]
    whole = RandomStream(seed, Purpose.dropout, 1, 2).words(sum(counts))
    assert [w for part in parts for w in part.tolist()] == whole.tolist()


def test_distributions() -> None:
    """Kolmogorov-Smirnov and chi-square at 1e-6."""
    n = 20_000
    assert scipy.stats.kstest(RandomStream(1, Purpose.speed).uniform(n), "uniform").pvalue > 1e-6
    assert scipy.stats.kstest(RandomStream(2, Purpose.speed).normal(n), "norm").pvalue > 1e-6
    assert scipy.stats.kstest(RandomStream(3, Purpose.speed).exponential(n), "expon").pvalue > 1e-6
    stream = RandomStream(4, Purpose.speed)  # 3 * 2^30: without rejection multiples of 3 would be twice as likely
    residues = np.bincount([stream.below(3 << 30) % 3 for _ in range(n)], minlength=3)
    assert scipy.stats.chisquare(residues).pvalue > 1e-6
    first = np.bincount([RandomStream(5, Purpose.speed, client).permutation(5)[0] for client in range(5000)], minlength=5)
    assert scipy.stats.chisquare(first).pvalue > 1e-6


def test_portable_functions() -> None:
    grid = np.concatenate([np.linspace(-745, 709.7, 3001), [0.0, 1e-300, -1e-17]])
    for x in grid.tolist():
        assert _core.portable_exp(x) == pytest.approx(math.exp(x), rel=5e-16, abs=1e-323)
        y = math.exp(x)
        if y > 0:
            assert _core.portable_log(y) == pytest.approx(math.log(y), rel=5e-16, abs=1e-323)
    assert _core.portable_log(0.0) == -math.inf
    assert _core.portable_exp(710.0) == math.inf
    assert math.isnan(_core.portable_log(-1.0))


def test_refused() -> None:
    stream = RandomStream(0, Purpose.speed)
    with pytest.raises(ValueError, match="n: must be >= 1, got 0"):
        stream.below(0)
    for draw in (stream.words, stream.uniform, stream.normal, stream.exponential):
        with pytest.raises(ValueError, match="count: must be >= 0, got -1"):
            draw(-1)
    with pytest.raises(ValueError, match="a client needs at least one example, got 0"):
        draw_batches(0, 0, 0, 0, 1, 1)
    with pytest.raises(ValueError, match="batch_size must be >= 1, got 0"):
        draw_batches(0, 0, 0, 1, 0, 1)
    for arguments in ((-1, Purpose.speed), (2**64, Purpose.speed), (0, 1), (0, Purpose.speed, -1), (0, Purpose.speed, 0, 2**32)):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            RandomStream(*arguments)


def test_first_draws_of_all_clients_are_those_of_their_streams() -> None:
    streams = [RandomStream(7, Purpose.speed, client, 5) for client in range(50)]
    whole, after = draw_below_per_client(7, Purpose.speed, 50, 5, 86)
    assert whole.tolist() == [stream.below(86) for stream in streams]
    assert after.tolist() == [float(stream.uniform(1)[0]) for stream in streams]
    assert draw_per_client(7, Purpose.speed, 50, 5)[3] == RandomStream(7, Purpose.speed, 3, 5).uniform(1)[0]
    with pytest.raises(ValueError, match="n: must be >= 1, got 0"):
        draw_below_per_client(7, Purpose.speed, 50, 5, 0)
