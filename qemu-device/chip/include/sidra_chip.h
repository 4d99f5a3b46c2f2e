/* SPDX-License-Identifier: MIT */
/*
 * The C interface between the chip model and its host. QEMU (C) and the embedded transport of libsidra (C++) use the same
 * library. The model depends on neither QEMU nor Linux: the host provides memory, interrupts, time and threads.
 *
 * Threads. All functions may be called from any thread, except create and destroy, which must not run concurrently with any other
 * call. MMIO handlers only record the access and wake the chip (`kick`): they never access memory, never block, and call back
 * only kick, msix and clock_ns. Packets and firmware run in sidra_chip_run(), on threads that the host chooses. Threads of the
 * engine join them, or go on after sidra_chip_run() has returned (sidra_chip_settle()), and call all callbacks, too. The host sees
 * neither their beginning nor their end: one that must know its threads (as QEMU for RCU) finds them by their first call, and by
 * the destructor of thread-specific data. They end before sidra_chip_destroy() returns. While the chip calls a callback of its
 * host, it holds no lock that another thread may wait for.
 */
#ifndef SIDRA_CHIP_H
#define SIDRA_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidra_chip sidra_chip;

/* The callbacks that the host provides. The chip passes `self` back to each of them. All are required. */
struct sidra_chip_host {
	void *self;

	/*
	 * Maps host memory at a bus address for direct access. On success returns a pointer to the byte at `bus` and lowers
	 * *length to the contiguous part; returns NULL if the device may not access the memory. Each map is paired with an unmap.
	 * The chip keeps a mapping for at most one slice of work, or while what the slice has begun goes on without it
	 * (sidra_chip_in_flight()), and never across an invalidation. `write`: the chip will store to the memory.
	 */
	void *(*dma_map)(void *self, uint64_t bus, uint64_t *length, bool write);
	void (*dma_unmap)(void *self, void *pointer, uint64_t length, bool write);

	/*
	 * Loads a 64-bit index, timeline or semaphore word (8-byte aligned). Returns false if the device may not access the
	 * address.
	 */
	bool (*load64_acquire)(void *self, uint64_t bus, uint64_t *value);
	/* Atomically sets word = max(word, value) with release order. */
	bool (*max64_release)(void *self, uint64_t bus, uint64_t value);

	void (*msix)(void *self, unsigned vector);	/* raises an MSI-X vector; must not block */
	uint64_t (*clock_ns)(void *self);		/* monotonic; the device clock counts from creation */
	void (*kick)(void *self);			/* work may be pending: the host arranges a call of sidra_chip_run();
							   must not block */
	/*
	 * Passes a message for a person (about the state file, the trace, or where a debugger can connect), without a newline;
	 * from any thread.
	 */
	void (*report)(void *self, const char *line);
};

enum sidra_chip_profile {
	SIDRA_CHIP_Y1		= 0,	/* 16 clusters x 25 CUs x 16 crossbars, 16 MiB L3 */
	SIDRA_CHIP_SMALL	= 1	/* 1 cluster x 2 CUs x 4 crossbars, 1 MiB L3: for tests */
};

enum sidra_chip_engine {
	SIDRA_CHIP_ENGINE_AUTO		= 0,	/* the fastest engine that this CPU supports */
	SIDRA_CHIP_ENGINE_SCALAR	= 1,	/* the reference implementation */
	SIDRA_CHIP_ENGINE_AVX2		= 2,
	SIDRA_CHIP_ENGINE_AVX512	= 3,	/* needs AVX-512 VNNI */
	SIDRA_CHIP_ENGINE_NEON		= 4,
	SIDRA_CHIP_ENGINE_AMX		= 5,	/* AVX-512 VNNI, and AMX for products of 8-bit integers */
	SIDRA_CHIP_ENGINE_AVX_VNNI	= 6	/* AVX2, and AVX-VNNI for products of 8-bit integers */
};

