/* A program that gives OpenSSL an allocator of its own, as argument 1 says:
 *
 *   shared    memory that its processes share, as Kamailio and OpenSIPS do
 *   private   functions around the C library's, as BIND and Erlang do
 *   counted   a malloc of its own and OpenSSL's own free, as MariaDB does
 *   none      nothing
 *
 * With shared memory one process begins with a context or a key and ends, and a second one goes on with it: with each
 * cipher that is named, and with the RSA key in key.pem. Prints the providers of the ciphers, and that of RSA's
 * signatures. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s\n", doing, __LINE__, #what); exit(1); } } while (0)
enum { ARENA_BYTES = 256 << 20, PIECE = 1000 };

static const char *doing = "start";
static struct arena {
    size_t used;
    EVP_CIPHER_CTX *cipher;
    EVP_PKEY *key;
    EVP_MD_CTX *digest;
    EVP_PKEY_CTX *decryption;
    unsigned char output[4 * PIECE];
} *arena;

/* Nothing is used twice; the length lies before the memory. */
static void *shared_malloc(size_t bytes, const char *file, int line)
{
    (void)file, (void)line;
    size_t whole = (bytes + 31) & ~(size_t)15;
    size_t at = __atomic_fetch_add(&arena->used, whole, __ATOMIC_SEQ_CST);
    if (at + whole > ARENA_BYTES) return NULL;
    unsigned char *memory = (unsigned char *)arena + at;
    memcpy(memory, &bytes, sizeof bytes);
    return memory + 16;
}

static void *shared_realloc(void *old, size_t bytes, const char *file, int line)
{
    void *memory = shared_malloc(bytes, file, line);
    if (old && memory) {
        size_t before;
        memcpy(&before, (unsigned char *)old - 16, sizeof before);
        memcpy(memory, old, before < bytes ? before : bytes);
    }
    return memory;
}

static void shared_free(void *memory, const char *file, int line) { (void)memory, (void)file, (void)line; }
static void *own_malloc(size_t bytes, const char *file, int line) { (void)file, (void)line; return malloc(bytes); }
static void *own_realloc(void *old, size_t bytes, const char *file, int line) { (void)file, (void)line; return realloc(old, bytes); }
static void own_free(void *memory, const char *file, int line) { (void)file, (void)line; free(memory); }

static void in_a_process(void (*run)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        run();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (status) fprintf(stderr, "%s: status %x\n", doing, status);
    CHECK(status == 0);
}

static const unsigned char octets[4 * PIECE] = {1, 2, 3};
static EVP_CIPHER *cipher, *plain;

static int is_aead(void) { return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0; }

static EVP_CIPHER_CTX *begun(EVP_CIPHER *with, unsigned char *output)
{
    int bytes;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    CHECK(EVP_EncryptInit_ex2(context, with, octets, octets, NULL));
    if (is_aead()) CHECK(EVP_EncryptUpdate(context, NULL, &bytes, octets, 13));
    CHECK(EVP_EncryptUpdate(context, output, &bytes, octets, PIECE));
    return context;
}

static void ended(EVP_CIPHER_CTX *context, unsigned char *output)
{
    int bytes, last;
    CHECK(EVP_EncryptUpdate(context, output, &bytes, octets, PIECE));
    CHECK(EVP_EncryptFinal_ex(context, output + bytes, &last));
    if (is_aead()) CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, output + bytes + last));
    EVP_CIPHER_CTX_free(context);
}

static void cipher_begins(void) { arena->cipher = begun(cipher, arena->output); }

static void cipher_ends(void)
{
    unsigned char expected[4 * PIECE] = {0}, output[4 * PIECE] = {0}, of_copy[4 * PIECE] = {0};
    ended(begun(plain, output), expected);
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    CHECK(EVP_CIPHER_CTX_copy(copy, arena->cipher));
    CHECK(!memcmp(output, arena->output, PIECE - 32));
    memset(output, 0, sizeof output);
    ended(arena->cipher, output);
    ended(copy, of_copy);
    CHECK(!memcmp(output, expected, sizeof output));
    CHECK(!memcmp(of_copy, expected, sizeof output));
}

static unsigned char message[] = "a message";

static void key_begins(void)
{
    FILE *file = fopen("key.pem", "r");
    CHECK(file && (arena->key = PEM_read_PrivateKey(file, NULL, NULL, NULL)));
    fclose(file);
    EVP_MD_CTX *first = EVP_MD_CTX_new();
    unsigned char signature[512];
    size_t bytes = sizeof signature;
    CHECK(EVP_DigestSignInit(first, NULL, EVP_sha256(), NULL, arena->key));
    CHECK(EVP_DigestSign(first, signature, &bytes, message, sizeof message));
    EVP_MD_CTX_free(first);
    arena->digest = EVP_MD_CTX_new();
    CHECK(EVP_DigestSignInit(arena->digest, NULL, EVP_sha256(), NULL, arena->key));
    CHECK(EVP_DigestSignUpdate(arena->digest, message, sizeof message));
    arena->decryption = EVP_PKEY_CTX_new(arena->key, NULL);
    CHECK(EVP_PKEY_decrypt_init(arena->decryption) > 0);
    CHECK(EVP_PKEY_CTX_set_rsa_padding(arena->decryption, RSA_PKCS1_OAEP_PADDING) > 0);
}

