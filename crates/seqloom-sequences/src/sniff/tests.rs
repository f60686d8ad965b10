use super::{ReadPurpose, describe_unsupported, detect_format, is_long_enough};
use seqloom_core::error::{Fault, FaultCause};

use crate::options::{Comments, Format, ReaderOptions};

fn description(start: &[u8]) -> String {
    detect_format(start, &ReaderOptions::default())
        .unwrap_err()
        .message
}

#[test]
fn fasta_is_detected_after_a_byte_order_mark_or_blank_lines() {
    for start in [&b">a\nAC"[..], b"\xEF\xBB\xBF>a\n", b"\n\n>a\n", b"\n\n"] {
        assert_eq!(
            detect_format(start, &ReaderOptions::default()),
            Ok(Format::Fasta)
        );
    }
}

#[test]
fn fastq_is_detected_unless_it_is_sam() {
    for start in [&b"@a\nAC"[..], b"\xEF\xBB\xBF@HD\n", b"\r\n@SQ \n"] {
        assert_eq!(
            detect_format(start, &ReaderOptions::default()),
            Ok(Format::Fastq)
        );
    }
    assert!(description(b"@SQ\tSN:a").contains("SAM"));
}

#[test]
fn text_that_begins_with_skipped_comments_is_fasta() {
    let options = ReaderOptions {
        comments: Comments::Skip,
        ..ReaderOptions::default()
    };
    assert_eq!(detect_format(b"; x\n>a", &options), Ok(Format::Fasta));
    assert_eq!(detect_format(b"# x\n>a", &options), Ok(Format::Fasta));
}

#[test]
fn a_format_that_was_not_requested_is_an_error() {
    let options = |format| ReaderOptions {
        format: Some(format),
        ..ReaderOptions::default()
    };
    for (start, wanted, message) in [
        (b"@a", Format::Fasta, "expected FASTA, found FASTQ"),
        (b">a", Format::Fastq, "expected FASTQ, found FASTA"),
    ] {
        assert_eq!(
            detect_format(start, &options(wanted)),
            Err(Fault::of_file(message))
        );
    }
}

#[test]
fn an_ambiguous_beginning_does_not_determine_the_format() {
    for start in [&b""[..], b"\n", b"@HD", b"\xEF\xBB", b"BA"] {
        assert!(!is_long_enough(start), "{start:?}");
    }
    assert!(is_long_enough(b"\n>") && is_long_enough(b"@HD\t"));
}

