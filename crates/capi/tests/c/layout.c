/* Prints the layout of every structure, and the values of what programs were compiled with. */
#include <oarlock.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("%s %lu\n", #type, (unsigned long)sizeof(struct type))
#define FIELD(type, field) printf("%s.%s %lu\n", #type, #field, (unsigned long)offsetof(struct type, field))
#define VALUE(name) printf("%s %d\n", #name, name)

int main(void)
{
    SIZE(oarlock_stats);
    FIELD(oarlock_stats, requests);
    FIELD(oarlock_stats, bytes);
    FIELD(oarlock_stats, striped_requests);
    FIELD(oarlock_stats, prefetched_bytes);
    FIELD(oarlock_stats, rsa_alone);
    FIELD(oarlock_stats, rsa_groups);
    FIELD(oarlock_stats, rsa_in_groups);
    FIELD(oarlock_stats, rsa_faults);
    FIELD(oarlock_stats, jobs_waiting);
    SIZE(oarlock_algorithm);
    FIELD(oarlock_algorithm, kind);
    FIELD(oarlock_algorithm, key_bytes);
    FIELD(oarlock_algorithm, iv_bytes);
    FIELD(oarlock_algorithm, tag_bytes);
    FIELD(oarlock_algorithm, block_bytes);
    SIZE(oarlock_job_options);
    FIELD(oarlock_job_options, is_urgent);
    FIELD(oarlock_job_options, when_asked);
    FIELD(oarlock_job_options, time_ns);
    SIZE(oarlock_session_spec);
    FIELD(oarlock_session_spec, service);
    FIELD(oarlock_session_spec, cipher);
    FIELD(oarlock_session_spec, key);
    FIELD(oarlock_session_spec, key_bytes);
    FIELD(oarlock_session_spec, iv);
    FIELD(oarlock_session_spec, iv_bytes);
    FIELD(oarlock_session_spec, hash);
    FIELD(oarlock_session_spec, mac_key);
    FIELD(oarlock_session_spec, mac_key_bytes);
    FIELD(oarlock_session_spec, tag_bytes);
    SIZE(oarlock_request);
    FIELD(oarlock_request, decrypts);
    FIELD(oarlock_request, iv);
    FIELD(oarlock_request, iv_bytes);
    FIELD(oarlock_request, authenticated_bytes);
    SIZE(oarlock_packet);
    FIELD(oarlock_packet, buffer);
    FIELD(oarlock_packet, buffer_bytes);
    FIELD(oarlock_packet, offset);
    FIELD(oarlock_packet, bytes);
    FIELD(oarlock_packet, type);
    FIELD(oarlock_packet, error);
    FIELD(oarlock_packet, sequence);
    SIZE(oarlock_esp_spec);
    FIELD(oarlock_esp_spec, opens);
    FIELD(oarlock_esp_spec, spi);
    FIELD(oarlock_esp_spec, cipher);
    FIELD(oarlock_esp_spec, integrity);
    FIELD(oarlock_esp_spec, key);
    FIELD(oarlock_esp_spec, key_bytes);
    FIELD(oarlock_esp_spec, has_extended_numbers);
    FIELD(oarlock_esp_spec, replay_window);
    FIELD(oarlock_esp_spec, last_sequence);
    SIZE(oarlock_srtp_spec);
    FIELD(oarlock_srtp_spec, opens);
    FIELD(oarlock_srtp_spec, leaves_rtcp_plain);
    FIELD(oarlock_srtp_spec, suite);
    FIELD(oarlock_srtp_spec, key);
    FIELD(oarlock_srtp_spec, key_bytes);
    FIELD(oarlock_srtp_spec, mki);
    FIELD(oarlock_srtp_spec, mki_bytes);
    FIELD(oarlock_srtp_spec, replay_window);
    FIELD(oarlock_srtp_spec, retransmissions);
    FIELD(oarlock_srtp_spec, streams_max);
    SIZE(oarlock_tls_spec);
    FIELD(oarlock_tls_spec, opens);
    FIELD(oarlock_tls_spec, suite);
    FIELD(oarlock_tls_spec, secret);
    FIELD(oarlock_tls_spec, secret_bytes);
    FIELD(oarlock_tls_spec, key);
    FIELD(oarlock_tls_spec, key_bytes);
    FIELD(oarlock_tls_spec, iv);
    FIELD(oarlock_tls_spec, iv_bytes);
    FIELD(oarlock_tls_spec, sequence);
    VALUE(OARLOCK_TLS_BEFORE_BYTES);
    VALUE(OARLOCK_TLS_BEHIND_BYTES);
    VALUE(OARLOCK_ESP_BEFORE_BYTES);
    VALUE(OARLOCK_ESP_BEHIND_BYTES);
    VALUE(OARLOCK_SRTP_BEHIND_BYTES);
    VALUE(OARLOCK_SERVICE_CIPHER);
    VALUE(OARLOCK_SERVICE_MAC);
    VALUE(OARLOCK_SERVICE_DIGEST);
    VALUE(OARLOCK_SERVICE_ENCRYPT_THEN_MAC);
    VALUE(OARLOCK_SERVICE_MAC_THEN_ENCRYPT);
    VALUE(OARLOCK_SERVICE_RANDOM);
    VALUE(OARLOCK_TAG_BYTES);
    VALUE(OARLOCK_KIND_STREAM);
    VALUE(OARLOCK_KIND_CBC);
    VALUE(OARLOCK_KIND_AEAD);
    VALUE(OARLOCK_E_HANDLE);
    VALUE(OARLOCK_E_BUSY);
    VALUE(OARLOCK_E_ARGUMENT);
    VALUE(OARLOCK_E_BUFFER);
    VALUE(OARLOCK_E_OVERLAP);
    VALUE(OARLOCK_E_KEY);
    VALUE(OARLOCK_E_STATE);
    VALUE(OARLOCK_E_AUTHENTICATION);
    VALUE(OARLOCK_E_PADDING);
    VALUE(OARLOCK_E_SIGNATURE);
    VALUE(OARLOCK_E_DECRYPTION);
    VALUE(OARLOCK_E_QUEUE_FULL);
    VALUE(OARLOCK_E_CANCELLED);
    VALUE(OARLOCK_E_DEADLINE);
    VALUE(OARLOCK_E_OPTION);
    VALUE(OARLOCK_E_THREADS);
    VALUE(OARLOCK_E_DEVICE);
    VALUE(OARLOCK_E_AGAIN);
    VALUE(OARLOCK_E_EMPTY);
    VALUE(OARLOCK_E_MEMORY);
    VALUE(OARLOCK_E_INTERNAL);
    VALUE(OARLOCK_E_REPLAYED);
    VALUE(OARLOCK_E_EXHAUSTED);
    VALUE(OARLOCK_E_PACKET);
    return 0;
}
