/* SPDX-License-Identifier: MIT */
/*
 * libsidra-smi: what an operator sees of the chips of this machine, and what mends them. sidra-smi is a client of it.
 *
 * Reading opens no device and asks no firmware: it takes sysfs, hwmon, /proc and what embedded chips of running processes publish
 * (uapi/sidra_publish.h), so a chip that hangs costs a reader nothing, and no root is needed. What reaches a chip has a deadline.
 *
 * Conventions
 * - A session belongs to one thread at a time; several sessions are independent of each other.
 * - What a session hands out (chips, texts, arrays) lives until sidra_smi_close(), or until the call that its description names.
 * - Absent is not zero: a value that cannot be had is of kind SIDRA_SMI_NONE, with the errno why.
 * - Statuses are the exit codes of sidra-smi. sidra_smi_error() has a sentence about the last failure of a session.
 */
#ifndef SIDRA_SMI_H
#define SIDRA_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SIDRA_SMI_BUILD) && defined(__GNUC__)
#define SIDRA_SMI_API __attribute__((visibility("default")))
#else
#define SIDRA_SMI_API
#endif

#define SIDRA_SMI_VERSION_MAJOR 1
#define SIDRA_SMI_VERSION_MINOR 0

typedef enum sidra_smi_status {
    SIDRA_SMI_OK = 0,
    SIDRA_SMI_USAGE = 1,       /* an argument, a selector or a field's name that means nothing, or not one thing */
    SIDRA_SMI_NO_DEVICE = 2,   /* no chip here, or none that was asked for */
    SIDRA_SMI_NO_DRIVER = 3,   /* a card is there, and no driver is bound to it */
    SIDRA_SMI_PERMISSION = 4,  /* EACCES, EPERM */
    SIDRA_SMI_LOST = 5,        /* the chip was there, and is not any more */
    SIDRA_SMI_BUSY = 6,        /* somebody uses it, or something else goes on */
    SIDRA_SMI_TIMEOUT = 7,     /* the deadline passed */
    SIDRA_SMI_WARNING = 8,     /* health */
    SIDRA_SMI_CRITICAL = 9,    /* health */
    SIDRA_SMI_REFUSED = 10,    /* the firmware, or an image of it, was refused */
    SIDRA_SMI_INTERNAL = 64    /* out of memory, output that cannot be written, a mistake of ours */
} sidra_smi_status;

/* ---- Session and chips ------------------------------------------------------------------------------------------- */

typedef struct sidra_smi sidra_smi;
typedef struct sidra_smi_chip sidra_smi_chip;

typedef struct sidra_smi_options {
    size_t struct_size;
    const char *root;    /* prefix of /sys, /proc, /dev, /run and /tmp: for tests and containers; NULL: none */
    const char *runtime; /* the one folder where embedded chips are looked for; NULL: those of all users that can be read */
} sidra_smi_options;

/* Finds the chips, and reads nothing yet. options may be NULL. No chip at all is not a failure. */
SIDRA_SMI_API sidra_smi_status sidra_smi_open(const sidra_smi_options *options, sidra_smi **session);
SIDRA_SMI_API void sidra_smi_close(sidra_smi *session);
/* About the last failure in this session; never NULL. Until the next call in it. */
SIDRA_SMI_API const char *sidra_smi_error(const sidra_smi *session);

/*
 * Reads all chips once more, finds new ones, and marks those that are gone (values of those are what they were last; sidra_smi_gone()).
 * Indices do not move while a session is open; of more than 256 embedded chips that are gone, the oldest makes room for a new one. Cards are
 * read by threads that have half a second together: one that hangs keeps its former values, and its status says so. Fails for want of memory or
 * threads only, and then chips may have their former values: what is wrong with one chip is in its values.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_refresh(sidra_smi *session);
/*
 * Chips in the order of their indices: cards by node, then cards without a driver by BDF, then embedded chips by process; those found later
 * come behind these. Chips of the process that asks are not among them: looking at their files would give up the locks on them.
 */
SIDRA_SMI_API uint32_t sidra_smi_count(const sidra_smi *session);
/* Files of embedded chips that were not looked at, since there were more than 1024 in their folder; it may be more, where that has more than 65536. */
SIDRA_SMI_API uint64_t sidra_smi_left_out(const sidra_smi *session);
SIDRA_SMI_API sidra_smi_chip *sidra_smi_chip_at(sidra_smi *session, uint32_t index);

typedef enum sidra_smi_kind {
    SIDRA_SMI_CARD = 0,    /* a PCIe function */
    SIDRA_SMI_MODEL = 1    /* embedded in a running process; it can be looked at and no more */
} sidra_smi_kind;
SIDRA_SMI_API sidra_smi_kind sidra_smi_kind_of(const sidra_smi_chip *chip);
SIDRA_SMI_API bool sidra_smi_gone(const sidra_smi_chip *chip);

