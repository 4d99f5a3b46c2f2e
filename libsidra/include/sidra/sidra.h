/* SPDX-License-Identifier: MIT */
/*
 * libsidra: the C interface to SIDRA memristor-crossbar accelerators.
 *
 *   device --- context --- buffer      memory that both sides see
 *                      |-- weights     a matrix on crossbars
 *                      |-- stream      operations in order; its timeline counts what is done
 *                      |-- event       a point in a stream
 *                      `-- graph       recorded operations, replayed as one packet
 *
 * Conventions
 * - Every call returns sidra_status; results come through pointers and are untouched on failure, unless said otherwise. A failed call
 *   changes nothing. sidra_last_error() has a sentence about the last failure in this thread: what, on which object, why, what to do.
 * - Structs start with struct_size; initialise with SIDRA_INIT(type) so that later fields are zero. A struct_size that is too small, or
 *   unknown bytes beyond the known struct that are not zero, is SIDRA_ERROR_INVALID_ARGUMENT.
 * - Threads: any function may be called from any thread. Calls on one stream are serialised by it; streams share no lock.
 *   Destroying an object while another thread uses it is the caller's error.
 * - `..._async` functions queue and return; memory that they name must stay valid until they are done. Destroying a buffer, weights, stream or
 *   context waits for the device to let go of it (what is queued behind it then fails with a fault), so freed memory is never touched.
 * - Offsets and sizes are in bytes, shapes in elements. Row-major everywhere.
 * - Deadlines are absolute CLOCK_MONOTONIC nanoseconds: sidra_deadline_after_ns(), SIDRA_NEVER, or 0 to poll.
 * - After fork() a child's handles answer SIDRA_ERROR_FORKED (destroying them frees host memory only); it may open the device anew.
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

#define SIDRA_VERSION_MAJOR 1
#define SIDRA_VERSION_MINOR 1
#define SIDRA_VERSION_PATCH 0

#define SIDRA_NEVER UINT64_MAX

typedef enum sidra_status {
	SIDRA_OK = 0,
	SIDRA_ERROR_INVALID_ARGUMENT = 1,	/* a value, size, range or combination that can never work */
	SIDRA_ERROR_INVALID_HANDLE = 2,		/* NULL, destroyed, or of another kind */
	SIDRA_ERROR_WRONG_CONTEXT = 3,		/* objects of different contexts in one call */
	SIDRA_ERROR_OUT_OF_MEMORY = 4,		/* host memory or device address space */
	SIDRA_ERROR_OUT_OF_DEVICE_MEMORY = 5,	/* L3 */
	SIDRA_ERROR_OUT_OF_CROSSBARS = 6,
	SIDRA_ERROR_LIMIT = 7,			/* contexts, queues, table entries; the process's threads and file descriptors */
	SIDRA_ERROR_TIMEOUT = 8,		/* the deadline passed; the work goes on */
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

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* Name of a status ("SIDRA_ERROR_TIMEOUT"); never NULL. */
SIDRA_API const char *sidra_status_string(sidra_status status);
/* Text about the last failed call in this thread; "" if there was none. Valid until the next failing call in this thread. */
SIDRA_API const char *sidra_last_error(void);
/* Library version, major << 16 | minor << 8 | patch. */
SIDRA_API uint32_t sidra_version(void);
/* Deadline `ns` nanoseconds from now (saturates to SIDRA_NEVER). */
SIDRA_API uint64_t sidra_deadline_after_ns(uint64_t ns);

/* ---- Device ----------------------------------------------------------------------------------------------------- */

/*
 * Which device: SIDRA_DEVICE=embedded (a chip model inside this process) or a node such as /dev/sidra0 overrides everything. Otherwise the
 * nodes that exist; without any, one embedded chip, with one line on stderr the first time (silenced by SIDRA_QUIET=1).
 */
SIDRA_API sidra_status sidra_device_count(uint32_t *count);

typedef enum sidra_profile { SIDRA_PROFILE_Y1 = 0, SIDRA_PROFILE_SMALL = 1 } sidra_profile;
typedef enum sidra_engine {
	SIDRA_ENGINE_AUTO = 0, SIDRA_ENGINE_SCALAR = 1, SIDRA_ENGINE_AVX2 = 2, SIDRA_ENGINE_AVX512 = 3, SIDRA_ENGINE_NEON = 4
} sidra_engine;

