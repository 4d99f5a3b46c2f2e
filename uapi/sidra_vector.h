/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Vector programs: what the compute engine of a SIDRA chip executes for a VECTOR packet
 * (uapi/sidra_cmd.h).
 *
 * A program computes on the rows of an iteration space of up to four dimensions:
 * size[0] * size[1] * size[2] rows of size[3] columns. Each row is computed by itself, from its
 * first pass to its last.
 *
 * - A vector register (v0..v15) holds a row: one 32-bit element for each column. A vector register
 *   is valid until the end of its pass.
 * - A scalar register (s0..s15) holds one 32-bit value for each row, and is valid until the end of
 *   the program.
 * - Every register has a type, f32 or s32, from the instruction that wrote it. A mask is an s32: -1
 *   (true) or 0.
 * - A pass is some vector instructions, which run for all columns of the row, and then some scalar
 *   instructions, which run once for the row. The first instruction and those with the flag PASS
 *   begin a pass. Instructions with a vector destination, stores of a vector and reductions are
 *   vector instructions; reductions write a scalar register. All others are scalar instructions. In
 *   a pass no vector instruction follows a scalar instruction.
 * - A scalar that a vector instruction reads was written in an earlier pass. A scalar instruction
 *   may read what the same pass wrote.
 * - Memory has more types than registers: loads and stores convert. They reach memory through
 *   operands, a table of the packet.
 *
 * The chip verifies a program each time before it executes it. Every instruction is specified to
 * the bit in docs/device.md, "Vector programs".
 */
#ifndef SIDRA_VECTOR_H
#define SIDRA_VECTOR_H

#include "sidra_cmd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_VECTOR_INSTRUCTIONS_MAX	64u	/* instructions of a program */
#define SIDRA_VECTOR_OPERANDS_MAX	8u	/* operands of a packet */
#define SIDRA_VECTOR_REGISTERS		16u	/* vector registers, and as many scalar ones */
#define SIDRA_VECTOR_SIZE_MAX		(1u << 30)	/* columns of a row; also rows in all */
#define SIDRA_VECTOR_ELEMENTS_MAX	(1ull << 38)	/* rows * columns */
/* Programs that the chip cannot divide by columns: */
#define SIDRA_VECTOR_ROW_COST_MAX	(1u << 22)	/* columns * cost; see SIDRA_VECTOR_COST_ */
#define SIDRA_VECTOR_ROW_BYTES_MAX	(4u << 20)	/* bytes of a row, in all operands */

/*
 * Sources of an instruction (fields a, b, c). A source that an opcode does not have is zero.
 * Parameters and immediates have either type. COLUMN is for vector instructions only, and ROW is
 * the number among all rows.
 */
#define SIDRA_VECTOR_V(n)		((uint8_t)(0x00 + (n)))	/* vector register n */
#define SIDRA_VECTOR_S(n)		((uint8_t)(0x10 + (n)))	/* scalar register n */
#define SIDRA_VECTOR_PARAM(n)		((uint8_t)(0x20 + (n)))	/* param[n] of the packet, 0..3 */
#define SIDRA_VECTOR_IMM(n)		((uint8_t)(0x28 + (n)))	/* imm[n], 0..1 */
#define SIDRA_VECTOR_COLUMN		((uint8_t)0x30)		/* number of the column (s32) */
#define SIDRA_VECTOR_ROW		((uint8_t)0x31)		/* number of the row (s32) */

/* Flags of an instruction. */
#define SIDRA_VECTOR_PASS		0x01	/* begins a pass */

