// A device of Oarlock that has OpenSSL compute.
//
//     gcc -O2 -shared -fPIC -I crates/oarlock/include crates/oarlock/examples/device/openssl.c -lcrypto -o openssl.so
//
// Its options are empty or "capacity=N". Built with -DLIE it changes every result, to show that wrong
// ones are found out.

#include <oarlock_device.h>
#include <openssl/bn.h>
#include <stdio.h>
#include <stdlib.h>

struct device {
  size_t capacity;
};

static int failed(const char *reason, char *error, size_t error_len) {
  snprintf(error, error_len, "%s", reason);
  return 0;
}

static int open_device(const char *options, void **out_device, char *error, size_t error_len) {
  unsigned capacity = 8;
  char rest;
  if (options[0] != '\0' &&
      (sscanf(options, "capacity=%u%c", &capacity, &rest) != 1 || capacity == 0)) {
    return failed("the only option is capacity=N, of at least 1", error, error_len);
  }
  struct device *device = malloc(sizeof(*device));
  if (device == NULL) {
    return failed("no memory", error, error_len);
  }
  device->capacity = capacity;
  *out_device = device;
  return 1;
}

static void close_device(void *device) { free(device); }

static size_t capacity(void *device) { return ((struct device *)device)->capacity; }

// On a machine of 2020, for 1024 bits: a private operation grows with the third power.
static uint64_t latency_us(void *device, int kind, size_t modulus_bits) {
  (void)device;
  uint64_t kilobits = modulus_bits / 1024 + 1, cube = kilobits * kilobits * kilobits;
  switch (kind) {
    case OARLOCK_DEVICE_POWER:
      return 150 * cube;
    case OARLOCK_DEVICE_POWER_CRT:
      return 50 * cube;
    case OARLOCK_DEVICE_POWER_SHORT:
      return 10 * kilobits * kilobits;
    default:
      return 0;
  }
}

// A number from a context, which wipes it.
static BIGNUM *number(BN_CTX *context, const uint8_t *bytes, size_t len) {
  BIGNUM *n = BN_CTX_get(context);
  if (n == NULL || BN_bin2bn(bytes, (int)len, n) == NULL) {
    return NULL;
  }
  BN_set_flags(n, BN_FLG_CONSTTIME);
  return n;
}

static int write_result(const BIGNUM *n, uint8_t *result, size_t len) {
  if (BN_bn2binpad(n, result, (int)len) < 0) {
    return 0;
  }
#ifdef LIE
  result[len - 1] ^= 1;
#endif
  return 1;
}

static int power(void *device, const uint8_t *base, const uint8_t *exponent, size_t exponent_len,
                 const uint8_t *modulus, size_t modulus_len, uint8_t *result, char *error,
                 size_t error_len) {
  (void)device;
  BN_CTX *context = BN_CTX_secure_new();
  if (context == NULL) {
    return failed("no memory", error, error_len);
  }
  BN_CTX_start(context);
  BIGNUM *b = number(context, base, modulus_len);
  BIGNUM *e = number(context, exponent, exponent_len);
  BIGNUM *n = number(context, modulus, modulus_len);
  BIGNUM *r = BN_CTX_get(context);
  int ok = b != NULL && e != NULL && n != NULL && r != NULL &&
           BN_mod_exp_mont_consttime(r, b, e, n, context, NULL) &&
           write_result(r, result, modulus_len);
  BN_CTX_end(context);
  BN_CTX_free(context);
  return ok || failed("BN_mod_exp_mont_consttime failed", error, error_len);
}

// m = mq + q ((mp - mq) qinv mod p), of the powers modulo p and q (RFC 8017, 5.1.2).
static int power_crt(void *device, const uint8_t *base, const uint8_t *modulus, size_t modulus_len,
                     const uint8_t *p_bytes, const uint8_t *q_bytes, const uint8_t *dp_bytes,
                     const uint8_t *dq_bytes, const uint8_t *qinv_bytes, size_t prime_len,
                     uint8_t *result, char *error, size_t error_len) {
  (void)device;
  (void)modulus;
  BN_CTX *context = BN_CTX_secure_new();
  if (context == NULL) {
    return failed("no memory", error, error_len);
  }
  BN_CTX_start(context);
  BIGNUM *b = number(context, base, modulus_len);
  BIGNUM *p = number(context, p_bytes, prime_len), *q = number(context, q_bytes, prime_len);
  BIGNUM *dp = number(context, dp_bytes, prime_len), *dq = number(context, dq_bytes, prime_len);
  BIGNUM *qinv = number(context, qinv_bytes, prime_len);
  BIGNUM *mp = BN_CTX_get(context), *mq = BN_CTX_get(context), *r = BN_CTX_get(context);
  int ok = b != NULL && p != NULL && q != NULL && dp != NULL && dq != NULL && qinv != NULL &&
           r != NULL && BN_mod(r, b, p, context) &&
           BN_mod_exp_mont_consttime(mp, r, dp, p, context, NULL) && BN_mod(r, b, q, context) &&
           BN_mod_exp_mont_consttime(mq, r, dq, q, context, NULL) &&
           BN_mod_sub(r, mp, mq, p, context) && BN_mod_mul(r, r, qinv, p, context) &&
           BN_mul(r, r, q, context) && BN_add(r, r, mq) && write_result(r, result, modulus_len);
  BN_CTX_end(context);
  BN_CTX_free(context);
  return ok || failed("OpenSSL's arithmetic failed", error, error_len);
}

const oarlock_device_table_v2 *oarlock_device_v2(void) {
  static const oarlock_device_table_v2 table = {
      .size = sizeof(table),
      .abi_version = OARLOCK_DEVICE_ABI_VERSION,
      .name = "openssl",
      .open = open_device,
      .close = close_device,
      .capacity = capacity,
      .latency_us = latency_us,
      .power = power,
#ifndef WITHOUT_CRT
      .power_crt = power_crt,
#endif
  };
  return &table;
}
