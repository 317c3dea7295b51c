//! What is offered to programs that use OpenSSL: the algorithms that this CPU computes at least as fast as
//! OpenSSL does. Without AES instructions and AVX2 there are none, since the portable kernels are a reference.

use oarlock_kernels::aes::Backend as AesBackend;
use oarlock_kernels::chacha20::Backend as ChaCha20Backend;
use oarlock_kernels::cpu::Cpu;

use crate::device::Operation;
use crate::options::Strategy;

/// What the provider has, whether or not this machine offers it.
pub(crate) const PROVIDED: [Operation; 14] = [
    Operation::Aes128Ctr,
    Operation::Aes192Ctr,
    Operation::Aes256Ctr,
    Operation::Aes128Gcm,
    Operation::Aes192Gcm,
    Operation::Aes256Gcm,
    Operation::Aes128Cbc,
    Operation::Aes192Cbc,
    Operation::Aes256Cbc,
    Operation::ChaCha20,
    Operation::ChaCha20Poly1305,
    Operation::Camellia128Ctr,
    Operation::Camellia192Ctr,
    Operation::Camellia256Ctr,
];

/// Why one of [`PROVIDED`] is left to OpenSSL; `None` if it is offered.
pub(crate) fn withheld(operation: Operation, cpu: Cpu, strategy: Strategy) -> Option<&'static str> {
    match operation {
        Operation::ChaCha20 | Operation::ChaCha20Poly1305 => {
            let is_slow = matches!(ChaCha20Backend::preferred(cpu), ChaCha20Backend::Portable);
            is_slow.then_some("this CPU has no AVX2, and without it OpenSSL is faster")
        }
        // In short pieces 0.45 to 0.75 of OpenSSL's rate on any CPU: for programs with cores to spare.
        Operation::Camellia128Ctr | Operation::Camellia192Ctr | Operation::Camellia256Ctr => {
            let is_spread = matches!(strategy, Strategy::Stripe | Strategy::Prefetch);
            (!is_spread).then_some(
                "OpenSSL is faster on one thread; strategy=stripe and strategy=prefetch offer it",
            )
        }
        _ => {
            let is_slow = matches!(AesBackend::preferred(cpu), AesBackend::Portable);
            is_slow.then_some(
                "this CPU has neither AES instructions nor AVX2, and without them OpenSSL is faster",
            )
        }
    }
}
