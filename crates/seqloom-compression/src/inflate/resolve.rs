//! Symbols to text, once the text before is known.

use super::table::boxed;
use crate::walk::WINDOW;

/// How many symbols are looked at together.
const BLOCK: usize = 16;
/// The symbols that are letters.
const LETTERS: usize = 256;
/// The symbols that there can be.
const SYMBOLS: usize = 1 << 16;

/// Which letter each symbol stands for.
struct Letters {
    letters: Box<[u8; SYMBOLS]>,
    /// How many symbols stand for positions before the window.
    missing: usize,
}

impl Letters {
    fn new(window: &[u8]) -> Self {
        let mut letters: Box<[u8; SYMBOLS]> = boxed();
        for (letter, value) in letters.iter_mut().zip(0..=u8::MAX) {
            *letter = value;
        }
        let missing = WINDOW - window.len().min(WINDOW);
        let start = LETTERS + missing;
        letters[start..start + window.len()].copy_from_slice(window);
        Self { letters, missing }
    }

    /// Whether all symbols stand for letters: none is of before the window.
    fn know(&self, symbols: &[u16]) -> bool {
        let unknown = LETTERS..LETTERS + self.missing;
        let is_known = |symbol: &u16| !unknown.contains(&usize::from(*symbol));
        self.missing == 0 || symbols.iter().all(is_known)
    }

    fn put(&self, symbols: &[u16], text: &mut [u8]) {
        for (letter, symbol) in text.iter_mut().zip(symbols) {
            *letter = self.letters[usize::from(*symbol)];
        }
    }

    /// Writes the letters of a block of symbols, of which most are letters.
    #[inline]
    fn put_block(&self, symbols: &[u16; BLOCK], text: &mut [u8; BLOCK]) {
        let all = symbols.iter().fold(0, |all, symbol| all | symbol);
        if all >= 256 {
            return self.put(symbols, text);
        }
        for (letter, symbol) in text.iter_mut().zip(symbols) {
            *letter = symbol.to_le_bytes()[0];
        }
    }
}

/// Writes the text that symbols stand for behind a window; says whether they
/// stand for any.
pub(crate) fn resolve(symbols: &[u16], window: &[u8], text: &mut Vec<u8>) -> bool {
    let letters = Letters::new(window);
    text.resize(symbols.len(), 0);
    let (blocks, rest) = symbols.as_chunks();
    let (texts, last) = text.as_chunks_mut();
    for (symbols, text) in blocks.iter().zip(texts) {
        letters.put_block(symbols, text);
    }
    letters.put(rest, last);
    letters.know(symbols)
}

/// The last 32 KiB of text up to here, for whoever goes on: the text of the symbols and,
/// if that is shorter, the end of `window` before it, unless the symbols begin a member.
pub(crate) fn tail(symbols: &[u16], window: &[u8], is_apart: bool) -> Vec<u8> {
    let last = &symbols[symbols.len().saturating_sub(WINDOW)..];
    let mut text = vec![0; last.len()];
    Letters::new(window).put(last, &mut text);
    if is_apart {
        return text;
    }
    let kept = window.len().min(WINDOW - text.len());
    let mut whole = window[window.len() - kept..].to_vec();
    whole.append(&mut text);
    whole
}