/*
 * Chips by selectors, with commas between them: an index (0), a BDF (0000:01:00.0; the domain may be left out), a node (/dev/sidra0, sidra0),
 * a UUID or its beginning of at least 8 digits, or of an embedded chip PID or PID-N. NULL or "": all. Each at most once, in the order of their indices; at most `room`
 * go to `chips`, how many there are to `count`. NO_DEVICE: a selector that matches nothing; USAGE: one that matches two. UUIDs and processes are
 * known from the first refresh on.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_select(sidra_smi *session, const char *selectors, sidra_smi_chip **chips, uint32_t room,
                                                uint32_t *count);

/* ---- Values ------------------------------------------------------------------------------------------------------- */

typedef enum sidra_smi_type {
    SIDRA_SMI_NONE = 0,
    SIDRA_SMI_UINT = 1,
    SIDRA_SMI_INT = 2,
    SIDRA_SMI_REAL = 3,
    SIDRA_SMI_TEXT = 4,
    SIDRA_SMI_BOOL = 5
} sidra_smi_type;

typedef struct sidra_smi_value {
    sidra_smi_type type; /* SIDRA_SMI_NONE: absent */
    int error;           /* why it is: an errno; ENODATA: nobody measures it */
    union {
        uint64_t u;
        int64_t i;
        double real;
        const char *text; /* until the next refresh */
        bool yes;
    };
} sidra_smi_value;

typedef enum sidra_smi_role {
    SIDRA_SMI_STATIC = 0,  /* does not change while the chip is there */
    SIDRA_SMI_GAUGE = 1,   /* as it is now */
    SIDRA_SMI_COUNTER = 2, /* never decreases while the chip is powered */
    SIDRA_SMI_RATE = 3     /* between the two latest refreshes; after the first one absent, but of embedded chips, which tell how it was before */
} sidra_smi_role;

/* A field: one thing that can be asked about every chip. Names and meanings are stable: new ones may come. */
typedef struct sidra_smi_field {
    const char *name;        /* "temperature", "mvm.utilization": lower case, parts with dots between them */
    const char *unit;        /* "C", "W", "MHz", "B", "B/s", "%", "ns", "pJ", ""; SI, no prefixes but these */
    sidra_smi_type type;
    sidra_smi_role role;
    const char *description; /* one line */
    const char *metric;      /* name for Prometheus, in its base units, "_total" with counters; NULL: not exported */
    double metric_scale;     /* of the value there: 1e-9 where a field is in ns and a metric in seconds */
} sidra_smi_field;

SIDRA_SMI_API uint32_t sidra_smi_field_count(void);
SIDRA_SMI_API const sidra_smi_field *sidra_smi_field_at(uint32_t number);
/* Number of the field with this name; -1: none. */
SIDRA_SMI_API int sidra_smi_field_find(const char *name);
/* Its value as of the last refresh. Never fails: what is not there is SIDRA_SMI_NONE. */
SIDRA_SMI_API sidra_smi_value sidra_smi_get(sidra_smi_chip *chip, uint32_t field);
/* The same by its name; of a field that this library does not know it is absent, with ENOENT. */
SIDRA_SMI_API sidra_smi_value sidra_smi_get_by_name(sidra_smi_chip *chip, const char *name);
/* Text of the field with this name; "" if it is absent, or no text. Until the next refresh. */
SIDRA_SMI_API const char *sidra_smi_text_of(sidra_smi_chip *chip, const char *name);
/* What a value holds, as a number (yes: 1). False: it is absent, or a text; then *number is as it was. */
SIDRA_SMI_API bool sidra_smi_number_of(const sidra_smi_value *value, double *number);

/* ---- Processes ------------------------------------------------------------------------------------------------------ */

/* One open file of a card's node, or the process of an embedded chip. Numbers as of the last refresh; UINT64_MAX: absent. */
typedef struct sidra_smi_client {
    int32_t pid;         /* as this process sees it */
    uint32_t uid;
    uint64_t client;     /* drm-client-id; of several descriptors of one file one is listed */
    char name[32];       /* of the process */
    int error;           /* 0; else why the rest is absent (EACCES: of another user) */
    uint64_t contexts, queues;
    uint64_t memory;     /* bytes */
    uint64_t engine_ns[4]; /* by enum sidra_hw_engine */
    double utilization[4]; /* %, a rate like those of fields; negative: absent */
} sidra_smi_client;

/* "mvm", "vec", "copy", "program"; NULL: there is no such engine. */
SIDRA_SMI_API const char *sidra_smi_engine_name(uint32_t engine);
/* Until the next refresh. PERMISSION: who uses it cannot be known at all. */
SIDRA_SMI_API sidra_smi_status sidra_smi_clients(sidra_smi_chip *chip, const sidra_smi_client **clients, uint32_t *count);

/* ---- Crossbars ------------------------------------------------------------------------------------------------------ */

