/* SPDX-License-Identifier: MIT */
/*
 * libsidra: the C interface to SIDRA memristor-crossbar accelerators.
 *
 *   device --- context --- buffer      memory that the host and the device share
 *                      |-- weights     a matrix on crossbars
 *                      |-- stream      operations that run in order; its timeline counts the operations that are done
 *                      |-- event       a point on the timeline of a stream
 *                      |-- program     a vector program: what the compute engine does with each row of an array
 *                      `-- graph       recorded operations, replayed as one packet
 *
 * Conventions
 * - Status: every call returns a sidra_status. Results come through pointers, which a failed call leaves untouched unless its comment says
 *   otherwise. A failed call changes nothing. sidra_last_error() has a sentence about the last failure in this thread: what failed, on which
 *   object, why, and what to do.
 * - Structs begin with struct_size. Initialise them with SIDRA_INIT(type), so that all other fields are zero. A struct_size that is too small,
 *   or a byte behind the known struct that is not zero, is SIDRA_ERROR_INVALID_ARGUMENT.
 * - Handles: a destroyed handle, one of another kind, and any other value answer SIDRA_ERROR_INVALID_HANDLE. If several threads destroy one
 *   handle, one of them succeeds and the others get SIDRA_ERROR_INVALID_HANDLE. A parent (device, context) cannot be destroyed while it has
 *   objects: SIDRA_ERROR_BUSY.
 * - Threads: any thread may call any function. A stream serialises the calls on it; different streams share no lock. A program must not
 *   destroy an object while another thread is in a call that uses it.
 * - Blocking: an `..._async` call queues an operation and returns. It blocks only while the ring of its stream is full; see
 *   sidra_stream_set_deadline(). Memory that an operation names must stay valid until the operation is done. Destroying a buffer, weights,
 *   a stream or a context waits until the device no longer uses it. Operations that are still queued for it then fault, so the device never
 *   touches freed memory.
 * - Units: offsets and sizes are in bytes, shapes in elements. All matrices are row-major.
 * - Deadlines are absolute times of CLOCK_MONOTONIC in nanoseconds: sidra_deadline_after_ns(), SIDRA_NEVER, or 0 to poll.
 * - fork(): in the child, the parent's handles answer SIDRA_ERROR_FORKED. Destroying them there ends the handles only. The child may open the
 *   device itself.
 */
#ifndef SIDRA_SIDRA_H
#define SIDRA_SIDRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define SIDRA_INIT(type) [] { type init_{}; init_.struct_size = sizeof(type); return init_; }()
#else
#define SIDRA_INIT(type) (type){ .struct_size = sizeof(type) }
#endif

#if defined(SIDRA_BUILD) && defined(__GNUC__)
#define SIDRA_API __attribute__((visibility("default")))
#else
#define SIDRA_API
#endif

#define SIDRA_VERSION_MAJOR 2
#define SIDRA_VERSION_MINOR 0
#define SIDRA_VERSION_PATCH 0

#define SIDRA_NEVER UINT64_MAX

typedef enum sidra_status {
	SIDRA_OK = 0,
	SIDRA_ERROR_INVALID_ARGUMENT = 1,	/* a value, size, range or combination that can never work */
	SIDRA_ERROR_INVALID_HANDLE = 2,		/* NULL, destroyed, being destroyed by another thread, or of another kind */
	SIDRA_ERROR_WRONG_CONTEXT = 3,		/* objects of different contexts in one call */
	SIDRA_ERROR_OUT_OF_MEMORY = 4,		/* host memory or device address space */
	SIDRA_ERROR_OUT_OF_DEVICE_MEMORY = 5,	/* L3 */
	SIDRA_ERROR_OUT_OF_CROSSBARS = 6,
	SIDRA_ERROR_LIMIT = 7,			/* contexts, queues, table entries; the process's threads and file descriptors */
	SIDRA_ERROR_TIMEOUT = 8,		/* the deadline passed; queued work continues */
	SIDRA_ERROR_NOT_READY = 9,		/* a query: not done yet */
	SIDRA_ERROR_NO_DEVICE = 10,
	SIDRA_ERROR_PERMISSION = 11,		/* operating system or object rights */
	SIDRA_ERROR_MEMLOCK = 12,		/* RLIMIT_MEMLOCK is too low for the memory to register */
	SIDRA_ERROR_NOT_FOUND = 13,		/* no such name */
	SIDRA_ERROR_EXISTS = 14,		/* name taken */
	SIDRA_ERROR_BUSY = 15,			/* in use */
	SIDRA_ERROR_UNPROGRAMMED = 16,		/* weights not (completely) programmed */
	SIDRA_ERROR_NOT_REPRESENTABLE = 17,	/* values that the encoding cannot hold */
	SIDRA_ERROR_FAULT = 18,			/* the stream's queue stopped: sidra_stream_fault(), then sidra_stream_reset() */
	SIDRA_ERROR_CONTEXT_LOST = 19,		/* sticky: sidra_context_recover() */
	SIDRA_ERROR_DEVICE_LOST = 20,		/* the device is gone */
	SIDRA_ERROR_FORKED = 21,		/* handle of the parent process */
	SIDRA_ERROR_NOT_RECORDABLE = 22,	/* not allowed while recording a graph, or only allowed then */
	SIDRA_ERROR_NOT_SUPPORTED = 23,		/* not on this device or transport */
	SIDRA_ERROR_VERSION = 24,		/* driver or firmware version does not fit; the text has both */
	SIDRA_ERROR_INTERNAL = 25,		/* a fault of ours: please report */
	SIDRA_STATUS_COUNT
} sidra_status;

typedef struct sidra_device sidra_device;
typedef struct sidra_context sidra_context;
typedef struct sidra_buffer sidra_buffer;
typedef struct sidra_stream sidra_stream;
typedef struct sidra_event sidra_event;
typedef struct sidra_weights sidra_weights;
typedef struct sidra_graph sidra_graph;
typedef struct sidra_program sidra_program;

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* Name of a status ("SIDRA_ERROR_TIMEOUT"); never NULL. */
SIDRA_API const char *sidra_status_string(sidra_status status);
/* A sentence about the last failed call in this thread; "" if no call has failed. Valid until the next call that fails in this thread. */
SIDRA_API const char *sidra_last_error(void);
/* Library version, major << 16 | minor << 8 | patch. */
SIDRA_API uint32_t sidra_version(void);
/* Deadline `ns` nanoseconds from now (saturates to SIDRA_NEVER). */
SIDRA_API uint64_t sidra_deadline_after_ns(uint64_t ns);

/* ---- Device ----------------------------------------------------------------------------------------------------- */

/*
 * The number of devices. The environment variable SIDRA_DEVICE chooses them: "embedded" is a chip model inside this process,
 * "embedded:0,embedded:1" or "embedded:0-1" are several ones, each with cells, contexts and a clock of its own, and a path such as
 * /dev/sidra0 is that node. Chips have numbers 0..63; all handles of this process with one number share a chip. Without the variable the
 * devices are the nodes /dev/sidra*. If there are none, there is one embedded chip, and the first use prints a line to stderr. SIDRA_QUIET=1
 * suppresses the lines that libsidra prints.
 */
SIDRA_API sidra_status sidra_device_count(uint32_t *count);

typedef enum sidra_profile { SIDRA_PROFILE_Y1 = 0, SIDRA_PROFILE_SMALL = 1 } sidra_profile;
typedef enum sidra_engine {
	SIDRA_ENGINE_AUTO = 0, SIDRA_ENGINE_SCALAR = 1, SIDRA_ENGINE_AVX2 = 2, SIDRA_ENGINE_AVX512 = 3, SIDRA_ENGINE_NEON = 4,
	SIDRA_ENGINE_AMX = 5, SIDRA_ENGINE_AVX_VNNI = 6
} sidra_engine;

