/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Queue packets of a SIDRA chip: an application (user queue) or the driver (kernel queue) writes
 * them into a ring, and a recorded command buffer (CALL) consists of them.
 *
 * Rules
 * - A packet is 64 bytes, 64-byte aligned, little-endian. Every packet begins with struct
 *   sidra_cmd_header.
 * - Reserved fields, unknown flags and unknown opcodes must be zero/absent: the chip faults the
 *   queue otherwise.
 * - Addresses are device virtual addresses of the queue's context; strides, sizes and offsets are
 *   in bytes.
 * - Packets of a queue execute in order: each one sees the memory effects of all earlier ones of
 *   the same queue. Between queues only SEM_WAIT / SEM_SIGNAL (and the host) order anything.
 * - The packet at ring index i (64 bits, never wraps) has retired when the queue's timeline is
 *   greater than i.
 * - The chip copies a packet once, and checks and executes the copy; rewriting the packet
 *   afterwards changes nothing.
 * - f32 fields hold IEEE-754 binary32 bits.
 *
 * Conversion of a float to an integer, everywhere: rounds to nearest, ties to even, then saturates
 * (to s32 where a zero point is added afterwards, then to the type); NaN becomes 0. A NaN result is
 * 0x7fc00000. If one of two operands is NaN, the result is NaN; likewise a maximum or minimum over
 * a row or window if an element is.
 */
#ifndef SIDRA_CMD_H
#define SIDRA_CMD_H

/*
 * Numbers that the chip reads or writes. In the kernel they are types of their own, whose byte
 * order sparse checks; elsewhere they are those of C, because firmware, model and libsidra are for
 * little-endian machines only.
 */
#ifdef __KERNEL__
#include <linux/types.h>
typedef __le16 sidra_le16;
typedef __le32 sidra_le32;
typedef __le64 sidra_le64;
typedef __le16 sidra_les16;	/* signed, once its bytes are in order */
typedef __le32 sidra_les32;
#else
#include <stdint.h>
typedef uint16_t sidra_le16;
typedef uint32_t sidra_le32;
typedef uint64_t sidra_le64;
typedef int16_t sidra_les16;
typedef int32_t sidra_les32;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a packet, and limits that the chip enforces on one. */
#define SIDRA_CMD_SIZE			64u
#define SIDRA_CMD_CALL_MAX		65536u		/* packets in one CALL */
#define SIDRA_CMD_COPY_MAX		(1ull << 38)	/* bytes moved by one COPY or FILL */
#define SIDRA_CMD_BATCH_MAX		65536u		/* vectors in one MVM */
/* Elements of a pooling window: kernel_h * kernel_w * channels. */
#define SIDRA_CMD_POOL_WINDOW_MAX	(1u << 20)

/**
 * enum sidra_cmd_opcode - packets; the struct of each says what it does
 * @SIDRA_CMD_INVALID: always faults, so a zeroed ring slot is never executed
 * @SIDRA_CMD_NOP: struct sidra_cmd_nop
 * @SIDRA_CMD_BARRIER: struct sidra_cmd_nop
 * @SIDRA_CMD_SEM_WAIT: struct sidra_cmd_sem
 * @SIDRA_CMD_SEM_SIGNAL: struct sidra_cmd_sem
 * @SIDRA_CMD_TIMESTAMP: struct sidra_cmd_timestamp
 * @SIDRA_CMD_COPY: struct sidra_cmd_copy
 * @SIDRA_CMD_FILL: struct sidra_cmd_fill
 * @SIDRA_CMD_MVM: struct sidra_cmd_mvm
 * @SIDRA_CMD_PROGRAM: struct sidra_cmd_weights
 * @SIDRA_CMD_READBACK: struct sidra_cmd_weights
 * @SIDRA_CMD_CALL: struct sidra_cmd_call
 * @SIDRA_CMD_LABEL: struct sidra_cmd_label
 * @SIDRA_CMD_VECTOR: struct sidra_cmd_vector
 * @SIDRA_CMD_MATMUL: struct sidra_cmd_matmul
 * @SIDRA_CMD_LAYER: struct sidra_cmd_layer
 * @SIDRA_CMD_POOL: struct sidra_cmd_pool
 * @SIDRA_CMD_SORT: struct sidra_cmd_sort
 * @SIDRA_CMD_OPCODE_COUNT: one more than the last opcode
 */
enum sidra_cmd_opcode {
	SIDRA_CMD_INVALID	= 0,
	SIDRA_CMD_NOP		= 1,
	SIDRA_CMD_BARRIER	= 2,
	SIDRA_CMD_SEM_WAIT	= 3,
	SIDRA_CMD_SEM_SIGNAL	= 4,
	SIDRA_CMD_TIMESTAMP	= 5,
	SIDRA_CMD_COPY		= 6,
	SIDRA_CMD_FILL		= 7,
	SIDRA_CMD_MVM		= 8,
	/* 9 was VEC until version 2.0; it is not used again */
	SIDRA_CMD_PROGRAM	= 10,
	SIDRA_CMD_READBACK	= 11,
	SIDRA_CMD_CALL		= 12,
	SIDRA_CMD_LABEL		= 13,
	SIDRA_CMD_VECTOR	= 14,
	SIDRA_CMD_MATMUL	= 15,
	SIDRA_CMD_LAYER		= 16,
	SIDRA_CMD_POOL		= 17,
	SIDRA_CMD_SORT		= 18,
	SIDRA_CMD_OPCODE_COUNT
};

/**
 * enum sidra_cmd_type - types of elements
 * @SIDRA_TYPE_U8: unsigned integer of 8 bits
 * @SIDRA_TYPE_S8: signed integer of 8 bits
 * @SIDRA_TYPE_S32: signed integer of 32 bits
 * @SIDRA_TYPE_F32: IEEE-754 binary32
 * @SIDRA_TYPE_S16: signed integer of 16 bits
 * @SIDRA_TYPE_S64: signed integer of 64 bits
 * @SIDRA_TYPE_BOOL: one byte: 0 is false, anything else true; the chip writes 0 and 1
 * @SIDRA_TYPE_F16: IEEE-754 binary16
 * @SIDRA_TYPE_BF16: the upper half of an f32
 * @SIDRA_TYPE_COUNT: number of types
 */
enum sidra_cmd_type {
	SIDRA_TYPE_U8	= 0,
	SIDRA_TYPE_S8	= 1,
	SIDRA_TYPE_S32	= 2,
	SIDRA_TYPE_F32	= 3,
	SIDRA_TYPE_S16	= 4,
	SIDRA_TYPE_S64	= 5,
	SIDRA_TYPE_BOOL	= 6,
	SIDRA_TYPE_F16	= 7,
	SIDRA_TYPE_BF16	= 8,
	SIDRA_TYPE_COUNT
};

