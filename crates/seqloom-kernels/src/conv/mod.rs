//! Convolution along two axes, and its two gradients. A convolution along one axis is
//! treated as a convolution of height 1.
//!
//! All three passes are matrix products ([`crate::product`]). The matrix of windows is
//! packed directly from the image ([`windows`]), a few samples at a time. The input
//! gradient is added to the image tile by tile ([`input_grad`]). Convolutions that sum
//! few products for each output are computed without packing ([`direct`]). The order in
//! which products are added depends only on the shape, so results do not depend on the
//! number of threads.

mod direct;
mod forward;
mod image;
mod input_grad;
mod shape;
#[cfg(test)]
mod tests;
mod weight_grad;
mod windows;

pub use forward::forward;
pub use input_grad::input_grad;
pub use shape::Shape;
pub use weight_grad::weight_grad;
