/* Signs with a key of a token, through OpenSSL and the engine of libp11: MODULE PIN URL CERTIFICATE SECONDS. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/engine.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define WARM_UP_SECONDS 0.5
/* Signatures that are verified at the end. */
#define VERIFIED 512
#define SIGNATURE_BYTES_MAX 512
#define MESSAGE_BYTES 32

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(int is_done, const char *what)
{
    if (is_done)
        return;
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static unsigned char messages[VERIFIED][MESSAGE_BYTES];
static unsigned char signatures[VERIFIED][SIGNATURE_BYTES_MAX];
static size_t lengths[VERIFIED];

int main(int count, char **arguments)
{
    check(count == 6, "sign MODULE PIN URL CERTIFICATE SECONDS");
    double seconds = atof(arguments[5]);

    ENGINE_load_dynamic();
    ENGINE *engine = ENGINE_by_id("pkcs11");
    check(engine != NULL, "no engine pkcs11");
    check(ENGINE_ctrl_cmd_string(engine, "MODULE_PATH", arguments[1], 0), "MODULE_PATH");
    if (arguments[2][0] != '\0')
        check(ENGINE_ctrl_cmd_string(engine, "PIN", arguments[2], 0), "PIN");
    check(ENGINE_init(engine), "the engine does not start");
    EVP_PKEY *private_key = ENGINE_load_private_key(engine, arguments[3], NULL, NULL);
    check(private_key != NULL, "no private key");

    FILE *file = fopen(arguments[4], "r");
    check(file != NULL, "no certificate");
    X509 *certificate = PEM_read_X509(file, NULL, NULL, NULL);
    check(certificate != NULL, "no certificate");
    EVP_PKEY *public_key = X509_get0_pubkey(certificate);
    fclose(file);

    double begins = now() + WARM_UP_SECONDS, ends = begins + seconds;
    unsigned long answered = 0, made = 0;
    while (now() < ends) {
        unsigned char message[MESSAGE_BYTES] = {0}, signature[SIGNATURE_BYTES_MAX];
        size_t length = sizeof signature;
        memcpy(message, &made, sizeof made);
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        check(context != NULL, "no memory");
        check(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, private_key) == 1, "EVP_DigestSignInit");
        check(EVP_DigestSign(context, signature, &length, message, sizeof message) == 1, "EVP_DigestSign");
        EVP_MD_CTX_free(context);
        double at = now();
        if (at >= begins && at < ends)
            answered++;
        unsigned long place = made++ % VERIFIED;
        memcpy(messages[place], message, sizeof message);
        memcpy(signatures[place], signature, length);
        lengths[place] = length;
    }
    for (unsigned long place = 0; place < VERIFIED && place < made; place++) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        check(context != NULL, "no memory");
        check(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, public_key) == 1, "EVP_DigestVerifyInit");
        check(EVP_DigestVerify(context, signatures[place], lengths[place], messages[place], MESSAGE_BYTES) == 1,
              "a wrong signature");
        EVP_MD_CTX_free(context);
    }
    printf("{\"answered\": %lu, \"seconds\": %s}\n", answered, arguments[5]);
    return 0;
}
