/* Calls that a program should not make: each gives an error and leaves everything as it was. */
#include <oarlock.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IS(call, expected) is(call, expected, #call, __LINE__)

static void is(int outcome, int expected, const char *call, int line)
{
    if (outcome != expected) {
        fprintf(stderr, "line %d: %s is %d (%s: %s), not %d\n", line, call, outcome, oarlock_strerror(outcome),
                oarlock_error_detail(), expected);
        exit(1);
    }
}

static void holds(int condition, const char *what, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s does not hold\n", line, what);
        exit(1);
    }
}

#define HOLDS(condition) holds(condition, #condition, __LINE__)
#define HUGE_BYTES ((size_t)-1 / 2 + 2)

static oarlock_accelerator *accelerator;
static oarlock_cipher *cipher;
static oarlock_aead *aead;
static oarlock_rsa_private *private_key;
static oarlock_rsa_public *public_key;
static oarlock_queue *queue;
static oarlock_modexp *modulus;
static oarlock_framework *framework;
static oarlock_session *session;
static unsigned char data[4096], other[4096], tag[16], key[32];

static char *key_text;
static size_t key_bytes;

static oarlock_job *a_job(void)
{
    oarlock_job *job;

    IS(oarlock_rsa_submit_sign(private_key, &job, "pkcs1-sha256", "m", 1, NULL), 0);
    return job;
}

static void set_up(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct oarlock_session_spec spec;

    memset(&spec, 0, sizeof spec);
    spec.service = OARLOCK_SERVICE_MAC;
    spec.hash = "sha256";
    spec.mac_key = key;
    spec.mac_key_bytes = sizeof key;
    spec.tag_bytes = 16;

    key_text = malloc(16384);
    key_bytes = fread(key_text, 1, 16384, file);
    fclose(file);
    IS(oarlock_accelerator_new(&accelerator, "max_threads=1"), 0);
    IS(oarlock_cipher_new(accelerator, &cipher, "aes-128-ctr"), 0);
    IS(oarlock_aead_new(accelerator, &aead, "chacha20-poly1305", key, 32), 0);
    IS(oarlock_rsa_private_new(accelerator, &private_key, key_text, key_bytes), 0);
    IS(oarlock_rsa_public_of(private_key, &public_key), 0);
    IS(oarlock_queue_new(&queue, 1), 0);
    IS(oarlock_modexp_new(accelerator, &modulus, "\xf1\x01", 2), 0);
    IS(oarlock_framework_new(accelerator, &framework), 0);
    IS(oarlock_session_new(framework, &session, &spec), 0);
}

static void tear_down(void)
{
    IS(oarlock_cipher_free(cipher), 0);
    IS(oarlock_aead_free(aead), 0);
    IS(oarlock_rsa_private_free(private_key), 0);
    IS(oarlock_rsa_public_free(public_key), 0);
    IS(oarlock_queue_free(queue), 0);
    IS(oarlock_modexp_free(modulus), 0);
    IS(oarlock_session_free(session), 0);
    IS(oarlock_framework_free(framework), 0);
    IS(oarlock_accelerator_free(accelerator), 0);
    free(key_text);
}

