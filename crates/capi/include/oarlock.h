/*
 * Oarlock for programs in C and C++: cryptography on every vector lane and core of the machine.
 *
 * API-CONVENTIONS.md describes what all functions have in common. In short: a function returns 0, or a negative number
 * if it failed; a function that failed has changed only what its description says. An object created by a call is freed
 * by the function whose name ends in _free. A handle that is NULL, was freed, or is of another kind or process is
 * reported as an error and never dereferenced. Any thread may call any function; an object that allows only one call at
 * a time rejects a second one with OARLOCK_E_BUSY. Functions that can wait say so.
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
/* Another call is using the object. */
#define OARLOCK_E_BUSY (-2)
/* An argument is invalid: a buffer or a name is NULL, a name is unknown, or a length is wrong. */
#define OARLOCK_E_ARGUMENT (-3)
/* A buffer is too small for the result. If the call has a pointer to its length, that is set to the length needed. */
#define OARLOCK_E_BUFFER (-4)
/* Buffers that must not overlap do, or input and output overlap without being the same. */
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
/* The ciphertext does not belong to this key and scheme, or was altered. */
#define OARLOCK_E_DECRYPTION (-11)
/* No more jobs may wait: take a result, then submit again. */
#define OARLOCK_E_QUEUE_FULL (-12)
/* The job was cancelled, its accelerator was freed, or this is a child forked since. */
#define OARLOCK_E_CANCELLED (-13)
/* The job's time limit expired before it began. */
#define OARLOCK_E_DEADLINE (-14)
/* An option is unknown, or its value is invalid. */
#define OARLOCK_E_OPTION (-15)
/* Too few threads are free under reservation=exclusive. */
#define OARLOCK_E_THREADS (-16)
/* A device failed at what it had offered, or no device offers the algorithm. */
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
/* No sequence numbers are left, the key has reached its limit, or there are too many sources. */
#define OARLOCK_E_EXHAUSTED (-23)
/* The packet does not belong to this association: its length, its header or its addressee is wrong. */
#define OARLOCK_E_PACKET (-24)

/*
 * oarlock_strerror() returns a description of an error. It never fails: other numbers have a text too. The text belongs
 * to the library and stays valid.
 */
const char *oarlock_strerror(int error);

/*
 * oarlock_error_detail() returns what was wrong with the last call that failed on this thread: which argument, and what
 * would be valid. It never fails: without such a call the text is empty. The text belongs to the library and stays
 * valid until the next call that fails on this thread, or until the thread ends.
 */
const char *oarlock_error_detail(void);

/*
 * oarlock_version() returns the version of the library, such as "0.1.0". It never fails. The text belongs to the
 * library and stays valid.
 */
const char *oarlock_version(void);

/* Accelerators. */

typedef struct oarlock_accelerator oarlock_accelerator;

/*
 * oarlock_accelerator_new() creates an accelerator with `options`, "name=value,name=value": NULL or "" select the
 * defaults, which are those of the Rust library (docs/rust.md) except max_threads=4. It fails with OARLOCK_E_OPTION for
 * an unknown option or an invalid value. The caller frees it with oarlock_accelerator_free(). Unless min_threads says
 * otherwise, no thread is created before a request would benefit from one.
 */
int oarlock_accelerator_new(oarlock_accelerator **accelerator, const char *options);

/*
 * oarlock_accelerator_free() frees the handle; NULL is ignored. It fails for an invalid handle. Ciphers and keys
 * created with it continue to work, and its threads run until the last of those is freed.
 */
int oarlock_accelerator_free(oarlock_accelerator *accelerator);

/*
 * oarlock_accelerator_set_options() changes the options that `options` names and leaves the others as they are. It
 * fails with OARLOCK_E_OPTION, and then has changed nothing. If two threads change options at once, the changes of one
 * may be lost.
 */
int oarlock_accelerator_set_options(oarlock_accelerator *accelerator, const char *options);

/*
 * oarlock_accelerator_options() writes all options, "name=value,name=value" with a NUL, to `options`. It fails with
 * OARLOCK_E_BUFFER if that is too small. `*options_bytes` is the length of the buffer, and then that of the text with
 * its NUL.
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
 * oarlock_accelerator_register() gives an accelerator a name, by which other parts of the program can find it; it may
 * have several names. It fails with OARLOCK_E_ARGUMENT if the name is in use. The name is copied. The accelerator
 * exists until the name is unregistered, even if this handle is freed.
 */
int oarlock_accelerator_register(oarlock_accelerator *accelerator, const char *name);

/*
 * oarlock_accelerator_unregister() removes a name. It fails with OARLOCK_E_ARGUMENT if no accelerator has it. Handles
 * found by that name stay valid. It can wait like oarlock_accelerator_free().
 */
int oarlock_accelerator_unregister(const char *name);

/*
 * oarlock_accelerator_find() creates another handle of the accelerator with this name. It fails with OARLOCK_E_ARGUMENT
 * if no accelerator has it. The caller frees it with oarlock_accelerator_free().
 */
int oarlock_accelerator_find(oarlock_accelerator **accelerator, const char *name);

/* Statistics of an accelerator: see oarlock_accelerator_stats(). */
struct oarlock_stats {
    /* Requests of ciphers, and their bytes. */
    uint64_t requests;
    uint64_t bytes;
    /* Of those requests, the ones that were spread over threads. */
    uint64_t striped_requests;
    /* Bytes whose keystream was already computed when it was needed. */
    uint64_t prefetched_bytes;
    /* Requests with RSA keys and other powers that were computed alone. */
    uint64_t rsa_alone;
    /* Groups of requests computed together in vector lanes, and the requests in them. */
    uint64_t rsa_groups;
    uint64_t rsa_in_groups;
    /* Results that failed their check and were computed again. */
    uint64_t rsa_faults;
    /* Jobs that are waiting now. */
    uint64_t jobs_waiting;
};

/*
 * oarlock_accelerator_stats() writes the accelerator's statistics for `algorithm` or, if that is NULL, for all
 * algorithms. It fails with OARLOCK_E_ARGUMENT for an unknown name. Ciphers add their counts when they are freed, and
 * with each request that is spread over threads. The statistics of keys always cover all algorithms.
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
    /* The length of the IV, or the usual length of the nonce. */
    size_t iv_bytes;
    /* 0 for an algorithm that does not authenticate. */
    size_t tag_bytes;
    /* Lengths are multiples of this. */
    size_t block_bytes;
};

/*
 * oarlock_algorithm_name() returns the name of algorithm number `index`, from 0, such as "aes-256-ctr". Past the last
 * one it returns NULL. The text belongs to the library and stays valid.
 */
