/*
 * IPsec packets by the ring: 64 in a call, sealed as a gateway sends them, and opened as its peer does.
 * cc esp.c $(pkg-config --cflags --libs oarlock)
 */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING 64
#define PAYLOAD 1400
#ifndef ROUNDS
#define ROUNDS 100
#endif
#define ROOM (OARLOCK_ESP_BEFORE_BYTES + PAYLOAD + OARLOCK_ESP_BEHIND_BYTES)

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

int main(void)
{
    static const unsigned char key[36] = "a key of 32 bytes, then salt of 4..";
    static unsigned char buffers[RING][ROOM];
    struct oarlock_packet packets[RING];
    struct oarlock_esp_spec spec;
    oarlock_accelerator *accelerator;
    oarlock_esp *outbound, *inbound;
    unsigned long opened = 0, forged = 0;
    size_t i, round;

    check(oarlock_accelerator_new(&accelerator, NULL), "the accelerator");
    memset(&spec, 0, sizeof spec);
    spec.spi = 0x1000;
    spec.cipher = "aes-256-gcm";
    spec.key = key;
    spec.key_bytes = sizeof key;
    check(oarlock_esp_new(accelerator, &outbound, &spec), "the sender's side");
    spec.opens = 1;
    check(oarlock_esp_new(accelerator, &inbound, &spec), "the receiver's side");

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < RING; i++) {
            packets[i].buffer = buffers[i];
            packets[i].buffer_bytes = ROOM;
            packets[i].offset = OARLOCK_ESP_BEFORE_BYTES;
            packets[i].bytes = PAYLOAD;
            packets[i].type = 4; /* IPv4 */
            memset(buffers[i] + OARLOCK_ESP_BEFORE_BYTES, (int)round, PAYLOAD);
        }
        check(oarlock_esp_run(outbound, packets, RING), "sealing");

        /* On the way one is forged. It does not stop the others. */
        buffers[7][packets[7].offset + 100] ^= 1;
        if (oarlock_esp_run(inbound, packets, RING) != OARLOCK_E_AUTHENTICATION)
            return 1;
        for (i = 0; i < RING; i++) {
            const unsigned char *payload = buffers[i] + packets[i].offset;

            if (packets[i].error != 0)
                forged++;
            else if (packets[i].bytes == PAYLOAD && packets[i].type == 4 && payload[PAYLOAD - 1] == round)
                opened++;
        }
    }
    printf("%lu packets opened, %lu forged\n", opened, forged);
    check(oarlock_esp_free(inbound), "freeing the receiver's side");
    check(oarlock_esp_free(outbound), "freeing the sender's side");
    check(oarlock_accelerator_free(accelerator), "freeing the accelerator");
    return 0;
}
