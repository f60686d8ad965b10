//! Inflate that begins anywhere, without knowing what stands before.
//!
//! A block whose codes are its own begins with a header that hardly any other
//! bits look like, so that one can be found (`find`). What such a block refers
//! to may stand up to 32 KiB before it: text is written in symbols of 16 bits,
//! of which those from 256 on stand for a position in the unknown text (`marked`),
//! and is put in when that is known (`resolve`). The method is that of pugz
//! (Kerbiriou and Chikhi 2019) and rapidgzip (Knespel and Brunst 2023).
//!
//! It is stricter than a decoder for all files must be: whatever is unusual is
//! `Stop::Unusual`, and left to such a decoder.
//!
//! ```text
//! bits      the next bits of a piece of a file
//! table     Huffman codes as tables that are looked up
//! header    the head of a block with its own codes, and the search for one
//! marked    the symbols of a block
//! member    block after block, member after member
//! resolve   symbols to text
//! ```

mod bits;
mod header;
mod marked;
mod member;
mod resolve;
mod table;

pub(crate) use self::bits::{PADDING, Stop};
pub(crate) use self::header::find;
pub(crate) use self::member::{Inflater, MemberEnd, Stopped};
pub(crate) use self::resolve::{resolve, tail};

#[cfg(test)]
mod tests;
