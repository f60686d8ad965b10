//! Convolution along two axes, and its two derivatives; one axis is a height of one.
//!
//! All three are products of matrices ([`crate::product`]) of which one holds the image's
//! windows; it is packed straight from the image ([`windows`]), a few samples at a time,
//! and the input's gradient is added where its windows stood as its tiles come out of the
//! registers ([`input_grad`]). Where a number is the sum of few products nothing is packed
//! ([`direct`]). What is computed together depends on the shape alone, so that the number
//! of threads changes no bit.

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
