/*
 * A file, encrypted by a ring of AEAD packets: IN_FLIGHT pieces are under way at any time, and results come in order.
 * Then the pieces are decrypted and compared. cc seal_file.c $(pkg-config --cflags --libs oarlock)
 */
#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 16384
#define IN_FLIGHT 32
#define HEADER "seal_file 1"

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

/* A header that is authenticated, the text, and room for the tag. */
static unsigned char packet[sizeof HEADER + PIECE_BYTES + OARLOCK_TAG_BYTES];

/* The next sealed piece goes to the file. */
static void take(oarlock_queue *queue, FILE *sealed)
{
    size_t bytes = sizeof packet;
    int error;

    check(oarlock_queue_next(queue, NULL, &error, packet, &bytes, 1), "a result");
    check(error, "a piece");
    if (fwrite(packet + sizeof HEADER, 1, bytes - sizeof HEADER, sealed) != bytes - sizeof HEADER) {
        perror("the sealed file");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const unsigned char key[32] = "a key of thirty-two bytes, here", iv[12] = "twelve bytes";
    static unsigned char plain[PIECE_BYTES];
    oarlock_accelerator *accelerator;
    oarlock_framework *framework;
    oarlock_session *sealer, *opener;
    oarlock_queue *queue;
    oarlock_job *job;
    struct oarlock_session_spec spec;
    struct oarlock_request request;
    FILE *from, *sealed;
    size_t bytes, in_flight = 0;
    unsigned long pieces = 0;

    if (argc != 3 || (from = fopen(argv[1], "rb")) == NULL || (sealed = fopen(argv[2], "w+b")) == NULL) {
        fprintf(stderr, "usage: %s FILE SEALED\n", argv[0]);
        return 2;
    }
    check(oarlock_accelerator_new(&accelerator, NULL), "the accelerator");
    check(oarlock_framework_new(accelerator, &framework), "the framework");
    memset(&spec, 0, sizeof spec);
    spec.service = OARLOCK_SERVICE_CIPHER;
    spec.cipher = "aes-256-gcm";
    spec.key = key;
    spec.key_bytes = sizeof key;
    spec.iv = iv;
    spec.iv_bytes = sizeof iv;
    check(oarlock_session_new(framework, &sealer, &spec), "the session");
    check(oarlock_session_new(framework, &opener, &spec), "the session");
    check(oarlock_queue_new(&queue, 1), "the queue");

    /* Each packet has the next nonce. */
    memset(&request, 0, sizeof request);
    request.authenticated_bytes = sizeof HEADER;
    memcpy(packet, HEADER, sizeof HEADER);
    while ((bytes = fread(packet + sizeof HEADER, 1, PIECE_BYTES, from)) > 0) {
        bytes += sizeof HEADER + OARLOCK_TAG_BYTES;
        check(oarlock_session_submit(sealer, &job, packet, bytes, &request), "submission");
        check(oarlock_queue_push(queue, job, NULL), "the queue");
        pieces++;
        if (++in_flight == IN_FLIGHT) {
            take(queue, sealed);
            memcpy(packet, HEADER, sizeof HEADER);
            in_flight--;
        }
    }
    for (; in_flight > 0; in_flight--)
        take(queue, sealed);

    /* And back, one by one. */
    rewind(from);
    rewind(sealed);
    request.decrypts = 1;
    memcpy(packet, HEADER, sizeof HEADER);
    while ((bytes = fread(packet + sizeof HEADER, 1, PIECE_BYTES + OARLOCK_TAG_BYTES, sealed)) > 0) {
        check(oarlock_session_run(opener, packet, sizeof HEADER + bytes, &request), "opening");
        bytes -= OARLOCK_TAG_BYTES;
        if (fread(plain, 1, bytes, from) != bytes || memcmp(plain, packet + sizeof HEADER, bytes) != 0) {
            fprintf(stderr, "what was opened is not the file\n");
            return 1;
        }
    }
    printf("%lu pieces\n", pieces);
    check(oarlock_queue_free(queue), "freeing the queue");
    check(oarlock_session_free(opener), "freeing the session");
    check(oarlock_session_free(sealer), "freeing the session");
    check(oarlock_framework_free(framework), "freeing the framework");
    check(oarlock_accelerator_free(accelerator), "freeing the accelerator");
    fclose(from);
    return fclose(sealed);
}
