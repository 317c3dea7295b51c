/* Prints the bytes of heap that an idle TLS connection takes, both sides of it together. Arguments: certificate, key, TLS
 * version as on the wire (hexadecimal), suite. */
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "%d: %s\n", __LINE__, #what); exit(1); } } while (0)
enum { CONNECTIONS = 200 };

static SSL *connect_pair(SSL_CTX *server, SSL_CTX *client, SSL **other)
{
    BIO *near, *far;
    SSL *accepts = SSL_new(server), *connects = SSL_new(client);
    CHECK(accepts && connects && BIO_new_bio_pair(&near, 0, &far, 0));
    SSL_set_bio(accepts, near, near);
    SSL_set_bio(connects, far, far);
    SSL_set_accept_state(accepts);
    SSL_set_connect_state(connects);
    int done = 0;
    for (int i = 0; i < 10 && !done; i++) {
        int one = SSL_do_handshake(connects);
        done = SSL_do_handshake(accepts) == 1 && one == 1;
    }
    CHECK(done);
    char octet;
    SSL_read(connects, &octet, 1); /* takes the tickets */
    /* One short message each way, as of a protocol that greets. */
    CHECK(SSL_write(accepts, "hello", 5) == 5);
    char message[8];
    CHECK(SSL_read(connects, message, sizeof message) == 5);
    CHECK(SSL_write(connects, "hello", 5) == 5 && SSL_read(accepts, message, sizeof message) == 5);
    *other = connects;
    return accepts;
}

int main(int count, char **arguments)
{
    CHECK(count == 5);
    int version = (int)strtol(arguments[3], NULL, 16);
    SSL_CTX *server = SSL_CTX_new(TLS_server_method()), *client = SSL_CTX_new(TLS_client_method());
    CHECK(server && client);
    CHECK(SSL_CTX_use_certificate_chain_file(server, arguments[1]) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(server, arguments[2], SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
    for (int i = 0; i < 2; i++) {
        SSL_CTX *context = i ? server : client;
        CHECK(SSL_CTX_set_min_proto_version(context, version) && SSL_CTX_set_max_proto_version(context, version));
        CHECK(version == TLS1_3_VERSION ? SSL_CTX_set_ciphersuites(context, arguments[4]) : SSL_CTX_set_cipher_list(context, arguments[4]));
    }
    static SSL *ends[2][CONNECTIONS + 1];
    size_t before = 0;
    for (int i = 0; i <= CONNECTIONS; i++) {
        /* The first makes what all share. */
        if (i == 1) before = mallinfo2().uordblks + mallinfo2().hblkhd;
        ends[0][i] = connect_pair(server, client, &ends[1][i]);
    }
    printf("%zu\n", (mallinfo2().uordblks + mallinfo2().hblkhd - before) / CONNECTIONS);
    return 0;
}
