"""The results of augmentations equal stored results, so that training is reproducible."""

import pytest

from seqloom import Key
from seqloom.augment import (
    Compose,
    Crop,
    Mask,
    Mutate,
    QualityNoise,
    ReverseComplement,
    Shift,
    ShuffleKmers,
)

EXAMPLE_SEQUENCE = b"ACGTTGCAAGCTTCGANNACGTacgtGATTACA"
EXPECTED_SEQUENCES = {
    ReverseComplement(): b"TGTAATCacgtACGTNNTCGAAGCTTGCAACGT",
    Mutate(rate=0.2): b"TCGTTTCGAGCCGCGANNACGGtcttGATTAGA",
    Mutate(rate=0.1, insertions=0.1, deletions=0.1): b"CGTTCGAGCGCGANNCACGtcttGATTAGA",
    Mask(rate=0.2): b"NCGTTNCNAGCNNCGANNACGNNcNtGATTANA",
    Crop(10): b"TGCAAGCTTC",
    Shift(9): b"CAAGCTTCGANNACGTacgtGATTACANNNNNN",
    Shift(9, mode="roll"): b"CAAGCTTCGANNACGTacgtGATTACAACGTTG",
    ShuffleKmers(k=1): b"AgCGATCATGNTAcTTaGNtAACCGAGATTCCG",
    ShuffleKmers(k=2): b"ATCGTacgtGTTTTANNAGACACGCGCTGACAA",
    ShuffleKmers(k=3): b"ACAAGCTTACGTTCGANNACGTacgtGATTGCA",
    Compose([ReverseComplement(), Mutate(rate=0.1), Crop(20)]): b"CAAGCTTCGANNACGCaggt",
}


@pytest.mark.parametrize(("change", "expected"), EXPECTED_SEQUENCES.items(), ids=str)
def test_augmented_sequences_are_unchanged_since_the_first_release(change, expected):
    assert change(EXAMPLE_SEQUENCE, Key(7, 1, 2)) == expected


def test_quality_noise_is_unchanged_since_the_first_release():
    quality = bytes(33 + i % 8 for i in range(len(EXAMPLE_SEQUENCE)))
    assert (
        QualityNoise()(EXAMPLE_SEQUENCE, Key(7, 1, 2), quality=quality)[0]
        == b"TAATCTCGCCCCGCGANNACGGtcttGATAAGT"
    )
