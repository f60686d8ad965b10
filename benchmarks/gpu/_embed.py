"""`seqloom embed` on the device: killed in the middle and resumed, equal in every byte."""

import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import seqloom as sl
from benchmarks.gpu._results import Results
from benchmarks.infer._inputs import mix, query, write_fasta

# Network, copies of the file, and records in a shard.
WHOLE, TINY = ("150M", 20, 500), ("8M", 1, 4)
FEW = 12  # proteins of a tiny run


def run(results: Results) -> None:
    """Embeds a file without and with a kill, and compares the files."""
    with TemporaryDirectory() as folder:
        job = Job(Path(folder), results)
        source, count = job.write()
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


class Job:
    """One command over one file.

    Args:
        folder: Holds the model, the proteins and the embeddings.
        results: Says which device to use.
    """

    def __init__(self, folder: Path, results: Results) -> None:
        self.folder, self.is_tiny = folder, results.is_tiny
        self.size, self.copies, shard = TINY if results.is_tiny else WHOLE
        cuda = ["--backend", "torch:cuda", "--dtype", "bfloat16", "--max-tokens", "16384"]
        device = cuda if results.device == "cuda" else ["--backend", "torch"]
        model = sl.models.ESM2Config.of(self.size).init("numpy", sl.Key(0))
        model.save(folder / "model")
        paths = [str(folder / "proteins.fa"), "--model", str(folder / "model")]
        self.command = [sys.executable, "-m", "seqloom", "embed", *paths, *device]
        self.command += ["--shard-size", str(shard), "--quiet"]

    def write(self) -> tuple[str, int]:
        """Writes the proteins several times under different names; which, and how many."""
        records = query(10**6)
        source = "QUERY.fasta" if records else "UniProt-like mix"
        records = (records or mix(600))[: FEW if self.is_tiny else None]
        write_fasta(records, self.folder / "proteins.fa", self.copies)
        return source, self.copies * len(records)

    def embed(self, out: str) -> float:
        """Runs the command to its end; returns its seconds."""
        start = time.perf_counter()
        subprocess.run([*self.command, "--out", str(self.folder / out)], check=True)
        return time.perf_counter() - start

    def kill_after_first_shard(self, out: str) -> int:
        """Kills the command when it has published a shard; returns how many it has."""
        command = [*self.command, "--out", str(self.folder / out)]
        with subprocess.Popen(command) as process:
            while process.poll() is None and not self.find_shards(out):
                time.sleep(0.002)
            process.kill()
        return len(self.find_shards(out))

    def find_shards(self, out: str) -> list[Path]:
        """The marks of published shards."""
        return sorted((self.folder / out).glob("*.done"))

    def hash_files(self, out: str) -> dict[str, str]:
        """A hash of each file of embeddings, by name."""
        return {
            path.name: sha256(path.read_bytes()).hexdigest()
            for path in (self.folder / out).glob("*.safetensors")
        }
