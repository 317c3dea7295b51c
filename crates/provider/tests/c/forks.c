/* Begins to sign with the key in key.pem, forks, and signs in the child and in the parent, with the key's first signature
 * made before and after. With the name of a hash function the fork falls into a message; without, a message comes whole. */

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char message[] = "onetwo";
static const EVP_MD *hash;

static int ends(EVP_MD_CTX *context, EVP_PKEY *key)
{
    unsigned char signature[200];
    size_t bytes = sizeof signature;
    EVP_MD_CTX *verifier = EVP_MD_CTX_new();
    int done = hash == NULL
        ? EVP_DigestSign(context, signature, &bytes, message, 6) == 1
        : EVP_DigestSignUpdate(context, message + 3, 3) == 1
            && EVP_DigestSignFinal(context, signature, &bytes) == 1;
    done = done && EVP_DigestVerifyInit(verifier, NULL, hash, NULL, key) == 1
        && EVP_DigestVerify(verifier, signature, bytes, message, 6) == 1;
    EVP_MD_CTX_free(verifier);
    return done;
}

int main(int count, char **names)
{
    if (count > 1 && (hash = EVP_get_digestbyname(names[1])) == NULL)
        return 4;
    FILE *file = fopen("key.pem", "r");
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    EVP_PKEY_CTX *settings = NULL;
    for (int round = 0; round < 20; round++) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        if (EVP_DigestSignInit(context, &settings, hash, NULL, key) != 1
            || (hash != NULL && EVP_DigestSignUpdate(context, message, 3) != 1))
            return 1;
        pid_t child = fork();
        if (child == 0)
            _exit(ends(context, key) ? 0 : 2);
        int status = 0;
        if (!ends(context, key) || waitpid(child, &status, 0) != child || status != 0)
            return 3;
        if (round == 19)
            puts(OSSL_PROVIDER_get0_name(EVP_PKEY_CTX_get0_provider(settings)));
        EVP_MD_CTX_free(context);
    }
    EVP_PKEY_free(key);
    return 0;
}