const char *oarlock_algorithm_name(size_t index);

/* oarlock_algorithm_describe() writes a description of `name`. It fails with OARLOCK_E_ARGUMENT for an unknown name. */
int oarlock_algorithm_describe(struct oarlock_algorithm *description, const char *name);

/* Ciphers that encrypt and do not authenticate. A cipher allows one call at a time. */

typedef struct oarlock_cipher oarlock_cipher;

/*
 * oarlock_cipher_new() creates a cipher of `algorithm`, without a key. It fails with OARLOCK_E_ARGUMENT for an unknown
 * name and for an algorithm that authenticates. The caller frees it with oarlock_cipher_free().
 */
int oarlock_cipher_new(oarlock_accelerator *accelerator, oarlock_cipher **cipher, const char *algorithm);

/* oarlock_cipher_free() frees the handle and wipes its key; NULL is ignored. It fails for an invalid handle. */
int oarlock_cipher_free(oarlock_cipher *cipher);

/*
 * oarlock_cipher_set_key() sets the key and discards the previous key and IV: an IV has to be set next. It fails with
 * OARLOCK_E_KEY for a length other than the algorithm's. The key is copied, and the copy is wiped when it is no longer
 * needed.
 */
int oarlock_cipher_set_key(oarlock_cipher *cipher, const void *key, size_t key_bytes);

/*
 * oarlock_cipher_set_iv() begins a message at `iv`. It fails with OARLOCK_E_ARGUMENT for a length other than the
 * algorithm's, with OARLOCK_E_STATE if no key is set, and for the same reasons as oarlock_accelerator_new() and the
 * device; with OARLOCK_E_THREADS it can fail only for the first IV of a key. Never use an IV twice with a stream cipher
 * and the same key: it would reveal both messages.
 */
int oarlock_cipher_set_iv(oarlock_cipher *cipher, const void *iv, size_t iv_bytes);

/*
 * oarlock_cipher_encrypt() encrypts the next `bytes` bytes of the message from `in` to `out`, which may be the same; if
 * `iv` is not NULL, it first begins a message there, like oarlock_cipher_set_iv() with an IV of the algorithm's length,
 * even if it fails afterwards. It fails with OARLOCK_E_STATE if no key or no IV is set, with OARLOCK_E_OVERLAP, and
 * with OARLOCK_E_ARGUMENT for a length that is not a multiple of the block with AES-CBC, or beyond the end of the
 * keystream. Long requests wait for the threads that help.
 */
int oarlock_cipher_encrypt(oarlock_cipher *cipher, void *out, const void *in, size_t bytes, const void *iv);

/* oarlock_cipher_decrypt() decrypts; otherwise it is like oarlock_cipher_encrypt(). */
int oarlock_cipher_decrypt(oarlock_cipher *cipher, void *out, const void *in, size_t bytes, const void *iv);

/*
 * oarlock_cipher_seek() moves to byte `position` of the message. It fails with OARLOCK_E_ARGUMENT for AES-CBC and
 * beyond the end of the keystream, and with OARLOCK_E_STATE if no key or no IV is set.
 */
int oarlock_cipher_seek(oarlock_cipher *cipher, uint64_t position);

/*
 * oarlock_cipher_prefill() computes keystream for the next bytes, on this thread and for at most `time_ns` nanoseconds;
 * `*made_bytes`, unless `made_bytes` is NULL, is set to the number of bytes computed. It fails for the same reasons as
 * oarlock_cipher_seek(). It uses the time that it is given.
 */
int oarlock_cipher_prefill(oarlock_cipher *cipher, size_t *made_bytes, uint64_t time_ns);

/* Ciphers that encrypt and authenticate. Any number of threads may use one at once. */

typedef struct oarlock_aead oarlock_aead;

/* The length of every tag. */
#define OARLOCK_TAG_BYTES 16

/*
 * oarlock_aead_new() creates an authenticated cipher with a key. It fails with OARLOCK_E_ARGUMENT for an unknown name
 * and for an algorithm that does not authenticate, with OARLOCK_E_KEY for a key of the wrong length, and with
 * OARLOCK_E_THREADS. The key is copied, and the copy wiped. The caller frees it with oarlock_aead_free().
 */
int oarlock_aead_new(
    oarlock_accelerator *accelerator, oarlock_aead **aead, const char *algorithm, const void *key, size_t key_bytes
);

/* oarlock_aead_free() frees the handle and wipes its key; NULL is ignored. It fails for an invalid handle. */
int oarlock_aead_free(oarlock_aead *aead);

/*
 * oarlock_aead_seal() encrypts `bytes` bytes from `in` to `out`, which may be the same, and writes the tag, of
 * OARLOCK_TAG_BYTES. It fails with OARLOCK_E_ARGUMENT for a nonce length that the algorithm does not accept (GCM
 * accepts any but 0, ChaCha20-Poly1305 only 12) and for more data than it allows under one nonce, and with
 * OARLOCK_E_OVERLAP. Never use a nonce twice with the same key. Long requests wait for the threads that help.
 */
int oarlock_aead_seal(
    oarlock_aead *aead, void *out, void *tag, const void *nonce, size_t nonce_bytes, const void *aad, size_t aad_bytes,
    const void *in, size_t bytes
);

/*
 * oarlock_aead_open() decrypts `bytes` bytes from `in` to `out`, which may be the same, if `tag` belongs to them. If
 * not, it fails with OARLOCK_E_AUTHENTICATION: no plaintext is released, `in` is unchanged, and a separate `out` is all
 * zeros. Otherwise it fails for the same reasons as oarlock_aead_seal().
 */
int oarlock_aead_open(
    oarlock_aead *aead, void *out, const void *tag, const void *nonce, size_t nonce_bytes, const void *aad,
    size_t aad_bytes, const void *in, size_t bytes
);

/* Jobs: requests that are submitted now and waited for later. A job allows one call at a time. */

typedef struct oarlock_job oarlock_job;

/* How a job is treated. All zeros are the defaults. */
struct oarlock_job_options {
    /* Not 0: it begins before all jobs that are not urgent. */
    int is_urgent;
    /* Not 0: no thread is woken for it; the caller that waits for it computes it, together with other submitted jobs. */
    int when_asked;
    /* If it has not begun within this many nanoseconds, it fails with OARLOCK_E_DEADLINE; 0 means no limit. */
    uint64_t time_ns;
};

/*
 * The callback of oarlock_job_on_completion(). `error` is 0 or the job's error, whose detail is available on this
 * thread; `result` is valid until the callback returns, and is NULL if it has no bytes. The callback may call any
 * function of this library; it must be short and must not wait, since other jobs wait for its thread. No lock of the
 * library is held.
 */