/**
 * struct sidra_cmd_header - first 8 bytes of every packet
 * @opcode: enum sidra_cmd_opcode
 * @flags: flags of that opcode; unknown ones fault
 * @pad: zero (MVM, LABEL, LAYER and SORT keep small fields here)
 * @cookie: not interpreted; returned in the packet's report and in a fault record
 */
struct sidra_cmd_header {
	uint8_t    opcode;
	uint8_t    flags;
	sidra_le16 pad;
	sidra_le32 cookie;
};

/**
 * struct sidra_cmd_nop - NOP: does nothing and retires
 * @hdr: header, without flags
 * @reserved: zero
 *
 * BARRIER has the same layout. All earlier packets of the queue are complete, visible to the host
 * and published in the timeline before any later packet starts. (Without a BARRIER the chip may
 * publish the timeline once for several packets.)
 */
struct sidra_cmd_nop {
	struct sidra_cmd_header hdr;
	sidra_le64 reserved[7];
};

/* Flags of SEM_WAIT. */
#define SIDRA_CMD_SEM_QUEUE		0x01	/* timeline of @queue, not the word at @addr */

/**
 * struct sidra_cmd_sem - SEM_WAIT and SEM_SIGNAL; user queues only
 * @hdr: header; flags of WAIT: SIDRA_CMD_SEM_QUEUE or none; of SIGNAL: none
 * @addr: device address of a 64-bit word, 8-byte aligned (zero with SIDRA_CMD_SEM_QUEUE)
 * @value: WAIT: satisfied once the word (unsigned) is >= @value. SIGNAL: the word becomes max(word,
 *         @value), release
 * @queue: queue of the same context (with SIDRA_CMD_SEM_QUEUE; else zero): satisfied once its
 *         timeline is >= @value
 * @epoch: epoch of @queue that @value belongs to (state page; with SIDRA_CMD_SEM_QUEUE not 0, else
 *         0)
 * @reserved: zero
 *
 * A WAIT that is not satisfied parks its queue, which uses no device time and does not count as a
 * hang. The chip evaluates it again when a SEM_SIGNAL of any queue stores to that word, when the
 * named queue's timeline is published or the queue stops, and at each doorbell of the parked queue.
 * So the host signals by a store and a doorbell. A wait for a word whose page is unmapped
 * (QUIESCE_RANGE) faults, whatever is mapped there afterwards.
 *
 * A packet that was dropped never counts as retired. A wait for a point that the named epoch can no
 * longer reach, because its queue faulted, was reset or was destroyed before that point, faults
 * immediately with the cause PRODUCER; the fault record names the queue and the packet where the
 * failure began, also through a chain of queues. A point that was reached before satisfies later
 * waits, too. The chip remembers the last SIDRA_QUEUE_EPOCHS_KEPT former epochs of each queue
 * number until its context or the device is reset. A wait for an epoch that it does not know faults
 * with the cause PEER.
 *
 * Signals only raise the word, so a recorded graph that signals needs higher values for each run.
 */
struct sidra_cmd_sem {
	struct sidra_cmd_header hdr;
	sidra_le64 addr;
	sidra_le64 value;
	sidra_le32 queue;
	sidra_le32 epoch;
	sidra_le64 reserved[4];
};

/**
 * struct sidra_cmd_timestamp - TIMESTAMP: writes struct sidra_timestamp
 * @hdr: header, without flags
 * @addr: device address to write to, 8-byte aligned
 * @reserved: zero
 */
struct sidra_cmd_timestamp {
	struct sidra_cmd_header hdr;
	sidra_le64 addr;
	sidra_le64 reserved[6];
};

/**
 * struct sidra_timestamp - result of TIMESTAMP
 * @clock_ns: device clock, ns since device creation (see SIDRA_REG_CLOCK)
 * @device_ps: time that the chip would have spent on this queue's packets so far (cost model),
 *             picoseconds
 * @energy_pj: energy of these packets, picojoules
 * @sequence: ring index of the packet, or of the CALL that contains it
 */
struct sidra_timestamp {
	sidra_le64 clock_ns;
	sidra_le64 device_ps;
	sidra_le64 energy_pj;
	sidra_le64 sequence;
};

/**
 * struct sidra_cmd_copy - COPY: copies rows of bytes
 * @hdr: header, without flags
 * @dst: device address of the destination
 * @src: device address of the source. The ranges must not overlap
 * @row_bytes: bytes in a row, > 0
 * @rows: number of rows, > 0; 1 is a plain copy
 * @pad: zero
 * @dst_stride: bytes between row starts at @dst, >= @row_bytes; zero when @rows is 1
 * @src_stride: bytes between row starts at @src, >= @row_bytes; zero when @rows is 1
 * @reserved: zero
 *
 * @rows * @row_bytes <= SIDRA_CMD_COPY_MAX.
 */
struct sidra_cmd_copy {
	struct sidra_cmd_header hdr;
	sidra_le64 dst;
	sidra_le64 src;
	sidra_le64 row_bytes;
	sidra_le32 rows;
	sidra_le32 pad;
	sidra_le64 dst_stride;
	sidra_le64 src_stride;
	sidra_le64 reserved;
};

/**
 * struct sidra_cmd_fill - FILL: repeats a pattern over [@dst, @dst + @bytes)
 * @hdr: header, without flags
 * @dst: device address of the destination, a multiple of @pattern_bytes
 * @bytes: bytes to write, a multiple of @pattern_bytes; > 0, at most SIDRA_CMD_COPY_MAX
 * @pattern: the pattern in the low @pattern_bytes bytes; the others are zero
 * @pattern_bytes: bytes of the pattern: 1, 2, 4 or 8
 * @pad: zero
 * @reserved: zero
 */
struct sidra_cmd_fill {
	struct sidra_cmd_header hdr;
	sidra_le64 dst;
	sidra_le64 bytes;
	sidra_le64 pattern;
	sidra_le32 pattern_bytes;
	sidra_le32 pad;
	sidra_le64 reserved[3];
};

/* Field @types of an MVM: input type in the low four bits, output type in the high four. */
#define SIDRA_MVM_TYPES(in, out)	((uint8_t)((in) | ((out) << 4)))

