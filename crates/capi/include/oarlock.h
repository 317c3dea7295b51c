/*
 * Oarlock for programs in C and C++: cryptography on every vector lane and core of the machine.
 *
 * API-CONVENTIONS.md has what all functions have in common. In short: a function returns 0, or a negative number
 * when it failed, and then has changed nothing but what it says. What a call makes is freed by the function that
 * ends in _free. A handle that is NULL, was freed, or is of another kind or process is reported as an error and
 * never dereferenced. Any thread may call any function; an object that takes one call at a time refuses the second
 * with OARLOCK_E_BUSY. Functions that can wait say so.
 */
#ifndef OARLOCK_H
#define OARLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors. */

/* A handle is NULL, was freed, or is of another kind or process. */
#define OARLOCK_E_HANDLE (-1)
/* Another call uses the object just now. */
#define OARLOCK_E_BUSY (-2)
/* An argument does not fit: a buffer or a name is NULL, a name is unknown, or a length is wrong. */
#define OARLOCK_E_ARGUMENT (-3)
/* A buffer is too small for the result. Where the call has a place for its length, that was set to what is needed. */
#define OARLOCK_E_BUFFER (-4)
/* Buffers overlap that have to be apart, or input and output overlap and are not the same. */
#define OARLOCK_E_OVERLAP (-5)
/* The key does not fit the algorithm. */
#define OARLOCK_E_KEY (-6)
/* Something has to be called before, such as a function that sets a key. */
#define OARLOCK_E_STATE (-7)
/* The message is not authentic. No plaintext was released. */
#define OARLOCK_E_AUTHENTICATION (-8)
/* The padding is wrong. */
#define OARLOCK_E_PADDING (-9)
/* The signature does not belong to this message, key and scheme. */
#define OARLOCK_E_SIGNATURE (-10)
/* The ciphertext was not made for this key and scheme, or was altered. */
#define OARLOCK_E_DECRYPTION (-11)
/* As many jobs are waiting as may: take a result, then submit again. */
#define OARLOCK_E_QUEUE_FULL (-12)
/* The job was cancelled, its accelerator was freed, or this is a child forked since. */
#define OARLOCK_E_CANCELLED (-13)
/* The job's time was up before it began. */
#define OARLOCK_E_DEADLINE (-14)
/* An option is unknown, or its value does not fit. */
#define OARLOCK_E_OPTION (-15)
/* Too few threads are free under reservation=exclusive. */
#define OARLOCK_E_THREADS (-16)
/* A device did not do what it had offered, or none offers the algorithm. */
#define OARLOCK_E_DEVICE (-17)
/* There is no result yet. */
#define OARLOCK_E_AGAIN (-18)
/* The queue has no jobs. */
#define OARLOCK_E_EMPTY (-19)
/* Memory, descriptors or handles have run out. */
#define OARLOCK_E_MEMORY (-20)
/* The library has a bug. */
#define OARLOCK_E_INTERNAL (-21)
/* The packet's number was used before, or is older than the window. */
#define OARLOCK_E_REPLAYED (-22)
/* No sequence numbers are left, the key has done as much as it may, or there are too many sources. */
#define OARLOCK_E_EXHAUSTED (-23)
/* The packet is not one of this association: its length, its header, or whom it is for. */
#define OARLOCK_E_PACKET (-24)

/*
 * oarlock_strerror() says what an error means. It never fails: other numbers have a text too. The text is the
 * library's, and stays.
 */
const char *oarlock_strerror(int error);

/*
 * oarlock_error_detail() says what was wrong with the last call that failed on this thread: which argument, and what
 * fits. It never fails: without such a call the text is empty. The text is the library's, and stays until the next
 * call that fails on this thread, or the thread's end.
 */
const char *oarlock_error_detail(void);

/* oarlock_version() is the version of the library, such as "0.1.0". It never fails. The text is the library's, and stays. */
const char *oarlock_version(void);

/* Accelerators. */

typedef struct oarlock_accelerator oarlock_accelerator;

/*
 * oarlock_accelerator_new() makes an accelerator with `options`, "name=value,name=value": NULL or "" select the
 * defaults, which are those of the Rust library (docs/rust.md) except max_threads=4. It fails with OARLOCK_E_OPTION
 * for an unknown option or a value that does not fit. The caller frees it by oarlock_accelerator_free(). No thread
 * is made before a request gains from one, unless min_threads says so.
 */
int oarlock_accelerator_new(oarlock_accelerator **accelerator, const char *options);

/*
 * oarlock_accelerator_free() frees the handle; NULL is ignored. It fails for an invalid handle. Ciphers and keys
 * that were made with it go on, and so do its threads until the last of those is freed.
 */
int oarlock_accelerator_free(oarlock_accelerator *accelerator);

/*
 * oarlock_accelerator_set_options() changes the options that `options` names; the other ones stay. It fails with
 * OARLOCK_E_OPTION, and then has changed nothing. Of two threads that change options at once, one may change
 * nothing.
 */
int oarlock_accelerator_set_options(oarlock_accelerator *accelerator, const char *options);

/*
 * oarlock_accelerator_options() writes all options, "name=value,name=value" with a NUL, to `options`. It fails with
 * OARLOCK_E_BUFFER if that has fewer than the bytes needed. `*options_bytes` is the length of the buffer, and then
 * that of the text with its NUL.
 */
int oarlock_accelerator_options(oarlock_accelerator *accelerator, char *options, size_t *options_bytes);

/*
 * oarlock_accelerator_device() writes the name of device number `index`, from 0, with a NUL to `name`. It fails with
 * OARLOCK_E_ARGUMENT past the last one, and with OARLOCK_E_BUFFER. `*name_bytes` is as in
 * oarlock_accelerator_options().
 */
int oarlock_accelerator_device(oarlock_accelerator *accelerator, char *name, size_t *name_bytes, size_t index);

/*
 * oarlock_accelerator_find_device() writes the number of the device with this name. It fails with OARLOCK_E_ARGUMENT
 * if none has it.
 */
int oarlock_accelerator_find_device(oarlock_accelerator *accelerator, size_t *index, const char *name);

/*
 * oarlock_accelerator_register() gives an accelerator a name, by which other parts of the program find it; it may have
 * several. It fails with OARLOCK_E_ARGUMENT if the name is given already. The name is copied. The accelerator stays
 * until the name is taken back, also if this handle is freed.
 */
int oarlock_accelerator_register(oarlock_accelerator *accelerator, const char *name);

/*
 * oarlock_accelerator_unregister() takes a name back. It fails with OARLOCK_E_ARGUMENT if no accelerator has it.
 * Handles that were found by it stay. It can wait as oarlock_accelerator_free() does.
 */
int oarlock_accelerator_unregister(const char *name);

/*
 * oarlock_accelerator_find() makes another handle of the accelerator with this name. It fails with
 * OARLOCK_E_ARGUMENT if none has it. The caller frees it by oarlock_accelerator_free().
 */
int oarlock_accelerator_find(oarlock_accelerator **accelerator, const char *name);