/* FAST: exact integer arithmetic. ACCURATE: with the errors of cells, wires and ADCs; see docs/physics.md. */
typedef enum sidra_level { SIDRA_LEVEL_FAST = 0, SIDRA_LEVEL_ACCURATE = 1 } sidra_level;

#define SIDRA_STUCK_NONE 0xffffffffu

/*
 * Options of an embedded chip; a real device ignores them. A field that is zero takes its value from the environment, unless the chip is a
 * private one: SIDRA_PROFILE, SIDRA_ENGINE, SIDRA_WORKERS, SIDRA_STATE, SIDRA_LEVEL, SIDRA_GDB, SIDRA_TRACE. The string "" means none, also
 * where the environment has a value. Of several chips, chip N > 0 adds ".N" to the paths of the environment, and N to a port.
 *
 * If the chip's firmware panics, libsidra writes a dump for sidra-dump into a file in SIDRA_DUMP_DIR (otherwise $XDG_STATE_HOME/sidra,
 * otherwise ~/.local/state/sidra) and prints its name to stderr. Other processes of the same user can monitor the chip
 * (uapi/sidra_publish.h) through a file in $XDG_RUNTIME_DIR/sidra, /run/user/UID/sidra or /tmp/sidra-UID; SIDRA_PUBLISH=0 prevents that.
 *
 * The chip is watched as the kernel driver watches a card: a queue that makes no progress for 10 s of device time is stopped with a fault.
 */
typedef struct sidra_device_options {
	size_t struct_size;
	sidra_profile profile;
	sidra_engine engine;
	uint32_t workers;	/* threads that share one operation, including the waiting one; 0: one for each CPU */
	/*
	 * A new embedded chip, whose index is 0, whatever SIDRA_DEVICE says and also where there is a card. It is what these options say: of the
	 * environment it has only SIDRA_ENGINE and SIDRA_WORKERS, which change no result. Otherwise all opens of one index in this process share
	 * a chip, as they would share a card.
	 */
	bool private_chip;
	uint64_t seed;		/* of all random numbers of the model, except the UUID: each chip has its own, and a state file keeps it */
	/*
	 * The file that keeps the chip's cells and named weights; NULL: they end with the chip. A file that is empty or does not exist becomes
	 * a new chip. Only one chip of any process can use a file, until its device is closed; for others it is BUSY. A name is on disk when
	 * sidra_weights_publish() returns. What is programmed later survives the end of the process, and a power loss of the machine only once
	 * the device is closed. At level ACCURATE the file also keeps conductances, their age and the seed, so results are the same again.
	 * A file belongs to one level.
	 */
	const char *state_file;
	sidra_level level;
	uint32_t stuck_ppm;	/* level ACCURATE: stuck cells in a million, up to 1,000,000; 0: 1,000; SIDRA_STUCK_NONE: none */
	/*
	 * Where GDB connects to the chip's management core: a port of 127.0.0.1 ("1234"), or the path of a Unix socket (with a / in it), which
	 * only this user can open. NULL: no debugger. A client can do everything that the firmware can, including access to this process's memory.
	 * BUSY: the address is in use.
	 */
	const char *gdb;
	/*
	 * The file into which the chip writes a trace: which unit runs which packet, when, and with how much energy (docs/trace.md). NULL: no
	 * trace. The file is overwritten. Only one chip can write it: BUSY.
	 */
	const char *trace_file;
} sidra_device_options;

/*
 * Opens device `index` (< sidra_device_count()), or a private chip. options may be NULL: those that a shared chip is open with, otherwise those of the environment.
 * A shared chip that is open with other options is BUSY.
 */
SIDRA_API sidra_status sidra_device_open(uint32_t index, const sidra_device_options *options, sidra_device **device);
/* Closes the device. BUSY while it has contexts. NULL is allowed. */
SIDRA_API sidra_status sidra_device_close(sidra_device *device);

typedef struct sidra_device_info {
	size_t struct_size;
	char name[32];			/* of its node, such as "sidra0", or "sidra" and the number of the embedded chip */
	char transport[16];		/* "embedded", "kernel" */
	char engine[16];		/* engine of the model; "" for silicon */
	uint8_t uuid[16];
	bool model;			/* a model, not silicon */
	uint32_t driver_version, hw_version, firmware_version;	/* major << 16 | minor; firmware 0: none, or it still boots */
	uint32_t clusters, cus_per_cluster, crossbars_per_cu, rows, cols;
	uint32_t crossbars_total, crossbars_free;
	uint64_t l3_size, l3_free;
	uint32_t contexts_max, queues_max;
	uint32_t generation;		/* number of device resets */
} sidra_device_info;
SIDRA_API sidra_status sidra_device_get_info(sidra_device *device, sidra_device_info *info);

/* The device clock and CLOCK_MONOTONIC at one moment, in nanoseconds. */
SIDRA_API sidra_status sidra_device_clock(sidra_device *device, uint64_t *device_ns, uint64_t *monotonic_ns);

/*
 * Counters of the device since power-on: copies struct sidra_telemetry of uapi/sidra_hw.h, at most `size` bytes of it. The counters of a card
 * also show the work of other users; without CAP_PERFMON they are up to 200 ms old. Their clock_ns is the time that they are of.
 */
SIDRA_API sidra_status sidra_device_telemetry(sidra_device *device, void *telemetry, size_t size);

/* Resets the device: every context of every user is lost, and can be recovered. On a card only root may do this. */
SIDRA_API sidra_status sidra_device_reset(sidra_device *device);

/* For tests: injects a fault into an embedded chip ("lose-msix", "stall" and others of docs/device.md). */
SIDRA_API sidra_status sidra_device_set_fault_knob(sidra_device *device, const char *name, uint64_t value);

/* ---- Context ---------------------------------------------------------------------------------------------------- */

/* Creates a context: an isolated address space with its own weights and streams. */
SIDRA_API sidra_status sidra_context_create(sidra_device *device, sidra_context **context);
/* Destroys the context. BUSY while it has objects. NULL is allowed. */
SIDRA_API sidra_status sidra_context_destroy(sidra_context *context);
/* Waits until everything that all streams have queued so far is done. TIMEOUT at the deadline. */
SIDRA_API sidra_status sidra_context_synchronize(sidra_context *context, uint64_t deadline);
/* SIDRA_OK, CONTEXT_LOST or DEVICE_LOST. */
SIDRA_API sidra_status sidra_context_status(sidra_context *context);
/*
 * Makes a lost context usable again. Buffers, weights, programs and graphs stay. Every stream is empty again, and its handle stays valid.
 * Waits for what the library still does for dropped operations. OK also if nothing was lost.
 */
SIDRA_API sidra_status sidra_context_recover(sidra_context *context);

/* ---- Buffers ---------------------------------------------------------------------------------------------------- */

typedef enum sidra_buffer_flags {
	SIDRA_BUFFER_HOST = 0,		/* system memory, coherent for the host and the device */
	SIDRA_BUFFER_DEVICE = 1		/* the chip's L3 SRAM (size and free bytes: sidra_device_info), which the host can map, too */
} sidra_buffer_flags;

/* Creates a buffer of `size` > 0 bytes, zeroed and page-aligned. OUT_OF_MEMORY, or OUT_OF_DEVICE_MEMORY for L3. */
SIDRA_API sidra_status sidra_buffer_create(sidra_context *context, size_t size, uint32_t flags, sidra_buffer **buffer);
/*
 * Lets the device use the caller's memory without a copy; any alignment. The memory stays the caller's, and must stay mapped until
 * sidra_buffer_destroy(). A kernel driver pins it and charges it to RLIMIT_MEMLOCK: MEMLOCK. readonly: the device may not write it.
 */
SIDRA_API sidra_status sidra_buffer_register(sidra_context *context, void *memory, size_t size, bool readonly, sidra_buffer **buffer);
/*
 * Waits until the device no longer uses the buffer, then frees or unregisters its memory. INVALID_ARGUMENT for a buffer of
 * sidra_malloc_async(), which sidra_free_async() frees. NULL is allowed.
 */
