/* 1000 signatures in one thread that waits in poll(2): cc sign_poll.c $(pkg-config --cflags --libs oarlock) */
#include "signatures.h"

#include <poll.h>

int main(int argc, char **argv)
{
    struct pollfd watched;

    begin(argc, argv);
    watched.fd = queue_fd;
    watched.events = POLLIN;
    while (poll(&watched, 1, -1) == 1 && take_results())
        continue;
    return end();
}