/* fast: exact integers. accurate: what cells, wires and ADCs make of it, see docs/physics.md. */
typedef enum sidra_level { SIDRA_LEVEL_FAST = 0, SIDRA_LEVEL_ACCURATE = 1 } sidra_level;

#define SIDRA_STUCK_NONE 0xffffffffu

/*
 * For an embedded chip only; a real device ignores it. The environment (SIDRA_PROFILE, SIDRA_ENGINE, SIDRA_WORKERS, SIDRA_STATE, SIDRA_LEVEL,
 * SIDRA_GDB, SIDRA_TRACE) fills what is zero; a string that is "" is none, whatever the environment has. When its firmware panics, what that leaves
 * goes into a file in SIDRA_DUMP_DIR (else $XDG_STATE_HOME/sidra, else ~/.local/state/sidra) for sidra-dump, and a line on stderr names it (silenced by
 * SIDRA_QUIET=1). Other processes of the same user can watch the chip (uapi/sidra_publish.h) through a file in $XDG_RUNTIME_DIR/sidra,
 * /run/user/UID/sidra or /tmp/sidra-UID; SIDRA_PUBLISH=0 switches that off.
 */
typedef struct sidra_device_options {
	size_t struct_size;
	sidra_profile profile;
	sidra_engine engine;
	uint32_t workers;	/* threads that share one operation, counting the waiting one; 0: one a CPU */
	bool private_chip;	/* a chip of its own; else all opens of one index in the process share a chip, as they would a card */
	uint64_t seed;		/* of everything random in the model. Not of the UUID: each chip has one of its own, and a state file keeps it */
	/*
	 * Where the chip's cells and named weights survive the process; NULL: nowhere. A file that is empty or not there is a new chip, and
	 * made. One chip at a time has it, of whatever process, until the device is closed: BUSY. A name is on disk when sidra_weights_publish()
	 * returns; what is programmed later survives a killed process, and a power loss of the machine once the device is closed.
	 * At level accurate what cells conduct, their age and the seed are kept, too: the same answers. A file is of one level.
	 */
	const char *state_file;
	sidra_level level;
	uint32_t stuck_ppm;	/* level accurate: share of cells that never follow, up to 1,000,000; 0: 1,000; SIDRA_STUCK_NONE: none */
	/*
	 * Where GDB finds the chip's management core: a port of 127.0.0.1 ("1234"), or the path of a Unix socket (with a / in it), which is made
	 * for this user only. NULL: nowhere. Whoever connects has what the firmware has, this process's memory included. BUSY: it is taken.
	 */
	const char *gdb;
	/*
	 * Where the chip writes down which unit it would take for which packet, when, and with what energy (docs/trace.md); NULL: nowhere. The
	 * file is begun anew, and one chip at a time has it: BUSY.
	 */
	const char *trace_file;
} sidra_device_options;

/* Opens device `index` (< sidra_device_count()). options may be NULL. An open shared chip must not be asked for other options: BUSY. */
SIDRA_API sidra_status sidra_device_open(uint32_t index, const sidra_device_options *options, sidra_device **device);
/* Closes; BUSY while contexts exist. NULL is allowed. */
SIDRA_API sidra_status sidra_device_close(sidra_device *device);

typedef struct sidra_device_info {
	size_t struct_size;
	char name[32];			/* "sidra0" */
	char transport[16];		/* "embedded", "kernel" */
	char engine[16];		/* engine of the model; "" for silicon */
	uint8_t uuid[16];
	bool model;			/* a model, not silicon */
	uint32_t driver_version, hw_version, firmware_version;	/* major << 16 | minor; firmware 0: none, or it still boots */
	uint32_t clusters, cus_per_cluster, crossbars_per_cu, rows, cols;
	uint32_t crossbars_total, crossbars_free;
	uint64_t l3_size, l3_free;
	uint32_t contexts_max, queues_max;
	uint32_t generation;		/* device resets so far */
} sidra_device_info;
SIDRA_API sidra_status sidra_device_get_info(sidra_device *device, sidra_device_info *info);