SIDRA_API sidra_status sidra_buffer_destroy(sidra_buffer *buffer);
/*
 * The address of the buffer's memory in this process; valid until sidra_buffer_destroy(). An operation sees everything that the host wrote
 * before the ..._async call that queued it.
 */
SIDRA_API sidra_status sidra_buffer_map(sidra_buffer *buffer, void **address);
SIDRA_API sidra_status sidra_buffer_size(const sidra_buffer *buffer, size_t *size);
/*
 * Reads up to `size` bytes of a file, from byte `file_offset` on, into the buffer at `offset`, and waits until they are there. Uses
 * io_uring for many reads at once where the system allows it, otherwise pread(2). Pipes and sockets are refused.
 * got: takes the number of bytes read, which is smaller than `size` where the file ends. NULL: a file that is too short is INVALID_ARGUMENT.
 * O_DIRECT: address, offsets and size must be multiples of the file system's block size, also at the end of the file, and the buffer must be
 * registered memory, because the kernel cannot read into a driver's mapping that way.
 * After a failure the content of that part of the buffer is undefined.
 */
SIDRA_API sidra_status sidra_buffer_read_file(sidra_buffer *buffer, size_t offset, int fd, uint64_t file_offset, size_t size, size_t *got);

/* A place in a buffer. */
typedef struct sidra_ref {
	sidra_buffer *buffer;
	size_t offset;
} sidra_ref;

/*
 * From an address of this process to the place in the context's buffer that has this byte: the beginning of a buffer's memory
 * (sidra_buffer_map(), or what was registered) or any address inside. If several buffers have it, because registered memory overlaps, it is the
 * one made last. NOT_FOUND: no buffer has it; the address behind the last byte does not count. Takes O(log n) time for n buffers, makes no
 * system call, and does not touch the memory.
 */
SIDRA_API sidra_status sidra_buffer_find(sidra_context *context, const void *host, sidra_ref *ref);

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

typedef enum sidra_priority { SIDRA_PRIORITY_NORMAL = 0, SIDRA_PRIORITY_LOW = 1, SIDRA_PRIORITY_HIGH = 2 } sidra_priority;

typedef struct sidra_stream_options {
	size_t struct_size;
	sidra_priority priority;
	uint32_t ring_packets;	/* operations that can be queued at once: a power of two 64..65536; 0: 1024 */
	bool reports;		/* keep a report of each operation: sidra_stream_report() */
} sidra_stream_options;

/* options may be NULL. */
SIDRA_API sidra_status sidra_stream_create(sidra_context *context, const sidra_stream_options *options, sidra_stream **stream);
/* Destroys the stream, and drops the operations that are not done yet. NULL is allowed. */
SIDRA_API sidra_status sidra_stream_destroy(sidra_stream *stream);
/*
 * How long ..._async calls on this stream wait for room while its ring is full (ring_packets operations are queued and not done). At the
 * deadline such a call fails with TIMEOUT and has queued nothing; earlier operations continue. 0: a call never waits. SIDRA_NEVER: it
 * waits as long as it takes, as a new stream does. A thread that waits without a deadline hangs if the stream waits for something that only
 * this thread would signal later. The deadline is absolute, so set it again before the next burst of work; a call that waits already keeps the
 * one that it began with. Nothing else makes these calls wait, except for a run of a model that another thread is queueing (model.h).
 */
SIDRA_API sidra_status sidra_stream_set_deadline(sidra_stream *stream, uint64_t deadline);
/*
 * Waits until everything queued so far is done: first it spins briefly (an embedded chip runs on this thread meanwhile), then it sleeps.
 * TIMEOUT at the deadline. FAULT, CONTEXT_LOST or DEVICE_LOST if the stream stops. Submits an open batch first.
 */
SIDRA_API sidra_status sidra_stream_synchronize(sidra_stream *stream, uint64_t deadline);
/* OK: everything queued so far is done. NOT_READY: not yet. Makes no system call. */
SIDRA_API sidra_status sidra_stream_query(sidra_stream *stream);
/* The timeline values of the operation queued last and of the one completed last. Either may be NULL. Makes no system call. */
SIDRA_API sidra_status sidra_stream_timeline(sidra_stream *stream, uint64_t *submitted, uint64_t *completed);
/* Time and energy that a real chip would have spent on this stream's finished work, by the cost model: not wall time. */
SIDRA_API sidra_status sidra_stream_device_time(sidra_stream *stream, uint64_t *picoseconds, uint64_t *picojoules);
/*
 * A file descriptor that becomes readable once everything queued so far is done or the stream has stopped. Each stream has one and owns it.
 * Each call arms it again for everything queued by then.
 */
SIDRA_API sidra_status sidra_stream_get_fd(sidra_stream *stream, int *fd);
/*
 * Calls fn(status, user) once, on a thread of the library, after everything submitted so far is done (or the stream stopped: its status;
 * dropped by a reset: FAULT, by a recovery: CONTEXT_LOST; destroyed: INVALID_HANDLE, before destroy returns). fn may call anything but the
 * destruction of its context, and it must return: a context has one such thread, so while fn runs its other callbacks wait, and so does a call
 * that destroys a stream with a pending one.
 */
typedef void (*sidra_callback)(sidra_status status, void *user);
SIDRA_API sidra_status sidra_stream_add_callback(sidra_stream *stream, sidra_callback fn, void *user);

/* Why a stream has stopped. */
typedef struct sidra_fault_info {
	size_t struct_size;
	uint32_t cause;		/* enum sidra_fault_cause of uapi/sidra_cmd.h; 0: no fault */
	uint32_t opcode;	/* enum sidra_cmd_opcode */
	uint64_t sequence;	/* number of the operation in the stream, from 0 */
	uint64_t address;	/* device address, if it was about one; PROGRAM: SIDRA_PROGRAM_FAULT() of uapi/sidra_cmd.h */
	uint32_t cookie;
	bool in_graph;
	uint32_t graph_index;	/* operation inside the graph */
	uint64_t clock_ns;	/* device clock */
	char text[160];		/* the same as a sentence, of which it may be the beginning only */

	/*
	 * Where the failure began. With the cause PRODUCER (the operation waited for an event whose work failed, or was dropped) that is
	 * another stream, at the beginning of the chain of those that waited for each other: its id as error texts have it (0: it is not
	 * known any more), the operation, and why; SIDRA_FAULT_RESET: it was dropped. Else this stream and the fields above.
	 */
	uint32_t root_stream;
	uint32_t root_cause;
	uint64_t root_sequence;
} sidra_fault_info;
SIDRA_API sidra_status sidra_stream_fault(sidra_stream *stream, sidra_fault_info *info);
/* Drops the queued operations, waits for what the library still does for them, and clears the fault. They never count as done: see Events. */
SIDRA_API sidra_status sidra_stream_reset(sidra_stream *stream);

/*
 * The cost of one finished operation, on a stream with reports. sequence: its number in the stream, from 0. Only the reports of the last
 * ring_packets operations are kept; an older one is NOT_FOUND.
 */
typedef struct sidra_operation_report {
	size_t struct_size;
	uint64_t device_ps;
	uint64_t energy_pj;
	uint32_t cookie;
	uint32_t opcode;
} sidra_operation_report;
SIDRA_API sidra_status sidra_stream_report(sidra_stream *stream, uint64_t sequence, sidra_operation_report *report);

/* Operations queued between begin and end reach the device with one doorbell. A full ring is submitted early. Batches do not nest. */
SIDRA_API sidra_status sidra_batch_begin(sidra_stream *stream);
SIDRA_API sidra_status sidra_batch_end(sidra_stream *stream);

/* ---- Events ----------------------------------------------------------------------------------------------------- */

