/*
 * intel-ipsec-mb behind a plain C interface, so that the harness can load it at run time and needs
 * neither its header nor its library to build. `cargo xtask peers` compiles this file.
 *
 * One manager belongs to one thread at a time; a key may be shared by all.
 *
 * The counter is 32 bits: with a 16-byte IV the library increments only the last four bytes, big
 * endian, and drops the carry at 2^32, where SP 800-38A and OpenSSL increment all 16. Compare
 * outputs only for counters that do not pass 2^32 blocks.
 */
#include <intel-ipsec-mb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct key {
        DECLARE_ALIGNED(uint8_t enc[16 * 15], 64);
        DECLARE_ALIGNED(uint8_t dec[16 * 15], 64);
        size_t len;
};

/* Sets what a cipher burst reads; cipher, direction and key size are arguments of the burst. */
static void fill(IMB_JOB *job, const struct key *key, const uint8_t iv[16], const uint8_t *src,
                 uint8_t *dst, size_t len)
{
        job->src = src;
        job->dst = dst;
        job->enc_keys = key->enc;
        job->dec_keys = key->dec;
        job->key_len_in_bytes = key->len;
        job->iv = iv;
        job->iv_len_in_bytes = 16;
        job->cipher_start_src_offset_in_bytes = 0;
        job->msg_len_to_cipher_in_bytes = len;
}

/*
 * Returns a manager that uses the best code for a CPU of the class 'A' to 'D', or NULL where this CPU
 * does not run it or the library has none. Without GFNI its AVX2 code does without VAES too.
 */
void *peer_ipsec_mb_new_for(char class)
{
        const uint64_t flags = class == 'C' || class == 'D' ? IMB_FLAG_GFNI_OFF : 0;
        IMB_MGR *mgr = alloc_mb_mgr(flags);
        IMB_ARCH arch = IMB_ARCH_NONE;

        if (mgr == NULL)
                return NULL;
        switch (class) {
        case 'A':
                init_mb_mgr_auto(mgr, &arch);
                break;
        case 'B':
        case 'C':
                init_mb_mgr_avx2(mgr);
                arch = IMB_ARCH_AVX2;
                break;
        case 'D':
                init_mb_mgr_sse(mgr);
                arch = IMB_ARCH_SSE;
                break;
        }
        if (imb_get_errno(mgr) != 0 || arch == IMB_ARCH_NONE) {
                free_mb_mgr(mgr);
                return NULL;
        }
        return mgr;
}

void peer_ipsec_mb_free(void *mgr)
{
        free_mb_mgr(mgr);
}

const char *peer_ipsec_mb_version(void)
{
        return imb_get_version_str();
}

/* Returns an expanded key for peer_ipsec_mb_key_free, or NULL when key_len is not 16, 24 or 32. */
void *peer_ipsec_mb_key(void *mgr_, const uint8_t *bytes, size_t key_len)
{
        IMB_MGR *mgr = mgr_;
        struct key *key = aligned_alloc(64, sizeof *key);

        if (key == NULL)
                return NULL;
        memset(key, 0, sizeof *key);
        key->len = key_len;
        switch (key_len) {
        case 16:
                IMB_AES_KEYEXP_128(mgr, bytes, key->enc, key->dec);
                return key;
        case 24:
                IMB_AES_KEYEXP_192(mgr, bytes, key->enc, key->dec);
                return key;
        case 32:
                IMB_AES_KEYEXP_256(mgr, bytes, key->enc, key->dec);
                return key;
        default:
                free(key);
                return NULL;
        }
}

void peer_ipsec_mb_key_free(void *key)
{
        free(key);
}

/*
 * Encrypts one request and returns when it is done. src may equal dst; len must not be 0.
 *
 * A burst of one: IMB_SUBMIT_JOB_NOCHECK gives the same bytes but takes 1.9 times as long at 64
 * bytes and 1.3 times at 1 KiB (version 1.3).
 */
void peer_ipsec_mb_ctr_job(void *mgr_, const void *key_, const uint8_t iv[16], const uint8_t *src,
                           uint8_t *dst, size_t len)
{
        IMB_MGR *mgr = mgr_;
        const struct key *key = key_;
        IMB_JOB job;

        fill(&job, key, iv, src, dst, len);
        IMB_SUBMIT_CIPHER_BURST_NOCHECK(mgr, &job, 1, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT,
                                        (IMB_KEY_SIZE_BYTES) key->len);
}

/*
 * Encrypts count requests of len bytes each under one key, in the library's largest bursts.
 * ivs holds 16 bytes a request.
 */