/* What an accelerator has done: see oarlock_accelerator_stats(). */
struct oarlock_stats {
    /* Requests of ciphers, and their bytes. */
    uint64_t requests;
    uint64_t bytes;
    /* Of those requests, the ones that were spread over threads. */
    uint64_t striped_requests;
    /* Bytes whose keystream was there when it was asked for. */
    uint64_t prefetched_bytes;
    /* Requests with RSA keys and other powers that were computed alone. */
    uint64_t rsa_alone;
    /* Groups that were computed at once in vector lanes, and the requests in them. */
    uint64_t rsa_groups;
    uint64_t rsa_in_groups;
    /* Results that failed their check and were computed again. */
    uint64_t rsa_faults;
    /* Jobs that wait just now. */
    uint64_t jobs_waiting;
};

/*
 * oarlock_accelerator_stats() writes what the accelerator has done, with `algorithm` or, if that is NULL, with all.
 * It fails with OARLOCK_E_ARGUMENT for an unknown name. Ciphers hand in their counts when they are freed, and with
 * each request that is spread over threads. What is said of keys is never of one algorithm alone.
 */
int oarlock_accelerator_stats(oarlock_accelerator *accelerator, struct oarlock_stats *stats, const char *algorithm);

/* Algorithms. */

/* Kinds: a stream cipher and AES-CBC, for oarlock_cipher_new(), and an authenticated cipher, for oarlock_aead_new(). */
#define OARLOCK_KIND_STREAM 1
#define OARLOCK_KIND_CBC 2
#define OARLOCK_KIND_AEAD 3

struct oarlock_algorithm {
    int kind;
    size_t key_bytes;
    /* Of the IV, or of the nonce that is usual. */
    size_t iv_bytes;
    /* 0 for what does not authenticate. */
    size_t tag_bytes;
    /* Lengths are multiples of this. */
    size_t block_bytes;
};

/*
 * oarlock_algorithm_name() is the name of algorithm number `index`, from 0, such as "aes-256-ctr". Past the last one
 * it is NULL. The text is the library's, and stays.
 */
const char *oarlock_algorithm_name(size_t index);

/* oarlock_algorithm_describe() writes what `name` is. It fails with OARLOCK_E_ARGUMENT for an unknown name. */
int oarlock_algorithm_describe(struct oarlock_algorithm *description, const char *name);

/* Ciphers that encrypt and do not authenticate. One call at a time uses a cipher. */

typedef struct oarlock_cipher oarlock_cipher;

/*
 * oarlock_cipher_new() makes a cipher of `algorithm`, without a key. It fails with OARLOCK_E_ARGUMENT for an unknown
 * name and for one that authenticates. The caller frees it by oarlock_cipher_free().
 */
int oarlock_cipher_new(oarlock_accelerator *accelerator, oarlock_cipher **cipher, const char *algorithm);

/* oarlock_cipher_free() frees the handle and wipes its key; NULL is ignored. It fails for an invalid handle. */
int oarlock_cipher_free(oarlock_cipher *cipher);

/*
 * oarlock_cipher_set_key() sets the key, and forgets key and IV from before: an IV has to follow. It fails with
 * OARLOCK_E_KEY for another length than the algorithm's. The key is copied, and the copy wiped when it is not
 * needed.
 */
int oarlock_cipher_set_key(oarlock_cipher *cipher, const void *key, size_t key_bytes);

/*
 * oarlock_cipher_set_iv() begins a message at `iv`. It fails with OARLOCK_E_ARGUMENT for another length than the
 * algorithm's, with OARLOCK_E_STATE before there is a key, and as oarlock_accelerator_new() and the device do; with
 * OARLOCK_E_THREADS it can fail for the first IV of a key alone. Never use an IV twice with a stream cipher and the
 * same key: it would give both messages away.
 */
int oarlock_cipher_set_iv(oarlock_cipher *cipher, const void *iv, size_t iv_bytes);

/*
 * oarlock_cipher_encrypt() encrypts the next `bytes` bytes of the message from `in` to `out`, which may be the same;
 * if `iv` is not NULL, it begins a message there, as oarlock_cipher_set_iv() does with an IV of the algorithm's
 * length, also if it fails afterwards. It fails with OARLOCK_E_STATE before there are key and IV, with
 * OARLOCK_E_OVERLAP, and with OARLOCK_E_ARGUMENT for a length that is not of whole blocks with AES-CBC, or beyond
 * the keystream. Long requests wait for threads that help.
 */
int oarlock_cipher_encrypt(oarlock_cipher *cipher, void *out, const void *in, size_t bytes, const void *iv);

/* oarlock_cipher_decrypt() decrypts; otherwise it is as oarlock_cipher_encrypt(). */
int oarlock_cipher_decrypt(oarlock_cipher *cipher, void *out, const void *in, size_t bytes, const void *iv);

/*
 * oarlock_cipher_seek() goes to byte `position` of the message. It fails with OARLOCK_E_ARGUMENT for AES-CBC and
 * beyond the keystream, and with OARLOCK_E_STATE before there are key and IV.
 */
int oarlock_cipher_seek(oarlock_cipher *cipher, uint64_t position);

/*
 * oarlock_cipher_prefill() makes keystream for the bytes that come next, on this thread and for at most `time_ns`
 * nanoseconds; `*made_bytes`, unless it is NULL, is how much was made. It fails as oarlock_cipher_seek() does. It
 * takes the time that it is given.
 */
int oarlock_cipher_prefill(oarlock_cipher *cipher, size_t *made_bytes, uint64_t time_ns);

/* Ciphers that encrypt and authenticate. Any number of threads may use one at once. */

typedef struct oarlock_aead oarlock_aead;

/* Bytes of every tag. */
#define OARLOCK_TAG_BYTES 16

/*
 * oarlock_aead_new() makes an authenticated cipher with a key. It fails with OARLOCK_E_ARGUMENT for an unknown name
 * and for one that does not authenticate, with OARLOCK_E_KEY for a key of another length, and with OARLOCK_E_THREADS.
 * The key is copied, and the copy wiped. The caller frees it by oarlock_aead_free().
 */
int oarlock_aead_new(
    oarlock_accelerator *accelerator, oarlock_aead **aead, const char *algorithm, const void *key, size_t key_bytes
);

/* oarlock_aead_free() frees the handle and wipes its key; NULL is ignored. It fails for an invalid handle. */
int oarlock_aead_free(oarlock_aead *aead);

/*
 * oarlock_aead_seal() encrypts `bytes` bytes from `in` to `out`, which may be the same, and writes the tag, of
 * OARLOCK_TAG_BYTES. It fails with OARLOCK_E_ARGUMENT for a nonce of a length that the algorithm does not take (GCM
 * takes any but 0, ChaCha20-Poly1305 12) and for more than it allows under one nonce, and with OARLOCK_E_OVERLAP.
 * Never use a nonce twice with the same key. Long requests wait for threads that help.
 */
int oarlock_aead_seal(
    oarlock_aead *aead, void *out, void *tag, const void *nonce, size_t nonce_bytes, const void *aad, size_t aad_bytes,
    const void *in, size_t bytes
);

/*
 * oarlock_aead_open() decrypts `bytes` bytes from `in` to `out`, which may be the same, if `tag` is theirs. It fails
 * with OARLOCK_E_AUTHENTICATION if not: no plaintext is released, `in` is as it was, and a separate `out` is all
 * zeros. Otherwise it fails as oarlock_aead_seal() does.
 */
