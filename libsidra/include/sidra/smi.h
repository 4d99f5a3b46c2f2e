/* SPDX-License-Identifier: MIT */
/*
 * libsidra-smi: monitoring and management of the SIDRA chips of this machine. The program sidra-smi is built on it.
 *
 * Reading opens no device and sends no request to the firmware. The library reads sysfs, hwmon, /proc and the files that embedded
 * chips of running processes publish (uapi/sidra_publish.h), so a chip that hangs cannot block a reader, and root is not needed.
 * Functions that send a request to a chip have a deadline.
 *
 * Conventions
 * - A session belongs to one thread at a time; several sessions are independent of each other.
 * - What a session hands out (chips, texts, arrays) lives until sidra_smi_close(), or until the call that its description names.
 * - Absent is not zero: a value that is not available has the type SIDRA_SMI_NONE and an errno that says why.
 * - Statuses are the exit codes of sidra-smi. sidra_smi_error() describes the last failure of a session.
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
#define SIDRA_SMI_VERSION_MINOR 1

typedef enum sidra_smi_status {
    SIDRA_SMI_OK = 0,
    SIDRA_SMI_NO_DEVICE = 1,   /* there is no chip, or no such chip */
    SIDRA_SMI_USAGE = 2,       /* wrong arguments: an unknown option or field, an empty or ambiguous selector */
    SIDRA_SMI_NO_DRIVER = 3,   /* no driver is bound to the card, or the driver is too old */
    SIDRA_SMI_PERMISSION = 4,  /* EACCES, EPERM */
    SIDRA_SMI_LOST = 5,        /* the chip is gone */
    SIDRA_SMI_BUSY = 6,        /* the chip is in use, or another request is still running */
    SIDRA_SMI_TIMEOUT = 7,     /* the deadline passed */
    SIDRA_SMI_WARNING = 8,     /* health */
    SIDRA_SMI_CRITICAL = 9,    /* health */
    SIDRA_SMI_REFUSED = 10,    /* the firmware, or a firmware image, was refused */
    SIDRA_SMI_INTERNAL = 64    /* out of memory, output that cannot be written, an internal error */
} sidra_smi_status;

/* ---- Session and chips ------------------------------------------------------------------------------------------- */

typedef struct sidra_smi sidra_smi;
typedef struct sidra_smi_chip sidra_smi_chip;

typedef struct sidra_smi_options {
    size_t struct_size;
    const char *root;    /* prefix of /sys, /proc, /dev, /run and /tmp: for tests and containers; NULL: none */
    const char *runtime; /* the one folder where embedded chips are looked for; NULL: those of all users that can be read */
    const char *policy;  /* file of the health policy; NULL: /etc/sidra/health.conf */
    const char *state;   /* the one folder of acknowledgements; NULL: /var/lib/sidra, and that of the user who is not root */
} sidra_smi_options;

/* Finds the chips without reading them. options may be NULL. It is not a failure if there is no chip. */
SIDRA_SMI_API sidra_smi_status sidra_smi_open(const sidra_smi_options *options, sidra_smi **session);
SIDRA_SMI_API void sidra_smi_close(sidra_smi *session);
/* Describes the last failure in this session; never NULL. Valid until the next call in the session. */
SIDRA_SMI_API const char *sidra_smi_error(const sidra_smi *session);

/*
 * Reads all chips, finds new ones, and marks those that are gone (sidra_smi_gone()), which keep their last values. Indices do not change
 * while a session is open; when more than 256 embedded chips are gone, a new chip takes the place of the oldest of them. Cards are read by
 * threads, which have half a second in all (5 seconds if a card is read for the first time). A card that has not answered by then, and an embedded chip whose process has published nothing
 * for 5 seconds, is stale: its field "stale" is true, its status is "no-answer" or "stale", and all values that describe its present state
 * are absent with ESTALE. Fails only for lack of memory or threads, and chips may have their former values then.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_refresh(sidra_smi *session);
/*
 * Chips in the order of their indices: cards by node, then cards without a driver by BDF, then embedded chips by process; those found later
 * follow. Chips of the calling process are not listed: opening and closing their files would release the locks on them.
 */
SIDRA_SMI_API uint32_t sidra_smi_count(const sidra_smi *session);
/* Number of files of embedded chips that were not read because their folder has more than 1024 of them; a lower bound if it has more than 65536. */
SIDRA_SMI_API uint64_t sidra_smi_left_out(const sidra_smi *session);
SIDRA_SMI_API sidra_smi_chip *sidra_smi_chip_at(sidra_smi *session, uint32_t index);

