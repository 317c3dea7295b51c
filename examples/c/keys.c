/*
 * A device for RSA keys that a program brings: powers by OpenSSL's numbers, as a table of functions. Real drivers hand
 * them to a board. cc keys.c $(pkg-config --cflags --libs oarlock) -lcrypto
 */
#include <oarlock.h>
#include <oarlock_device.h>

#include <openssl/bn.h>
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
    return 2;
}

/* Faster than it is, so that it gets every request. */
static uint64_t device_latency_us(void *device, int kind, size_t modulus_bits)
{
    (void)device;
    (void)kind;
    (void)modulus_bits;
    return 1;
}

static int device_power(void *device, const uint8_t *base, const uint8_t *exponent, size_t exponent_len,
                        const uint8_t *modulus, size_t modulus_len, uint8_t *result, char *error, size_t error_len)
{
    BN_CTX *context = BN_CTX_secure_new();
    BIGNUM *b = BN_bin2bn(base, (int)modulus_len, NULL), *e = BN_secure_new();
    BIGNUM *m = BN_bin2bn(modulus, (int)modulus_len, NULL), *r = BN_new();
    int done = context != NULL && b != NULL && e != NULL && m != NULL && r != NULL &&
               BN_bin2bn(exponent, (int)exponent_len, e) != NULL && BN_mod_exp_mont_consttime(r, b, e, m, context, NULL) &&
               BN_bn2binpad(r, result, (int)modulus_len) == (int)modulus_len;

    atomic_fetch_add((atomic_int *)device, 1);
    if (!done)
        snprintf(error, error_len, "libcrypto made no power");
    BN_clear_free(b);
    BN_clear_free(e);
    BN_clear_free(r);
    BN_free(m);
    BN_CTX_free(context);
    return done;
}

static const oarlock_device_table_v2 table = {
    sizeof table, 2, "libcrypto", device_open, device_close, device_capacity, NULL, NULL, device_latency_us, device_power, NULL,
};

static void check(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, oarlock_strerror(error), oarlock_error_detail());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static unsigned char key[16384], signature[512], power[1];
    static const unsigned char modulus[] = {101}, base[] = {3}, exponent[] = {5};
    oarlock_accelerator *accelerator;
    oarlock_framework *framework;
    oarlock_rsa_private *private_key;
    oarlock_rsa_public *public_key;
    oarlock_job *job;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t bytes, signature_bytes;

    if (file == NULL) {
        fprintf(stderr, "keys KEY.PEM\n");
        return 2;
    }
    bytes = fread(key, 1, sizeof key, file);
    fclose(file);
    check(oarlock_accelerator_new(&accelerator, NULL), "the accelerator");
    check(oarlock_framework_new(accelerator, &framework), "the framework");
    check(oarlock_rsa_private_new(accelerator, &private_key, key, bytes), "the key");
    check(oarlock_rsa_public_of(private_key, &public_key), "its public half");
    check(oarlock_framework_register(framework, &table, NULL, NULL, 1), "the device");
    check(oarlock_framework_submit_sign(framework, private_key, &job, "pss-sha256", "a message", 9), "submission");
    signature_bytes = sizeof signature;
    check(oarlock_job_wait(job, signature, &signature_bytes), "the signature by the device");
    check(oarlock_job_free(job), "freeing the job");
    check(oarlock_rsa_verify(public_key, "pss-sha256", "a message", 9, signature, signature_bytes),
          "verification");
    check(oarlock_framework_submit_power(framework, &job, modulus, 1, base, 1, exponent, 1), "submission");
    bytes = sizeof power;
    check(oarlock_job_wait(job, power, &bytes), "the power by the device");
    check(oarlock_job_free(job), "freeing the job");
    printf("libcrypto: %d requests, a signature of %lu bytes, 3^5 mod 101 = %d\n", requests,
           (unsigned long)signature_bytes, power[0]);
    check(oarlock_framework_withdraw(framework, "libcrypto"), "withdrawal");
    check(oarlock_rsa_public_free(public_key), "freeing the public key");
    check(oarlock_rsa_private_free(private_key), "freeing the key");
    check(oarlock_framework_free(framework), "freeing the framework");
    check(oarlock_accelerator_free(accelerator), "freeing the accelerator");
    /* A thread may still be in the device, if the CPU was faster in the end: it is closed behind that. */
    while (!atomic_load(&is_closed))
        sched_yield();
    return 0;
}
