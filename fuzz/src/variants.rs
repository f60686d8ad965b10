//! Reads arbitrary bytes as VCF and BCF files and as their indexes.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use seqloom_compression::input::BufferedInput;
use seqloom_core::{Ragged, Result};
use seqloom_variants::{
    SampleChoice, VariantColumns, VariantReader, VariantReaderOptions, VariantWriter,
};

use crate::SmallReads;
use crate::choices::Choices;
use crate::scratch;

/// A header with numbers of BCF. All targets below use its names.
const HEADER: &str = "##fileformat=VCFv4.3\n\
    ##FILTER=<ID=q,IDX=1>\n\
    ##contig=<ID=c,length=99999,IDX=0>\n\
    ##contig=<ID=d,IDX=1>\n\
    ##INFO=<ID=I,Number=1,Type=Integer,IDX=2>\n\
    ##INFO=<ID=F,Number=A,Type=Float,IDX=3>\n\
    ##INFO=<ID=S,Number=.,Type=String,IDX=4>\n\
    ##INFO=<ID=B,Number=0,Type=Flag,IDX=5>\n\
    ##FORMAT=<ID=GT,Number=1,Type=String,IDX=6>\n\
    ##FORMAT=<ID=AD,Number=R,Type=Integer,IDX=7>\n\
    ##FORMAT=<ID=DS,Number=A,Type=Float,IDX=8>\n\
    ##FORMAT=<ID=FT,Number=1,Type=String,IDX=9>\n\
    #CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\tt\n";
const FIELDS: [&str; 8] = [
    "INFO/I",
    "INFO/F",
    "INFO/S",
    "INFO/B",
    "FORMAT/AD",
    "FORMAT/DS",
    "FORMAT/FT",
    "FORMAT/XX",
];
/// The parts of a valid BCF record, which share one record and its samples.
const SHARED: &[u8] = &[
    0, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x3F, 4, 0, 3, 0, 2, 0, 0, 4, 0x27, b'r', b's',
    0x17, b'A', 0x17, b'G', 0x17, b'T', 0x11, 1, 0x11, 2, 0x11, 5, 0x11, 3, 0x25, 0, 0, 0, 0x3F, 1,
    0, 0x80, 0x7F, 0x11, 4, 0x27, b'a', b'b', 0x11, 5, 0x00,
];
const INDIVIDUAL: &[u8] = &[
    0x11, 6, 0x21, 2, 5, 0, 0x81, 0x11, 7, 0x32, 1, 0, 2, 0, 3, 0, 9, 0, 1, 0x80, 1, 0x80, 0x11, 8,
    0x15, 0, 0, 0, 0x3F, 1, 0, 0x80, 0x7F, 0x11, 9, 0x27, b'x', 0, b'y', b'z',
];

/// Reads the bytes as a file if they begin like one, and otherwise makes a file or an index.
pub fn run(bytes: &[u8]) {
    if let [b'#' | b'B' | 0x1F, ..] = bytes {
        return read_in_all_ways(bytes);
    }
    let mut choices = Choices::new(bytes);
    match choices.byte() % 4 {
        0 => read_in_all_ways(&[HEADER.as_bytes(), choices.rest()].concat()),
        1 => read_in_all_ways(&[&binary_header(), choices.rest()].concat()),
        2 => read_in_all_ways(&binary_file(choices)),
        _ => read_region(choices),
    }
}

fn binary_header() -> Vec<u8> {
    let size = (HEADER.len() as u32).to_le_bytes();
    [b"BCF\x02\x02", &size[..], HEADER.as_bytes()].concat()
}

/// Makes a BCF file of valid records in which some bytes are replaced.
fn binary_file(mut choices: Choices<'_>) -> Vec<u8> {
    let mut file = binary_header();
    for _ in 0..1 + choices.below(3) {
        let mut parts = [SHARED.to_vec(), INDIVIDUAL.to_vec()];
        for part in &mut parts {
            for _ in 0..choices.below(4) {
                let at = choices.below(part.len());
                part[at] = choices.byte();
            }
            if choices.one_in(8) {
                let size = choices.below(20);
                part.extend_from_slice(choices.bytes(size));
            }
        }
        let mut sizes = parts
            .each_ref()
            .map(|part| (part.len() as u32).to_le_bytes());
        if choices.one_in(16) {
            sizes[choices.below(2)][choices.below(4)] = choices.byte();
        }
        file.extend([sizes.concat(), parts.concat()].concat());
    }
    file
}

fn options(regions: Vec<String>) -> VariantReaderOptions {
    VariantReaderOptions {
        threads: 1,
        samples: SampleChoice::All,
        fields: FIELDS.map(String::from).to_vec(),
        regions,
    }
}

/// Reads a file as a whole and in small pieces, and compares the results.
fn read_in_all_ways(bytes: &[u8]) {
    let size = usize::from(bytes.last().copied().unwrap_or(0)) % 7 + 1;
    let whole = outcome(bytes, usize::MAX);
    assert_eq!(whole, outcome(bytes, size), "in pieces of {size}");
}

