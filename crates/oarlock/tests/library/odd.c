// Devices that are not as they should be, one for each macro.

#include <oarlock_device.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef SIZE
#define SIZE sizeof(oarlock_device_table_v2)
#endif
#ifndef VERSION
#define VERSION OARLOCK_DEVICE_ABI_VERSION
#endif
#ifndef NAME
#define NAME "odd"
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef LATENCY_US
#define LATENCY_US 1000
#endif

static int under_way;
// Whether calls wait until two have been under way at once.
static int together;
static int have_met;
static int opened = 1;
// The option that names where a byte is written that belongs to nobody.
static char stray[32];

// Changes the byte before or behind a buffer where |stray| names it so.
static void go_astray(const char *buffer_name, void *buffer, size_t len) {
  char place[32];
  snprintf(place, sizeof place, "%s-before", buffer_name);
  if (strcmp(stray, place) == 0) {
    ((uint8_t *)buffer)[-1] ^= 1;
  }
  snprintf(place, sizeof place, "%s-behind", buffer_name);
  if (strcmp(stray, place) == 0) {
    ((uint8_t *)buffer)[len] ^= 1;
  }
}

static int open_device(const char *options, void **device, char *error, size_t error_len) {
  *device = &opened;
  snprintf(stray, sizeof stray, "%s", options);
  go_astray("open", error, error_len);
  if (strcmp(options, "refuse") == 0) {
    snprintf(error, error_len, "not\ntoday");
    return 0;
  }
  if (strcmp(options, "silent") == 0) {
    return 0;
  }
  if (strcmp(options, "long") == 0) {
    memset(error, 'x', error_len);
    return 0;
  }
  if (strcmp(options, "null") == 0) {
    *device = NULL;
  }
  if (strcmp(options, "together") == 0) {
    together = 1;
  }
  return 1;
}

static void close_device(void *device) { *(int *)device = 0; }

static size_t capacity(void *device) {
  (void)device;
  return CAPACITY;
}

static uint64_t latency_us(void *device, int kind, size_t bits) {
  (void)device;
  (void)kind;
  return bits > 2048 ? 0 : LATENCY_US;
}

// Fails, and says how many calls were under way, itself included.
static int power(void *device, const uint8_t *base, const uint8_t *exponent, size_t exponent_len,
                 const uint8_t *modulus, size_t modulus_len, uint8_t *result, char *error,
                 size_t error_len) {
  (void)base, (void)exponent, (void)exponent_len, (void)modulus, (void)result;
  int at_once = __sync_add_and_fetch(&under_way, 1);
  if (at_once > 1) {
    __sync_lock_test_and_set(&have_met, 1);
  }
  // A minute at most, where the second never comes.
  for (int left = 60000; together && left > 0 && !__sync_fetch_and_add(&have_met, 0); left--) {
    usleep(1000);
  }
  // One too many would come now.
  usleep(20000);
  snprintf(error, error_len, "%s, %d at once, %zu bytes", *(int *)device ? "open" : "closed", at_once,
           modulus_len);
  go_astray("error", error, error_len);
  go_astray("result", result, modulus_len);
  if (strncmp(stray, "done-", 5) == 0) {
    memmove(stray, stray + 5, strlen(stray + 5) + 1);
    go_astray("error", error, error_len);
    go_astray("result", result, modulus_len);
    return 1;
  }
  __sync_sub_and_fetch(&under_way, 1);
  return 0;
}

#ifndef WITHOUT_SYMBOL
const oarlock_device_table_v2 *oarlock_device_v2(void) {
  static const oarlock_device_table_v2 table = {
      .size = SIZE,
      .abi_version = VERSION,
      .name = NAME,
      .open = open_device,
      .close = close_device,
      .capacity = capacity,
      .latency_us = latency_us,
#ifndef WITHOUT_POWER
      .power = power,
#endif
  };
#ifdef WITHOUT_TABLE
  return NULL;
#endif
  return &table;
}
#endif