/*
 * A point in a stream; free to record (with SIDRA_EVENT_TIMING: one operation), queried without a system call. An event never recorded counts
 * as done.
 *
 * An event whose operations are stopped by a fault, or dropped by a reset, a recovery or the end of the stream, is never done: query,
 * synchronize and wait_event then fail at once with FAULT (after a loss of the context: CONTEXT_LOST), and keep failing until the event is
 * recorded again. A stream that waits for it already faults with the cause PRODUCER, and so does every stream that waits for that one;
 * sidra_stream_fault() names the stream and the operation where it began. Streams that do not depend on it continue. Work that was done stays
 * done, also after the end of its stream.
 */
typedef enum sidra_event_flags {
	SIDRA_EVENT_DEFAULT = 0,
	SIDRA_EVENT_TIMING = 1		/* the device notes when it reaches the event: sidra_event_elapsed() and the calls after it */
} sidra_event_flags;
SIDRA_API sidra_status sidra_event_create(sidra_context *context, uint32_t flags, sidra_event **event);
SIDRA_API sidra_status sidra_event_destroy(sidra_event *event);
/*
 * The event now stands for everything queued in the stream so far (an open batch is submitted). With SIDRA_EVENT_TIMING this queues an
 * operation, as an ..._async call does; otherwise it never blocks.
 */
SIDRA_API sidra_status sidra_event_record(sidra_event *event, sidra_stream *stream);
SIDRA_API sidra_status sidra_event_query(sidra_event *event);
SIDRA_API sidra_status sidra_event_synchronize(sidra_event *event, uint64_t deadline);
/*
 * The time from `start` to `end` in nanoseconds of the device clock, which all streams and contexts of a device share; negative if the device
 * reached `end` first. The events may be of different streams. INVALID_ARGUMENT: one has no SIDRA_EVENT_TIMING or was never recorded, or they
 * are of different devices. NOT_READY: one is not done. FAULT, CONTEXT_LOST: one never will be, as for sidra_event_query(). Never blocks.
 */
SIDRA_API sidra_status sidra_event_elapsed(sidra_event *start, sidra_event *end, int64_t *ns);
/* When the device reached the event, in nanoseconds of its clock; sidra_device_clock() relates that to CLOCK_MONOTONIC. Fails as elapsed. */
SIDRA_API sidra_status sidra_event_time(sidra_event *event, uint64_t *device_ns);
/*
 * Time and energy that a real chip would have spent on the operations between two events of one stream, as sidra_stream_device_time(). Fails as
 * elapsed, and with INVALID_ARGUMENT if the events are of different streams, were recorded in the other order, or if the context was recovered
 * between them. Either result may be NULL.
 */
SIDRA_API sidra_status sidra_event_cost(sidra_event *start, sidra_event *end, uint64_t *picoseconds, uint64_t *picojoules);
/* Everything queued in `stream` from now on waits for the event, on the device (streams of one context: else WRONG_CONTEXT). */
SIDRA_API sidra_status sidra_stream_wait_event(sidra_stream *stream, sidra_event *event);

/* ---- Memory in the order of a stream ---------------------------------------------------------------------------- */

/*
 * Host memory from a pool of the context, without a call of the driver if the pool has it: a buffer for work that is queued in `stream` from
 * now on. The pool may give memory that the same stream frees by work that it has not done yet, so the host must not touch it before
 * sidra_stream_synchronize(), and another stream must wait for an event of this one. The content is undefined. While `stream` records a graph,
 * the pool gives only memory that nobody uses any more.
 *
 * Memory that other streams free is given again once they have done the work before the free; if that was dropped or the stream has stopped, once
 * all streams of the context have done what they have queued. If the system has no memory, the pool returns what is unused to the driver, then
 * waits for work before frees, until the stream's deadline (sidra_stream_set_deadline()).
 * OUT_OF_MEMORY: nothing helped; the text says how much is used. FAULT, CONTEXT_LOST: the stream has stopped.
 */
SIDRA_API sidra_status sidra_malloc_async(sidra_stream *stream, size_t size, sidra_buffer **buffer);
/*
 * Frees a buffer of sidra_malloc_async() once `stream`, which may be another stream of the context, has done what is queued in it now. The
 * handle is invalid at once. If other streams use the buffer, `stream` must wait for events of them first. Never blocks. Also works on a stream
 * that has stopped. NOT_RECORDABLE while `stream` records: a graph needs its memory for as long as it is launched (a launch after the free
 * fails with INVALID_HANDLE). INVALID_HANDLE: freed before. INVALID_ARGUMENT: a buffer of another kind. NULL is allowed.
 */
SIDRA_API sidra_status sidra_free_async(sidra_stream *stream, sidra_buffer *buffer);
/*
 * Returns unused memory of the context's pool to the driver until the pool has at most `keep_bytes` bytes, or nothing is left that is unused.
 * Memory that work before a free still uses stays. Does not wait for streams.
 */
SIDRA_API sidra_status sidra_pool_trim(sidra_context *context, size_t keep_bytes);

/* What the pool of a context has, in bytes, since the creation of the context. */
typedef struct sidra_pool_stats {
	size_t struct_size;
	uint64_t used;			/* in allocations, rounded up to what the pool gives for them */
	uint64_t reserved;		/* all memory that the pool has from the driver; `used` and `pending` are parts of it */
	uint64_t pending;		/* freed, but the stream has not done the work before the free yet */
	uint64_t used_peak, reserved_peak;	/* the largest values since the beginning or sidra_pool_reset_peak() */
	uint64_t allocations, frees;	/* numbers of calls that succeeded */
	uint64_t misses;		/* allocations for which the pool needed memory of the driver */
} sidra_pool_stats;
SIDRA_API sidra_status sidra_pool_get_stats(sidra_context *context, sidra_pool_stats *stats);
/* The peaks begin anew with the present values. */
SIDRA_API sidra_status sidra_pool_reset_peak(sidra_context *context);

/* ---- Plain operations ------------------------------------------------------------------------------------------- */

/*
 * Names the operation to which the next calls on the stream belong, until the next label; NULL or "" ends the name. A trace of the chip
 * (docs/trace.md) shows it. text: UTF-8, copied; what is beyond 56 bytes is cut off. In a graph the label is valid until the graph ends.
 * Without a trace the call does nothing. With one the label has a place on the timeline of the stream, but takes no device time.
 */
SIDRA_API sidra_status sidra_label_async(sidra_stream *stream, const char *text);
SIDRA_API sidra_status sidra_nop_async(sidra_stream *stream);
/* Later operations of the stream start only when all earlier ones are complete and their results are visible to the host. */
SIDRA_API sidra_status sidra_barrier_async(sidra_stream *stream);
SIDRA_API sidra_status sidra_copy_async(sidra_stream *stream, sidra_ref dst, sidra_ref src, size_t size);
/* Copies `rows` rows of `row_bytes` bytes; the strides are the bytes from the start of one row to the start of the next. */
SIDRA_API sidra_status sidra_copy_2d_async(sidra_stream *stream, sidra_ref dst, size_t dst_stride, sidra_ref src, size_t src_stride,
					   size_t row_bytes, uint32_t rows);
/*
 * Copies between two contexts, which may be of different devices; both streams may also be of one context. It begins when everything queued in
 * both streams so far is done, and everything queued in them later waits for it; the host does not. Between two contexts a thread of the library
 * copies, in host memory. (That of an L3 buffer is slow on a card.) If the source's stream fails before the copy, the destination's faults
 * with the cause PRODUCER, and sidra_stream_fault() names the stream and the operation where it began, also if they are of another context.
 * If the destination's fails, the source's continues. A buffer that is destroyed before the copy faults the destination's stream. Cannot be
 * recorded. Blocks, as an ..._async call, for room in either ring; if it fails, nothing is copied, but the first stream may have waited for the
 * second. Copies do not keep a stream, nor its context: if the source's stream is destroyed before it has come to the copy, or its buffer
 * before the copy, the destination's faults; if the destination's is destroyed, the source's continues.
 */
