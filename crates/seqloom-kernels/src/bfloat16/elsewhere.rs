//! What other machines than x86-64 have instead: nothing, and nobody who could call it.

use super::Machine;
use super::norm::Wide;
use super::panels::Panels;
use crate::dense::Rotation;

pub(super) const LANES: usize = 16;

pub(super) const WIDE: usize = 3 * LANES;

#[derive(Clone, Copy)]
pub(super) struct Finish<'a> {
    pub(super) residual: Option<&'a [u16]>,
    pub(super) gelu: bool,
}

pub(super) fn are_offered() -> bool {
    false
}

pub(super) fn multiply(_: &[u16], _: &Panels<'_>, finish: Finish<'_>, _: &mut [u16]) {
    let _ = (finish.residual, finish.gelu);
}

pub(super) fn rotate(_: Machine, _: Rotation<'_, f32>, _: usize, _: &mut [u16]) {}

pub(super) fn normalise(norm: &Wide, _: &[u16], _: &mut [u16], _: [&mut [f32]; 2]) {
    let _ = (&norm.weight, &norm.bias, norm.epsilon);
}

pub(super) fn narrow(_: Machine, _: &[f32], _: &mut [u16]) {}

pub(super) struct Group<'a> {
    pub(super) queries: &'a [u32],
    pub(super) keys: &'a [u32],
    pub(super) values: &'a [u32],
    pub(super) count: usize,
    pub(super) scale: f32,
    pub(super) answers: &'a mut [f32],
    pub(super) sums: &'a mut [f32],
}

pub(super) fn attend(_: Machine, group: Group<'_>) {
    let _ = (group.queries, group.keys, group.values, group.count);
    let _ = (group.scale, group.answers, group.sums);
}
