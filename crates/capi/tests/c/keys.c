/* Keys of every type: generated, written, read and used; and what is wrong is told. */
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

static void holds(int condition, const char *what, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s does not hold\n", line, what);
        exit(1);
    }
}

#define HOLDS(condition) holds(condition, #condition, __LINE__)

static oarlock_accelerator *accelerator;
static unsigned char out[8192], again[8192], signature[8192], digest[64];

struct type {
    const char *name;
    const char *scheme;     /* NULL where it does not sign */
    size_t signature_bytes; /* the most */
    size_t digest_bytes;    /* 0 where it signs whole messages alone */
    size_t secret_bytes;    /* 0 where it agrees on none and carries none */
    size_t ciphertext_bytes;
};

static const struct type types[] = {
    {"P-256", "ecdsa-sha256", 72, 32, 32, 0},
    {"P-384", "ecdsa-sha384", 104, 48, 48, 0},
    {"P-521", "ecdsa-sha512", 139, 64, 66, 0},
    {"Ed25519", "ed25519", 64, 0, 0, 0},
    {"X25519", NULL, 0, 0, 32, 0},
    {"ML-KEM-512", NULL, 0, 0, 32, 768},
    {"ML-KEM-768", NULL, 0, 0, 32, 1088},
    {"ML-KEM-1024", NULL, 0, 0, 32, 1568},
    {"ML-DSA-44", "ml-dsa", 2420, 0, 0, 0},
    {"ML-DSA-65", "ml-dsa:a context", 3309, 0, 0, 0},
    {"ML-DSA-87", "ml-dsa", 4627, 0, 0, 0},
};

#define TYPES (sizeof types / sizeof *types)

/* Both halves, as they come back from each format. */
static void written_and_read(const struct type *type, oarlock_private_key *private_key, oarlock_public_key *public_key)
{
    static const char *const private_formats[] = {"pkcs8-der", "pkcs8-pem", "raw"};
    static const char *const public_formats[] = {"spki-der", "spki-pem", "raw"};
    const char *name;
    int i;

    IS(oarlock_private_key_type(private_key, &name), 0);
    HOLDS(strcmp(name, type->name) == 0);
    IS(oarlock_public_key_type(public_key, &name), 0);
    HOLDS(strcmp(name, type->name) == 0);
    for (i = 0; i < 3; i++) {
        size_t bytes = 0, needed, again_bytes = sizeof again;
        oarlock_private_key *private_read;
        oarlock_public_key *public_read;

        IS(oarlock_private_key_write(private_key, NULL, &bytes, private_formats[i]), OARLOCK_E_BUFFER);
        needed = bytes;
        IS(oarlock_private_key_write(private_key, out, &bytes, private_formats[i]), 0);
        HOLDS(bytes == needed);
        if (i < 2)
            IS(oarlock_private_key_new(accelerator, &private_read, out, bytes), 0);
        else
            IS(oarlock_private_key_from_raw(accelerator, &private_read, type->name, out, bytes), 0);
        IS(oarlock_private_key_write(private_read, again, &again_bytes, private_formats[i]), 0);
        HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
        IS(oarlock_private_key_free(private_read), 0);

        bytes = sizeof out;
        again_bytes = sizeof again;
        IS(oarlock_public_key_write(public_key, out, &bytes, public_formats[i]), 0);
        if (i < 2)
            IS(oarlock_public_key_new(accelerator, &public_read, out, bytes), 0);
        else
            IS(oarlock_public_key_from_raw(accelerator, &public_read, type->name, out, bytes), 0);
        IS(oarlock_public_key_write(public_read, again, &again_bytes, public_formats[i]), 0);
        HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
        IS(oarlock_public_key_free(public_read), 0);
    }
}

static void result_of(oarlock_job *job, unsigned char *result, size_t *bytes)
{
    IS(oarlock_job_wait(job, result, bytes), 0);
    IS(oarlock_job_free(job), 0);
}

