//! What is offered to programs that use OpenSSL: the algorithms that this CPU computes at least as fast as
//! OpenSSL does. Without AES instructions and AVX2 there are none, since the portable kernels are a reference.

use oarlock_kernels::aes::Backend as AesBackend;
use oarlock_kernels::chacha20::Backend as ChaCha20Backend;
use oarlock_kernels::cpu::Cpu;

use crate::costs::lookup::kernel_backend;
use crate::options::Strategy;
use crate::work::algorithm::Algorithm;

/// What the provider has, whether or not this machine offers it.
pub(crate) const PROVIDED: [Algorithm; 14] = [
    Algorithm::Aes128Ctr,
    Algorithm::Aes192Ctr,
    Algorithm::Aes256Ctr,
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
    Algorithm::ChaCha20,
    Algorithm::ChaCha20Poly1305,
    Algorithm::Camellia128Ctr,
    Algorithm::Camellia192Ctr,
    Algorithm::Camellia256Ctr,
];

/// Why one of [`PROVIDED`] is left to OpenSSL; `None` if it is offered.
pub(crate) fn withheld(operation: Algorithm, cpu: Cpu, strategy: Strategy) -> Option<&'static str> {
    match operation {
        Algorithm::ChaCha20 | Algorithm::ChaCha20Poly1305 => {
            let is_slow = matches!(ChaCha20Backend::preferred(cpu), ChaCha20Backend::Portable);
            is_slow.then_some("this CPU has no AVX2, and without it OpenSSL is faster")
        }
        // RustCrypto's has 0.45 to 0.75 of OpenSSL's rate: for programs with cores to spare.
        Algorithm::Camellia128Ctr | Algorithm::Camellia192Ctr | Algorithm::Camellia256Ctr => {
            let is_spread = matches!(strategy, Strategy::Stripe | Strategy::Prefetch);
            let is_slow = kernel_backend(cpu, operation) == "rustcrypto";
            (is_slow && !is_spread).then_some(
                "this CPU has neither AES instructions nor GFNI, and without them OpenSSL is faster on \
                 one thread; strategy=stripe and strategy=prefetch offer it",
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
