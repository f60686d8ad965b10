"""Similar sequences, which share at least half of their k-mers, and homologous ones."""

from itertools import pairwise

import numpy as np
import pytest

import seqloom as sl
from seqloom.data._similarity import (
    KmerHashing,
    KmerSets,
    find_similar,
    group_homologous,
    group_similar,
)
from seqloom.errors import SeenRecordsWarning

COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
AMINO_ACIDS = b"ACDEFGHIKLMNPQRSTVWY"


def random_sequences(count, length, letters=b"ACGT", seed=0):
    """Random sequences of one length."""
    draw = np.random.default_rng(seed)
    rows = np.frombuffer(letters, np.uint8)[draw.integers(0, len(letters), (count, length))]
    return [row.tobytes() for row in rows]


def mutate(sequence, share, seed=0):
    """A sequence with a fraction of random bases."""
    draw, letters = np.random.default_rng(seed), np.frombuffer(sequence, np.uint8).copy()
    changed = draw.random(letters.size) < share
    letters[changed] = np.frombuffer(b"ACGT", np.uint8)[draw.integers(0, 4, changed.sum())]
    return letters.tobytes()


def kmers_of(sequence, k):
    """The k-mers of a sequence of DNA, each as the smaller one of both strands."""
    found = [sequence[it : it + k] for it in range(len(sequence) - k + 1)]
    return [min(it, it.translate(COMPLEMENT)[::-1]) for it in found]


@pytest.mark.parametrize("share", [0.01, 0.03, 0.05, 0.08])
def test_similar_sequences_share_half_of_their_kmers(share):
    known = random_sequences(200, 150)
    sequences = [mutate(it, share, seed) for seed, it in enumerate(known[:100])]
    mask, k = find_similar(sequences, known)
    sets = [set(kmers_of(sequence, k)) for sequence in known]
    expected = [
        any(len(it & other) >= 0.5 * min(len(it), len(other)) for other in sets)
        for it in (set(kmers_of(it, k)) for it in sequences)
    ]
    assert mask.tolist() == expected


def test_unrelated_sequences_are_not_similar():
    known = random_sequences(1000, 100)
    mask, _ = find_similar(random_sequences(1000, 100, seed=1), known)
    assert not mask.any()


def test_the_reverse_complement_of_dna_is_similar():
    known = random_sequences(50, 60)
    sequences = [it.translate(COMPLEMENT)[::-1] for it in known[:5]]
    assert find_similar(sequences, known)[0].all()


def test_the_reverse_of_a_protein_is_not_similar():
    known = random_sequences(50, 60, AMINO_ACIDS)
    assert not find_similar([it[::-1] for it in known], known)[0].any()


def test_rna_is_similar_to_dna_with_the_same_bases():
    known = random_sequences(50, 60)
    assert find_similar([it.replace(b"T", b"U") for it in known], known)[0].all()


def test_masked_bases_are_not_shared():
    known = [b"N" * 100 + it for it in random_sequences(20, 30)]
    sequences = [b"N" * 100 + it for it in random_sequences(20, 30, seed=1)]
    assert not find_similar(sequences, known)[0].any()


def test_a_fraction_of_the_kmers_gives_the_same_answer(monkeypatch):
    known = random_sequences(300, 200)
    sequences = [mutate(it, 0.01) for it in known[:50]] + random_sequences(50, 200, seed=1)
    expected, _ = find_similar(sequences, known)
    monkeypatch.setattr("seqloom.data._similarity._MAX_COMPARED_KMERS", 6000)
    found, _ = find_similar(sequences, known)
    assert found.tolist() == expected.tolist()
    assert KmerSets.of(KmerHashing.choose(known), known).hashes.size < 9000


@pytest.mark.parametrize("size", [16, 64])
def test_the_size_of_a_block_does_not_change_the_hashes(monkeypatch, size):
    sequences = random_sequences(20, 33)
    expected = KmerSets.of(KmerHashing.choose(sequences), sequences)
    monkeypatch.setattr("seqloom.data._similarity._BLOCK_POSITIONS", size)
    found = KmerSets.of(KmerHashing.choose(sequences), sequences)
    np.testing.assert_array_equal(found.hashes, expected.hashes)
    np.testing.assert_array_equal(found.rows, expected.rows)