SIDRA_API sidra_status sidra_copy_peer_async(sidra_stream *dst_stream, sidra_ref dst, sidra_stream *src_stream, sidra_ref src, size_t size);
/* Fills with the low `pattern_size` (1, 2, 4 or 8) bytes of `pattern`; dst.offset and size must be multiples of pattern_size. */
SIDRA_API sidra_status sidra_fill_async(sidra_stream *stream, sidra_ref dst, uint64_t pattern, uint32_t pattern_size, size_t size);
/* Writes a struct sidra_timestamp (uapi/sidra_cmd.h, 32 bytes) to dst, which must be 8-byte aligned. */
SIDRA_API sidra_status sidra_timestamp_async(sidra_stream *stream, sidra_ref dst);
/*
 * Semaphores are 64-bit words in buffers, 8-byte aligned. A signal raises the word to `value`; it never lowers it. A wait holds the stream
 * until the word is at least `value`.
 */
SIDRA_API sidra_status sidra_semaphore_signal_async(sidra_stream *stream, sidra_ref word, uint64_t value);
SIDRA_API sidra_status sidra_semaphore_wait_async(sidra_stream *stream, sidra_ref word, uint64_t value);
/* Signals from the host, at once: raises the word, and wakes the streams of the context that wait for it. */
SIDRA_API sidra_status sidra_semaphore_signal(sidra_context *context, sidra_ref word, uint64_t value);

/* ---- Weights ---------------------------------------------------------------------------------------------------- */

/* Types of elements. Vector programs take all of them, other operations the first four or fewer. */
typedef enum sidra_type {
	SIDRA_U8 = 0, SIDRA_S8 = 1, SIDRA_S32 = 2, SIDRA_F32 = 3, SIDRA_S16 = 4, SIDRA_S64 = 5,
	SIDRA_BOOL = 6,		/* one byte: 0 is false, anything else true; the chip writes 0 and 1 */
	SIDRA_F16 = 7,		/* IEEE-754 binary16 */
	SIDRA_BF16 = 8		/* the upper half of an f32 */
} sidra_type;
/* Bytes of an element; 0: there is no such type. */
SIDRA_API size_t sidra_type_size(sidra_type type);

typedef enum sidra_weights_encoding {
	/* Differential if the values and the free crossbars allow it, otherwise offset, with a line on stderr; see encoding_reason. */
	SIDRA_WEIGHTS_AUTO = 0,
	/* Values -127..127, two cells for each weight. Errors of cells cause about two thirds of the error that they cause with offset. Never
	 * falls back: NOT_REPRESENTABLE for a value of -128, OUT_OF_CROSSBARS if it does not fit. */
	SIDRA_WEIGHTS_DIFFERENTIAL = 1,
	SIDRA_WEIGHTS_OFFSET = 2	/* values -128..127, one cell for each weight */
} sidra_weights_encoding;

/* Why weights have their encoding. */
typedef enum sidra_encoding_reason {
	SIDRA_ENCODING_GIVEN = 0,	/* the options named it, or the weights were opened or imported with it */
	SIDRA_ENCODING_PREFERRED = 1,	/* AUTO took the differential encoding */
	SIDRA_ENCODING_VALUE = 2,	/* AUTO took offset, because a value is -128 */
	SIDRA_ENCODING_CROSSBARS = 3	/* AUTO took offset, because differential needs more crossbars than are free */
} sidra_encoding_reason;

typedef struct sidra_weights_options {
	size_t struct_size;
	sidra_weights_encoding encoding;
	bool no_readback;	/* without the right to read the weights back */
	/* The name that a trace shows with the weights (as with sidra_label_async()); NULL: that with which they are published or opened. */
	const char *label;
	/*
	 * The crossbar that each tile takes, tile by tile as sidra_weights_crossbars() returns them; `encoding` must not be AUTO. NULL: the driver
	 * chooses. BUSY: one is in use, is there twice, or does not exist. INVALID_ARGUMENT: their number is not that of the tiles.
	 */
	const uint32_t *crossbars;
	uint32_t crossbar_count;
} sidra_weights_options;

/*
 * Creates a K x N matrix (K inputs, N outputs): reserves crossbars, and keeps a copy of the values until they are programmed with
 * sidra_weights_program_async(). data: K x N elements, row k at data + k * stride (in elements). options may be NULL.
 *   _s8:  the values are taken as they are. scale: N factors s[n] (real weight = s[n] * value), or NULL for 1.
 *   _f32: quantises each column symmetrically: s[n] = max_k |w[k][n]| / 127 (1 if that is 0), value = round(w / s[n]), half to even.
 *         NaN or infinity: INVALID_ARGUMENT.
 */
SIDRA_API sidra_status sidra_weights_create_s8(sidra_context *context, uint32_t k, uint32_t n, const int8_t *data, size_t stride,
					       const float *scale, const sidra_weights_options *options, sidra_weights **weights);
SIDRA_API sidra_status sidra_weights_create_f32(sidra_context *context, uint32_t k, uint32_t n, const float *data, size_t stride,
						const sidra_weights_options *options, sidra_weights **weights);
/* Waits until the device no longer uses the weights. Crossbars of weights without a name become free. NULL is allowed. */
SIDRA_API sidra_status sidra_weights_destroy(sidra_weights *weights);

/* Programs all cells, tile by tile. The copy of the values is freed once a call sees that it is done (progress, query, synchronize). */
SIDRA_API sidra_status sidra_weights_program_async(sidra_stream *stream, sidra_weights *weights);
/*
 * Programs a rectangle of programmed weights from s8 data, which is copied: rows row0 .. row0 + rows - 1, columns col0 .. col0 + cols - 1.
 * Works tile by tile, so an update that is cut short leaves new values in some tiles and old ones in others. On a device with a state file
 * the weights then count as not programmed from the next start on, until the rectangle or all of it is programmed again.
 */
SIDRA_API sidra_status sidra_weights_update_async(sidra_stream *stream, sidra_weights *weights, uint32_t row0, uint32_t rows,
						  uint32_t col0, uint32_t cols, const int8_t *data, size_t stride);
/*
 * Quantises columns col0 .. col0 + cols - 1 of programmed weights anew from f32, as sidra_weights_create_f32() does, and programs all their
 * rows. data: K x cols elements, row k at data + k * stride; quantised and copied during the call. Later MVMs compute with the new factors and
 * the new cells: those of this stream, and those of other streams that wait for an event after it. The factors change when the cells are
 * done, so an update that is cut short leaves the old ones. INVALID_ARGUMENT: a value is not finite. NOT_SUPPORTED: the weights have (or
 * had) a name, were opened or exported: other handles have factors of their own. A layer's program has the factors as an operand, which is
 * the caller's to renew. Cannot be recorded.
 */
SIDRA_API sidra_status sidra_weights_update_f32_async(sidra_stream *stream, sidra_weights *weights, uint32_t col0, uint32_t cols,
						      const float *data, size_t stride);
/*
 * Reads all cells, and programs those again whose conductance has drifted by more than `tolerance`, as a share of G_max (0..1). 0: the chip's
 * default of 0.03. At level FAST no cell drifts. Can be recorded. On a chip of hardware version 1.0 the stream faults.
 */
SIDRA_API sidra_status sidra_weights_refresh_async(sidra_stream *stream, sidra_weights *weights, float tolerance);
/*
 * Progress of the first programming, in rows of tiles; it is complete when done == total, and advances tile by tile. sidra_stream_reset()
 * stops a programming, an update or a refresh: the tile in work is completed, the others stay as they were. After a first programming that
 * was stopped, operations that compute with the weights fault until sidra_weights_program_async() has programmed them.
 */
SIDRA_API sidra_status sidra_weights_progress(sidra_weights *weights, uint32_t *done, uint32_t *total);

typedef struct sidra_weights_info {
	size_t struct_size;
	uint32_t k, n;
	sidra_weights_encoding encoding;	/* never AUTO */
	sidra_encoding_reason encoding_reason;	/* why it is this one */
	uint32_t crossbars;
	uint32_t tile_rows, tile_cols;		/* grid of tiles */
	bool programmed;			/* completely */
	uint64_t cells;				/* in use */
	uint64_t program_device_ps, program_energy_pj;	/* of the first programming, by the cost model */
	char name[64];				/* the present name; "" if there is none */
} sidra_weights_info;
SIDRA_API sidra_status sidra_weights_get_info(sidra_weights *weights, sidra_weights_info *info);

