//! Common code for gzip, bzip2, zstd and xz files, which consist of concatenated
//! streams.
//!
//! ```text
//! stream  stream  ...  zeros    tapes and object stores fill up with zeros
//! ```
//!
//! Invalid bytes after a stream, or a file that ends inside a stream, cause an error.

use seqloom_core::error::Fault;

use super::text_buffer::TextBuffer;
use seqloom_core::number::as_u64;

/// A decoder of one compression format, in which streams can be concatenated.
pub(super) trait Codec: Send + Sync {
    /// The name of the compression format.
    const FORMAT: &'static str;
    /// The name of a stream in this format, such as "member" or "frame".
    const STREAM: &'static str = "stream";
    /// The number of zero bytes between two streams must be a multiple of this number.
    /// If this number is 0, no stream may follow zero bytes.
    const PADDING_MULTIPLE: u64 = 0;

    /// Returns true if a stream can begin with this byte.
    fn can_begin_with(byte: u8) -> bool;

    /// Prepares the decoder for the next stream.
    fn begin_stream(&mut self, piece: &TextBuffer) -> Result<(), String>;

    /// Decompresses into the text buffer until the input is used up, the buffer is full
    /// or the stream ends.
    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, StreamError>;

    /// Continues in another text buffer. Copies the text to which later matches may
    /// refer.
    fn switch_buffer(&mut self, _: &TextBuffer, fresh: &mut TextBuffer) {
        fresh.clear();
    }

    /// Called when the file has ended without an error.
    fn end_file(&mut self) {}
}

/// The result of one decompression step.
pub(super) struct CodecStep {
    /// The number of input bytes that were used.
    pub(super) used: usize,
    pub(super) then: StepEnd,
}

/// The reason why a decompression step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// The decoder needs more input.
    NeedsInput,
    /// The text buffer is full.
    Full,
    /// The stream or the whole file is complete.
    Done,
}

/// The reason and position of an error in a stream.
pub(super) struct StreamError {
    /// The number of input bytes before the error.
    pub(super) used: usize,
    pub(super) why: StreamErrorKind,
}

/// The reason why a stream cannot be decompressed.
pub(super) enum StreamErrorKind {
    /// The stream is corrupt. The string is the message of the decoder, if it has one.
    Damaged(Option<String>),
    /// The stream needs more memory than the limit.
    #[cfg_attr(
        not(feature = "containers"),
        expect(dead_code, reason = "gzip needs little")
    )]
    TooLarge(String),
}

/// A decompressor of a whole file, which is passed in chunks of any size.
pub(super) trait Unpacker: Send + Sync {
    /// Decompresses until the input is used up, the text buffer is full or the file
    /// ends. If `at_end` is true, no more input follows.
    fn decompress(
        &mut self,
        packed: &[u8],
        at_end: bool,
        piece: &mut TextBuffer,
    ) -> Result<CodecStep, Fault>;

    /// Continues in another text buffer.
    fn switch_buffer(&mut self, full: &TextBuffer, fresh: &mut TextBuffer);
}

/// A decompressor of a file of concatenated streams.
pub(super) struct StreamDecompressor<C> {
    codec: C,
    stage: StreamStage,
    /// The number of bytes of the compressed file that were used.
    used: u64,
    /// The offset in the compressed file of the current stream, or of the zero bytes
    /// after a stream.
    begun: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamStage {
    /// The next byte begins a stream, or the file ends.
    Between,
    Within,
    Padding,
}

impl<C: Codec> StreamDecompressor<C> {
    pub(super) fn new(codec: C) -> Self {
        Self {
            codec,
            stage: StreamStage::Between,
            used: 0,
            begun: 0,
        }
    }

    /// Begins the next stream or a sequence of zero bytes, depending on the first byte.
    fn begin_next_stream(&mut self, first: u8, piece: &TextBuffer) -> Result<(), Fault> {
        let is_first = self.used == 0;
        self.begun = self.used;
        self.stage = match first {
            _ if C::can_begin_with(first) => StreamStage::Within,
            0 if !is_first => StreamStage::Padding,
            _ => return Err(trailing_data(C::FORMAT, self.used)),
        };
        if self.stage == StreamStage::Within {
            self.codec
                .begin_stream(piece)
                .map_err(|why| self.fault_with_reason(&why))?;
        }
        Ok(())
    }

