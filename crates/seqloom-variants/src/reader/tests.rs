//! No content of a file causes a panic.

use proptest::prelude::*;

use super::*;

const HEADER: &str = "##fileformat=VCFv4.2\n##INFO=<ID=A,Number=1,Type=Integer,IDX=9>\n\
    ##FORMAT=<ID=D,Number=R,Type=Float>\n\
    #CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1\ts2\n";

/// Reads all records, and returns the number before the end or an error.
fn read_all(text: Vec<u8>) -> Result<u64> {
    let options = VariantReaderOptions {
        threads: 1,
        samples: SampleChoice::All,
        fields: vec!["INFO/A".to_owned(), "FORMAT/D".to_owned()],
        regions: Vec::new(),
    };
    let input = BufferedInput::new(Box::new(std::io::Cursor::new(text)));
    let mut reader = VariantReader::new(Path::new("a.vcf"), input, &options)?;
    let mut columns = VariantColumns::default();
    while reader.refill_batch(&mut columns, 3, 1 << 20)? {
        let rows = columns.len();
        assert_eq!(columns.refs.rows().count(), rows);
        assert_eq!(columns.genotypes.phased.len(), 2 * rows);
        let alleles = columns.genotypes.narrow.len() + columns.genotypes.wide.len();
        assert_eq!(alleles, 2 * rows * columns.genotypes.ploidy);
    }
    Ok(reader.records())
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_all(text);
    }

    #[test]
    fn no_record_causes_a_panic(
        records in "([c1AG.;=,:|/0-9D-]{0,6}[\t\t\t\t\t\t\n\r]){0,60}",
    ) {
        let _ = read_all([HEADER, &records].concat().into_bytes());
    }

    #[test]
    fn no_sample_causes_a_panic(
        rows in proptest::collection::vec("(GT|GT:D|D)(\t[01.2|/:,]{1,9}){2}", 0..5),
    ) {
        let fixed = "c\t5\t.\tA\tG\t.\t.\tA=1\t";
        let rows: Vec<String> = rows.iter().map(|row| format!("{fixed}{row}\n")).collect();
        let _ = read_all([HEADER, &rows.concat()].concat().into_bytes());
    }

    #[test]
    fn no_bcf_record_causes_a_panic(
        values in proptest::collection::vec((0..200_usize, any::<u8>()), 0..6),
        individual in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut shared = [0_i32, 4, 1, 0].map(i32::to_le_bytes).concat();
        shared.extend([1, 0, 2, 0, 2, 0, 0, 2, 7, 0x17, b'A', 0x17, b'G', 0x11, 0, 0x11, 9, 0x11, 3]);
        for (at, value) in values {
            let size = shared.len();
            shared[at % size] = value;
        }
        let individual = [&[0x11, 10, 0x21, 2, 4, 2, 0x80][..], &individual].concat();
        let _ = read_all(bcf_file(&shared, &individual));
    }

    #[test]
    fn no_bytes_of_a_bcf_file_cause_a_panic(
        records in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = read_all([bcf_header(), records].concat());
    }
}

fn bcf_header() -> Vec<u8> {
    let text = HEADER.replace("#CHROM", "##contig=<ID=c>\n##FORMAT=<ID=GT,IDX=10>\n#CHROM");
    let size = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"BCF\x02\x02", &size[..], text.as_bytes()].concat()
}

fn bcf_file(shared: &[u8], individual: &[u8]) -> Vec<u8> {
    let size = |part: &[u8]| u32::try_from(part.len()).unwrap().to_le_bytes();
    let sizes = [size(shared), size(individual)].concat();
    [&bcf_header(), &sizes, shared, individual].concat()
}
