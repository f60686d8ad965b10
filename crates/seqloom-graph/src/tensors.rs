//! Access to the arrays of a safetensors file.

use std::{collections::BTreeMap, ops::Range};

use safetensors::{Dtype as Stored, SafeTensors};

use crate::Dtype;

/// A safetensors file in memory, and the offsets of its arrays.
#[derive(Debug)]
pub(crate) struct Tensors {
    data: Vec<u8>,
    arrays: BTreeMap<String, Tensor>,
}

/// An array of a safetensors file.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    range: Range<usize>,
}

impl Tensors {
    /// Checks the header of the file. Errors are returned as messages.
    pub(crate) fn new(data: Vec<u8>) -> Result<Self, String> {
        let read = SafeTensors::deserialize(&data).map_err(|error| error.to_string())?;
        let start = data.as_ptr().addr();
        let mut arrays = BTreeMap::new();
        for (name, view) in read.tensors() {
            let dtype = supported_dtype(view.dtype()).ok_or_else(|| {
                format!(
                    "{name}: elements of type {:?} are not supported",
                    view.dtype()
                )
            })?;
            let from = view.data().as_ptr().addr() - start;
            let range = from..from + view.data().len();
            if dtype == Dtype::Bool && view.data().iter().any(|&byte| byte > 1) {
                return Err(format!(
                    "{name}: expected booleans of 0 and 1, found another byte"
                ));
            }
            let shape = view.shape().to_vec();
            arrays.insert(
                name,
                Tensor {
                    dtype,
                    shape,
                    range,
                },
            );
        }
        Ok(Self { data, arrays })
    }

    /// Returns the array with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Tensor> {
        self.arrays.get(name)
    }

    /// Iterates over all arrays with their names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let arrays = self.arrays.iter();
        arrays.map(|(name, tensor)| (name.as_str(), self.memory(tensor)))
    }

    /// Returns the memory of an array.
    fn memory(&self, tensor: &Tensor) -> &[u8] {
        self.data.get(tensor.range.clone()).unwrap_or_default()
    }

    /// Returns the size of the file in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Returns the file as a `SafeTensors` view.
    pub(crate) fn view(&self) -> Option<SafeTensors<'_>> {
        SafeTensors::deserialize(&self.data).ok()
    }
}

fn supported_dtype(dtype: Stored) -> Option<Dtype> {
    Some(match dtype {
        Stored::BOOL => Dtype::Bool,
        Stored::U8 => Dtype::Uint8,
        Stored::I32 => Dtype::Int32,
        Stored::I64 => Dtype::Int64,
        Stored::U32 => Dtype::Uint32,
        Stored::F32 => Dtype::Float32,
        Stored::F64 => Dtype::Float64,
        _ => return None,
    })
}
