/*
 * Agrees on secrets with keys of P-256, P-384 and P-521 that were read from files, made of parameters and generated, and
 * prints them. Generated keys differ each time, so of these it prints whether both sides agree.
 *
 * usage: exchange PRIVATE-KEY PEER (PEM files on one curve)
 */
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 3

static const char *kinds[KEYS] = {"read", "made", "generated"};
static EVP_PKEY *own[KEYS], *peers[KEYS];
/* What a call with too little room returned. */
static int short_room;

static void need(int is_done, const char *what)
{
    if (!is_done) {
        printf("%s failed\n", what);
        exit(1);
    }
}

/* The order in which libssl 3.0 looks for what TLS needs (ssl_load_ciphers, ssl_load_groups). */
static void find_as_libssl(void)
{
    EVP_KEYEXCH_free(EVP_KEYEXCH_fetch(NULL, "ECDH", NULL));
    EVP_SIGNATURE_free(EVP_SIGNATURE_fetch(NULL, "ECDSA", NULL));
    EVP_KEYMGMT_free(EVP_KEYMGMT_fetch(NULL, "EC", NULL));
}

static EVP_PKEY *read_key(const char *name)
{
    FILE *file = fopen(name, "r");
    EVP_PKEY *key;

    need(file != NULL, "opening a key");
    key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    need(key != NULL, "reading a key");
    fclose(file);
    return key;
}

static EVP_PKEY *made(EVP_PKEY *of)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    OSSL_PARAM *params = NULL;
    EVP_PKEY *key = NULL;

    need(EVP_PKEY_todata(of, EVP_PKEY_KEYPAIR, &params), "todata");
    need(EVP_PKEY_fromdata_init(context) == 1, "fromdata_init");
    need(EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, params) == 1, "fromdata");
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(context);
    return key;
}

/* As libssl makes a share of a group. */
static EVP_PKEY *generated(EVP_PKEY *like)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *key = NULL;
    char group[64];
    OSSL_PARAM params[2] = {OSSL_PARAM_construct_utf8_string("group", group, 0), OSSL_PARAM_construct_end()};

    need(EVP_PKEY_get_utf8_string_param(like, "group", group, sizeof group, NULL), "group");
    need(EVP_PKEY_keygen_init(context) == 1, "keygen_init");
    need(EVP_PKEY_CTX_set_params(context, params) == 1, "keygen's group");
    need(EVP_PKEY_generate(context, &key) == 1, "generate");
    EVP_PKEY_CTX_free(context);
    fprintf(stderr, "managed by %s\n", OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(key)));
    return key;
}

/* What a peer's share becomes in libssl: a key with the same parameters, and the point. */
static EVP_PKEY *public_half(EVP_PKEY *of, EVP_PKEY *like)
{
    EVP_PKEY *key = EVP_PKEY_new();
    unsigned char *point = NULL;
    size_t bytes = EVP_PKEY_get1_encoded_public_key(of, &point);

    need(bytes > 0, "get1_encoded_public_key");
    need(EVP_PKEY_copy_parameters(key, like) == 1, "copy_parameters");
    need(EVP_PKEY_set1_encoded_public_key(key, point, bytes) == 1, "set1_encoded_public_key");
    OPENSSL_free(point);
    return key;
}

/* A provider that comes or goes empties libcrypto's cache of methods. */
static void forget_methods(void)
{
    OSSL_PROVIDER *null = OSSL_PROVIDER_load(NULL, "null");

    need(null != NULL, "loading a provider");
    OSSL_PROVIDER_unload(null);
}

/* A way to a secret: a step between two others, a parameter, or a query for the operation. */
enum { PLAIN, COFACTOR, KDF, COPY, FORGET_BEFORE_PEER, FORGET_BEFORE_SECRET, QUERY_DEFAULT, QUERY_OTHERS, WAYS };

