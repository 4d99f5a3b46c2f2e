/* SPDX-License-Identifier: MIT */
/*
 * The chip model, as its host sees it: a C interface, so that QEMU (C) and the embedded transport of libsidra (C++) use the
 * same library. The model knows neither QEMU nor Linux: memory, interrupts, time and threads are the host's.
 *
 * Threads. All functions may be called from any thread, but create and destroy, which need the chip to themselves.
 * MMIO handlers only record and wake (`kick`): they never touch memory, never block, never call back except kick, msix and clock.
 * Packets and firmware run in sidra_chip_run(), on threads of the host's choice. No lock of the chip that others wait for is held across a
 * host callback.
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

/* What the chip asks of its host. `self` is passed back to each call. All are required. */
struct sidra_chip_host {
	void *self;

	/*
	 * Host memory at a bus address, for direct access. On success returns a pointer to the byte at `bus` and lowers *length to what is
	 * contiguous; NULL if the device may not access it. Every map is paired with an unmap; the chip holds one for at most
	 * one slice of work, never across an invalidation. `write` says the chip will store to it.
	 */
	void *(*dma_map)(void *self, uint64_t bus, uint64_t *length, bool write);
	void (*dma_unmap)(void *self, void *pointer, uint64_t length, bool write);

	/* 64-bit index, timeline and semaphore words (8-byte aligned); false if the device may not access the address. */
	bool (*load64_acquire)(void *self, uint64_t bus, uint64_t *value);
	/* Atomically word = max(word, value), release. */
	bool (*max64_release)(void *self, uint64_t bus, uint64_t value);

	void (*msix)(void *self, unsigned vector);	/* raise an MSI-X vector; must not block */
	uint64_t (*clock_ns)(void *self);		/* monotonic; the device clock is its distance from creation */
	void (*kick)(void *self);			/* work may be pending: see that sidra_chip_run() gets called; must not block */
	/* A line that a person should see (about the state file or the trace, or where a debugger finds the chip), without the newline; from any thread. */
	void (*report)(void *self, const char *line);
};

enum sidra_chip_profile {
	SIDRA_CHIP_Y1		= 0,	/* 16 clusters x 25 CUs x 16 crossbars, 16 MiB L3 */
	SIDRA_CHIP_SMALL	= 1	/* 1 cluster x 2 CUs x 4 crossbars, 1 MiB L3: for tests */
};

enum sidra_chip_engine {
	SIDRA_CHIP_ENGINE_AUTO		= 0,	/* the fastest that this CPU runs */
	SIDRA_CHIP_ENGINE_SCALAR	= 1,	/* the reference */
	SIDRA_CHIP_ENGINE_AVX2		= 2,
	SIDRA_CHIP_ENGINE_AVX512	= 3,	/* needs AVX-512 VNNI */
	SIDRA_CHIP_ENGINE_NEON		= 4
};

enum sidra_chip_level {
	SIDRA_CHIP_FAST		= 0,	/* exact integers */
	SIDRA_CHIP_ACCURATE	= 1	/* what cells, wires and ADCs make of it: docs/physics.md */
};

#define SIDRA_CHIP_WORKERS_MAX	256
#define SIDRA_CHIP_STUCK_PPM	1000u		/* default of stuck_ppm */
#define SIDRA_CHIP_STUCK_NONE	0xffffffffu	/* as stuck_ppm: none */