def test_similar_sequences_are_in_one_group():
    first, second, third = random_sequences(3, 200)
    parts = [first[:120], second, mutate(first, 0.01), third, second[30:]]
    groups = group_similar([first, *parts])
    assert groups[0] == groups[1] == groups[3]
    assert groups[2] == groups[5]
    assert len(set(groups)) == 3


def test_groups_are_joined_by_a_sequence_that_is_similar_to_both():
    first, second = random_sequences(2, 100)
    groups = group_similar([first, second, first[:60] + second[:60]])
    assert len(set(groups)) == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_part_of_a_sequence_is_in_its_group(seed):
    first, one, other = random_sequences(3, 80, seed=seed)
    joined = [first, first[:39] + one[39:], other[:41] + first[41:], first[10:70]]
    groups = group_similar(joined)
    assert groups[0] == groups[3]


def test_a_long_sequence_is_similar_to_a_training_sequence_that_it_contains():
    known = random_sequences(20, 40)
    sequence = b"".join(random_sequences(3, 60, seed=1)) + known[4]
    assert find_similar([sequence], known)[0].all()


def test_kmers_of_several_sequences_do_not_add_up():
    known = random_sequences(20, 100)
    sequence = b"".join(it[:25] for it in known[:4])
    assert not find_similar([sequence], known)[0].any()


def test_the_case_of_bases_does_not_change_the_kmers():
    sequences = random_sequences(20, 50)
    lower = KmerHashing.choose([it.lower() for it in sequences])
    assert lower == KmerHashing.choose(sequences)


def test_an_exact_copy_shares_all_kmers_that_are_compared(monkeypatch):
    monkeypatch.setattr("seqloom.data._similarity._MAX_SEQUENCES_PER_KMER", 3)
    repeat, *others = random_sequences(9, 100)
    known = [repeat + it for it in others]
    hashing = KmerHashing.choose(known)
    sets = KmerSets.of(hashing, known)
    shares = dict[tuple[int, int], float]()
    for rows, partners, found in sets.match(sets, 0.25):
        shares |= dict(zip(zip(rows, partners, strict=True), found, strict=True))
    assert [shares[row, row] for row in range(8)] == [1] * 8


def test_variants_of_one_sequence_are_in_one_group_if_they_are_many(monkeypatch):
    monkeypatch.setattr("seqloom.data._similarity._MAX_SEQUENCES_PER_KMER", 3)
    origin = random_sequences(1, 100)[0]
    variants = [origin[:at] + b"N" + origin[at + 1 :] for at in range(40, 60)]
    assert len(set(group_homologous(variants))) == 1


def test_a_copy_of_a_sequence_without_kmers_is_similar():
    known = [b"ACGTTG", *random_sequences(5, 50)]
    assert find_similar([b"ACGTTG", b"ACGTTC"], known)[0].tolist() == [True, False]


def test_equal_short_sequences_of_both_strands_are_homologous():
    groups = group_homologous([b"AACGTTTGCAATC", b"gattgcaaacgtt", b"AACGTTTGCAATG"])
    assert groups[0] == groups[1] != groups[2]


def test_equal_sequences_shorter_than_a_kmer_are_in_one_group():
    groups = group_similar([b"AC", b"GT", b"AC", *random_sequences(5, 50)])
    assert groups[0] == groups[2] != groups[1]


def test_no_sequences_have_no_groups():
    assert group_similar([]) == []


@pytest.mark.parametrize("seed", range(5))
def test_homologous_sequences_share_a_quarter_of_their_kmers(seed):
    known = random_sequences(30, 90, seed=seed)
    shares = [0.05, 0.1, 0.15, 0.2]
    sequences = known + [mutate(it, shares[at % 4], at) for at, it in enumerate(known)]
    sequences += [first[:30] + it[:60] for first, it in pairwise(known[:8])]
    sets = [set(kmers_of(it, 12)) for it in sequences]
    groups = list(range(len(sets)))
    for one in range(len(sets)):
        for two in range(one):
            shared = len(sets[one] & sets[two])
            if shared >= 0.25 * min(len(sets[one]), len(sets[two])):
                old, new = groups[one], groups[two]
                groups = [new if it == old else it for it in groups]
    found = group_homologous(sequences)
    assert len(set(zip(groups, found, strict=True))) == len(set(groups))
    assert len(set(found)) == len(set(groups))


