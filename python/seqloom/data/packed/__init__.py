"""Records of files as packed batches, which threads of Rust make."""