/* Each handle as NULL, and as what was freed. */
static void handles(oarlock_accelerator *a, oarlock_cipher *c, oarlock_aead *e, oarlock_rsa_private *s,
                    oarlock_rsa_public *p, oarlock_queue *q, oarlock_modexp *m, oarlock_job *j, oarlock_framework *f,
                    oarlock_session *w)
{
    const int H = OARLOCK_E_HANDLE;
    size_t bytes = sizeof other;
    struct oarlock_stats stats;
    oarlock_cipher *new_cipher = (oarlock_cipher *)data;
    oarlock_aead *new_aead;
    oarlock_rsa_private *new_private;
    oarlock_rsa_public *new_public;
    oarlock_modexp *new_modulus;
    oarlock_framework *new_framework;
    oarlock_session *new_session;
    struct oarlock_session_spec spec;
    oarlock_job *job;
    int error, fd;

    IS(oarlock_accelerator_set_options(a, "spin=on"), H);
    IS(oarlock_accelerator_options(a, (char *)other, &bytes), H);
    IS(oarlock_accelerator_device(a, (char *)other, &bytes, 0), H);
    IS(oarlock_accelerator_stats(a, &stats, NULL), H);
    IS(oarlock_cipher_new(a, &new_cipher, "aes-128-ctr"), H);
    HOLDS(new_cipher == NULL);
    IS(oarlock_aead_new(a, &new_aead, "aes-128-gcm", key, 16), H);
    IS(oarlock_rsa_private_new(a, &new_private, key_text, key_bytes), H);
    IS(oarlock_rsa_public_new(a, &new_public, key_text, key_bytes), H);
    IS(oarlock_modexp_new(a, &new_modulus, "\3", 1), H);
    IS(oarlock_cipher_set_key(c, key, 16), H);
    IS(oarlock_cipher_set_iv(c, key, 16), H);
    IS(oarlock_cipher_encrypt(c, other, data, 16, key), H);
    IS(oarlock_cipher_decrypt(c, other, data, 16, key), H);
    IS(oarlock_cipher_seek(c, 0), H);
    IS(oarlock_cipher_prefill(c, &bytes, 0), H);
    IS(oarlock_aead_seal(e, other, tag, key, 12, NULL, 0, data, 16), H);
    IS(oarlock_aead_open(e, other, tag, key, 12, NULL, 0, data, 16), H);
    IS(oarlock_rsa_public_of(s, &new_public), H);
    IS(oarlock_rsa_private_bytes(s, &bytes), H);
    IS(oarlock_rsa_public_bytes(p, &bytes), H);
    IS(oarlock_rsa_sign(s, other, &bytes, "pss-sha256", data, 1), H);
    IS(oarlock_rsa_sign_digest(s, other, &bytes, "pss-sha256", data, 32), H);
    IS(oarlock_rsa_verify(p, "pss-sha256", data, 1, data, 256), H);
    IS(oarlock_rsa_verify_digest(p, "pss-sha256", data, 32, data, 256), H);
    IS(oarlock_rsa_encrypt(p, other, &bytes, "pkcs1", data, 1), H);
    IS(oarlock_rsa_decrypt(s, other, &bytes, "pkcs1", data, 256), H);
    IS(oarlock_rsa_submit_sign(s, &job, "pss-sha256", data, 1, NULL), H);
    IS(oarlock_rsa_submit_sign_digest(s, &job, "pss-sha256", data, 32, NULL), H);
    IS(oarlock_rsa_submit_decrypt(s, &job, "pkcs1", data, 256, NULL), H);
    IS(oarlock_rsa_submit_verify(p, &job, "pss-sha256", data, 1, data, 256, NULL), H);
    HOLDS(job == NULL);
    IS(oarlock_modexp_power(m, other, &bytes, "\3", 1, "\3", 1), H);
    IS(oarlock_modexp_submit(m, &job, "\3", 1, "\3", 1, NULL), H);
    IS(oarlock_framework_new(a, &new_framework), H);
    IS(oarlock_framework_register(f, (void *)data, NULL, NULL, 0), H);
    IS(oarlock_framework_load(f, "/nowhere", NULL, NULL, 0), H);
    IS(oarlock_framework_submit_sign(f, s, &job, "pss-sha256", data, 1), H);
    IS(oarlock_framework_submit_sign(framework, s, &job, "pss-sha256", data, 1), H);
    IS(oarlock_framework_submit_sign_digest(f, s, &job, "pss-sha256", data, 32), H);
    IS(oarlock_framework_submit_decrypt(f, s, &job, "pkcs1", data, 256), H);
    IS(oarlock_framework_submit_power(f, &job, "\3", 1, "\3", 1, "\3", 1), H);
    IS(oarlock_framework_withdraw(f, "nobody"), H);
    IS(oarlock_framework_device(f, (char *)other, &bytes, 0), H);
    memset(&spec, 0, sizeof spec);
    IS(oarlock_session_new(f, &new_session, &spec), H);
    IS(oarlock_session_run(w, other, 64, NULL), H);
    IS(oarlock_session_submit(w, &job, other, 64, NULL), H);
    IS(oarlock_job_wait(j, other, &bytes), H);
    IS(oarlock_job_try(j, other, &bytes), H);
    IS(oarlock_job_cancel(j, &error), H);
    IS(oarlock_job_on_completion(j, (oarlock_job_callback *)abort, NULL), H);
    IS(oarlock_queue_push(queue, j, NULL), H);
    IS(oarlock_queue_push(q, NULL, NULL), H);
    IS(oarlock_queue_fd(q, &fd), H);
    IS(oarlock_queue_next(q, NULL, &error, other, &bytes, 1), H);
    if (a != NULL) {
        IS(oarlock_accelerator_free(a), H);
        IS(oarlock_cipher_free(c), H);
        IS(oarlock_aead_free(e), H);
        IS(oarlock_rsa_private_free(s), H);
        IS(oarlock_rsa_public_free(p), H);
        IS(oarlock_queue_free(q), H);
        IS(oarlock_modexp_free(m), H);
        IS(oarlock_job_free(j), H);
        IS(oarlock_framework_free(f), H);
        IS(oarlock_session_free(w), H);
    } else {
        /* As free(NULL). */
        IS(oarlock_accelerator_free(a), 0);
        IS(oarlock_cipher_free(c), 0);
        IS(oarlock_aead_free(e), 0);
        IS(oarlock_rsa_private_free(s), 0);
        IS(oarlock_rsa_public_free(p), 0);
        IS(oarlock_queue_free(q), 0);
        IS(oarlock_modexp_free(m), 0);
        IS(oarlock_job_free(j), 0);
        IS(oarlock_framework_free(f), 0);
        IS(oarlock_session_free(w), 0);
    }
}

