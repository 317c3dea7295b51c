/*
 * Intel's crypto_mb behind a plain C interface, so that the harness can load it at run time and
 * needs neither its headers nor its library to build. `cargo xtask peers` compiles this file.
 *
 * Every function does up to eight operations at once: lanes from `count` on are null. Numbers are
 * little-endian 64-bit words, with a word of zero after the topmost; messages are big-endian bytes, as
 * the library has it. Nothing is padded, blinded or checked: it does not do so either. Each returns 1
 * when all lanes that were asked for are done.
 */
#include <crypto_mb/cpu_features.h>
#include <crypto_mb/exp.h>
#include <crypto_mb/rsa.h>
#include <crypto_mb/version.h>
#include <stdint.h>
#include <stdlib.h>

enum { LANES = 8 };

/* p, q, d mod (p - 1), d mod (q - 1), q^-1 mod p. */
struct rsa_key {
        const uint64_t *n;
        const uint64_t *crt[5];
};

static int all_done(mbx_status status, size_t count)
{
        for (size_t lane = 0; lane < count; lane++)
                if (MBX_GET_STS(status, lane) != MBX_STATUS_OK)
                        return 0;
        return 1;
}

const char *peer_crypto_mb_version(void)
{
        return mbx_getversion()->strVersion;
}

/* Whether this CPU runs the library's code. */
int peer_crypto_mb_runs(void)
{
        return mbx_is_crypto_mb_applicable(0) != 0;
}

/* Bytes to work in, for any operation with moduli of `bits`. */
size_t peer_crypto_mb_work_bytes(int bits)
{
        const int sizes[] = {
                mbx_RSA_Method_BufSize(mbx_RSA_private_crt_Method(bits)),
                mbx_RSA_Method_BufSize(mbx_RSA_pub65537_Method(bits)),
                mbx_exp_BufferSize(bits),
        };
        int most = 0;

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                if (sizes[i] > most)
                        most = sizes[i];
        return (size_t)most;
}

int peer_crypto_mb_rsa_private(int bits, size_t count, const struct rsa_key *const keys[],
                               const uint8_t *const from[], uint8_t *const to[], uint8_t *work)
{
        const int8u *from_pa[LANES] = { 0 };
        int8u *to_pa[LANES] = { 0 };
        const int64u *crt_pa[5][LANES] = { { 0 } };

        for (size_t lane = 0; lane < count; lane++) {
                from_pa[lane] = from[lane];
                to_pa[lane] = to[lane];
                for (size_t part = 0; part < 5; part++)
                        crt_pa[part][lane] = (const int64u *)keys[lane]->crt[part];
        }
        return all_done(mbx_rsa_private_crt_mb8(from_pa, to_pa, crt_pa[0], crt_pa[1], crt_pa[2],
                                                crt_pa[3], crt_pa[4], bits,
                                                mbx_RSA_private_crt_Method(bits), work),
                        count);
}

/* To the power of 65537. */
int peer_crypto_mb_rsa_public(int bits, size_t count, const struct rsa_key *const keys[],
                              const uint8_t *const from[], uint8_t *const to[], uint8_t *work)
{
        const int8u *from_pa[LANES] = { 0 };
        int8u *to_pa[LANES] = { 0 };
        const int64u *n_pa[LANES] = { 0 };

        for (size_t lane = 0; lane < count; lane++) {
                from_pa[lane] = from[lane];
                to_pa[lane] = to[lane];
                n_pa[lane] = (const int64u *)keys[lane]->n;
        }
        return all_done(mbx_rsa_public_mb8(from_pa, to_pa, n_pa, bits,
                                           mbx_RSA_pub65537_Method(bits), work),
                        count);
}

/* Bases, exponents and moduli of `bits` each. */
int peer_crypto_mb_exp(int bits, size_t count, const uint64_t *const base[],
                       const uint64_t *const exponent[], const uint64_t *const modulus[],
                       uint64_t *const to[], uint8_t *work, size_t work_bytes)
{
        const int64u *base_pa[LANES] = { 0 };
        const int64u *exponent_pa[LANES] = { 0 };
        const int64u *modulus_pa[LANES] = { 0 };
        int64u *to_pa[LANES] = { 0 };

        for (size_t lane = 0; lane < count; lane++) {
                base_pa[lane] = (const int64u *)base[lane];
                exponent_pa[lane] = (const int64u *)exponent[lane];
                modulus_pa[lane] = (const int64u *)modulus[lane];
                to_pa[lane] = (int64u *)to[lane];
        }
        return all_done(mbx_exp_mb8(to_pa, base_pa, exponent_pa, bits, modulus_pa, bits, work,
                                    (int)work_bytes),
                        count);
}