/* Derives a secret; returns its length, or what a call returned, 0 or less. */
static long agreed(EVP_PKEY *key, EVP_PKEY *peer, int way, unsigned char secret[128])
{
    const char *query = way == QUERY_DEFAULT ? "provider=default" : way == QUERY_OTHERS ? "provider!=oarlock" : NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, query), *copy;
    size_t bytes = 128;
    long done = EVP_PKEY_derive_init(context);

    if (done == 1 && key == own[2] && query == NULL)
        fprintf(stderr, "agreed by %s\n", OSSL_PROVIDER_get0_name(EVP_PKEY_CTX_get0_provider(context)));
    if (done == 1 && way == COFACTOR)
        done = EVP_PKEY_CTX_set_ecdh_cofactor_mode(context, 1);
    if (done == 1 && way == KDF) {
        done = EVP_PKEY_CTX_set_ecdh_kdf_type(context, EVP_PKEY_ECDH_KDF_X9_63) == 1
               && EVP_PKEY_CTX_set_ecdh_kdf_md(context, EVP_sha256()) == 1
               && EVP_PKEY_CTX_set_ecdh_kdf_outlen(context, 100) == 1;
    }
    if (way == FORGET_BEFORE_PEER)
        forget_methods();
    if (done == 1)
        done = EVP_PKEY_derive_set_peer(context, peer);
    if (way == FORGET_BEFORE_SECRET)
        forget_methods();
    if (done == 1 && way == COPY) {
        copy = EVP_PKEY_CTX_dup(context);
        need(copy != NULL, "dup");
        EVP_PKEY_CTX_free(context);
        context = copy;
    }
    if (done == 1) {
        size_t wanted = 0;

        done = EVP_PKEY_derive(context, NULL, &wanted);
        if (done == 1) {
            size_t less = wanted - 1;

            short_room = EVP_PKEY_derive(context, secret, &less);
            done = EVP_PKEY_derive(context, secret, &bytes);
            need(done != 1 || bytes == wanted, "the length that was told");
        }
    }
    EVP_PKEY_CTX_free(context);
    return done == 1 ? (long)bytes : done;
}

static void *everything(void *title)
{
    unsigned char secret[128], other[128];

    printf("%s\n", (const char *)title);
    for (int i = 0; i < KEYS; i++) {
        for (int j = 0; j < KEYS; j++) {
            EVP_PKEY *share = public_half(peers[j], own[i]), *back = public_half(own[i], peers[j]);

            for (int way = 0; way < WAYS; way++) {
                long bytes = agreed(own[i], share, way, secret);

                printf("%s %s %d: %d, %ld", kinds[i], kinds[j], way, short_room, bytes);
                if (i < 2 && j < 2)
                    for (long at = 0; at < bytes; at++)
                        printf("%s%02x", at == 0 ? " " : "", secret[at]);
                /* The peer itself, and the other way round. */
                if (agreed(own[i], peers[j], way, other) != bytes || memcmp(secret, other, bytes) != 0)
                    printf(" differs with the whole peer");
                if (agreed(peers[j], back, way, other) != bytes || memcmp(secret, other, bytes) != 0)
                    printf(" differs from the other side");
                printf("\n");
            }
            /* A key without its private half. */
            printf("%s %s, public: %s\n", kinds[i], kinds[j], agreed(share, back, 0, other) > 0 ? "done" : "refused");
            EVP_PKEY_free(share);
            EVP_PKEY_free(back);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    char query[32];

    need(count == 3, "usage");
    find_as_libssl();
    own[0] = read_key(arguments[1]);
    peers[0] = read_key(arguments[2]);
    own[1] = made(own[0]);
    peers[1] = made(peers[0]);
    own[2] = generated(own[0]);
    peers[2] = generated(own[0]);
    everything("first");
    forget_methods();
    everything("after methods were forgotten");
    /* Many queries have it drop methods at random. */
    for (int i = 0; i < 1500; i++) {
        snprintf(query, sizeof query, "?test.number=%d", i);
        EVP_MD_free(EVP_MD_fetch(NULL, "SHA256", query));
    }
    everything("after many queries");
    need(pthread_create(&thread, NULL, everything, "in another thread") == 0, "a thread");
    pthread_join(thread, NULL);
    for (int i = 0; i < KEYS; i++) {
        EVP_PKEY_free(own[i]);
        EVP_PKEY_free(peers[i]);
    }
    return 0;
}