typedef struct sidra_smi_crossbar {
    uint64_t owner;    /* uid of the weights object, 0: erased */
    uint32_t programs; /* wear */
    uint32_t bad_cells;
    uint16_t rows;     /* in use, of 256 */
    uint16_t reserved;
} sidra_smi_crossbar;

/* In the chip's order; read now, at most once a second. Until the next call of this function for the chip. */
SIDRA_SMI_API sidra_smi_status sidra_smi_crossbars(sidra_smi_chip *chip, const sidra_smi_crossbar **crossbars, uint32_t *count);

/* ---- Health --------------------------------------------------------------------------------------------------------- */

/* Something that a person should know. */
typedef struct sidra_smi_finding {
    sidra_smi_status severity; /* OK, WARNING, CRITICAL */
    const char *check;         /* "firmware", "temperature", "link", "cells", ...: stable */
    const char *text;          /* what, with figures */
    const char *advice;        /* what to do; NULL: nothing */
} sidra_smi_finding;

/* All checks of a chip, one finding each, as of the last refresh. The status is the worst of them. Until the next refresh. */
SIDRA_SMI_API sidra_smi_status sidra_smi_health(sidra_smi_chip *chip, const sidra_smi_finding **findings, uint32_t *count);
/* Why this process cannot compute on a chip here, one finding a reason: no module, permissions, versions, firmware, locked memory. OK: it can. */
SIDRA_SMI_API sidra_smi_status sidra_smi_doctor(sidra_smi *session, const sidra_smi_finding **findings, uint32_t *count);

/* ---- What reaches a chip -------------------------------------------------------------------------------------------- */

/* Called as it goes on: a phase begins, or goes on at `percent` (negative: nobody knows). */
typedef void (*sidra_smi_progress)(void *user, const char *phase, double percent, uint64_t elapsed_ns);

/* Resets a card, waits until it is ready, and looks at it. BUSY: somebody has contexts there, and not `force`. */
SIDRA_SMI_API sidra_smi_status sidra_smi_reset(sidra_smi_chip *chip, bool force, uint64_t timeout_ns, sidra_smi_progress progress, void *user);

/* Firmware: what is in the slots; an image as request_firmware() finds it; the other slot at the next reset. */
typedef struct sidra_smi_firmware {
    char version[24];        /* of what runs; "" none */
    uint32_t security_version;
    char running;            /* 'A', 'B', 'R' recovery, '-' none */
    char active;             /* starts next, unless one is tried */
    char trial;              /* is tried at the next reset; '-' none */
    char failed;             /* was tried, and was not well; '-' none */
    uint32_t starts;         /* without a word from the image that it is well */
} sidra_smi_firmware;
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_info(sidra_smi_chip *chip, sidra_smi_firmware *info);
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_update(sidra_smi_chip *chip, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_activate(sidra_smi_chip *chip, uint64_t timeout_ns);
/*
 * The limit of power, in watts; the firmware takes it between the limits of that limit (fields power.limit.min, .max). The highest level of the
 * clock: `level` of 0..count - 1, from slow to fast.
 */
typedef struct sidra_smi_clock {
    uint32_t level;
    uint32_t count;
    uint32_t khz[16];
} sidra_smi_clock;
SIDRA_SMI_API sidra_smi_status sidra_smi_set_power_limit(sidra_smi_chip *chip, double watts, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_clock_info(sidra_smi_chip *chip, sidra_smi_clock *info);
SIDRA_SMI_API sidra_smi_status sidra_smi_set_clock(sidra_smi_chip *chip, uint32_t level, uint64_t timeout_ns);

/* A campaign: the firmware looks through crossbars, one at a time behind everybody's work. One a card. */
typedef enum sidra_smi_campaign_kind {
    SIDRA_SMI_VERIFY = 0,  /* counts cells that are off */
    SIDRA_SMI_REFRESH = 1, /* programs those once more */
    SIDRA_SMI_CALIBRATE = 2 /* trims away what converters are off by */
} sidra_smi_campaign_kind;
typedef struct sidra_smi_campaign {
    char state[12];   /* "running", "done", "failed", "aborted", "none" */
    uint32_t number;
    uint32_t percent;
    uint64_t off;     /* cells that were off; CALIBRATE: crossbars that got another trim */
} sidra_smi_campaign;
/* Crossbars first .. first + count - 1; a cell is off by more than `ppm` millionths of G_max (CALIBRATE: 0). */
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_start(sidra_smi_chip *chip, sidra_smi_campaign_kind kind, uint32_t first, uint32_t count,
                                                        uint32_t ppm, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_abort(sidra_smi_chip *chip, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_info(sidra_smi_chip *chip, uint64_t timeout_ns, sidra_smi_campaign *info);
/* The newest text of the firmware's log, NUL-terminated. Until the next call of this function for the chip. */
SIDRA_SMI_API sidra_smi_status sidra_smi_log(sidra_smi_chip *chip, uint64_t timeout_ns, const char **text);

#ifdef __cplusplus
}
#endif

#endif