/// Returns all records, the report, and the error that ended the read, if any.
fn outcome(bytes: &[u8], size: usize) -> String {
    let input = BufferedInput::new(Box::new(SmallReads::new(bytes, size)));
    let mut out = String::new();
    match VariantReader::new(Path::new("fuzz"), input, &options(Vec::new())) {
        Ok(mut reader) => {
            if let Err(error) = read_all(&mut reader, &mut out) {
                write!(out, "{error}").unwrap();
            }
            write!(out, "{:?}", reader.report()).unwrap();
        }
        Err(error) => write!(out, "{error}").unwrap(),
    }
    out
}

fn read_all(reader: &mut VariantReader, out: &mut String) -> Result<()> {
    let mut columns = VariantColumns::default();
    while reader.refill_batch(&mut columns, 3, 1 << 16)? {
        check_sizes(&columns, reader);
        write!(out, "{columns:?}").unwrap();
    }
    Ok(())
}

/// Checks that all columns have a row for each record, or for each record and sample.
fn check_sizes(columns: &VariantColumns, reader: &VariantReader) {
    let rows = columns.len();
    let samples = reader.selected_samples().map_or(0, <[usize]>::len);
    assert_eq!(columns.alts.rows().count(), rows);
    assert_eq!(columns.filters.rows().count(), rows);
    assert!(
        columns
            .chroms
            .iter()
            .all(|code| (*code as usize) < reader.chrom_names().len())
    );
    let genotypes = &columns.genotypes;
    assert_eq!(genotypes.phased.len(), rows * samples);
    let alleles = genotypes.narrow.len().max(genotypes.wide.len());
    assert_eq!(alleles, rows * samples * genotypes.ploidy);
}

/// A bgzip file with records of two contigs, and the decompressed bytes of its index.
fn indexed_file() -> &'static (PathBuf, Vec<u8>, Vec<String>) {
    static FILE: OnceLock<(PathBuf, Vec<u8>, Vec<String>)> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut text = HEADER.to_owned();
        for (chrom, at) in ["c", "d"]
            .iter()
            .flat_map(|it| (0..3000).map(move |at| (it, at)))
        {
            let row = format!(
                "{chrom}\t{}\t.\tA\tG\t.\t.\tI={at}\tGT\t0|1\t1|1\n",
                1 + at * 31
            );
            text.push_str(&row);
        }
        let source = scratch::write("source.vcf", text.as_bytes());
        let target = scratch::path("indexed.vcf.gz");
        let options = VariantReaderOptions {
            threads: 1,
            ..Default::default()
        };
        let reader = VariantReader::open(&source, &options).unwrap();
        let mut writer = VariantWriter::new(&target, reader, (&[], 1)).unwrap();
        let offsets = vec![0; 6001];
        writer.write(Ragged::new(&[], &offsets).unwrap()).unwrap();
        writer.finish().unwrap();
        let index = std::fs::read(scratch::path("indexed.vcf.gz.tbi")).unwrap();
        let index = inflate(&index);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        (target, index, rows.map(String::from).collect())
    })
}

fn inflate(packed: &[u8]) -> Vec<u8> {
    let input = BufferedInput::new(Box::new(std::io::Cursor::new(packed.to_vec())));
    let (_, mut text) = seqloom_compression::open_text(input, &Default::default()).unwrap();
    let mut out = Vec::new();
    loop {
        let chunk = text.fill_buffer().unwrap();
        let size = chunk.len();
        if size == 0 {
            return out;
        }
        out.extend_from_slice(chunk);
        text.consume(size);
    }
}

/// Reads a region with a changed index: the records are those of the region, or there is an
/// error.
fn read_region(mut choices: Choices<'_>) {
    let (file, index, rows) = indexed_file();
    let mut index = index.clone();
    let changes = choices.below(4);
    for _ in 0..changes {
        let at = choices.below(index.len());
        index[at] = choices.byte();
    }
    if choices.one_in(8) {
        index.truncate(choices.below(index.len()));
    }
    if choices.one_in(8) {
        index = choices.bytes(200).to_vec();
    }
    let is_whole = changes == 0 && index.len() > 1000;
    scratch::write("indexed.vcf.gz.tbi", &index);
    let (start, size) = (1 + choices.below(70_000), choices.below(30_000));
    let region = format!("{}:{start}-{}", ["c", "d"][choices.below(2)], start + size);
    let Ok(mut reader) = VariantReader::open(file, &options(vec![region])) else {
        assert!(!is_whole, "the index is valid");
        return;
    };
    let mut columns = VariantColumns::default();
    let mut count = 0;
    while let Ok(true) = reader.refill_batch(&mut columns, 100, 1 << 20) {
        for at in &columns.starts {
            assert!((start as i64 - 1..=(start + size) as i64 - 1).contains(at));
        }
        count += columns.len();
    }
    let positions = rows
        .iter()
        .take(3000)
        .map(|row| row.split('\t').nth(1).unwrap());
    let positions = positions.map(|text| text.parse::<usize>().unwrap());
    let expected = positions
        .filter(|at| (start..=start + size).contains(at))
        .count();
    assert!(count <= expected && (!is_whole || count == expected));
}