typedef void oarlock_job_callback(void *context, int error, const void *result, size_t result_bytes);

/*
 * oarlock_job_wait() waits for the job, and writes its result to `result`. It fails with the job's error, with
 * OARLOCK_E_BUFFER, after which the result can be requested again, and with OARLOCK_E_STATE once the result has been
 * taken. `*result_bytes` is the length of the buffer, and then that of the result. The job still has to be freed.
 */
int oarlock_job_wait(oarlock_job *job, void *result, size_t *result_bytes);

/*
 * oarlock_job_try() is like oarlock_job_wait(), but fails with OARLOCK_E_AGAIN if the job has not ended. It does not
 * wait, unless the accelerator has no threads: then it computes jobs.
 */
int oarlock_job_try(oarlock_job *job, void *result, size_t *result_bytes);

/*
 * oarlock_job_cancel() cancels the job unless it has begun; `*is_cancelled`, unless `is_cancelled` is NULL, is set to
 * whether it was cancelled. It fails with OARLOCK_E_BUSY while another thread waits for the job. The job still has to
 * be freed.
 */
int oarlock_job_cancel(oarlock_job *job, int *is_cancelled);

/*
 * oarlock_job_free() frees the handle, and cancels the job unless it has begun; NULL is ignored. It fails for an
 * invalid handle.
 */
int oarlock_job_free(oarlock_job *job);

/*
 * oarlock_job_on_completion() has `callback` called with `context` when the job ends, once, on the thread that computes
 * it; or at once, on this thread, if it has ended or the accelerator has no threads. It fails with OARLOCK_E_STATE for
 * a job whose result was already waited for. It frees the job: unless it fails, the handle is invalid afterwards. In a
 * child forked in the meantime, `callback` is not called.
 */
int oarlock_job_on_completion(oarlock_job *job, oarlock_job_callback *callback, void *context);

/* Queues of jobs, with a descriptor for event loops. A queue allows one call at a time. */

typedef struct oarlock_queue oarlock_queue;

/*
 * oarlock_queue_new() creates a queue that returns results as jobs end or, if `in_order` is not 0, in the order in
 * which they were pushed. It fails with OARLOCK_E_ARGUMENT if `queue` is NULL. The caller frees it with
 * oarlock_queue_free().
 */
int oarlock_queue_new(oarlock_queue **queue, int in_order);

/*
 * oarlock_queue_free() frees the handle, closes its descriptor, and cancels its jobs unless they have begun; NULL is
 * ignored. It fails for an invalid handle.
 */
int oarlock_queue_free(oarlock_queue *queue);

/*
 * oarlock_queue_push() passes the job to the queue, which frees it: unless this fails, its handle is invalid
 * afterwards. It fails with OARLOCK_E_STATE for a job whose result was already waited for. `tag` is returned with the
 * result, and is never dereferenced.
 */
int oarlock_queue_push(oarlock_queue *queue, oarlock_job *job, void *tag);

/*
 * oarlock_queue_fd() writes the queue's descriptor: poll(2), epoll(7) and others find it readable whenever
 * oarlock_queue_next() should be called, until that fails with OARLOCK_E_AGAIN or OARLOCK_E_EMPTY. It fails with
 * OARLOCK_E_MEMORY if the process has no descriptor left. The descriptor belongs to the queue: do not read from it or
 * close it. A forked child has to call this for a descriptor of its own.
 */
int oarlock_queue_fd(oarlock_queue *queue, int *descriptor);

/*
 * oarlock_queue_next() takes the next result: the tag of its job, unless `tag` is NULL, its error, which is 0 if there
 * is a result, and the result. It fails with OARLOCK_E_EMPTY if there are no jobs, with OARLOCK_E_AGAIN if none has
 * ended and `wait` is 0, and with OARLOCK_E_BUFFER, after which the result has to be requested again: the descriptor
 * does not signal it a second time. If `wait` is not 0, it waits; if it is 0 and the accelerator has no threads, it
 * computes jobs. `*result_bytes` is the length of the buffer, and then that of the result.
 */
int oarlock_queue_next(oarlock_queue *queue, void **tag, int *error, void *result, size_t *result_bytes, int wait);

/*
 * Keys of any type. Any number of threads may use one at once. A function that computes does so on the calling thread;
 * with an RSA key it waits if other threads are already computing.
 *
 * Names of types are "RSA", "P-256", "P-384", "P-521", "Ed25519", "X25519", "ML-KEM-512", "ML-KEM-768", "ML-KEM-1024",
 * "ML-DSA-44", "ML-DSA-65" and "ML-DSA-87", in upper or lower case.
 *
 * Names of signature schemes are "ecdsa-sha256", "ecdsa-sha384" and "ecdsa-sha512" (signatures in DER), "ed25519",
 * "ml-dsa" (without a context) and "ml-dsa:CONTEXT" (with a text of up to 255 bytes as its context), and those listed
 * with the RSA keys below.
 *
 * Raw keys are what the types' standards call private and public keys: for P-256, P-384 and P-521 a big-endian scalar
 * of 32, 48 or 66 bytes, and a point (SEC 1), which is written uncompressed; for Ed25519 and X25519 32 bytes each; for
 * ML-KEM a seed of 64 bytes or a decapsulation key, and an encapsulation key; for ML-DSA a seed of 32 bytes or an
 * expanded private key, and a public key. RSA keys have no raw form.
 */

typedef struct oarlock_private_key oarlock_private_key;
typedef struct oarlock_public_key oarlock_public_key;

/*
 * oarlock_private_key_new() creates a private key from `key`, which is not encrypted: PKCS #8, SEC 1 ("EC PRIVATE KEY")
 * or PKCS #1 in PEM or DER, or OpenSSH's own format. It fails with OARLOCK_E_KEY for an invalid key, for a type not
 * listed above, and for a key whose parts contradict each other. The key is copied. The caller frees it with
 * oarlock_private_key_free().
 */
int oarlock_private_key_new(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const void *key, size_t key_bytes
);

/*
 * oarlock_private_key_from_raw() creates a private key of `type` from its raw form. It fails with OARLOCK_E_KEY for an
 * invalid key or one of the wrong length, and with OARLOCK_E_ARGUMENT for an unknown type and for RSA. The key is
 * copied. The caller frees it with oarlock_private_key_free().
 */
int oarlock_private_key_from_raw(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const char *type, const void *raw,
    size_t raw_bytes
);