/**
 * enum sidra_vector_op - instructions
 * @SIDRA_VECTOR_OP_LOAD: f = element, of any type
 * @SIDRA_VECTOR_OP_LOAD_INT: i = integer or bool element; s64 saturates
 * @SIDRA_VECTOR_OP_STORE: element, of any type = a (f)
 * @SIDRA_VECTOR_OP_STORE_INT: integer or bool element = a (i), saturated
 * @SIDRA_VECTOR_OP_GATHER: f = element in column a (i); vector only
 * @SIDRA_VECTOR_OP_GATHER_INT: i = likewise
 * @SIDRA_VECTOR_OP_SCATTER: element in column b (i) = a (f), in order of columns; a vector
 *         instruction
 * @SIDRA_VECTOR_OP_SCATTER_INT: likewise with a (i)
 * @SIDRA_VECTOR_OP_MOVE: x = a; of a parameter or an immediate: f
 * @SIDRA_VECTOR_OP_MOVE_INT: i = a; parameter, immediate, COLUMN or ROW
 * @SIDRA_VECTOR_OP_SELECT: x = a (i) != 0 ? b : c; b and c have one type. If neither has one: f
 * @SIDRA_VECTOR_OP_BITS: i = bits of a (f); NaN gives 0x7fc00000
 * @SIDRA_VECTOR_OP_FROM_BITS: f = with the bits of a (i)
 * @SIDRA_VECTOR_OP_ADD: a + b
 * @SIDRA_VECTOR_OP_SUB: a - b
 * @SIDRA_VECTOR_OP_MUL: a * b
 * @SIDRA_VECTOR_OP_FMA: a * b + c, rounded once
 * @SIDRA_VECTOR_OP_DIV: a / b
 * @SIDRA_VECTOR_OP_MAX: the larger one; NaN if a or b is; +0 is greater than -0
 * @SIDRA_VECTOR_OP_MIN: the smaller one; NaN if a or b is; -0 is less than +0
 * @SIDRA_VECTOR_OP_NEG: changes the sign
 * @SIDRA_VECTOR_OP_ABS: clears the sign
 * @SIDRA_VECTOR_OP_SQRT: square root
 * @SIDRA_VECTOR_OP_RSQRT: 1 / sqrt(a), rounded twice
 * @SIDRA_VECTOR_OP_FLOOR: to the next integer below or equal
 * @SIDRA_VECTOR_OP_CEIL: to the next integer above or equal
 * @SIDRA_VECTOR_OP_ROUND: to the nearest integer, ties to even
 * @SIDRA_VECTOR_OP_TRUNC: towards zero
 * @SIDRA_VECTOR_OP_EXP: e^a
 * @SIDRA_VECTOR_OP_LOG: natural logarithm
 * @SIDRA_VECTOR_OP_ERF: error function
 * @SIDRA_VECTOR_OP_TANH: hyperbolic tangent
 * @SIDRA_VECTOR_OP_SIGMOID: 1 / (1 + e^-a)
 * @SIDRA_VECTOR_OP_SILU: a sigmoid(a)
 * @SIDRA_VECTOR_OP_GELU: 0.5 a (1 + erf(a / sqrt 2))
 * @SIDRA_VECTOR_OP_GELU_TANH: 0.5 a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3)))
 * @SIDRA_VECTOR_OP_SIN: sine
 * @SIDRA_VECTOR_OP_COS: cosine
 * @SIDRA_VECTOR_OP_LT: m = a < b (f)
 * @SIDRA_VECTOR_OP_LE: m = a <= b (f)
 * @SIDRA_VECTOR_OP_EQ: m = a == b (f)
 * @SIDRA_VECTOR_OP_NE: m = a != b (f), also with NaN
 * @SIDRA_VECTOR_OP_LT_INT: m = a < b (i)
 * @SIDRA_VECTOR_OP_LE_INT: m = a <= b (i)
 * @SIDRA_VECTOR_OP_EQ_INT: m = a == b (i)
 * @SIDRA_VECTOR_OP_NE_INT: m = a != b (i)
 * @SIDRA_VECTOR_OP_ADD_INT: i = a + b
 * @SIDRA_VECTOR_OP_SUB_INT: i = a - b
 * @SIDRA_VECTOR_OP_MUL_INT: i = a * b
 * @SIDRA_VECTOR_OP_MAX_INT: i = the larger one
 * @SIDRA_VECTOR_OP_MIN_INT: i = the smaller one
 * @SIDRA_VECTOR_OP_AND: i = bits in both
 * @SIDRA_VECTOR_OP_OR: i = bits in a or b
 * @SIDRA_VECTOR_OP_XOR: i = bits in one of them
 * @SIDRA_VECTOR_OP_SHL: i = a << (b % 32)
 * @SIDRA_VECTOR_OP_SHR: i = a >> (b % 32), copies the sign
 * @SIDRA_VECTOR_OP_SHR_UNSIGNED: i = a >> (b % 32), fills with zeros
 * @SIDRA_VECTOR_OP_TO_INT: i = a (f): nearest, ties to even
 * @SIDRA_VECTOR_OP_TO_INT_TRUNC: i = a (f): towards zero
 * @SIDRA_VECTOR_OP_TO_FLOAT: f = a (i): nearest, ties to even
 * @SIDRA_VECTOR_OP_RANDOM: 32 random bits for each element (i): word e % 4 of Philox4x32-10 with
 *         the counter {e / 4 (low word, high word), a, 0} and the key {b, c}. e: number of the
 *         element, row * columns + column. Vector only; a, b, c (i) are not vectors
 * @SIDRA_VECTOR_OP_SCAN: f = a[0] + ... + a[column], from +0
 * @SIDRA_VECTOR_OP_SCAN_INT: i = likewise, modulo 2^32
 * @SIDRA_VECTOR_OP_REDUCE_SUM: f = sum of a
 * @SIDRA_VECTOR_OP_REDUCE_DOT: f = sum of a * b, by fused multiply-add
 * @SIDRA_VECTOR_OP_REDUCE_MAX: f = largest a; NaN if an element is
 * @SIDRA_VECTOR_OP_REDUCE_MIN: f = smallest a; NaN if an element is
 * @SIDRA_VECTOR_OP_REDUCE_ARGMAX: i = column of the first largest a (f); of the first NaN if there
 *         is one. -0 equals +0
 * @SIDRA_VECTOR_OP_REDUCE_ARGMIN: i = column of the first smallest a (f), likewise
 * @SIDRA_VECTOR_OP_REDUCE_SUM_INT: i = sum of a, modulo 2^32
 * @SIDRA_VECTOR_OP_REDUCE_MAX_INT: i = largest a
 * @SIDRA_VECTOR_OP_REDUCE_MIN_INT: i = smallest a
 * @SIDRA_VECTOR_OP_COUNT: one more than the last opcode
 *
 * d: destination, a vector or a scalar register. f: f32, i: s32, m: mask (s32), x: either type.
 * "vector only": the destination (or what is stored) must be a vector register.
 */