/* Everything but the handles as NULL, or of a length that cannot be. */
static void arguments(void)
{
    const int A = OARLOCK_E_ARGUMENT;
    size_t bytes = sizeof other, none = 0, huge = HUGE_BYTES;
    struct oarlock_algorithm description;
    struct oarlock_stats stats;
    oarlock_accelerator *new_accelerator;
    oarlock_cipher *new_cipher;
    oarlock_aead *new_aead;
    oarlock_rsa_private *new_private;
    oarlock_rsa_public *new_public;
    oarlock_modexp *new_modulus;
    oarlock_session *new_session;
    struct oarlock_session_spec spec;
    struct oarlock_request request;
    oarlock_job *job = a_job();
    int error;

    IS(oarlock_accelerator_new(NULL, NULL), A);
    IS(oarlock_accelerator_new(&new_accelerator, "max_threads=many"), OARLOCK_E_OPTION);
    HOLDS(new_accelerator == NULL);
    IS(oarlock_accelerator_set_options(accelerator, NULL), A);
    IS(oarlock_accelerator_set_options(accelerator, "color=red"), OARLOCK_E_OPTION);
    IS(oarlock_accelerator_options(accelerator, NULL, NULL), A);
    IS(oarlock_accelerator_options(accelerator, NULL, &bytes), A);
    IS(oarlock_accelerator_options(accelerator, (char *)other, &none), OARLOCK_E_BUFFER);
    HOLDS(none > 100);
    IS(oarlock_accelerator_options(accelerator, (char *)other, &none), 0);
    HOLDS(none == strlen((char *)other) + 1);
    IS(oarlock_accelerator_device(accelerator, (char *)other, &bytes, 1000), A);
    IS(oarlock_accelerator_stats(accelerator, NULL, NULL), A);
    IS(oarlock_accelerator_stats(accelerator, &stats, "rot13"), A);
    IS(oarlock_algorithm_describe(&description, NULL), A);
    IS(oarlock_algorithm_describe(NULL, "aes-128-ctr"), A);
    IS(oarlock_algorithm_describe(&description, "\xff"), A);
    HOLDS(oarlock_algorithm_name((size_t)-1) == NULL);
    IS(oarlock_cipher_new(accelerator, NULL, "aes-128-ctr"), A);
    IS(oarlock_cipher_new(accelerator, &new_cipher, NULL), A);
    IS(oarlock_cipher_new(accelerator, &new_cipher, "aes-128-gcm"), A);
    IS(oarlock_cipher_set_iv(cipher, key, 16), OARLOCK_E_STATE);
    IS(oarlock_cipher_encrypt(cipher, other, data, 16, NULL), OARLOCK_E_STATE);
    IS(oarlock_cipher_seek(cipher, 0), OARLOCK_E_STATE);
    IS(oarlock_cipher_set_key(cipher, NULL, 16), A);
    IS(oarlock_cipher_set_key(cipher, key, huge), A);
    IS(oarlock_cipher_set_key(cipher, key, 17), OARLOCK_E_KEY);
    IS(oarlock_cipher_set_key(cipher, NULL, 0), OARLOCK_E_KEY);
    IS(oarlock_cipher_set_key(cipher, key, 16), 0);
    IS(oarlock_cipher_encrypt(cipher, other, data, 16, NULL), OARLOCK_E_STATE);
    IS(oarlock_cipher_set_iv(cipher, key, 15), A);
    IS(oarlock_cipher_set_iv(cipher, NULL, 16), A);
    IS(oarlock_cipher_set_iv(cipher, key, 16), 0);
    IS(oarlock_cipher_encrypt(cipher, NULL, data, 16, NULL), A);
    IS(oarlock_cipher_encrypt(cipher, other, NULL, 16, NULL), A);
    IS(oarlock_cipher_encrypt(cipher, other, data, huge, NULL), A);
    IS(oarlock_cipher_encrypt(cipher, NULL, NULL, 0, NULL), 0);
    IS(oarlock_cipher_encrypt(cipher, data + 1, data, 16, NULL), OARLOCK_E_OVERLAP);
    IS(oarlock_cipher_encrypt(cipher, data, data + 15, 16, NULL), OARLOCK_E_OVERLAP);
    IS(oarlock_cipher_encrypt(cipher, data + 16, data, 16, NULL), 0);
    IS(oarlock_cipher_prefill(cipher, NULL, 1000), 0);
    IS(oarlock_aead_new(accelerator, NULL, "aes-128-gcm", key, 16), A);
    IS(oarlock_aead_new(accelerator, &new_aead, NULL, key, 16), A);
    IS(oarlock_aead_new(accelerator, &new_aead, "aes-128-gcm", NULL, 16), A);
    IS(oarlock_aead_new(accelerator, &new_aead, "aes-128-gcm", key, 15), OARLOCK_E_KEY);
    IS(oarlock_aead_new(accelerator, &new_aead, "aes-128-ctr", key, 16), A);
    IS(oarlock_aead_seal(aead, NULL, tag, key, 12, NULL, 0, data, 16), A);
    IS(oarlock_aead_seal(aead, other, NULL, key, 12, NULL, 0, data, 16), A);
    IS(oarlock_aead_seal(aead, other, tag, NULL, 12, NULL, 0, data, 16), A);
    IS(oarlock_aead_seal(aead, other, tag, key, 11, NULL, 0, data, 16), A);
    IS(oarlock_aead_seal(aead, other, tag, key, 12, NULL, 1, data, 16), A);
    IS(oarlock_aead_seal(aead, other, tag, key, 12, NULL, 0, NULL, 16), A);
    IS(oarlock_aead_seal(aead, other, tag, key, 12, NULL, 0, data, huge), A);
    IS(oarlock_aead_seal(aead, other, other + 8, key, 12, NULL, 0, data, 16), OARLOCK_E_OVERLAP);
    IS(oarlock_aead_seal(aead, data, tag, data + 8, 12, NULL, 0, data, 16), OARLOCK_E_OVERLAP);
    IS(oarlock_aead_seal(aead, data, tag, key, 12, data + 15, 8, data, 16), OARLOCK_E_OVERLAP);
    IS(oarlock_aead_open(aead, data, data + 8, key, 12, NULL, 0, data, 16), OARLOCK_E_OVERLAP);
    IS(oarlock_aead_open(aead, other, NULL, key, 12, NULL, 0, data, 16), A);
    memset(other, 7, 16);
    IS(oarlock_aead_open(aead, other, tag, key, 12, NULL, 0, data, 16), OARLOCK_E_AUTHENTICATION);
    HOLDS(other[0] == 0 && other[15] == 0);
    IS(oarlock_aead_seal(aead, NULL, tag, key, 12, NULL, 0, NULL, 0), 0);
    IS(oarlock_aead_open(aead, NULL, tag, key, 12, NULL, 0, NULL, 0), 0);
    IS(oarlock_rsa_private_new(accelerator, NULL, key_text, key_bytes), A);
    IS(oarlock_rsa_private_new(accelerator, &new_private, NULL, key_bytes), A);
    IS(oarlock_rsa_private_new(accelerator, &new_private, key_text, key_bytes / 2), OARLOCK_E_KEY);
    IS(oarlock_rsa_private_new(accelerator, &new_private, data, 100), OARLOCK_E_KEY);
    IS(oarlock_rsa_private_new(accelerator, &new_private, NULL, 0), OARLOCK_E_KEY);
    IS(oarlock_rsa_public_new(accelerator, &new_public, data, 100), OARLOCK_E_KEY);
    IS(oarlock_rsa_public_of(private_key, NULL), A);
    IS(oarlock_rsa_private_bytes(private_key, NULL), A);
    IS(oarlock_rsa_public_bytes(public_key, NULL), A);
    IS(oarlock_rsa_sign(private_key, other, NULL, "pss-sha256", data, 1), A);
    bytes = 10;
    IS(oarlock_rsa_sign(private_key, other, &bytes, "pss-sha256", data, 1), OARLOCK_E_BUFFER);
    HOLDS(bytes == 256);
    IS(oarlock_rsa_sign(private_key, NULL, &bytes, "pss-sha256", data, 1), A);
    IS(oarlock_rsa_sign(private_key, other, &bytes, NULL, data, 1), A);
    IS(oarlock_rsa_sign(private_key, other, &bytes, "pss-md5", data, 1), A);
    IS(oarlock_rsa_sign(private_key, other, &bytes, "pss-sha256", NULL, 1), A);
    IS(oarlock_rsa_sign_digest(private_key, other, &bytes, "pss-sha256", data, 31), A);
    IS(oarlock_rsa_verify(public_key, "pss-sha256", data, 1, data, 256), OARLOCK_E_SIGNATURE);
    IS(oarlock_rsa_verify(public_key, "pss-sha256", data, 1, NULL, 256), A);
    IS(oarlock_rsa_verify(public_key, "pss-sha256", data, 1, data, 0), OARLOCK_E_SIGNATURE);
    IS(oarlock_rsa_encrypt(public_key, other, &bytes, "pkcs1", data, 255), A);
    IS(oarlock_rsa_encrypt(public_key, other, &bytes, "oaep-sha3", data, 25), A);
    IS(oarlock_rsa_decrypt(private_key, other, &bytes, "oaep-sha256", data, 256), OARLOCK_E_DECRYPTION);
    bytes = 255;
    IS(oarlock_rsa_decrypt(private_key, other, &bytes, "oaep-sha256", data, 256), OARLOCK_E_BUFFER);
    IS(oarlock_rsa_submit_sign(private_key, NULL, "pss-sha256", data, 1, NULL), A);
    IS(oarlock_modexp_new(accelerator, &new_modulus, "\0", 1), A);
    IS(oarlock_modexp_new(accelerator, &new_modulus, NULL, 0), A);
    bytes = 1;
    IS(oarlock_modexp_power(modulus, other, &bytes, "\3", 1, "\3", 1), OARLOCK_E_BUFFER);
    IS(oarlock_modexp_power(modulus, other, &bytes, "\3", 1, "\3", 1), 0);
    HOLDS(bytes == 2 && other[1] == 27);
    IS(oarlock_job_wait(job, other, NULL), A);
    bytes = 256;
    IS(oarlock_job_wait(job, (char *)&bytes - 100, &bytes), OARLOCK_E_OVERLAP);
    bytes = 3;
    IS(oarlock_job_wait(job, other, &bytes), OARLOCK_E_BUFFER);
    HOLDS(bytes == 256);
    IS(oarlock_job_on_completion(job, NULL, NULL), A);
    IS(oarlock_queue_push(queue, job, NULL), OARLOCK_E_STATE);
    IS(oarlock_job_wait(job, other, &bytes), 0);
    IS(oarlock_job_wait(job, other, &bytes), OARLOCK_E_STATE);
    IS(oarlock_rsa_verify(public_key, "pkcs1-sha256", "m", 1, other, bytes), 0);
    IS(oarlock_job_free(job), 0);
    IS(oarlock_framework_new(accelerator, NULL), A);
    IS(oarlock_framework_register(framework, NULL, NULL, NULL, 0), A);
    IS(oarlock_framework_register(framework, (void *)data, NULL, NULL, 0), OARLOCK_E_DEVICE);
    IS(oarlock_framework_load(framework, NULL, NULL, NULL, 0), A);
    IS(oarlock_framework_load(framework, "/nowhere/at/all.so", NULL, NULL, 0), OARLOCK_E_DEVICE);
    IS(oarlock_framework_load(framework, "libm.so.6", NULL, NULL, 0), OARLOCK_E_DEVICE);
    IS(oarlock_framework_submit_sign(framework, private_key, NULL, "pss-sha256", data, 1), A);
    IS(oarlock_framework_submit_sign(framework, private_key, &job, NULL, data, 1), A);
    IS(oarlock_framework_submit_sign(framework, private_key, &job, "pss-sha1", data, 1), A);
    IS(oarlock_framework_submit_sign(framework, private_key, &job, "pss-sha256", NULL, 1), A);
    IS(oarlock_framework_submit_sign_digest(framework, private_key, &job, "pss-sha256", data, 31), A);
    IS(oarlock_framework_submit_decrypt(framework, private_key, &job, "oaep-sha3", data, 256), A);
    IS(oarlock_framework_submit_decrypt(framework, private_key, &job, "oaep-sha256", NULL, 256), A);
    IS(oarlock_framework_submit_power(framework, &job, "\4", 1, "\3", 1, "\3", 1), A);
    IS(oarlock_framework_submit_power(framework, &job, NULL, 1, "\3", 1, "\3", 1), A);
    HOLDS(job == NULL);
    memset(&spec, 0, sizeof spec);
    spec.service = OARLOCK_SERVICE_RANDOM + 1;
    IS(oarlock_session_new(framework, &new_session, &spec), A);
    spec.service = OARLOCK_SERVICE_RANDOM;
    IS(oarlock_session_new(framework, &new_session, &spec), 0);
    memset(other, 0, 64);
    IS(oarlock_session_run(new_session, other, 32, NULL), 0);
    HOLDS(memcmp(other, other + 32, 32) != 0 && other[32] == 0 && memcmp(other, other + 16, 16) != 0);
    IS(oarlock_session_free(new_session), 0);
    IS(oarlock_framework_withdraw(framework, NULL), A);
    IS(oarlock_framework_withdraw(framework, "nobody"), A);
    bytes = sizeof other;
    IS(oarlock_framework_device(framework, (char *)other, &bytes, 0), A);
    memset(&spec, 0, sizeof spec);
    IS(oarlock_session_new(framework, &new_session, NULL), A);
    IS(oarlock_session_new(framework, NULL, &spec), A);
    IS(oarlock_session_new(framework, &new_session, &spec), A);
    for (spec.service = 1; spec.service < 6; spec.service++) {
        /* Without names, and then without keys. */
        spec.cipher = spec.hash = NULL;
        IS(oarlock_session_new(framework, &new_session, &spec), A);
        spec.cipher = "aes-128-cbc";
        spec.hash = "sha256";
        error = oarlock_session_new(framework, &new_session, &spec);
        HOLDS(error == (spec.service == OARLOCK_SERVICE_DIGEST ? 0 : error) && (error == 0) == (new_session != NULL));
        IS(oarlock_session_free(new_session), 0);
    }
    IS(oarlock_session_run(session, NULL, 64, NULL), A);
    IS(oarlock_session_run(session, other, 15, NULL), A);
    IS(oarlock_session_run(session, other, huge, NULL), A);
    IS(oarlock_session_run(session, other, 16, NULL), 0);
    memset(&request, 0, sizeof request);
    request.decrypts = 1;
    IS(oarlock_session_run(session, other, 16, &request), 0);
    other[3] ^= 1;
    IS(oarlock_session_run(session, other, 16, &request), OARLOCK_E_AUTHENTICATION);
    request.iv_bytes = 17;
    IS(oarlock_session_run(session, other, 16, &request), A);
    IS(oarlock_session_submit(session, NULL, other, 16, NULL), A);
    IS(oarlock_session_submit(session, &job, other, 15, NULL), A);
    IS(oarlock_queue_new(NULL, 0), A);
    IS(oarlock_queue_fd(queue, NULL), A);
    IS(oarlock_queue_next(queue, NULL, NULL, other, &bytes, 0), A);
    IS(oarlock_queue_next(queue, NULL, &error, other, &bytes, 1), OARLOCK_E_EMPTY);
    IS(oarlock_queue_push(queue, a_job(), &error), 0);
    bytes = 0;
    IS(oarlock_queue_next(queue, NULL, &error, NULL, &bytes, 1), OARLOCK_E_BUFFER);
    IS(oarlock_queue_next(queue, NULL, &error, other, &bytes, 0), 0);
    HOLDS(error == 0 && bytes == 256);
    HOLDS(strlen(oarlock_strerror(-1000)) > 0 && strlen(oarlock_strerror(1000)) > 0);
}

