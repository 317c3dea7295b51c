/*
 * Batches of packets for intel-ipsec-mb: each with a key, an IV, a place and a length of its own. In one
 * library with ipsec_mb.c, whose managers and AES keys they take.
 *
 * Every interface of the library that can do a batch is here, since which is fastest depends on the cipher and on
 * the length: jobs one by one, bursts of jobs, bursts of one cipher, and the direct calls of AES-GCM.
 */
#include <intel-ipsec-mb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct packet {
        /* Of peer_ipsec_mb_key, peer_ipsec_mb_gcm_key or peer_ipsec_mb_des3_key. */
        const void *key;
        /* Of peer_ipsec_mb_hmac_key, where there is a hash. */
        const void *mac;
        const uint8_t *iv;
        const uint8_t *aad;
        size_t aad_len;
        const uint8_t *src;
        uint8_t *dst;
        /* Of what is encrypted, from src + hashed_before on. */
        size_t len;
        /* Of what is hashed but not encrypted, before it. */
        size_t hashed_before;
        uint8_t *tag;
        size_t tag_len;
};

/* As in bench/src/bin/oarlock-bench/peers/ipsec_mb/packets.rs. */
enum cipher { BY_CTR, BY_CBC, BY_GCM, BY_DES3 };
enum hash { BY_NONE, BY_MD5, BY_SHA1, BY_SHA256, BY_SHA384, BY_SHA512 };

struct batch {
        int cipher;
        int hash;
        /* Whether packets are decrypted, after the hash. */
        int open;
        size_t key_len;
        size_t count;
        const struct packet *packets;
};

/* The beginning of `struct key` in ipsec_mb.c. */
struct aes_key {
        DECLARE_ALIGNED(uint8_t enc[16 * 15], 64);
        DECLARE_ALIGNED(uint8_t dec[16 * 15], 64);
};

struct des3_key {
        const void *schedules[3];
        uint64_t schedule[3][IMB_DES_KEY_SCHED_SIZE / 8];
};

struct hmac_key {
        DECLARE_ALIGNED(uint8_t inner[64], 64);
        DECLARE_ALIGNED(uint8_t outer[64], 64);
};

/* Returns an expanded key for peer_ipsec_mb_key_free; three keys of 8 bytes. */
void *peer_ipsec_mb_des3_key(void *mgr_, const uint8_t bytes[24])
{
        IMB_MGR *mgr = mgr_;
        struct des3_key *key = aligned_alloc(64, (sizeof *key + 63) / 64 * 64);

        if (key == NULL)
                return NULL;
        for (int i = 0; i < 3; i++) {
                IMB_DES_KEYSCHED(mgr, key->schedule[i], bytes + 8 * i);
                key->schedules[i] = key->schedule[i];
        }
        return key;
}

static void one_block(IMB_MGR *mgr, int hash, const uint8_t *block, uint8_t *state)
{
        switch (hash) {
        case BY_MD5:
                IMB_MD5_ONE_BLOCK(mgr, block, state);
                break;
        case BY_SHA1:
                IMB_SHA1_ONE_BLOCK(mgr, block, state);
                break;
        case BY_SHA256:
                IMB_SHA256_ONE_BLOCK(mgr, block, state);
                break;
        case BY_SHA384:
                IMB_SHA384_ONE_BLOCK(mgr, block, state);
                break;
        case BY_SHA512:
                IMB_SHA512_ONE_BLOCK(mgr, block, state);
                break;
        }
}

/* Returns a key for peer_ipsec_mb_key_free, or NULL when key_len is more than a block of the hash. */
void *peer_ipsec_mb_hmac_key(void *mgr_, int hash, const uint8_t *bytes, size_t key_len)
{
        IMB_MGR *mgr = mgr_;
        const size_t block_len = hash == BY_SHA384 || hash == BY_SHA512 ? 128 : 64;
        uint8_t block[128];
        struct hmac_key *key;

        if (key_len > block_len)
                return NULL;
        key = aligned_alloc(64, sizeof *key);
        if (key == NULL)
                return NULL;
        memset(block, 0x36, sizeof block);
        for (size_t i = 0; i < key_len; i++)
                block[i] ^= bytes[i];
        one_block(mgr, hash, block, key->inner);
        for (size_t i = 0; i < sizeof block; i++)
                block[i] ^= 0x36 ^ 0x5c;
        one_block(mgr, hash, block, key->outer);
        return key;
}

static const IMB_CIPHER_MODE CIPHERS[] = { IMB_CIPHER_CNTR, IMB_CIPHER_CBC, IMB_CIPHER_GCM,
                                           IMB_CIPHER_DES3 };
static const IMB_HASH_ALG HASHES[] = { IMB_AUTH_NULL,        IMB_AUTH_MD5,
                                       IMB_AUTH_HMAC_SHA_1,  IMB_AUTH_HMAC_SHA_256,
                                       IMB_AUTH_HMAC_SHA_384, IMB_AUTH_HMAC_SHA_512 };