/**
 * struct sidra_cmd_mvm - MVM: @batch input vectors times one weights object
 * @opcode: SIDRA_CMD_MVM
 * @flags: SIDRA_CMD_MVM_CALIBRATE or none
 * @types: SIDRA_MVM_TYPES(in_type, out_type): input U8, S8 or F32; output S32, S8, U8 or F32
 * @out_zero: added to an S8 (as s8) or U8 output before saturation; zero otherwise
 * @cookie: as in struct sidra_cmd_header
 * @weights: index in the context's weights table; K rows (inputs), N columns (outputs)
 * @in_zero: input code that represents 0: 0..255 (U8; F32, after quantisation to U8), -128..127
 *           (S8)
 * @batch: number of input vectors, 1..SIDRA_CMD_BATCH_MAX
 * @in: device address of @batch x K elements, row b at @in + b * @in_stride; F32 is 4-byte aligned
 * @out: device address of @batch x N elements, row b at @out + b * @out_stride; S32 and F32 are
 *       4-byte aligned. Must not overlap the input
 * @in_stride: bytes between input rows, >= K * element size, and a multiple of the element size.
 *             Also required when @batch is 1
 * @out_stride: bytes between output rows, >= N * element size, and a multiple of the element size.
 *              Also required when @batch is 1
 * @scale: device address of N f32 per-column factors s[n], 4-byte aligned; 0: all 1. Zero for S32
 *         output
 * @bias: device address of N s32 b[n], 4-byte aligned; 0: none
 * @in_scale: f32 bits, finite, > 0; zero bits mean 1. Zero for U8 and S8 input with S32 output
 * @out_factor: f32 bits, finite, > 0; zero bits mean 1. Zero for S32 output
 *
 *   q[b][k]   = in (U8, S8), or saturate_u8(rne(in * (1 / in_scale)) + in_zero) (F32; all in f32)
 *   acc[b][n] = b[n] + sum over k of (q[b][k] - in_zero) * w[k][n]          exact, modulo 2^32
 *   S32:      out = acc
 *   F32:      out = f32(acc) * ((in_scale * out_factor) * s[n])
 *   S8, U8:   out = saturate(rne(f32(acc) * ((in_scale * out_factor) * s[n])) + out_zero)
 *
 * CALIBRATE sets the range of the ADCs of the object's crossbars to what these vectors need, with a
 * margin. Without it the range follows each product. The setting is valid until the next CALIBRATE,
 * or until cells are programmed again. It needs the right to program. Other queues that use the
 * object meanwhile compute with either range. At level `fast` it has no effect.
 */
struct sidra_cmd_mvm {
	uint8_t     opcode;
	uint8_t     flags;
	uint8_t     types;
	uint8_t     out_zero;
	sidra_le32  cookie;
	sidra_le16  weights;
	sidra_les16 in_zero;
	sidra_le32  batch;
	sidra_le64  in;
	sidra_le64  out;
	sidra_le32  in_stride;
	sidra_le32  out_stride;
	sidra_le64  scale;
	sidra_le64  bias;
	sidra_le32  in_scale;
	sidra_le32  out_factor;
};

#define SIDRA_CMD_MVM_CALIBRATE	0x01	/* sets the range of the ADCs from the input vectors */

/* PROGRAM without data: reprograms cells that have left their programmed levels. */
#define SIDRA_CMD_PROGRAM_REFRESH	0x01
#define SIDRA_CMD_REFRESH_PPM		30000u	/* used if @tolerance_ppm is zero */

/**
 * struct sidra_cmd_weights - PROGRAM and READBACK of a rectangle of a weights object
 * @hdr: header; flags of PROGRAM: SIDRA_CMD_PROGRAM_REFRESH or none; of READBACK: none
 * @weights: index in the context's weights table
 * @pad: zero
 * @row0: first row (input) of the rectangle
 * @rows: number of its rows, > 0; @row0 + @rows is at most the object's number of rows
 * @col0: first column (output) of the rectangle
 * @cols: number of its columns, > 0; @col0 + @cols is at most the object's number of columns
 * @addr: device address of @rows x @cols s8 weights, row r at @addr + r * @stride
 * @stride: bytes between rows, >= @cols
 * @tolerance_ppm: REFRESH: allowed deviation of a cell, in millionths of G_max, at most 1,000,000;
 *                 0: SIDRA_CMD_REFRESH_PPM. Otherwise zero
 * @reserved: zero
 *
 * PROGRAM writes cells until they hold the weights' levels (level `fast`: exactly). It first erases
 * a tile that this object has not programmed yet. A row of a tile counts as programmed once a
 * PROGRAM has covered all its used columns; only then may another PROGRAM cover some of them. MVM
 * and READBACK of a row that is not programmed fault. Differential objects cannot hold -128: such a
 * PROGRAM faults before it changes anything in that tile. The chip programs the rectangle tile by
 * tile. After a fault, earlier tiles stay programmed; the progress counter shows how many.
 *
 * REFRESH (@addr and @stride are zero) reads the cells, and programs those again that deviate from
 * their levels by more than the tolerance. All rows must be programmed by this object. At level
 * `fast` it takes the time of the reads, and changes nothing.
 */
struct sidra_cmd_weights {
	struct sidra_cmd_header hdr;
	sidra_le32 weights;
	sidra_le32 pad;
	sidra_le32 row0, rows;
	sidra_le32 col0, cols;
	sidra_le64 addr;
	sidra_le32 stride;
	sidra_le32 tolerance_ppm;
	sidra_le64 reserved[2];
};

/**
 * struct sidra_cmd_call - CALL: executes recorded packets, as one packet of the ring
 * @hdr: header, without flags
 * @addr: device address of the packets, 64-byte aligned
 * @count: number of packets, 1..SIDRA_CMD_CALL_MAX
 * @pad: zero
 * @reserved: zero
 *
 * CALL inside CALL faults. The packets are read when executed.
 */
struct sidra_cmd_call {
	struct sidra_cmd_header hdr;
	sidra_le64 addr;
	sidra_le32 count;
	sidra_le32 pad;
	sidra_le64 reserved[5];
};

#define SIDRA_CMD_LABEL_TEXT		56u	/* bytes of the text of a LABEL */
#define SIDRA_CMD_LABEL_WEIGHTS		0x01	/* the text names @weights, not an operation */

/**
 * struct sidra_cmd_label - LABEL: a name that a trace of the chip shows
 * @opcode: SIDRA_CMD_LABEL
 * @flags: SIDRA_CMD_LABEL_WEIGHTS or none
 * @weights: WEIGHTS: index in the context's weights table; else zero
 * @cookie: as in struct sidra_cmd_header
 * @text: UTF-8. A text that is shorter than the field ends with zero bytes, and nothing follows
 *        them
 *
 * Without a flag, the text is the name of the operation to which the packets that follow in the
 * queue belong, until the next LABEL; an empty text ends it. In a CALL it is valid until the CALL
 * ends; then the name from before the CALL is valid again. WEIGHTS: packets of any queue that use
 * the weights object carry its name from then on. An index without an object names nothing.
 *
 * A LABEL changes no result, takes no device time and no energy. A chip without SIDRA_FEATURE_TRACE
 * ignores the text, so a program need not send it one.
 */