enum sidra_chip_level {
	SIDRA_CHIP_FAST		= 0,	/* exact integer results */
	SIDRA_CHIP_ACCURATE	= 1	/* models cells, wires and ADCs: docs/physics.md */
};

#define SIDRA_CHIP_WORKERS_MAX	256
#define SIDRA_CHIP_STUCK_PPM	1000u		/* default of stuck_ppm */
#define SIDRA_CHIP_STUCK_NONE	0xffffffffu	/* value of stuck_ppm: no stuck cells */

struct sidra_chip_config {
	uint32_t profile;	/* enum sidra_chip_profile */
	uint32_t engine;	/* enum sidra_chip_engine */
	uint32_t workers;	/* threads that share the work of one packet, including the caller of sidra_chip_run(), at most
				   SIDRA_CHIP_WORKERS_MAX; 0: one per CPU */
	uint64_t seed;		/* seeds all random numbers of the model */
	/*
	 * File that keeps cells with their owners and wear, stuck cells, NVM and UUID over power-off; NULL: nothing is kept. If
	 * the file is missing or empty, it is created, and the chip starts in factory state. The chip writes each change to the
	 * file before it completes the packet or command, so killing the process loses nothing. When NVM_WRITE completes, its
	 * data and everything before it are on disk (fdatasync); the rest reaches the disk at sidra_chip_sync() or destroy at the
	 * latest. If the file cannot store a change (for example, the disk is full), the operation fails with BUS as its fault or
	 * result, the cells do not change, and report() says why. Only one chip can use a file at a time. Compaction writes a
	 * temporary file FILE.part beside it.
	 * At level accurate the file also contains conductances, the age of the cells and the seed. Product numbers and the age
	 * are written when cells are programmed, at sidra_chip_sync() and at destroy. A file can be used at one level only.
	 */
	const char *state_file;
	uint32_t level;		/* enum sidra_chip_level */
	uint32_t stuck_ppm;	/* level accurate: share of cells that forming leaves stuck, up to 1,000,000; 0:
				   SIDRA_CHIP_STUCK_PPM; SIDRA_CHIP_STUCK_NONE: none */
	/*
	 * File for a trace of level cycle: packets with the device time and energy of each unit that works for them
	 * (docs/trace.md); NULL: no trace. An existing file is overwritten. If a write fails (for example, the disk is full), the
	 * trace ends, report() says so, and the chip continues.
	 */
	const char *trace_file;
	/*
	 * UUID of a new chip, in the byte order of the registers; all zero: derived from the seed. A state file keeps its own
	 * UUID.
	 */
	uint8_t uuid[16];
};

/*
 * Creates a powered-on chip. Returns 0, or -1 with a text in error (if given) and errno: ENOMEM: not enough memory; ENODEV:
 * invalid configuration (for example, an engine that this CPU lacks, or an unknown profile); for a state file or trace EBUSY:
 * another chip uses it, EACCES: access denied, EINVAL: not a file of this chip; otherwise the error of the system call. The host
 * struct is copied; the objects that it points to must outlive the chip.
 */
int sidra_chip_create(const struct sidra_chip_config *config, const struct sidra_chip_host *host, sidra_chip **chip, char *error,
		      size_t error_size);
/* Stops and frees the chip. No other call may run concurrently or follow. NULL is allowed. */
void sidra_chip_destroy(sidra_chip *chip);

/* Register access, BAR0 only; size 4 or 8, naturally aligned (other reads return 0, other writes are ignored). */
uint64_t sidra_chip_mmio_read(sidra_chip *chip, uint64_t offset, unsigned size);
void sidra_chip_mmio_write(sidra_chip *chip, uint64_t offset, uint64_t value, unsigned size);

/* L3 SRAM behind BAR2, zero at power-on. Valid until destroy. */
uint8_t *sidra_chip_l3(sidra_chip *chip, uint64_t *size);

/*
 * Does a bounded amount of work: one slice of one queue, or a step of an admin command. Returns true if there was work. Returns
 * false if this thread can run nothing now: everything is idle, parked, stopped, in flight or run by other threads, or the host
 * has no memory for it (then sidra_chip_pending() is true). Several threads may call it concurrently.
 */
