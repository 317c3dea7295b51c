/* The handles of oarlock.h as objects that free themselves, and its errors as exceptions. C++17. */
#ifndef OARLOCK_HPP
#define OARLOCK_HPP

#include <oarlock.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace oarlock {

/* The error of a failed call. */
class Error : public std::runtime_error {
public:
    explicit Error(int code) : std::runtime_error(text(code)), code_(code) {}
    int code() const noexcept { return code_; }

private:
    static std::string text(int code)
    {
        const std::string detail = oarlock_error_detail();
        return detail.empty() ? oarlock_strerror(code) : detail;
    }

    int code_;
};

inline void check(int error)
{
    if (error != 0)
        throw Error(error);
}

/*
 * A handle, and the function that frees it. It can be moved, but not copied. Destroy it only while no other thread uses
 * it: an object that allows one call at a time, such as a cipher or an association, is not freed if it is busy. Call
 * release() once a function such as oarlock_queue_push() has freed the handle.
 */
template <typename Object, int (*Free)(Object *)>
class Owned {
public:
    Object *get() const noexcept { return handle_.get(); }
    Object *release() noexcept { return handle_.release(); }

protected:
    Owned() noexcept : handle_(nullptr) {}
    void take(Object *handle) noexcept { handle_.reset(handle); }

private:
    struct Freed {
        void operator()(Object *handle) const noexcept { Free(handle); }
    };

    std::unique_ptr<Object, Freed> handle_;
};

class Accelerator : public Owned<oarlock_accelerator, oarlock_accelerator_free> {
public:
    explicit Accelerator(const std::string &options = "")
    {
        oarlock_accelerator *handle = nullptr;
        check(oarlock_accelerator_new(&handle, options.c_str()));
        take(handle);
    }

    /* Returns the accelerator that another part of the program has registered. */
    static Accelerator find(const std::string &name)
    {
        oarlock_accelerator *handle = nullptr;
        check(oarlock_accelerator_find(&handle, name.c_str()));
        return Accelerator(handle);
    }

private:
    explicit Accelerator(oarlock_accelerator *handle) noexcept { take(handle); }
};

class Cipher : public Owned<oarlock_cipher, oarlock_cipher_free> {
public:
    Cipher(const Accelerator &accelerator, const std::string &algorithm)
    {
        oarlock_cipher *handle = nullptr;
        check(oarlock_cipher_new(accelerator.get(), &handle, algorithm.c_str()));
        take(handle);
    }
};

class Aead : public Owned<oarlock_aead, oarlock_aead_free> {
public:
    Aead(const Accelerator &accelerator, const std::string &algorithm, const void *key, std::size_t key_bytes)
    {
        oarlock_aead *handle = nullptr;
        check(oarlock_aead_new(accelerator.get(), &handle, algorithm.c_str(), key, key_bytes));
        take(handle);
    }
};

class RsaPrivate : public Owned<oarlock_rsa_private, oarlock_rsa_private_free> {
public:
    RsaPrivate(const Accelerator &accelerator, const void *key, std::size_t key_bytes)
    {
        oarlock_rsa_private *handle = nullptr;
        check(oarlock_rsa_private_new(accelerator.get(), &handle, key, key_bytes));
        take(handle);
    }
};

class RsaPublic : public Owned<oarlock_rsa_public, oarlock_rsa_public_free> {
public:
    RsaPublic(const Accelerator &accelerator, const void *key, std::size_t key_bytes)
    {
        oarlock_rsa_public *handle = nullptr;
        check(oarlock_rsa_public_new(accelerator.get(), &handle, key, key_bytes));
        take(handle);
    }

    explicit RsaPublic(const RsaPrivate &key)
    {
        oarlock_rsa_public *handle = nullptr;
        check(oarlock_rsa_public_of(key.get(), &handle));
        take(handle);
    }
};

class PrivateKey : public Owned<oarlock_private_key, oarlock_private_key_free> {
public:
    PrivateKey(const Accelerator &accelerator, const void *key, std::size_t key_bytes)
    {
        oarlock_private_key *handle = nullptr;
        check(oarlock_private_key_new(accelerator.get(), &handle, key, key_bytes));
        take(handle);
    }

