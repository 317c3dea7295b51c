/* Packets of ESP, SRTP and TLS there and back, packets that are refused, calls that should not be made, and names. */
#include <oarlock.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(call, expected) is(call, expected, #call, __LINE__)
#define HOLDS(condition) holds(condition, #condition, __LINE__)
#define COUNT 64
#define ROOM 256
#define PAYLOAD 100

static void is(int outcome, int expected, const char *call, int line)
{
    if (outcome != expected) {
        fprintf(stderr, "line %d: %s is %d (%s: %s), not %d\n", line, call, outcome, oarlock_strerror(outcome),
                oarlock_error_detail(), expected);
        exit(1);
    }
}

static void holds(int condition, const char *what, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s does not hold\n", line, what);
        exit(1);
    }
}

static oarlock_accelerator *accelerator;
static struct oarlock_packet packets[COUNT];
static unsigned char ring[COUNT][ROOM];
static const unsigned char key[96] = "ninety-six bytes of keying material, of which every suite takes as many as it needs, from here";

/* Fills each buffer with a packet of another length. */
static void fill(size_t offset)
{
    size_t i, at;

    for (i = 0; i < COUNT; i++) {
        packets[i].buffer = ring[i];
        packets[i].buffer_bytes = ROOM;
        packets[i].offset = offset;
        packets[i].bytes = PAYLOAD + i;
        packets[i].type = 4;
        packets[i].error = 77;
        for (at = 0; at < packets[i].bytes; at++)
            ring[i][offset + at] = (unsigned char)(i + at);
    }
}

static void there_again(size_t i)
{
    size_t at;
    const unsigned char *payload = ring[i] + packets[i].offset;

    HOLDS(packets[i].error == 0 && packets[i].bytes == PAYLOAD + i && packets[i].type == 4);
    for (at = 0; at < packets[i].bytes; at++)
        HOLDS(payload[at] == (unsigned char)(i + at));
}

static void of_suite(const char *cipher, const char *integrity, size_t key_bytes, int has_extended_numbers)
{
    struct oarlock_esp_spec spec;
    oarlock_esp *out, *in;
    size_t i;

    memset(&spec, 0, sizeof spec);
    spec.spi = 0x1234;
    spec.cipher = cipher;
    spec.integrity = integrity;
    spec.key = key;
    spec.key_bytes = key_bytes - 1;
    spec.has_extended_numbers = has_extended_numbers;
    spec.replay_window = 1024;
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_KEY);
    HOLDS(out == NULL);
    spec.key_bytes = key_bytes;
    spec.last_sequence = 41;
    IS(oarlock_esp_new(accelerator, &out, &spec), 0);
    spec.opens = 1;
    IS(oarlock_esp_new(accelerator, &in, &spec), OARLOCK_E_ARGUMENT);
    spec.last_sequence = 0;
    IS(oarlock_esp_new(accelerator, &in, &spec), 0);

    fill(OARLOCK_ESP_BEFORE_BYTES);
    IS(oarlock_esp_run(out, packets, COUNT), 0);
    for (i = 0; i < COUNT; i++) {
        HOLDS(packets[i].error == 0 && packets[i].sequence == 42 + i && packets[i].bytes > PAYLOAD + i);
        HOLDS(ring[i][packets[i].offset + 2] == 0x12 && ring[i][packets[i].offset + 3] == 0x34);
    }
    /* One is altered, one comes twice, and one is another association's: the others go on. */
    ring[5][packets[5].offset + packets[5].bytes - 1] ^= 1;
    memcpy(ring[7], ring[6], ROOM);
    packets[7].offset = packets[6].offset;
    packets[7].bytes = packets[6].bytes;
    ring[9][packets[9].offset] ^= 1;
    packets[11].bytes = 7;
    IS(oarlock_esp_run(in, packets, COUNT), OARLOCK_E_AUTHENTICATION);
    for (i = 0; i < COUNT; i++) {
        if (i == 5)
            HOLDS(packets[i].error == OARLOCK_E_AUTHENTICATION);
        else if (i == 7)
            HOLDS(packets[i].error == OARLOCK_E_REPLAYED);
        else if (i == 9 || i == 11)
            HOLDS(packets[i].error == OARLOCK_E_PACKET);
        else
            there_again(i);
    }
    IS(oarlock_esp_free(out), 0);
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_HANDLE);
    IS(oarlock_esp_free(out), OARLOCK_E_HANDLE);
    IS(oarlock_esp_free(in), 0);
}

