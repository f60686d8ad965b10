use super::{format, is_enough};
use crate::options::{Comments, Format, Options};

fn found(start: &[u8]) -> String {
    format(start, &Options::default()).unwrap_err()
}

#[test]
fn fasta_is_fasta_after_a_mark_or_blank_lines() {
    for start in [&b">a\nAC"[..], b"\xEF\xBB\xBF>a\n", b"\n\n>a\n", b"\n\n"] {
        assert_eq!(format(start, &Options::default()), Ok(Format::Fasta));
    }
}

#[test]
fn fastq_is_fastq_unless_it_is_sam() {
    for start in [&b"@a\nAC"[..], b"\xEF\xBB\xBF@HD\n", b"\r\n@SQ \n"] {
        assert_eq!(format(start, &Options::default()), Ok(Format::Fastq));
    }
    assert!(found(b"@SQ\tSN:a").contains("SAM"));
}

#[test]
fn comments_are_fasta_where_they_are_left_out() {
    let options = Options {
        comments: Comments::Skip,
        ..Options::default()
    };
    assert_eq!(format(b"; x\n>a", &options), Ok(Format::Fasta));
    assert_eq!(format(b"# x\n>a", &options), Ok(Format::Fasta));
}

#[test]
fn a_format_that_was_not_asked_for_is_an_objection() {
    let options = |format| Options {
        format: Some(format),
        ..Options::default()
    };
    for (start, wanted, message) in [
        (b"@a", Format::Fasta, "expected FASTA, found FASTQ"),
        (b">a", Format::Fastq, "expected FASTQ, found FASTA"),
    ] {
        assert_eq!(format(start, &options(wanted)), Err(message.into()));
    }
}

#[test]
fn a_beginning_that_may_be_anything_is_not_enough() {
    for start in [&b""[..], b"\n", b"@HD", b"\xEF\xBB", b"BA"] {
        assert!(!is_enough(start), "{start:?}");
    }
    assert!(is_enough(b"\n>") && is_enough(b"@HD\t"));
}

#[test]
fn what_a_file_is_instead_is_named() {
    let tar = [&[b'x'; 257][..], b"ustar\x0000"].concat();
    for (start, name) in [
        (&b"\xFD7zXZ\0\0\x04"[..], "xz data"),
        (b"\x28\xB5\x2F\xFD\x04", "zstd data"),
        (b"BZh91AY", "bzip2 data"),
        (b"PK\x03\x04\x14", "a zip archive"),
        (b"\x89PNG\r\n\x1A\n\0", "a PNG picture"),
        (b"\xFF\xD8\xFF\xE0", "a JPEG picture"),
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
        (b"ACGTACGTACGTACGTACGTACGT\n", "letters without a header"),
        (b"id\tlabel\nx\t1\n", "text that begins with \"id\\tlabel\""),
        (b"\x01\x02\x03\0\0", "binary data"),
        (b"", "the file is empty"),
    ] {
        assert!(found(start).contains(name), "{}", found(start));
    }
}