struct sidra_cmd_label {
	uint8_t    opcode;
	uint8_t    flags;
	sidra_le16 weights;
	sidra_le32 cookie;
	char       text[SIDRA_CMD_LABEL_TEXT];
};

#define SIDRA_OPERAND_DIMS	4u
#define SIDRA_OPERAND_WRITE	0x01	/* the program may store to it */

/**
 * struct sidra_operand - an array in memory, as the packets with operand tables see it
 * @addr: device address of element 0, aligned to the element's size
 * @stride: bytes between neighbours in each dimension, outermost first; 0: the same element for the
 *          whole dimension. Multiples of the element's size. In all dimensions together they stay
 *          inside the context's addresses
 * @index: device address of indices, aligned to their size; 0: none. Dimension 2 is then read at
 *         index[r] for row r of all rows, instead of at its own coordinate:
 *         0 <= index[r] < @extent, else the queue faults
 * @extent: with @index, or if the program gathers from or scatters to the operand: number of valid
 *          indices; else zero. Not both
 * @type: enum sidra_cmd_type
 * @flags: SIDRA_OPERAND_WRITE or none
 * @index_type: with @index: SIDRA_TYPE_S32 or SIDRA_TYPE_S64; else zero
 * @pad: zero
 * @reserved: zero
 *
 * Rows that are written at indices, or scattered to, are computed one after another in ascending
 * order, so of equal indices the last one stays, and a program that loads and stores at the same
 * index accumulates.
 */
struct sidra_operand {
	sidra_le64 addr;
	sidra_le64 stride[SIDRA_OPERAND_DIMS];
	sidra_le64 index;
	sidra_le32 extent;
	uint8_t    type;
	uint8_t    flags;
	uint8_t    index_type;
	uint8_t    pad;
	sidra_le64 reserved;
};

#define SIDRA_VECTOR_PARAMS	4u

/**
 * struct sidra_cmd_vector - VECTOR: executes a vector program (uapi/sidra_vector.h) on rows of
 * memory
 * @hdr: header, without flags
 * @program: device address of the instructions (struct sidra_vector_instruction), 16-byte aligned
 * @operands: device address of the operands (struct sidra_operand), 8-byte aligned
 * @size: the iteration space, outermost dimension first; all > 0. size[3]: columns. Limits:
 *        SIDRA_VECTOR_SIZE_MAX, SIDRA_VECTOR_ELEMENTS_MAX, SIDRA_VECTOR_ROW_COST_MAX,
 *        SIDRA_VECTOR_ROW_BYTES_MAX
 * @param: parameters of the program: bits of an f32 or s32
 * @instructions: number of instructions, 1..SIDRA_VECTOR_INSTRUCTIONS_MAX
 * @operand_count: number of operands, 0..SIDRA_VECTOR_OPERANDS_MAX; the program uses each of them
 * @reserved: zero
 *
 * The chip copies program and operands once, and verifies the copies. An operand that is written is
 * the same array as another operand (address, strides, type, index and extent), or no byte of it
 * belongs to another one; the chip accepts what it can see to be so: arrays without common bytes
 * between their first and last, or with equal strides in dimensions 0 to 2 and rows that do not
 * meet. It belongs to no index array. No two elements of a written operand share bytes: sorted by
 * their strides, each dimension lies inside a step of the next one. This does not hold for operands
 * of SCATTER, and of an operand with @index only for the elements of one row.
 *
 * A program accesses each operand in one way: by vector loads and stores, by scalar loads and
 * stores, or by GATHER and SCATTER.
 *
 * A program, an operand or an iteration space that is refused faults the queue with PROGRAM, and
 * changes nothing; the fault's address says what is wrong: SIDRA_PROGRAM_FAULT().
 */
struct sidra_cmd_vector {
	struct sidra_cmd_header hdr;
	sidra_le64 program;
	sidra_le64 operands;
	sidra_le32 size[SIDRA_OPERAND_DIMS];
	sidra_le32 param[SIDRA_VECTOR_PARAMS];
	sidra_le16 instructions;
	sidra_le16 operand_count;
	sidra_le32 reserved;
};

/*
 * Numbers of operands that a program of MATMUL or LAYER uses besides those of the table. Their rows
 * are those of the packet.
 */
#define SIDRA_OPERAND_SUMS	0x40	/* loads: what was multiplied; f32 or s32 */
#define SIDRA_OPERAND_CODES	0x41	/* stores of a prologue: what is multiplied; u8 or s8 */
#define SIDRA_OPERAND_INPUT	0x42	/* loads of a prologue: input row, in the pattern's type */

#define SIDRA_MATMUL_INNER_MAX	16384u	/* k */
/* If the program cannot be divided by columns: */
#define SIDRA_MATMUL_ROW_MAX	16384u		/* n */
#define SIDRA_MATMUL_ROW_COST_MAX (1u << 20)	/* n * cost; see SIDRA_VECTOR_COST_ */
#define SIDRA_MATMUL_BATCH_DIMS	2u

/**
 * struct sidra_cmd_matmul - MATMUL: products of two matrices in memory, and a vector program on
 * their rows
 * @hdr: header, without flags
 * @program: device address of the program, 16-byte aligned
 * @operands: device address of the operands, 8-byte aligned. 0 and 1 are the factors A and B; the
 *            program has those from 2 on
 * @m: rows of A and of the product C, > 0
 * @n: columns of B and of the product C, > 0
 * @k: columns of A and rows of B, 1..SIDRA_MATMUL_INNER_MAX
 * @batch: number of products, in two dimensions, outermost first; both > 0
 * @param: parameters of the program: bits of an f32 or s32
 * @instructions: number of instructions, 1..SIDRA_VECTOR_INSTRUCTIONS_MAX
 * @operand_count: number of operands, with the factors; 2..SIDRA_VECTOR_OPERANDS_MAX
 *
 *   C[m][n] = sum over k of A[m][k] * B[k][n]
 *
 * Strides of A: batch[0], batch[1], row (m), column (k). Strides of B: batch[0], batch[1], row (k),
 * column (n). One of the two inner strides of a factor is the element's size or 0, or has only one
 * element. So a factor may be transposed, a slice, or repeated. Factors have no index and no flags,
 * and A and B have the type F32, F16 or BF16 (also mixed), or U8 or S8 (also mixed).
 *
 *   F32, F16, BF16: C is f32: fma(A[m][k], B[k][n], sum) for k in ascending order, from +0.
 *                   A NaN is 0x7fc00000
 *   U8, S8:         C is s32, modulo 2^32
 *
 * The program's iteration space is {batch[0], batch[1], m, n}. It loads C as operand
 * SIDRA_OPERAND_SUMS, and stores what it makes of it. The limits of VECTOR hold; if the program
 * cannot be divided by columns, those of SIDRA_MATMUL_ROW_ hold, too. What the program stores to
 * has no byte between the first and the last byte of a factor.
 */