int oarlock_aead_open(
    oarlock_aead *aead, void *out, const void *tag, const void *nonce, size_t nonce_bytes, const void *aad,
    size_t aad_bytes, const void *in, size_t bytes
);

/* Jobs: requests that are submitted now and waited for later. One call at a time uses a job. */

typedef struct oarlock_job oarlock_job;

/* How a job is treated. All zeros are the defaults. */
struct oarlock_job_options {
    /* Not 0: it begins before all that are not urgent. */
    int is_urgent;
    /* Not 0: no thread is woken for it; who waits for it computes it, with others that were submitted. */
    int when_asked;
    /* If it has not begun within so many nanoseconds, it fails with OARLOCK_E_DEADLINE; 0 is no limit. */
    uint64_t time_ns;
};

/*
 * What oarlock_job_on_completion() calls. `error` is 0 or the job's error, whose detail this thread has; `result`
 * stays until the function returns, and is NULL if it has no bytes. It may call any function of this library; it
 * must be short and must not wait, since other jobs wait for its thread. No lock of the library is held.
 */
typedef void oarlock_job_callback(void *context, int error, const void *result, size_t result_bytes);

/*
 * oarlock_job_wait() waits for the job, and writes its result to `result`. It fails with the job's error, with
 * OARLOCK_E_BUFFER, after which the result can be asked for again, and with OARLOCK_E_STATE once the result was
 * taken. `*result_bytes` is the length of the buffer, and then that of the result. The job is still to be freed.
 */
int oarlock_job_wait(oarlock_job *job, void *result, size_t *result_bytes);

/*
 * oarlock_job_try() is oarlock_job_wait(), but fails with OARLOCK_E_AGAIN if the job has not ended. It does not
 * wait, unless the accelerator has no threads: then it computes jobs.
 */
int oarlock_job_try(oarlock_job *job, void *result, size_t *result_bytes);

/*
 * oarlock_job_cancel() cancels the job unless it has begun; `*is_cancelled`, unless it is NULL, is whether it did.
 * It fails with OARLOCK_E_BUSY while another thread waits for the job. The job is still to be freed.
 */
int oarlock_job_cancel(oarlock_job *job, int *is_cancelled);

/*
 * oarlock_job_free() frees the handle, and cancels the job unless it has begun; NULL is ignored. It fails for an
 * invalid handle.
 */
int oarlock_job_free(oarlock_job *job);

/*
 * oarlock_job_on_completion() has `callback` called with `context` when the job ends, once, on the thread that
 * computes it; or at once, on this thread, if it has ended or the accelerator has no threads. It fails with
 * OARLOCK_E_STATE for a job that was waited for. It frees the job: the handle is invalid afterwards, unless it
 * fails. In a child that was forked in between, `callback` is not called.
 */
int oarlock_job_on_completion(oarlock_job *job, oarlock_job_callback *callback, void *context);

/* Queues of jobs, with a descriptor for event loops. One call at a time uses a queue. */

typedef struct oarlock_queue oarlock_queue;

/*
 * oarlock_queue_new() makes a queue that gives results as jobs end or, if `in_order` is not 0, in the order in which
 * they were pushed. It fails with OARLOCK_E_ARGUMENT if `queue` is NULL. The caller frees it by
 * oarlock_queue_free().
 */
int oarlock_queue_new(oarlock_queue **queue, int in_order);

/*
 * oarlock_queue_free() frees the handle, closes its descriptor, and cancels its jobs unless they have begun; NULL is
 * ignored. It fails for an invalid handle.
 */
int oarlock_queue_free(oarlock_queue *queue);

/*
 * oarlock_queue_push() gives the job to the queue, which frees it: its handle is invalid afterwards, unless this
 * fails. It fails with OARLOCK_E_STATE for a job that was waited for. `tag` comes back with the result, and is never
 * followed.
 */
int oarlock_queue_push(oarlock_queue *queue, oarlock_job *job, void *tag);

/*
 * oarlock_queue_fd() writes the queue's descriptor: poll(2), epoll(7) and others find it readable whenever
 * oarlock_queue_next() should be called, until that fails with OARLOCK_E_AGAIN or OARLOCK_E_EMPTY. It fails with
 * OARLOCK_E_MEMORY if the process has no descriptor left. The descriptor is the queue's: do not read from it or
 * close it. A forked child has to ask for one of its own.
 */
int oarlock_queue_fd(oarlock_queue *queue, int *descriptor);

/*
 * oarlock_queue_next() takes the next result: the tag of its job, unless `tag` is NULL, its error, which is 0 where
 * there is a result, and the result. It fails with OARLOCK_E_EMPTY if there are no jobs, with OARLOCK_E_AGAIN if
 * none has ended and `wait` is 0, and with OARLOCK_E_BUFFER, after which the result has to be asked for again: the
 * descriptor does not tell of it a second time. If `wait` is not 0, it waits; if it is 0 and the accelerator has no
 * threads, it computes jobs. `*result_bytes` is the length of the buffer, and then that of the result.
 */
int oarlock_queue_next(oarlock_queue *queue, void **tag, int *error, void *result, size_t *result_bytes, int wait);

/*
 * Keys of any type. Any number of threads may use one at once. A function that computes does so on the calling thread;
 * with a key of RSA it waits where other threads compute already.
 *
 * Names of types are "RSA", "P-256", "P-384", "P-521", "Ed25519", "X25519", "ML-KEM-512", "ML-KEM-768", "ML-KEM-1024",
 * "ML-DSA-44", "ML-DSA-65" and "ML-DSA-87", in upper or lower case.
 *
 * Names of signature schemes are "ecdsa-sha256", "ecdsa-sha384" and "ecdsa-sha512" (signatures in DER), "ed25519",
 * "ml-dsa" (without a context) and "ml-dsa:CONTEXT" (with a text of up to 255 bytes as its context), and those of RSA
 * keys below.
 *
 * Raw keys are what the standards of the types call private and public keys: of P-256, P-384 and P-521 a scalar,
 * big-endian, of 32, 48 or 66 bytes, and a point (SEC 1), which is written uncompressed; of Ed25519 and X25519 32 bytes
 * each; of ML-KEM a seed of 64 bytes or a decapsulation key, and an encapsulation key; of ML-DSA a seed of 32 bytes or
 * an expanded private key, and a public key. RSA keys have no raw form.
 */

typedef struct oarlock_private_key oarlock_private_key;
typedef struct oarlock_public_key oarlock_public_key;

/*
 * oarlock_private_key_new() makes a private key of `key`, which is not encrypted: PKCS #8, SEC 1 ("EC PRIVATE KEY") or
 * PKCS #1 in PEM or DER, or OpenSSH's own format. It fails with OARLOCK_E_KEY for an invalid key, for one of another
 * type than those above, and for one whose parts contradict each other. The key is copied. The caller frees it by
 * oarlock_private_key_free().
 */
int oarlock_private_key_new(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const void *key, size_t key_bytes
);

