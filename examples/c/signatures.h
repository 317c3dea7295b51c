/*
 * What the examples of event loops have in common: 1000 signatures, of which IN_FLIGHT are submitted at any time. The loop
 * watches the descriptor of `queue`, and calls take_results() when it is readable.
 */
#ifndef SIGNATURES_H
#define SIGNATURES_H

#include <oarlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIGNATURES
#define SIGNATURES 1000
#endif
#define IN_FLIGHT 64
#define MESSAGE_BYTES 16

static oarlock_accelerator *accelerator;
static oarlock_rsa_private *private_key;
static oarlock_rsa_public *public_key;
static oarlock_queue *queue;
static int queue_fd;
static unsigned submitted, done;

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

/* The message of a number: the tag of its job says which. */
static const char *message(unsigned number)
{
    static char text[MESSAGE_BYTES];

    memset(text, 0, sizeof text);
    sprintf(text, "message %u", number % 10000);
    return text;
}

static void submit_next(void)
{
    oarlock_job *job;
    const char *text = message(submitted);

    check(oarlock_rsa_submit_sign(private_key, &job, "pss-sha256", text, MESSAGE_BYTES, NULL), "submission");
    check(oarlock_queue_push(queue, job, (void *)(size_t)submitted), "the queue");
    submitted++;
}

/* Takes all results that there are, and submits as many messages. Returns whether there is more to come. */
static int take_results(void)
{
    unsigned char signature[1024];
    size_t bytes;
    void *tag;
    int error, outcome;

    for (;;) {
        bytes = sizeof signature;
        outcome = oarlock_queue_next(queue, &tag, &error, signature, &bytes, 0);
        if (outcome == OARLOCK_E_AGAIN)
            return 1;
        if (outcome == OARLOCK_E_EMPTY)
            return 0;
        check(outcome, "a result");
        check(error, "a signature");
        check(oarlock_rsa_verify(public_key, "pss-sha256", message((unsigned)(size_t)tag), MESSAGE_BYTES, signature,
                                 bytes),
              "verification");
        done++;
        if (submitted < SIGNATURES)
            submit_next();
    }
}

/* Reads the key from the file that is the argument, and submits the first messages. */
static void begin(int argc, char **argv)
{
    static char key[16384];
    FILE *file;
    size_t bytes;

    if (argc != 2 || (file = fopen(argv[1], "rb")) == NULL) {
        fprintf(stderr, "usage: %s KEY.pem\n", argv[0]);
        exit(2);
    }
    bytes = fread(key, 1, sizeof key, file);
    fclose(file);
    check(oarlock_accelerator_new(&accelerator, NULL), "the accelerator");
    check(oarlock_rsa_private_new(accelerator, &private_key, key, bytes), argv[1]);
    check(oarlock_rsa_public_of(private_key, &public_key), "the public key");
    check(oarlock_queue_new(&queue, 0), "the queue");
    check(oarlock_queue_fd(queue, &queue_fd), "its descriptor");
    while (submitted < IN_FLIGHT)
        submit_next();
}

/* Says what was done, and frees everything. */
static int end(void)
{
    struct oarlock_stats stats;

    check(oarlock_accelerator_stats(accelerator, &stats, NULL), "the statistics");
    printf("%u signatures\n", done);
    fprintf(stderr, "%lu alone, %lu in %lu groups\n", (unsigned long)stats.rsa_alone,
            (unsigned long)stats.rsa_in_groups, (unsigned long)stats.rsa_groups);
    check(oarlock_queue_free(queue), "freeing the queue");
    check(oarlock_rsa_public_free(public_key), "freeing the public key");
    check(oarlock_rsa_private_free(private_key), "freeing the private key");
    check(oarlock_accelerator_free(accelerator), "freeing the accelerator");
    return done == SIGNATURES ? 0 : 1;
}

#endif
