/* Unloads providers while a key lives. Arguments: a configuration that declares the providers and activates none; the provider
 * that is tested; where its keys are made, and where operations are done, as property queries; a type of keys; and orders. An
 * order is a string of steps, each of which is a letter (see `run`). It starts with both providers loaded into a new library
 * context, and a new key. Prints each order with the results of its steps: + where something was done, - where it was refused.
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "%d: %s\n", __LINE__, #what); ERR_print_errors_fp(stderr); exit(1); } } while (0)

static const char *configuration, *tested, *makes, *does, *type;
/* As long as a SHA-256 digest. */
static const unsigned char message[32] = "message";

/* An operation that was begun. */
struct operation {
    EVP_MD_CTX *signs;
    EVP_PKEY_CTX *context;
};

static int is(const char *name) { return strcmp(type, name) == 0; }
static int encapsulates(void) { return strstr(type, "KEM") != NULL; }
static int signs_messages(void) { return is("ED25519") || !strncmp(type, "ML-DSA", 6); }

/* An RSA key takes long to generate, so all are the same one. */
static int import_rsa(EVP_PKEY_CTX *context, EVP_PKEY **key)
{
    static OSSL_PARAM *numbers;
    if (!numbers) {
        EVP_PKEY *first = EVP_RSA_gen(1024);
        CHECK(first && EVP_PKEY_todata(first, EVP_PKEY_KEYPAIR, &numbers) == 1);
        EVP_PKEY_free(first);
    }
    return EVP_PKEY_fromdata_init(context) == 1 && EVP_PKEY_fromdata(context, key, EVP_PKEY_KEYPAIR, numbers) == 1;
}

static EVP_PKEY *make(OSSL_LIB_CTX *library)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(library, type, makes);
    if (context && is("RSA"))
        import_rsa(context, &key);
    else if (context && EVP_PKEY_keygen_init(context) == 1
             && (!is("EC") || EVP_PKEY_CTX_set_group_name(context, "P-256") == 1))
        EVP_PKEY_generate(context, &key);
    EVP_PKEY_CTX_free(context);
    return key;
}

/* Digests are signed as they are: no digest is fetched, which may be gone with its provider. */
static int begin(struct operation *begun, OSSL_LIB_CTX *library, EVP_PKEY *key)
{
    if (signs_messages()) {
        begun->signs = EVP_MD_CTX_new();
        return EVP_DigestSignInit_ex(begun->signs, NULL, NULL, library, does, key, NULL) == 1;
    }
    begun->context = EVP_PKEY_CTX_new_from_pkey(library, key, does);
    if (!begun->context)
        return 0;
    if (encapsulates())
        return EVP_PKEY_encapsulate_init(begun->context, NULL) == 1;
    if (is("X25519"))
        return EVP_PKEY_derive_init(begun->context) == 1 && EVP_PKEY_derive_set_peer(begun->context, key) == 1;
    return EVP_PKEY_sign_init(begun->context) == 1;
}

static int finish(struct operation *begun)
{
    static unsigned char output[8192], secret[128];
    size_t bytes = sizeof output, secret_bytes = sizeof secret;
    if (begun->signs)
        return EVP_DigestSign(begun->signs, output, &bytes, message, sizeof message) == 1;
    if (!begun->context)
        return 0;
    if (encapsulates())
        return EVP_PKEY_encapsulate(begun->context, output, &bytes, secret, &secret_bytes) == 1;
    if (is("X25519"))
        return EVP_PKEY_derive(begun->context, output, &bytes) == 1;
    return EVP_PKEY_sign(begun->context, output, &bytes, message, sizeof message) == 1;
}

static void release(struct operation *begun)
{
    EVP_MD_CTX_free(begun->signs);
    EVP_PKEY_CTX_free(begun->context);
    memset(begun, 0, sizeof *begun);
}

/* Where the letter of a step alone is printed, the step must succeed. */
static void run(const char *order)
{
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    CHECK(library && OSSL_LIB_CTX_load_config(library, configuration) == 1);
    OSSL_PROVIDER *base = strcmp(tested, "default") ? OSSL_PROVIDER_load(library, "default") : NULL;
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(library, tested);
    CHECK(provider && (base || !strcmp(tested, "default")));
    struct operation begun = { NULL, NULL }, whole = { NULL, NULL };
    EVP_PKEY *key = make(library), *other;
    CHECK(key);
    for (const char *step = order; *step; step++) {
        int done = -1;
        switch (*step) {
        case 'o': /* a whole operation */
            done = begin(&whole, library, key) && finish(&whole);
            release(&whole);
            break;
        case 'b': /* begins an operation, which 'e' ends and 'f' frees */
            done = begin(&begun, library, key);
            break;
        case 'e':
            done = finish(&begun);
            break;
        case 'f':
            release(&begun);
            break;
        case 'g': /* makes another key */
            done = (other = make(library)) != NULL;
            EVP_PKEY_free(other);
            break;
        case 'y': /* copies the key, and compares the copy */
            done = (other = EVP_PKEY_dup(key)) != NULL && EVP_PKEY_eq(other, key) == 1;
            EVP_PKEY_free(other);
            break;
        case 'u': /* unloads the provider that is tested, 'd' the default one; 'l' loads the tested one again */
            CHECK(OSSL_PROVIDER_unload(provider) == 1);
            break;
        case 'd':
            CHECK(!base || OSSL_PROVIDER_unload(base) == 1);
            break;
        case 'l':
            CHECK(provider = OSSL_PROVIDER_load(library, tested));
            break;
        case 'k': /* frees the key, and 'c' the library context */
            EVP_PKEY_free(key);
            break;
        case 'c':
            OSSL_LIB_CTX_free(library);
            break;
        default:
            CHECK(!"a step");
        }
        ERR_clear_error();
        putchar(*step);
        if (done >= 0)
            putchar(done ? '+' : '-');
    }
    putchar('\n');
    fflush(stdout);
}

int main(int count, char **arguments)
{
    CHECK(count > 6);
    configuration = arguments[1];
    tested = arguments[2];
    makes = arguments[3];
    does = arguments[4];
    type = arguments[5];
    for (int i = 6; i < count; i++)
        run(arguments[i]);
    return 0;
}