/* One moment on the device clock and on CLOCK_MONOTONIC, ns. */
SIDRA_API sidra_status sidra_device_clock(sidra_device *device, uint64_t *device_ns, uint64_t *monotonic_ns);

/*
 * Counters of the device since power-on (struct sidra_telemetry of uapi/sidra_hw.h): copies at most size bytes. Those of a card are up to a
 * fifth of a second old for who has no CAP_PERFMON: they are of strangers' work, too. clock_ns in there says of when they are.
 */
SIDRA_API sidra_status sidra_device_telemetry(sidra_device *device, void *telemetry, size_t size);

/* Resets the device: every context of every user is lost (recover). Root only on a real device. */
SIDRA_API sidra_status sidra_device_reset(sidra_device *device);

/* Breaks something on purpose (embedded chip; names of docs/device.md: "lose-msix", "stall", ...). For tests. */
SIDRA_API sidra_status sidra_device_set_fault_knob(sidra_device *device, const char *name, uint64_t value);

/* ---- Context ---------------------------------------------------------------------------------------------------- */

/* An isolated address space with its own weights and streams. */
SIDRA_API sidra_status sidra_context_create(sidra_device *device, sidra_context **context);
/* Destroys it; BUSY while objects of it exist. NULL is allowed. */
SIDRA_API sidra_status sidra_context_destroy(sidra_context *context);
/* Waits for all streams. */
SIDRA_API sidra_status sidra_context_synchronize(sidra_context *context, uint64_t deadline);
/* SIDRA_OK, CONTEXT_LOST or DEVICE_LOST. */
SIDRA_API sidra_status sidra_context_status(sidra_context *context);
/* After CONTEXT_LOST: buffers, weights and graphs stay, streams start anew and empty (their handles stay valid). OK if nothing was lost. */
SIDRA_API sidra_status sidra_context_recover(sidra_context *context);

/* ---- Buffers ---------------------------------------------------------------------------------------------------- */

typedef enum sidra_buffer_flags {
	SIDRA_BUFFER_HOST = 0,		/* system memory, coherent for both sides */
	SIDRA_BUFFER_DEVICE = 1		/* in the chip's L3 SRAM */
} sidra_buffer_flags;

/* New zeroed buffer of `size` > 0 bytes, page-aligned. */
SIDRA_API sidra_status sidra_buffer_create(sidra_context *context, size_t size, uint32_t flags, sidra_buffer **buffer);
/*
 * Makes caller's memory usable by the device without copying; any alignment. It must stay mapped until destroy (kernel transport:
 * pinned, charged to RLIMIT_MEMLOCK, else MEMLOCK). readonly: the device may not write it.
 */
SIDRA_API sidra_status sidra_buffer_register(sidra_context *context, void *memory, size_t size, bool readonly, sidra_buffer **buffer);
/* Waits until the device has let go, then frees (or unregisters). NULL is allowed. */
SIDRA_API sidra_status sidra_buffer_destroy(sidra_buffer *buffer);
/* Address of the memory in this process; valid until destroy. Ordering: what the host writes before an ..._async call is seen by it. */
SIDRA_API sidra_status sidra_buffer_map(sidra_buffer *buffer, void **address);
SIDRA_API sidra_status sidra_buffer_size(const sidra_buffer *buffer, size_t *size);
/*
 * Reads up to `size` bytes of a file, from byte `file_offset` on, straight into the buffer at `offset`; returns when they are there. Many
 * reads at once by io_uring where the system allows it, else pread. Not a pipe or socket.
 * `got` takes how many there were, fewer where the file ends; NULL: a file that is too short is INVALID_ARGUMENT. With O_DIRECT, address,
 * offsets and size are multiples of the file system's block, also at the end of the file, and the memory is the caller's (registered): a
 * driver's mapping cannot be read into that way. After a failure that part of the buffer is undefined.
 */
SIDRA_API sidra_status sidra_buffer_read_file(sidra_buffer *buffer, size_t offset, int fd, uint64_t file_offset, size_t size, size_t *got);

/* A place in a buffer. */
typedef struct sidra_ref {
	sidra_buffer *buffer;
	size_t offset;
} sidra_ref;

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

typedef enum sidra_priority { SIDRA_PRIORITY_NORMAL = 0, SIDRA_PRIORITY_LOW = 1, SIDRA_PRIORITY_HIGH = 2 } sidra_priority;