static void esp(void)
{
    static const struct {
        const char *name;
        size_t key_bytes;
    } aeads[] = {{"aes-128-gcm", 20}, {"aes-192-gcm", 28}, {"aes-256-gcm", 36}, {"chacha20-poly1305", 36}},
      ciphers[] = {{"null", 0},         {"aes-128-cbc", 16}, {"aes-192-cbc", 24}, {"aes-256-cbc", 32},
                   {"aes-128-ctr", 20}, {"aes-192-ctr", 28}, {"aes-256-ctr", 36}, {"des-ede3-cbc", 24}},
      integrities[] = {{"hmac-md5-96", 16},
                       {"hmac-sha1-96", 20},
                       {"hmac-sha256-128", 32},
                       {"hmac-sha384-192", 48},
                       {"hmac-sha512-256", 64}};
    size_t i, j;

    for (i = 0; i < sizeof aeads / sizeof *aeads; i++)
        of_suite(aeads[i].name, NULL, aeads[i].key_bytes, (int)(i % 2));
    for (i = 0; i < sizeof ciphers / sizeof *ciphers; i++)
        for (j = 0; j < sizeof integrities / sizeof *integrities; j++)
            if (ciphers[i].key_bytes + integrities[j].key_bytes <= sizeof key)
                of_suite(ciphers[i].name, integrities[j].name, ciphers[i].key_bytes + integrities[j].key_bytes,
                         (int)(j % 2));
}