void peer_ipsec_mb_ctr_burst(void *mgr_, const void *key_, const uint8_t *ivs, const uint8_t **src,
                             uint8_t **dst, size_t len, size_t count)
{
        IMB_MGR *mgr = mgr_;
        const struct key *key = key_;
        IMB_JOB jobs[IMB_MAX_BURST_SIZE];

        while (count != 0) {
                const size_t n = count < IMB_MAX_BURST_SIZE ? count : IMB_MAX_BURST_SIZE;

                for (size_t i = 0; i < n; i++)
                        fill(&jobs[i], key, ivs + 16 * i, src[i], dst[i], len);
                IMB_SUBMIT_CIPHER_BURST_NOCHECK(mgr, jobs, (uint32_t) n, IMB_CIPHER_CNTR,
                                                IMB_DIR_ENCRYPT, (IMB_KEY_SIZE_BYTES) key->len);
                ivs += 16 * n;
                src += n;
                dst += n;
                count -= n;
        }
}

/*
 * AES-CBC of one request, both ways. src may equal dst; len is a multiple of 16 and not 0. The
 * caller keeps the last block of ciphertext as the next iv.
 */
void peer_ipsec_mb_cbc_job(void *mgr_, const void *key_, int decrypt, const uint8_t iv[16],
                           const uint8_t *src, uint8_t *dst, size_t len)
{
        IMB_MGR *mgr = mgr_;
        const struct key *key = key_;
        IMB_JOB job;

        fill(&job, key, iv, src, dst, len);
        IMB_SUBMIT_CIPHER_BURST_NOCHECK(mgr, &job, 1, IMB_CIPHER_CBC,
                                        decrypt ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT,
                                        (IMB_KEY_SIZE_BYTES) key->len);
}

struct gcm_key {
        struct gcm_key_data data;
        size_t len;
};

/* Returns an expanded key for peer_ipsec_mb_key_free, or NULL when key_len is not 16 or 32. */
void *peer_ipsec_mb_gcm_key(void *mgr_, const uint8_t *bytes, size_t key_len)
{
        IMB_MGR *mgr = mgr_;
        struct gcm_key *key = aligned_alloc(64, (sizeof *key + 63) / 64 * 64);

        if (key == NULL)
                return NULL;
        key->len = key_len;
        switch (key_len) {
        case 16:
                IMB_AES128_GCM_PRE(mgr, bytes, &key->data);
                return key;
        case 32:
                IMB_AES256_GCM_PRE(mgr, bytes, &key->data);
                return key;
        default:
                free(key);
                return NULL;
        }
}

/*
 * AES-GCM of one message by the direct calls; tag is written, and for one that is opened the caller
 * compares it. src may equal dst.
 */
void peer_ipsec_mb_gcm(void *mgr_, const void *key_, int open, const uint8_t nonce[12],
                       const uint8_t *aad, size_t aad_len, const uint8_t *src, uint8_t *dst,
                       size_t len, uint8_t tag[16])
{
        IMB_MGR *mgr = mgr_;
        const struct gcm_key *key = key_;
        struct gcm_context_data ctx;

        if (key->len == 16 && !open)
                IMB_AES128_GCM_ENC(mgr, &key->data, &ctx, dst, src, len, nonce, aad, aad_len, tag,
                                   16);
        else if (key->len == 16)
                IMB_AES128_GCM_DEC(mgr, &key->data, &ctx, dst, src, len, nonce, aad, aad_len, tag,
                                   16);
        else if (!open)
                IMB_AES256_GCM_ENC(mgr, &key->data, &ctx, dst, src, len, nonce, aad, aad_len, tag,
                                   16);
        else
                IMB_AES256_GCM_DEC(mgr, &key->data, &ctx, dst, src, len, nonce, aad, aad_len, tag,
                                   16);
}

/*
 * ChaCha20-Poly1305 of one message by a job, which the library does when it is submitted. Returns 0
 * unless it was done. Otherwise as peer_ipsec_mb_gcm.
 */
int peer_ipsec_mb_chacha20_poly1305(void *mgr_, const uint8_t key[32], int open,
                                    const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
                                    const uint8_t *src, uint8_t *dst, size_t len, uint8_t tag[16])
{
        IMB_MGR *mgr = mgr_;
        IMB_JOB *job = IMB_GET_NEXT_JOB(mgr);

        job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
        job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
        job->cipher_direction = open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
        job->chain_order = open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
        job->enc_keys = key;
        job->dec_keys = key;
        job->key_len_in_bytes = 32;
        job->iv = nonce;
        job->iv_len_in_bytes = 12;
        job->u.CHACHA20_POLY1305.aad = aad;
        job->u.CHACHA20_POLY1305.aad_len_in_bytes = aad_len;
        job->src = src;
        job->dst = dst;
        job->cipher_start_src_offset_in_bytes = 0;
        job->msg_len_to_cipher_in_bytes = len;
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = len;
        job->auth_tag_output = tag;
        job->auth_tag_output_len_in_bytes = 16;
        job = IMB_SUBMIT_JOB_NOCHECK(mgr);
        if (job == NULL)
                job = IMB_FLUSH_JOB(mgr);
        return job != NULL && job->status == IMB_STATUS_COMPLETED;
}
