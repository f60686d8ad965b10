"""Phenotypes are joined to samples, and their codes are decoded."""

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import seqloom as sl

PLINK_DATA_FOLDER = Path(os.environ.get("SEQLOOM_DATA", "/nowhere")) / "plink"
needs_data = pytest.mark.skipif(
    not PLINK_DATA_FOLDER.is_dir(), reason="SEQLOOM_DATA is not set"
)
SAMPLE_IDS = ["i1", "i2", "i3", "i4"]


@pytest.fixture
def four(write_bed):
    """A .bed with four individuals, of the families f1 to f4."""

    def write(iids=SAMPLE_IDS, **properties):
        fids = [f"f{i + 1}" for i in range(len(iids))]
        return write_bed(len(iids), 3, fid=fids, iid=iids, **properties).path

    return write


@pytest.fixture
def table(tmp_path):
    def write(text, name="a.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def labelled(path, phenotype, **options):
    covariates = options.pop("covariates", None)
    labels = sl.data.Labels(phenotype, **options)
    data = sl.data.GenotypeDataset(path, labels, covariates)
    return dict(zip(data.ids, data.labels.tolist(), strict=True)), data


PHENOTYPE_OF_ID = {"i1": 0.5, "i2": 1.5, "i3": 2.5, "i4": 3.5}


@pytest.mark.parametrize(
    "text",
    [
        "FID IID Y\nf4 i4 3.5\nf1 i1 0.5\nf2 i2 1.5\nf3 i3 2.5\n",
        "#FID\tIID\tY\nf4\ti4\t3.5\nf1\ti1\t0.5\nf2\ti2\t1.5\nf3\ti3\t2.5\n",
        "iid,Y\ni4,3.5\ni1,0.5\ni2,1.5\ni3,2.5\n",
        "#IID\tY\ni4\t3.5\ni1\t0.5\ni2\t1.5\ni3\t2.5\n",
        "f4 i4 3.5\nf1 i1 0.5\nf2 i2 1.5\nf3 i3 2.5\n",
        "  f4   i4  3.5\r\nf1 i1 0.5\r\n\r\nf2 i2 1.5\r\nf3 i3 2.5",
        "i4 3.5\ni1 0.5\ni2 1.5\ni3 2.5\n",
        "# made by me\n#\n#IID\tY\ni4\t3.5\ni1\t0.5\ni2\t1.5\ni3\t2.5\n",
        "# made by me\n# FID,IID,Y\nf4,i4,3.5\nf1,i1,0.5\nf2,i2,1.5\nf3,i3,2.5\n",
    ],
)
def test_phenotype_tables_with_and_without_a_header_are_joined(four, table, text):
    found, data = labelled(four(), table(text))
    assert found == PHENOTYPE_OF_ID
    assert (data.task, len(data.classes)) == ("regress", 1)


@pytest.mark.parametrize(
    "phenotype",
    [
        PHENOTYPE_OF_ID,
        {(f"f{name[1]}", name): value for name, value in PHENOTYPE_OF_ID.items()},
        np.array(list(PHENOTYPE_OF_ID.values())),
    ],
)
def test_phenotypes_in_dicts_and_arrays_are_joined(four, phenotype):
    assert labelled(four(), phenotype)[0] == PHENOTYPE_OF_ID


def test_a_phenotype_table_with_fid_and_iid_is_joined_by_fid_and_iid(four, table):
    path = four(["x", "x", "y", "y"])
    text = "FID IID Y\nf2 x 0.5\nf1 x 1.5\nf4 y 2.5\nf3 y 3.5\n"
    assert labelled(path, table(text))[0] == {
        "f1:x": 1.5,
        "f2:x": 0.5,
        "f3:y": 3.5,
        "f4:y": 2.5,
    }


def test_phenotypes_joined_by_iid_alone_need_unique_iids(four, table):
    with pytest.raises(sl.errors.LabelError, match=r"'x' occurs twice.*FID and IID"):
        labelled(four(["x", "x", "y", "z"]), table("IID Y\nx 1.5\ny 2.5\nz 3\n"))


def test_individuals_with_equal_fid_and_iid_cannot_be_labelled(write_bed):
    path = write_bed(2, 3, fid=["f", "f"], iid=["i", "i"]).path
    with pytest.raises(sl.errors.LabelError, match="'f i' occurs twice"):
        sl.data.GenotypeDataset(path, np.array([0.5, 1.5]))


def test_several_phenotype_columns_need_the_option_label_column(four, table):
    path = table("FID IID Y1 Y2\n" + "".join(f"f{i} i{i} {i}.5 {i}\n" for i in range(1, 5)))
    with pytest.raises(sl.errors.LabelError, match="Y1, Y2: choose with label_column"):
        sl.data.GenotypeDataset(four(), path)
    assert labelled(four(), path, label_column="Y2", task="regress")[0]["i3"] == 3
    both = sl.data.GenotypeDataset(
        four(), sl.data.Labels(path, label_column=("Y2", "Y1"), task="regress")
    )
    assert both.classes == ("Y2", "Y1")
    np.testing.assert_array_equal(both.labels[1], [2, 2.5])


def test_the_id_column_of_a_phenotype_table_can_be_chosen(four, table):
    path = table("who\tY\n" + "".join(f"i{i}\t{i}.5\n" for i in range(1, 5)))
    assert labelled(four(), path, id_column="who")[0]["i2"] == 2.5


def test_contradictory_phenotypes_of_one_sample_are_an_error(four, table):
    path = table("IID Y\ni1 0.5\ni2 1.5\ni3 1.5\ni4 1.5\ni1 0.7\n")
    with pytest.raises(
        sl.errors.LabelError, match=r"line 6: id 'i1' has '0.7', but .*line 2"
    ):
        sl.data.GenotypeDataset(four(), path)


def test_a_sample_without_a_phenotype_row_is_an_error_or_skipped(four):
    some = {"i2": 0.5, "i4": 1.5, "j": 1, "k": 2, "l": 3, "m": 4}
    with pytest.raises(sl.errors.LabelError, match=r"2 of 4 samples have no row.*i1, i3"):
        labelled(four(), some)
    found, data = labelled(four(), some, unlabelled="skip")
    assert found == {"i2": 0.5, "i4": 1.5}
    assert (data.report["unlabelled"], data.report["unlabelled_examples"]) == (
        2,
        ["i1", "i3"],
    )
    assert data.report["labels_without_sample"] == 4
    assert data.report["labels_without_sample_examples"] == ["j", "k", "l"]
    assert data.unmatched == ("j", "k", "l", "m")


@pytest.mark.parametrize("mark", ["NA", "na", "-9", "-9.000", "nan", "NaN"])
def test_a_sample_with_a_missing_phenotype_is_skipped(four, table, mark):
    path = table(f"IID,Y\ni1,0.5\ni2,{mark}\ni3,\ni4,1.5\n")
    found, data = labelled(four(), path)
    assert found == {"i1": 0.5, "i4": 1.5}
    assert data.report["missing_labels_examples"] == ["i2", "i3"]


def test_the_codes_of_missing_phenotypes_can_be_chosen(four):
    numbers = {"i1": -9, "i2": 99, "i3": 1.5, "i4": 2.5}
    found = labelled(four(), numbers, missing=("99",))[0]
    assert found == {"i1": -9, "i3": 1.5, "i4": 2.5}


@pytest.mark.parametrize(
    ("values", "coding", "expected"),
    [
        ("1 2 2 1", "auto", [0, 1, 1, 0]),
        ("1.0 2.0 2 1", "auto", [0, 1, 1, 0]),
        ("0 1 1 0", "auto", [0, 1, 1, 0]),
        ("1 2 -9 2", "auto", [0, 1, 1]),
        ("1 2 0 2", "12", [0, 1, 1]),
        ("0 1 -9 1", "01", [0, 1, 1]),
        ("1 1 2 2", "12", [0, 0, 1, 1]),
    ],
)
def test_controls_and_cases_are_decoded_by_plink_coding(four, values, coding, expected):
    numbers = dict(zip(SAMPLE_IDS, values.split(), strict=True))
    data = sl.data.GenotypeDataset(four(), sl.data.Labels(numbers, coding=coding))
    assert data.classes == ("control", "case")
    assert data.labels.tolist() == expected
    assert data.class_counts == {
        "control": expected.count(0),
        "case": expected.count(1),
    }


@pytest.mark.parametrize("values", ["0 1 2 1", "0 2 2 0", "0 1 2 -9"])
def test_phenotypes_with_both_zero_and_two_are_ambiguous(four, values):
    numbers = dict(zip(SAMPLE_IDS, values.split(), strict=True))
    with pytest.raises(sl.errors.LabelError, match='coding="12"'):
        sl.data.GenotypeDataset(four(), numbers)


def test_a_phenotype_other_than_a_control_or_case_code_is_an_error(four):
    with pytest.raises(sl.errors.LabelError, match="coding=\"01\" has no meaning for '2'"):
        labelled(
            four(), dict(zip(SAMPLE_IDS, ["0", "1", "2", "1"], strict=True)), coding="01"
        )
    with pytest.raises(ValueError, match='coding must be "auto", "01" or "12", got'):
        labelled(four(), PHENOTYPE_OF_ID, coding="case")
    with pytest.raises(ValueError, match="leave it out for task"):
        labelled(four(), PHENOTYPE_OF_ID, coding="12", task="regress")


def test_phenotypes_that_look_like_case_codes_can_be_read_as_numbers(four):
    numbers = dict(zip(SAMPLE_IDS, ["0", "1", "2", "1"], strict=True))
    assert labelled(four(), numbers, task="regress")[0]["i3"] == 2


def test_phenotypes_that_are_words_are_classes(four):
    colours = dict(zip(SAMPLE_IDS, ["red", "blue", "red", "green"], strict=True))
    assert sl.data.GenotypeDataset(four(), colours).classes == ("blue", "green", "red")
    given = sl.data.GenotypeDataset(
        four(), sl.data.Labels(colours, classes=("red", "green", "blue"))
    )
    assert given.labels.tolist() == [0, 2, 0, 1]


def test_the_sixth_fam_column_is_the_default_phenotype(four):
    data = sl.data.GenotypeDataset(four(pheno=["1", "2", "-9", "2"]))
    assert (data.ids, data.labels.tolist()) == (["i1", "i2", "i4"], [0, 1, 1])
    assert data.report["missing_labels"] == 1


@pytest.mark.parametrize("column", ["0 1 1 0", "0 1 -9 1", "0 1 NA 1"])
def test_phenotypes_0_and_1_in_a_fam_cause_a_warning(four, column):
    path = four(pheno=column.split())
    with pytest.warns(sl.errors.DataWarning, match=r"PLINK reads 0 as missing") as caught:
        data = sl.data.GenotypeDataset(path)
    assert data.classes == ("control", "case")
    assert f"0 ({column.split().count('0')} samples)" in str(caught[0].message)
    assert [it.filename for it in caught] == [__file__]


def test_an_explicit_coding_of_cases_causes_no_warning(four):
    path = four(pheno=["0", "1", "1", "0"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = sl.data.Labels(coding="01"), sl.data.Labels(coding="12")
        assert sl.data.GenotypeDataset(path, one).labels.tolist() == [0, 1, 1, 0]
        assert sl.data.GenotypeDataset(path, two).ids == ["i2", "i3"]
        numbers = dict(zip(SAMPLE_IDS, "0110", strict=True))
        assert sl.data.GenotypeDataset(path, numbers).labels.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("mark", ["N/A", "None", "null", ".", "?", "#N/A", "<NA>"])
def test_a_phenotype_class_that_looks_missing_causes_a_warning(four, mark):
    states = dict(zip(SAMPLE_IDS, ["well", "ill", mark, "ill"], strict=True))
    path, text = four(), f"'{re.escape(mark)}' looks like a missing value"
    with pytest.warns(sl.errors.DataWarning, match=text) as caught:
        data = sl.data.GenotypeDataset(path, states)
    assert (mark in data.classes, caught[0].filename) == (True, __file__)
    data = sl.data.GenotypeDataset(path, sl.data.Labels(states, missing=("NA", mark)))
    assert (data.ids, data.classes) == (["i1", "i2", "i4"], ("ill", "well"))


@pytest.mark.parametrize("values", ["1 2 -99 2", "0 1 -1 1"])
def test_a_negative_number_among_control_and_case_causes_a_warning(four, values):
    numbers = dict(zip(SAMPLE_IDS, values.split(), strict=True))
    mark = values.split()[2]
    with pytest.warns(sl.errors.DataWarning, match=f"'{mark}' looks like a missing value"):
        assert sl.data.GenotypeDataset(four(), numbers).task == "regress"
    data = sl.data.GenotypeDataset(four(), sl.data.Labels(numbers, missing=mark))
    assert data.classes == ("control", "case")


def test_numeric_phenotypes_cause_no_warning_about_missing_values(four):
    for values in ("1 2 3 2", "-1 0 1 2", "-1.5 -99 2 4", "-99 2 1.5 1"):
        numbers = dict(zip(SAMPLE_IDS, values.split(), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sl.data.GenotypeDataset(four(), numbers).task == "regress"


@pytest.mark.parametrize("column", ["0", "-9", "1", "NA"])
def test_a_constant_phenotype_column_in_a_fam_is_ignored(four, column):
    data = sl.data.GenotypeDataset(four(pheno=[column] * 4))
    assert (len(data), data.labels, data.task) == (4, None, None)


def test_the_option_labels_false_ignores_the_phenotype_in_the_fam(four):
    data = sl.data.GenotypeDataset(four(pheno=["1", "2", "-9", "2"]), labels=False)
    assert (len(data), data.labels) == (4, None)


def test_the_error_for_a_missing_covariate_names_the_sample(four, table):
    path = table("IID age\ni1 30\ni2 NA\ni3 50\n")
    with pytest.raises(sl.errors.LabelError, match="2 samples lack a covariate: i2, i4"):
        sl.data.GenotypeDataset(four(), labels=False, covariates=path)
    data = sl.data.GenotypeDataset(
        four(), labels=False, covariates=path, missing_covariates="mean"
    )
    np.testing.assert_array_equal(data.to_numpy()["covariates"][:, 0], [-1, 0, 1, 0])
    assert data.report["missing_covariates"] == 2


def test_the_error_for_a_covariate_of_words_has_a_remedy(four, table):
    path = table("IID age sex\ni1 30 m\ni2 40 f\ni3 50 m\ni4 60 f\n")
    with pytest.raises(sl.errors.LabelError, match="'sex' of 'i1' is 'm', expected a num"):
        sl.data.GenotypeDataset(four(), labels=False, covariates=path)
    data = sl.data.GenotypeDataset(
        four(), labels=False, covariates=path, covariate_columns="age"
    )
    assert data.covariate_names == ("age",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\nd e f\n", "'a b' is not an individual of .*: expected a header with IID"),
        ("FID IID\nf1 i1\n", "expected a column of values"),
        ("FID Y\nf1 1\n", "has no column IID"),
        ("IID Y\ni1 1 2\n", "line 2: expected 2 cells, found 3"),
    ],
)
def test_the_error_for_an_invalid_phenotype_table_names_the_expected_format(
    four, table, text, message
):
    with pytest.raises(ValueError, match=message):
        sl.data.GenotypeDataset(four(), table(text))


def test_an_invalid_phenotype_argument_is_rejected(four):
    with pytest.raises(ValueError, match="phenotypes must be paths"):
        sl.data.GenotypeDataset(four(), 1.5)
    with pytest.raises(ValueError, match="a row for each of the 4 individuals"):
        sl.data.GenotypeDataset(four(), np.zeros(3))


@needs_data
def test_phenotype_files_of_regenie_are_joined():
    data = sl.data.GenotypeDataset(
        PLINK_DATA_FOLDER / "example.bed",
        sl.data.Labels(PLINK_DATA_FOLDER / "phenotype_bin_wNA.txt", label_column="Y1"),
        PLINK_DATA_FOLDER / "covariates.txt",
    )
    lines = (PLINK_DATA_FOLDER / "phenotype_bin_wNA.txt").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    expected = {row[1]: int(row[2]) for row in rows if row[2] != "NA"}
    found = dict(zip(data.ids, data.labels.tolist(), strict=True))
    assert found == expected
    assert data.report["missing_labels"] == 500 - len(expected)
    assert data.covariate_names == ("V1", "V2", "V3")


HEADERLESS_TABLE = "f1 i1 0.5 7\nf2 i2 1.5 8\nf3 i3 2.5 9\nf4 i4 3.5 7.5\n"


def test_a_phenotype_column_without_a_name_is_chosen_by_its_number(four, table):
    data = sl.data.GenotypeDataset(
        four(), sl.data.Labels(table(HEADERLESS_TABLE), label_column="phenotype2")
    )
    assert (data.labels.tolist(), data.classes) == ([7, 8, 9, 7.5], ("phenotype2",))
    with pytest.raises(sl.errors.LabelError, match="no column 'phenotype3'"):
        sl.data.GenotypeDataset(
            four(), sl.data.Labels(table(HEADERLESS_TABLE), label_column="phenotype3")
        )


def test_duplicate_column_names_of_phenotypes_are_an_error(four):
    rows = [[f"f{i}", f"i{i}", 1.0, 2.0] for i in range(4)]
    frame = pd.DataFrame(rows, columns=["FID", "IID", "age", "age"])
    with pytest.raises(sl.errors.LabelError, match="columns are named 'age'"):
        sl.data.GenotypeDataset(four(), covariates=frame)
    with pytest.raises(sl.errors.LabelError, match="columns are named 'age'"):
        sl.data.GenotypeDataset(four(), sl.data.Labels(frame, label_column="age"))


def test_duplicate_covariate_names_are_rejected(four, table):
    named = table("FID IID A A\n" + HEADERLESS_TABLE)
    with pytest.raises(sl.errors.LabelError, match="2 columns are named 'A'"):
        sl.data.GenotypeDataset(four(), covariates=named)
    with pytest.raises(sl.errors.LabelError, match="2 columns are named 'A'"):
        sl.data.GenotypeDataset(four(), covariates=named, covariate_columns=["A"])


def test_covariates_that_match_no_sample_are_an_error(four, table):
    others = table("FID IID A B\n" + HEADERLESS_TABLE.replace("i", "j"))
    with pytest.raises(sl.errors.LabelError, match=r"found f1:j1, .* expected i1, i2"):
        sl.data.GenotypeDataset(four(), covariates=others, missing_covariates="mean")


def test_a_covariate_beyond_the_range_of_float32_is_an_error(four):
    ages = dict.fromkeys(SAMPLE_IDS, 1.0) | {"i2": 1e300}
    with pytest.raises(sl.errors.LabelError, match=r"'1e\+300', expected a number"):
        sl.data.GenotypeDataset(four(), covariates=ages)


def test_the_option_missing_accepts_a_single_string(four):
    found, data = labelled(four(), PHENOTYPE_OF_ID | {"i2": "NA"}, missing="NA")
    assert (list(found), data.task) == (["i1", "i3", "i4"], "regress")


@pytest.mark.parametrize("phenotype", [3, True])
def test_the_error_for_an_invalid_phenotype_shows_its_value(four, phenotype):
    with pytest.raises(sl.errors.ArgumentError, match=f"got {phenotype}"):
        sl.data.GenotypeDataset(four(), phenotype)


def test_the_error_for_a_binary_phenotype_file_is_short(four, table):
    with pytest.raises(sl.errors.LabelError, match="is not an individual of") as caught:
        sl.data.GenotypeDataset(four(), table("x" * 5000 + " y\n"))
    assert len(str(caught.value)) < 500


def test_the_error_for_a_word_among_numeric_phenotypes_has_a_remedy(write_bed):
    path = write_bed(3, 2).path
    labels = {"iid1": "1.5", "iid2": "N/A", "iid3": "2"}
    with pytest.raises(sl.errors.LabelError, match=r"'N/A'; if these mark missing values"):
        sl.data.GenotypeDataset(path, labels)
    data = sl.data.GenotypeDataset(path, sl.data.Labels(labels, missing=("NA", "N/A")))
    assert data.labels.tolist() == [1.5, 2.0]


MISSING_VALUES = [None, float("nan"), pd.NA, "NA", "nan", "", "-9"]


@pytest.mark.parametrize("mark", MISSING_VALUES, ids=repr)
@pytest.mark.parametrize("kind", ["dict", "array", "series", "frame", "table"])
def test_a_missing_phenotype_in_memory_is_skipped_and_counted(four, table, mark, kind):
    rows = PHENOTYPE_OF_ID | {"i2": mark}
    text = "".join(f"f{n[1]}\t{n}\t{'NA' if v is pd.NA else v}\n" for n, v in rows.items())
    phenotype = {
        "dict": lambda: rows,
        "array": lambda: np.array(list(rows.values()), object),
        "series": lambda: pd.Series(rows, dtype=object),
        "frame": lambda: pd.DataFrame({"IID": list(rows), "Y": list(rows.values())}),
        "table": lambda: table(text.replace("None", "NA")),
    }[kind]()
    found, data = labelled(four(), phenotype)
    assert found == {name: PHENOTYPE_OF_ID[name] for name in ("i1", "i3", "i4")}
    assert (data.task, data.report["missing_labels"]) == ("regress", 1)
    assert data.report["missing_labels_examples"] == ["i2"]


@pytest.mark.parametrize("word", ["1,25", ".", "unknown"])
@pytest.mark.parametrize("number", ["1.5", "1"])
def test_a_malformed_number_among_phenotypes_is_an_error(four, word, number):
    labels = {"i1": number, "i2": word, "i3": "2", "i4": number}
    with pytest.raises(sl.errors.LabelError, match=f"some are not: '{word}'"):
        sl.data.GenotypeDataset(four(), labels)
    with pytest.raises(sl.errors.LabelError, match=r"decimal comma.*write a point"):
        sl.data.GenotypeDataset(four(), dict.fromkeys(SAMPLE_IDS, "1,25") | {"i2": "1,5"})


DATA_FRAME_CLASSES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "rows": lambda columns: pd.DataFrame(columns).set_index("IID").drop(columns="FID"),
}


@pytest.mark.parametrize("frame", DATA_FRAME_CLASSES)
def test_phenotypes_and_covariates_may_be_data_frames(four, frame):
    order = ["i3", "i1", "i4", "i2"]
    columns = {
        "FID": [f"f{name[1]}" for name in order],
        "IID": order,
        "Y": [PHENOTYPE_OF_ID[name] for name in order],
        "age": [30, 50, 40, 60],
    }
    table = DATA_FRAME_CLASSES[frame](columns)
    data = sl.data.GenotypeDataset(
        four(), sl.data.Labels(table, label_column="Y"), table, covariate_columns=["age"]
    )
    assert dict(zip(data.ids, data.labels.tolist(), strict=True)) == PHENOTYPE_OF_ID
    ages = np.array([50, 60, 30, 40])
    expected = (ages - ages.mean()) / ages.std()
    np.testing.assert_allclose(data.to_numpy()["covariates"][:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["list", "numpy", "pandas", "polars"])
def test_phenotypes_and_covariates_may_be_arrays_in_fam_order(four, kind):
    make = {"list": list, "numpy": np.array, "pandas": pd.Series, "polars": pl.Series}[kind]
    values = make(list(PHENOTYPE_OF_ID.values()))
    found, data = labelled(four(), values, covariates=values)
    assert found == PHENOTYPE_OF_ID
    assert (data.covariate_names, data.report["missing_covariates"]) == (("covariate",), 0)


def test_a_data_frame_of_phenotypes_without_ids_is_an_error(four):
    with pytest.raises(sl.errors.LabelError, match=r"the DataFrame: .*no column IID"):
        sl.data.GenotypeDataset(four(), pd.DataFrame({"Y": [1.5, 2, 3, 4]}))


@pytest.mark.parametrize("name", ["labels", "covariates"])
def test_an_iid_with_two_phenotypes_in_a_series_is_an_error(four, name):
    given: dict[str, Any] = {
        name: pd.Series([0.5, 1.5, 2.5, 3.5, 9], index=[*SAMPLE_IDS, "i1"])
    }
    with pytest.raises(sl.errors.LabelError, match=r"id 'i1' has '9\.0'"):
        sl.data.GenotypeDataset(four(), **given)


def test_phenotype_columns_have_the_order_of_the_option_classes(four):
    frame = pd.DataFrame({"IID": SAMPLE_IDS, "p": [1.5, 2, 3, 4], "q": [5.5, 6, 7, 8]})
    data = sl.data.GenotypeDataset(
        four(),
        sl.data.Labels(frame, label_column=["q", "p"], classes=["p", "q"], task="regress"),
    )
    np.testing.assert_array_equal(data.labels, frame[["p", "q"]].to_numpy())


@pytest.mark.parametrize(
    ("options", "message"),
    [({"classes": 3}, "classes must be"), ({"missing": b"NA"}, "missing must be")],
)
def test_invalid_phenotype_column_names_are_an_error(four, options, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        sl.data.GenotypeDataset(four(), sl.data.Labels(**options))


def test_a_list_of_strings_as_phenotypes_is_an_error_with_a_remedy(four):
    with pytest.raises(
        sl.errors.MissingFileError, match=r"phenotypes in record order .*array"
    ):
        sl.data.GenotypeDataset(four(), ["ca", "co", "ca", "co"])


@pytest.mark.parametrize("cell", ["1_000", "\u0661"])
def test_non_ascii_digits_in_phenotypes_are_not_numbers(four, tmp_path, cell):
    rows = [
        f"{name},{value}" for name, value in zip(SAMPLE_IDS, [0.5, cell, 2, 3], strict=True)
    ]
    (tmp_path / "y.csv").write_text("\n".join(["IID,Y", *rows]))
    with pytest.raises(
        sl.errors.LabelError, match="some labels are numbers and some are not"
    ):
        sl.data.GenotypeDataset(four(), tmp_path / "y.csv")
    with pytest.raises(sl.errors.LabelError, match="expected a number"):
        sl.data.GenotypeDataset(four(), covariates=tmp_path / "y.csv")


def test_a_list_as_the_phenotype_of_one_sample_is_an_error(four):
    frame = pd.DataFrame({"IID": SAMPLE_IDS, "p": [[0.5, 1], [1, 2], [2, 3], [3, 4]]})
    with pytest.raises(sl.errors.LabelError, match="expected one value"):
        sl.data.GenotypeDataset(four(), frame)


PHENOTYPE_TABLE = "IID,Y\n" + "".join(
    f"{name},{i}.5\n" for i, name in enumerate(SAMPLE_IDS)
)
TABLES_BY_TEXT_ENCODING = {
    "mark of UTF-8": "\ufeff" + PHENOTYPE_TABLE,
    "Windows": PHENOTYPE_TABLE.replace("\n", "\r\n"),
    "blanks": PHENOTYPE_TABLE.replace("\n", " \n"),
    "last lines": PHENOTYPE_TABLE + "\n  \n",
    "separators alone": PHENOTYPE_TABLE + ",\n",
    "quotes": PHENOTYPE_TABLE.replace(",", ', "').replace("\n", '"\n'),
    "a row again": PHENOTYPE_TABLE + f"{SAMPLE_IDS[0]},0.5\n",
}


@pytest.mark.parametrize("how", TABLES_BY_TEXT_ENCODING)
def test_a_phenotype_table_may_have_any_encoding_and_line_ending(four, tmp_path, how):
    (tmp_path / "y.csv").write_text(TABLES_BY_TEXT_ENCODING[how], newline="")
    data = sl.data.GenotypeDataset(four(), tmp_path / "y.csv")
    assert data.labels.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert data.report["labels_without_sample"] == 0


@pytest.mark.parametrize("kind", ["csv", "frame", "dict", "series"])
def test_a_phenotype_without_an_id_is_an_error(four, tmp_path, kind):
    (tmp_path / "y.csv").write_text(PHENOTYPE_TABLE + ",4.5\n")
    ids, numbers = [*SAMPLE_IDS, None], [0.5, 1.5, 2.5, 3.5, 4.5]
    given = {
        "csv": tmp_path / "y.csv",
        "frame": pd.DataFrame({"IID": ids, "Y": numbers}),
        "dict": dict(zip(ids, numbers, strict=True)),
        "series": pd.Series(numbers, index=ids),
    }[kind]
    with pytest.raises((sl.errors.FormatError, sl.errors.LabelError), match="an id"):
        sl.data.GenotypeDataset(four(), given)


@pytest.mark.parametrize("unlabelled", ["error", "skip"])
def test_an_empty_phenotype_table_is_an_error(four, tmp_path, unlabelled):
    (tmp_path / "y.csv").write_text("IID,Y\n")
    with pytest.raises(sl.errors.LabelError, match="4 of 4 samples have no row"):
        sl.data.GenotypeDataset(
            four(), sl.data.Labels(tmp_path / "y.csv", unlabelled=unlabelled)
        )


@pytest.mark.parametrize("kind", ["series", "frame", "floats", "both ids"])
def test_phenotypes_are_joined_by_an_integer_index(four, kind):
    path = four(["1001", "1002", "1003", "1004"])
    values = pd.Series({1003: 2.5, 1001: 0.5, 1004: 3.5, 1002: 1.5}, name="Y")
    both = pd.MultiIndex.from_tuples([(f"f{key - 1000}", key) for key in values.index])
    given = {
        "series": values,
        "frame": values.to_frame(),
        "floats": values.set_axis(values.index.astype(float)),
        "both ids": values.set_axis(both),
    }[kind]
    found, data = labelled(path, given, covariates=given)
    assert found == {"1001": 0.5, "1002": 1.5, "1003": 2.5, "1004": 3.5}
    assert (
        data[2]["covariates"].tolist()
        == sl.data.GenotypeDataset(
            path, [0.5, 1.5, 2.5, 3.5], covariates=[0.5, 1.5, 2.5, 3.5]
        )[2]["covariates"].tolist()
    )


def test_phenotypes_whose_index_matches_no_sample_are_an_error(four):
    values = pd.Series([0.5, 1.5, 2.5, 3.5, 4.5]).drop(1)
    with pytest.raises(sl.errors.LabelError, match="its ids are '0', '2', '3'"):
        sl.data.GenotypeDataset(four(), values)
    with pytest.raises(sl.errors.LabelError, match="found 0, 2, 3"):
        sl.data.GenotypeDataset(four(), covariates=values)


TABLES_WITH_MIXED_SEPARATORS = {
    "header": "FID IID\tY\nf1 i1\t0.5\nf2 i2\t1.5\nf3 i3\t2.5\nf4\ti4 3.5\n",
    "blanks last": "FID\tIID Y\nf1\ti1 0.5\nf2 i2\t1.5\nf3 i3\t2.5\nf4\ti4 3.5\n",
    "no header": "f1 i1\t0.5\nf2 i2\t1.5\nf3 i3\t2.5\nf4\ti4 3.5\n",
}


@pytest.mark.parametrize("how", TABLES_WITH_MIXED_SEPARATORS)
def test_a_phenotype_table_may_mix_blanks_and_tabs(four, table, how):
    assert labelled(four(), table(TABLES_WITH_MIXED_SEPARATORS[how]))[0] == PHENOTYPE_OF_ID


@pytest.mark.parametrize("words", [["True", "False"], ["true", "false"], ["TRUE", "FALSE"]])
def test_boolean_phenotypes_are_controls_and_cases_from_every_source(four, table, words):
    text = "IID,Y\n" + "".join(
        f"{name},{word}\n" for name, word in zip(SAMPLE_IDS, words * 2, strict=True)
    )
    frame = pd.DataFrame({"IID": SAMPLE_IDS, "Y": [True, False] * 2})
    path = four()
    for given in (table(text), frame):
        found, data = labelled(path, given, covariates=given)
        assert data.classes == ("control", "case")
        assert [*found.values()] == [1, 0, 1, 0]
        assert [item["covariates"].tolist() for item in data] == [
            item["covariates"].tolist()
            for item in sl.data.GenotypeDataset(path, covariates=np.array([1, 0, 1, 0]))
        ]
