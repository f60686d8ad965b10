//! Reads the numbers of a binary file in either byte order.

use seqloom_compression::disk::DiskFile;
use seqloom_core::error::{Fault, FaultKind};
use seqloom_core::number::{as_u64, u32_at, u64_at};

/// The error of a damaged file: the offset of the damage, and its description.
pub(crate) fn damage(byte: u64, message: impl Into<String>) -> Fault {
    Fault {
        byte: Some(byte),
        ..Fault::of_file(format!("byte {byte} of the file: {}", message.into()))
    }
}

/// Reads numbers from bytes that were read from a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteOrder {
    pub(crate) is_big: bool,
}

impl ByteOrder {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>());
        let number = chunk.map_or(0, |chunk| u16::from_le_bytes(*chunk));
        if self.is_big {
            number.swap_bytes()
        } else {
            number
        }
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let number = u32_at(bytes, at);
        if self.is_big {
            number.swap_bytes()
        } else {
            number
        }
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let number = u64_at(bytes, at);
        if self.is_big {
            number.swap_bytes()
        } else {
            number
        }
    }

    pub(crate) fn f32(self, bytes: &[u8], at: usize) -> f32 {
        f32::from_bits(self.u32(bytes, at))
    }
}

/// Reads `size` bytes from offset `at`. The size of the file is checked first, so a wrong
/// number in a damaged file allocates nothing.
pub(crate) fn read_bytes(file: &DiskFile, at: u64, size: usize) -> Result<Vec<u8>, Fault> {
    let end = at.checked_add(as_u64(size));
    if end.is_none_or(|end| end > file.size()) {
        return Err(Fault {
            kind: FaultKind::Cut,
            ..damage(
                at,
                format!(
                    "expected {size} bytes, but the file ends at byte {}; it is truncated or \
                     damaged, copy it again",
                    file.size()
                ),
            )
        });
    }
    let mut bytes = vec![0; size];
    let read = file.read_at(at, &mut bytes);
    read.map_err(|error| damage(at, error.to_string()))?;
    Ok(bytes)
}