static void refused_calls(void)
{
    struct oarlock_esp_spec spec;
    oarlock_esp *out;
    size_t i;

    memset(&spec, 0, sizeof spec);
    spec.cipher = "aes-128-gcm";
    spec.key = key;
    spec.key_bytes = 20;
    IS(oarlock_esp_new(accelerator, NULL, &spec), OARLOCK_E_ARGUMENT);
    IS(oarlock_esp_new(accelerator, &out, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT); /* An SPI of 0. */
    spec.spi = 1;
    IS(oarlock_esp_new(NULL, &out, &spec), OARLOCK_E_HANDLE);
    spec.cipher = "aes-128-cbc";
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT);
    spec.cipher = NULL;
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT);
    spec.cipher = "aes-128-gcm";
    spec.integrity = "hmac-sha1-96";
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT);
    spec.integrity = NULL;
    spec.replay_window = (size_t)-1;
    spec.opens = 1;
    IS(oarlock_esp_new(accelerator, &out, &spec), 0);
    IS(oarlock_esp_free(out), 0);
    spec.replay_window = 0;
    spec.opens = 0;
    spec.key = NULL;
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT);
    spec.key = key;
    IS(oarlock_esp_new(accelerator, &out, &spec), 0);
    IS(oarlock_esp_run(NULL, packets, 1), OARLOCK_E_HANDLE);
    IS(oarlock_esp_run((oarlock_esp *)accelerator, packets, 1), OARLOCK_E_HANDLE);
    IS(oarlock_esp_run(out, NULL, 0), 0);
    IS(oarlock_esp_run(out, NULL, 1), OARLOCK_E_ARGUMENT);
    IS(oarlock_esp_run(out, packets, (size_t)-1), OARLOCK_E_ARGUMENT);
    IS(oarlock_esp_run(out, packets, (size_t)-1 / sizeof *packets), OARLOCK_E_ARGUMENT);

    /* None is done of what cannot be: the numbers below begin with 1. */
    fill(OARLOCK_ESP_BEFORE_BYTES);
    packets[3].buffer = NULL;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_ARGUMENT);
    packets[3].buffer = ring[2] + ROOM - 1;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_OVERLAP);
    packets[3].buffer = ring[60];
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_OVERLAP);
    packets[3].buffer = (unsigned char *)&packets[1] + 8;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_OVERLAP);
    packets[3].buffer = ring[3];
    packets[3].bytes = ROOM;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_ARGUMENT);
    packets[3].bytes = (size_t)-1;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_ARGUMENT);
    packets[3].bytes = 10;
    packets[3].buffer_bytes = (size_t)-1;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_ARGUMENT);
    packets[3].buffer_bytes = ROOM;
    packets[3].type = 256;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_ARGUMENT);
    packets[3].type = 4;
    /* Each says so, and is where it was. */
    for (i = 0; i < COUNT; i++)
        HOLDS(packets[i].error == OARLOCK_E_ARGUMENT && packets[i].offset == OARLOCK_ESP_BEFORE_BYTES);
    packets[0].error = 0;
    IS(oarlock_esp_run(NULL, packets, 1), OARLOCK_E_HANDLE);
    HOLDS(packets[0].error == OARLOCK_E_HANDLE);

    /* In any order; too little room is one packet's alone, and takes no number. */
    for (i = 0; i < COUNT / 2; i++) {
        struct oarlock_packet packet = packets[i];
        packets[i] = packets[COUNT - 1 - i];
        packets[COUNT - 1 - i] = packet;
    }
    packets[1].buffer_bytes = packets[1].offset + packets[1].bytes;
    packets[2].offset = 0;
    IS(oarlock_esp_run(out, packets, COUNT), OARLOCK_E_BUFFER);
    HOLDS(packets[0].sequence == 1 && packets[1].error == OARLOCK_E_BUFFER && packets[2].error == OARLOCK_E_BUFFER);
    HOLDS(packets[3].sequence == 2 && packets[COUNT - 1].sequence == COUNT - 2);
    HOLDS(strstr(oarlock_error_detail(), "packet 1") != NULL);
    packets[0].buffer = NULL;
    packets[0].buffer_bytes = packets[0].offset = packets[0].bytes = 0;
    IS(oarlock_esp_run(out, packets, 1), OARLOCK_E_BUFFER);
    IS(oarlock_esp_free(out), 0);
    IS(oarlock_esp_free(NULL), 0);

    spec.last_sequence = 0xffffffff + (uint64_t)1;
    IS(oarlock_esp_new(accelerator, &out, &spec), OARLOCK_E_ARGUMENT);
    spec.last_sequence = 0xfffffffe;
    IS(oarlock_esp_new(accelerator, &out, &spec), 0);
    fill(OARLOCK_ESP_BEFORE_BYTES);
    IS(oarlock_esp_run(out, packets, 2), OARLOCK_E_EXHAUSTED);
    HOLDS(packets[0].error == 0 && packets[1].error == OARLOCK_E_EXHAUSTED);
    IS(oarlock_esp_free(out), 0);
}

/* Packets of one source, with a header of 12 bytes; or reports, with one of 8. */
static void fill_rtp(int are_rtcp)
{
    size_t i;

    fill(0);
    for (i = 0; i < COUNT; i++) {
        memset(ring[i], 0, 12);
        ring[i][0] = 0x80;
        ring[i][1] = are_rtcp ? 200 : 96;
        ring[i][3] = (unsigned char)i;
        ring[i][are_rtcp ? 7 : 11] = 9;
    }
}

