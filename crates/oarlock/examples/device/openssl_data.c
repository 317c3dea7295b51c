// A device of Oarlock for data, that has OpenSSL compute: AES-128-CTR, AES-128-GCM, HMAC, and
// AES-128-CBC, then HMAC.
//
//     gcc -O2 -shared -fPIC -I crates/oarlock/include crates/oarlock/examples/device/openssl_data.c -lcrypto -o data.so
//
// Built with -DSTRAY it writes a byte behind its data, and with -DLIE it changes the last byte of every
// result, to show that both are found out.

#include <oarlock_device.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#ifndef SIZE
#define SIZE sizeof(oarlock_device_table_v2)
#endif
#ifndef VERSION
#define VERSION OARLOCK_DEVICE_ABI_VERSION
#endif

static int opened = 1;

static int open_device(const char *options, void **out_device, char *error, size_t error_len) {
  if (options[0] != '\0') {
    snprintf(error, error_len, "there are no options");
    return 0;
  }
  *out_device = &opened;
  return 1;
}

static void close_device(void *device) { (void)device; }

static size_t capacity(void *device) {
  (void)device;
  return 4;
}

static int is_cipher(const oarlock_device_service_v2 *service, const char *name) {
  return strcmp(service->cipher, name) == 0;
}

static int offer(void *device, const oarlock_device_service_v2 *service,
                 oarlock_device_offer_v2 *out_offer) {
  (void)device;
  int serves = (service->kind == OARLOCK_DEVICE_CIPHER && is_cipher(service, "aes-128-ctr")) ||
               (service->kind == OARLOCK_DEVICE_AEAD && is_cipher(service, "aes-128-gcm")) ||
               service->kind == OARLOCK_DEVICE_MAC ||
               (service->kind == OARLOCK_DEVICE_ENCRYPT_THEN_MAC && is_cipher(service, "aes-128-cbc"));
  out_offer->latency_ns = 20000;
  out_offer->per_request_ns = 1000;
  out_offer->key_setup_ns = 0;
  out_offer->bytes_per_second = 1000000000;
  return serves;
}

// Runs |cipher| over what is encrypted. Of GCM, also writes the tag of what it has made to |tag|.
static int crypt(const EVP_CIPHER *cipher, const oarlock_device_request_v2 *request, int encrypts,
                 uint8_t *tag) {
  EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
  uint8_t *data = request->data + request->encrypted_start;
  int len = (int)(request->encrypted_end - request->encrypted_start);
  int aad_len = (int)(request->authenticated_end - request->authenticated_start);
  uint8_t skipped[16] = {0};
  int done;
  int ok = ctx != NULL && EVP_CipherInit_ex(ctx, cipher, NULL, request->cipher_key, request->iv, encrypts) &&
           EVP_CIPHER_CTX_set_padding(ctx, 0) &&
           EVP_CipherUpdate(ctx, skipped, &done, skipped, (int)request->skip);
  if (ok && tag != NULL) {
    ok = EVP_CipherUpdate(ctx, NULL, &done, request->data + request->authenticated_start, aad_len);
  }
  ok = ok && EVP_CipherUpdate(ctx, data, &done, data, len) && EVP_CipherFinal_ex(ctx, data + done, &done);
  if (ok && tag != NULL) {
    ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag);
  }
  EVP_CIPHER_CTX_free(ctx);
  return ok;
}

// GCM XORs keystream, so a message is opened as it is sealed. Its tag is of the ciphertext: to open takes
// three passes here, of which the second makes the ciphertext again, and its tag.
static int gcm(const oarlock_device_request_v2 *request) {
  uint8_t *tag = request->data + request->tag_start;
  uint8_t of_plaintext[16];
  if (!request->decrypts) {
    return crypt(EVP_aes_128_gcm(), request, 1, tag);
  }
  return crypt(EVP_aes_128_gcm(), request, 1, of_plaintext) && crypt(EVP_aes_128_gcm(), request, 1, tag) &&
         crypt(EVP_aes_128_gcm(), request, 1, of_plaintext);
}

// Of what is authenticated alone and then of what is encrypted.
static int mac(const oarlock_device_request_v2 *request) {
  const EVP_MD *md = EVP_get_digestbyname(request->service.hash);
  HMAC_CTX *ctx = HMAC_CTX_new();
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned len;
  int ok = md != NULL && ctx != NULL &&
           HMAC_Init_ex(ctx, request->mac_key, (int)request->mac_key_len, md, NULL) &&
           HMAC_Update(ctx, request->data + request->authenticated_start,
                       request->authenticated_end - request->authenticated_start) &&
           HMAC_Update(ctx, request->data + request->encrypted_start,
                       request->encrypted_end - request->encrypted_start) &&
           HMAC_Final(ctx, digest, &len);
  HMAC_CTX_free(ctx);
  if (ok) {
    memcpy(request->data + request->tag_start, digest, request->tag_len);
  }
  return ok;
}

static int run(void *device, const oarlock_device_request_v2 *request, char *error, size_t error_len) {
  (void)device;
  int ok = 0;
  switch (request->service.kind) {
    case OARLOCK_DEVICE_CIPHER:
      ok = crypt(EVP_aes_128_ctr(), request, 1, NULL);
      break;
    case OARLOCK_DEVICE_AEAD:
      ok = gcm(request);
      break;
    case OARLOCK_DEVICE_MAC:
      ok = mac(request);
      break;
    case OARLOCK_DEVICE_ENCRYPT_THEN_MAC:
      if (request->decrypts) {
        ok = mac(request) && crypt(EVP_aes_128_cbc(), request, 0, NULL);
      } else {
        ok = crypt(EVP_aes_128_cbc(), request, 1, NULL) && mac(request);
      }
      break;
  }
#ifdef LIE
  if (request->encrypted_end > request->encrypted_start) {
    request->data[request->encrypted_end - 1] ^= 1;
  } else if (request->tag_len > 0) {
    request->data[request->tag_start] ^= 1;
  }
#endif
#ifdef STRAY
  request->data[request->data_len] ^= 1;
#endif
  if (!ok) {
    snprintf(error, error_len, "OpenSSL has refused");
  }
  return ok;
}

const oarlock_device_table_v2 *oarlock_device_v2(void) {
  static const oarlock_device_table_v2 table = {
      .size = SIZE,
      .abi_version = VERSION,
      .name = "openssl",
      .open = open_device,
      .close = close_device,
      .capacity = capacity,
      .offer = offer,
      .run = run,
  };
  return &table;
}