/* What a burst of one cipher reads. */
static inline void fill_cipher(IMB_JOB *job, const struct batch *batch, const struct packet *packet)
{
        job->src = packet->src;
        job->dst = packet->dst + packet->hashed_before;
        job->key_len_in_bytes = batch->key_len;
        job->iv = packet->iv;
        job->cipher_start_src_offset_in_bytes = packet->hashed_before;
        job->msg_len_to_cipher_in_bytes = packet->len;
        if (batch->cipher == BY_GCM) {
                job->enc_keys = packet->key;
                job->dec_keys = packet->key;
                job->iv_len_in_bytes = 12;
        } else if (batch->cipher == BY_DES3) {
                const struct des3_key *key = packet->key;

                job->enc_keys = key->schedules;
                job->dec_keys = key->schedules;
                job->iv_len_in_bytes = 8;
        } else {
                const struct aes_key *key = packet->key;

                job->enc_keys = key->enc;
                job->dec_keys = key->dec;
                job->iv_len_in_bytes = 16;
        }
}

static inline void fill(IMB_JOB *job, const struct batch *batch, const struct packet *packet)
{
        fill_cipher(job, batch, packet);
        job->cipher_mode = CIPHERS[batch->cipher];
        job->cipher_direction = batch->open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
        job->chain_order = batch->open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = packet->hashed_before + packet->len;
        job->auth_tag_output = packet->tag;
        job->auth_tag_output_len_in_bytes = packet->tag_len;
        if (batch->cipher == BY_GCM) {
                job->hash_alg = IMB_AUTH_AES_GMAC;
                job->u.GCM.aad = packet->aad;
                job->u.GCM.aad_len_in_bytes = packet->aad_len;
        } else {
                job->hash_alg = HASHES[batch->hash];
                if (batch->hash != BY_NONE) {
                        const struct hmac_key *mac = packet->mac;

                        job->u.HMAC._hashed_auth_key_xor_ipad = mac->inner;
                        job->u.HMAC._hashed_auth_key_xor_opad = mac->outer;
                }
        }
}

/* Job by job. Returns how many were completed. */
size_t peer_ipsec_mb_jobs(void *mgr_, const struct batch *batch)
{
        IMB_MGR *mgr = mgr_;
        size_t done = 0;
        IMB_JOB *job;

        for (size_t i = 0; i < batch->count; i++) {
                fill(IMB_GET_NEXT_JOB(mgr), batch, &batch->packets[i]);
                job = IMB_SUBMIT_JOB_NOCHECK(mgr);
                while (job != NULL) {
                        done += job->status == IMB_STATUS_COMPLETED;
                        job = IMB_GET_COMPLETED_JOB(mgr);
                }
        }
        while ((job = IMB_FLUSH_JOB(mgr)) != NULL)
                done += job->status == IMB_STATUS_COMPLETED;
        return done;
}

/* In bursts. */
size_t peer_ipsec_mb_burst(void *mgr_, const struct batch *batch)
{
        IMB_MGR *mgr = mgr_;
        IMB_JOB *jobs[IMB_MAX_BURST_SIZE];
        size_t begun = 0, done = 0;

        while (begun < batch->count) {
                const size_t left = batch->count - begun;
                const uint32_t most =
                        left < IMB_MAX_BURST_SIZE ? (uint32_t) left : IMB_MAX_BURST_SIZE;
                const uint32_t got = IMB_GET_NEXT_BURST(mgr, most, jobs);

                if (got == 0)
                        return done;
                for (uint32_t i = 0; i < got; i++)
                        fill(jobs[i], batch, &batch->packets[begun + i]);
                done += IMB_SUBMIT_BURST_NOCHECK(mgr, got, jobs);
                begun += got;
        }
        while (done < batch->count) {
                const uint32_t ended = IMB_FLUSH_BURST(mgr, IMB_MAX_BURST_SIZE, jobs);

                if (ended == 0)
                        break;
                done += ended;
        }
        return done;
}

/* In bursts of one cipher: CTR and CBC without a hash. */
size_t peer_ipsec_mb_cipher_burst(void *mgr_, const struct batch *batch)
{
        IMB_MGR *mgr = mgr_;
        IMB_JOB jobs[IMB_MAX_BURST_SIZE];
        size_t done = 0;

        while (done < batch->count) {
                const size_t left = batch->count - done;
                const uint32_t count =
                        left < IMB_MAX_BURST_SIZE ? (uint32_t) left : IMB_MAX_BURST_SIZE;

                for (uint32_t i = 0; i < count; i++)
                        fill_cipher(&jobs[i], batch, &batch->packets[done + i]);
                if (IMB_SUBMIT_CIPHER_BURST_NOCHECK(mgr, jobs, count, CIPHERS[batch->cipher],
                                                    batch->open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT,
                                                    (IMB_KEY_SIZE_BYTES) batch->key_len) != count)
                        break;
                done += count;
        }
        return done;
}

/* AES-GCM by the direct calls. What is opened has its tag written, for the caller to compare. */
size_t peer_ipsec_mb_gcm_direct(void *mgr_, const struct batch *batch)
{
        IMB_MGR *mgr = mgr_;
        struct gcm_context_data ctx;
        aes_gcm_enc_dec_t run;

        if (batch->key_len == 16)
                run = batch->open ? mgr->gcm128_dec : mgr->gcm128_enc;
        else
                run = batch->open ? mgr->gcm256_dec : mgr->gcm256_enc;
        for (size_t i = 0; i < batch->count; i++) {
                const struct packet *packet = &batch->packets[i];

                run(packet->key, &ctx, packet->dst, packet->src, packet->len, packet->iv,
                    packet->aad, packet->aad_len, packet->tag, packet->tag_len);
        }
        return batch->count;
}