/* Option strings cut at every byte. */
static void options(void)
{
    static const char whole[] = "min_threads=1,max_threads=2,strategy=stripe,prefetch_bytes=1048576,spin=off";
    char text[sizeof whole];
    size_t cut;
    oarlock_accelerator *one;
    int error;

    for (cut = 0; cut < sizeof whole; cut++) {
        memcpy(text, whole, cut);
        text[cut] = 0;
        error = oarlock_accelerator_new(&one, text);
        HOLDS(error == 0 || (error == OARLOCK_E_OPTION && one == NULL));
        HOLDS(error == 0 || strlen(oarlock_error_detail()) > 10);
        IS(oarlock_accelerator_free(one), 0);
    }
}

static void *use_all_at_once(void *unused)
{
    unsigned char mine[64], mine_tag[16];
    oarlock_job *job;
    int i, outcome;

    for (i = 0; i < 2000; i++) {
        outcome = oarlock_cipher_encrypt(cipher, mine, data, 64, key);
        HOLDS(outcome == 0 || outcome == OARLOCK_E_BUSY);
        IS(oarlock_aead_seal(aead, mine, mine_tag, key, 12, NULL, 0, data, 64), 0);
        IS(oarlock_aead_open(aead, mine, mine_tag, key, 12, NULL, 0, mine, 64), 0);
        if (i % 500 == 0) {
            job = a_job();
            outcome = oarlock_queue_push(queue, job, NULL);
            HOLDS(outcome == 0 || outcome == OARLOCK_E_BUSY);
            /* Of a queue that was busy, the job is still this thread's. */
            IS(oarlock_job_free(job), outcome == 0 ? OARLOCK_E_HANDLE : 0);
        }
    }
    return unused;
}