bool sidra_chip_run(sidra_chip *chip);

/*
 * As sidra_chip_run(), for a thread that waits for a result itself. While no other queue is ready, the thread keeps running its
 * queue for several scheduling turns. Between two turns, after publishing the timeline, the chip calls `stop` to ask whether the
 * thread should return. `stop` must not block.
 */
bool sidra_chip_run_until(sidra_chip *chip, bool (*stop)(void *argument), void *argument);

/* Whether a queue or an admin command is ready and needs a thread. */
bool sidra_chip_pending(sidra_chip *chip);

/*
 * Whether work is in flight: work that sidra_chip_run() has begun and that goes on without it, because the engine is not the
 * host's processor. While there is any, the chip may access memory and call all callbacks, even if no thread is in
 * sidra_chip_run(). When it is done, the chip kicks if there is more to run. NULL is allowed: it has none.
 */
bool sidra_chip_in_flight(const sidra_chip *chip);
/* Waits until no work is in flight. Save, load, destroy and close wait themselves. */
void sidra_chip_settle(sidra_chip *chip);

/*
 * The host time at which the chip needs a call of sidra_chip_run() even without a kick (for a timer of the management core); ~0:
 * never. A delay of half a second is acceptable.
 */
uint64_t sidra_chip_due_ns(sidra_chip *chip);

/*
 * Resets the device as the register does: cells, NVM and L3 contents survive; queues, contexts and registers do not. Waits for
 * running slices and for work in flight.
 */
void sidra_chip_reset(sidra_chip *chip);
/*
 * The same without waiting, and whether or not the link is lost: sidra_chip_run() does it, and STATUS shows when it is done. Any
 * thread.
 */
void sidra_chip_start_reset(sidra_chip *chip);

/*
 * Saves or loads the whole state of a chip: registers, contexts, queues with their positions, cells, NVM and L3. No other
 * function of the chip may run (sidra_chip_run() has returned on every thread). Host memory is not included; it must have the
 * same contents when a loaded chip runs. A loaded chip continues the work that the saved chip had in progress. Knobs keep their
 * values, except that stuck cells are loaded.
 *
 * The callbacks transfer `size` bytes and return false on failure. Profiles and levels must be equal; engine, workers and seed
 * may differ (at level accurate the loaded seed replaces that of the loading chip). Input is not trusted: invalid data returns an
 * error and leaves the chip as after power-on. A state file is rewritten with the loaded state. Both return 0, or -1 (load: with
 * a text in error, if given).
 */
int sidra_chip_save(sidra_chip *chip, bool (*write)(void *opaque, const void *data, size_t size), void *opaque);
int sidra_chip_load(sidra_chip *chip, bool (*read)(void *opaque, void *data, size_t size), void *opaque, char *error, size_t error_size);

/*
 * Saves cells in advance, in parts, while the chip runs: with all crossbars in use they have 1.6 GB at level accurate. After
 * sidra_chip_precopy_begin(), each sidra_chip_precopy_save() writes one part: crossbars that the stream does not have yet, or that have
 * changed since, until the part has `bytes` bytes or no crossbar is left. sidra_chip_precopy_pending() returns an upper bound of the bytes that
 * are left; it grows when the chip programs. sidra_chip_save() then leaves out what the parts have, and ends the precopy;
 * sidra_chip_precopy_end() gives it up instead.
 *
 * The loading chip takes all parts in order with sidra_chip_precopy_load(), and then sidra_chip_load(), which refuses a state of which parts are
 * missing. Part 1 starts over. The chip must not run until the state is loaded. On the loading side, sidra_chip_precopy_end() gives up a state
 * that did not arrive: the chip is then as after power-on.
 *
 * One thread at a time calls these functions. While parts are saved, other threads may call all functions except load, close_state_file and
 * destroy. Results and callbacks are those of save and load.
 */
