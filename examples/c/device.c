/*
 * A device that a program brings: SHA-256 by OpenSSL, as a table of functions. Real drivers hand the data to a board.
 * cc device.c $(pkg-config --cflags --libs oarlock) -lcrypto
 */
#include <oarlock.h>
#include <oarlock_device.h>

#include <openssl/evp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int requests, is_closed;

static int device_open(const char *options, void **device, char *error, size_t error_bytes)
{
    if (options[0] != '\0') {
        snprintf(error, error_bytes, "there is no option %s", options);
        return 0;
    }
    *device = &requests;
    return 1;
}

static void device_close(void *device)
{
    (void)device;
    atomic_store(&is_closed, 1);
}

static size_t device_capacity(void *device)
{
    (void)device;
    return 4;
}

/* Faster than it is, so that it gets every request. */
static int device_offer(void *device, const oarlock_device_service_v2 *service, oarlock_device_offer_v2 *offer)
{
    (void)device;
    if (service->kind != OARLOCK_DEVICE_DIGEST || strcmp(service->hash, "sha256") != 0)
        return 0;
    memset(offer, 0, sizeof *offer);
    offer->bytes_per_second = 1000000000000;
    return 1;
}

static int device_run(void *device, const oarlock_device_request_v2 *request, char *error, size_t error_bytes)
{
    const uint8_t *text = request->data + request->authenticated_start;
    size_t bytes = request->authenticated_end - request->authenticated_start;

    atomic_fetch_add((atomic_int *)device, 1);
    if (EVP_Digest(text, bytes, request->data + request->tag_start, NULL, EVP_sha256(), NULL) != 1) {
        snprintf(error, error_bytes, "libcrypto made no digest");
        return 0;
    }
    return 1;
}

static const oarlock_device_table_v2 table = {
    sizeof table, 2, "libcrypto", device_open, device_close, device_capacity, device_offer, device_run, NULL, NULL, NULL,
};

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

int main(void)
{
    /* A text, and room for the digest behind it. */
    static unsigned char data[1000000 + 32], here[32];
    struct oarlock_session_spec spec;
    oarlock_accelerator *accelerator;
    oarlock_framework *framework;
    oarlock_session *session;
    oarlock_job *job;
    char name[64];
    size_t bytes = sizeof name;

    check(oarlock_accelerator_new(&accelerator, NULL), "the accelerator");
    check(oarlock_framework_new(accelerator, &framework), "the framework");
    memset(&spec, 0, sizeof spec);
    spec.service = OARLOCK_SERVICE_DIGEST;
    spec.hash = "sha256";
    check(oarlock_session_new(framework, &session, &spec), "the session");
    check(oarlock_session_run(session, data, sizeof data, NULL), "the digest by the CPU");
    memcpy(here, data + 1000000, 32);

    /* Each result is computed again, and compared. */
    check(oarlock_framework_register(framework, &table, NULL, NULL, 1), "the device");
    check(oarlock_framework_device(framework, name, &bytes, 0), "its name");
    memset(data + 1000000, 0, 32);
    check(oarlock_session_submit(session, &job, data, sizeof data, NULL), "submission");
    bytes = sizeof data;
    check(oarlock_job_wait(job, data, &bytes), "the digest by the device");
    check(oarlock_job_free(job), "freeing the job");
    printf("%s: %d request, %s digest\n", name, requests,
           memcmp(data + 1000000, here, 32) == 0 ? "the same" : "another");
    check(oarlock_framework_withdraw(framework, name), "withdrawal");
    check(oarlock_session_free(session), "freeing the session");
    check(oarlock_framework_free(framework), "freeing the framework");
    check(oarlock_accelerator_free(accelerator), "freeing the accelerator");
    /* A thread may still be in the device, if the CPU was faster in the end: it is closed behind that. */
    while (!atomic_load(&is_closed))
        sched_yield();
    return 0;
}