    /// Skips zero bytes in the input and returns the number of skipped bytes.
    fn skip_zeros(&mut self, packed: &[u8]) -> Result<usize, Fault> {
        let Some(zeros) = packed.iter().position(|byte| *byte != 0) else {
            return Ok(packed.len());
        };
        let other = self.used + as_u64(zeros);
        if C::PADDING_MULTIPLE == 0 || !(other - self.begun).is_multiple_of(C::PADDING_MULTIPLE) {
            return Err(trailing_data(C::FORMAT, other));
        }
        self.stage = StreamStage::Between;
        Ok(zeros)
    }

    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, Fault> {
        let step = self.codec.decode(packed, piece);
        let step = step.map_err(|error| self.stream_fault(&error))?;
        if step.then == StepEnd::Done {
            self.stage = StreamStage::Between;
        }
        Ok(step)
    }

    /// Returns the result at the end of the file.
    fn check_end(&self) -> Result<(), Fault> {
        let is_padded = self.stage == StreamStage::Padding && C::PADDING_MULTIPLE != 0;
        let is_odd = is_padded && !(self.used - self.begun).is_multiple_of(C::PADDING_MULTIPLE);
        match self.stage {
            StreamStage::Within => Err(truncated_file(C::FORMAT, C::STREAM, self.used)),
            _ if is_odd => Err(trailing_data(C::FORMAT, self.begun)),
            _ => Ok(()),
        }
    }

    fn stream_fault(&self, error: &StreamError) -> Fault {
        let at = self.used + as_u64(error.used);
        let (what, why) = match &error.why {
            StreamErrorKind::TooLarge(why) => ("cannot be unpacked", Some(why)),
            StreamErrorKind::Damaged(_) if self.begun > 0 && at < self.begun + 4 => {
                return trailing_data(C::FORMAT, self.begun);
            }
            StreamErrorKind::Damaged(why) => ("is damaged", why.as_ref()),
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Fault::in_compressed_data(
            at,
            format!(
                "the {} data {what} near byte {at} of the file{why}",
                C::FORMAT
            ),
        )
    }

    fn fault_with_reason(&self, why: &str) -> Fault {
        Fault::in_compressed_data(
            self.used,
            format!("the {} data cannot be unpacked: {why}", C::FORMAT),
        )
    }
}

/// Returns the error for a file that ends inside a stream.
pub(crate) fn truncated_file(name: &str, part: &str, end: u64) -> Fault {
    let message = format!(
        "the {name} data is truncated: the file ends at byte {end}, inside a {part}; fetch or copy it again"
    );
    Fault::in_compressed_data(end, message)
}

/// Returns the error for invalid bytes after the last stream.
pub(crate) fn trailing_data(name: &str, at: u64) -> Fault {
    let message = format!("the {name} data ends at byte {at}, but more bytes follow");
    Fault::in_compressed_data(at, message)
}

impl<C: Codec> Unpacker for StreamDecompressor<C> {
    fn decompress(
        &mut self,
        packed: &[u8],
        at_end: bool,
        piece: &mut TextBuffer,
    ) -> Result<CodecStep, Fault> {
        let mut rest = packed;
        let then = loop {
            let step = match (self.stage, rest) {
                (StreamStage::Within, _) => self.decode(rest, piece)?,
                (_, []) => CodecStep::needs_input(0),
                (StreamStage::Padding, _) => CodecStep::needs_input(self.skip_zeros(rest)?),
                (StreamStage::Between, [first, ..]) => {
                    self.begin_next_stream(*first, piece)?;
                    continue;
                }
            };
            self.used += as_u64(step.used);
            rest = &rest[step.used..];
            match step.then {
                StepEnd::Full => break StepEnd::Full,
                StepEnd::NeedsInput if rest.is_empty() && at_end => {
                    self.check_end()?;
                    self.codec.end_file();
                    break StepEnd::Done;
                }
                StepEnd::NeedsInput if rest.is_empty() => break StepEnd::NeedsInput,
                StepEnd::NeedsInput | StepEnd::Done => {}
            }
        };
        let used = packed.len() - rest.len();
        Ok(CodecStep { used, then })
    }

    fn switch_buffer(&mut self, full: &TextBuffer, fresh: &mut TextBuffer) {
        self.codec.switch_buffer(full, fresh);
    }
}

impl CodecStep {
    fn needs_input(used: usize) -> Self {
        let then = StepEnd::NeedsInput;
        Self { used, then }
    }
}
