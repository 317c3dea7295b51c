//! Processors for tests, so that code that depends on the family is tested with each, on any machine.

use oarlock_kernels::cpu::{Cpu, Family};

use super::lookup::{Costs, kernel_backend};
use super::table::Processors;
use super::tables;
use crate::work::algorithm::Algorithm;

/// Returns processors with names: one of each family that has a table, some without one, an unknown one, and one
/// without identification.
pub(crate) fn all() -> Vec<(&'static str, Option<Family>)> {
    let of = |vendor: &str, family, model| {
        let vendor = vendor.as_bytes().try_into().ok()?;
        Some(Family {
            vendor,
            family,
            model,
        })
    };
    let measured = tables::FAMILIES.iter().flat_map(|table| {
        let Processors {
            vendor,
            family,
            models: (first, last),
        } = table.processors;
        [first, last].map(|model| (table.name, of(vendor, family, model)))
    });
    let others = [
        ("Zen 2", of("AuthenticAMD", 23, 49)),
        ("Zen 3", of("AuthenticAMD", 25, 1)),
        ("Zen 3 for desktops", of("AuthenticAMD", 25, 33)),
        ("Skylake", of("GenuineIntel", 6, 85)),
        ("Ice Lake", of("GenuineIntel", 6, 106)),
        ("unknown", of("CentaurHauls", 7, 59)),
        ("unnamed", None),
    ];
    measured.chain(others).collect()
}

/// Returns every kernel with its algorithm that a mask can select: those in the generic table, and those that this
/// machine's masks select.
pub(crate) fn kernels() -> Vec<(Algorithm, &'static str)> {
    let known = tables::GENERIC.rows.iter();
    let known = known.filter(|row| row.device == "cpu");
    let mut kernels: Vec<_> = known.map(|row| (row.algorithm, row.backend)).collect();
    for cpu in masked_cpus() {
        let built_in = Algorithm::ALL.iter().filter(|one| one.is_built_in());
        kernels.extend(built_in.map(|&one| (one, kernel_backend(cpu, one))));
    }
    kernels.sort_unstable();
    kernels.dedup();
    kernels
}

/// Returns the CPU with every subset of its features.
pub(crate) fn masked_cpus() -> Vec<Cpu> {
    let features: Vec<_> = Cpu::detect().features().collect();
    (0..1_u32 << features.len())
        .map(|mask| {
            let hidden = features.iter().enumerate();
            hidden
                .filter(|(number, _)| mask >> number & 1 == 1)
                .fold(Cpu::detect(), |cpu, (_, feature)| cpu.without(*feature))
        })
        .collect()
}

/// Returns the costs of each of [`all`].
pub(crate) fn costs() -> impl Iterator<Item = (&'static str, Costs)> {
    let all = all().into_iter();
    all.map(|(name, processor)| (name, Costs::of_processor(processor)))
}
