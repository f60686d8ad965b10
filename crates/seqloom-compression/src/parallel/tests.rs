//! The text that several threads unpack is the text that one unpacks, faults and all.

mod guessed;
mod remembered;
mod samples;

use crate::input::Input;
use crate::positions::SMALLEST;
use crate::{Options as Unpacking, Text, Trouble, unpack};
