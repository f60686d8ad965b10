//! The Python bindings. Every function converts its arguments, releases the GIL, calls
//! one function of another crate, and converts the result.
#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 passes arguments by value"
)]
#![expect(
    clippy::too_many_arguments,
    reason = "a Python function names every argument"
)]

use pyo3::prelude::*;

mod core;
mod encode;
mod error;
mod formats;
mod fuse;
mod graph;
mod interrupt;
mod kernels;
mod load;
mod pool;
mod pooled;
mod run;

/// Returns the classes and functions of this module for the stub generator.
#[cfg(feature = "stubs")]
pub fn stub_info() -> pyo3_stub_gen::Result<pyo3_stub_gen::StubInfo> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    pyo3_stub_gen::StubInfo::from_pyproject_toml(format!("{root}/pyproject.toml"))
}

/// The compiled part of seqloom, imported in Python as `seqloom._rust._native`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::interrupt::install_check();
        let chosen = seqloom_core::simd::choose_arch();
        chosen.map_err(|error| super::error::exception_for(module.py(), &error))?;
        Ok(())
    }

    #[pymodule_export]
    use super::core::key::{fold_each, random_bits, threefry};
    #[pymodule_export]
    use super::core::{simd, version};
    #[pymodule_export]
    use super::encode::augment::Augmenter;
    #[pymodule_export]
    use super::encode::count::{count_letters, count_letters_per_record};
    #[pymodule_export]
    use super::encode::genotype::pack_codes;
    #[pymodule_export]
    use super::encode::kernel::SequenceKernel;
    #[pymodule_export]
    use super::encode::letters::Letters;
    #[pymodule_export]
    use super::encode::pack::{best_fit, packed_positions};
    #[pymodule_export]
    use super::formats::alleles::{resolve_alleles, variant_windows};
    #[pymodule_export]
    use super::formats::columns::{first_mismatch, hash_ids, mean_scores, take_rows};
    #[pymodule_export]
    use super::formats::index::{IndexProgress, SequenceIndex, build_index};
    #[pymodule_export]
    use super::formats::locate::locate;
    #[pymodule_export]
    use super::formats::plink::{PlinkTable, count_lines_in, count_lines_of, render_table};
    #[pymodule_export]
    use super::formats::profile::SequenceProfile;
    #[pymodule_export]
    use super::formats::reader::{SequenceReader, foreign_content};
    #[pymodule_export]
    use super::formats::tracks::{FragmentFile, TrackFile, TrackFileWriter, fetch_tracks};
    #[pymodule_export]
    use super::formats::variants::{VariantFile, VariantFileWriter};
    #[pymodule_export]
    use super::formats::write::SequenceWriter;
    #[pymodule_export]
    use super::fuse::program::ElementwiseProgram;
    #[pymodule_export]
    use super::graph::model::ExportedModel;
    #[pymodule_export]
    use super::kernels::activation::{
        gelu, gelu_grad, relu, relu_grad, sigmoid, sigmoid_grad, silu,
    };
    #[pymodule_export]
    use super::kernels::adamw::adamw;
    #[pymodule_export]
    use super::kernels::attention::{attention, attention_grad};
    #[pymodule_export]
    use super::kernels::batch_norm::{batch_norm, batch_norm_grad, scale_shift};
    #[pymodule_export]
    use super::kernels::conv::{conv2d, conv2d_input_grad, conv2d_weight_grad};
    #[pymodule_export]
    use super::kernels::dense::{feed_forward, linear_by_row, rotary_linear};
    #[pymodule_export]
    use super::kernels::dropout::dropout;
    #[pymodule_export]
    use super::kernels::embedding::add_rows;
    #[pymodule_export]
    use super::kernels::int8::{feed_forward_int8, linear_int8, rotary_linear_int8};
    #[pymodule_export]
    use super::kernels::max_pool1d::{max_pool1d, max_pool1d_grad};
    #[pymodule_export]
    use super::kernels::norm::{normalise_rows, normalise_rows_grad};
    #[pymodule_export]
    use super::kernels::product::{product, products};
    #[pymodule_export]
    use super::kernels::random::{
        bernoulli, position_bits, randint, shuffled, truncated_normal, uniform,
    };
    #[pymodule_export]
    use super::kernels::recurrent::{recurrent, recurrent_grad};
    #[pymodule_export]
    use super::kernels::softmax::{
        cross_entropy, log_softmax, log_softmax_grad, logsumexp, softmax, softmax_grad,
    };
    #[pymodule_export]
    use super::load::checksum::{hash_pieces, read_pieces};
    #[pymodule_export]
    use super::load::genotype::bed_file::{BedFile, decode_lines};
    #[pymodule_export]
    use super::load::genotype::codes::{GenotypeCodes, GenotypeLayer, GenotypeWatch, hash_bed};
    #[pymodule_export]
    use super::load::genotype::stats::{GenotypeSurvey, hardy_p};
    #[pymodule_export]
    use super::load::maker::{BatchMaker, Names};
    #[pymodule_export]
    use super::load::order::{permutation, permuted, permuted_at};
    #[pymodule_export]
    use super::load::packed::PackedStream;
    #[pymodule_export]
    use super::load::store::{ColumnBuilder, RecordStore, first_words, header_ids, turn_rows};
    #[pymodule_export]
    use super::pool::claim_global_pool;
    #[pymodule_export]
    use super::pooled::{ArrayOwner, BatchMemory};
    #[pymodule_export]
    use super::run::exported::ExportedPredictor;
}