#define SIDRA_TRIES_MAX 64	/* most pulses that a cell gets in one programming */

/*
 * The effort of programming one tile since its crossbar was erased. For a tile that is not programmed, all fields are zero except those that
 * count over the life of the crossbar.
 */
typedef struct sidra_tile_report {
	size_t struct_size;
	uint32_t row, rows;		/* the tile holds rows row .. row + rows - 1 of the matrix */
	uint32_t col, cols;		/* and columns col .. col + cols - 1 */
	uint32_t crossbar_programs;	/* programmings of its crossbar over its life, for any object: wear */
	uint32_t stuck_cells;		/* cells of the crossbar that are known to be stuck */
	uint32_t spare_columns;		/* columns of cells that a spare column replaces */
	uint32_t programmed_rows;	/* equal to `rows` when the tile is complete */
	/* True (level ACCURATE): cells get pulses and are read after each. False: cells take their levels exactly, and all fields below are zero. */
	bool pulsed;
	uint64_t arrived[SIDRA_TRIES_MAX + 1];	/* cells that reached their level, by number of pulses; a cell counts at each programming */
	uint64_t recovered;		/* of these, cells that needed a second attempt */
	uint64_t failed;		/* cells that did not reach their level in either attempt, stuck ones included */
	uint32_t bad_cells;		/* cells in use that were not at their level after their last pulse */
	uint64_t set_pulses, reset_pulses, reads;
	double error_sigma;		/* standard deviation of the arrived cells' conductance from its target after the last pulse, in G_max */
	double drift;			/* loss of conductance since the cells were last programmed, as a share of it */
	uint64_t age_s;			/* time since then by the cells' clock in seconds, with an error of up to half a day */
	uint64_t device_ps, energy_pj;	/* of programming, by the cost model */
	uint64_t clipped;		/* sums of products that exceeded the ADCs' range and were clipped to it */
	/* Half of the ADCs' range that sidra_weights_calibrate_async() has set, in products of input and weight; 0: it follows each product. */
	uint64_t adc_range;
} sidra_tile_report;
/*
 * Gets the report of one tile from the device. tile: row of tiles * tile_cols + column of tiles. A programming in progress may be counted or
 * not. NOT_SUPPORTED: the chip or driver is too old.
 */
SIDRA_API sidra_status sidra_weights_report(sidra_weights *weights, uint32_t tile, sidra_tile_report *report);
/*
 * The crossbar numbers, tile by tile. *count: on entry the room in `crossbars`, on return their number, also where the room is too small:
 * INVALID_ARGUMENT.
 */
SIDRA_API sidra_status sidra_weights_crossbars(sidra_weights *weights, uint32_t *crossbars, uint32_t *count);
/*
 * The N factors of the columns, owned by the weights; valid until sidra_weights_destroy(). They are those that the device uses, so they change
 * while the device executes a sidra_weights_update_f32_async().
 */
SIDRA_API sidra_status sidra_weights_scale(const sidra_weights *weights, const float **scale);
/*
 * Reads all values back from the cells into `data` (K x N s8, stride in elements), and waits. UNPROGRAMMED; TIMEOUT at the deadline, also if the
 * stream's ring is still full then.
 */
SIDRA_API sidra_status sidra_weights_read(sidra_stream *stream, sidra_weights *weights, int8_t *data, size_t stride, uint64_t deadline);

/*
 * Weights with a name outlive their handles and, on a device with a state file, the power of the device. A name has 1..63 bytes and no
 * control characters (below 0x20, or 0x7f). Each user has names of its own; mode: permission bits for it and for others; 0 means 0600.
 */
/* BUSY: a sidra_weights_update_f32_async() is not done; wait for its stream. Also for export. */
SIDRA_API sidra_status sidra_weights_publish(sidra_weights *weights, const char *name, uint32_t mode);
SIDRA_API sidra_status sidra_weights_open(sidra_context *context, const char *name, sidra_weights **weights);
/* Opens weights by the name that another user gave them. NOT_FOUND: `owner` (a user id) has no such name that the caller may use. */
SIDRA_API sidra_status sidra_weights_open_of(sidra_context *context, uint32_t owner, const char *name, sidra_weights **weights);
/* Removes the name. The crossbars become free with the last handle. */
SIDRA_API sidra_status sidra_weights_unlink(sidra_context *context, const char *name);
/* Removes the name and erases the cells at once. BUSY while anyone has a handle. */
SIDRA_API sidra_status sidra_weights_evict(sidra_context *context, const char *name);
/* Lists the names of the calling user on the device, one with each call. Start with *cursor = 0; NOT_FOUND at the end. name: room for at least 64 bytes. */
SIDRA_API sidra_status sidra_weights_list(sidra_context *context, uint32_t *cursor, char *name, size_t name_size);
/* Lists the names of other users that the caller may open, and their owners, in the same way. */
SIDRA_API sidra_status sidra_weights_list_of_others(sidra_context *context, uint32_t *cursor, char *name, size_t name_size,
						     uint32_t *owner);
/* A file descriptor for the weights, with the right to compute and, if allowed, to read back. The caller owns and closes it. */
SIDRA_API sidra_status sidra_weights_export(sidra_weights *weights, bool allow_readback, int *fd);
SIDRA_API sidra_status sidra_weights_import(sidra_context *context, int fd, sidra_weights **weights);

/* ---- MVM -------------------------------------------------------------------------------------------------------- */

/*
 * Multiplies `batch` vectors of K elements by the weights: out[b] = in[b] x weights, vectors of N elements.
 *   q[k] = in[k] for U8 and S8 input; for F32 input saturate(rne(in[k] * (1 / in_scale)) + in_zero), codes 0..255
 *   acc[n] = bias[n] + sum over k of (q[k] - in_zero) * w[k][n], an exact S32
 *   S32 output:     acc[n]
 *   F32 output:     f32(acc[n]) * (in_scale * s[n])
 *   S8, U8 output:  saturate(rne(f32(acc[n]) * ((in_scale * (1 / out_scale)) * s[n])) + out_zero)
 * All factors are f32, and each operation rounds once, in the order of the parentheses. rne rounds to the nearest integer, half to even;
 * saturate limits to the type's range. s[n] are the factors of the weights' columns. All engines give the same bits.
 * Strides are in bytes from vector to vector; 0 means densely packed. S32 and F32 elements must be 4-byte aligned. in and out must not overlap.
 */
typedef struct sidra_mvm {
	size_t struct_size;
	uint32_t batch;
	sidra_type in_type;		/* U8, S8, F32 */
	sidra_type out_type;		/* S32, S8, U8, F32 */
	sidra_ref in, out;
	size_t in_stride, out_stride;
	sidra_ref bias;			/* N s32; buffer NULL: none */
	/* The real number that one step of an input code stands for. F32 input: > 0, and 0 is refused. U8, S8 input: 0 means 1, and S32 output
	 * takes none. */
	float in_scale;
	float out_scale;		/* S8, U8 output: the real number that one step of an output code stands for, > 0. Others: 0 */
	int32_t in_zero, out_zero;
	uint32_t cookie;
} sidra_mvm;
SIDRA_API sidra_status sidra_mvm_async(sidra_stream *stream, sidra_weights *weights, const sidra_mvm *mvm);
/*
 * Does the same, and fixes the range of the ADCs of the weights' crossbars to what these vectors need plus a quarter, instead of a range that
 * follows each product (level ACCURATE; no effect at level FAST). Use 128 or more vectors that resemble those to come: sums beyond the range
 * are clipped, and counted in `clipped` of sidra_weights_report(). A later calibration replaces the range; programming or updating a crossbar
 * lets its range follow products again. Needs the right to program, because all users of the weights share the range. Can be recorded.
 */
