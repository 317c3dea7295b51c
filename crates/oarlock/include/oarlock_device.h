// What a shared library exports to be a device of Oarlock: something that raises numbers to powers.
//
// A library exports one function, |oarlock_device_v1|, which returns a table. Its users name it by
// its path (oarlock::device::LibraryDevice, docs/devices.md); it becomes a part of their process and
// stays loaded until that ends. No exception and no longjmp may leave a function of the table, and
// none may call fork, change signal handlers, or write to standard output or standard error.
//
// All numbers are not negative and big-endian. Pointers that functions are given are valid, not NULL
// and not aligned in any way, until the function returns, and belong to the caller.
//
// A function may write to |*out_device|, |result| and |error| alone, and no further than they are long.
// Oarlock looks at the bytes around |result| and |error| after every call, and aborts the process with
// a line that names the library where they have changed: what else has, nobody knows.

#ifndef OARLOCK_DEVICE_H
#define OARLOCK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// OARLOCK_DEVICE_ABI_VERSION is the version of the table that this header describes. What is only
// added at its end leaves the version as it is and makes |size| larger.
#define OARLOCK_DEVICE_ABI_VERSION 1

// OARLOCK_DEVICE_POWER is a power by an exponent of about as many bits as the modulus has, by
// |power|.
#define OARLOCK_DEVICE_POWER 0

// OARLOCK_DEVICE_POWER_CRT is a power by the private half of an RSA key whose primes are given, by
// |power_crt|.
#define OARLOCK_DEVICE_POWER_CRT 1

// OARLOCK_DEVICE_POWER_SHORT is a power by an exponent of at most 64 bits, as those of public keys
// are, by |power|.
#define OARLOCK_DEVICE_POWER_SHORT 2

// oarlock_device_table_v1 is what a device consists of. All functions but |open| and |close| may be
// called by several threads at once, also for one device; |power| and |power_crt| by no more of them
// than |capacity| has said.
typedef struct oarlock_device_table_v1 {
  // size is sizeof(oarlock_device_table_v1) as the library was compiled. A table that is shorter
  // than version 1 is refused; of a longer one, the rest is ignored.
  size_t size;

  // abi_version is |OARLOCK_DEVICE_ABI_VERSION|. A table of another version is refused.
  uint32_t abi_version;

  // name is what the device is called in statistics and errors unless its user calls it otherwise:
  // a NUL-terminated string in UTF-8 of 1 to 255 bytes, without control characters. It belongs to the
  // library.
  const char *name;

  // open makes a device, sets |*out_device| to what the other functions are to be given, and returns
  // one. |options| is a NUL-terminated string in UTF-8 from the user's configuration, empty where
  // there is none; what it means, the library says.
  //
  // On failure it returns zero, leaves nothing behind, and writes the reason to |error|, which has
  // room for |error_len| bytes: a NUL-terminated line in UTF-8 without secrets. It may be called
  // again, for more than one device.
  //
  // The caller owns the device, and releases it with |close|.
  int (*open)(const char *options, void **out_device, char *error, size_t error_len);

  // close releases |device|. Nobody is in another function with it then, or will be.
  void (*close)(void *device);

  // capacity returns how many requests |device| works on at once, at least one. It is asked once,
  // after |open|; more threads than that wait for each other outside.
  size_t (*capacity)(void *device);

  // latency_us returns how many microseconds a request of |kind| (OARLOCK_DEVICE_POWER and the
  // others) with a modulus of |modulus_bits|, which may be rounded up, takes when |device| has
  // nothing else to do, or zero where it takes none of them. An estimate will do: it is mended by
  // what requests turn out to take. It is asked often, and must not wait.
  uint64_t (*latency_us)(void *device, int kind, size_t modulus_bits);

  // power writes |base| raised to |exponent| modulo |modulus| to |result| and returns one. |modulus|
  // is odd, greater than one, and has no leading zeros; |base| is less than it; |base|, |modulus| and
  // |result| have |modulus_len| bytes, and |result| gets leading zeros as needed. |exponent| has
  // |exponent_len| bytes, any number of them zero; with none of them it is zero, and the result one.
  // It is a secret, unless it is short: time and memory accesses should depend on nothing but
  // lengths and the modulus.
  //
  // On failure it returns zero and writes the reason to |error|, as |open| does. |result| is not
  // looked at then. A result of a private key that is wrong is found out, and not used.
  //
  // It keeps nothing of what it is given, and wipes what it has made of it.
  int (*power)(void *device, const uint8_t *base, const uint8_t *exponent, size_t exponent_len,
               const uint8_t *modulus, size_t modulus_len, uint8_t *result, char *error,
               size_t error_len);

  // power_crt writes |base| raised to the private exponent of an RSA key modulo |modulus| to |result|
  // and returns one. |modulus| is the product of the primes |p| and |q|; |dp| and |dq| are the private
  // exponent modulo |p| - 1 and |q| - 1, and |qinv| is the inverse of |q| modulo |p| (RFC 8017, 3.2).
  // All five are secret and have |prime_len| bytes, of which the first may be zero. |base|, |modulus|
  // and |result| are as for |power|; |modulus_len| need not be twice |prime_len|. Either prime may be
  // the greater one.
  //
  // On failure it returns zero, as |power| does; and it keeps nothing, as |power|.
  //
  // It may be NULL: then |power| is given such requests, with the whole private exponent.
  int (*power_crt)(void *device, const uint8_t *base, const uint8_t *modulus, size_t modulus_len,
                   const uint8_t *p, const uint8_t *q, const uint8_t *dp, const uint8_t *dq,
                   const uint8_t *qinv, size_t prime_len, uint8_t *result, char *error,
                   size_t error_len);
} oarlock_device_table_v1;

// oarlock_device_v1 returns the table of the library, or NULL where it cannot work on this machine.
//
// The table belongs to the library, and does not change.
const oarlock_device_table_v1 *oarlock_device_v1(void);

#ifdef __cplusplus
}  // extern C
#endif

#endif  // OARLOCK_DEVICE_H
