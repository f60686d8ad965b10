//! Files of packed streams, one after the other: what gzip, bzip2, zstd and xz
//! have in common.
//!
//! ```text
//! stream  stream  ...  zeros    tapes and object stores fill up with zeros
//! ```
//!
//! Anything else behind a stream is an error, and so is an end within one.

use seqloom_core::error::Fault;

use super::piece::TextPiece;
use seqloom_core::number::as_u64;

/// Unpacks one stream after the other.
pub(super) trait Codec: Send + Sync {
    /// What the container is called.
    const NAME: &'static str;
    /// What it calls one of its streams.
    const PART: &'static str = "stream";
    /// Zeros between two streams come in multiples of this; 0: nothing follows zeros.
    const PADDING: u64 = 0;

    /// Whether a stream can begin with this byte.
    fn begins(byte: u8) -> bool;

    /// Gets ready for a stream.
    fn begin(&mut self, piece: &TextPiece) -> Result<(), String>;

    /// Unpacks into the piece until the input is used up, the piece is full or the stream
    /// ends.
    fn step(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, StreamError>;

    /// Continues in another piece: copies the text that later matches may refer to.
    fn continue_in(&mut self, _: &TextPiece, fresh: &mut TextPiece) {
        fresh.clear();
    }

    /// The file ended, and all was right.
    fn finish(&mut self) {}
}

/// The result of one step.
pub(super) struct CodecStep {
    /// The number of bytes of the input that were used.
    pub(super) used: usize,
    pub(super) then: StepEnd,
}

/// Why a step stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// More input is needed.
    Hungry,
    /// The piece is full.
    Full,
    /// The stream, or all of the file, is complete.
    Done,
}

/// Why and where a stream cannot be unpacked.
pub(super) struct StreamError {
    /// The number of bytes of the input that were right.
    pub(super) used: usize,
    pub(super) why: StreamErrorKind,
}

/// Why a stream cannot be unpacked.
pub(super) enum StreamErrorKind {
    /// The stream is damaged; the message says more if the decoder does.
    Damaged(Option<String>),
    /// The stream needs more memory than is allowed.
    #[cfg_attr(
        not(feature = "containers"),
        expect(dead_code, reason = "gzip needs little")
    )]
    TooLarge(String),
}

/// Unpacks a whole file, whose bytes come in any pieces.
pub(super) trait Unpack: Send + Sync {
    /// Unpacks until the input is used up, the piece is full or the file ends. With `at_end`
    /// this input is the last one.
    fn unpack(
        &mut self,
        packed: &[u8],
        at_end: bool,
        piece: &mut TextPiece,
    ) -> Result<CodecStep, Fault>;

    /// Continues in another piece.
    fn continue_in(&mut self, full: &TextPiece, fresh: &mut TextPiece);
}

/// Unpacks a file of streams.
pub(super) struct Streams<C> {
    codec: C,
    stage: StreamStage,
    /// How many bytes of the file were used.
    used: u64,
    /// Where the current stream began, or the zeros behind it.
    begun: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamStage {
    /// A stream begins, or the file ends.
    Between,
    Within,
    Padding,
}

impl<C: Codec> Streams<C> {
    pub(super) fn new(codec: C) -> Self {
        Self {
            codec,
            stage: StreamStage::Between,
            used: 0,
            begun: 0,
        }
    }

    /// Begins what follows a stream, which its first byte decides: a stream or zeros.
    fn begin_next(&mut self, first: u8, piece: &TextPiece) -> Result<(), Fault> {
        let is_first = self.used == 0;
        self.begun = self.used;
        self.stage = match first {
            _ if C::begins(first) => StreamStage::Within,
            0 if !is_first => StreamStage::Padding,
            _ => return Err(garbage(C::NAME, self.used)),
        };
        if self.stage == StreamStage::Within {
            self.codec.begin(piece).map_err(|why| self.damage(&why))?;
        }
        Ok(())
    }