static void key_ends(void)
{
    unsigned char signature[512], sealed[512], opened[512];
    size_t bytes = sizeof signature;
    CHECK(EVP_DigestSignFinal(arena->digest, signature, &bytes));
    EVP_MD_CTX *verified = EVP_MD_CTX_new();
    CHECK(EVP_DigestVerifyInit(verified, NULL, EVP_sha256(), NULL, arena->key));
    CHECK(EVP_DigestVerify(verified, signature, bytes, message, sizeof message) == 1);
    EVP_MD_CTX_free(verified);
    EVP_MD_CTX_free(arena->digest);
    for (int i = 0; i < 3; i++) {
        EVP_MD_CTX *next = EVP_MD_CTX_new();
        bytes = sizeof signature;
        CHECK(EVP_DigestSignInit(next, NULL, EVP_sha256(), NULL, arena->key));
        CHECK(EVP_DigestSign(next, signature, &bytes, message, sizeof message));
        EVP_MD_CTX_free(next);
    }
    EVP_PKEY_CTX *encryption = EVP_PKEY_CTX_new(arena->key, NULL);
    bytes = sizeof sealed;
    CHECK(EVP_PKEY_encrypt_init(encryption) > 0);
    CHECK(EVP_PKEY_CTX_set_rsa_padding(encryption, RSA_PKCS1_OAEP_PADDING) > 0);
    CHECK(EVP_PKEY_encrypt(encryption, sealed, &bytes, message, sizeof message) > 0);
    size_t opened_bytes = sizeof opened;
    CHECK(EVP_PKEY_decrypt(arena->decryption, opened, &opened_bytes, sealed, bytes) > 0);
    CHECK(opened_bytes == sizeof message && !memcmp(opened, message, sizeof message));
    EVP_PKEY_CTX_free(encryption);
    EVP_PKEY_CTX_free(arena->decryption);
    EVP_PKEY_free(arena->key);
}

#define OTHERS 10

/* Prints who has the operations whose objects are not used here. */
static void print_others(void)
{
    const OSSL_PROVIDER *who[OTHERS];
    int i = 0;
#define FIND(kind, name) \
    do { \
        EVP_##kind *found = EVP_##kind##_fetch(NULL, name, NULL); \
        doing = name; \
        CHECK(found); \
        who[i++] = EVP_##kind##_get0_provider(found); \
        EVP_##kind##_free(found); \
    } while (0)
    FIND(KDF, "TLS13-KDF");
    FIND(KDF, "HKDF");
    FIND(KDF, "TLS1-PRF");
    FIND(MAC, "HMAC");
    FIND(KEYMGMT, "X25519");
    FIND(KEYMGMT, "EC");
    FIND(KEYMGMT, "ED25519");
    FIND(KEYEXCH, "X25519");
    FIND(SIGNATURE, "ECDSA");
    FIND(SIGNATURE, "ED25519");
    CHECK(i == OTHERS);
    for (i = 0; i < OTHERS; i++) printf("%s ", OSSL_PROVIDER_get0_name(who[i]));
}

int main(int count, char **arguments)
{
    CHECK(count >= 2);
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(arena != MAP_FAILED);
    arena->used = (sizeof *arena + 15) & ~(size_t)15;
    const char *mode = arguments[1];
    if (!strcmp(mode, "shared")) CHECK(CRYPTO_set_mem_functions(shared_malloc, shared_realloc, shared_free));
    if (!strcmp(mode, "private")) CHECK(CRYPTO_set_mem_functions(own_malloc, own_realloc, own_free));
    if (!strcmp(mode, "counted")) CHECK(CRYPTO_set_mem_functions(own_malloc, NULL, NULL));
    CHECK(OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL));

    for (int i = 2; i < count; i++) {
        doing = arguments[i];
        CHECK(cipher = EVP_CIPHER_fetch(NULL, doing, NULL));
        CHECK(plain = EVP_CIPHER_fetch(NULL, doing, "provider=default"));
        in_a_process(cipher_begins);
        if (!strcmp(mode, "shared")) in_a_process(cipher_ends);
        printf("%s ", OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)));
        fflush(stdout);
        EVP_CIPHER_free(cipher);
        EVP_CIPHER_free(plain);
    }
    print_others();
    fflush(stdout);
    doing = "RSA";
    in_a_process(key_begins);
    if (!strcmp(mode, "shared")) in_a_process(key_ends);

    EVP_SIGNATURE *rsa = EVP_SIGNATURE_fetch(NULL, "RSA", NULL);
    CHECK(rsa);
    printf("%s\n", OSSL_PROVIDER_get0_name(EVP_SIGNATURE_get0_provider(rsa)));
    EVP_SIGNATURE_free(rsa);
    return 0;
}