struct sidra_cmd_matmul {
	struct sidra_cmd_header hdr;
	sidra_le64 program;
	sidra_le64 operands;
	sidra_le32 m, n, k;
	sidra_le32 batch[SIDRA_MATMUL_BATCH_DIMS];
	sidra_le32 param[SIDRA_VECTOR_PARAMS];
	sidra_le16 instructions;
	sidra_le16 operand_count;
};

#define SIDRA_PATTERN_DIMS		3u
#define SIDRA_PATTERN_IMAGE_MAX		(1u << 30)	/* height, width */
#define SIDRA_PATTERN_KERNEL_MAX	256u		/* kernel_h, kernel_w */
#define SIDRA_PATTERN_CHANNELS_MAX	(1u << 24)

/**
 * struct sidra_pattern - windows of images: the input rows of a LAYER, and what a POOL combines
 * @addr: device address of element (image 0, pixel row 0, pixel 0, channel 0), aligned to the
 *        element's size
 * @image_stride: bytes between images, a multiple of the element's size
 * @row_stride: bytes between pixel rows, a multiple of the element's size
 * @pixel_stride: bytes between pixels, a multiple of the element's size
 * @height: pixel rows of an image, 1..SIDRA_PATTERN_IMAGE_MAX
 * @width: pixels of a pixel row, 1..SIDRA_PATTERN_IMAGE_MAX
 * @kernel_h: pixel rows of a window, 1..SIDRA_PATTERN_KERNEL_MAX
 * @kernel_w: pixels of a row of a window, 1..SIDRA_PATTERN_KERNEL_MAX
 * @stride_h: pixel rows between windows, 1..65535
 * @stride_w: pixels between windows of a row, 1..65535
 * @pad_h: pixel rows by which the first window begins before the image
 * @pad_w: pixels by which the first window of a row begins before the image
 * @dilation_h: pixel rows between the rows of a window, 1..65535; 1: they are adjacent
 * @dilation_w: pixels between the pixels of a row of a window, 1..65535; 1: they are adjacent
 * @channels: elements of a pixel, adjacent in memory; 1..SIDRA_PATTERN_CHANNELS_MAX
 * @type: enum sidra_cmd_type
 * @codes: LAYER: type of the codes, SIDRA_TYPE_U8 or SIDRA_TYPE_S8. Else zero
 * @zero: LAYER: the code that represents 0, a value of that type. Else zero
 *
 * Window (image, y, x) has pixel (i, j) of the kernel at pixel row y * stride_h + i * dilation_h -
 * pad_h and pixel x * stride_w + j * dilation_w - pad_w. What is not inside the image is padding,
 * is not read, and may be anywhere after the image, too. Elements are in the order [i][j][channel].
 * A matrix is a pattern of one image of height 1, whose pixels are the rows. The whole of an image,
 * from the first to the last byte that windows may read, is inside the context's addresses. Strides
 * may be 0, or less than what they step over, because this memory is only read.
 */
struct sidra_pattern {
	sidra_le64  addr;
	sidra_le64  image_stride, row_stride, pixel_stride;
	sidra_le32  height, width;
	sidra_le16  kernel_h, kernel_w;
	sidra_le16  stride_h, stride_w;
	sidra_le16  pad_h, pad_w;
	sidra_le16  dilation_h, dilation_w;
	sidra_le32  channels;
	uint8_t     type;
	uint8_t     codes;
	sidra_les16 zero;
};

#define SIDRA_LAYER_ROWS_MAX	(1u << 24)
#define SIDRA_LAYER_KERNEL_MAX	4096u		/* kernel_h * kernel_w */
/*
 * Columns * cost (SIDRA_VECTOR_COST_) of a prologue, and of an epilogue that cannot be divided by
 * columns.
 */
#define SIDRA_LAYER_ROW_COST_MAX (1u << 18)

/**
 * struct sidra_cmd_layer - LAYER: an MVM whose input rows are windows, with vector programs before
 * and after it
 * @opcode: SIDRA_CMD_LAYER
 * @flags: SIDRA_CMD_MVM_CALIBRATE or none
 * @weights: index in the context's weights table; K rows (inputs), N columns (outputs)
 * @cookie: as in struct sidra_cmd_header
 * @program: device address of the programs, 16-byte aligned: first the prologue, then the epilogue
 * @operands: device address of the operands of both programs, 8-byte aligned; each belongs to one
 *            of the programs
 * @pattern: device address of struct sidra_pattern, 8-byte aligned; K is
 *           kernel_h * kernel_w * channels
 * @size: images, and windows of an image: rows and columns of them; > 0, in all at most
 *        SIDRA_LAYER_ROWS_MAX
 * @param: parameters of both programs: bits of an f32 or s32
 * @prologue: instructions of the prologue; 0: none. The pattern's type is then that of the codes
 * @epilogue: instructions of the epilogue, > 0; at most SIDRA_VECTOR_INSTRUCTIONS_MAX in both
 *            together
 * @operand_count: number of operands, 0..SIDRA_VECTOR_OPERANDS_MAX
 * @pad: zero
 *
 * The prologue has the iteration space {size[0], size[1], size[2], K}. It loads the window as
 * operand SIDRA_OPERAND_INPUT (padding is 0), and stores SIDRA_OPERAND_CODES; it stores nothing
 * else, and gathers from neither. Then, for each row,
 *
 *   sum[n] = sum over k of (code[k] - zero) * w[k][n]          exact, modulo 2^32
 *
 * Without a prologue the codes are the window, and padding has the code @zero. The epilogue has the
 * iteration space {size[0], size[1], size[2], N}. It loads the sums as operand SIDRA_OPERAND_SUMS
 * (s32). Scalar registers that the prologue wrote keep their value. What the epilogue stores to has
 * no byte between the first and the last byte that windows may read, nor of an operand of the
 * prologue, nor of its indices. The limits of VECTOR hold for both programs, and
 * SIDRA_LAYER_ROW_COST_MAX. CALIBRATE, and what a weights object needs, are as in an MVM.
 */