struct sidra_chip_config {
	uint32_t profile;	/* enum sidra_chip_profile */
	uint32_t engine;	/* enum sidra_chip_engine */
	uint32_t workers;	/* threads that share the work of one packet, counting the one in sidra_chip_run(), at most
				   SIDRA_CHIP_WORKERS_MAX; 0: one a CPU */
	uint64_t seed;		/* of everything random in the model */
	/*
	 * Where cells with their owners and wear, stuck cells, NVM and UUID survive power-off; NULL: they do not. A file that is empty or
	 * not there is a chip from the factory, and made. Each change is in the file before its packet or command counts as done: a killed
	 * process loses nothing. What NVM_WRITE stored, and all before it, is on disk (fdatasync) when that command is done; the rest at the
	 * latest by sidra_chip_sync() or destroy. What the file cannot take (a full disk) fails, with BUS as its fault or result, and leaves
	 * the cells as they were; report() says why. A file belongs to one chip at a time. It is rewritten beside itself as FILE.part.
	 * At level accurate what cells conduct, their age and the seed are in it, too; numbers of products and the age as of the last
	 * programming, sidra_chip_sync() or destroy. A file is of one level.
	 */
	const char *state_file;
	uint32_t level;		/* enum sidra_chip_level */
	uint32_t stuck_ppm;	/* level accurate: share of cells that forming leaves stuck, up to 1,000,000; 0: SIDRA_CHIP_STUCK_PPM;
				   SIDRA_CHIP_STUCK_NONE: none */
	/*
	 * Level cycle: where packets are written down with the device time and energy of each unit that works for them (docs/trace.md); NULL:
	 * nowhere. The file is begun anew. What it cannot take (a full disk) ends it, which report() says, and the chip goes on.
	 */
	const char *trace_file;
	/* Of a chip from the factory, as the registers have it; all zero: made of the seed. A state file has its own. */
	uint8_t uuid[16];
};

/*
 * Creates a powered-on chip. Returns 0, or -1 with a text in error (if given) and errno: ENOMEM for want of memory, ENODEV for a chip that
 * cannot be (engine not available here, bad profile); and for a state file or trace EBUSY if another chip has it, EACCES if it is not allowed, EINVAL
 * if it is none of this chip, else what the system said. The host struct is copied; what it points to must outlive the chip.
 */
int sidra_chip_create(const struct sidra_chip_config *config, const struct sidra_chip_host *host, sidra_chip **chip, char *error,
		      size_t error_size);
/* Stops and frees. No other call may be running or follow. NULL is allowed. */
void sidra_chip_destroy(sidra_chip *chip);

/* Register access, BAR0 only; size 4 or 8, naturally aligned (anything else reads 0 and is ignored). */
uint64_t sidra_chip_mmio_read(sidra_chip *chip, uint64_t offset, unsigned size);
void sidra_chip_mmio_write(sidra_chip *chip, uint64_t offset, uint64_t value, unsigned size);

/* L3 SRAM behind BAR2, zero at power-on. Valid until destroy. */
uint8_t *sidra_chip_l3(sidra_chip *chip, uint64_t *size);

/*
 * Does a bounded amount of work: one slice of one queue, or a step of an admin command. Returns whether it found any; false means
 * that nothing is runnable now for this thread (all idle, parked, stopped, or run by other threads; or the host has no memory
 * for it, and sidra_chip_pending() says so). Several threads may call it at once.
 */
bool sidra_chip_run(sidra_chip *chip);

/*
 * The same for a thread that waits for something itself. A queue that nobody else waits for keeps a thread for several turns:
 * between two of them `stop` is asked, after the timeline is published, whether the thread is wanted back. It must not block.
 */
bool sidra_chip_run_until(sidra_chip *chip, bool (*stop)(void *argument), void *argument);

/* Whether a queue or an admin command waits for a thread to run it. */
bool sidra_chip_pending(sidra_chip *chip);

/*
 * When, by the host's clock, the chip wants sidra_chip_run() to be called although nobody kicks (its management core has a timer);
 * ~0: never. Half a second late is soon enough.
 */
uint64_t sidra_chip_due_ns(sidra_chip *chip);

/* Reset as by register (cells, NVM and L3 contents survive; queues, contexts, registers do not). Waits for running slices. */
void sidra_chip_reset(sidra_chip *chip);

