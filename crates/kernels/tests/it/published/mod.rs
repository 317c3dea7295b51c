//! Published vectors on every backend of every kernel.

mod aead;
mod cbc;
mod chacha20;

use oarlock_kernels::cpu::{Cpu, Feature};

/// Returns this CPU and what it becomes when features are hidden: one CPU for every backend that a kernel can prefer on any
/// of them, with the backend's name. If the CPU has `feature`, there are at least two.
fn ways(feature: Feature, preferred: impl Fn(Cpu) -> &'static str) -> Vec<(&'static str, Cpu)> {
    let mut ways: Vec<(_, Cpu)> = Vec::new();
    for hidden in 0..1 << Feature::ALL.len() {
        let cpu = Feature::ALL
            .into_iter()
            .enumerate()
            .filter(|(i, _)| hidden >> i & 1 == 1)
            .fold(Cpu::detect(), |cpu, (_, feature)| cpu.without(feature));
        let name = preferred(cpu);
        if ways.iter().all(|(other, _)| *other != name) {
            ways.push((name, cpu));
        }
    }
    let portable = preferred(Cpu::PORTABLE);
    assert!(ways.iter().any(|(name, _)| *name == portable));
    assert!(
        ways.len() > 1 || !Cpu::detect().has(feature),
        "no backend but {portable} is ever preferred"
    );
    ways
}