static void threads(void)
{
    pthread_t all[16];
    size_t i, bytes;
    int error;

    IS(oarlock_cipher_set_key(cipher, key, 16), 0);
    for (i = 0; i < 16; i++)
        HOLDS(pthread_create(&all[i], NULL, use_all_at_once, NULL) == 0);
    for (i = 0; i < 16; i++)
        pthread_join(all[i], NULL);
    do
        bytes = sizeof other;
    while (oarlock_queue_next(queue, NULL, &error, other, &bytes, 1) == 0);
}

/* A child has its parent's handles, and jobs that were not done are cancelled there. */
static void forks(void)
{
    unsigned char here[100], there[100];
    size_t bytes = sizeof other;
    int i, status, channel[2], descriptor, error, outcome;
    oarlock_queue *pushed;
    struct pollfd watched;
    pid_t child;

    IS(oarlock_cipher_encrypt(cipher, here, data, 100, key), 0);
    HOLDS(pipe(channel) == 0);
    /* Jobs that were looked at, and a descriptor that the parent goes on with. */
    IS(oarlock_queue_new(&pushed, 0), 0);
    IS(oarlock_queue_fd(pushed, &descriptor), 0);
    for (i = 0; i < 40; i++)
        IS(oarlock_queue_push(pushed, a_job(), NULL), 0);
    HOLDS(oarlock_queue_next(pushed, NULL, &error, NULL, (bytes = 0, &bytes), 0) != 0);
    child = fork();
    if (child == 0) {
        do {
            bytes = sizeof other;
            outcome = oarlock_queue_next(pushed, NULL, &error, other, &bytes, 1);
            HOLDS(outcome == OARLOCK_E_EMPTY || error == 0 || error == OARLOCK_E_CANCELLED);
        } while (outcome == 0);
        bytes = sizeof other;
        IS(oarlock_cipher_encrypt(cipher, there, data, 100, key), 0);
        IS(oarlock_rsa_sign(private_key, other, &bytes, "pss-sha512", data, 9), 0);
        IS(oarlock_rsa_verify(public_key, "pss-sha512", data, 9, other, bytes), 0);
        HOLDS(write(channel[1], there, 100) == 100);
        tear_down();
        _exit(0);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    HOLDS(read(channel[0], there, 100) == 100 && memcmp(here, there, 100) == 0);
    watched.fd = descriptor;
    watched.events = POLLIN;
    for (i = 0; i < 40;) {
        bytes = sizeof other;
        outcome = oarlock_queue_next(pushed, NULL, &error, other, &bytes, 0);
        if (outcome == 0)
            i++;
        else
            HOLDS(outcome == OARLOCK_E_AGAIN && poll(&watched, 1, 10000) == 1);
    }
    IS(oarlock_queue_free(pushed), 0);
    close(channel[0]);
    close(channel[1]);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* A wait goes on when a signal has been seen to. */
static void interrupted(void)
{
    struct sigaction action;
    size_t bytes = sizeof other;
    oarlock_job *jobs[64];
    int i;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGALRM, &action, NULL);
    ualarm(500, 500);
    while (signals < 20) {
        for (i = 0; i < 64; i++)
            jobs[i] = a_job();
        for (i = 63; i >= 0; i--) {
            bytes = sizeof other;
            IS(oarlock_job_wait(jobs[i], other, &bytes), 0);
            IS(oarlock_job_free(jobs[i]), 0);
        }
    }
    ualarm(0, 0);
}

struct called {
    oarlock_accelerator *accelerator;
    int times;
    pthread_mutex_t lock;
    pthread_cond_t more;
};

/* From inside: every kind of call, the freeing of what is in use included. */
static void on_completion(void *context, int error, const void *result, size_t bytes)
{
    struct called *called = context;
    size_t room = 256;
    unsigned char signature[256];
    oarlock_rsa_private *mine;
    oarlock_job *job;

    HOLDS(error == 0 && bytes == 256 && result != NULL);
    IS(oarlock_rsa_private_new(called->accelerator, &mine, key_text, key_bytes), 0);
    IS(oarlock_rsa_sign(mine, signature, &room, "pkcs1-sha256", "m", 1), 0);
    HOLDS(memcmp(signature, result, 256) == 0);
    IS(oarlock_rsa_submit_sign(mine, &job, "pkcs1-sha256", "m", 1, NULL), 0);
    IS(oarlock_job_free(job), 0);
    IS(oarlock_rsa_private_free(mine), 0);
    pthread_mutex_lock(&called->lock);
    called->times++;
    pthread_cond_signal(&called->more);
    pthread_mutex_unlock(&called->lock);
}

static void callbacks(void)
{
    const char *all[] = {"max_threads=0", "max_threads=1", "max_threads=4"};
    struct called called;
    oarlock_rsa_private *mine;
    oarlock_job *job;
    size_t i;
    int j;

    for (i = 0; i < 3; i++) {
        IS(oarlock_accelerator_new(&called.accelerator, all[i]), 0);
        IS(oarlock_rsa_private_new(called.accelerator, &mine, key_text, key_bytes), 0);
        called.times = 0;
        pthread_mutex_init(&called.lock, NULL);
        pthread_cond_init(&called.more, NULL);
        for (j = 0; j < 10; j++) {
            IS(oarlock_rsa_submit_sign(mine, &job, "pkcs1-sha256", "m", 1, NULL), 0);
            IS(oarlock_job_on_completion(job, on_completion, &called), 0);
            IS(oarlock_job_free(job), OARLOCK_E_HANDLE);
        }
        pthread_mutex_lock(&called.lock);
        while (called.times < 10)
            pthread_cond_wait(&called.more, &called.lock);
        pthread_mutex_unlock(&called.lock);
        IS(oarlock_rsa_private_free(mine), 0);
        IS(oarlock_accelerator_free(called.accelerator), 0);
    }
}

/* The last that is left of an accelerator is freed where its own thread computes. */
static void on_last(void *context, int error, const void *result, size_t bytes)
{
    struct called *called = context;

    (void)result;
    HOLDS(error == 0 && bytes == 256);
    IS(oarlock_rsa_private_free(private_key), 0);
    IS(oarlock_accelerator_free(called->accelerator), 0);
    pthread_mutex_lock(&called->lock);
    called->times = 1;
    pthread_cond_signal(&called->more);
    pthread_mutex_unlock(&called->lock);
}

static void freed_inside(void)
{
    const char *all[] = {"max_threads=0", "max_threads=1", "max_threads=4"};
    oarlock_rsa_private *kept = private_key;
    struct called called;
    oarlock_job *job;
    size_t i;

    for (i = 0; i < 3; i++) {
        IS(oarlock_accelerator_new(&called.accelerator, all[i]), 0);
        IS(oarlock_rsa_private_new(called.accelerator, &private_key, key_text, key_bytes), 0);
        called.times = 0;
        pthread_mutex_init(&called.lock, NULL);
        pthread_cond_init(&called.more, NULL);
        IS(oarlock_rsa_submit_sign(private_key, &job, "pkcs1-sha256", "m", 1, NULL), 0);
        IS(oarlock_job_on_completion(job, on_last, &called), 0);
        pthread_mutex_lock(&called.lock);
        while (called.times == 0)
            pthread_cond_wait(&called.more, &called.lock);
        pthread_mutex_unlock(&called.lock);
    }
    private_key = kept;
}

int main(int argc, char **argv)
{
    oarlock_job *job;
    (void)argc;

    set_up(argv[1]);
    handles(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    /* A handle of another kind, and a pointer that is none. */
    handles((void *)cipher, (void *)aead, (void *)private_key, (void *)public_key, (void *)queue, (void *)modulus,
            (void *)accelerator, (void *)cipher, (void *)session, (void *)framework);
    handles((void *)data, (void *)data, (void *)data, (void *)data, (void *)data, (void *)data, (void *)data,
            (void *)data, (void *)data, (void *)data);
    arguments();
    options();
    threads();
    forks();
    interrupted();
    callbacks();
    freed_inside();

    job = a_job();
    IS(oarlock_job_free(job), 0);
    IS(oarlock_job_free(job), OARLOCK_E_HANDLE);
    tear_down();
    set_up(argv[1]);
    {
        oarlock_accelerator *a = accelerator;
        oarlock_cipher *c = cipher;
        oarlock_aead *e = aead;
        oarlock_rsa_private *s = private_key;
        oarlock_rsa_public *p = public_key;
        oarlock_queue *q = queue;
        oarlock_modexp *m = modulus;
        oarlock_framework *f = framework;
        oarlock_session *w = session;

        tear_down();
        set_up(argv[1]);
        handles(a, c, e, s, p, q, m, job, f, w);
        tear_down();
    }
    puts("misuse was told");
    return 0;
}
