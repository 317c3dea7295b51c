/* 1000 signatures in a loop of libuv: cc sign_libuv.c $(pkg-config --cflags --libs oarlock libuv) */
#include "signatures.h"

#include <uv.h>

static void readable(uv_poll_t *watcher, int status, int events)
{
    (void)events;
    if (status != 0) {
        fprintf(stderr, "%s\n", uv_strerror(status));
        exit(1);
    }
    if (!take_results())
        uv_poll_stop(watcher);
}

int main(int argc, char **argv)
{
    uv_poll_t watcher;

    begin(argc, argv);
    uv_poll_init(uv_default_loop(), &watcher, queue_fd);
    uv_poll_start(&watcher, UV_READABLE, readable);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return end();
}