static void signs(const struct type *type, oarlock_private_key *private_key, oarlock_public_key *public_key)
{
    const char *scheme = type->scheme;
    size_t bytes = type->signature_bytes - 1;
    oarlock_job *job;

    IS(oarlock_key_sign(private_key, signature, &bytes, scheme, "message", 7), OARLOCK_E_BUFFER);
    HOLDS(bytes == type->signature_bytes);
    IS(oarlock_key_sign(private_key, signature, &bytes, scheme, "message", 7), 0);
    HOLDS(bytes <= type->signature_bytes);
    IS(oarlock_key_verify(public_key, scheme, "message", 7, signature, bytes), 0);
    IS(oarlock_key_verify(public_key, scheme, "another", 7, signature, bytes), OARLOCK_E_SIGNATURE);
    IS(oarlock_key_verify(public_key, scheme, "message", 7, signature, bytes - 1), OARLOCK_E_SIGNATURE);
    IS(oarlock_key_verify(public_key, "pss-sha256", "message", 7, signature, bytes), OARLOCK_E_ARGUMENT);
    if (strncmp(scheme, "ml-dsa", 6) == 0)
        IS(oarlock_key_verify(public_key, "ml-dsa:other", "message", 7, signature, bytes), OARLOCK_E_SIGNATURE);

    IS(oarlock_key_submit_verify(public_key, &job, scheme, "message", 7, signature, bytes, NULL), 0);
    bytes = 0;
    result_of(job, NULL, &bytes);
    bytes = sizeof signature;
    IS(oarlock_key_submit_sign(private_key, &job, scheme, "message", 7, NULL), 0);
    result_of(job, signature, &bytes);
    IS(oarlock_key_verify(public_key, scheme, "message", 7, signature, bytes), 0);
    IS(oarlock_key_submit_sign(private_key, &job, "pss-sha256", "message", 7, NULL), 0);
    bytes = sizeof signature;
    IS(oarlock_job_wait(job, signature, &bytes), OARLOCK_E_ARGUMENT);
    IS(oarlock_job_free(job), 0);

    bytes = sizeof signature;
    if (type->digest_bytes == 0) {
        IS(oarlock_key_sign_digest(private_key, signature, &bytes, scheme, digest, 32), OARLOCK_E_ARGUMENT);
        IS(oarlock_key_verify_digest(public_key, scheme, digest, 32, signature, 64), OARLOCK_E_ARGUMENT);
        return;
    }
    IS(oarlock_key_sign_digest(private_key, signature, &bytes, scheme, digest, type->digest_bytes), 0);
    IS(oarlock_key_verify_digest(public_key, scheme, digest, type->digest_bytes, signature, bytes), 0);
    IS(oarlock_key_verify_digest(public_key, scheme, digest, type->digest_bytes - 1, signature, bytes),
       OARLOCK_E_ARGUMENT);
    IS(oarlock_key_submit_sign_digest(private_key, &job, scheme, digest, type->digest_bytes, NULL), 0);
    bytes = sizeof signature;
    result_of(job, signature, &bytes);
    IS(oarlock_key_verify_digest(public_key, scheme, digest, type->digest_bytes, signature, bytes), 0);
}

static void agrees(const struct type *type, oarlock_private_key *ours, oarlock_public_key *our_public)
{
    oarlock_private_key *theirs;
    oarlock_public_key *their_public;
    size_t bytes = 0, again_bytes = sizeof again;
    oarlock_job *job;

    IS(oarlock_private_key_generate(accelerator, &theirs, type->name), 0);
    IS(oarlock_public_key_of(theirs, &their_public), 0);
    IS(oarlock_key_agree(ours, out, &bytes, their_public), OARLOCK_E_BUFFER);
    HOLDS(bytes == type->secret_bytes);
    IS(oarlock_key_agree(ours, out, &bytes, their_public), 0);
    IS(oarlock_key_agree(theirs, again, &again_bytes, our_public), 0);
    HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
    IS(oarlock_key_submit_agree(theirs, &job, our_public, NULL), 0);
    memset(again, 0, sizeof again);
    result_of(job, again, &again_bytes);
    HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
    IS(oarlock_private_key_free(theirs), 0);
    IS(oarlock_public_key_free(their_public), 0);
}