static void of_srtp(const char *suite, size_t key_bytes, int has_mki, int are_rtcp)
{
    static unsigned char plain[COUNT][ROOM];
    struct oarlock_srtp_spec spec;
    oarlock_srtp *out, *in;
    size_t i;

    memset(&spec, 0, sizeof spec);
    spec.suite = suite;
    spec.key = key;
    spec.key_bytes = key_bytes;
    if (has_mki) {
        spec.mki = "first";
        spec.mki_bytes = 5;
    }
    IS(oarlock_srtp_new(accelerator, &out, &spec), 0);
    spec.opens = 1;
    IS(oarlock_srtp_new(accelerator, &in, &spec), 0);
    IS(oarlock_srtp_use_key(in, "second", 6), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_expect_roll_over_counter(out, 9, 3), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_remove(out, 9), OARLOCK_E_ARGUMENT);
    if (has_mki) {
        IS(oarlock_srtp_use_key(out, "2nd..", 5), OARLOCK_E_KEY);
        IS(oarlock_srtp_add_key(out, "2nd..", 5, key + 1, key_bytes - 1), OARLOCK_E_KEY);
        IS(oarlock_srtp_add_key(out, "2nd", 3, key + 1, key_bytes), OARLOCK_E_ARGUMENT);
        IS(oarlock_srtp_add_key(out, "2nd..", 5, key + 1, key_bytes), 0);
        IS(oarlock_srtp_add_key(in, "2nd..", 5, key + 1, key_bytes), 0);
        IS(oarlock_srtp_use_key(out, "2nd..", 5), 0);
    } else {
        IS(oarlock_srtp_add_key(out, "2nd..", 5, key + 1, key_bytes), OARLOCK_E_ARGUMENT);
    }
    fill_rtp(are_rtcp);
    memcpy(plain, ring, sizeof ring);
    IS(oarlock_srtp_run(out, packets, COUNT, are_rtcp), 0);
    for (i = 0; i < COUNT; i++)
        HOLDS(packets[i].offset == 0 && packets[i].bytes > PAYLOAD + i);
    HOLDS(are_rtcp || packets[COUNT - 1].sequence == COUNT - 1);
    ring[5][50] ^= 1;
    IS(oarlock_srtp_run(in, packets, COUNT, are_rtcp), OARLOCK_E_AUTHENTICATION);
    for (i = 0; i < COUNT; i++)
        HOLDS(i == 5 ? packets[i].error == OARLOCK_E_AUTHENTICATION
                     : packets[i].error == 0 && packets[i].bytes == PAYLOAD + i &&
                           memcmp(ring[i], plain[i], PAYLOAD + i) == 0);
    /* A number that was used, and a source that is forgotten. */
    memcpy(ring[1], plain[1], PAYLOAD + 1);
    packets[1].bytes = PAYLOAD + 1;
    if (!are_rtcp)
        IS(oarlock_srtp_run(out, packets + 1, 1, 0), OARLOCK_E_REPLAYED);
    IS(oarlock_srtp_remove(out, 9), 0);
    IS(oarlock_srtp_remove(in, 9), 0);
    IS(oarlock_srtp_remove(in, 9), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_expect_roll_over_counter(in, 9, 1), 0);
    memcpy(ring[1], plain[1], PAYLOAD + 1);
    packets[1].bytes = PAYLOAD + 1;
    IS(oarlock_srtp_run(out, packets + 1, 1, are_rtcp), 0);
    /* SRTCP carries its whole index. */
    IS(oarlock_srtp_run(in, packets + 1, 1, are_rtcp), are_rtcp ? 0 : OARLOCK_E_AUTHENTICATION);
    packets[0].bytes = 3;
    IS(oarlock_srtp_run(in, packets, 1, are_rtcp), OARLOCK_E_PACKET);
    packets[0].bytes = packets[0].buffer_bytes = 20;
    ring[0][0] = 0x80;
    IS(oarlock_srtp_run(out, packets, 1, are_rtcp), OARLOCK_E_BUFFER);
    IS(oarlock_srtp_free(out), 0);
    IS(oarlock_srtp_free(out), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_run(out, packets, 1, 0), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_add_key(out, "2nd..", 5, key, key_bytes), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_use_key(out, "2nd..", 5), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_remove(out, 9), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_expect_roll_over_counter(out, 9, 0), OARLOCK_E_HANDLE);
    IS(oarlock_srtp_free(in), 0);
    IS(oarlock_srtp_free(NULL), 0);
}