    /// Counts zeros; says how many.
    fn skip(&mut self, packed: &[u8]) -> Result<usize, Fault> {
        let Some(zeros) = packed.iter().position(|byte| *byte != 0) else {
            return Ok(packed.len());
        };
        let other = self.used + as_u64(zeros);
        if C::PADDING == 0 || !(other - self.begun).is_multiple_of(C::PADDING) {
            return Err(garbage(C::NAME, other));
        }
        self.stage = StreamStage::Between;
        Ok(zeros)
    }

    fn step(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, Fault> {
        let step = self.codec.step(packed, piece);
        let step = step.map_err(|broken| self.blame(&broken))?;
        if step.then == StepEnd::Done {
            self.stage = StreamStage::Between;
        }
        Ok(step)
    }

    /// What to say at the end of the file.
    fn finish(&self) -> Result<(), Fault> {
        let is_padded = self.stage == StreamStage::Padding && C::PADDING != 0;
        let is_odd = is_padded && !(self.used - self.begun).is_multiple_of(C::PADDING);
        match self.stage {
            StreamStage::Within => Err(cut(C::NAME, C::PART, self.used)),
            _ if is_odd => Err(garbage(C::NAME, self.begun)),
            _ => Ok(()),
        }
    }

    fn blame(&self, broken: &StreamError) -> Fault {
        let at = self.used + as_u64(broken.used);
        let (what, why) = match &broken.why {
            StreamErrorKind::TooLarge(why) => ("cannot be unpacked", Some(why)),
            StreamErrorKind::Damaged(_) if self.begun > 0 && at < self.begun + 4 => {
                return garbage(C::NAME, self.begun);
            }
            StreamErrorKind::Damaged(why) => ("is damaged", why.as_ref()),
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Fault::compressed(
            at,
            format!(
                "the {} data {what} near byte {at} of the file{why}",
                C::NAME
            ),
        )
    }

    fn damage(&self, why: &str) -> Fault {
        Fault::compressed(
            self.used,
            format!("the {} data cannot be unpacked: {why}", C::NAME),
        )
    }
}

/// A file that ends inside a stream.
pub(crate) fn cut(name: &str, part: &str, end: u64) -> Fault {
    let message = format!(
        "the {name} data is cut: the file ends at byte {end}, inside a {part}; fetch or copy it again"
    );
    Fault::compressed(end, message)
}

/// Bytes after the last stream that belong to none.
pub(crate) fn garbage(name: &str, at: u64) -> Fault {
    let message = format!("the {name} data ends at byte {at}, and something else follows");
    Fault::compressed(at, message)
}

impl<C: Codec> Unpack for Streams<C> {
    fn unpack(
        &mut self,
        packed: &[u8],
        at_end: bool,
        piece: &mut TextPiece,
    ) -> Result<CodecStep, Fault> {
        let mut rest = packed;
        let then = loop {
            let step = match (self.stage, rest) {
                (StreamStage::Within, _) => self.step(rest, piece)?,
                (_, []) => CodecStep::hungry(0),
                (StreamStage::Padding, _) => CodecStep::hungry(self.skip(rest)?),
                (StreamStage::Between, [first, ..]) => {
                    self.begin_next(*first, piece)?;
                    continue;
                }
            };
            self.used += as_u64(step.used);
            rest = &rest[step.used..];
            match step.then {
                StepEnd::Full => break StepEnd::Full,
                StepEnd::Hungry if rest.is_empty() && at_end => {
                    self.finish()?;
                    self.codec.finish();
                    break StepEnd::Done;
                }
                StepEnd::Hungry if rest.is_empty() => break StepEnd::Hungry,
                StepEnd::Hungry | StepEnd::Done => {}
            }
        };
        let used = packed.len() - rest.len();
        Ok(CodecStep { used, then })
    }

    fn continue_in(&mut self, full: &TextPiece, fresh: &mut TextPiece) {
        self.codec.continue_in(full, fresh);
    }
}

impl CodecStep {
    fn hungry(used: usize) -> Self {
        let then = StepEnd::Hungry;
        Self { used, then }
    }
}