/*
 * oarlock_private_key_generate() generates a key pair of `type`; one of RSA has 2048 bits. It fails with
 * OARLOCK_E_ARGUMENT for an unknown type. The caller frees it with oarlock_private_key_free().
 */
int oarlock_private_key_generate(
    oarlock_accelerator *accelerator, oarlock_private_key **private_key, const char *type
);

/* oarlock_private_key_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_private_key_free(oarlock_private_key *private_key);

/*
 * oarlock_private_key_type() writes the name of the key's type, which belongs to the library. It fails for an invalid
 * handle.
 */
int oarlock_private_key_type(oarlock_private_key *private_key, const char **type);

/*
 * oarlock_private_key_write() writes the key in a format: "pkcs8-der", "pkcs8-pem", without a NUL, or "raw", which is
 * the seed if the key has one. It fails with OARLOCK_E_ARGUMENT for an unknown format, for RSA as "raw", and for an RSA
 * key without its primes, and with OARLOCK_E_BUFFER. `*out_bytes` is the length of the buffer, and then that of the
 * key. Wipe the buffer when it is no longer needed.
 */
int oarlock_private_key_write(oarlock_private_key *private_key, void *out, size_t *out_bytes, const char *format);

/*
 * oarlock_public_key_new() creates a public key from `key`: SubjectPublicKeyInfo or PKCS #1 in PEM or DER, or an
 * OpenSSH public key line. It fails with OARLOCK_E_KEY for an invalid key and for a type not listed above. The key is
 * copied. The caller frees it with oarlock_public_key_free().
 */
int oarlock_public_key_new(
    oarlock_accelerator *accelerator, oarlock_public_key **public_key, const void *key, size_t key_bytes
);

/*
 * oarlock_public_key_from_raw() creates a public key of `type` from its raw form; a point may be compressed. It fails
 * with OARLOCK_E_KEY for an invalid key or one of the wrong length, and with OARLOCK_E_ARGUMENT for an unknown type and
 * for RSA. The key is copied. The caller frees it with oarlock_public_key_free().
 */
int oarlock_public_key_from_raw(
    oarlock_accelerator *accelerator, oarlock_public_key **public_key, const char *type, const void *raw,
    size_t raw_bytes
);

/*
 * oarlock_public_key_of() creates the public key that belongs to a private key. It fails for an invalid handle. The
 * caller frees it with oarlock_public_key_free().
 */
int oarlock_public_key_of(oarlock_private_key *private_key, oarlock_public_key **public_key);

/* oarlock_public_key_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_public_key_free(oarlock_public_key *public_key);

/* oarlock_public_key_type() writes the name of the key's type, which belongs to the library. It fails for an invalid handle. */
int oarlock_public_key_type(oarlock_public_key *public_key, const char **type);

/*
 * oarlock_public_key_write() writes the key in a format: "spki-der", "spki-pem", without a NUL, or "raw". It fails with
 * OARLOCK_E_ARGUMENT for an unknown format and for RSA as "raw", and with OARLOCK_E_BUFFER. `*out_bytes` is the length
 * of the buffer, and then that of the key.
 */
int oarlock_public_key_write(oarlock_public_key *public_key, void *out, size_t *out_bytes, const char *format);

/*
 * oarlock_key_sign() signs a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme, one that does not fit the
 * key, and a context that is too long, and with OARLOCK_E_BUFFER for a buffer shorter than the longest signature of the
 * key: the length of the modulus for RSA, 72, 104 or 139 bytes for P-256, P-384 or P-521, 64 for Ed25519, 2420, 3309 or
 * 4627 for ML-DSA-44, -65 or -87. `*signature_bytes` is the length of the buffer, and then that of the signature.
 */