struct sidra_cmd_layer {
	uint8_t    opcode;
	uint8_t    flags;
	sidra_le16 weights;
	sidra_le32 cookie;
	sidra_le64 program;
	sidra_le64 operands;
	sidra_le64 pattern;
	sidra_le32 size[SIDRA_PATTERN_DIMS];
	sidra_le32 param[SIDRA_VECTOR_PARAMS];
	uint8_t    prologue;
	uint8_t    epilogue;
	uint8_t    operand_count;
	uint8_t    pad;
};

/**
 * enum sidra_pool_op - how POOL combines the pixels of a window
 * @SIDRA_POOL_MAX: [any type but S64 and BOOL -> same] NaN if an element is; +0 is greater than -0
 * @SIDRA_POOL_ARGMAX: [as MAX -> S32] pixel row * width + pixel of the first largest element, or of
 *                     the first NaN
 * @SIDRA_POOL_AVERAGE: [F32, F16, BF16 -> same] divides by the pixels inside the image
 * @SIDRA_POOL_AVERAGE_ALL: [F32, F16, BF16 -> same] divides by kernel_h * kernel_w
 * @SIDRA_POOL_OP_COUNT: one more than the last operation
 */
enum sidra_pool_op {
	SIDRA_POOL_MAX		= 1,
	SIDRA_POOL_ARGMAX	= 2,
	SIDRA_POOL_AVERAGE	= 3,
	SIDRA_POOL_AVERAGE_ALL	= 4,
	SIDRA_POOL_OP_COUNT
};

/**
 * struct sidra_cmd_pool - POOL: combines the pixels of each window, for each channel
 * @hdr: header, without flags
 * @pattern: device address of struct sidra_pattern, 8-byte aligned. Each window has a pixel inside
 *           the image
 * @out: device address of element (0, 0, 0, channel 0), aligned to its size; channels are adjacent
 * @out_stride: bytes between images, rows of windows, windows; as for an operand that is written:
 *              sorted by size, each one is at least what lies inside a step
 * @size: images, and windows of an image: rows and columns; > 0, in all at most
 *        SIDRA_LAYER_ROWS_MAX
 * @op: enum sidra_pool_op
 * @pad: zero
 *
 * An average is the sum of the window's pixels in their order, in f32 from +0, divided by their
 * number as an f32, and rounded to the type. A window has at most SIDRA_CMD_POOL_WINDOW_MAX
 * elements of all channels. The output has no byte between the first and the last byte that windows
 * may read.
 */
struct sidra_cmd_pool {
	struct sidra_cmd_header hdr;
	sidra_le64 pattern;
	sidra_le64 out;
	sidra_le64 out_stride[SIDRA_PATTERN_DIMS];
	sidra_le32 size[SIDRA_PATTERN_DIMS];
	uint8_t    op;
	uint8_t    pad[3];
};

#define SIDRA_SORT_ROWS_MAX	(1u << 24)
#define SIDRA_SORT_COLS_MAX	65536u
#define SIDRA_SORT_DESCENDING	0x01	/* flag: largest first */

/**
 * struct sidra_cmd_sort - SORT: the first elements of each row, in order
 * @opcode: SIDRA_CMD_SORT
 * @flags: SIDRA_SORT_DESCENDING or none
 * @type: of the elements: enum sidra_cmd_type
 * @index_type: of @indices: SIDRA_TYPE_S32 or SIDRA_TYPE_S64; zero without them
 * @cookie: as in struct sidra_cmd_header
 * @in: device address of @rows x @cols elements
 * @values: device address of @rows x @count elements; 0: not wanted
 * @indices: device address of @rows x @count columns where these elements were; 0: not wanted, but
 *           then there are values
 * @in_stride: bytes between rows of @in, at least a row, a multiple of the element's size
 * @values_stride: bytes between rows of @values, at least a row, a multiple of the element's size;
 *                 0 if they are not wanted
 * @indices_stride: bytes between rows of @indices, at least a row, a multiple of the index's size;
 *                  0 if they are not wanted
 * @rows: number of rows, 1..SIDRA_SORT_ROWS_MAX
 * @cols: elements of a row, 1..SIDRA_SORT_COLS_MAX
 * @count: 1..@cols: how many of the first elements are wanted
 * @reserved: zero
 *
 * Equal elements stay in their order (also -0 and +0, and NaN). NaN is greater than every number. A
 * BOOL is 0 or 1. Values are copied with their bits. No output has a byte between the first and the
 * last byte of another output or of the input.
 */
struct sidra_cmd_sort {
	uint8_t    opcode;
	uint8_t    flags;
	uint8_t    type;
	uint8_t    index_type;
	sidra_le32 cookie;
	sidra_le64 in;
	sidra_le64 values;
	sidra_le64 indices;
	sidra_le32 in_stride;
	sidra_le32 values_stride;
	sidra_le32 indices_stride;
	sidra_le32 rows;
	sidra_le32 cols;
	sidra_le32 count;
	sidra_le64 reserved;
};

/*
 * Address of a fault with cause PROGRAM: why (enum sidra_program_error), and which instruction and
 * operand, or SIDRA_PROGRAM_NONE.
 */
#define SIDRA_PROGRAM_NONE	0xffu
#define SIDRA_PROGRAM_FAULT(why, instruction, operand) \
	((uint64_t)(why) << 16 | (uint64_t)(operand) << 8 | (uint64_t)(instruction))

/**
 * enum sidra_program_error - why the chip refuses a vector program
 * @SIDRA_PROGRAM_OK: not refused
 * @SIDRA_PROGRAM_OP: unknown opcode
 * @SIDRA_PROGRAM_FIELD: unknown flag, or a field that must be zero is not
 * @SIDRA_PROGRAM_DESTINATION: not a register, or of the wrong kind
 * @SIDRA_PROGRAM_SOURCE: not a source, or not allowed for this instruction
 * @SIDRA_PROGRAM_UNDEFINED: a source that was not written before, or only in the same or a former
 *                           pass
 * @SIDRA_PROGRAM_TYPE: a source of the other type
 * @SIDRA_PROGRAM_ORDER: a vector instruction after a scalar one, or the first instruction without
 *                       PASS
 * @SIDRA_PROGRAM_OPERAND: no such operand, or not for this instruction
 * @SIDRA_PROGRAM_OPERAND_FIELD: a field of the operand is not allowed
 * @SIDRA_PROGRAM_OPERAND_TYPE: the instruction does not take elements of this type
 * @SIDRA_PROGRAM_OPERAND_ALIGNMENT: address or stride of the operand misaligned
 * @SIDRA_PROGRAM_OPERAND_RANGE: reaches beyond all addresses
 * @SIDRA_PROGRAM_OPERAND_OVERLAP: written, and overlaps another operand or itself
 * @SIDRA_PROGRAM_SIZE: the iteration space is empty or too large
 * @SIDRA_PROGRAM_ROW_COST: rows too long for a program that cannot be divided by columns
 * @SIDRA_PROGRAM_LENGTH: number of instructions or operands
 * @SIDRA_PROGRAM_OPERAND_UNUSED: the program does not use the operand
 * @SIDRA_PROGRAM_OPERAND_WRITE: stored to without WRITE, or has WRITE and is not stored to
 * @SIDRA_PROGRAM_OPERAND_WAYS: accessed in more than one way, or by both programs of a LAYER
 * @SIDRA_PROGRAM_ERROR_COUNT: number of reasons
 */
