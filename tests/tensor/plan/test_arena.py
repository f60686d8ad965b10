"""Memory offsets of the arrays in a compiled program."""

from hypothesis import given, strategies as st

from seqloom.tensor._compile._numpy._layout import MemorySpan, set_span_offsets

CACHE_LINE_BYTES = 64
RANDOM_INTERVALS = st.lists(
    st.tuples(st.integers(1, 500), st.integers(0, 20), st.integers(0, 20)), max_size=30
)


def intervals_of(drawn):
    """Return intervals with a size, a first step and a last step."""
    return {
        number: MemorySpan(number, nbytes, min(ends), max(ends))
        for number, (nbytes, *ends) in enumerate(drawn)
    }


def lowest_free(size, taken):
    """Find the lowest free offset by testing every multiple of a cache line."""
    offset = 0
    while any(low < offset + size and offset < end for low, end in taken):
        offset += CACHE_LINE_BYTES
    return offset


@given(RANDOM_INTERVALS)
def test_the_memory_plan_places_larger_arrays_first_at_the_lowest_offset(drawn):
    spans, done = intervals_of(drawn), []
    needed = set_span_offsets(spans)
    for span in sorted(spans.values(), key=lambda span: -span.nbytes):
        size = -(-span.nbytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
        both = [each for each in done if each[0] <= span.last and span.first <= each[1]]
        assert span.offset == lowest_free(size, [each[2:] for each in both])
        done.append((span.first, span.last, span.offset, span.offset + size))
    assert needed == max((end for *_, end in done), default=0)