void sidra_chip_precopy_begin(sidra_chip *chip);
uint64_t sidra_chip_precopy_pending(sidra_chip *chip);
int sidra_chip_precopy_save(sidra_chip *chip, uint64_t bytes, bool (*write)(void *opaque, const void *data, size_t size), void *opaque);
int sidra_chip_precopy_load(sidra_chip *chip, bool (*read)(void *opaque, void *data, size_t size), void *opaque, char *error, size_t error_size);
void sidra_chip_precopy_end(sidra_chip *chip);

/*
 * Writes the state file (if any) to disk, so that it survives a power loss of the host, and flushes the trace to its file.
 * Returns 0, or -1 if the state file could not be written (report() said why) or memory is exhausted.
 */
int sidra_chip_sync(sidra_chip *chip);
/*
 * Syncs and closes the state file, so that another chip can open it. For a host that must keep the chip longer than it runs. No
 * other function of the chip may run; later changes are lost when the chip is destroyed. NULL is allowed.
 */
void sidra_chip_close_state_file(sidra_chip *chip);

/* Writes the summary of the trace and closes it, as destroy does. Any thread. NULL is allowed. */
void sidra_chip_end_trace(sidra_chip *chip);

/*
 * Listens for GDB, which debugs the management core while the chip runs. While the core is halted, the rest of the chip
 * continues. `address`: a port of 127.0.0.1 ("1234" or "tcp:127.0.0.1:1234"; 0: any free port, which report() names), or the path
 * of a Unix socket (with a / in it), which only its owner can access and which is removed at the end. One debugger at a time. A
 * debugger has the privileges of the firmware, including DMA access to host memory. Returns 0, or -1 with a text in error and
 * errno: EINVAL: invalid address; otherwise the error of the system call.
 */
int sidra_chip_gdb_listen(sidra_chip *chip, const char *address, char *error, size_t error_size);
/*
 * Stops listening, as destroy does. A connected debugger is disconnected, and the core continues to run. After the return no
 * thread of the listener calls the host. NULL is allowed. Only one thread at a time may call these two functions.
 */
void sidra_chip_gdb_close(sidra_chip *chip);

/*
 * Data for monitors, in the format of the registers and XBAR_READ. These calls are not counted in telemetry. Any thread.
 * sidra_chip_get_xbars() returns the headers of `count` crossbars, starting with `first`; false: out of range.
 * sidra_chip_xbar_changes() returns a number that changes whenever a header may have changed.
 */
struct sidra_telemetry;
struct sidra_hw_xbar;
void sidra_chip_get_telemetry(sidra_chip *chip, struct sidra_telemetry *telemetry);
bool sidra_chip_get_xbars(sidra_chip *chip, uint32_t first, uint32_t count, struct sidra_hw_xbar *headers);
uint64_t sidra_chip_xbar_changes(const sidra_chip *chip);

/* Name of the engine in use: "scalar", "avx2", "avx-vnni", "avx512", "amx", "neon". */
const char *sidra_chip_engine_name(const sidra_chip *chip);

