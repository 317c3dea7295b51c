/* Prints packets that are sealed with known keys, a line each, for comparison with what Rust makes of the same. */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char key[96] = "ninety-six bytes of keying material, of which every suite takes as many as it needs, from here";
static unsigned char buffer[256];

static void check(int error)
{
    if (error != 0) {
        fprintf(stderr, "%s (%s)\n", oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

static void print(const struct oarlock_packet *packet)
{
    size_t at;

    for (at = 0; at < packet->bytes; at++)
        printf("%02x", buffer[packet->offset + at]);
    printf(" %lu\n", (unsigned long)packet->sequence);
}

static struct oarlock_packet filled(size_t offset)
{
    struct oarlock_packet packet;
    size_t at;

    memset(&packet, 0, sizeof packet);
    memset(buffer, 0, sizeof buffer);
    packet.buffer = buffer;
    packet.buffer_bytes = sizeof buffer;
    packet.offset = offset;
    packet.bytes = 50;
    for (at = 0; at < 50; at++)
        buffer[offset + at] = (unsigned char)at;
    /* A header of RTP, or of a report of RTCP, at once. */
    buffer[offset] = 0x80;
    buffer[offset + 1] = 200;
    return packet;
}

static void esp(oarlock_accelerator *accelerator, const char *cipher, const char *integrity, size_t key_bytes, int extended)
{
    struct oarlock_packet packet = filled(OARLOCK_ESP_BEFORE_BYTES);
    struct oarlock_esp_spec spec;
    oarlock_esp *out;

    memset(&spec, 0, sizeof spec);
    spec.spi = 0x12345678;
    spec.cipher = cipher;
    spec.integrity = integrity;
    spec.key = key;
    spec.key_bytes = key_bytes;
    spec.has_extended_numbers = extended;
    spec.last_sequence = extended ? ((uint64_t)5 << 32) + 6 : 6;
    packet.type = 41;
    check(oarlock_esp_new(accelerator, &out, &spec));
    check(oarlock_esp_run(out, &packet, 1));
    print(&packet);
    check(oarlock_esp_free(out));
}

static void srtp(oarlock_accelerator *accelerator, const char *suite, size_t key_bytes, const char *mki, int rtcp, int plain)
{
    struct oarlock_packet packet = filled(3);
    struct oarlock_srtp_spec spec;
    oarlock_srtp *out;

    memset(&spec, 0, sizeof spec);
    spec.suite = suite;
    spec.key = key;
    spec.key_bytes = key_bytes;
    spec.mki = mki;
    spec.mki_bytes = strlen(mki);
    spec.leaves_rtcp_plain = plain;
    check(oarlock_srtp_new(accelerator, &out, &spec));
    check(oarlock_srtp_run(out, &packet, 1, rtcp));
    print(&packet);
    check(oarlock_srtp_free(out));
}

static void tls(oarlock_accelerator *accelerator, unsigned suite, size_t secret_bytes)
{
    struct oarlock_packet packet = filled(OARLOCK_TLS_BEFORE_BYTES);
    struct oarlock_tls_spec spec;
    oarlock_tls *out;

    memset(&spec, 0, sizeof spec);
    spec.suite = suite;
    spec.secret = key;
    spec.secret_bytes = secret_bytes;
    spec.sequence = 9;
    packet.type = 22;
    check(oarlock_tls_new(accelerator, &out, &spec));
    check(oarlock_tls_seal(out, &packet, 1));
    print(&packet);
    check(oarlock_tls_free(out));
}

int main(void)
{
    oarlock_accelerator *accelerator;

    check(oarlock_accelerator_new(&accelerator, NULL));
    esp(accelerator, "aes-128-gcm", NULL, 20, 0);
    esp(accelerator, "aes-256-gcm", NULL, 36, 1);
    esp(accelerator, "chacha20-poly1305", NULL, 36, 0);
    esp(accelerator, "aes-192-ctr", "hmac-sha384-192", 28 + 48, 1);
    esp(accelerator, "null", "hmac-sha1-96", 20, 0);
    srtp(accelerator, "AES_CM_128_HMAC_SHA1_32", 30, "", 0, 0);
    srtp(accelerator, "AES_256_CM_HMAC_SHA1_80", 46, "mki", 1, 0);
    srtp(accelerator, "AEAD_AES_256_GCM", 44, "", 1, 1);
    srtp(accelerator, "AEAD_AES_128_GCM", 28, "mki", 0, 1);
    tls(accelerator, 0x1301, 32);
    tls(accelerator, 0x1302, 48);
    tls(accelerator, 0x1303, 32);
    check(oarlock_accelerator_free(accelerator));
    return 0;
}