typedef enum sidra_smi_kind {
    SIDRA_SMI_CARD = 0,    /* a PCIe function */
    SIDRA_SMI_MODEL = 1    /* embedded in a running process; it can be monitored but not managed */
} sidra_smi_kind;
SIDRA_SMI_API sidra_smi_kind sidra_smi_kind_of(const sidra_smi_chip *chip);
SIDRA_SMI_API bool sidra_smi_gone(const sidra_smi_chip *chip);

/*
 * Selects chips by selectors, with commas between them: an index (0), a BDF (0000:01:00.0; the domain may be left out), a node (/dev/sidra0, sidra0),
 * a UUID or at least 8 of its first digits, or PID or PID-N for an embedded chip. NULL selects all chips; an empty text is an error (USAGE).
 * Each chip is returned once, in the order of the indices: at most `room` chips in `chips`, and their whole number in `count`. NO_DEVICE: a
 * selector matches nothing; USAGE: a selector is empty or matches two chips. UUIDs and processes are known from the first refresh on.
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
    int error;           /* why it is absent: an errno; ENODATA: not measured; ESTALE: too old */
    union {
        uint64_t u;
        int64_t i;
        double real;
        const char *text; /* until the next refresh */
        bool yes;
    };
} sidra_smi_value;

typedef enum sidra_smi_role {
    SIDRA_SMI_STATIC = 0,  /* does not change while the chip is present */
    SIDRA_SMI_GAUGE = 1,   /* the present value */
    SIDRA_SMI_COUNTER = 2, /* never decreases while the chip is powered */
    SIDRA_SMI_RATE = 3     /* between the two latest refreshes; absent after the first refresh, except for embedded chips, which publish their previous sample too */
} sidra_smi_role;

/* A field: one property of every chip. Names and meanings are stable; fields may be added. */
typedef struct sidra_smi_field {
    const char *name;        /* "temperature", "mvm.utilization": lower case, parts with dots between them */
    const char *unit;        /* "C", "W", "MHz", "B", "B/s", "%", "ns", "pJ", ""; SI, no prefixes but these */
    sidra_smi_type type;
    sidra_smi_role role;
    const char *description; /* one sentence */
    const char *metric;      /* name for Prometheus, in its base units, "_total" with counters; NULL: not exported */
    double metric_scale;     /* factor from the field to the metric: 1e-9 for a field in ns and a metric in seconds */
    bool debug;              /* of interest only to those who debug the driver or the chip */
} sidra_smi_field;

SIDRA_SMI_API uint32_t sidra_smi_field_count(void);
SIDRA_SMI_API const sidra_smi_field *sidra_smi_field_at(uint32_t number);
/* Number of the field with this name; -1: there is none. */
SIDRA_SMI_API int sidra_smi_field_find(const char *name);
/* Value of a field as of the last refresh. Never fails: what is not available is SIDRA_SMI_NONE. */
SIDRA_SMI_API sidra_smi_value sidra_smi_get(sidra_smi_chip *chip, uint32_t field);
/* Value of the field with this name; absent with ENOENT if the library does not know the field. */
SIDRA_SMI_API sidra_smi_value sidra_smi_get_by_name(sidra_smi_chip *chip, const char *name);
/* Text of the field with this name; "" if it is absent or not a text. Valid until the next refresh. */
SIDRA_SMI_API const char *sidra_smi_text_of(sidra_smi_chip *chip, const char *name);
/* Converts a value to a number (true: 1). Returns false and leaves *number as it is if the value is absent or a text. */
SIDRA_SMI_API bool sidra_smi_number_of(const sidra_smi_value *value, double *number);

/* ---- Processes ------------------------------------------------------------------------------------------------------ */

/* One open file of a card's node, or the process of an embedded chip, as of the last refresh. UINT64_MAX: absent. */
typedef struct sidra_smi_client {
    int32_t pid;         /* in the PID namespace of the caller */
    uint32_t uid;
    uint64_t client;     /* drm-client-id; several descriptors of one file are listed once */
    char name[32];       /* of the process */
    int error;           /* 0, or why the rest is absent (EACCES: the process belongs to another user) */
    uint64_t contexts, queues;
    uint64_t memory;     /* bytes */
    uint64_t engine_ns[4]; /* by enum sidra_hw_engine */
    double utilization[4]; /* %, a rate like those of fields, at most 100 for each queue; negative: absent */
} sidra_smi_client;