enum sidra_vector_op {
	/*
	 * Memory, through operand number `operand`. A vector accesses the elements of the row, a
	 * scalar the element of column 0. GATHER and SCATTER access columns of the operand's row.
	 */
	SIDRA_VECTOR_OP_LOAD		= 1,
	SIDRA_VECTOR_OP_LOAD_INT	= 2,
	SIDRA_VECTOR_OP_STORE		= 3,
	SIDRA_VECTOR_OP_STORE_INT	= 4,
	SIDRA_VECTOR_OP_GATHER		= 5,
	SIDRA_VECTOR_OP_GATHER_INT	= 6,
	SIDRA_VECTOR_OP_SCATTER		= 7,
	SIDRA_VECTOR_OP_SCATTER_INT	= 8,

	SIDRA_VECTOR_OP_MOVE		= 16,
	SIDRA_VECTOR_OP_MOVE_INT	= 17,
	SIDRA_VECTOR_OP_SELECT		= 18,
	SIDRA_VECTOR_OP_BITS		= 19,
	SIDRA_VECTOR_OP_FROM_BITS	= 20,

	/* f32 */
	SIDRA_VECTOR_OP_ADD		= 32,
	SIDRA_VECTOR_OP_SUB		= 33,
	SIDRA_VECTOR_OP_MUL		= 34,
	SIDRA_VECTOR_OP_FMA		= 35,
	SIDRA_VECTOR_OP_DIV		= 36,
	SIDRA_VECTOR_OP_MAX		= 37,
	SIDRA_VECTOR_OP_MIN		= 38,
	SIDRA_VECTOR_OP_NEG		= 39,
	SIDRA_VECTOR_OP_ABS		= 40,
	SIDRA_VECTOR_OP_SQRT		= 41,
	SIDRA_VECTOR_OP_RSQRT		= 42,
	SIDRA_VECTOR_OP_FLOOR		= 43,
	SIDRA_VECTOR_OP_CEIL		= 44,
	SIDRA_VECTOR_OP_ROUND		= 45,
	SIDRA_VECTOR_OP_TRUNC		= 46,

	/* Functions of f32 */
	SIDRA_VECTOR_OP_EXP		= 64,
	SIDRA_VECTOR_OP_LOG		= 65,
	SIDRA_VECTOR_OP_ERF		= 66,
	SIDRA_VECTOR_OP_TANH		= 67,
	SIDRA_VECTOR_OP_SIGMOID		= 68,
	SIDRA_VECTOR_OP_SILU		= 69,
	SIDRA_VECTOR_OP_GELU		= 70,
	SIDRA_VECTOR_OP_GELU_TANH	= 71,
	SIDRA_VECTOR_OP_SIN		= 72,
	SIDRA_VECTOR_OP_COS		= 73,

