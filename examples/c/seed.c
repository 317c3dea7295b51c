/*
 * The example of SILC's accelerator, call for call: see the table of names in docs/c.md. Then its check: a message that is
 * encrypted in several calls, which go on where the one before ended, is the message that is encrypted in one.
 */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 799

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

int main(void)
{
    static const unsigned char key[32] = "a key of thirty-two bytes, here";
    static const unsigned char iv[16] = "an IV of sixteen";
    unsigned char src[BYTES], dst[BYTES], chained[BYTES];
    oarlock_accelerator *softacc;
    oarlock_cipher *cipher;
    size_t i, bytes;

    for (i = 0; i < BYTES; i++)
        src[i] = (unsigned char)i;

    /* Initialize the software accelerator. */
    check(oarlock_accelerator_new(&softacc, "min_threads=2,max_threads=8"), "the accelerator");

    /* Accelerate a cipher. */
    check(oarlock_cipher_new(softacc, &cipher, "aes-256-ctr"), "the cipher");
    check(oarlock_cipher_set_key(cipher, key, sizeof key), "the key");
    check(oarlock_cipher_set_iv(cipher, iv, sizeof iv), "the IV");

    /* Encrypt with the accelerated cipher. */
    check(oarlock_cipher_encrypt(cipher, dst, src, sizeof src, NULL), "encryption");

    /* The same in calls of 1, 2, 3 and so on bytes. */
    check(oarlock_cipher_set_iv(cipher, iv, sizeof iv), "the IV");
    for (i = 0, bytes = 1; i < BYTES; i += bytes, bytes++) {
        if (bytes > BYTES - i)
            bytes = BYTES - i;
        check(oarlock_cipher_encrypt(cipher, chained + i, src + i, bytes, NULL), "encryption in several calls");
    }
    if (memcmp(chained, dst, BYTES) != 0) {
        fprintf(stderr, "several calls do not give what one gives\n");
        return 1;
    }

    /* Back again, in place, with the IV by call. */
    check(oarlock_cipher_decrypt(cipher, dst, dst, sizeof dst, iv), "decryption");
    if (memcmp(dst, src, BYTES) != 0) {
        fprintf(stderr, "what was decrypted is not the message\n");
        return 1;
    }

    /* Free the accelerated cipher, and the accelerator. */
    check(oarlock_cipher_free(cipher), "freeing the cipher");
    check(oarlock_accelerator_free(softacc), "freeing the accelerator");
    for (i = 0; i < BYTES; i++)
        printf("%02x", chained[i]);
    printf("\n");
    return 0;
}
