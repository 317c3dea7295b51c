/* Loads the library that is the first argument, uses it, unloads it and loads it again; then a copy of it as well. */
#define _DEFAULT_SOURCE
#include <oarlock.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void holds(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

typedef int (*new_function)(oarlock_accelerator **, const char *);
typedef int (*free_function)(oarlock_accelerator *);

/* Two versions in one process: objects of one are nothing to the other. */
static void two_copies(const char *first, const char *second)
{
    void *libraries[2];
    new_function make[2];
    free_function end[2];
    oarlock_accelerator *accelerators[2];
    int i;

    for (i = 0; i < 2; i++) {
        libraries[i] = dlopen(i == 0 ? first : second, RTLD_NOW | RTLD_LOCAL);
        holds(libraries[i] != NULL, "a copy cannot be loaded");
        *(void **)&make[i] = dlsym(libraries[i], "oarlock_accelerator_new");
        *(void **)&end[i] = dlsym(libraries[i], "oarlock_accelerator_free");
    }
    holds(make[0] != make[1], "it is one and the same copy");
    for (i = 0; i < 2; i++)
        holds(make[i](&accelerators[i], NULL) == 0, "no accelerator of a copy");
    for (i = 0; i < 2; i++)
        holds(end[i](accelerators[1 - i]) == OARLOCK_E_HANDLE, "a handle of another copy was taken");
    for (i = 0; i < 2; i++)
        holds(end[i](accelerators[i]) == 0, "a handle was not taken");
}

int main(int argc, char **argv)
{
    struct timespec before, after;
    int files = entries("/proc/self/fd");
    oarlock_accelerator *accelerator;
    new_function make;
    free_function end;
    void *library;
    int round;

    holds(argc == 3, "two copies are due");
    clock_gettime(CLOCK_MONOTONIC, &before);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    holds(library != NULL, "it cannot be loaded");
    holds(entries("/proc/self/task") == 3, "loading made a thread");
    holds(entries("/proc/self/fd") == files, "loading opened a file");
    for (round = 0; round < 3; round++) {
        *(void **)&make = dlsym(library, "oarlock_accelerator_new");
        *(void **)&end = dlsym(library, "oarlock_accelerator_free");
        holds(make(&accelerator, "min_threads=2") == 0, "no accelerator");
        if (round % 2 == 0)
            holds(end(accelerator) == 0, "it cannot be freed");
        dlclose(library);
        /* Threads that the library made may still run. */
        usleep(20000);
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        holds(library != NULL, "it cannot be loaded again");
    }
    two_copies(argv[1], argv[2]);
    printf("loaded in %ld us\n",
           (long)(after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000);
    return 0;
}
