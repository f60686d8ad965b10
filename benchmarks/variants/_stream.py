"""Write a VCF file of any size to standard output.

``python -m benchmarks.variants._stream BLOCKS`` repeats one block of records, because
drawing genotypes is slower than reading them.
"""

import sys

from benchmarks.variants._files import BLOCK_RECORDS, vcf_blocks

if __name__ == "__main__":
    header, block = vcf_blocks(BLOCK_RECORDS)
    sys.stdout.buffer.write(header)
    for _ in range(int(sys.argv[1])):
        sys.stdout.buffer.write(block)
