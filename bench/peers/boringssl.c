/*
 * BoringSSL behind names of its own, so that the harness can load it at run time together with OpenSSL and aws-lc,
 * whose functions have the same names. `cargo xtask peers boringssl` compiles this file and links BoringSSL into it,
 * hidden.
 *
 * These are the interfaces with the least around BoringSSL's kernels. What a pointer refers to is as long as the
 * length that goes with it says; input and output are the same place or do not overlap.
 */
#include <openssl/aead.h>
#include <openssl/aes.h>
#include <openssl/chacha.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/nid.h>
#include <openssl/rsa.h>
#include <stdint.h>
#include <stdlib.h>

const char *peer_boringssl_version(void)
{
        return PEER_VERSION;
}

/* Returns a schedule for peer_boringssl_aes_key_free, or NULL when key_len is not 16, 24 or 32. */
void *peer_boringssl_aes_key(const uint8_t *bytes, size_t key_len, int decrypt)
{
        AES_KEY *key = malloc(sizeof *key);
        const unsigned bits = (unsigned) key_len * 8;

        if (key == NULL)
                return NULL;
        if ((decrypt ? AES_set_decrypt_key(bytes, bits, key) : AES_set_encrypt_key(bytes, bits, key)) != 0) {
                free(key);
                return NULL;
        }
        return key;
}

void peer_boringssl_aes_key_free(void *key)
{
        free(key);
}

/* Goes on with a stream: counter, the keystream of a block that was begun, and how much of it is used. */
void peer_boringssl_ctr(const void *key, uint8_t counter[16], uint8_t keystream[16], unsigned *used,
                        uint8_t *data, size_t len)
{
        AES_ctr128_encrypt(data, data, len, key, counter, keystream, used);
}

/* len is a multiple of 16; iv becomes the last block of ciphertext. */
void peer_boringssl_cbc(const void *key, int decrypt, uint8_t iv[16], uint8_t *data, size_t len)
{
        AES_cbc_encrypt(data, data, len, key, iv, decrypt ? AES_DECRYPT : AES_ENCRYPT);
}

void peer_boringssl_chacha20(const uint8_t key[32], const uint8_t nonce[12], uint32_t counter, uint8_t *data,
                             size_t len)
{
        CRYPTO_chacha_20(data, data, len, key, nonce, counter);
}

/*
 * Returns a context for peer_boringssl_aead_free of AES-GCM, or where is_chacha says so of
 * ChaCha20-Poly1305; or NULL when it has no such key. It is kept from message to message.
 */
void *peer_boringssl_aead(int is_chacha, const uint8_t *bytes, size_t key_len)
{
        const EVP_AEAD *aead = is_chacha       ? EVP_aead_chacha20_poly1305()
                               : key_len == 16 ? EVP_aead_aes_128_gcm()
                                               : EVP_aead_aes_256_gcm();

        return EVP_AEAD_CTX_new(aead, bytes, key_len, EVP_AEAD_DEFAULT_TAG_LENGTH);
}

void peer_boringssl_aead_free(void *ctx)
{
        EVP_AEAD_CTX_free(ctx);
}

/* Returns 1 when data is sealed in place and tag has its 16 bytes. */
int peer_boringssl_seal(const void *ctx, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
                        uint8_t *data, size_t len, uint8_t tag[16])
{
        size_t tag_len = 0;

        return EVP_AEAD_CTX_seal_scatter(ctx, data, tag, &tag_len, 16, nonce, 12, data, len, NULL, 0, aad,
                                         aad_len) == 1 &&
               tag_len == 16;
}

/* Returns 1 when tag is right; out has the message then. */
int peer_boringssl_open(const void *ctx, const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
                        const uint8_t *in, uint8_t *out, size_t len, const uint8_t tag[16])
{
        const int is_right =
            EVP_AEAD_CTX_open_gather(ctx, out, nonce, 12, in, len, tag, 16, aad, aad_len);

        if (is_right != 1)
                ERR_clear_error();
        return is_right == 1;
}

/* Of an RSAPrivateKey. Returns a key for peer_boringssl_rsa_free, or NULL. */
void *peer_boringssl_rsa(const uint8_t *der, size_t len)
{
        RSA *rsa = RSA_private_key_from_bytes(der, len);

        if (rsa == NULL)
                ERR_clear_error();
        return rsa;
}

void peer_boringssl_rsa_free(void *rsa)
{
        RSA_free(rsa);
}

/* The private operation on a number of as many bytes as the modulus, len. Returns 1 when it is done. */
int peer_boringssl_rsa_private(void *rsa, const uint8_t *number, uint8_t *out, size_t len)
{
        size_t written = 0;

        return RSA_sign_raw(rsa, &written, out, len, number, len, RSA_NO_PADDING) == 1 && written == len;
}

/* PKCS #1 v1.5 with SHA-256. out has room for the bytes of the modulus, len. Returns 1 when it is done. */
int peer_boringssl_rsa_sign(void *rsa, const uint8_t digest[32], uint8_t *out, size_t len)
{
        unsigned written = 0;

        return RSA_sign(NID_sha256, digest, 32, out, &written, rsa) == 1 && written == len;
}

/* Returns 1 when the signature is right. */
int peer_boringssl_rsa_verify(void *rsa, const uint8_t digest[32], const uint8_t *signature, size_t len)
{
        const int is_right = RSA_verify(NID_sha256, digest, 32, signature, len, rsa);

        if (is_right != 1)
                ERR_clear_error();
        return is_right == 1;
}
