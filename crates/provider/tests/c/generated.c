/*
 * Generates keys, and shares each with a forked child and with threads. In the child and in the parent the pair must agree
 * on the same secret, and keys that both generate afterwards must differ. Threads that use a new key at once must all
 * see the same secret. Prints the provider of the keys.
 *
 * usage: generated TYPE exchange|kem [GROUP]
 */
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 20

struct secret {
    unsigned char bytes[128];
    size_t count;
};

static const char *type, *group;
static int is_kem;
static EVP_PKEY *own, *peer;
static unsigned char ciphertext[2048];
static size_t ciphertext_bytes;

static void need(int is_done, const char *what)
{
    if (!is_done) {
        printf("%s failed\n", what);
        exit(1);
    }
}

static EVP_PKEY *generated(void)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    need(context != NULL && EVP_PKEY_keygen_init(context) == 1, "keygen_init");
    need(group == NULL || EVP_PKEY_CTX_set_group_name(context, group) == 1, "group");
    need(EVP_PKEY_generate(context, &key) == 1, "generate");
    EVP_PKEY_CTX_free(context);
    return key;
}

/* The share of a new key. */
static struct secret share(void)
{
    EVP_PKEY *key = generated();
    unsigned char *bytes = NULL;
    struct secret result = {{0}, 0};
    size_t count = EVP_PKEY_get1_encoded_public_key(key, &bytes);

    need(count > 0, "get1_encoded_public_key");
    /* The last bytes: a hybrid ends with the curve's share. */
    result.count = count < sizeof result.bytes ? count : sizeof result.bytes;
    memcpy(result.bytes, bytes + count - result.count, result.count);
    OPENSSL_free(bytes);
    EVP_PKEY_free(key);
    return result;
}

static struct secret agreed(void)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
    struct secret result = {{0}, sizeof result.bytes};

    if (is_kem) {
        need(EVP_PKEY_decapsulate_init(context, NULL) == 1, "decapsulate_init");
        need(EVP_PKEY_decapsulate(context, result.bytes, &result.count, ciphertext, ciphertext_bytes) == 1, "decapsulate");
    } else {
        need(EVP_PKEY_derive_init(context) == 1, "derive_init");
        need(EVP_PKEY_derive_set_peer(context, peer) == 1, "derive_set_peer");
        need(EVP_PKEY_derive(context, result.bytes, &result.count) == 1, "derive");
    }
    EVP_PKEY_CTX_free(context);
    return result;
}

static void renew(void)
{
    EVP_PKEY_free(own);
    EVP_PKEY_free(peer);
    own = generated();
    peer = NULL;
    if (is_kem) {
        EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
        unsigned char secret[128];
        size_t secret_bytes = sizeof secret;

        ciphertext_bytes = sizeof ciphertext;
        need(EVP_PKEY_encapsulate_init(context, NULL) == 1, "encapsulate_init");
        need(EVP_PKEY_encapsulate(context, ciphertext, &ciphertext_bytes, secret, &secret_bytes) == 1, "encapsulate");
        EVP_PKEY_CTX_free(context);
    } else {
        peer = generated();
    }
}

static int is_same(const struct secret *one, const struct secret *other)
{
    return one->count == other->count && memcmp(one->bytes, other->bytes, one->count) == 0;
}

static void *use(void *place)
{
    OSSL_PARAM *params = NULL;

    need(EVP_PKEY_todata(own, EVP_PKEY_KEYPAIR, &params), "todata");
    OSSL_PARAM_free(params);
    need(EVP_PKEY_get_bits(own) > 0, "get_bits");
    *(struct secret *)place = agreed();
    return NULL;
}

int main(int count, char **arguments)
{
    need(count > 2, "the arguments");
    type = arguments[1];
    is_kem = strcmp(arguments[2], "kem") == 0;
    group = count > 3 ? arguments[3] : NULL;

    for (int round = 0; round < ROUNDS; round++) {
        struct secret ours[2], childs[2], seen[THREADS];
        pthread_t threads[THREADS];
        int ends[2], status = 0;
        pid_t child;

        renew();
        need(pipe(ends) == 0, "pipe");
        child = fork();
        ours[0] = agreed();
        ours[1] = share();
        if (child == 0)
            _exit(write(ends[1], ours, sizeof ours) == sizeof ours ? 0 : 2);
        need(read(ends[0], childs, sizeof childs) == sizeof childs, "the child");
        need(waitpid(child, &status, 0) == child && status == 0, "the child's end");
        need(is_same(&ours[0], &childs[0]), "an equal secret on both sides of a fork");
        need(!is_same(&ours[1], &childs[1]), "a key of its own on each side of a fork");
        close(ends[0]);
        close(ends[1]);

        renew();
        for (int i = 0; i < THREADS; i++)
            need(pthread_create(&threads[i], NULL, use, &seen[i]) == 0, "pthread_create");
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 1; i < THREADS; i++)
            need(is_same(&seen[0], &seen[i]), "an equal secret in all threads");
    }
    puts(OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(own)));
    EVP_PKEY_free(own);
    EVP_PKEY_free(peer);
    return 0;
}