int oarlock_key_sign(
    oarlock_private_key *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_key_sign_digest() signs a message by its digest. It fails with OARLOCK_E_ARGUMENT for a digest whose length
 * is not that of the scheme's hash and for "ed25519" and "ml-dsa", which sign whole messages, and for the same reasons
 * as oarlock_key_sign().
 */
int oarlock_key_sign_digest(
    oarlock_private_key *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *digest,
    size_t digest_bytes
);

/*
 * oarlock_key_verify() verifies a signature of a message. It fails with OARLOCK_E_SIGNATURE if it was not created with
 * this key and scheme, and with OARLOCK_E_ARGUMENT for an unknown scheme and one that does not fit the key.
 */
int oarlock_key_verify(
    oarlock_public_key *public_key, const char *scheme, const void *message, size_t message_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_key_verify_digest() verifies a signature of a message by its digest. It fails for the same reasons as
 * oarlock_key_verify(), and with OARLOCK_E_ARGUMENT in the same cases as oarlock_key_sign_digest().
 */
int oarlock_key_verify_digest(
    oarlock_public_key *public_key, const char *scheme, const void *digest, size_t digest_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_key_agree() writes the secret shared with `peer`: 32, 48 or 66 bytes for ECDH on P-256, P-384 or P-521, or 32
 * for X25519. It is a number and not yet a key: derive keys from it. It fails with OARLOCK_E_ARGUMENT for keys that are
 * not for key agreement, or of different types, with OARLOCK_E_KEY for a peer's key of small order, and with
 * OARLOCK_E_BUFFER. `*secret_bytes` is the length of the buffer, and then that of the secret.
 */
int oarlock_key_agree(oarlock_private_key *private_key, void *secret, size_t *secret_bytes, oarlock_public_key *peer);

/*
 * oarlock_key_encapsulate() generates a secret of 32 bytes and the ciphertext that carries it, 768, 1088 or 1568 bytes
 * for ML-KEM-512, -768 or -1024. It fails with OARLOCK_E_ARGUMENT for a key of another type, with OARLOCK_E_BUFFER, and
 * with OARLOCK_E_OVERLAP if the results overlap. `*ciphertext_bytes` and `*secret_bytes` are the lengths of the buffers,
 * and then those of the results.
 */
int oarlock_key_encapsulate(
    oarlock_public_key *public_key, void *ciphertext, size_t *ciphertext_bytes, void *secret, size_t *secret_bytes
);

/*
 * oarlock_key_decapsulate() writes the secret that a ciphertext carries, 32 bytes; for an altered ciphertext, it is a
 * secret that nobody else has. It fails with OARLOCK_E_ARGUMENT for a key that is not of ML-KEM and for a ciphertext of
 * the wrong length, and with OARLOCK_E_BUFFER. `*secret_bytes` is the length of the buffer, and then that of the
 * secret.
 */
int oarlock_key_decapsulate(
    oarlock_private_key *private_key, void *secret, size_t *secret_bytes, const void *ciphertext,
    size_t ciphertext_bytes
);

/*
 * oarlock_key_submit_sign() is oarlock_key_sign() as a job, whose result is the signature; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL, and with OARLOCK_E_ARGUMENT for an unknown scheme; the job fails for a scheme that
 * does not fit the key. The message is copied. The caller frees the job.
 */
int oarlock_key_submit_sign(
    oarlock_private_key *private_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const struct oarlock_job_options *options
);

/* oarlock_key_submit_sign_digest() is oarlock_key_sign_digest() as a job, and otherwise like oarlock_key_submit_sign(). */
int oarlock_key_submit_sign_digest(
    oarlock_private_key *private_key, oarlock_job **job, const char *scheme, const void *digest, size_t digest_bytes,
    const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_verify() is oarlock_key_verify() as a job, whose result has no bytes, and otherwise like
 * oarlock_key_submit_sign().
 */
int oarlock_key_submit_verify(
    oarlock_public_key *public_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const void *signature, size_t signature_bytes, const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_agree() is oarlock_key_agree() as a job, whose result is the secret; `options` may be NULL. It
 * fails with OARLOCK_E_QUEUE_FULL; the job fails for keys that are not for key agreement. The caller frees the job.
 */
int oarlock_key_submit_agree(
    oarlock_private_key *private_key, oarlock_job **job, oarlock_public_key *peer,
    const struct oarlock_job_options *options
);

/*
 * oarlock_key_submit_decapsulate() is oarlock_key_decapsulate() as a job, whose result is the secret; `options` may be
 * NULL. It fails with OARLOCK_E_QUEUE_FULL; the job fails for a key that is not of ML-KEM and for a ciphertext of the
 * wrong length. The ciphertext is copied. The caller frees the job.
 */
int oarlock_key_submit_decapsulate(
    oarlock_private_key *private_key, oarlock_job **job, const void *ciphertext, size_t ciphertext_bytes,
    const struct oarlock_job_options *options
);

/*
 * RSA keys, and powers modulo a number. Any number of threads may use one at once. A function that computes waits if
 * other threads are already computing.
 *
 * Names of signature schemes are "pkcs1-HASH" (RSASSA-PKCS1-v1_5) and "pss-HASH" (RSASSA-PSS, with MGF1 of the same
 * hash and a salt as long as its digests), with sha224, sha256, sha384, sha512, sha512-224, sha512-256 and, only to
 * verify, sha1; those of encryption schemes are "oaep-HASH" (RSAES-OAEP, with MGF1 of the same hash and no label; sha1
 * too) and "pkcs1" (RSAES-PKCS1-v1_5, which rejects implicitly: an invalid ciphertext decrypts to random bytes).
 */

typedef struct oarlock_rsa_private oarlock_rsa_private;
typedef struct oarlock_rsa_public oarlock_rsa_public;

/*
 * oarlock_rsa_private_new() creates a private key from `key`: PEM or DER, PKCS #8 or PKCS #1, not encrypted. It fails
 * with OARLOCK_E_KEY for an invalid key, or one of less than 1024 or more than 4096 bits. The key is copied. The caller
 * frees it with oarlock_rsa_private_free().
 */
int oarlock_rsa_private_new(
    oarlock_accelerator *accelerator, oarlock_rsa_private **private_key, const void *key, size_t key_bytes
);

/* oarlock_rsa_private_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_rsa_private_free(oarlock_rsa_private *private_key);

/*
 * oarlock_rsa_public_new() creates a public key from `key`: PEM or DER, SubjectPublicKeyInfo or PKCS #1. It fails with
 * OARLOCK_E_KEY for an invalid key, or one of less than 1024 or more than 4096 bits. The key is copied. The caller
 * frees it with oarlock_rsa_public_free().
 */
int oarlock_rsa_public_new(
    oarlock_accelerator *accelerator, oarlock_rsa_public **public_key, const void *key, size_t key_bytes
);

/*
 * oarlock_rsa_public_of() creates the public key that belongs to a private key. It fails for an invalid handle. The
 * caller frees it with oarlock_rsa_public_free().
 */
int oarlock_rsa_public_of(oarlock_rsa_private *private_key, oarlock_rsa_public **public_key);

/* oarlock_rsa_public_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_rsa_public_free(oarlock_rsa_public *public_key);

/*
 * oarlock_rsa_private_bytes() writes the length of the modulus, which is also that of signatures and ciphertexts. It
 * fails for an invalid handle.
 */
int oarlock_rsa_private_bytes(oarlock_rsa_private *private_key, size_t *bytes);

/* oarlock_rsa_public_bytes() writes the length of the modulus. It fails for an invalid handle. */
int oarlock_rsa_public_bytes(oarlock_rsa_public *public_key, size_t *bytes);

/*
 * oarlock_rsa_sign() signs a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme, one with sha1, and a key
 * that is too short for the scheme, and with OARLOCK_E_BUFFER for a buffer shorter than the modulus. `*signature_bytes`
 * is the length of the buffer, and then that of the signature.
 */
int oarlock_rsa_sign(
    oarlock_rsa_private *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_rsa_sign_digest() signs a message by its digest. It fails with OARLOCK_E_ARGUMENT for a digest whose length
 * is not that of the scheme's hash, and for the same reasons as oarlock_rsa_sign().
 */
int oarlock_rsa_sign_digest(
    oarlock_rsa_private *private_key, void *signature, size_t *signature_bytes, const char *scheme, const void *digest,
    size_t digest_bytes
);

/*
 * oarlock_rsa_verify() verifies a signature of a message. It fails with OARLOCK_E_SIGNATURE if it was not created with
 * this key and scheme, and with OARLOCK_E_ARGUMENT for an unknown scheme.
 */
int oarlock_rsa_verify(
    oarlock_rsa_public *public_key, const char *scheme, const void *message, size_t message_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_rsa_verify_digest() verifies a signature of a message by its digest. It fails for the same reasons as
 * oarlock_rsa_verify(), and with OARLOCK_E_ARGUMENT for a digest whose length is not that of the scheme's hash.
 */
int oarlock_rsa_verify_digest(
    oarlock_rsa_public *public_key, const char *scheme, const void *digest, size_t digest_bytes, const void *signature,
    size_t signature_bytes
);

/*
 * oarlock_rsa_encrypt() encrypts a message. It fails with OARLOCK_E_ARGUMENT for an unknown scheme and for a message
 * that is too long, and with OARLOCK_E_BUFFER for a buffer shorter than the modulus. `*ciphertext_bytes` is the length
 * of the buffer, and then that of the ciphertext.
 */
int oarlock_rsa_encrypt(
    oarlock_rsa_public *public_key, void *ciphertext, size_t *ciphertext_bytes, const char *scheme, const void *message,
    size_t message_bytes
);

/*
 * oarlock_rsa_decrypt() decrypts a message. It fails with OARLOCK_E_DECRYPTION for an invalid ciphertext, with
 * OARLOCK_E_ARGUMENT for an unknown scheme, and with OARLOCK_E_BUFFER for a buffer shorter than the modulus, however
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

/* oarlock_rsa_submit_sign_digest() is oarlock_rsa_sign_digest() as a job, and otherwise like oarlock_rsa_submit_sign(). */
int oarlock_rsa_submit_sign_digest(
    oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme, const void *digest, size_t digest_bytes,
    const struct oarlock_job_options *options
);

/*
 * oarlock_rsa_submit_decrypt() is oarlock_rsa_decrypt() as a job, whose result is the message, and otherwise like
 * oarlock_rsa_submit_sign().
 */
int oarlock_rsa_submit_decrypt(
    oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme, const void *ciphertext,
    size_t ciphertext_bytes, const struct oarlock_job_options *options
);

/*
 * oarlock_rsa_submit_verify() is oarlock_rsa_verify() as a job, whose result has no bytes, and otherwise like
 * oarlock_rsa_submit_sign().
 */
int oarlock_rsa_submit_verify(
    oarlock_rsa_public *public_key, oarlock_job **job, const char *scheme, const void *message, size_t message_bytes,
    const void *signature, size_t signature_bytes, const struct oarlock_job_options *options
);

typedef struct oarlock_modexp oarlock_modexp;

/*
 * oarlock_modexp_new() creates a modulus from `number`, big-endian. It fails with OARLOCK_E_ARGUMENT unless the modulus
 * is odd, more than 1, and of at most 4096 bits. The caller frees it with oarlock_modexp_free().
 */
int oarlock_modexp_new(
    oarlock_accelerator *accelerator, oarlock_modexp **modulus, const void *number, size_t number_bytes
);

/* oarlock_modexp_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_modexp_free(oarlock_modexp *modulus);

/*
 * oarlock_modexp_power() writes `base` to the power of `exponent` modulo the modulus, all big-endian; the result is as
 * long as the modulus. It fails with OARLOCK_E_BUFFER for a shorter buffer. `*power_bytes` is the length of the buffer,
 * and then that of the result.
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
 * The framework: requests for whichever computes them first, the caller, a thread or a device, and devices that the
 * program provides. Any number of threads may use a framework or a session at once.
 */

typedef struct oarlock_framework oarlock_framework;
typedef struct oarlock_session oarlock_session;

/* Functions of a device: oarlock_device.h. */
struct oarlock_device_table_v2;

/*
 * oarlock_framework_new() creates a framework over an accelerator. It fails for an invalid handle. The caller frees it
 * with oarlock_framework_free().
 */
int oarlock_framework_new(oarlock_accelerator *accelerator, oarlock_framework **framework);

/*
 * oarlock_framework_free() frees the handle; NULL is ignored. It fails for an invalid handle. Sessions continue to
 * work; when the last of them is freed too, requests in progress fail with OARLOCK_E_CANCELLED, and devices are closed.
 */
int oarlock_framework_free(oarlock_framework *framework);

/*
 * oarlock_framework_register() opens a device of `table` with `options`, and passes it the requests for which it is
 * expected to be faster: those for data, and those of oarlock_framework_submit_sign() and similar functions. Results
 * with private keys are verified before they are released. If `options` is NULL there are none; if `name` is NULL the
 * table's own name is used. One result in every `check_every` is recomputed and compared; 0 checks none, 1 checks all.
 * It fails with OARLOCK_E_DEVICE
 * for a table of another version and for errors of its functions, and with OARLOCK_E_ARGUMENT for a name that another
 * device has. The table and its functions must stay valid until the process ends; they are called on this thread and on
 * threads of the library.
 */
int oarlock_framework_register(
    oarlock_framework *framework, const struct oarlock_device_table_v2 *table, const char *options, const char *name,
    unsigned check_every
);

/*
 * oarlock_framework_load() loads a shared library that exports oarlock_device_v2, and registers its device; the path
 * may contain any bytes. It fails with OARLOCK_E_DEVICE if the library cannot be loaded, and for the same reasons as
 * oarlock_framework_register(). The library stays loaded.
 */
int oarlock_framework_load(
    oarlock_framework *framework, const char *path, const char *options, const char *name, unsigned check_every
);

/*
 * oarlock_framework_withdraw() stops passing requests to a device, which is closed when those that it has are answered.
 * It fails with OARLOCK_E_ARGUMENT if no device has the name.
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
 * oarlock_framework_submit_sign() is oarlock_rsa_sign() as a job of the framework, which a device may compute. It fails
 * for the same reasons as oarlock_rsa_submit_sign(). The caller frees the job.
 */
int oarlock_framework_submit_sign(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *message, size_t message_bytes
);

/*
 * oarlock_framework_submit_sign_digest() is oarlock_rsa_sign_digest() as a job of the framework, and otherwise like
 * oarlock_framework_submit_sign().
 */
int oarlock_framework_submit_sign_digest(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *digest, size_t digest_bytes
);

/*
 * oarlock_framework_submit_decrypt() is oarlock_rsa_decrypt() as a job of the framework, and otherwise like
 * oarlock_framework_submit_sign().
 */
int oarlock_framework_submit_decrypt(
    oarlock_framework *framework, oarlock_rsa_private *private_key, oarlock_job **job, const char *scheme,
    const void *ciphertext, size_t ciphertext_bytes
);

/*
 * oarlock_framework_submit_power() computes `base` to the power of `exponent` modulo `modulus`, all big-endian, as a
 * job of the framework. It fails for the same reasons as oarlock_modexp_new(), and with OARLOCK_E_QUEUE_FULL. The
 * caller frees the job, whose result is as long as the modulus.
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

/* What a session does, and with which keys. Fields that a service does not use are zero. */
struct oarlock_session_spec {
    int service;
    /* A name of oarlock_algorithm_name(). */
    const char *cipher;
    const void *key;
    size_t key_bytes;
    /* The IV of the first request. The nonces of an authenticated cipher are its message numbers, XORed onto this. */
    const void *iv;
    size_t iv_bytes;
    /* "md5" (only with HMAC), "sha1", "sha256", "sha384" or "sha512". */
    const char *hash;
    const void *mac_key;
    size_t mac_key_bytes;
    /* The length of HMAC's tags. */
    size_t tag_bytes;
};

/* How a request is treated. All zeros are the defaults. */
struct oarlock_request {
    /* Not 0: it decrypts, or verifies the tag. */
    int decrypts;
    /* The IV that it begins with; with 0 bytes, it begins where the previous one ended, or with the next nonce. */
    const void *iv;
    size_t iv_bytes;
    /* The number of bytes at the beginning that are authenticated, but not encrypted. */
    size_t authenticated_bytes;
};

/*
 * oarlock_session_new() creates a session. It fails with OARLOCK_E_ARGUMENT for an unknown name or service, and with
 * OARLOCK_E_KEY for a key that does not fit. Keys are copied, and the copies wiped. The caller frees it with
 * oarlock_session_free().
 */
int oarlock_session_new(
    oarlock_framework *framework, oarlock_session **session, const struct oarlock_session_spec *spec
);

/* oarlock_session_free() frees the handle; NULL is ignored. It fails for an invalid handle. */
int oarlock_session_free(oarlock_session *session);

/*
 * oarlock_session_run() processes a request in place: the `bytes` bytes of `data` are what is only authenticated, then
 * what is encrypted, then room for the tag if there is one. It fails with OARLOCK_E_AUTHENTICATION for a wrong tag,
 * after which the data is unchanged, and with OARLOCK_E_ARGUMENT for too few bytes; `request` may be NULL. If a device
 * is faster it waits for the device, or fails with OARLOCK_E_QUEUE_FULL.
 */
int oarlock_session_run(oarlock_session *session, void *data, size_t bytes, const struct oarlock_request *request);

/*
 * oarlock_session_submit() is oarlock_session_run() as a job, whose result is the processed data. It fails with
 * OARLOCK_E_QUEUE_FULL, and with OARLOCK_E_ARGUMENT for too few bytes; any other failure is the job's error. Short
 * requests are computed at once. The data is copied. The caller frees the job.
 */
int oarlock_session_submit(
    oarlock_session *session, oarlock_job **job, const void *data, size_t bytes, const struct oarlock_request *request
);

/*
 * Packets: any number in one call, each in its own buffer, in place. An association or a context allows one call at a
 * time. Packets that are independent of each other are processed side by side in vector lanes, and by threads.
 */

typedef struct oarlock_esp oarlock_esp;
typedef struct oarlock_srtp oarlock_srtp;
typedef struct oarlock_tls oarlock_tls;

struct oarlock_packet {
    /* Buffers of one call must not overlap. */
    void *buffer;
    size_t buffer_bytes;
    /* The offset of the input in the buffer; after the call, that of the result. */
    size_t offset;
    size_t bytes;
    /*
     * For ESP, the protocol of the payload (next header): 4 for IPv4, 41 for IPv6, 59 for a dummy, to be dropped. For
     * TLS, the content type: 23 for application data, 22 for the handshake, 21 for an alert.
     */
    unsigned type;
    /*
     * After the call: 0, or why this packet was not processed, also if the whole call has failed. `offset` and `bytes`
     * are then unchanged, and nothing in the buffer of a packet that was to be sealed may be sent. Do not pass an array
     * again after a failure: packets already processed would be sealed twice.
     */
    int error;
    /*
     * After the call: for ESP the sequence number; for SRTP the roll-over counter and the sequence number; for SRTCP
     * the index.
     */
    uint64_t sequence;
};

/* This much room before and behind the payload is enough for any ESP packet. */
#define OARLOCK_ESP_BEFORE_BYTES 24
#define OARLOCK_ESP_BEHIND_BYTES 49
/* This much room behind a packet, plus the length of the MKI, is enough for SRTP and SRTCP. */
#define OARLOCK_SRTP_BEHIND_BYTES 20

/* One direction of an ESP association (RFC 4303). Zero selects the default. */
struct oarlock_esp_spec {
    /* Not 0: it opens packets; 0: it seals them. */
    int opens;
    /* The index of the association; not 0. */
    uint32_t spi;
    /*
     * "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" or "chacha20-poly1305"; and with an `integrity` "null",
     * "aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr" or "des-ede3-cbc".
     */
    const char *cipher;
    /* NULL, or "hmac-md5-96", "hmac-sha1-96", "hmac-sha256-128", "hmac-sha384-192" or "hmac-sha512-256". */
    const char *integrity;
    /* The key, followed by a salt of 4 bytes if the cipher is GCM, ChaCha20 or in counter mode, and then the HMAC key. */
    const void *key;
    size_t key_bytes;
    /* Not 0: sequence numbers of 64 bits. */
    int has_extended_numbers;
    /* The width of the replay window in packets, rounded up to a multiple of 64; 0 means 64, and the maximum is 4096. */
    size_t replay_window;
    /*
     * For an association that seals and was begun elsewhere: the last number used. No number may be used twice with one
     * key: neither by two associations, nor by a process and its forked child.
     */
    uint64_t last_sequence;
};

/*
 * oarlock_esp_new() creates one direction of an association. It fails with OARLOCK_E_ARGUMENT for an unknown name, an
 * SPI of 0, and a last number for an association that opens or of more than 32 bits without extended numbers, with
 * OARLOCK_E_KEY for a key of the wrong length, and with OARLOCK_E_THREADS. The key is copied, and the copy wiped. The
 * caller frees it with oarlock_esp_free().
 */
int oarlock_esp_new(oarlock_accelerator *accelerator, oarlock_esp **esp, const struct oarlock_esp_spec *spec);

/* oarlock_esp_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_esp_free(oarlock_esp *esp);

/*
 * oarlock_esp_run() seals or opens packets. For sealing, a packet's bytes are the payload, with room before and behind;
 * they become the packet from its SPI to its ICV. For opening, they are that, and become the payload. If packets could
 * not be processed it fails with the error of the first of these, and processes the others: OARLOCK_E_BUFFER for too
 * little room, OARLOCK_E_EXHAUSTED, OARLOCK_E_PACKET, OARLOCK_E_REPLAYED, OARLOCK_E_AUTHENTICATION, OARLOCK_E_PADDING,
 * OARLOCK_E_DEVICE. It fails with OARLOCK_E_ARGUMENT and OARLOCK_E_OVERLAP for invalid buffers and types, and then has
 * processed none. A packet that is rejected after it was decrypted, because it is not authentic, has a number that came
 * before in the same call, or has wrong padding, becomes zeros behind its header; other rejected packets are unchanged.
 * It can wait for threads that help.
 */
int oarlock_esp_run(oarlock_esp *esp, struct oarlock_packet *packets, size_t count);

/* One direction of an SRTP session (RFC 3711). Zero selects the default. */
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
    /* The master key, followed by the master salt: 14 bytes, or 12 for an AEAD. */
    const void *key;
    size_t key_bytes;
    /* The key identifier that each packet carries; with 0 bytes packets carry none. */
    const void *mki;
    size_t mki_bytes;
    /* The width of the replay window in packets, rounded up to a multiple of 64; 0 means 128, and the maximum is 4096. */
    size_t replay_window;
    /*
     * The number of packets of each source for which tags are kept, at most the window: these can be protected again,
     * if they are identical. A different packet with a used number fails with OARLOCK_E_REPLAYED, and becomes zeros.
     */
    size_t retransmissions;
    /* The maximum number of sources; 0 means 256. */
    size_t streams_max;
};

/*
 * oarlock_srtp_new() creates a context for one direction. It fails with OARLOCK_E_ARGUMENT for an unknown name and an
 * MKI of more than 128 bytes, with OARLOCK_E_KEY for a key of the wrong length, and with OARLOCK_E_THREADS. Two
 * contexts that protect must not have the same key, nor must a process and its forked child. The key is copied, and the
 * copy wiped. The caller frees it with oarlock_srtp_free().
 */
int oarlock_srtp_new(oarlock_accelerator *accelerator, oarlock_srtp **srtp, const struct oarlock_srtp_spec *spec);

/* oarlock_srtp_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_srtp_free(oarlock_srtp *srtp);

/*
 * oarlock_srtp_add_key() adds a master key to a context whose packets carry an MKI. It fails with OARLOCK_E_ARGUMENT
 * for an MKI of another length or one that is in use, and for a 17th key, and with OARLOCK_E_KEY for a key of the wrong
 * length. The key is copied. It needs no more threads than the context has.
 */
int oarlock_srtp_add_key(
    oarlock_srtp *srtp, const void *mki, size_t mki_bytes, const void *key, size_t key_bytes
);

/*
 * oarlock_srtp_use_key() switches to the master key of this MKI. It fails with OARLOCK_E_KEY if there is none, and with
 * OARLOCK_E_ARGUMENT for a context that unprotects, which uses the MKI of each packet.
 */
int oarlock_srtp_use_key(oarlock_srtp *srtp, const void *mki, size_t mki_bytes);

/*
 * oarlock_srtp_remove() removes a source that has ended, which makes room for another. It fails with OARLOCK_E_ARGUMENT
 * if there is no such source. Its old packets would be accepted again.
 */
int oarlock_srtp_remove(oarlock_srtp *srtp, uint32_t ssrc);

/*
 * oarlock_srtp_expect_roll_over_counter() sets the roll-over counter of a source's first packet, for a receiver that
 * joins late. It fails with OARLOCK_E_EXHAUSTED if there are too many sources, and with OARLOCK_E_ARGUMENT for a
 * context that protects. After the source's first packet it has no effect.
 */
int oarlock_srtp_expect_roll_over_counter(oarlock_srtp *srtp, uint32_t ssrc, uint32_t counter);

/*
 * oarlock_srtp_run() protects or unprotects packets: of RTP, or, if `are_rtcp` is not 0, of RTCP. A packet to be
 * protected needs room behind it. If packets could not be processed it fails with the error of the first of these, and
 * otherwise for the same reasons as oarlock_esp_run(). A packet that is rejected after it was decrypted becomes zeros,
 * and other rejected packets are unchanged. It can wait for threads that help.
 */
int oarlock_srtp_run(oarlock_srtp *srtp, struct oarlock_packet *packets, size_t count, int are_rtcp);

/* This much room before and behind the content is enough for a TLS record. */
#define OARLOCK_TLS_BEFORE_BYTES 5
#define OARLOCK_TLS_BEHIND_BYTES 17

/* One direction of a TLS 1.3 connection (RFC 8446) after or during its handshake. */
struct oarlock_tls_spec {
    /* Not 0: it opens records; 0: it seals them. */
    int opens;
    /* The number of the suite: 0x1301 (AES-128-GCM), 0x1302 (AES-256-GCM) or 0x1303 (ChaCha20-Poly1305). */
    unsigned suite;
    /* The traffic secret; or no bytes, and a key and an IV. */
    const void *secret;
    size_t secret_bytes;
    const void *key;
    size_t key_bytes;
    const void *iv;
    size_t iv_bytes;
    /* The number of the next record. No number may be used twice with one key, not even by a process and its forked child. */
    uint64_t sequence;
};

/*
 * oarlock_tls_new() creates one direction of a connection. It fails with OARLOCK_E_ARGUMENT for an unknown suite and
 * unless it is given a secret, or a key and an IV, with OARLOCK_E_KEY if one of these has the wrong length, and with
 * OARLOCK_E_THREADS. Keys are copied, and the copies wiped. The caller frees it with oarlock_tls_free().
 */
int oarlock_tls_new(oarlock_accelerator *accelerator, oarlock_tls **tls, const struct oarlock_tls_spec *spec);

/* oarlock_tls_free() frees the handle and wipes the keys; NULL is ignored. It fails for an invalid handle. */
int oarlock_tls_free(oarlock_tls *tls);

/*
 * oarlock_tls_update() switches to the keys of the next generation, after a KeyUpdate was sealed or opened. It fails
 * with OARLOCK_E_ARGUMENT without a secret to derive them from. It needs no more threads than the direction has.
 */
int oarlock_tls_update(oarlock_tls *tls);

/*
 * oarlock_tls_seal() seals records. A packet's bytes are the content, at most 16384, with room before and behind; they
 * become the record. If records could not be sealed it fails with the error of the first of these, and otherwise for
 * the same reasons as oarlock_esp_run(); it fails with OARLOCK_E_STATE for a direction that opens, and with
 * OARLOCK_E_EXHAUSTED for a key that needs an update. It can wait for threads that help.
 */
int oarlock_tls_seal(oarlock_tls *tls, struct oarlock_packet *records, size_t count);

/*
 * oarlock_tls_open() opens the records at the beginning of `buffer`, in place: at most `*count`, up to the first that
 * is not application data, and no incomplete record. `*count` is then their number, `*done_bytes` the number of bytes
 * that they occupied in the buffer, and `records` gives the position of the content of each. It fails with
 * OARLOCK_E_AUTHENTICATION, OARLOCK_E_PACKET, OARLOCK_E_PADDING or OARLOCK_E_EXHAUSTED for the record behind these,
 * which ends the connection, and with OARLOCK_E_STATE for a direction that seals. It can wait for threads that help.
 */
int oarlock_tls_open(
    oarlock_tls *tls, struct oarlock_packet *records, size_t *count, size_t *done_bytes, void *buffer, size_t bytes
);

#ifdef __cplusplus
}
#endif

#endif