enum sidra_program_error {
	SIDRA_PROGRAM_OK		= 0,
	SIDRA_PROGRAM_OP		= 1,
	SIDRA_PROGRAM_FIELD		= 2,
	SIDRA_PROGRAM_DESTINATION	= 3,
	SIDRA_PROGRAM_SOURCE		= 4,
	SIDRA_PROGRAM_UNDEFINED		= 5,
	SIDRA_PROGRAM_TYPE		= 6,
	SIDRA_PROGRAM_ORDER		= 7,
	SIDRA_PROGRAM_OPERAND		= 8,
	SIDRA_PROGRAM_OPERAND_FIELD	= 9,
	SIDRA_PROGRAM_OPERAND_TYPE	= 10,
	SIDRA_PROGRAM_OPERAND_ALIGNMENT	= 11,
	SIDRA_PROGRAM_OPERAND_RANGE	= 12,
	SIDRA_PROGRAM_OPERAND_OVERLAP	= 13,
	SIDRA_PROGRAM_SIZE		= 14,
	SIDRA_PROGRAM_ROW_COST		= 15,
	SIDRA_PROGRAM_LENGTH		= 16,
	SIDRA_PROGRAM_OPERAND_UNUSED	= 17,
	SIDRA_PROGRAM_OPERAND_WRITE	= 18,
	SIDRA_PROGRAM_OPERAND_WAYS	= 19,
	SIDRA_PROGRAM_ERROR_COUNT
};

/**
 * union sidra_cmd - any packet
 * @hdr: what all packets begin with
 * @nop: NOP and BARRIER
 * @sem: SEM_WAIT and SEM_SIGNAL
 * @timestamp: TIMESTAMP
 * @copy: COPY
 * @fill: FILL
 * @mvm: MVM
 * @weights: PROGRAM and READBACK
 * @call: CALL
 * @label: LABEL
 * @vector: VECTOR
 * @matmul: MATMUL
 * @layer: LAYER
 * @pool: POOL
 * @sort: SORT
 * @raw: the 64 bytes as words
 */
union sidra_cmd {
	struct sidra_cmd_header    hdr;
	struct sidra_cmd_nop       nop;
	struct sidra_cmd_sem       sem;
	struct sidra_cmd_timestamp timestamp;
	struct sidra_cmd_copy      copy;
	struct sidra_cmd_fill      fill;
	struct sidra_cmd_mvm       mvm;
	struct sidra_cmd_weights   weights;
	struct sidra_cmd_call      call;
	struct sidra_cmd_label     label;
	struct sidra_cmd_vector    vector;
	struct sidra_cmd_matmul    matmul;
	struct sidra_cmd_layer     layer;
	struct sidra_cmd_pool      pool;
	struct sidra_cmd_sort      sort;
	sidra_le64                 raw[8];
};

/**
 * struct sidra_report - the chip writes one for each retired ring packet, if the queue has a report
 * ring
 * @sequence: ring index of the packet; written last
 * @device_ps: time the chip would have taken (cost model), picoseconds; never mixed with wall time
 * @energy_pj: energy, picojoules
 * @cookie: the packet's cookie
 * @opcode: the packet's opcode
 * @cause: enum sidra_fault_cause; 0 is success
 */
struct sidra_report {
	sidra_le64 sequence;
	sidra_le64 device_ps;
	sidra_le64 energy_pj;
	sidra_le32 cookie;
	sidra_le16 opcode;
	sidra_le16 cause;
};

/**
 * enum sidra_fault_cause - why a queue stopped
 * @SIDRA_FAULT_NONE: no fault
 * @SIDRA_FAULT_OPCODE: unknown opcode
 * @SIDRA_FAULT_FIELD: reserved field or unknown flag set, or a field's value not allowed
 * @SIDRA_FAULT_ALIGNMENT: address or stride misaligned
 * @SIDRA_FAULT_LIMIT: size, count or range beyond a limit, or it wraps
 * @SIDRA_FAULT_TRANSLATION: address not mapped, or page tables malformed
 * @SIDRA_FAULT_PERMISSION: page rights do not allow the access
 * @SIDRA_FAULT_BUS: the host refused the DMA
 * @SIDRA_FAULT_WEIGHTS: no such weights object, or no longer the one with which the packet began
 * @SIDRA_FAULT_WEIGHTS_RIGHTS: the object's rights do not allow the operation
 * @SIDRA_FAULT_UNPROGRAMMED: a tile that this object has not programmed
 * @SIDRA_FAULT_VALUE: data out of range (index, weight not encodable, window outside the image)
 * @SIDRA_FAULT_CALL: CALL inside CALL
 * @SIDRA_FAULT_NOT_ALLOWED: packet not allowed in this kind of queue
 * @SIDRA_FAULT_PEER: a waited-for queue or epoch does not exist, or ended too long ago
 * @SIDRA_FAULT_RING: write index ran ahead of the ring or backwards
 * @SIDRA_FAULT_FETCH: packet damaged on its way (fault knob; parity)
 * @SIDRA_FAULT_TIMEOUT: written by the driver: no progress
 * @SIDRA_FAULT_RESET: written by the driver: reset on request
 * @SIDRA_FAULT_PRODUCER: a packet that a SEM_WAIT waited for was dropped or faulted; see struct
 *                        sidra_fault
 * @SIDRA_FAULT_PROGRAM: a vector program or its operands are refused; address:
 *                       SIDRA_PROGRAM_FAULT()
 * @SIDRA_FAULT_COUNT: number of causes
 *
 * docs/device.md has the meaning of each cause, and what to do about it.
 */