typedef struct sidra_stream_options {
	size_t struct_size;
	sidra_priority priority;
	uint32_t ring_packets;	/* power of two 64..65536; 0: 1024 */
	bool reports;		/* keep a report for each operation: sidra_stream_report() */
} sidra_stream_options;

/* options may be NULL. */
SIDRA_API sidra_status sidra_stream_create(sidra_context *context, const sidra_stream_options *options, sidra_stream **stream);
/* Drops what is not done yet. NULL is allowed. */
SIDRA_API sidra_status sidra_stream_destroy(sidra_stream *stream);
/* Waits until everything submitted so far is done: spins briefly (running the device if it is embedded), then sleeps.
 * FAULT, CONTEXT_LOST, DEVICE_LOST if the queue stopped before. Open batches are submitted first. */
SIDRA_API sidra_status sidra_stream_synchronize(sidra_stream *stream, uint64_t deadline);
/* OK: all done. NOT_READY: not yet. No system call. */
SIDRA_API sidra_status sidra_stream_query(sidra_stream *stream);
/* Timeline value that the last queued operation will reach, and the one reached. Either may be NULL. No system call. */
SIDRA_API sidra_status sidra_stream_timeline(sidra_stream *stream, uint64_t *submitted, uint64_t *completed);
/* Time and energy that the chip itself would have spent on this stream's finished work (cost model; not wall time). */
SIDRA_API sidra_status sidra_stream_device_time(sidra_stream *stream, uint64_t *picoseconds, uint64_t *picojoules);
/* An fd that polls readable once everything submitted so far is done or the stream stopped. One a stream, owned by the stream;
 * each call re-arms it for what is submitted by then. */
SIDRA_API sidra_status sidra_stream_get_fd(sidra_stream *stream, int *fd);
/* Calls fn(status, user) once, on a thread of the library, after everything submitted so far is done (or the stream stopped: its status;
 * reset: FAULT; destroyed: INVALID_HANDLE, before destroy returns). fn may call anything but the destruction of its context, and it must
 * return: a context has one such thread, so while fn runs its other callbacks wait, and so does who destroys a stream that has one due. */
typedef void (*sidra_callback)(sidra_status status, void *user);
SIDRA_API sidra_status sidra_stream_add_callback(sidra_stream *stream, sidra_callback fn, void *user);

/* Why a stream stopped. */
typedef struct sidra_fault_info {
	size_t struct_size;
	uint32_t cause;		/* enum sidra_fault_cause of uapi/sidra_cmd.h; 0: no fault */
	uint32_t opcode;	/* enum sidra_cmd_opcode */
	uint64_t sequence;	/* which operation of the stream (0-based) */
	uint64_t address;	/* device address, if it was about one */
	uint32_t cookie;
	bool in_graph;
	uint32_t graph_index;	/* operation inside the graph */
	uint64_t clock_ns;	/* device clock */
	char text[160];		/* all of it in words */
} sidra_fault_info;
SIDRA_API sidra_status sidra_stream_fault(sidra_stream *stream, sidra_fault_info *info);
/* Drops what was queued, clears the fault, goes on. */
SIDRA_API sidra_status sidra_stream_reset(sidra_stream *stream);

/* What one finished operation cost (streams with reports). sequence: as in the timeline, 0-based; only the last ring_packets are kept: NOT_FOUND. */
typedef struct sidra_operation_report {
	size_t struct_size;
	uint64_t device_ps;
	uint64_t energy_pj;
	uint32_t cookie;
	uint32_t opcode;
} sidra_operation_report;
SIDRA_API sidra_status sidra_stream_report(sidra_stream *stream, uint64_t sequence, sidra_operation_report *report);

/* Batch: operations queued between begin and end reach the device with one doorbell. A full ring submits early. Does not nest. */
SIDRA_API sidra_status sidra_batch_begin(sidra_stream *stream);
SIDRA_API sidra_status sidra_batch_end(sidra_stream *stream);

/* ---- Events ----------------------------------------------------------------------------------------------------- */