/* "mvm", "vec", "copy", "program"; NULL: there is no such engine. */
SIDRA_SMI_API const char *sidra_smi_engine_name(uint32_t engine);
/* Valid until the next refresh. PERMISSION: the processes that use the chip cannot be listed. */
SIDRA_SMI_API sidra_smi_status sidra_smi_clients(sidra_smi_chip *chip, const sidra_smi_client **clients, uint32_t *count);

/* ---- Crossbars ------------------------------------------------------------------------------------------------------ */

typedef struct sidra_smi_crossbar {
    uint64_t owner;    /* uid of the weights object, 0: erased */
    uint32_t programs; /* wear */
    uint32_t bad_cells;
    uint16_t rows;     /* in use, of 256 */
    uint16_t reserved;
} sidra_smi_crossbar;

/* In the order of the chip; read at most once a second. Valid until the next call of this function for the chip. */
SIDRA_SMI_API sidra_smi_status sidra_smi_crossbars(sidra_smi_chip *chip, const sidra_smi_crossbar **crossbars, uint32_t *count);

/* ---- Health --------------------------------------------------------------------------------------------------------- */

/* The result of one check. */
typedef struct sidra_smi_finding {
    sidra_smi_status severity; /* OK, WARNING, CRITICAL */
    const char *check;         /* "firmware", "temperature", "link", "cells", ...: stable */
    const char *text;          /* what was found, with figures */
    const char *advice;        /* what to do; NULL: nothing */
} sidra_smi_finding;

typedef struct sidra_smi_health_options {
    size_t struct_size;
    uint64_t accepted_dma_errors; /* DMA errors that are known and accepted: only more of them are a warning */
} sidra_smi_health_options;

/*
 * All checks of a chip, one finding each, as of the last refresh. The status is the worst of them. options may be NULL. The findings are
 * valid until the next call of this function for the chip. The policy (sidra-health.conf(5)) has the thresholds; a problem that has not lasted
 * for its hold time, or is acknowledged, is OK, and the text says so. The first call reads the policy: if that fails, it fails like
 * sidra_smi_policy_load().
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_health(sidra_smi_chip *chip, const sidra_smi_health_options *options,
                                                const sidra_smi_finding **findings, uint32_t *count);
/*
 * Reads the health policy again if its file has changed. Without a file, all checks have their own thresholds. USAGE: the file is no policy; the
 * error has the line, and the session keeps the policy that it had.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_policy_load(sidra_smi *session);
/*
 * A session remembers what its earlier calls of sidra_smi_health() found, as far as hold times and windows need it. A program that runs once and
 * ends loads the memory of the run before it, and saves its own; nothing is written if the policy has neither hold times nor windows.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_history_load(sidra_smi *session);
SIDRA_SMI_API sidra_smi_status sidra_smi_history_save(sidra_smi *session);

typedef struct sidra_smi_acknowledgement {
    uint64_t time_s;  /* when it was made, in seconds since the epoch */
    uint64_t until_s; /* 0: until the problem changes */
    const char *by, *note;
} sidra_smi_acknowledgement;

/*
 * Acknowledges the problem that a check reports now, for all sessions that read the same folder. It ends at until_s (0: never by time), when the
 * problem gets worse or disappears, or by sidra_smi_withdraw(). USAGE: the check reports no problem. by and note may be NULL.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_acknowledge(sidra_smi_chip *chip, const char *check, uint64_t until_s, const char *by,
                                                     const char *note);
SIDRA_SMI_API sidra_smi_status sidra_smi_withdraw(sidra_smi_chip *chip, const char *check);
/* Whether the last sidra_smi_health() of the chip found an acknowledged problem of this check. known may be NULL; valid until the next call. */
SIDRA_SMI_API bool sidra_smi_acknowledged(sidra_smi_chip *chip, const char *check, sidra_smi_acknowledgement *known);

/* ---- Events --------------------------------------------------------------------------------------------------------- */

/* Something that happened to a chip. */
typedef struct sidra_smi_event {
    uint64_t time_ns;          /* when it was noticed, in ns since the epoch */
    sidra_smi_chip *chip;
    /*
     * "present", "gone", "status", "reset", "context-lost", "firmware-panic", "firmware-watchdog", "throttle", "fault", "dma-error", "link",
     * "health"; types may be added
     */
    const char *type;
    sidra_smi_status severity; /* OK, WARNING, CRITICAL */
    const char *text;
    const char *check;         /* "health": the check; else NULL */
    uint64_t count;            /* "throttle", "fault", "dma-error": how many since the last call; else 0 */
    bool initial;              /* it describes the state at the first call */
} sidra_smi_event;