/*
 * Saves or loads the whole state of a chip: registers, contexts and queues with their positions, cells, NVM, L3. Only while no other
 * function of the chip runs (sidra_chip_run() has returned on every thread); memory of the host is not part of it, and must be the
 * same again when a loaded chip runs. What a saved chip was in the middle of, a loaded one goes on with. Knobs stay as they are, but stuck cells.
 *
 * The callbacks move `size` bytes, or fail with false. Profiles and levels must be equal; engine, workers and seed need not be (at
 * level accurate the loading chip goes on with the saved one's). What is read is not trusted: nonsense gives an error, and the chip is then as
 * after power-on. A state file becomes what was loaded. Both return 0, or -1 (load: with a text in error, if given).
 */
int sidra_chip_save(sidra_chip *chip, bool (*write)(void *opaque, const void *data, size_t size), void *opaque);
int sidra_chip_load(sidra_chip *chip, bool (*read)(void *opaque, void *data, size_t size), void *opaque, char *error, size_t error_size);

/*
 * Sees that the state file, if there is one, is on disk, so that it survives a power loss of the host; and what was traced in its file. 0, or
 * -1: report() said why the state file is not, or there is no memory.
 */
int sidra_chip_sync(sidra_chip *chip);
/*
 * Gives the state file back, on disk, for a host that must keep the chip longer than it runs: another chip may have the file then. Only
 * while no other function of the chip runs; what changes later ends with the chip. NULL is allowed.
 */
void sidra_chip_close_state_file(sidra_chip *chip);

/* Ends the trace, with its summary; destroy does, too. Any thread. NULL is allowed. */
void sidra_chip_end_trace(sidra_chip *chip);

/*
 * Listens for GDB, which debugs the management core while the chip runs; the rest of the chip goes on when the core stands still. `address`:
 * a port of 127.0.0.1 ("1234" or "tcp:127.0.0.1:1234"; 0: any, which report() names), or the path of a Unix socket (with a / in it), which is
 * made for its owner only and removed at the end. One debugger at a time. Whoever gets there is the firmware, and so has what the chip has
 * of its host's memory. 0, or -1 with a text in error and errno: EINVAL for no such address, else what the system said.
 */
int sidra_chip_gdb_listen(sidra_chip *chip, const char *address, char *error, size_t error_size);
/*
 * Ends that; destroy does, too. A debugger that is there is sent away, and the core runs on. Afterwards none of its threads calls the
 * host any more. NULL is allowed. One thread at a time calls these two.
 */
void sidra_chip_gdb_close(sidra_chip *chip);

/*
 * What monitors show, as registers and XBAR_READ have it; nothing counts these looks. Any thread. The headers of crossbars from `first` on,
 * `count` of them; false: there are not as many. sidra_chip_xbar_changes() moves when a header may be another than it was before.
 */
struct sidra_telemetry;
struct sidra_hw_xbar;
void sidra_chip_get_telemetry(sidra_chip *chip, struct sidra_telemetry *telemetry);
bool sidra_chip_get_xbars(sidra_chip *chip, uint32_t first, uint32_t count, struct sidra_hw_xbar *headers);
uint64_t sidra_chip_xbar_changes(const sidra_chip *chip);

/* Name of the engine in use: "scalar", "avx2", "avx512", "neon". */
const char *sidra_chip_engine_name(const sidra_chip *chip);

