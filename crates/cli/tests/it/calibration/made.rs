//! Calibrations for these tests.

use std::fs;
use std::sync::OnceLock;

use oarlock::{Accelerator, Algorithm};
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{CallRatios, Measured, Ratios, SIZES, Stored};
use oarlock_engine::plan::provided;

use super::Place;
use crate::common::{provider, stderr};

/// Returns a calibration of this machine and its libcrypto with all ratios level, changed by `change`.
pub(super) fn stored(change: impl FnOnce(&mut Measured)) -> Stored {
    static MEASURED: OnceLock<Measured> = OnceLock::new();
    let measured = MEASURED.get_or_init(|| {
        let place = Place::new();
        let mut command = place.command(&["provider", "calibrate", "--provider"]);
        let output = command.arg(provider()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let stored = Stored::parse(&fs::read(&place.file).unwrap()).unwrap();
        let mut measured = stored.measured()[0].clone();
        // Set all ratios, since a busy machine may have hidden some.
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let level = Ratios::from_thousandths([1000; SIZES.len()]).unwrap();
        let all = provided(accelerator.cpu(), &accelerator.options(), "", None).into_iter();
        measured.ratios = all.map(|one| (one.operation, level)).collect();
        let level = |one: &Primitive| (*one, calls(*one, |_| 1000));
        measured.primitives = Primitive::ALL.iter().map(level).collect();
        measured.made = "2026-11-23".into();
        measured
    });
    let mut measured = measured.clone();
    change(&mut measured);
    let mut stored = Stored::default();
    stored.add(measured);
    stored
}

pub(super) fn slow(measured: &mut Measured, operation: Algorithm) {
    let ratios = Ratios::from_thousandths([1000, 2000, 1000, 740, 1000, 1000, 1000]);
    let of_it = measured.ratios.iter_mut().filter(|one| one.0 == operation);
    of_it.for_each(|one| one.1 = ratios.unwrap());
}

pub(super) fn slow_at(measured: &mut Measured, primitive: Primitive, slow: usize) {
    let mut all = measured.primitives.iter_mut();
    let of_it = all.find(|one| one.0 == primitive).unwrap();
    of_it.1 = calls(primitive, |at| if at == slow { 740 } else { 2000 });
}

pub(super) fn calls(primitive: Primitive, ratio: impl Fn(usize) -> u32) -> CallRatios {
    let each: Vec<_> = (0..primitive.calls().len()).map(ratio).collect();
    CallRatios::from_thousandths(primitive, &each).unwrap()
}

/// Returns `text` with its required last line, the FNV-1a hash.
pub(super) fn ended(text: &str) -> Vec<u8> {
    let content = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    let hash = content
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{content}end {hash:016x}\n").into_bytes()
}
