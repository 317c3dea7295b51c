/*
 * Signs and decrypts with keys that this provider manages, as it does for the search after one for a signature, once libcrypto
 * has forgotten how it found their management. Prints what each call returned, and on stderr who manages the keys.
 */
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static EVP_PKEY *generated(const char *type)
{
    EVP_PKEY_CTX *context;
    EVP_PKEY *key = NULL;

    /* Asked for, and not cached: the next search for keys is taken for this signature's. */
    EVP_SIGNATURE_free(EVP_SIGNATURE_fetch(NULL, strcmp(type, "EC") == 0 ? "ECDSA" : type, NULL));
    context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (EVP_PKEY_keygen_init(context) != 1)
        exit(1);
    if (strcmp(type, "EC") == 0)
        EVP_PKEY_CTX_set_group_name(context, "P-256");
    if (EVP_PKEY_generate(context, &key) != 1)
        exit(1);
    EVP_PKEY_CTX_free(context);
    fprintf(stderr, "%s by %s\n", type, OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(key)));
    return key;
}

/* A provider that comes or goes empties libcrypto's cache of methods, and many queries have it drop some at random. */
static void forget_methods(int round)
{
    static int number;
    char query[32];

    if (round == 0)
        OSSL_PROVIDER_unload(OSSL_PROVIDER_load(NULL, "null"));
    for (int i = 0; round > 0 && i < 700; i++) {
        snprintf(query, sizeof query, "?test.number=%d", number++);
        EVP_MD_free(EVP_MD_fetch(NULL, "SHA256", query));
    }
}

int main(void)
{
    const char *types[] = {"EC", "RSA", "ED25519"};
    unsigned char signature[512], text[512];

    for (int i = 0; i < 3; i++) {
        EVP_PKEY *key = generated(types[i]);
        const char *digest = strcmp(types[i], "ED25519") == 0 ? NULL : "SHA256";

        for (int round = 0; round < 20; round++) {
            EVP_MD_CTX *context = EVP_MD_CTX_new();
            size_t bytes = sizeof signature;
            int made, valid;

            forget_methods(round);
            made = EVP_DigestSignInit_ex(context, NULL, digest, NULL, NULL, key, NULL) == 1
                   && EVP_DigestSign(context, signature, &bytes, (unsigned char *)"message", 7) == 1;
            EVP_MD_CTX_reset(context);
            forget_methods(round);
            valid = EVP_DigestVerifyInit_ex(context, NULL, digest, NULL, NULL, key, NULL) == 1
                    && EVP_DigestVerify(context, signature, bytes, (unsigned char *)"message", 7) == 1;
            EVP_MD_CTX_free(context);
            printf("%s: signed %d, valid %d\n", types[i], made, valid);
        }
        if (strcmp(types[i], "RSA") == 0) {
            EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
            size_t bytes = sizeof signature, text_bytes = sizeof text;
            int sealed, opened;

            forget_methods(1);
            sealed = EVP_PKEY_encrypt_init(context) == 1
                     && EVP_PKEY_encrypt(context, signature, &bytes, (unsigned char *)"message", 7) == 1;
            forget_methods(1);
            opened = EVP_PKEY_decrypt_init(context) == 1
                     && EVP_PKEY_decrypt(context, text, &text_bytes, signature, bytes) == 1;
            printf("RSA: encrypted %d, decrypted %d\n", sealed, opened && text_bytes == 7);
            EVP_PKEY_CTX_free(context);
        }
        EVP_PKEY_free(key);
    }
    return 0;
}