/* A point in a stream; free to record, queried without a system call. An event never recorded counts as done. */
SIDRA_API sidra_status sidra_event_create(sidra_context *context, sidra_event **event);
SIDRA_API sidra_status sidra_event_destroy(sidra_event *event);
/* The event now stands for everything queued in the stream so far (an open batch is submitted). What a reset, a recovery or the end of the
 * stream drops counts as done. */
SIDRA_API sidra_status sidra_event_record(sidra_event *event, sidra_stream *stream);
SIDRA_API sidra_status sidra_event_query(sidra_event *event);
SIDRA_API sidra_status sidra_event_synchronize(sidra_event *event, uint64_t deadline);
/* Everything queued in `stream` from now on waits for the event, on the device (streams of one context: else WRONG_CONTEXT). */
SIDRA_API sidra_status sidra_stream_wait_event(sidra_stream *stream, sidra_event *event);

/* ---- Plain operations ------------------------------------------------------------------------------------------- */

SIDRA_API sidra_status sidra_nop_async(sidra_stream *stream);
/* All earlier operations are complete, visible and published before later ones start. */
SIDRA_API sidra_status sidra_barrier_async(sidra_stream *stream);
SIDRA_API sidra_status sidra_copy_async(sidra_stream *stream, sidra_ref dst, sidra_ref src, size_t size);
/* rows rows of row_bytes; strides between row starts. */
SIDRA_API sidra_status sidra_copy_2d_async(sidra_stream *stream, sidra_ref dst, size_t dst_stride, sidra_ref src, size_t src_stride,
					   size_t row_bytes, uint32_t rows);
/* Repeats the low pattern_size (1, 2, 4, 8) bytes of pattern; dst.offset and size are multiples of it. */
SIDRA_API sidra_status sidra_fill_async(sidra_stream *stream, sidra_ref dst, uint64_t pattern, uint32_t pattern_size, size_t size);
/* Writes struct sidra_timestamp (uapi/sidra_cmd.h, 32 bytes) at dst (8-byte aligned). */
SIDRA_API sidra_status sidra_timestamp_async(sidra_stream *stream, sidra_ref dst);
/* 64-bit semaphore words in buffers (8-byte aligned). Signal raises the word to value; wait passes once it is >= value. */
SIDRA_API sidra_status sidra_semaphore_signal_async(sidra_stream *stream, sidra_ref word, uint64_t value);
SIDRA_API sidra_status sidra_semaphore_wait_async(sidra_stream *stream, sidra_ref word, uint64_t value);
/* The same from the host, at once: raises the word and wakes the streams of the context that wait on it. */
SIDRA_API sidra_status sidra_semaphore_signal(sidra_context *context, sidra_ref word, uint64_t value);

/* ---- Weights ---------------------------------------------------------------------------------------------------- */

typedef enum sidra_type { SIDRA_U8 = 0, SIDRA_S8 = 1, SIDRA_S32 = 2, SIDRA_F32 = 3 } sidra_type;

typedef enum sidra_weights_encoding {
	SIDRA_WEIGHTS_AUTO = 0,		/* differential while it fits and the values allow it, else offset */
	SIDRA_WEIGHTS_DIFFERENTIAL = 1,	/* -127..127; two cells a weight; much less sensitive to cell error */
	SIDRA_WEIGHTS_OFFSET = 2	/* -128..127; one cell a weight */
} sidra_weights_encoding;

typedef struct sidra_weights_options {
	size_t struct_size;
	sidra_weights_encoding encoding;
	bool no_readback;	/* give up the right to read the weights back */
} sidra_weights_options;

/*
 * A K x N matrix (K inputs, N outputs): takes crossbars and keeps a staged copy of the values; nothing is on the crossbars before
 * sidra_weights_program_async(). data: K x N, row k at data + k * stride elements. options may be NULL.
 *   _s8:  values as they are; scale: N factors s[n] (real weight = s[n] * value), or NULL for 1.
 *   _f32: symmetric per-column quantisation: s[n] = max_k |w[k][n]| / 127 (1 if that is 0), value = rne(w / s[n]). NaN or
 *         infinity: INVALID_ARGUMENT.
 */
SIDRA_API sidra_status sidra_weights_create_s8(sidra_context *context, uint32_t k, uint32_t n, const int8_t *data, size_t stride,
					       const float *scale, const sidra_weights_options *options, sidra_weights **weights);