def test_copies_with_95_percent_identity_are_homologous_on_both_strands():
    known = random_sequences(200, 200)
    copies = [mutate(it, 0.05 * 4 / 3, at) for at, it in enumerate(known)]
    copies = [it.translate(COMPLEMENT)[::-1] for it in copies]
    found = group_homologous([*known, *copies])
    hits = sum(one == two for one, two in zip(found[:200], found[200:], strict=True))
    assert hits >= 0.95 * 200
    assert len(set(found[:200])) == 200


def test_masked_sequences_with_a_common_kmer_are_not_homologous():
    known = random_sequences(20, 60)
    masked = [it[:13] + b"N" * 60 for it in known]
    assert len(set(group_homologous([*known, *masked]))) == 40


def families(count=40, members=4):
    """A dataset of families of similar sequences with two classes."""
    texts, labels = dict[str, str](), dict[str, str]()
    for number, origin in enumerate(random_sequences(count, 60)):
        for member in range(members):
            name = f"f{number}m{member}"
            texts[name] = mutate(origin, 0.02, seed=member).decode()
            labels[name] = ["no", "yes"][number % 2]
    encoder = sl.encode.OneHot("dna")
    return sl.data.SequenceDataset(texts, labels=labels, encoder=encoder)


def family_names(data):
    """The names of the families of the records."""
    return {name.split("m")[0] for name in data.ids}


@pytest.mark.parametrize("groups", ["similar", "homology"])
def test_a_split_by_similar_separates_no_family(groups):
    data = families()
    train, test = sl.data.split(data, (0.7, 0.3), groups=groups)
    assert not family_names(train) & family_names(test)
    assert len(train) == 112


def test_folds_by_similar_separate_no_family():
    for train, valid in sl.data.folds(families(), 3, groups="similar"):
        assert not family_names(train) & family_names(valid)


def test_fit_warns_of_similar_test_records():
    data = families()
    train, test = sl.data.split(data, (0.7, 0.3), groups="sequence", seed=1)
    config = sl.models.SequenceCNNConfig.for_data(train)
    with pytest.warns(SeenRecordsWarning, match="share at least half of their"):
        run = sl.train.fit(config, train, test=test, epochs=1)
    assert any('groups="similar"' in note for note in run.report.notes)


def test_fit_does_not_warn_after_a_split_by_similar(recwarn):
    train, test = sl.data.split(families(), (0.7, 0.3), groups="similar")
    sl.train.fit(sl.models.SequenceCNNConfig.for_data(train), train, test=test, epochs=1)
    assert not [it for it in recwarn if it.category is SeenRecordsWarning]


def test_fit_does_not_warn_of_variants_of_one_sequence(recwarn):
    origin = random_sequences(1, 60)[0]
    texts = {f"r{it}": mutate(origin, 0.04, seed=it).decode() for it in range(200)}
    labels = {name: ["no", "yes"][text[5] == "A"] for name, text in texts.items()}
    labels |= {"r0": "no", "r1": "yes"}
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(texts, labels=labels, encoder=encoder)
    train, test = sl.data.split(data, (0.7, 0.3), groups="sequence")
    sl.train.fit(sl.models.SequenceCNNConfig.for_data(train), train, test=test, epochs=1)
    assert not [it for it in recwarn if it.category is SeenRecordsWarning]


def test_the_warning_without_duplicates_names_only_similar_records():
    data = families()
    train, test = sl.data.split(data, (0.7, 0.3), groups="sequence", seed=1)
    kept = [number for number, name in enumerate(test.ids) if name.endswith("m3")]
    config = sl.models.SequenceCNNConfig.for_data(train)
    with pytest.warns(SeenRecordsWarning) as warned:
        sl.train.fit(config, train, test=sl.data.Subset(test, kept), epochs=1)
    texts = [str(it.message) for it in warned if it.category is SeenRecordsWarning]
    assert "test records share at least half of their" in texts[0]
    assert "duplicate" not in texts[0]
