"""Checks that a killed and resumed run of `seqloom embed` writes the same files."""

import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import seqloom as sl
from benchmarks.gpu._results import Results
from benchmarks.infer._inputs import read_query_proteins, sample_proteins, write_fasta

# Network size, copies of each protein, records per shard.
FULL, TINY = ("35M", 10, 500), ("8M", 1, 4)
# Number of proteins if QUERY.fasta is missing, and in a tiny run.
PROTEINS, TINY_PROTEINS = 600, 12


def run_benchmark(results: Results) -> None:
    """Embed a file twice, kill and resume the second run, and compare the embeddings."""
    with TemporaryDirectory() as folder:
        job = EmbeddingCommand(Path(folder), results)
        source, count = job.write_proteins()
        seconds = job.embed("whole")
        results.add("embed", model=job.size, file=source, proteins=count, seconds=seconds)
        shards = job.kill_after_first_shard("resumed")
        total = len(job.find_shards("whole"))
        if shards == total:
            results.skip("kill and resume", "the run ended before it could be killed")
            return
        job.embed("resumed")
        results.add(
            "kill and resume",
            shards=total,
            before_kill=shards,
            ok=job.hash_files("resumed") == job.hash_files("whole"),
        )


class EmbeddingCommand:
    """A command line of `seqloom embed` and the file of proteins that it reads.

    Args:
        folder: Folder of the model, the proteins and the embeddings.
        results: Writer of the results; stores the device and whether the run is tiny.
    """

    def __init__(self, folder: Path, results: Results) -> None:
        self.folder, self.is_tiny = folder, results.is_tiny
        self.size, self.copies, shard = TINY if results.is_tiny else FULL
        options = ["--backend", "torch"]
        if results.device == "cuda":
            options = ["--backend", "torch:cuda", "--dtype", "bfloat16"]
            options += ["--max-tokens", "16384"]
        model = sl.models.ESM2Config.of(self.size).init("numpy", sl.Key(0))
        model.save(folder / "model")
        paths = [str(folder / "proteins.fa"), "--model", str(folder / "model")]
        self.command = [sys.executable, "-m", "seqloom", "embed", *paths, *options]
        self.command += ["--shard-size", str(shard), "--quiet"]

    def write_proteins(self) -> tuple[str, int]:
        """Write the FASTA file; return the source of the proteins and their number."""
        records = read_query_proteins(10**6)
        source = "QUERY.fasta" if records else "UniProt-like mix"
        records = records or sample_proteins(PROTEINS)
        if self.is_tiny:
            records = records[:TINY_PROTEINS]
        write_fasta(records, self.folder / "proteins.fa", self.copies)
        return source, self.copies * len(records)

    def embed(self, out: str) -> float:
        """Run the command to its end and return the elapsed seconds."""
        start = time.perf_counter()
        subprocess.run([*self.command, "--out", str(self.folder / out)], check=True)
        return time.perf_counter() - start

    def kill_after_first_shard(self, out: str) -> int:
        """Kill the command after its first shard; return the number of finished shards."""
        command = [*self.command, "--out", str(self.folder / out)]
        with subprocess.Popen(command) as process:
            while process.poll() is None and not self.find_shards(out):
                time.sleep(0.002)
            process.kill()
        return len(self.find_shards(out))

    def find_shards(self, out: str) -> list[Path]:
        """Return the files that mark finished shards."""
        return sorted((self.folder / out).glob("*.done"))

    def hash_files(self, out: str) -> dict[str, str]:
        """Return the hash of each file of embeddings by file name."""
        return {
            path.name: sha256(path.read_bytes()).hexdigest()
            for path in (self.folder / out).glob("*.safetensors")
        }