SIDRA_API sidra_status sidra_weights_create_f32(sidra_context *context, uint32_t k, uint32_t n, const float *data, size_t stride,
						const sidra_weights_options *options, sidra_weights **weights);
/* Waits until the device has let go; anonymous cells become free. NULL is allowed. */
SIDRA_API sidra_status sidra_weights_destroy(sidra_weights *weights);

/* Programs all cells, tile by tile. The staged copy is freed once done is seen (progress, report, query or synchronize). */
SIDRA_API sidra_status sidra_weights_program_async(sidra_stream *stream, sidra_weights *weights);
/*
 * Programs a rectangle of already programmed weights from s8 data (copied): rows [row0, row0 + rows), columns [col0, col0 + cols). Tile by tile:
 * what is ended in the middle leaves some new and some old. On a device with a state file nobody takes that for one or the other later: from the
 * next start on the object is not programmed, until the rectangle or all of it is programmed again.
 */
SIDRA_API sidra_status sidra_weights_update_async(sidra_stream *stream, sidra_weights *weights, uint32_t row0, uint32_t rows,
						  uint32_t col0, uint32_t cols, const int8_t *data, size_t stride);
/*
 * Looks at all cells, and programs those again that are off by more than `tolerance`, of G_max: they drift (level accurate; at level fast
 * none ever is off). 0: the chip's own, 3 %, which programming itself leaves few beyond. Recordable. A chip of hardware version 1.0 does not know
 * it: the stream faults.
 */
SIDRA_API sidra_status sidra_weights_refresh_async(sidra_stream *stream, sidra_weights *weights, float tolerance);
/*
 * How far the first programming is, in rows of tiles (done == total: complete): it moves tile by tile. To end it, or an update or a refresh:
 * sidra_stream_reset(). What is being done to a tile then is done to its end; the others stay as they were. Those of a first programming are
 * not programmed, so whoever computes with the object faults; it may be programmed again then, by sidra_weights_program_async().
 */
SIDRA_API sidra_status sidra_weights_progress(sidra_weights *weights, uint32_t *done, uint32_t *total);

typedef struct sidra_weights_info {
	size_t struct_size;
	uint32_t k, n;
	sidra_weights_encoding encoding;	/* the one chosen */
	uint32_t crossbars;
	uint32_t tile_rows, tile_cols;		/* grid of tiles */
	bool programmed;			/* completely */
	uint64_t cells;				/* in use */
	uint64_t program_device_ps, program_energy_pj;	/* of the programming so far (cost model) */
	char name[64];				/* the one it has now; "" if anonymous */
} sidra_weights_info;
SIDRA_API sidra_status sidra_weights_get_info(sidra_weights *weights, sidra_weights_info *info);

#define SIDRA_TRIES_MAX 64	/* pulses for a cell in one programming, at most */

/*
 * What programming took of one tile, all in all since its crossbar was erased; of a tile that is not programmed yet: zeros, but what is
 * the crossbar's for life.
 */
typedef struct sidra_tile_report {
	size_t struct_size;
	uint32_t row, rows;		/* of the matrix: the tile holds rows row .. row + rows - 1, */
	uint32_t col, cols;		/* likewise columns */
	uint32_t crossbar_programs;	/* of its crossbar, for life, of whatever object: wear */
	uint32_t stuck_cells;		/* likewise: cells known not to follow */
	uint32_t spare_columns;		/* of cells, that another one stands in for */
	uint32_t programmed_rows;	/* complete: rows */
	/* True (level accurate): cells are pulsed, and read after each pulse. False: they take their levels exactly, and all below is zero. */
	bool pulsed;
	uint64_t arrived[SIDRA_TRIES_MAX + 1];	/* cells that arrived, by the number of pulses; those programmed again count again */
	uint64_t recovered;		/* of them, those that were tried again */
	uint64_t failed;		/* that did not within their pulses, nor when tried again; stuck ones among them */
	uint32_t bad_cells;		/* in use, and not at their level when they were pulsed last: what is wrong now */
	uint64_t set_pulses, reset_pulses, reads;
	double error_sigma;		/* deviation of those that arrived from what was wanted, after their last pulse: of G_max */
	double drift;			/* by how much less cells conduct now than when they were programmed last: of what they did */
	uint64_t age_s;			/* how long ago that was by the cells' clock, half a day more or less */
	uint64_t device_ps, energy_pj;	/* of programming */
	uint64_t clipped;		/* sums of products that were out of the ADCs' range, and so cut to it */
	/* Half of the ADCs' range as sidra_weights_calibrate_async() has set it, in products of input and weight; 0: it follows each product. */
	uint64_t adc_range;
} sidra_tile_report;
/*
 * tile: row of tiles * tile_cols + column of tiles. Asks the device; what is being programmed meanwhile may be counted or not.
 * NOT_SUPPORTED: the chip or driver is too old to tell.
 */