/* Fault knobs: what can be broken on purpose, under the same names in QEMU (QOM properties) and here. */
enum sidra_chip_knob {
	SIDRA_KNOB_DMA_ERROR_AT		= 0,	/* n: the n-th DMA translation from now on fails; 0 off */
	SIDRA_KNOB_LOSE_MSIX		= 1,	/* n: drop the next n interrupts */
	SIDRA_KNOB_SPURIOUS_MSIX	= 2,	/* v: raise vector v now */
	SIDRA_KNOB_LINK_LOST		= 3,	/* 1: registers read all ones, writes, DMA and interrupts go nowhere; 0: back */
	SIDRA_KNOB_CORRUPT_FETCH	= 4,	/* n: damage the n-th packet fetched from now on; 0 off */
	SIDRA_KNOB_SLOW_TILE_NS		= 5,	/* each crossbar operation takes this much longer (wall and device time) */
	SIDRA_KNOB_NO_QUIESCE_ACK	= 6,	/* 1: quiesce commands never complete; 2: nor RESET_QUEUE; 3: nor RESET_CONTEXT */
	SIDRA_KNOB_STUCK_CELL		= 7,	/* crossbar << 32 | row << 24 | column << 16 | level: that cell keeps the level; ~0: all follow again */
	SIDRA_KNOB_ADC_OFFSET		= 8,	/* s32 added to each MVM sum of a crossbar tile */
	SIDRA_KNOB_STALL		= 9,	/* 1: engines stand still (no progress, device clock goes on); 0: they go on */
	SIDRA_KNOB_LIE			= 10,	/* enum sidra_chip_lie: told once, the next time; 0 takes back what was not told yet */
	SIDRA_KNOB_FIRMWARE_HANG	= 11,	/* 1: the management core does nothing more, until its watchdog or a reset starts it anew */
	SIDRA_KNOB_FIRMWARE_PANIC	= 12,	/* 1: it runs into a trap */
	SIDRA_KNOB_TEMPERATURE_MC	= 13,	/* s32, thousandths of a degree Celsius, -55,000 to 250,000: around the chip from now on (60,000 at
						   power-on); too hot, and it throttles; level accurate: cells drift faster */
	SIDRA_KNOB_AGE_S		= 14,	/* level accurate: lets cells age by so many seconds more, at that temperature; at most 10^10 */
	SIDRA_KNOB_COUNT
};

/* What the chip can be made to say once that is not so. What it does stays right. */
enum sidra_chip_lie {
	SIDRA_LIE_NONE			= 0,
	SIDRA_LIE_TIMELINE_AHEAD	= 1,	/* the next timeline published is 2^40 further on */
	SIDRA_LIE_TIMELINE_BACK		= 2,	/* it is 0 */
	SIDRA_LIE_RUN_STATE		= 3,	/* the next run state of a queue that is stored is 77 */
	SIDRA_LIE_FAULT_RECORD		= 4,	/* the next fault record is all ones */
	SIDRA_LIE_ADMIN_STATUS		= 5,	/* ADMIN_STATUS reads as busy with a command that nobody gave */
	SIDRA_LIE_ADMIN_RESULT		= 6,	/* the next admin command ends with a result that does not exist */
	SIDRA_LIE_INT_STATUS		= 7,	/* INT_STATUS reads as everything that there is not */
	SIDRA_LIE_NEVER_READY		= 8,	/* after the next device reset READY stays clear until there is another */
	SIDRA_LIE_XBAR_HEADERS		= 9,	/* the next XBAR_READ or XBAR_REPORT gives ones */
	SIDRA_LIE_SHORT_READ		= 10,	/* the next NVM_READ, XBAR_READ or XBAR_REPORT stores nothing, and is OK */
	SIDRA_LIE_NVM			= 11,	/* the next NVM_READ gives ones */
	SIDRA_LIE_L3_SIZE		= 12,	/* L3_SIZE reads 2^62 */
	SIDRA_LIE_NO_L3			= 13,	/* it reads 0 */
	SIDRA_LIE_GEOMETRY		= 14,	/* GEOMETRY0 reads ones */
	SIDRA_LIE_CLOCK			= 15,	/* CLOCK reads 2^63 */
	SIDRA_LIE_REPLY			= 16,	/* the next message of the firmware is ones */
	SIDRA_LIE_REPLY_INDEX		= 17,	/* MAILBOX_REPLY_INDEX reads ones */
	SIDRA_LIE_COUNT
};
/* Sets a knob; false if the knob or value is not allowed. */
bool sidra_chip_set_knob(sidra_chip *chip, uint32_t knob, uint64_t value);
/* kebab-case name of a knob, of a lie; NULL if there is none. */
const char *sidra_chip_knob_name(uint32_t knob);
const char *sidra_chip_lie_name(uint32_t lie);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_CHIP_H */