SIDRA_API sidra_status sidra_weights_calibrate_async(sidra_stream *stream, sidra_weights *weights, const sidra_mvm *mvm);

/* ---- Vector programs -------------------------------------------------------------------------------------------- */

/*
 * The compute engine runs vector programs. sidra/functions.h has ready-made ones.
 *
 * A vector program computes on the rows of up to eight arrays, its operands. docs/vector-programs.md describes the language,
 * uapi/sidra_vector.h the instructions, and docs/device.md what they compute, to the bit. A program knows neither types nor strides of its
 * operands: each call gives them anew. A program never changes, so any number of streams and threads can use it.
 */
struct sidra_vector_instruction;	/* uapi/sidra_vector.h */

/*
 * Makes a program of `count` (1..SIDRA_VECTOR_INSTRUCTIONS_MAX) instructions, which are copied. The first `prologue` of them (0: none) are the
 * prologue of a layer. INVALID_ARGUMENT if it breaks a rule that
 * does not depend on the operands; the text names the instruction (its number, from 0, and its text) and the rule.
 */
SIDRA_API sidra_status sidra_program_create(sidra_context *context, const struct sidra_vector_instruction *code, size_t count,
					    size_t prologue, sidra_program **program);
/* The same from text, which ends with a zero byte. INVALID_ARGUMENT: the error text has line and column, both from 1; columns are bytes. */
SIDRA_API sidra_status sidra_program_assemble(sidra_context *context, const char *text, sidra_program **program);
/*
 * Writes the program as text. *needed (if not NULL) takes the size of the text with its final zero byte, also where `capacity` is too small:
 * then the call is INVALID_ARGUMENT and writes no text. With `text` NULL and `capacity` 0 it only returns the size.
 */
SIDRA_API sidra_status sidra_program_disassemble(const sidra_program *program, char *text, size_t capacity, size_t *needed);
/* Waits until the device no longer uses the program. Calls of it that are still queued then fault. NULL is allowed. */
SIDRA_API sidra_status sidra_program_destroy(sidra_program *program);

/* An array that a program computes on. The library copies it during the call. */
typedef struct sidra_vector_operand {
	sidra_ref at;		/* element 0, aligned to its size */
	sidra_type type;
	/* The number of valid indices, if there is `index`, or if the program gathers from the operand or scatters to it; else 0. */
	uint32_t extent;
	/* Bytes between neighbours in each dimension, outermost first, multiples of the element's size; 0: the same element everywhere. */
	size_t stride[4];
	/*
	 * Indices, one for each row of all rows: they take the place of the coordinate in dimension 2. buffer NULL: none. An index that is
	 * negative, or not below `extent`, faults the stream.
	 */
	sidra_ref index;
	sidra_type index_type;	/* with `index`: S32 or S64; else 0 */
} sidra_vector_operand;

/*
 * A dense array of size[0] x size[1] x size[2] x size[3] elements. A dimension of size 1 gets the stride 0, so that the array has the same
 * elements for the whole dimension of a larger iteration space.
 */
static inline sidra_vector_operand sidra_operand_dense(sidra_ref at, sidra_type type, const uint32_t size[4])
{
	sidra_vector_operand operand = { at, type, 0, { 0, 0, 0, 0 }, { NULL, 0 }, (sidra_type)0 };
	size_t stride = sidra_type_size(type);
	int d;

	for (d = 3; d >= 0; d--) {
		operand.stride[d] = size[d] == 1 ? 0 : stride;
		stride *= size[d];
	}
	return operand;
}