/* Fault knobs: faults that can be injected, with the same names as QOM properties in QEMU. */
enum sidra_chip_knob {
	SIDRA_KNOB_DMA_ERROR_AT		= 0,	/* n: the n-th DMA translation from now fails; 0: off */
	SIDRA_KNOB_LOSE_MSIX		= 1,	/* n: drops the next n interrupts */
	SIDRA_KNOB_SPURIOUS_MSIX	= 2,	/* v: raises vector v now */
	SIDRA_KNOB_LINK_LOST		= 3,	/* 1: registers read all ones; writes, DMA and interrupts are lost; 0: link
						   restored */
	SIDRA_KNOB_CORRUPT_FETCH	= 4,	/* n: corrupts the n-th packet fetched from now; 0: off */
	SIDRA_KNOB_SLOW_TILE_NS		= 5,	/* delay of each crossbar operation in ns (wall and device time) */
	SIDRA_KNOB_NO_QUIESCE_ACK	= 6,	/* 1: quiesce commands never complete; 2: nor RESET_QUEUE; 3: nor RESET_CONTEXT */
	SIDRA_KNOB_STUCK_CELL		= 7,	/* crossbar << 32 | row << 24 | column << 16 | level: the cell is stuck at the
						   level; ~0: no cell is stuck */
	SIDRA_KNOB_ADC_OFFSET		= 8,	/* s32, added to each MVM sum of a crossbar tile */
	SIDRA_KNOB_STALL		= 9,	/* 1: engines stop (no progress, the device clock continues); 0: they continue */
	SIDRA_KNOB_LIE			= 10,	/* enum sidra_chip_lie: reported once, at the next occasion; 0: cancels a
						   pending one */
	SIDRA_KNOB_FIRMWARE_HANG	= 11,	/* 1: the management core hangs until its watchdog or a reset restarts it */
	SIDRA_KNOB_FIRMWARE_PANIC	= 12,	/* 1: the management core traps */
	SIDRA_KNOB_TEMPERATURE_MC	= 13,	/* ambient temperature, s32, thousandths of a degree Celsius, -55,000 to
						   250,000 (60,000 at power-on); the chip throttles if too hot; level accurate:
						   heat accelerates drift */
	SIDRA_KNOB_AGE_S		= 14,	/* level accurate: ages the cells by this many seconds at that temperature; at
						   most 10^10 */
	SIDRA_KNOB_COUNT
};

/* False values that the chip can report once. What the chip does stays correct. */
enum sidra_chip_lie {
	SIDRA_LIE_NONE			= 0,
	SIDRA_LIE_TIMELINE_AHEAD	= 1,	/* the next published timeline is 2^40 too high */
	SIDRA_LIE_TIMELINE_BACK		= 2,	/* the next published timeline is 0 */
	SIDRA_LIE_RUN_STATE		= 3,	/* the next stored run state of a queue is 77 */
	SIDRA_LIE_FAULT_RECORD		= 4,	/* the next fault record is all ones */
	SIDRA_LIE_ADMIN_STATUS		= 5,	/* ADMIN_STATUS reads busy with a command that was never submitted */
	SIDRA_LIE_ADMIN_RESULT		= 6,	/* the next admin command ends with an undefined result */
	SIDRA_LIE_INT_STATUS		= 7,	/* INT_STATUS reads with all undefined bits set */
	SIDRA_LIE_NEVER_READY		= 8,	/* after the next device reset READY stays clear until another reset */
	SIDRA_LIE_XBAR_HEADERS		= 9,	/* the next XBAR_READ or XBAR_REPORT returns all ones */
	SIDRA_LIE_SHORT_READ		= 10,	/* the next NVM_READ, XBAR_READ or XBAR_REPORT stores nothing and returns OK */
	SIDRA_LIE_NVM			= 11,	/* the next NVM_READ returns all ones */
	SIDRA_LIE_L3_SIZE		= 12,	/* L3_SIZE reads 2^62 */
	SIDRA_LIE_NO_L3			= 13,	/* L3_SIZE reads 0 */
	SIDRA_LIE_GEOMETRY		= 14,	/* GEOMETRY0 reads all ones */
	SIDRA_LIE_CLOCK			= 15,	/* CLOCK reads 2^63 */
	SIDRA_LIE_REPLY			= 16,	/* the next message of the firmware is all ones */
	SIDRA_LIE_REPLY_INDEX		= 17,	/* MAILBOX_REPLY_INDEX reads all ones */
	SIDRA_LIE_COUNT
};
/* Sets a knob. Returns false if the knob or value is not allowed. */
bool sidra_chip_set_knob(sidra_chip *chip, uint32_t knob, uint64_t value);
/* kebab-case name of a knob or a lie; NULL: unknown number */
const char *sidra_chip_knob_name(uint32_t knob);
const char *sidra_chip_lie_name(uint32_t lie);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_CHIP_H */
