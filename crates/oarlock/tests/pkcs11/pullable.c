// A module of PKCS#11 in front of another, whose tokens can be pulled out: as long as the file that
// PULLED names is there, the module says what one says whose token is not there, and what sessions
// there were have gone (PKCS#11 2.40, 5.6, "C_CloseAllSessions"). All else the other one does, which
// REAL_MODULE names. Each login adds a byte to the file that LOGINS names.
//
// In the folder that STEERING names, a file "few" has the number of sessions that are open at once at
// most, and the code that more are refused with; "held" holds calls of C_SignInit up as long as it is
// there; "absurd-slots" and "absurd-objects" make counts what no module may say. The module adds a byte
// to "opened", "closed" and "refused" for each session, and to "inside" for each call held up.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned long number;
typedef number function();

// CK_FUNCTION_LIST, by the order of pkcs11f.h.
enum {
    GET_SLOT_LIST = 4,
    GET_TOKEN_INFO = 6,
    OPEN_SESSION = 12,
    CLOSE_SESSION = 13,
    CLOSE_ALL_SESSIONS = 14,
    GET_SESSION_INFO = 15,
    LOGIN = 18,
    FIND_OBJECTS_INIT = 26,
    FIND_OBJECTS = 27,
    DECRYPT_INIT = 33,
    SIGN_INIT = 42,
    FUNCTIONS = 68,
};
enum {
    OK = 0,
    GENERAL_ERROR = 0x05,
    DEVICE_REMOVED = 0x32,
    SESSION_HANDLE_INVALID = 0xb3,
    TOKEN_NOT_PRESENT = 0xe0,
};

static struct list {
    unsigned char major, minor;
    function *functions[FUNCTIONS];
} real, here;

static int is_pulled(void) {
    number slots[64], count = 64;
    if (access(getenv("PULLED"), F_OK) != 0) {
        return 0;
    }
    if (real.functions[GET_SLOT_LIST](1, slots, &count) == OK) {
        for (number i = 0; i < count; i++) {
            real.functions[CLOSE_ALL_SESSIONS](slots[i]);
        }
    }
    return 1;
}

static FILE *steering(const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("STEERING"), name);
    return fopen(path, mode);
}

static int is_steered(const char *name) {
    FILE *file = steering(name, "r");
    if (file != NULL) {
        fclose(file);
    }
    return file != NULL;
}

static void count(const char *name) {
    FILE *file = steering(name, "a");
    if (file != NULL) {
        fputc('.', file);
        fclose(file);
    }
}

static number get_slot_list(unsigned char with_token, number *slots, number *count) {
    if (with_token && is_pulled()) {
        *count = 0;
        return OK;
    }
    if (slots == NULL && is_steered("absurd-slots")) {
        *count = (number)-1 / 2;
        return OK;
    }
    return real.functions[GET_SLOT_LIST](with_token, slots, count);
}

static number get_token_info(number slot, void *info) {
    return is_pulled() ? TOKEN_NOT_PRESENT : real.functions[GET_TOKEN_INFO](slot, info);
}

static int open_now;

static number open_session(number slot, number flags, void *data, void *notify, number *session) {
    number most, code;
    FILE *few = steering("few", "r");
    if (few != NULL) {
        int is_read = fscanf(few, "%lu %lx", &most, &code) == 2;
        fclose(few);
        if (is_read && (number)__sync_fetch_and_add(&open_now, 0) >= most) {
            count("refused");
            return code;
        }
    }
    if (is_pulled()) {
        return TOKEN_NOT_PRESENT;
    }
    number said = real.functions[OPEN_SESSION](slot, flags, data, notify, session);
    if (said == OK) {
        __sync_fetch_and_add(&open_now, 1);
        count("opened");
    }
    return said;
}

static number close_session(number session) {
    number said = real.functions[CLOSE_SESSION](session);
    if (said == OK) {
        __sync_fetch_and_sub(&open_now, 1);
        count("closed");
    }
    return said;
}

static number find_objects(number session, number *objects, number most, number *found) {
    number said = real.functions[FIND_OBJECTS](session, objects, most, found);
    if (is_steered("absurd-objects")) {
        *found = most + 7;
    }
    return said;
}

static number get_session_info(number session, void *info) {
    return is_pulled() ? SESSION_HANDLE_INVALID : real.functions[GET_SESSION_INFO](session, info);
}

static number login(number session, number user, unsigned char *pin, number len) {
    FILE *logins = fopen(getenv("LOGINS"), "a");
    if (logins != NULL) {
        fputc('.', logins);
        fclose(logins);
    }
    return is_pulled() ? DEVICE_REMOVED : real.functions[LOGIN](session, user, pin, len);
}

static number find_objects_init(number session, void *template, number len) {
    return is_pulled() ? DEVICE_REMOVED : real.functions[FIND_OBJECTS_INIT](session, template, len);
}

static number decrypt_init(number session, void *mechanism, number key) {
    return is_pulled() ? DEVICE_REMOVED : real.functions[DECRYPT_INIT](session, mechanism, key);
}

static number sign_init(number session, void *mechanism, number key) {
    if (is_steered("held")) {
        count("inside");
        while (is_steered("held")) {
            usleep(1000);
        }
    }
    return is_pulled() ? DEVICE_REMOVED : real.functions[SIGN_INIT](session, mechanism, key);
}

number C_GetFunctionList(struct list **list) {
    void *library = dlopen(getenv("REAL_MODULE"), RTLD_NOW | RTLD_LOCAL);
    function *get = library == NULL ? NULL : (function *)dlsym(library, "C_GetFunctionList");
    struct list *other;
    if (get == NULL || get(&other) != OK) {
        return GENERAL_ERROR;
    }
    real = here = *other;
    here.functions[GET_SLOT_LIST] = (function *)get_slot_list;
    here.functions[GET_TOKEN_INFO] = (function *)get_token_info;
    here.functions[OPEN_SESSION] = (function *)open_session;
    here.functions[CLOSE_SESSION] = (function *)close_session;
    here.functions[FIND_OBJECTS] = (function *)find_objects;
    here.functions[GET_SESSION_INFO] = (function *)get_session_info;
    here.functions[LOGIN] = (function *)login;
    here.functions[FIND_OBJECTS_INIT] = (function *)find_objects_init;
    here.functions[DECRYPT_INIT] = (function *)decrypt_init;
    here.functions[SIGN_INIT] = (function *)sign_init;
    *list = &here;
    return OK;
}