SIDRA_API sidra_status sidra_weights_report(sidra_weights *weights, uint32_t tile, sidra_tile_report *report);
/* Crossbar numbers, tile by tile; *count: room in, number out (INVALID_ARGUMENT if it does not fit, *count set). */
SIDRA_API sidra_status sidra_weights_crossbars(sidra_weights *weights, uint32_t *crossbars, uint32_t *count);
/* The N per-column factors; valid until destroy. */
SIDRA_API sidra_status sidra_weights_scale(const sidra_weights *weights, const float **scale);
/* Reads all values back from the cells into data (host memory, K x N s8) and waits. UNPROGRAMMED if not programmed. */
SIDRA_API sidra_status sidra_weights_read(sidra_stream *stream, sidra_weights *weights, int8_t *data, size_t stride, uint64_t deadline);

/*
 * Names: objects that outlive their handles (and, on a device with a state file, power). A name has 1..63 bytes, none of them a control
 * character (below 0x20, or 0x7f). mode: permission bits, 0 means 0600.
 */
SIDRA_API sidra_status sidra_weights_publish(sidra_weights *weights, const char *name, uint32_t mode);
SIDRA_API sidra_status sidra_weights_open(sidra_context *context, const char *name, sidra_weights **weights);
/* Removes the name; the cells become free with the last handle. */
SIDRA_API sidra_status sidra_weights_unlink(sidra_context *context, const char *name);
/* Removes the name and erases the cells now; BUSY while anyone has a handle. */
SIDRA_API sidra_status sidra_weights_evict(sidra_context *context, const char *name);
/* Names on the device, one a call: cursor starts at 0; NOT_FOUND at the end. name: at least 64 bytes. */
SIDRA_API sidra_status sidra_weights_list(sidra_context *context, uint32_t *cursor, char *name, size_t name_size);
/* A file descriptor that stands for the weights (compute only, or also read back); closed by the receiver. */
SIDRA_API sidra_status sidra_weights_export(sidra_weights *weights, bool allow_readback, int *fd);
SIDRA_API sidra_status sidra_weights_import(sidra_context *context, int fd, sidra_weights **weights);

/* ---- MVM -------------------------------------------------------------------------------------------------------- */

/*
 * out[b] = in[b] x weights, for `batch` vectors.
 *   integer sums:  acc[n] = bias[n] + sum over k of (q[k] - in_zero) * w[k][n]     exact, S32
 *   q = in for U8 and S8;  for F32: saturate to 0..255 of rne(in * (1 / in_scale)) + in_zero
 *   S32 output: acc. F32: acc * (in_scale * s[n]). S8, U8: saturate(rne(acc * (in_scale * s[n] / out_scale)) + out_zero)
 * s[n] are the weights' factors. Rounding is to nearest even; all engines give the same bits.
 * Strides are bytes between vectors; 0 means densely packed. S32 and F32 rows are 4-byte aligned. in and out must not overlap.
 */
typedef struct sidra_mvm {
	size_t struct_size;
	uint32_t batch;
	sidra_type in_type;		/* U8, S8, F32 */
	sidra_type out_type;		/* S32, S8, U8, F32 */
	sidra_ref in, out;
	size_t in_stride, out_stride;
	sidra_ref bias;			/* N s32; buffer NULL: none */
	float in_scale;			/* > 0; 0 means 1; not with integer input and S32 output */
	float out_scale;		/* S8, U8 output: > 0; 0 means 1 */
	int32_t in_zero, out_zero;
	uint32_t cookie;
} sidra_mvm;
SIDRA_API sidra_status sidra_mvm_async(sidra_stream *stream, sidra_weights *weights, const sidra_mvm *mvm);
/*
 * The same, and from then on the ADCs of the object's crossbars keep the range that these vectors need, with a quarter more, instead of one
 * for each product (level accurate; at level fast it makes no difference). 128 vectors or more that are like those to come are a good
 * choice: what exceeds the range is cut to it, and counted (`clipped` of sidra_weights_report()). Calibrating again sets it anew; programming
 * or updating crossbars lets theirs follow products again. Needs the right to program: the object's other users compute with it, too.
 * Recordable. A chip of hardware version 1.1 does not know it: the stream faults.
 */