	/* Comparisons: m. With NaN only NE is true. */
	SIDRA_VECTOR_OP_LT		= 80,
	SIDRA_VECTOR_OP_LE		= 81,
	SIDRA_VECTOR_OP_EQ		= 82,
	SIDRA_VECTOR_OP_NE		= 83,
	SIDRA_VECTOR_OP_LT_INT		= 84,
	SIDRA_VECTOR_OP_LE_INT		= 85,
	SIDRA_VECTOR_OP_EQ_INT		= 86,
	SIDRA_VECTOR_OP_NE_INT		= 87,

	/* s32, modulo 2^32 */
	SIDRA_VECTOR_OP_ADD_INT		= 96,
	SIDRA_VECTOR_OP_SUB_INT		= 97,
	SIDRA_VECTOR_OP_MUL_INT		= 98,
	SIDRA_VECTOR_OP_MAX_INT		= 99,
	SIDRA_VECTOR_OP_MIN_INT		= 100,
	SIDRA_VECTOR_OP_AND		= 101,
	SIDRA_VECTOR_OP_OR		= 102,
	SIDRA_VECTOR_OP_XOR		= 103,
	SIDRA_VECTOR_OP_SHL		= 104,
	SIDRA_VECTOR_OP_SHR		= 105,
	SIDRA_VECTOR_OP_SHR_UNSIGNED	= 106,

	/* Conversions. Those to s32 saturate; NaN gives 0. */
	SIDRA_VECTOR_OP_TO_INT		= 112,
	SIDRA_VECTOR_OP_TO_INT_TRUNC	= 113,
	SIDRA_VECTOR_OP_TO_FLOAT	= 114,

	SIDRA_VECTOR_OP_RANDOM		= 120,

	/* Along the row, in order of columns; the destination is a vector */
	SIDRA_VECTOR_OP_SCAN		= 124,
	SIDRA_VECTOR_OP_SCAN_INT	= 125,

	/* Reductions of a vector to a scalar register. Sums of f32 have 32 partial sums. */
	SIDRA_VECTOR_OP_REDUCE_SUM	= 128,
	SIDRA_VECTOR_OP_REDUCE_DOT	= 129,
	SIDRA_VECTOR_OP_REDUCE_MAX	= 130,
	SIDRA_VECTOR_OP_REDUCE_MIN	= 131,
	SIDRA_VECTOR_OP_REDUCE_ARGMAX	= 132,
	SIDRA_VECTOR_OP_REDUCE_ARGMIN	= 133,
	SIDRA_VECTOR_OP_REDUCE_SUM_INT	= 134,
	SIDRA_VECTOR_OP_REDUCE_MAX_INT	= 135,
	SIDRA_VECTOR_OP_REDUCE_MIN_INT	= 136,
	SIDRA_VECTOR_OP_COUNT
};

/*
 * Cost of an instruction for each column: what the cost model charges, and what bounds a row.
 * Instructions that are not named cost 1; scalar instructions nothing.
 */
#define SIDRA_VECTOR_COST_DIV		2u	/* DIV, SQRT */
#define SIDRA_VECTOR_COST_RSQRT		4u
#define SIDRA_VECTOR_COST_FUNCTION	8u	/* EXP to COS */
#define SIDRA_VECTOR_COST_SERIAL	16u	/* RANDOM, SCAN */
/* GATHER, SCATTER, and a load or store whose stride[3] is neither 0 nor the element's size */
#define SIDRA_VECTOR_COST_ELEMENTS	64u

/**
 * struct sidra_vector_instruction - 16 bytes of a program
 * @op: enum sidra_vector_op
 * @flags: SIDRA_VECTOR_PASS or none
 * @dst: destination: SIDRA_VECTOR_V(n) or SIDRA_VECTOR_S(n); zero for stores
 * @operand: number of the operand that a load or store uses; else zero
 * @a: first source; zero if the opcode has none
 * @b: second source; zero if the opcode has none
 * @c: third source; zero if the opcode has none
 * @reserved: zero
 * @imm: immediates: bits of an f32 or s32; zero if no source names them
 */
struct sidra_vector_instruction {
	uint8_t    op;
	uint8_t    flags;
	uint8_t    dst;
	uint8_t    operand;
	uint8_t    a, b, c;
	uint8_t    reserved;
	sidra_le32 imm[2];
};

SIDRA_ASSERT_SIZE(struct sidra_vector_instruction, 16);
SIDRA_ASSERT_AT(struct sidra_vector_instruction, a, 4);
SIDRA_ASSERT_AT(struct sidra_vector_instruction, imm, 8);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_VECTOR_H */