static void encapsulates(const struct type *type, oarlock_private_key *private_key, oarlock_public_key *public_key)
{
    size_t ciphertext_bytes = 0, bytes = 0, again_bytes = 0, lengths[8];
    oarlock_job *job;

    IS(oarlock_key_encapsulate(public_key, signature, &ciphertext_bytes, out, &bytes), OARLOCK_E_BUFFER);
    HOLDS(ciphertext_bytes == type->ciphertext_bytes && bytes == type->secret_bytes);
    /* A secret within what is sent, and a length within a result. */
    IS(oarlock_key_encapsulate(public_key, signature, &ciphertext_bytes, signature, &bytes), OARLOCK_E_OVERLAP);
    IS(oarlock_key_encapsulate(
           public_key, signature, &ciphertext_bytes, signature + ciphertext_bytes - 1, &bytes
       ), OARLOCK_E_OVERLAP);
    lengths[0] = ciphertext_bytes;
    IS(oarlock_key_encapsulate(public_key, out, &lengths[0], lengths, &bytes), OARLOCK_E_OVERLAP);
    IS(oarlock_key_encapsulate(
           public_key, signature, &ciphertext_bytes, signature + ciphertext_bytes, &bytes
       ), 0);
    IS(oarlock_key_encapsulate(public_key, signature, &ciphertext_bytes, out, &bytes), 0);
    IS(oarlock_key_decapsulate(private_key, again, &again_bytes, signature, ciphertext_bytes), OARLOCK_E_BUFFER);
    IS(oarlock_key_decapsulate(private_key, again, &again_bytes, signature, ciphertext_bytes), 0);
    HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
    IS(oarlock_key_decapsulate(private_key, again, &again_bytes, signature, ciphertext_bytes - 1),
       OARLOCK_E_ARGUMENT);
    IS(oarlock_key_submit_decapsulate(private_key, &job, signature, ciphertext_bytes, NULL), 0);
    memset(again, 0, sizeof again);
    result_of(job, again, &again_bytes);
    HOLDS(bytes == again_bytes && memcmp(out, again, bytes) == 0);
}

static void every_type(void)
{
    size_t i, bytes;

    for (i = 0; i < TYPES; i++) {
        const struct type *type = &types[i];
        oarlock_private_key *private_key;
        oarlock_public_key *public_key;

        IS(oarlock_private_key_generate(accelerator, &private_key, type->name), 0);
        IS(oarlock_public_key_of(private_key, &public_key), 0);
        written_and_read(type, private_key, public_key);
        bytes = sizeof signature;
        if (type->scheme != NULL)
            signs(type, private_key, public_key);
        else
            IS(oarlock_key_sign(private_key, signature, &bytes, "ed25519", "message", 7), OARLOCK_E_ARGUMENT);
        if (type->ciphertext_bytes != 0) {
            encapsulates(type, private_key, public_key);
        } else {
            size_t more = sizeof out;

            bytes = sizeof signature;
            IS(oarlock_key_encapsulate(public_key, signature, &bytes, out, &more), OARLOCK_E_ARGUMENT);
            IS(oarlock_key_decapsulate(private_key, out, &more, signature, 768), OARLOCK_E_ARGUMENT);
        }
        bytes = sizeof out;
        if (type->secret_bytes != 0 && type->ciphertext_bytes == 0)
            agrees(type, private_key, public_key);
        else
            IS(oarlock_key_agree(private_key, out, &bytes, public_key), OARLOCK_E_ARGUMENT);
        IS(oarlock_public_key_free(public_key), 0);
        IS(oarlock_private_key_free(private_key), 0);
    }
}

/* A key of RSA, by the same functions. */
static void rsa(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t bytes = fread(out, 1, sizeof out, file), again_bytes = sizeof again;
    oarlock_private_key *private_key;
    oarlock_public_key *public_key;
    oarlock_job *job;
    const char *name;

    fclose(file);
    IS(oarlock_private_key_new(accelerator, &private_key, out, bytes), 0);
    IS(oarlock_private_key_type(private_key, &name), 0);
    HOLDS(strcmp(name, "RSA") == 0);
    IS(oarlock_public_key_of(private_key, &public_key), 0);
    bytes = sizeof signature;
    IS(oarlock_key_sign(private_key, signature, &bytes, "pss-sha256", "message", 7), 0);
    IS(oarlock_key_verify(public_key, "pss-sha256", "message", 7, signature, bytes), 0);
    IS(oarlock_key_submit_sign(private_key, &job, "pkcs1-sha384", "message", 7, NULL), 0);
    bytes = sizeof signature;
    result_of(job, signature, &bytes);
    IS(oarlock_key_verify(public_key, "pkcs1-sha384", "message", 7, signature, bytes), 0);
    IS(oarlock_private_key_write(private_key, again, &again_bytes, "raw"), OARLOCK_E_ARGUMENT);
    IS(oarlock_private_key_write(private_key, again, &again_bytes, "pkcs8-der"), 0);
    IS(oarlock_private_key_free(private_key), 0);
    IS(oarlock_public_key_free(public_key), 0);
}