/*
 * oarlock_private_key_from_raw() makes a private key of `type` from its raw form. It fails with OARLOCK_E_KEY for an
 * invalid key or one of another length, and with OARLOCK_E_ARGUMENT for an unknown type and for RSA. The key is copied.
 * The caller frees it by oarlock_private_key_free().
 */
int oarlock_private_key_from_raw(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const char *type, const void *raw,
    size_t raw_bytes
);

/*
 * oarlock_private_key_generate() generates a key pair of `type`. It fails with OARLOCK_E_ARGUMENT for an unknown type
 * and for RSA. The caller frees it by oarlock_private_key_free().
 */
int oarlock_private_key_generate(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const char *type
);

/* oarlock_private_key_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_private_key_free(oarlock_private_key *private_key);

/* oarlock_private_key_type() writes the name of the key's type, which is the library's. It fails for an invalid handle. */
int oarlock_private_key_type(oarlock_private_key *private_key, const char **type);

/*
 * oarlock_private_key_write() writes the key in a format: "pkcs8-der", "pkcs8-pem", of which no NUL is written, or
 * "raw", the seed where there is one. It fails with OARLOCK_E_ARGUMENT for an unknown format, for RSA as "raw", and for
 * an RSA key without its primes, and with OARLOCK_E_BUFFER. `*out_bytes` is the length of the buffer, and then that of
 * the key. Wipe the buffer when it is of no more use.
 */
int oarlock_private_key_write(oarlock_private_key *private_key, void *out, size_t *out_bytes, const char *format);

/*
 * oarlock_public_key_new() makes a public key of `key`: SubjectPublicKeyInfo or PKCS #1 in PEM or DER, or a line of
 * OpenSSH's. It fails with OARLOCK_E_KEY for an invalid key and for one of another type than those above. The key is
 * copied. The caller frees it by oarlock_public_key_free().
 */
int oarlock_public_key_new(
    oarlock_accelerator *accelerator, oarlock_public_key **public_key, const void *key, size_t key_bytes
);

/*
 * oarlock_public_key_from_raw() makes a public key of `type` from its raw form; a point may be compressed. It fails
 * with OARLOCK_E_KEY for an invalid key or one of another length, and with OARLOCK_E_ARGUMENT for an unknown type and
 * for RSA. The key is copied. The caller frees it by oarlock_public_key_free().
 */
int oarlock_public_key_from_raw(
    oarlock_accelerator *accelerator, oarlock_public_key **public_key, const char *type, const void *raw,
    size_t raw_bytes
);

/*
 * oarlock_public_key_of() makes the public key of a private one. It fails for an invalid handle. The caller frees it by
 * oarlock_public_key_free().
 */
int oarlock_public_key_of(oarlock_private_key *private_key, oarlock_public_key **public_key);

/* oarlock_public_key_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_public_key_free(oarlock_public_key *public_key);

/* oarlock_public_key_type() writes the name of the key's type, which is the library's. It fails for an invalid handle. */
int oarlock_public_key_type(oarlock_public_key *public_key, const char **type);

/*
 * oarlock_public_key_write() writes the key in a format: "spki-der", "spki-pem", of which no NUL is written, or "raw".
 * It fails with OARLOCK_E_ARGUMENT for an unknown format and for RSA as "raw", and with OARLOCK_E_BUFFER.
 * `*out_bytes` is the length of the buffer, and then that of the key.
 */
int oarlock_public_key_write(oarlock_public_key *public_key, void *out, size_t *out_bytes, const char *format);

/*
 * oarlock_key_sign() signs a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme, one that does not fit the
 * key, and a context that is too long, and with OARLOCK_E_BUFFER for room for less than the longest signature of the
 * key: the modulus of RSA, 72, 104 or 139 bytes of P-256, P-384 or P-521, 64 of Ed25519, 2420, 3309 or 4627 of
 * ML-DSA-44, -65 or -87. `*signature_bytes` is the length of the buffer, and then that of the signature.
 */