    static PrivateKey generate(const Accelerator &accelerator, const std::string &type)
    {
        oarlock_private_key *handle = nullptr;
        check(oarlock_private_key_generate(accelerator.get(), &handle, type.c_str()));
        return PrivateKey(handle);
    }

    static PrivateKey from_raw(
        const Accelerator &accelerator, const std::string &type, const void *raw, std::size_t raw_bytes
    )
    {
        oarlock_private_key *handle = nullptr;
        check(oarlock_private_key_from_raw(accelerator.get(), &handle, type.c_str(), raw, raw_bytes));
        return PrivateKey(handle);
    }

private:
    explicit PrivateKey(oarlock_private_key *handle) noexcept { take(handle); }
};

class PublicKey : public Owned<oarlock_public_key, oarlock_public_key_free> {
public:
    PublicKey(const Accelerator &accelerator, const void *key, std::size_t key_bytes)
    {
        oarlock_public_key *handle = nullptr;
        check(oarlock_public_key_new(accelerator.get(), &handle, key, key_bytes));
        take(handle);
    }

    explicit PublicKey(const PrivateKey &key)
    {
        oarlock_public_key *handle = nullptr;
        check(oarlock_public_key_of(key.get(), &handle));
        take(handle);
    }

    static PublicKey from_raw(
        const Accelerator &accelerator, const std::string &type, const void *raw, std::size_t raw_bytes
    )
    {
        oarlock_public_key *handle = nullptr;
        check(oarlock_public_key_from_raw(accelerator.get(), &handle, type.c_str(), raw, raw_bytes));
        return PublicKey(handle);
    }

private:
    explicit PublicKey(oarlock_public_key *handle) noexcept { take(handle); }
};

class Queue : public Owned<oarlock_queue, oarlock_queue_free> {
public:
    explicit Queue(bool in_order = false)
    {
        oarlock_queue *handle = nullptr;
        check(oarlock_queue_new(&handle, in_order));
        take(handle);
    }
};

class Job : public Owned<oarlock_job, oarlock_job_free> {
public:
    explicit Job(oarlock_job *handle) noexcept { take(handle); }
};

class ModExp : public Owned<oarlock_modexp, oarlock_modexp_free> {
public:
    ModExp(const Accelerator &accelerator, const void *modulus, std::size_t modulus_bytes)
    {
        oarlock_modexp *handle = nullptr;
        check(oarlock_modexp_new(accelerator.get(), &handle, modulus, modulus_bytes));
        take(handle);
    }
};

class Framework : public Owned<oarlock_framework, oarlock_framework_free> {
public:
    explicit Framework(const Accelerator &accelerator)
    {
        oarlock_framework *handle = nullptr;
        check(oarlock_framework_new(accelerator.get(), &handle));
        take(handle);
    }
};

class Session : public Owned<oarlock_session, oarlock_session_free> {
public:
    Session(const Framework &framework, const oarlock_session_spec &spec)
    {
        oarlock_session *handle = nullptr;
        check(oarlock_session_new(framework.get(), &handle, &spec));
        take(handle);
    }
};

class Esp : public Owned<oarlock_esp, oarlock_esp_free> {
public:
    Esp(const Accelerator &accelerator, const oarlock_esp_spec &spec)
    {
        oarlock_esp *handle = nullptr;
        check(oarlock_esp_new(accelerator.get(), &handle, &spec));
        take(handle);
    }
};

class Srtp : public Owned<oarlock_srtp, oarlock_srtp_free> {
public:
    Srtp(const Accelerator &accelerator, const oarlock_srtp_spec &spec)
    {
        oarlock_srtp *handle = nullptr;
        check(oarlock_srtp_new(accelerator.get(), &handle, &spec));
        take(handle);
    }
};

class Tls : public Owned<oarlock_tls, oarlock_tls_free> {
public:
    Tls(const Accelerator &accelerator, const oarlock_tls_spec &spec)
    {
        oarlock_tls *handle = nullptr;
        check(oarlock_tls_new(accelerator.get(), &handle, &spec));
        take(handle);
    }
};

} // namespace oarlock

#endif