/* A parameter that is an f32. One that is an s32 needs no more than a cast to uint32_t. */
static inline uint32_t sidra_param_f32(float value)
{
	uint32_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/*
 * One call of a program: it runs for size[0] * size[1] * size[2] rows of size[3] columns. All sizes are at least 1; uapi/sidra_vector.h has the
 * limits (SIDRA_VECTOR_*_MAX).
 *
 * The call checks everything but the values of indices: program, types, strides, and that each operand lies inside its buffer for all
 * coordinates and indices. What the program stores to must be writable (PERMISSION). An operand that is stored to is the same array as another
 * operand, or shares no byte with any; elements of it do not overlap (struct sidra_cmd_vector in uapi/sidra_cmd.h has the exact rules).
 */
typedef struct sidra_vector {
	size_t struct_size;
	sidra_program *program;
	uint32_t size[4];			/* outermost dimension first */
	uint32_t param[4];			/* bits of an f32 (sidra_param_f32()) or s32 */
	const sidra_vector_operand *operands;	/* o0, o1, ...: as many as the program uses */
	uint32_t operand_count;
	uint32_t cookie;
} sidra_vector;
/* The first call on a stream also allocates 576 bytes of host memory for each entry of the stream's ring. */
SIDRA_API sidra_status sidra_vector_async(sidra_stream *stream, const sidra_vector *vector);

/* ---- Products, layers, pooling, sorting -------------------------------------------------------------------------- */

/*
 * batch[0] x batch[1] products of matrices in memory: C[m][n] = sum over k of A[m][k] * B[k][n]. The program computes on the rows of C, which it
 * loads as operand `sums`, and stores what it makes of them: the product itself, or with a scale and a bias, a softmax of each row, codes...
 *   F32, F16 and BF16 factors: C is f32, fma(A[m][k], B[k][n], sum) for k in ascending order, from +0.
 *   S8 and U8 factors:         C is s32, modulo 2^32.
 * operands[0] is A and operands[1] B; their strides are those of batch[0], batch[1], row and column, one of the last two is the element's size
 * or 0. So a factor may be a transposed matrix, a part of one, or the same one for all products. The program has the operands from o2 on, with
 * the iteration space {batch[0], batch[1], m, n}. What it stores to shares no byte with what lies between the first and the last byte of a
 * factor. k: at most SIDRA_MATMUL_INNER_MAX.
 * Without a program the product itself is stored to operands[2]: as F32, F16 or BF16, or as S32 if the factors are S8 and U8.
 */
typedef struct sidra_matmul {
	size_t struct_size;
	sidra_program *program;			/* NULL: none */
	uint32_t m, n, k;
	uint32_t batch[2];			/* 0 means 1 */
	uint32_t param[4];			/* as in a sidra_vector */
	const sidra_vector_operand *operands;
	uint32_t operand_count;
	uint32_t cookie;
} sidra_matmul;
SIDRA_API sidra_status sidra_matmul_async(sidra_stream *stream, const sidra_matmul *matmul);

/*
 * Windows of images: the input rows of a layer, and what pooling combines. Window (image, y, x) has pixel (i, j) of the kernel at pixel row
 * y * stride_h + i * dilation_h - pad_h, and pixel x * stride_w + j * dilation_w - pad_w of it. Where that is not inside the image it is
 * padding. An input row has kernel_h * kernel_w * channels elements in the order [i][j][channel].
 */
typedef struct sidra_windows {
	sidra_ref at;				/* image 0, pixel row 0, pixel 0, channel 0 */
	sidra_type type;			/* of the elements */
	/* Of a layer: what is multiplied, U8 or S8, without a prologue as `type`; and the code that represents 0. Pooling ignores both. */
	sidra_type codes;
	int32_t zero;
	uint32_t images, rows, columns;		/* windows: of so many images, and rows and columns of them in each */
	uint32_t height, width, channels;	/* of an image; channels: those that are read, adjacent in memory */
	uint32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
	size_t image_stride, row_stride, pixel_stride;	/* bytes between images, pixel rows, pixels; 0: dense */
} sidra_windows;

/* The rows of a dense rows x columns matrix. codes: `type` if that is U8 or S8, else S8. */
static inline sidra_windows sidra_windows_matrix(sidra_ref at, sidra_type type, uint32_t rows, uint32_t columns)
{
	sidra_windows windows = { at, type, type == SIDRA_U8 ? SIDRA_U8 : SIDRA_S8, 0, 1, 1, rows, 1, rows, columns, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0 };

	return windows;
}

/* How many windows fit into `size` pixels with `pad` pixels before and after them. */
static inline uint32_t sidra_windows_count(uint32_t size, uint32_t kernel, uint32_t stride, uint32_t pad, uint32_t dilation)
{
	uint64_t padded = (uint64_t)size + 2 * (uint64_t)pad, reach;

	if (kernel == 0 || stride == 0)
		return 0;
	reach = (uint64_t)(kernel - 1) * dilation + 1;
	return padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
}

/* Sets `rows` and `columns` to as many windows as fit, with the padding on all sides. Set the other fields before. */
static inline void sidra_windows_fit(sidra_windows *windows)
{
	windows->rows = sidra_windows_count(windows->height, windows->kernel_h, windows->stride_h, windows->pad_h, windows->dilation_h);
	windows->columns = sidra_windows_count(windows->width, windows->kernel_w, windows->stride_w, windows->pad_w, windows->dilation_w);
}

/*
 * The windows of kernel_h x kernel_w pixels of dense images, in the order image, pixel row, pixel, channel. Each step is one pixel, and there is
 * no padding. To change that, set strides, pads and dilations, and call sidra_windows_fit().
 */
static inline sidra_windows sidra_windows_image(sidra_ref at, sidra_type type, uint32_t images, uint32_t height, uint32_t width,
						uint32_t channels, uint32_t kernel_h, uint32_t kernel_w)
{
	sidra_windows windows = sidra_windows_matrix(at, type, width, channels);

	windows.images = images;
	windows.height = height;
	windows.kernel_h = kernel_h;
	windows.kernel_w = kernel_w;
	sidra_windows_fit(&windows);
	return windows;
}

/*
 * One layer of a network: each input row (a window) times the weights, with a program before and after it.
 *   prologue: loads the row as operand `input` (padding is 0), and stores `codes`. Without one the row is the codes, and padding is `zero`.
 *   sums[n] = sum over k of (code[k] - zero) * w[k][n]		exact, modulo 2^32
 *   epilogue: loads `sums` (s32), and stores what it makes of them. Scalar registers keep what the prologue wrote, such as the scale of a row.
 * The iteration space is {images, rows, columns, K} for the prologue, and {images, rows, columns, N} for the epilogue. Each operand belongs to
 * one of them. The factors of the weights' columns (sidra_weights_scale()) are not applied: give them to the epilogue as an operand. What the
 * epilogue stores to shares no byte with what lies between the first and the last byte of the images, nor of an operand of the prologue.
 * docs/programs.md has examples.
 */
typedef struct sidra_layer {
	size_t struct_size;
	sidra_program *program;			/* prologue and epilogue */
	sidra_windows windows;
	uint32_t param[4];
	const sidra_vector_operand *operands;
	uint32_t operand_count;
	bool calibrate;				/* as sidra_weights_calibrate_async() */
	uint32_t cookie;
} sidra_layer;
SIDRA_API sidra_status sidra_layer_async(sidra_stream *stream, sidra_weights *weights, const sidra_layer *layer);

/* How pooling combines the pixels of a window, for each channel; in brackets the types. Padding does not take part. */
typedef enum sidra_pool_operation {
	SIDRA_POOLING_MAX = 1,		/* [all but S64 and BOOL] NaN if a pixel is; +0 is greater than -0 */
	SIDRA_POOLING_ARGMAX = 2,	/* [as MAX, to S32] pixel row * width + pixel of the first largest one, or of the first NaN */
	SIDRA_POOLING_AVERAGE = 3,	/* [F32, F16, BF16] the sum, in f32, divided by the number of pixels inside the image */
	SIDRA_POOLING_AVERAGE_ALL = 4	/* likewise, divided by kernel_h * kernel_w */
} sidra_pool_operation;

/*
 * Pooling: one pixel of `channels` elements for each window, of the windows' type (ARGMAX: S32). Each window must have a pixel inside its
 * image, and at most SIDRA_CMD_POOL_WINDOW_MAX elements. `out` shares no byte with what lies between the first and the last byte of the images.
 */
typedef struct sidra_pool {
	size_t struct_size;
	sidra_pool_operation op;
	sidra_windows windows;
	sidra_ref out;
	size_t out_stride[3];		/* bytes between images, rows of windows, windows; 0: dense */
	uint32_t cookie;
} sidra_pool;
SIDRA_API sidra_status sidra_pool_async(sidra_stream *stream, const sidra_pool *pool);

/*
 * The first `count` elements of each row of a matrix in ascending or descending order, and the columns where they were. Equal elements stay in
 * their order, also -0 and +0. NaN is greater than every number, and a BOOL is false or true. No output shares a byte with what lies between
 * the first and the last byte of the other one or of the input.
 */
typedef struct sidra_sort {
	size_t struct_size;
	sidra_type type;
	sidra_type index_type;		/* of `indices`: S32 or S64; without them 0 */
	sidra_ref in;			/* rows x cols elements */
	sidra_ref values, indices;	/* rows x count each; buffer NULL: not wanted, but one of them is */
	size_t in_stride, values_stride, indices_stride;	/* bytes between rows; 0: dense */
	uint32_t rows, cols;		/* at most SIDRA_SORT_ROWS_MAX and SIDRA_SORT_COLS_MAX */
	uint32_t count;			/* 0: all `cols` */
	bool descending;
	uint32_t cookie;
} sidra_sort;
SIDRA_API sidra_status sidra_sort_async(sidra_stream *stream, const sidra_sort *sort);

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

/* Records: until end, operations of the stream are stored instead of submitted. Events, callbacks, waits and programs of new weights are
 * NOT_RECORDABLE. end gives a graph (and on failure drops the recording). */
SIDRA_API sidra_status sidra_graph_begin(sidra_stream *stream);
SIDRA_API sidra_status sidra_graph_end(sidra_stream *stream, sidra_graph **graph);
/*
 * Runs all operations of the graph, in order, as one packet. Any stream of the context. The graph and the objects that it uses must outlive the
 * run. A graph computes only with the buffers, weights and programs that it was recorded with: once one of them is destroyed, launching it
 * fails with INVALID_HANDLE, even if another object has its place. Weights that are programmed again, and objects after a recovery, are the
 * same objects. If one is destroyed after the launch and before its operation runs, the stream faults.
 */
SIDRA_API sidra_status sidra_graph_launch_async(sidra_stream *stream, sidra_graph *graph);
/* The number of operations; labels do not count. */
SIDRA_API sidra_status sidra_graph_operations(const sidra_graph *graph, uint32_t *count);
/*
 * Changes operations of a graph for its later launches, without recording all of it again. Launches that are queued keep the values that they
 * were queued with: the library then writes the change into a copy of the graph, which it uses again once those launches are done. Several
 * changes between two launches go into one copy. `operation` counts from 0 as sidra_graph_operations() does.
 *
 * update ends the recording of `stream` (sidra_graph_begin() and the ..._async calls, which check their arguments as ever), and puts its
 * operations in place of those of the graph from number `operation` on. Each one must be of the kind of the one that it replaces, a program
 * call with as many operands; everything else may differ: places, sizes, strides, types, weights, programs. INVALID_ARGUMENT: it is of another
 * kind, or there is no such operation. Labels of the recording are left out. A failure changes nothing, and drops the recording.
 */
SIDRA_API sidra_status sidra_graph_update(sidra_graph *graph, uint32_t operation, sidra_stream *stream);
/* Changes parameter `index` (0..3) of a program call. value: bits of an f32 (sidra_param_f32()) or s32. */
SIDRA_API sidra_status sidra_graph_set_param(sidra_graph *graph, uint32_t operation, uint32_t index, uint32_t value);
/* Waits until the device has let go of it. NULL is allowed. */
SIDRA_API sidra_status sidra_graph_destroy(sidra_graph *graph);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_SIDRA_H */