/*
 * Waits until the kernel reports something, or for timeout_ns; then refreshes the session, and returns what has happened since the last call.
 * The first call does not wait: it returns all chips that are present, and the problems that they have. A timeout of a second finds all events
 * within a second; the kernel reports resets, lost contexts and failures of the firmware at once. Valid until the next call of this function.
 */
SIDRA_SMI_API sidra_smi_status sidra_smi_events(sidra_smi *session, uint64_t timeout_ns, const sidra_smi_event **events, uint32_t *count);

/* Finds out why this process cannot compute on a card: no module, permissions, versions, firmware, locked memory. OK: it can. */
SIDRA_SMI_API sidra_smi_status sidra_smi_doctor(sidra_smi *session, const sidra_smi_finding **findings, uint32_t *count);

/* ---- Requests to a chip -------------------------------------------------------------------------------------------- */

/* Reports progress: a phase begins, or has reached `percent` (negative: unknown). */
typedef void (*sidra_smi_progress)(void *user, const char *phase, double percent, uint64_t elapsed_ns);

/* Resets a card, waits until it is ready, and checks it. BUSY: processes have contexts on the card, and `force` is false. */
SIDRA_SMI_API sidra_smi_status sidra_smi_reset(sidra_smi_chip *chip, bool force, uint64_t timeout_ns, sidra_smi_progress progress, void *user);

/* Firmware slots. Update stores the image that request_firmware() finds; activate tries the other slot at the next reset. */
typedef struct sidra_smi_firmware {
    char version[24];        /* of the running firmware; "": none runs */
    uint32_t security_version;
    char running;            /* 'A', 'B', 'R' (recovery) or '-' (none) */
    char active;             /* slot that starts next, unless another one is on trial */
    char trial;              /* slot that is tried at the next reset; '-': none */
    char failed;             /* slot whose trial failed; '-': none */
    uint32_t starts;         /* starts of the image without a confirmation that it works */
} sidra_smi_firmware;
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_info(sidra_smi_chip *chip, sidra_smi_firmware *info);
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_update(sidra_smi_chip *chip, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_firmware_activate(sidra_smi_chip *chip, uint64_t timeout_ns);
/*
 * Power limit in watts, between the fields power.limit.min and power.limit.max. Clock level: the highest level that the firmware may choose,
 * 0..count - 1 from slow to fast.
 */
typedef struct sidra_smi_clock {
    uint32_t level;
    uint32_t count;
    uint32_t khz[16];
} sidra_smi_clock;
SIDRA_SMI_API sidra_smi_status sidra_smi_set_power_limit(sidra_smi_chip *chip, double watts, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_clock_info(sidra_smi_chip *chip, sidra_smi_clock *info);
SIDRA_SMI_API sidra_smi_status sidra_smi_set_clock(sidra_smi_chip *chip, uint32_t level, uint64_t timeout_ns);

/* A campaign: the firmware goes through crossbars in the background, one at a time. A card runs one campaign at a time. */
typedef enum sidra_smi_campaign_kind {
    SIDRA_SMI_VERIFY = 0,  /* counts cells that are out of tolerance */
    SIDRA_SMI_REFRESH = 1, /* programs those cells again */
    SIDRA_SMI_CALIBRATE = 2 /* corrects the offsets of the converters */
} sidra_smi_campaign_kind;
typedef struct sidra_smi_campaign {
    char state[12];   /* "running", "done", "failed", "aborted", "none" */
    uint32_t number;
    uint32_t percent;
    uint64_t off;     /* cells out of tolerance; CALIBRATE: crossbars whose trim was changed */
} sidra_smi_campaign;
/* Crossbars first .. first + count - 1; tolerance in millionths of G_max (CALIBRATE: 0). */
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_start(sidra_smi_chip *chip, sidra_smi_campaign_kind kind, uint32_t first, uint32_t count,
                                                        uint32_t ppm, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_abort(sidra_smi_chip *chip, uint64_t timeout_ns);
SIDRA_SMI_API sidra_smi_status sidra_smi_campaign_info(sidra_smi_chip *chip, uint64_t timeout_ns, sidra_smi_campaign *info);
/* The newest text of the firmware log, NUL-terminated. Valid until the next call of this function for the chip. */
SIDRA_SMI_API sidra_smi_status sidra_smi_log(sidra_smi_chip *chip, uint64_t timeout_ns, const char **text);

#ifdef __cplusplus
}
#endif

#endif