SIDRA_API sidra_status sidra_weights_calibrate_async(sidra_stream *stream, sidra_weights *weights, const sidra_mvm *mvm);

/* ---- Compute engine --------------------------------------------------------------------------------------------- */

typedef enum sidra_vec_operation {	/* enum sidra_vec_op of uapi/sidra_cmd.h, which has types and formulas */
	SIDRA_VEC_QUANTIZE = 1, SIDRA_VEC_DEQUANTIZE = 2,
	SIDRA_VEC_ADD = 8, SIDRA_VEC_SUB = 9, SIDRA_VEC_MUL = 10, SIDRA_VEC_MAX = 11, SIDRA_VEC_MIN = 12,
	SIDRA_VEC_RELU = 16, SIDRA_VEC_GELU = 17, SIDRA_VEC_GELU_TANH = 18, SIDRA_VEC_SIGMOID = 19, SIDRA_VEC_TANH = 20,
	SIDRA_VEC_SILU = 21, SIDRA_VEC_EXP = 22, SIDRA_VEC_LUT = 23, SIDRA_VEC_SOFTMAX = 32, SIDRA_VEC_LAYERNORM = 33,
	SIDRA_VEC_REDUCE_SUM = 40, SIDRA_VEC_REDUCE_MEAN = 41, SIDRA_VEC_REDUCE_MAX = 42, SIDRA_VEC_REDUCE_MIN = 43,
	SIDRA_VEC_ARGMAX = 44, SIDRA_VEC_POOL_MAX = 48, SIDRA_VEC_POOL_AVG = 49, SIDRA_VEC_TRANSPOSE = 56, SIDRA_VEC_GATHER = 57
} sidra_vec_operation;

/*
 * One operation on rows x cols elements. Strides in bytes; 0 means densely packed, but in2_stride 0 means "the same row for all"
 * (so a dense second operand is given its stride). Which fields count depends on op; the others must be zero. Pool geometry in host
 * memory is looked at during the call too; in L3 it may come later, and then the strides must be given.
 */
typedef struct sidra_vec {
	size_t struct_size;
	sidra_vec_operation op;
	sidra_type in_type, out_type;
	uint32_t rows, cols;
	sidra_ref in, in2, out;			/* in2.buffer NULL: none */
	size_t in_stride, in2_stride, out_stride;
	float scale;				/* QUANTIZE, DEQUANTIZE: s (0 means 1). LAYERNORM: epsilon */
	int32_t zero;				/* QUANTIZE, DEQUANTIZE: zero point */
	uint32_t limit;				/* GATHER: rows of the table */
	uint32_t cookie;
} sidra_vec;
SIDRA_API sidra_status sidra_vec_async(sidra_stream *stream, const sidra_vec *vec);

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

/* Records: until end, operations of the stream are stored instead of submitted. Events, callbacks, waits and programs of new weights are
 * NOT_RECORDABLE. end gives a graph (and on failure drops the recording). */
SIDRA_API sidra_status sidra_graph_begin(sidra_stream *stream);
SIDRA_API sidra_status sidra_graph_end(sidra_stream *stream, sidra_graph **graph);
/* Runs all operations of the graph, in order, as one packet. Any stream of the context. The graph and what it names must outlive the run. */
SIDRA_API sidra_status sidra_graph_launch_async(sidra_stream *stream, sidra_graph *graph);
SIDRA_API sidra_status sidra_graph_operations(const sidra_graph *graph, uint32_t *count);
/* Waits until the device has let go of it. NULL is allowed. */
SIDRA_API sidra_status sidra_graph_destroy(sidra_graph *graph);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_SIDRA_H */
