// Messages sealed and opened in C++, and an error as an exception: c++ seal.cpp $(pkg-config --cflags --libs oarlock)
#include <oarlock.hpp>

#include <cstdio>
#include <string>

int main()
{
    const oarlock::Accelerator accelerator("max_threads=2");
    const std::string key(32, 'k'), nonce(12, 'n'), header = "header";
    const oarlock::Aead aead(accelerator, "aes-256-gcm", key.data(), key.size());

    std::string message = "attack at dawn";
    unsigned char tag[OARLOCK_TAG_BYTES];
    oarlock::check(oarlock_aead_seal(aead.get(), &message[0], tag, nonce.data(), nonce.size(), header.data(), header.size(),
                                     message.data(), message.size()));
    message[0] ^= 1;
    try {
        oarlock::check(oarlock_aead_open(aead.get(), &message[0], tag, nonce.data(), nonce.size(), header.data(),
                                         header.size(), message.data(), message.size()));
        return 1;
    } catch (const oarlock::Error &error) {
        if (error.code() != OARLOCK_E_AUTHENTICATION)
            throw;
    }
    message[0] ^= 1;
    oarlock::check(oarlock_aead_open(aead.get(), &message[0], tag, nonce.data(), nonce.size(), header.data(), header.size(),
                                     message.data(), message.size()));
    std::puts(message.c_str());
    return 0;
}