enum sidra_fault_cause {
	SIDRA_FAULT_NONE		= 0,
	SIDRA_FAULT_OPCODE		= 1,
	SIDRA_FAULT_FIELD		= 2,
	SIDRA_FAULT_ALIGNMENT		= 3,
	SIDRA_FAULT_LIMIT		= 4,
	SIDRA_FAULT_TRANSLATION		= 5,
	SIDRA_FAULT_PERMISSION		= 6,
	SIDRA_FAULT_BUS			= 7,
	SIDRA_FAULT_WEIGHTS		= 8,
	SIDRA_FAULT_WEIGHTS_RIGHTS	= 9,
	SIDRA_FAULT_UNPROGRAMMED	= 10,
	SIDRA_FAULT_VALUE		= 11,
	SIDRA_FAULT_CALL		= 12,
	SIDRA_FAULT_NOT_ALLOWED		= 13,
	SIDRA_FAULT_PEER		= 14,
	SIDRA_FAULT_RING		= 15,
	SIDRA_FAULT_FETCH		= 16,
	SIDRA_FAULT_TIMEOUT		= 17,
	SIDRA_FAULT_RESET		= 18,
	SIDRA_FAULT_PRODUCER		= 19,
	SIDRA_FAULT_PROGRAM		= 20,
	SIDRA_FAULT_COUNT
};

/*
 * Sizes and offsets are part of the contract: every includer asserts them.
 */
#ifdef __cplusplus
#define SIDRA_ASSERT(c) static_assert(c, #c)
#else
#define SIDRA_ASSERT(c) _Static_assert(c, #c)
#endif
#define SIDRA_ASSERT_SIZE(type, size) SIDRA_ASSERT(sizeof(type) == (size))
#define SIDRA_ASSERT_AT(type, field, offset) \
	SIDRA_ASSERT(__builtin_offsetof(type, field) == (offset))

SIDRA_ASSERT_SIZE(struct sidra_cmd_header, 8);
SIDRA_ASSERT_AT(struct sidra_cmd_header, cookie, 4);
SIDRA_ASSERT_SIZE(struct sidra_cmd_nop, 64);
SIDRA_ASSERT_SIZE(struct sidra_cmd_sem, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_sem, addr, 8);
SIDRA_ASSERT_AT(struct sidra_cmd_sem, value, 16);
SIDRA_ASSERT_AT(struct sidra_cmd_sem, queue, 24);
SIDRA_ASSERT_AT(struct sidra_cmd_sem, epoch, 28);
SIDRA_ASSERT_SIZE(struct sidra_cmd_timestamp, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_timestamp, addr, 8);
SIDRA_ASSERT_SIZE(struct sidra_timestamp, 32);
SIDRA_ASSERT_AT(struct sidra_timestamp, sequence, 24);
SIDRA_ASSERT_SIZE(struct sidra_cmd_copy, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_copy, row_bytes, 24);
SIDRA_ASSERT_AT(struct sidra_cmd_copy, rows, 32);
SIDRA_ASSERT_AT(struct sidra_cmd_copy, dst_stride, 40);
SIDRA_ASSERT_SIZE(struct sidra_cmd_fill, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_fill, pattern_bytes, 32);
SIDRA_ASSERT_SIZE(struct sidra_cmd_mvm, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, in, 16);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, in_stride, 32);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, scale, 40);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, in_scale, 56);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, cookie, 4);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, in_zero, 10);
SIDRA_ASSERT_AT(struct sidra_cmd_mvm, batch, 12);
SIDRA_ASSERT_SIZE(struct sidra_cmd_weights, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_weights, row0, 16);
SIDRA_ASSERT_AT(struct sidra_cmd_weights, addr, 32);
SIDRA_ASSERT_AT(struct sidra_cmd_weights, stride, 40);
SIDRA_ASSERT_AT(struct sidra_cmd_weights, tolerance_ppm, 44);
SIDRA_ASSERT_SIZE(struct sidra_cmd_call, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_call, count, 16);
SIDRA_ASSERT_SIZE(struct sidra_cmd_label, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_label, cookie, 4);
SIDRA_ASSERT_AT(struct sidra_cmd_label, text, 8);
SIDRA_ASSERT_SIZE(struct sidra_operand, 64);
SIDRA_ASSERT_AT(struct sidra_operand, stride, 8);
SIDRA_ASSERT_AT(struct sidra_operand, index, 40);
SIDRA_ASSERT_AT(struct sidra_operand, type, 52);
SIDRA_ASSERT_SIZE(struct sidra_cmd_vector, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_vector, size, 24);
SIDRA_ASSERT_AT(struct sidra_cmd_vector, param, 40);
SIDRA_ASSERT_AT(struct sidra_cmd_vector, instructions, 56);
SIDRA_ASSERT_SIZE(struct sidra_cmd_matmul, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_matmul, m, 24);
SIDRA_ASSERT_AT(struct sidra_cmd_matmul, batch, 36);
SIDRA_ASSERT_AT(struct sidra_cmd_matmul, param, 44);
SIDRA_ASSERT_AT(struct sidra_cmd_matmul, instructions, 60);
SIDRA_ASSERT_SIZE(struct sidra_pattern, 64);
SIDRA_ASSERT_AT(struct sidra_pattern, height, 32);
SIDRA_ASSERT_AT(struct sidra_pattern, kernel_h, 40);
SIDRA_ASSERT_AT(struct sidra_pattern, channels, 56);
SIDRA_ASSERT_AT(struct sidra_pattern, zero, 62);
SIDRA_ASSERT_SIZE(struct sidra_cmd_layer, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_layer, operands, 16);
SIDRA_ASSERT_AT(struct sidra_cmd_layer, size, 32);
SIDRA_ASSERT_AT(struct sidra_cmd_layer, param, 44);
SIDRA_ASSERT_AT(struct sidra_cmd_layer, prologue, 60);
SIDRA_ASSERT_SIZE(struct sidra_cmd_pool, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_pool, out_stride, 24);
SIDRA_ASSERT_AT(struct sidra_cmd_pool, size, 48);
SIDRA_ASSERT_AT(struct sidra_cmd_pool, op, 60);
SIDRA_ASSERT_SIZE(struct sidra_cmd_sort, 64);
SIDRA_ASSERT_AT(struct sidra_cmd_sort, in, 8);
SIDRA_ASSERT_AT(struct sidra_cmd_sort, in_stride, 32);
SIDRA_ASSERT_AT(struct sidra_cmd_sort, rows, 44);
SIDRA_ASSERT_SIZE(union sidra_cmd, 64);
SIDRA_ASSERT_SIZE(struct sidra_report, 32);
SIDRA_ASSERT_AT(struct sidra_report, cookie, 24);
SIDRA_ASSERT_AT(struct sidra_report, cause, 30);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_CMD_H */
