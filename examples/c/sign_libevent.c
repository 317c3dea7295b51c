/* 1000 signatures in a loop of libevent: cc sign_libevent.c $(pkg-config --cflags --libs oarlock libevent_core) */
#include "signatures.h"

#include <event2/event.h>

static void readable(evutil_socket_t fd, short what, void *base)
{
    (void)fd;
    (void)what;
    if (!take_results())
        event_base_loopexit(base, NULL);
}

int main(int argc, char **argv)
{
    struct event_base *base = event_base_new();
    struct event *watcher;

    begin(argc, argv);
    watcher = event_new(base, queue_fd, EV_READ | EV_PERSIST, readable, base);
    event_add(watcher, NULL);
    event_base_dispatch(base);
    event_free(watcher);
    event_base_free(base);
    return end();
}