#[test]
fn an_error_names_the_content_of_a_file() {
    let tar = [&[b'x'; 257][..], b"ustar\x0000"].concat();
    for (start, name) in [
        (&b"\xFD7zXZ\0\0\x04"[..], "xz data"),
        (b"\x28\xB5\x2F\xFD\x04", "zstd data"),
        (b"BZh91AY", "bzip2 data"),
        (b"PK\x03\x04\x14", "a zip archive"),
        (b"\x89PNG\r\n\x1A\n\0", "a PNG image"),
        (b"\xFF\xD8\xFF\xE0", "a JPEG image"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\x89HDF\r\n\x1A\n\0", "an HDF5 file"),
        (b"PAR1\x15", "a Parquet file"),
        (b"BAM\x01\0", "BAM"),
        (b"CRAM\x03", "CRAM"),
        (b"\x6C\x1B\x01\xDC", "PLINK .bed genotypes"),
        (&tar, "a tar archive"),
        (b"LOCUS       AB1", "a GenBank flat file"),
        (b"ID   CYC_HUMAN", "an EMBL or UniProt flat file"),
        (b"##fileformat=VCFv4.2\n", "VCF"),
        (b"@HD\tVN:1.6\n", "SAM"),
        (b"chr1\t10\t20\tx\n", "BED intervals"),
        (b"<!doctype html><html>", "an HTML page"),
        (b"\xFF\xFE>\0a\0", "UTF-16 text"),
        (b"; old comment\n>a\n", "FASTA with ';' comments"),
        (b"ACGTACGTACGTACGTACGTACGT\n", "residues without a header"),
        (b"id\tlabel\nx\t1\n", "text that begins with \"id\\tlabel\""),
        (b"\x01\x02\x03\0\0", "binary data"),
        (b"", "the file is empty"),
    ] {
        assert!(description(start).contains(name), "{}", description(start));
    }
}

#[test]
fn the_cause_names_genotypes_and_intervals() {
    let cause = |start: &[u8]| {
        detect_format(start, &ReaderOptions::default())
            .unwrap_err()
            .cause
    };
    assert_eq!(cause(b"\x6C\x1B\x01\xDC"), Some(FaultCause::Genotypes));
    assert_eq!(cause(b"chr1\t10\t20\tx\n"), Some(FaultCause::Intervals));
    assert_eq!(cause(b"BAM\x01\0"), None);
}

/// Test cases: the beginning of a file, the name of its format, and some words of the
/// advice for a file of intervals.
const OTHER_FORMATS: [(&[u8], &str, &str); 14] = [
    (
        b"PK\x03\x04AAAAAAAAAAAAAAAAAAAAAAAAAA[Content_Types].xml",
        "an Excel workbook (.xlsx)",
        "save the sheet as CSV",
    ),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        "an Excel workbook (.xls)",
        "CSV",
    ),
    (
        b"#!build x\n1\th\tgene\t5\t9\t.\t+\t.\tgene_id \"G\";\n",
        "GFF or GTF",
        "$4 - 1",
    ),
    (b"##gff-version 3\n", "GFF or GTF", "$4 - 1"),
    (b"1\t100\t200\tA\tG,<DEL>\t50\tPASS\tDP=3\n", "VCF", "%POS0"),
    (b"#CHROM\tPOS\tID\tREF\tALT\n", "VCF", "%POS0"),
    (b"BAM\x01", "BAM", "bamtobed"),
    (b"CRAM\x03", "CRAM", "bamtobed"),
    (
        b"@SQ\tSN:1\tLN:9\n1\t5\t9\t+\tx\n",
        "Picard interval list",
        "$2 - 1",
    ),
    (b"\x26\xFC\x8F\x88", "bigWig", "bigWigToBedGraph"),
    (b"\xEB\xF2\x89\x87", "bigBed", "bigBedToBed"),
    (b"\x6C\x1B\x10", "PLINK 2", "genotypes"),
    (b"\x14\0\0\0AAAAAAAAAAAAbgen", "BGEN", "genotypes"),
    (b">chr1\nACGT\n", "FASTA", "other argument"),
];

#[test]
fn a_file_of_another_format_is_described_with_advice() {
    for (start, name, way) in OTHER_FORMATS {
        let described = describe_unsupported(start, ReadPurpose::Intervals).unwrap();
        assert!(
            described.contains(name) && described.contains(way),
            "{described}"
        );
    }
}

#[test]
fn tables_and_intervals_are_not_other_formats() {
    for start in [
        &b"id\tlabel\na\t1\n"[..],
        b"# made by hand\nid,label\n",
        b"ID   label\na    1\n",
        b"LOCUS label\n",
        b"CRAM,PAR1\n",
        b"chr1\t10\t20\tpeak\t900\t+\t10\t20\t0,0,0\n",
        b"chr1\t10\t20\tpeak\t900\t.\t1.5\t-1\t-1\t5\n",
        b"#CHROM\tstart\tend\n",
        b"",
    ] {
        for purpose in [ReadPurpose::Intervals, ReadPurpose::Table] {
            assert_eq!(describe_unsupported(start, purpose), None);
        }
    }
}

#[test]
fn flat_files_are_distinguished_by_their_first_line() {
    for (start, name) in [
        (
            &b"ID   CYC_HUMAN    Reviewed;    105 AA.\n"[..],
            "UniProt flat file: convert it to FASTA: python",
        ),
        (
            b"ID   X56734; SV 1; linear; mRNA; STD; PLN; 1859 BP.\n",
            "'embl'",
        ),
        (b"LOCUS       AB1  1859 bp  mRNA  linear\n", "'genbank'"),
    ] {
        assert!(description(start).contains(name), "{}", description(start));
    }
}

#[test]
fn annotation_is_recognised_even_if_comments_are_skipped() {
    let options = ReaderOptions {
        comments: Comments::Skip,
        ..ReaderOptions::default()
    };
    let gtf = b"#!genome-build x\n1\th\tgene\t5\t9\t.\t+\t.\tgene_id \"G\";\n";
    assert!(
        detect_format(gtf, &options)
            .unwrap_err()
            .message
            .contains("GFF or GTF")
    );
}
