// What a shared library exports to be a device of Oarlock: something that encrypts and authenticates
// data, raises numbers to powers, or both.
//
// A library exports |oarlock_device_v2|, which returns a table. Its users name it by its path
// (oarlock::device::LibraryDevice, docs/devices.md); it becomes a part of their process and stays loaded
// until that ends. No exception and no longjmp may leave a function of the table, and none may call fork,
// change signal handlers, or write to standard output or standard error.
//
// All numbers are not negative and big-endian. Pointers that functions are given are valid and not NULL
// until the function returns, and belong to the caller. Pointers to bytes are not aligned in any way.
//
// A function may write only to |*out_device|, |*out_offer|, |result|, |data| and |error|, within their
// lengths. Oarlock checks the bytes around |result|, |data| and |error| after every call, and aborts the
// process with a line that names the library if they have changed: nobody knows what else has.

#ifndef OARLOCK_DEVICE_H
#define OARLOCK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// OARLOCK_DEVICE_ABI_VERSION is the version of the table that this header describes. What is only
// added at its end leaves the version as it is and makes |size| larger.
#define OARLOCK_DEVICE_ABI_VERSION 2

// OARLOCK_DEVICE_POWER is a power by an exponent of about as many bits as the modulus has, by
// |power|.
#define OARLOCK_DEVICE_POWER 0

// OARLOCK_DEVICE_POWER_CRT is a power by the private half of an RSA key whose primes are given, by
// |power_crt|.
#define OARLOCK_DEVICE_POWER_CRT 1

// OARLOCK_DEVICE_POWER_SHORT is a power by an exponent of at most 64 bits, as those of public keys
// are, by |power|.
#define OARLOCK_DEVICE_POWER_SHORT 2

// What a request asks for.
#define OARLOCK_DEVICE_CIPHER 0            // a stream cipher or AES-CBC
#define OARLOCK_DEVICE_AEAD 1              // an authenticated cipher
#define OARLOCK_DEVICE_MAC 2               // HMAC
#define OARLOCK_DEVICE_DIGEST 3            // a hash
#define OARLOCK_DEVICE_ENCRYPT_THEN_MAC 4  // a cipher, and HMAC of the ciphertext
#define OARLOCK_DEVICE_MAC_THEN_ENCRYPT 5  // a cipher, and HMAC of the plaintext
#define OARLOCK_DEVICE_RANDOM 6            // random bytes, in place of what would be encrypted; Oarlock XORs
                                           // bytes of another source onto them

// oarlock_device_service_v2 names what is asked for.
typedef struct oarlock_device_service_v2 {
  // kind is OARLOCK_DEVICE_CIPHER or one of the others.
  uint32_t kind;

  // cipher is the cipher as `oarlock bench` has it, such as "aes-128-gcm", "aes-256-ctr", "aes-128-cbc"
  // or "chacha20-poly1305"; empty where there is none.
  const char *cipher;

  // hash is "md5", "sha1", "sha256", "sha384" or "sha512"; empty where there is none.
  const char *hash;
} oarlock_device_service_v2;

// oarlock_device_offer_v2 is what a device takes. Estimates will do.
typedef struct oarlock_device_offer_v2 {
  // latency_ns is from the call to its return, without the times below.
  uint64_t latency_ns;

  // per_request_ns is for how long a request keeps the device from others.
  uint64_t per_request_ns;

  // key_setup_ns comes in addition, for keys that the device does not have yet.
  uint64_t key_setup_ns;

  // bytes_per_second is its rate under full load; not zero.
  uint64_t bytes_per_second;
} oarlock_device_offer_v2;

// oarlock_device_request_v2 is one request. Ranges are of |data|, from the first byte to the one behind the
// last, and lie within it. A later header may add to its end.
typedef struct oarlock_device_request_v2 {
  // size is the size of this structure.
  size_t size;

  oarlock_device_service_v2 service;

  // decrypts is one to decrypt or verify, and zero to encrypt or make a tag.
  uint32_t decrypts;

  // session is the same for all requests of a session, which have the same keys, and for no others of the
  // process. The number of a request without a session does not come again.
  uint64_t session;

  // The keys; none where the service has none.
  const uint8_t *cipher_key;
  size_t cipher_key_len;
  const uint8_t *mac_key;
  size_t mac_key_len;

  // iv is, of stream ciphers, the counter block of the first byte as a big-endian number of 16 bytes; of
  // CBC the block before; of AEADs the nonce.
  const uint8_t *iv;
  size_t iv_len;

  // skip is how many bytes of the first block of a stream cipher are used up.
  size_t skip;

  // data is what is changed in place.
  uint8_t *data;
  size_t data_len;

  // What is authenticated alone, before what is encrypted.
  size_t authenticated_start;
  size_t authenticated_end;

  // What is encrypted or decrypted.
  size_t encrypted_start;
  size_t encrypted_end;

  // Where the tag goes, either way: of a message that is decrypted, the tag that it should have.
  // Oarlock compares it with the one that it came with, which |data| do not have.
  size_t tag_start;
  size_t tag_len;
} oarlock_device_request_v2;

// oarlock_device_table_v2 is what a device consists of. It has |offer| and |run|, or |latency_us| and
// |power|, or all of them; those that it lacks are NULL. All functions but |open| and |close| may be
// called by several threads at once, also for one device; |run|, |power| and |power_crt| by no more of
// them than |capacity| has said.
typedef struct oarlock_device_table_v2 {
  // size is sizeof(oarlock_device_table_v2) as the library was compiled. A table that ends before the
  // end of |run| is refused; functions behind its end count as NULL; of a longer one, the rest is ignored.
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

  // offer returns one and fills |*out_offer| if |device| serves such requests, and zero if not. It must
  // not wait.
  int (*offer)(void *device, const oarlock_device_service_v2 *service,
               oarlock_device_offer_v2 *out_offer);

  // run does |request| and returns one. On failure it returns zero and writes the reason to |error|; what
  // it has made of |data| is not looked at then.
  //
  // It may write to |data| and |error| alone. It may keep the keys for other requests of the session,
  // and nothing else; it wipes what it does not keep.
  int (*run)(void *device, const oarlock_device_request_v2 *request, char *error, size_t error_len);

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
} oarlock_device_table_v2;

// oarlock_device_v2 returns the table of the library, or NULL if it cannot work on this machine. It
// belongs to the library, and does not change.
const oarlock_device_table_v2 *oarlock_device_v2(void);

#ifdef __cplusplus
}  // extern C
#endif

#endif  // OARLOCK_DEVICE_H
