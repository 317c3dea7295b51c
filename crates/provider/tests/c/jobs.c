/* Runs operations in jobs (ASYNC_start_job(3)), each on a stack below which lies a page that nobody may touch. The arguments are
   pairs: a type of keys, and an operation. Prints each pair with how many bytes of the stack it used. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <openssl/async.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

/* What OpenSSL allocates for a job. */
enum { STACK_BYTES = 32768, PAGE_BYTES = 4096, STACKS_MAX = 16, UNTOUCHED = 0xa5 };

static unsigned char *stacks[STACKS_MAX];
static int count;

static void *allocate(size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    if (bytes != STACK_BYTES || count == STACKS_MAX)
        return malloc(bytes);
    unsigned char *base = mmap(NULL, PAGE_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base, PAGE_BYTES, PROT_NONE) != 0)
        return NULL;
    stacks[count] = memset(base + PAGE_BYTES, UNTOUCHED, STACK_BYTES);
    return stacks[count++];
}

static void *reallocate(void *memory, size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    return realloc(memory, bytes);
}

/* Stacks stay. */
static void release(void *memory, const char *file, int line) {
    (void)file, (void)line;
    for (int i = 0; i < count; i++)
        if (stacks[i] == memory)
            return;
    free(memory);
}

static size_t used(void) {
    size_t most = 0;
    for (int i = 0; i < count; i++) {
        size_t untouched = 0;
        while (untouched < STACK_BYTES && stacks[i][untouched] == UNTOUCHED)
            untouched++;
        if (STACK_BYTES - untouched > most)
            most = STACK_BYTES - untouched;
    }
    return most;
}

static EVP_PKEY *generate(const char *type) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, strncmp(type, "P-", 2) ? type : "EC", NULL);
    if (context != NULL && EVP_PKEY_keygen_init(context) == 1
        && (strncmp(type, "P-", 2) || EVP_PKEY_CTX_set_group_name(context, type) == 1))
        EVP_PKEY_generate(context, &key);
    EVP_PKEY_CTX_free(context);
    return key;
}

struct work {
    EVP_PKEY *key;
    const char *type, *operation;
};

static const unsigned char message[] = "message";

static int sign_and_verify(EVP_PKEY *key) {
    static unsigned char signature[8192];
    size_t bytes = sizeof signature;
    EVP_MD_CTX *signs = EVP_MD_CTX_new(), *verifies = EVP_MD_CTX_new();
    int done = EVP_DigestSignInit_ex(signs, NULL, NULL, NULL, NULL, key, NULL) == 1
        && EVP_DigestSign(signs, signature, &bytes, message, sizeof message) == 1
        && EVP_DigestVerifyInit_ex(verifies, NULL, NULL, NULL, NULL, key, NULL) == 1
        && EVP_DigestVerify(verifies, signature, bytes, message, sizeof message) == 1;
    EVP_MD_CTX_free(signs);
    EVP_MD_CTX_free(verifies);
    return done;
}

static int encapsulate_and_decapsulate(EVP_PKEY *key) {
    static unsigned char ciphertext[8192], secret[256], again[256];
    size_t bytes = sizeof ciphertext, secret_bytes = sizeof secret, again_bytes = sizeof again;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int done = EVP_PKEY_encapsulate_init(context, NULL) == 1
        && EVP_PKEY_encapsulate(context, ciphertext, &bytes, secret, &secret_bytes) == 1
        && EVP_PKEY_decapsulate_init(context, NULL) == 1
        && EVP_PKEY_decapsulate(context, again, &again_bytes, ciphertext, bytes) == 1
        && again_bytes == secret_bytes && memcmp(again, secret, secret_bytes) == 0;
    EVP_PKEY_CTX_free(context);
    return done;
}

static int job(void *argument) {
    struct work *work = *(struct work **)argument;
    if (strcmp(work->operation, "generate") == 0)
        return (work->key = generate(work->type)) != NULL;
    if (strcmp(work->operation, "sign") == 0)
        return sign_and_verify(work->key);
    return encapsulate_and_decapsulate(work->key);
}

int main(int argc, char **argv) {
    /* A program reads its configuration, and so loads its providers, before it starts jobs. */
    if (!CRYPTO_set_mem_functions(allocate, reallocate, release) || !OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL))
        return 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        struct work work = { NULL, argv[i], argv[i + 1] }, *at = &work;
        int result = 0, state;
        if (strcmp(work.operation, "generate") != 0)
            work.key = generate(work.type);
        ASYNC_JOB *running = NULL;
        ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
        do
            state = ASYNC_start_job(&running, wait, &result, job, &at, sizeof at);
        while (state == ASYNC_PAUSE);
        if (state != ASYNC_FINISH || result != 1) {
            fprintf(stderr, "%s %s failed\n", work.type, work.operation);
            ERR_print_errors_fp(stderr);
            return 1;
        }
        printf("%s %s %zu\n", work.type, work.operation, used());
        fflush(stdout);
        ASYNC_WAIT_CTX_free(wait);
        EVP_PKEY_free(work.key);
    }
    return 0;
}
