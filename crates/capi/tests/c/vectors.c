/*
 * Published vectors, one a line of the standard input: what is done, a type of keys, a scheme or "-", four values in hexadecimal or "-",
 * and the outcome.
 *
 *     verify TYPE SCHEME PUBLIC MESSAGE SIGNATURE - OUTCOME
 *     agree TYPE - PRIVATE PUBLIC SECRET - OUTCOME
 *     open TYPE - PRIVATE CIPHERTEXT SECRET - OUTCOME
 *
 * The outcome is 1 if the vector is right. How many are right and how many are wrong is written at the end.
 */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 4
#define LINE_BYTES (1 << 20)

static oarlock_accelerator *accelerator;
static char line[LINE_BYTES];
static unsigned char secret[256];

struct value {
    unsigned char *octets;
    size_t bytes;
};

static void fails(const char *why, long number)
{
    fprintf(stderr, "line %ld: %s: %s\n", number, why, oarlock_error_detail());
    exit(1);
}

/* Decodes in place. */
static struct value decoded(char *text, long number)
{
    struct value value;
    size_t at, digits = strlen(text);
    unsigned int octet;
    value.octets = (unsigned char *)text;
    value.bytes = 0;
    if (strcmp(text, "-") == 0)
        return value;
    if (digits % 2 != 0)
        fails("an odd number of digits", number);
    for (at = 0; at < digits; at += 2) {
        char two[3];
        two[0] = text[at];
        two[1] = text[at + 1];
        two[2] = 0;
        if (sscanf(two, "%2x", &octet) != 1)
            fails("no digits", number);
        value.octets[value.bytes++] = (unsigned char)octet;
    }
    return value;
}

static int verifies(const char *type, const char *scheme, const struct value *values)
{
    oarlock_public_key *key = NULL;
    int outcome = oarlock_public_key_from_raw(accelerator, &key, type, values[0].octets, values[0].bytes);
    if (outcome == 0)
        outcome = oarlock_key_verify(
            key, scheme, values[1].octets, values[1].bytes, values[2].octets, values[2].bytes
        );
    oarlock_public_key_free(key);
    return outcome;
}

static int is_secret(size_t bytes, const struct value *expected)
{
    return bytes == expected->bytes && memcmp(secret, expected->octets, bytes) == 0;
}

static int agrees(const char *type, const struct value *values)
{
    oarlock_private_key *own = NULL;
    oarlock_public_key *peer = NULL;
    size_t bytes = sizeof secret;
    int outcome = oarlock_private_key_from_raw(accelerator, &own, type, values[0].octets, values[0].bytes);
    if (outcome == 0)
        outcome = oarlock_public_key_from_raw(accelerator, &peer, type, values[1].octets, values[1].bytes);
    if (outcome == 0)
        outcome = oarlock_key_agree(own, secret, &bytes, peer);
    if (outcome == 0 && !is_secret(bytes, &values[2]))
        outcome = 1;
    oarlock_private_key_free(own);
    oarlock_public_key_free(peer);
    return outcome;
}

static int opens(const char *type, const struct value *values)
{
    oarlock_private_key *key = NULL;
    size_t bytes = sizeof secret;
    int outcome = oarlock_private_key_from_raw(accelerator, &key, type, values[0].octets, values[0].bytes);
    if (outcome == 0)
        outcome = oarlock_key_decapsulate(key, secret, &bytes, values[1].octets, values[1].bytes);
    if (outcome == 0 && !is_secret(bytes, &values[2]))
        outcome = 1;
    oarlock_private_key_free(key);
    return outcome;
}

int main(void)
{
    long number = 0, right = 0, wrong = 0;
    if (oarlock_accelerator_new(&accelerator, "max_threads=0") != 0)
        fails("an accelerator", 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct value values[VALUES];
        const char *what = strtok(line, " \n"), *type = strtok(NULL, " \n"), *scheme = strtok(NULL, " \n");
        int outcome, at, is_right;
        number++;
        for (at = 0; at < VALUES; at++) {
            char *text = strtok(NULL, " \n");
            if (text == NULL)
                fails("a line that is cut", number);
            values[at] = decoded(text, number);
        }
        is_right = strcmp(strtok(NULL, " \n"), "1") == 0;
        if (strcmp(what, "verify") == 0)
            outcome = verifies(type, scheme, values);
        else if (strcmp(what, "agree") == 0)
            outcome = agrees(type, values);
        else
            outcome = opens(type, values);
        if ((outcome == 0) != is_right)
            fails(is_right ? "refused" : "taken", number);
        if (outcome != 0 && outcome != OARLOCK_E_SIGNATURE && outcome != OARLOCK_E_KEY && outcome != OARLOCK_E_ARGUMENT)
            fails("another failure", number);
        if (is_right)
            right++;
        else
            wrong++;
    }
    oarlock_accelerator_free(accelerator);
    printf("%ld right, %ld wrong\n", right, wrong);
    return 0;
}