static void srtp(void)
{
    static const struct {
        const char *name;
        size_t key_bytes;
    } suites[] = {{"AES_CM_128_HMAC_SHA1_80", 30}, {"AES_CM_128_HMAC_SHA1_32", 30}, {"AES_192_CM_HMAC_SHA1_80", 38},
                  {"AES_192_CM_HMAC_SHA1_32", 38}, {"AES_256_CM_HMAC_SHA1_80", 46}, {"AES_256_CM_HMAC_SHA1_32", 46},
                  {"AEAD_AES_128_GCM", 28},        {"AEAD_AES_256_GCM", 44},        {"SRTP_NULL_HMAC_SHA1_80", 30},
                  {"SRTP_NULL_HMAC_SHA1_32", 30}};
    struct oarlock_srtp_spec spec;
    oarlock_srtp *context;
    size_t i;

    for (i = 0; i < sizeof suites / sizeof *suites; i++) {
        of_srtp(suites[i].name, suites[i].key_bytes, 0, 0);
        of_srtp(suites[i].name, suites[i].key_bytes, 1, 0);
        of_srtp(suites[i].name, suites[i].key_bytes, 0, 1);
    }
    memset(&spec, 0, sizeof spec);
    IS(oarlock_srtp_new(accelerator, NULL, &spec), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_new(accelerator, &context, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_new(accelerator, &context, &spec), OARLOCK_E_ARGUMENT);
    IS(oarlock_srtp_new(NULL, &context, &spec), OARLOCK_E_HANDLE);
    spec.suite = "ROT13";
    IS(oarlock_srtp_new(accelerator, &context, &spec), OARLOCK_E_ARGUMENT);
    spec.suite = suites[0].name;
    spec.key = key;
    spec.key_bytes = 29;
    IS(oarlock_srtp_new(accelerator, &context, &spec), OARLOCK_E_KEY);
    HOLDS(context == NULL);
}

/* Sealed records, one behind the other as a socket would give them. */
static size_t sent(unsigned char *stream)
{
    size_t i, bytes = 0;

    for (i = 0; i < COUNT; i++) {
        memcpy(stream + bytes, ring[i] + packets[i].offset, packets[i].bytes);
        bytes += packets[i].bytes;
    }
    return bytes;
}

static void of_tls(unsigned suite, size_t secret_bytes, size_t key_bytes)
{
    static unsigned char stream[COUNT * ROOM];
    struct oarlock_packet opened[COUNT];
    struct oarlock_tls_spec spec;
    oarlock_tls *out, *in;
    size_t i, at, bytes, count, done, done_before = 0;

    memset(&spec, 0, sizeof spec);
    spec.suite = suite;
    spec.secret = key;
    spec.secret_bytes = secret_bytes - 1;
    IS(oarlock_tls_new(accelerator, &out, &spec), OARLOCK_E_KEY);
    HOLDS(out == NULL);
    spec.secret_bytes = secret_bytes;
    spec.sequence = 7;
    IS(oarlock_tls_new(accelerator, &out, &spec), 0);
    spec.opens = 1;
    IS(oarlock_tls_new(accelerator, &in, &spec), 0);
    fill(OARLOCK_TLS_BEFORE_BYTES);
    for (i = 0; i < COUNT; i++)
        packets[i].type = i == 20 ? 22 : 23;
    packets[3].type = 20;
    IS(oarlock_tls_seal(out, packets, COUNT), OARLOCK_E_PACKET);
    HOLDS(packets[3].error == OARLOCK_E_PACKET && packets[4].sequence == 10);
    packets[3].bytes = 0;
    bytes = sent(stream);

    /* In two halves, of which the first ends within a record, and up to the message of the handshake. */
    count = COUNT;
    IS(oarlock_tls_open(in, opened, &count, &done, stream, 700), 0);
    HOLDS(count == 5 && done < 700 && opened[4].type == 23 && opened[4].sequence == 11 && opened[4].error == 0);
    done_before = done;
    count = COUNT;
    IS(oarlock_tls_open(in, opened, &count, &done, stream + done_before, bytes - done_before), 0);
    HOLDS(count == 15 && opened[14].type == 22 && opened[14].bytes == PAYLOAD + 20);
    for (at = 0; at < opened[14].bytes; at++)
        HOLDS(stream[done_before + opened[14].offset + at] == (unsigned char)(20 + at));
    done_before += done;
    count = 1;
    IS(oarlock_tls_open(in, opened, &count, &done, stream + done_before, bytes - done_before), 0);
    HOLDS(count == 1 && opened[0].bytes == PAYLOAD + 21);
    done_before += done;
    stream[done_before + 30] ^= 1;
    count = COUNT;
    IS(oarlock_tls_open(in, opened, &count, &done, stream + done_before, bytes - done_before), OARLOCK_E_AUTHENTICATION);
    HOLDS(count == 0 && done == 0);
    IS(oarlock_tls_open(in, opened, &count, &done, stream, bytes), OARLOCK_E_AUTHENTICATION);

    IS(oarlock_tls_seal(in, packets, 1), OARLOCK_E_STATE);
    IS(oarlock_tls_open(out, opened, &count, &done, stream, bytes), OARLOCK_E_STATE);
    IS(oarlock_tls_update(out), 0);
    IS(oarlock_tls_free(in), 0);
    IS(oarlock_tls_open(in, opened, &count, &done, stream, bytes), OARLOCK_E_HANDLE);
    IS(oarlock_tls_seal(in, packets, 1), OARLOCK_E_HANDLE);
    IS(oarlock_tls_update(in), OARLOCK_E_HANDLE);
    IS(oarlock_tls_free(in), OARLOCK_E_HANDLE);
    spec.sequence = 0;
    IS(oarlock_tls_new(accelerator, &in, &spec), 0);
    IS(oarlock_tls_update(in), 0);
    fill(OARLOCK_TLS_BEFORE_BYTES);
    for (i = 0; i < COUNT; i++)
        packets[i].type = 23;
    IS(oarlock_tls_seal(out, packets, COUNT), 0);
    bytes = sent(stream);
    count = COUNT;
    IS(oarlock_tls_open(in, NULL, &count, &done, stream, bytes), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_open(in, opened, NULL, &done, stream, bytes), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_open(in, opened, &count, NULL, stream, bytes), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_open(in, opened, &count, &done, NULL, bytes), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_open(in, opened, &count, &done, stream, (size_t)-1), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_open(in, opened, &count, &done, opened, sizeof opened), OARLOCK_E_OVERLAP);
    IS(oarlock_tls_open(in, opened, &count, &done, &count, sizeof count), OARLOCK_E_OVERLAP);
    IS(oarlock_tls_open(in, opened, &count, &count, stream, bytes), OARLOCK_E_OVERLAP);
    count = (size_t)-1;
    IS(oarlock_tls_open(in, opened, &count, &done, stream, bytes), OARLOCK_E_ARGUMENT);
    count = 0;
    IS(oarlock_tls_open(in, NULL, &count, &done, stream, bytes), 0);
    HOLDS(count == 0 && done == 0);
    count = COUNT;
    IS(oarlock_tls_open(in, opened, &count, &done, NULL, 0), 0);
    HOLDS(count == 0 && done == 0);
    count = COUNT;
    IS(oarlock_tls_open(in, opened, &count, &done, stream, bytes), 0);
    HOLDS(count == COUNT && done == bytes && opened[COUNT - 1].bytes == PAYLOAD + COUNT - 1);
    IS(oarlock_tls_free(in), 0);
    IS(oarlock_tls_free(out), 0);

    /* As the kernel's TLS is given its keys: without the secret of the next generation. */
    spec.key = key;
    spec.key_bytes = key_bytes;
    IS(oarlock_tls_new(accelerator, &in, &spec), OARLOCK_E_ARGUMENT);
    spec.secret_bytes = 0;
    IS(oarlock_tls_new(accelerator, &in, &spec), OARLOCK_E_ARGUMENT);
    spec.iv = key + 32;
    spec.iv_bytes = 12;
    spec.opens = 0;
    IS(oarlock_tls_new(accelerator, &out, &spec), 0);
    IS(oarlock_tls_update(out), OARLOCK_E_ARGUMENT);
    packets[0].buffer_bytes = packets[0].offset + packets[0].bytes;
    packets[1].type = 256;
    IS(oarlock_tls_seal(out, packets, 2), OARLOCK_E_ARGUMENT);
    packets[1].type = 23;
    IS(oarlock_tls_seal(out, packets, 1), OARLOCK_E_BUFFER);
    IS(oarlock_tls_free(out), 0);
    IS(oarlock_tls_free(NULL), 0);
    spec.key_bytes = key_bytes - 1;
    IS(oarlock_tls_new(accelerator, &out, &spec), OARLOCK_E_KEY);
}

static void tls(void)
{
    struct oarlock_tls_spec spec;
    oarlock_tls *direction;

    of_tls(0x1301, 32, 16);
    of_tls(0x1302, 48, 32);
    of_tls(0x1303, 32, 32);
    memset(&spec, 0, sizeof spec);
    spec.secret = key;
    spec.secret_bytes = 32;
    IS(oarlock_tls_new(accelerator, &direction, &spec), OARLOCK_E_ARGUMENT);
    spec.suite = 0x11301;
    IS(oarlock_tls_new(accelerator, &direction, &spec), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_new(accelerator, NULL, &spec), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_new(accelerator, &direction, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_tls_new(NULL, &direction, &spec), OARLOCK_E_HANDLE);
}

static int have_the_name;

/* How often this thread was the one that gave the name. */
static void *registers(void *argument)
{
    size_t *times = argument;
    int i;

    for (i = 0; i < 2000; i++)
        if (oarlock_accelerator_register(accelerator, "the only one") == 0) {
            (*times)++;
            if (__sync_add_and_fetch(&have_the_name, 1) != 1)
                *times = 1000000;
            __sync_sub_and_fetch(&have_the_name, 1);
            if (oarlock_accelerator_unregister("the only one") != 0)
                *times = 1000000;
        }
    return NULL;
}

static void names(void)
{
    oarlock_accelerator *found, *second;
    oarlock_framework *framework;
    size_t index = 1, room = sizeof ring, given = 0, times[8] = {0};
    pthread_t threads[8];

    IS(oarlock_accelerator_register(NULL, "soft"), OARLOCK_E_HANDLE);
    IS(oarlock_accelerator_register(accelerator, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find(NULL, "soft"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find(&found, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find(&found, "soft"), OARLOCK_E_ARGUMENT);
    HOLDS(found == NULL);
    IS(oarlock_accelerator_register(accelerator, "soft"), 0);
    IS(oarlock_accelerator_register(accelerator, "soft"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_register(accelerator, "other"), 0);
    IS(oarlock_accelerator_find(&found, "soft"), 0);
    IS(oarlock_accelerator_find(&second, "soft"), 0);
    HOLDS(found != accelerator && found != second);
    IS(oarlock_accelerator_free(second), 0);
    IS(oarlock_accelerator_set_options(found, "max_threads=2"), 0);
    IS(oarlock_accelerator_unregister("soft"), 0);
    IS(oarlock_accelerator_unregister("soft"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_unregister(NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find(&second, "soft"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find_device(found, &index, "software"), 0);
    IS(oarlock_accelerator_device(found, (char *)ring, &room, index), 0);
    HOLDS(strcmp((char *)ring, "software") == 0);
    IS(oarlock_accelerator_find_device(found, &index, "nobody"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find_device(found, NULL, "software"), OARLOCK_E_ARGUMENT);
    IS(oarlock_accelerator_find_device(found, &index, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_framework_new(found, &framework), 0);
    IS(oarlock_framework_find_device(framework, &index, "nobody"), OARLOCK_E_ARGUMENT);
    IS(oarlock_framework_find_device(framework, NULL, "nobody"), OARLOCK_E_ARGUMENT);
    IS(oarlock_framework_find_device(framework, &index, NULL), OARLOCK_E_ARGUMENT);
    IS(oarlock_framework_free(framework), 0);
    IS(oarlock_framework_find_device(framework, &index, "nobody"), OARLOCK_E_HANDLE);
    IS(oarlock_accelerator_free(found), 0);
    IS(oarlock_accelerator_find_device(found, &index, "software"), OARLOCK_E_HANDLE);
    IS(oarlock_accelerator_unregister("other"), 0);
    for (index = 0; index < 8; index++)
        HOLDS(pthread_create(&threads[index], NULL, registers, &times[index]) == 0);
    for (index = 0; index < 8; index++) {
        HOLDS(pthread_join(threads[index], NULL) == 0);
        given += times[index];
    }
    HOLDS(given > 0 && given <= 16000);
    IS(oarlock_accelerator_find(&found, "the only one"), OARLOCK_E_ARGUMENT);
}

int main(void)
{
    IS(oarlock_accelerator_new(&accelerator, NULL), 0);
    esp();
    refused_calls();
    srtp();
    tls();
    names();
    IS(oarlock_accelerator_free(accelerator), 0);
    return 0;
}
