/* Under reservation=exclusive each object keeps its threads once, is refused with OARLOCK_E_THREADS, and takes new keys. */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(call, expected) is(call, expected, #call, __LINE__)

static void is(int outcome, int expected, const char *call, int line)
{
    if (outcome != expected) {
        fprintf(stderr, "line %d: %s is %d (%s: %s), not %d\n", line, call, outcome, oarlock_strerror(outcome),
                oarlock_error_detail(), expected);
        exit(1);
    }
}

static oarlock_accelerator *accelerator;
static const unsigned char key[96] = "ninety-six bytes of keying material, of which every suite takes as many as it needs, from here";

/* The next object is refused, whatever it is. */
static void nothing_is_left(void)
{
    struct oarlock_esp_spec to_esp = {0};
    struct oarlock_srtp_spec to_srtp = {0};
    struct oarlock_tls_spec to_tls = {0};
    oarlock_cipher *cipher = NULL;
    oarlock_aead *aead = NULL;
    oarlock_esp *esp = NULL;
    oarlock_srtp *srtp = NULL;
    oarlock_tls *tls = NULL;

    IS(oarlock_cipher_new(accelerator, &cipher, "aes-128-ctr"), 0);
    IS(oarlock_cipher_set_key(cipher, key, 16), 0);
    IS(oarlock_cipher_set_iv(cipher, key, 16), OARLOCK_E_THREADS);
    IS(oarlock_cipher_free(cipher), 0);
    IS(oarlock_aead_new(accelerator, &aead, "aes-128-gcm", key, 16), OARLOCK_E_THREADS);
    to_esp.spi = 1, to_esp.cipher = "aes-128-gcm", to_esp.key = key, to_esp.key_bytes = 20;
    IS(oarlock_esp_new(accelerator, &esp, &to_esp), OARLOCK_E_THREADS);
    to_srtp.suite = "AES_CM_128_HMAC_SHA1_80", to_srtp.key = key, to_srtp.key_bytes = 30;
    IS(oarlock_srtp_new(accelerator, &srtp, &to_srtp), OARLOCK_E_THREADS);
    to_tls.suite = 0x1301, to_tls.secret = key, to_tls.secret_bytes = 32;
    IS(oarlock_tls_new(accelerator, &tls, &to_tls), OARLOCK_E_THREADS);
}

static void cipher(const char *algorithm)
{
    oarlock_cipher *cipher = NULL;
    int i;

    IS(oarlock_cipher_new(accelerator, &cipher, algorithm), 0);
    for (i = 0; i < 3; i++) {
        IS(oarlock_cipher_set_key(cipher, key, 16), 0);
        IS(oarlock_cipher_set_iv(cipher, key, 16), 0);
        nothing_is_left();
        IS(oarlock_cipher_set_iv(cipher, key + 1, 16), 0);
    }
    IS(oarlock_cipher_free(cipher), 0);
}

static void aead(const char *algorithm, size_t key_bytes)
{
    oarlock_aead *aead = NULL;

    IS(oarlock_aead_new(accelerator, &aead, algorithm, key, key_bytes), 0);
    nothing_is_left();
    IS(oarlock_aead_free(aead), 0);
}

static void esp(int opens, const char *cipher, const char *integrity, size_t key_bytes)
{
    struct oarlock_esp_spec spec = {0};
    oarlock_esp *esp = NULL;

    spec.opens = opens, spec.spi = 1, spec.cipher = cipher, spec.integrity = integrity;
    spec.key = key, spec.key_bytes = key_bytes;
    IS(oarlock_esp_new(accelerator, &esp, &spec), 0);
    nothing_is_left();
    IS(oarlock_esp_free(esp), 0);
}

static void srtp(int opens, const char *suite, size_t key_bytes)
{
    struct oarlock_srtp_spec spec = {0};
    oarlock_srtp *srtp = NULL;

    spec.opens = opens, spec.suite = suite, spec.key = key, spec.key_bytes = key_bytes;
    spec.mki = "a", spec.mki_bytes = 1;
    IS(oarlock_srtp_new(accelerator, &srtp, &spec), 0);
    IS(oarlock_srtp_add_key(srtp, "b", 1, key, key_bytes), 0);
    IS(oarlock_srtp_add_key(srtp, "c", 1, key, key_bytes), 0);
    nothing_is_left();
    IS(oarlock_srtp_free(srtp), 0);
}

static void tls(int opens, unsigned suite, size_t secret_bytes)
{
    struct oarlock_tls_spec spec = {0};
    oarlock_tls *tls = NULL;
    int i;

    spec.opens = opens, spec.suite = suite, spec.secret = key, spec.secret_bytes = secret_bytes;
    IS(oarlock_tls_new(accelerator, &tls, &spec), 0);
    for (i = 0; i < 3; i++) {
        IS(oarlock_tls_update(tls), 0);
        nothing_is_left();
    }
    IS(oarlock_tls_free(tls), 0);
}

int main(void)
{
    int opens;

    IS(oarlock_accelerator_new(&accelerator, "reservation=exclusive,max_threads=3,cipher_threads=2"), 0);
    cipher("aes-128-ctr");
    cipher("aes-128-cbc");
    cipher("camellia-128-ctr");
    aead("aes-128-gcm", 16);
    aead("chacha20-poly1305", 32);
    for (opens = 0; opens < 2; opens++) {
        esp(opens, "aes-128-gcm", NULL, 20);
        esp(opens, "chacha20-poly1305", NULL, 36);
        esp(opens, "aes-128-cbc", "hmac-sha1-96", 36);
        esp(opens, "aes-128-ctr", "hmac-sha256-128", 52);
        esp(opens, "null", "hmac-sha1-96", 20);
        srtp(opens, "AEAD_AES_128_GCM", 28);
        srtp(opens, "AES_CM_128_HMAC_SHA1_80", 30);
        srtp(opens, "SRTP_NULL_HMAC_SHA1_80", 30);
        tls(opens, 0x1301, 32);
        tls(opens, 0x1302, 48);
        tls(opens, 0x1303, 32);
    }
    IS(oarlock_accelerator_free(accelerator), 0);
    return 0;
}