static void misuse(void)
{
    const int A = OARLOCK_E_ARGUMENT, H = OARLOCK_E_HANDLE;
    oarlock_private_key *private_key, *freed;
    oarlock_public_key *public_key;
    size_t bytes = sizeof out;
    const char *name;
    oarlock_job *job;

    IS(oarlock_private_key_generate(accelerator, &private_key, "P-224"), A);
    HOLDS(private_key == NULL && strstr(oarlock_error_detail(), "P-224") != NULL);
    IS(oarlock_private_key_generate(accelerator, &private_key, "RSA"), 0);
    IS(oarlock_private_key_free(private_key), 0);
    IS(oarlock_private_key_generate(accelerator, &private_key, NULL), A);
    IS(oarlock_private_key_generate(accelerator, NULL, "P-256"), A);
    IS(oarlock_private_key_generate(NULL, &private_key, "P-256"), H);
    IS(oarlock_private_key_new(accelerator, &private_key, "no key", 6), OARLOCK_E_KEY);
    IS(oarlock_private_key_new(accelerator, &private_key, NULL, 6), A);
    IS(oarlock_private_key_from_raw(accelerator, &private_key, "ed25519", out, 31), OARLOCK_E_KEY);
    HOLDS(private_key == NULL && strstr(oarlock_error_detail(), "31 bytes") != NULL);
    memset(out, 0, 32);
    IS(oarlock_private_key_from_raw(accelerator, &private_key, "p-256", out, 32), OARLOCK_E_KEY);
    IS(oarlock_public_key_from_raw(accelerator, &public_key, "p-256", out, 65), OARLOCK_E_KEY);
    IS(oarlock_public_key_new(accelerator, &public_key, "ssh-dss AAAA", 12), OARLOCK_E_KEY);
    HOLDS(public_key == NULL);
    IS(oarlock_public_key_from_raw(accelerator, &public_key, "x25519", out, 32), 0);
    IS(oarlock_private_key_generate(accelerator, &private_key, "x25519"), 0);
    IS(oarlock_key_agree(private_key, out, &bytes, public_key), OARLOCK_E_KEY);
    IS(oarlock_private_key_write(private_key, out, &bytes, "pem"), A);
    IS(oarlock_private_key_write(private_key, out, NULL, "raw"), A);
    IS(oarlock_private_key_write(private_key, out, &bytes, NULL), A);
    IS(oarlock_public_key_write(public_key, out, &bytes, "pkcs8-der"), A);
    IS(oarlock_key_sign(private_key, out, &bytes, "ecdsa-sha1", "m", 1), A);
    IS(oarlock_key_sign(private_key, out, &bytes, NULL, "m", 1), A);
    IS(oarlock_key_submit_sign(private_key, &job, "dsa", "m", 1, NULL), A);
    HOLDS(job == NULL);
    IS(oarlock_private_key_type(private_key, NULL), A);

    freed = private_key;
    IS(oarlock_private_key_free(private_key), 0);
    IS(oarlock_private_key_free(freed), H);
    IS(oarlock_private_key_type(freed, &name), H);
    IS(oarlock_key_sign(freed, out, &bytes, "ed25519", "m", 1), H);
    IS(oarlock_key_agree(freed, out, &bytes, public_key), H);
    IS(oarlock_key_verify((oarlock_public_key *)freed, "ed25519", "m", 1, out, 64), H);
    IS(oarlock_key_sign((oarlock_private_key *)public_key, out, &bytes, "ed25519", "m", 1), H);
    IS(oarlock_private_key_free(NULL), 0);
    IS(oarlock_public_key_free(NULL), 0);
    IS(oarlock_public_key_free(public_key), 0);
}

int main(int count, char **arguments)
{
    IS(oarlock_accelerator_new(&accelerator, "max_threads=1"), 0);
    every_type();
    if (count > 1)
        rsa(arguments[1]);
    misuse();
    IS(oarlock_accelerator_free(accelerator), 0);
    puts("keys of 11 types");
    return 0;
}