int oarlock_key_sign(
    oarlock_private_key *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_key_sign_digest() signs a message by its digest. It fails with OARLOCK_E_ARGUMENT for a digest of another
 * length than the scheme's hash has and for "ed25519" and "ml-dsa", which sign whole messages, and as
 * oarlock_key_sign() does.
 */
int oarlock_key_sign_digest(
    oarlock_private_key *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *digest,
    size_t digest_bytes
);

/*
 * oarlock_key_verify() verifies a signature of a message. It fails with OARLOCK_E_SIGNATURE if it was not made with this
 * key and scheme, and with OARLOCK_E_ARGUMENT for an unknown scheme and one that does not fit the key.
 */
int oarlock_key_verify(
    oarlock_public_key *public_key, const char *scheme, const void *message, size_t message_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_key_verify_digest() verifies a signature of a message by its digest. It fails as oarlock_key_verify() does,
 * and with OARLOCK_E_ARGUMENT as oarlock_key_sign_digest() does.
 */
int oarlock_key_verify_digest(
    oarlock_public_key *public_key, const char *scheme, const void *digest, size_t digest_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_key_agree() writes the secret shared with `peer`: 32, 48 or 66 bytes of ECDH on P-256, P-384 or P-521, or 32
 * of X25519. It is a number and no key yet: derive keys from it. It fails with OARLOCK_E_ARGUMENT for keys that do not
 * agree on secrets, or of different types, with OARLOCK_E_KEY for a peer's key of small order, and with
 * OARLOCK_E_BUFFER. `*secret_bytes` is the length of the buffer, and then that of the secret.
 */
int oarlock_key_agree(oarlock_private_key *private_key, void *secret, size_t *secret_bytes, oarlock_public_key *peer);

/*
 * oarlock_key_encapsulate() generates a secret of 32 bytes and the ciphertext that carries it, 768, 1088 or 1568 bytes
 * of ML-KEM-512, -768 or -1024. It fails with OARLOCK_E_ARGUMENT for a key of another type, and with OARLOCK_E_BUFFER.
 * `*ciphertext_bytes` and `*secret_bytes` are the lengths of the buffers, and then those of the results.
 */
int oarlock_key_encapsulate(
    oarlock_public_key *public_key, void *ciphertext, size_t *ciphertext_bytes, void *secret, size_t *secret_bytes
);

/*
 * oarlock_key_decapsulate() writes the secret that a ciphertext carries, 32 bytes; of one that was altered, it is a
 * secret that nobody else has. It fails with OARLOCK_E_ARGUMENT for a key of another type than ML-KEM and a ciphertext
 * of another length, and with OARLOCK_E_BUFFER. `*secret_bytes` is the length of the buffer, and then that of the
 * secret.
 */
int oarlock_key_decapsulate(
    oarlock_private_key *private_key, void *secret, size_t *secret_bytes, const void *ciphertext,
    size_t ciphertext_bytes
);

/*
 * oarlock_key_submit_sign() is oarlock_key_sign() as a job, whose result is the signature; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL, and with OARLOCK_E_ARGUMENT for an unknown scheme; the job fails for one that does
 * not fit the key. The message is copied. The caller frees the job.
 */
int oarlock_key_submit_sign(
    oarlock_private_key *private_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const struct oarlock_job_options *options
);

/* oarlock_key_submit_sign_digest() is oarlock_key_sign_digest() as a job, and otherwise as oarlock_key_submit_sign(). */
int oarlock_key_submit_sign_digest(
    oarlock_private_key *private_key, oarlock_job **job, const char *scheme, const void *digest, size_t digest_bytes,
    const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_verify() is oarlock_key_verify() as a job, whose result has no bytes, and otherwise as
 * oarlock_key_submit_sign().
 */
int oarlock_key_submit_verify(
    oarlock_public_key *public_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const void *signature, size_t signature_bytes, const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_agree() is oarlock_key_agree() as a job, whose result is the secret; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL; the job fails for keys that do not agree on secrets. The caller frees the job.
 */
int oarlock_key_submit_agree(
    oarlock_private_key *private_key, oarlock_job **job, oarlock_public_key *peer,
    const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_decapsulate() is oarlock_key_decapsulate() as a job, whose result is the secret; `options` may be
 * NULL. It fails with OARLOCK_E_QUEUE_FULL; the job fails for a key of another type than ML-KEM and a ciphertext of
 * another length. The ciphertext is copied. The caller frees the job.
 */
int oarlock_key_submit_decapsulate(
    oarlock_private_key *private_key, oarlock_job **job, const void *ciphertext, size_t ciphertext_bytes,
    const struct oarlock_job_options *options
);

/*
 * RSA keys, and powers modulo a number. Any number of threads may use one at once. A function that computes waits
 * where other threads compute already.
 *
 * Names of signature schemes are "pkcs1-HASH" (RSASSA-PKCS1-v1_5) and "pss-HASH" (RSASSA-PSS, with MGF1 of the same
 * hash and a salt as long as its digests), with sha224, sha256, sha384, sha512, sha512-224, sha512-256 and, to
 * verify alone, sha1; those of encryption schemes are "oaep-HASH" (RSAES-OAEP, with MGF1 of the same hash and no
 * label; sha1 too) and "pkcs1" (RSAES-PKCS1-v1_5, which rejects implicitly: an invalid ciphertext decrypts to random
 * bytes).
 */

typedef struct oarlock_rsa_private oarlock_rsa_private;
typedef struct oarlock_rsa_public oarlock_rsa_public;

/*
 * oarlock_rsa_private_new() makes a private key of `key`: PEM or DER, PKCS #8 or PKCS #1, not encrypted. It fails
 * with OARLOCK_E_KEY for an invalid key, or one of less than 1024 or more than 4096 bits. The key is copied. The
 * caller frees it by oarlock_rsa_private_free().
 */
int oarlock_rsa_private_new(
    oarlock_accelerator *accelerator, oarlock_rsa_private **private_key, const void *key, size_t key_bytes
);

/* oarlock_rsa_private_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_rsa_private_free(oarlock_rsa_private *private_key);

/*
 * oarlock_rsa_public_new() makes a public key of `key`: PEM or DER, SubjectPublicKeyInfo or PKCS #1. It fails with
 * OARLOCK_E_KEY for an invalid key, or one of less than 1024 or more than 4096 bits. The key is copied. The caller
 * frees it by oarlock_rsa_public_free().
 */
int oarlock_rsa_public_new(
    oarlock_accelerator *accelerator, oarlock_rsa_public **public_key, const void *key, size_t key_bytes
);

/*
 * oarlock_rsa_public_of() makes the public key of a private one. It fails for an invalid handle. The caller frees it
 * by oarlock_rsa_public_free().
 */
int oarlock_rsa_public_of(oarlock_rsa_private *private_key, oarlock_rsa_public **public_key);

/* oarlock_rsa_public_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_rsa_public_free(oarlock_rsa_public *public_key);

/*
 * oarlock_rsa_private_bytes() writes the length of the modulus, which signatures and ciphertexts have. It fails for
 * an invalid handle.
 */
int oarlock_rsa_private_bytes(oarlock_rsa_private *private_key, size_t *bytes);

/* oarlock_rsa_public_bytes() writes the length of the modulus. It fails for an invalid handle. */
int oarlock_rsa_public_bytes(oarlock_rsa_public *public_key, size_t *bytes);

/*
 * oarlock_rsa_sign() signs a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme, one with sha1, and a
 * key that is too short for the scheme, and with OARLOCK_E_BUFFER for room for less than the modulus.
 * `*signature_bytes` is the length of the buffer, and then that of the signature.
 */
int oarlock_rsa_sign(
    oarlock_rsa_private *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_rsa_sign_digest() signs a message by its digest. It fails with OARLOCK_E_ARGUMENT for a digest of another
 * length than the scheme's hash has, and as oarlock_rsa_sign() does.
 */
int oarlock_rsa_sign_digest(
    oarlock_rsa_private *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *digest,
    size_t digest_bytes
);

/*
 * oarlock_rsa_verify() verifies a signature of a message. It fails with OARLOCK_E_SIGNATURE if it was not made with
 * this key and scheme, and with OARLOCK_E_ARGUMENT for an unknown scheme.
 */
int oarlock_rsa_verify(
    oarlock_rsa_public *public_key, const char *scheme, const void *message, size_t message_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_rsa_verify_digest() verifies a signature of a message by its digest. It fails as oarlock_rsa_verify()
 * does, and with OARLOCK_E_ARGUMENT for a digest of another length than the scheme's hash has.
 */
int oarlock_rsa_verify_digest(
    oarlock_rsa_public *public_key, const char *scheme, const void *digest, size_t digest_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_rsa_encrypt() encrypts a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme and for a message
 * that is too long, and with OARLOCK_E_BUFFER for room for less than the modulus. `*ciphertext_bytes` is the length
 * of the buffer, and then that of the ciphertext.
 */
int oarlock_rsa_encrypt(
    oarlock_rsa_public *public_key, void *ciphertext, size_t *ciphertext_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_rsa_decrypt() decrypts a message. It fails with OARLOCK_E_DECRYPTION for an invalid ciphertext, with
 * OARLOCK_E_ARGUMENT for an unknown scheme, and with OARLOCK_E_BUFFER for room for less than the modulus, however
 * long the message is. `*message_bytes` is the length of the buffer, and then that of the message.
 */
int oarlock_rsa_decrypt(
    oarlock_rsa_private *private_key, void *message, size_t *message_bytes, const char *scheme, const void *ciphertext,
    size_t ciphertext_bytes
);

/*
 * oarlock_rsa_submit_sign() is oarlock_rsa_sign() as a job, whose result is the signature; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL, and with OARLOCK_E_ARGUMENT. The message is copied. The caller frees the job.
 */
int oarlock_rsa_submit_sign(
    oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const struct oarlock_job_options *options
);

/* oarlock_rsa_submit_sign_digest() is oarlock_rsa_sign_digest() as a job, and otherwise as oarlock_rsa_submit_sign(). */
int oarlock_rsa_submit_sign_digest(
    oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme, const void *digest, size_t digest_bytes,
    const struct oarlock_job_options *options
);

/*
 * oarlock_rsa_submit_decrypt() is oarlock_rsa_decrypt() as a job, whose result is the message, and otherwise as
 * oarlock_rsa_submit_sign().
 */
int oarlock_rsa_submit_decrypt(
    oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme, const void *ciphertext,
    size_t ciphertext_bytes, const struct oarlock_job_options *options
);

/*
 * oarlock_rsa_submit_verify() is oarlock_rsa_verify() as a job, whose result has no bytes, and otherwise as
 * oarlock_rsa_submit_sign().
 */
int oarlock_rsa_submit_verify(
    oarlock_rsa_public *public_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const void *signature, size_t signature_bytes, const struct oarlock_job_options *options
);

typedef struct oarlock_modexp oarlock_modexp;

/*
 * oarlock_modexp_new() makes a modulus of `number`, big-endian. It fails with OARLOCK_E_ARGUMENT unless the modulus
 * is odd, more than 1, and of at most 4096 bits. The caller frees it by oarlock_modexp_free().
 */
int oarlock_modexp_new(
    oarlock_accelerator *accelerator, oarlock_modexp **modulus, const void *number, size_t number_bytes
);

/* oarlock_modexp_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_modexp_free(oarlock_modexp *modulus);

/*
 * oarlock_modexp_power() writes `base` to the power of `exponent` modulo the modulus, all big-endian; the result is
 * as long as the modulus. It fails with OARLOCK_E_BUFFER for room for less. `*power_bytes` is the length of the
 * buffer, and then that of the result.
 */
int oarlock_modexp_power(
    oarlock_modexp *modulus, void *power, size_t *power_bytes, const void *base, size_t base_bytes, const void *exponent,
    size_t exponent_bytes
);

/*
 * oarlock_modexp_submit() is oarlock_modexp_power() as a job, whose result is the power; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL. Base and exponent are copied. The caller frees the job.
 */
int oarlock_modexp_submit(
    oarlock_modexp *modulus, oarlock_job **job, const void *base, size_t base_bytes, const void *exponent,
    size_t exponent_bytes, const struct oarlock_job_options *options
);

/*
 * The framework: requests to whatever does them first, the caller, a thread or a device, and devices that the
 * program brings. Any number of threads may use a framework or a session at once.
 */

typedef struct oarlock_framework oarlock_framework;
typedef struct oarlock_session oarlock_session;

/* Functions of a device: oarlock_device.h. */
struct oarlock_device_table_v1;
struct oarlock_device_table_v2;

/*
 * oarlock_framework_new() makes a framework over an accelerator. It fails for an invalid handle. The caller frees it
 * by oarlock_framework_free().
 */
int oarlock_framework_new(oarlock_accelerator *accelerator, oarlock_framework **framework);

/*
 * oarlock_framework_free() frees the handle; NULL is ignored. It fails for an invalid handle. Sessions go on; when
 * the last of them is freed too, requests under way fail with OARLOCK_E_CANCELLED, and devices are closed.
 */
int oarlock_framework_free(oarlock_framework *framework);

/*
 * oarlock_framework_register() opens a device of `table` with `options`, and gives it requests where it is expected
 * to be faster. If `options` is NULL there are none; if `name` is NULL the table's own name is used. One result in
 * every `check_every` is recomputed and compared; 0 checks none, 1 checks all. It fails with OARLOCK_E_DEVICE for a
 * table of another version and for what its functions say, and with OARLOCK_E_ARGUMENT for a name that another
 * device has. The table and its functions must stay until the process ends; they are called on this thread and on
 * threads of the library.
 */
int oarlock_framework_register(
    oarlock_framework *framework, const struct oarlock_device_table_v2 *table, const char *options, const char *name,
    unsigned check_every
);

/*
 * oarlock_framework_load() loads a shared library that exports oarlock_device_v2, and registers its device; the path
 * may have any bytes. It fails
 * with OARLOCK_E_DEVICE if it cannot be loaded, and as oarlock_framework_register() does. It stays loaded.
 */
int oarlock_framework_load(
    oarlock_framework *framework, const char *path, const char *options, const char *name, unsigned check_every
);

/*
 * oarlock_framework_withdraw() gives a device no more requests; it is closed when those that it has are answered. It
 * fails with OARLOCK_E_ARGUMENT if none has the name.
 */
int oarlock_framework_withdraw(oarlock_framework *framework, const char *name);

/*
 * oarlock_framework_device() writes the name of device number `index`, from 0, with a NUL to `name`. It fails with
 * OARLOCK_E_ARGUMENT past the last one, and with OARLOCK_E_BUFFER. `*name_bytes` is as in
 * oarlock_accelerator_options().
 */
int oarlock_framework_device(oarlock_framework *framework, char *name, size_t *name_bytes, size_t index);

/*
 * oarlock_framework_find_device() writes the number of the device with this name. It fails with OARLOCK_E_ARGUMENT
 * if none has it.
 */
int oarlock_framework_find_device(oarlock_framework *framework, size_t *index, const char *name);

/*
 * oarlock_framework_register_keys() opens a device of `table` that raises numbers to powers, and gives it requests
 * of oarlock_framework_submit_sign() and the like; otherwise it is as oarlock_framework_register(). Results with
 * private keys are verified before they are released.
 */
int oarlock_framework_register_keys(
    oarlock_framework *framework, const struct oarlock_device_table_v1 *table, const char *options, const char *name,
    unsigned check_every
);

/*
 * oarlock_framework_load_keys() loads a shared library that exports oarlock_device_v1, and registers its device, and
 * otherwise is as oarlock_framework_load().
 */
int oarlock_framework_load_keys(
    oarlock_framework *framework, const char *path, const char *options, const char *name, unsigned check_every
);

/*
 * oarlock_framework_submit_sign() is oarlock_rsa_sign() as a job of the framework, which a device may do. It fails as
 * oarlock_rsa_submit_sign(). The caller frees the job.
 */
int oarlock_framework_submit_sign(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *message, size_t message_bytes
);

/*
 * oarlock_framework_submit_sign_digest() is oarlock_rsa_sign_digest() as a job of the framework, and otherwise as
 * oarlock_framework_submit_sign().
 */
int oarlock_framework_submit_sign_digest(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *digest, size_t digest_bytes
);

/*
 * oarlock_framework_submit_decrypt() is oarlock_rsa_decrypt() as a job of the framework, and otherwise as
 * oarlock_framework_submit_sign().
 */
int oarlock_framework_submit_decrypt(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *ciphertext, size_t ciphertext_bytes
);

/*
 * oarlock_framework_submit_power() is the power of `base` by `exponent` modulo `modulus`, all big-endian, as a job of
 * the framework. It fails as oarlock_modexp_new() and with OARLOCK_E_QUEUE_FULL. The caller frees the job, whose
 * result is as long as the modulus.
 */
int oarlock_framework_submit_power(
    oarlock_framework *framework, oarlock_job **job, const void *modulus, size_t modulus_bytes, const void *base,
    size_t base_bytes, const void *exponent, size_t exponent_bytes
);

/*
 * Services: a cipher, authenticated or not; HMAC; a hash; a cipher and HMAC of the ciphertext, or of the plaintext;
 * random bytes, which are written where a cipher would encrypt.
 */
#define OARLOCK_SERVICE_CIPHER 1
#define OARLOCK_SERVICE_MAC 2
#define OARLOCK_SERVICE_DIGEST 3
#define OARLOCK_SERVICE_ENCRYPT_THEN_MAC 4
#define OARLOCK_SERVICE_MAC_THEN_ENCRYPT 5
#define OARLOCK_SERVICE_RANDOM 6

/* What a session does, and with which keys. What a service does not have is zeros. */
struct oarlock_session_spec {
    int service;
    /* A name of oarlock_algorithm_name(). */
    const char *cipher;
    const void *key;
    size_t key_bytes;
    /* Where the first request begins. Nonces of an authenticated cipher are the numbers of its messages, XORed onto it. */
    const void *iv;
    size_t iv_bytes;
    /* "md5" (with HMAC alone), "sha1", "sha256", "sha384" or "sha512". */
    const char *hash;
    const void *mac_key;
    size_t mac_key_bytes;
    /* Of HMAC's tags. */
    size_t tag_bytes;
};

/* How a request is treated. All zeros are the defaults. */
struct oarlock_request {
    /* Not 0: it decrypts, or verifies the tag. */
    int decrypts;
    /* Where it begins; with 0 bytes, where the one before has ended, or with the next nonce. */
    const void *iv;
    size_t iv_bytes;
    /* So many bytes at the beginning are authenticated, and not encrypted. */
    size_t authenticated_bytes;
};

/*
 * oarlock_session_new() makes a session. It fails with OARLOCK_E_ARGUMENT for an unknown name or service, and with
 * OARLOCK_E_KEY for a key that does not fit. Keys are copied, and the copies wiped. The caller frees it by
 * oarlock_session_free().
 */
int oarlock_session_new(
    oarlock_framework *framework, oarlock_session **session, const struct oarlock_session_spec *spec
);

/* oarlock_session_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_session_free(oarlock_session *session);

/*
 * oarlock_session_run() does a request in place: what is authenticated alone, then what is encrypted, then room for
 * the tag if there is one, are `bytes` bytes of `data`. It fails with OARLOCK_E_AUTHENTICATION for a tag that is
 * wrong, after which the data are as they were, and with OARLOCK_E_ARGUMENT for too few bytes; `request` may be
 * NULL. Where a device is faster it waits for that, or fails with OARLOCK_E_QUEUE_FULL.
 */
int oarlock_session_run(oarlock_session *session, void *data, size_t bytes, const struct oarlock_request *request);

/*
 * oarlock_session_submit() is oarlock_session_run() as a job, whose result is the processed data. It fails with
 * OARLOCK_E_QUEUE_FULL, and with OARLOCK_E_ARGUMENT for too few bytes; whatever else is wrong is the job's error.
 * Short requests are computed at once. Data are copied. The caller frees the job.
 */
int oarlock_session_submit(
    oarlock_session *session, oarlock_job **job, const void *data, size_t bytes, const struct oarlock_request *request
);

/*
 * Packets: any number in one call, each in a buffer of its own, in place. One call at a time uses an association or
 * a context. Packets that are independent of each other are computed side by side in vector lanes, and by threads.
 */

typedef struct oarlock_esp oarlock_esp;
typedef struct oarlock_srtp oarlock_srtp;
typedef struct oarlock_tls oarlock_tls;

struct oarlock_packet {
    /* Buffers of one call must not overlap. */
    void *buffer;
    size_t buffer_bytes;
    /* Where the input lies in the buffer; after the call, where the result lies. */
    size_t offset;
    size_t bytes;
    /*
     * Of ESP, the protocol of the payload (next header): 4 for IPv4, 41 for IPv6, 59 for a dummy, to be dropped. Of TLS,
     * the type of the content: 23 for application data, 22 for the handshake, 21 for an alert.
     */
    unsigned type;
    /*
     * After the call: 0, or why this packet was not done, also where the whole call has failed. `offset` and `bytes` are
     * then as they were, and of a packet that was to be sealed nothing of the buffer may be sent. Do not hand in an
     * array again after a failure: packets that were done would be sealed twice.
     */
    int error;
    /* After the call: the sequence number of ESP; of SRTP the roll-over counter and the sequence number; of SRTCP the index. */
    uint64_t sequence;
};

/* This much room before and behind the payload is enough for any packet of ESP. */
#define OARLOCK_ESP_BEFORE_BYTES 24
#define OARLOCK_ESP_BEHIND_BYTES 49
/* This much room behind a packet, and that of the MKI, is enough for SRTP and SRTCP. */
#define OARLOCK_SRTP_BEHIND_BYTES 20

/* One direction of an ESP association (RFC 4303). What is zeros is the default. */
struct oarlock_esp_spec {
    /* Not 0: it opens packets; 0: it seals them. */
    int opens;
    /* The index of the association; not 0. */
    uint32_t spi;
    /*
     * "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" or "chacha20-poly1305"; and with an integrity "null", "aes-128-cbc",
     * "aes-192-cbc", "aes-256-cbc", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr" or "des-ede3-cbc".
     */
    const char *cipher;
    /* NULL, or "hmac-md5-96", "hmac-sha1-96", "hmac-sha256-128", "hmac-sha384-192" or "hmac-sha512-256". */
    const char *integrity;
    /* The key, behind it a salt of 4 bytes if the cipher is GCM, ChaCha20 or in counter mode, and then the key of the HMAC. */
    const void *key;
    size_t key_bytes;
    /* Not 0: sequence numbers of 64 bits. */
    int has_extended_numbers;
    /* How many packets may arrive late, rounded up to 64; 0 is 64, and more than 4096 are 4096. */
    size_t replay_window;
    /*
     * Of an association that seals and was begun elsewhere: the last number. No number may be used twice with one key: not
     * by two associations, and not by a process and its forked child.
     */
    uint64_t last_sequence;
};

/*
 * oarlock_esp_new() makes one direction of an association. It fails with OARLOCK_E_ARGUMENT for an unknown name, an
 * SPI of 0, and a last number of an association that opens or of more than 32 bits without extended numbers, with
 * OARLOCK_E_KEY for a key of another length, and with OARLOCK_E_THREADS. The key is copied,
 * and the copy wiped. The caller frees it by oarlock_esp_free().
 */
int oarlock_esp_new(oarlock_accelerator *accelerator, oarlock_esp **esp, const struct oarlock_esp_spec *spec);

/* oarlock_esp_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_esp_free(oarlock_esp *esp);

/*
 * oarlock_esp_run() seals or opens packets. To be sealed, a packet's bytes are the payload, with room before and
 * behind; they become the packet from its SPI to its ICV. To be opened, they are that, and become the payload. If
 * packets could not be done it fails with the error of the first of these, and does the others: OARLOCK_E_BUFFER
 * for too little room, OARLOCK_E_EXHAUSTED, OARLOCK_E_PACKET, OARLOCK_E_REPLAYED, OARLOCK_E_AUTHENTICATION,
 * OARLOCK_E_PADDING, OARLOCK_E_DEVICE. It fails with OARLOCK_E_ARGUMENT and OARLOCK_E_OVERLAP for buffers and types
 * that cannot be, and then has done none. A packet that is refused once it was decrypted, since it is not authentic,
 * came before in the same call, or has a wrong padding, becomes zeros behind its header; others stay as they came. It
 * can wait for threads that help.
 */
int oarlock_esp_run(oarlock_esp *esp, struct oarlock_packet *packets, size_t count);

/* One direction of an SRTP session (RFC 3711). What is zeros is the default. */
struct oarlock_srtp_spec {
    /* Not 0: it unprotects packets; 0: it protects them. */
    int opens;
    /* Not 0: SRTCP is authenticated and not encrypted. */
    int leaves_rtcp_plain;
    /*
     * "AES_CM_128_HMAC_SHA1_80", "AES_192_CM_HMAC_SHA1_80", "AES_256_CM_HMAC_SHA1_80", "SRTP_NULL_HMAC_SHA1_80", each
     * also with _32, "AEAD_AES_128_GCM" or "AEAD_AES_256_GCM".
     */
    const char *suite;
    /* The master key, and behind it the master salt: of 14 bytes, or 12 for an AEAD. */
    const void *key;
    size_t key_bytes;
    /* The identifier of the key that each packet carries; with 0 bytes none does. */
    const void *mki;
    size_t mki_bytes;
    /* How many packets may arrive late, rounded up to 64; 0 is 128, and more than 4096 are 4096. */
    size_t replay_window;
    /*
     * For how many packets of each source to keep tags, at most the window: those can be protected again, if they are the
     * same. Another packet of a number that was used fails with OARLOCK_E_REPLAYED, and becomes zeros.
     */
    size_t retransmissions;
    /* How many sources there may be; 0 is 256. */
    size_t streams_max;
};

/*
 * oarlock_srtp_new() makes a context for one direction. It fails with OARLOCK_E_ARGUMENT for an unknown name and
 * an MKI of more than 128 bytes, with OARLOCK_E_KEY for a key of another length, and with OARLOCK_E_THREADS. No two
 * contexts that protect may have one key, nor a process and its forked child. The key is copied, and the copy
 * wiped. The caller frees it by oarlock_srtp_free().
 */
int oarlock_srtp_new(oarlock_accelerator *accelerator, oarlock_srtp **srtp, const struct oarlock_srtp_spec *spec);

/* oarlock_srtp_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_srtp_free(oarlock_srtp *srtp);

/*
 * oarlock_srtp_add_key() adds a master key to a context whose packets carry an MKI. It fails with OARLOCK_E_ARGUMENT
 * for an MKI of another length or one that is there, and for a 17th key, and with OARLOCK_E_KEY for a key of another
 * length. The key is copied. It needs no more threads than the context has.
 */
int oarlock_srtp_add_key(
    oarlock_srtp *srtp, const void *mki, size_t mki_bytes, const void *key, size_t key_bytes
);

/*
 * oarlock_srtp_use_key() goes on with the master key of this MKI. It fails with OARLOCK_E_KEY if there is none, and
 * with OARLOCK_E_ARGUMENT for a context that unprotects, which goes by the packets.
 */
int oarlock_srtp_use_key(oarlock_srtp *srtp, const void *mki, size_t mki_bytes);

/*
 * oarlock_srtp_remove() forgets a source that has ended, and makes room for another. It fails with
 * OARLOCK_E_ARGUMENT if there is no such source. Its old packets would be accepted again.
 */
int oarlock_srtp_remove(oarlock_srtp *srtp, uint32_t ssrc);

/*
 * oarlock_srtp_expect_roll_over_counter() has the first packet of a source count with this roll-over counter, as for
 * a receiver that joins late. It fails with OARLOCK_E_EXHAUSTED for one source too many, and with OARLOCK_E_ARGUMENT
 * for a context that protects. After the source's first packet it changes nothing.
 */
int oarlock_srtp_expect_roll_over_counter(oarlock_srtp *srtp, uint32_t ssrc, uint32_t counter);

/*
 * oarlock_srtp_run() protects or unprotects packets: of RTP, or, if `are_rtcp` is not 0, of RTCP. To be protected, a
 * packet has room behind. If packets could not be done it fails with the error of the first of these, and otherwise
 * as oarlock_esp_run(). A packet that is refused once it was decrypted becomes zeros, and others stay as they came. It
 * can wait for threads that help.
 */
int oarlock_srtp_run(oarlock_srtp *srtp, struct oarlock_packet *packets, size_t count, int are_rtcp);

/* This much room before and behind the content is enough for a record of TLS. */
#define OARLOCK_TLS_BEFORE_BYTES 5
#define OARLOCK_TLS_BEHIND_BYTES 17

/* One direction of a TLS 1.3 connection (RFC 8446) after its handshake, or in it. */
struct oarlock_tls_spec {
    /* Not 0: it opens records; 0: it seals them. */
    int opens;
    /* The number of the suite: 0x1301 (AES-128-GCM), 0x1302 (AES-256-GCM) or 0x1303 (ChaCha20-Poly1305). */
    unsigned suite;
    /* The traffic secret; or no bytes of that, and key and IV. */
    const void *secret;
    size_t secret_bytes;
    const void *key;
    size_t key_bytes;
    const void *iv;
    size_t iv_bytes;
    /* The number of the next record. None may be used twice with one key, nor by a process and its forked child. */
    uint64_t sequence;
};

/*
 * oarlock_tls_new() makes one direction of a connection. It fails with OARLOCK_E_ARGUMENT for an unknown suite and
 * unless there is a secret, or a key and an IV, with OARLOCK_E_KEY for one of another length, and with
 * OARLOCK_E_THREADS. Keys are copied, and the copies wiped. The caller frees it by oarlock_tls_free().
 */
int oarlock_tls_new(oarlock_accelerator *accelerator, oarlock_tls **tls, const struct oarlock_tls_spec *spec);

/* oarlock_tls_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_tls_free(oarlock_tls *tls);

/*
 * oarlock_tls_update() goes on to the keys of the next generation, behind a KeyUpdate that was sealed or opened. It
 * fails with OARLOCK_E_ARGUMENT without a secret to derive them from. It needs no more threads than the direction has.
 */
int oarlock_tls_update(oarlock_tls *tls);

/*
 * oarlock_tls_seal() seals records. A packet's bytes are the content, at most 16384, with room before and behind;
 * they become the record. If records could not be sealed it fails with the error of the first of these, and
 * otherwise as oarlock_esp_run(); it fails with OARLOCK_E_STATE for a direction that opens, and with
 * OARLOCK_E_EXHAUSTED for a key that needs an update. It can wait for threads that help.
 */
int oarlock_tls_seal(oarlock_tls *tls, struct oarlock_packet *records, size_t count);

/*
 * oarlock_tls_open() opens the records at the beginning of `buffer`, in place: at most `*count`, up to the first
 * that is no application data, and no record of which a part is missing. `*count` is then how many there are,
 * `*done_bytes` the bytes of the buffer that they were, and `records` says of each where in the buffer its content
 * is. It fails with OARLOCK_E_AUTHENTICATION, OARLOCK_E_PACKET, OARLOCK_E_PADDING or OARLOCK_E_EXHAUSTED for the
 * record behind these, which ends the connection, and with OARLOCK_E_STATE for a direction that seals. It can wait
 * for threads that help.
 */
int oarlock_tls_open(
    oarlock_tls *tls, struct oarlock_packet *records, size_t *count, size_t *done_bytes, void *buffer, size_t bytes
);

#ifdef __cplusplus
}
#endif

#endif
