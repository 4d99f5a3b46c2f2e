/* SPDX-License-Identifier: MIT */
/*
 * libsidra: ready-made functions on arrays. Each call queues one operation, a vector program of the library; longer computations on the
 * same rows are faster as one program of your own (sidra_program_assemble(), docs/vector-programs.md).
 *
 * - Blocking, threads, errors: a call behaves as an ..._async call of sidra.h. It can be recorded in a graph. The first call in a context also
 *   makes its programs: one allocation of host memory that the device reads, kept as long as the context. No other call allocates anything (the
 *   first one on a stream its operand tables: sidra_vector_async()). Arrays and numbers are copied; the memory stays the caller's and must stay
 *   valid until the operation is done.
 * - Shapes: `size` is the iteration space, outermost dimension first: size[0] * size[1] * size[2] rows of size[3] columns. An array has any
 *   strides. Stride 0 repeats its elements along a dimension (broadcasting), other strides make it a slice, a transposition or any permutation.
 *   Element indices below go over the whole space. sidra_operand_dense() describes a dense array; where its size is 1 it has stride 0.
 *   A function that says "row" computes along the last dimension; permute size and strides to compute along another one.
 *   "One for each row": an array with stride[3] = 0.
 * - Rows may be as long as SIDRA_VECTOR_SIZE_MAX, but for functions on whole rows, which a cost and a number of bytes limit
 *   (SIDRA_VECTOR_ROW_*_MAX in uapi/sidra_vector.h): 131,072 adjacent f32 columns are always possible, but for sidra_scatter() (63,550). The
 *   text of the INVALID_ARGUMENT says how many there may be.
 *   A longer sum, maximum or minimum can be made in two steps: of parts, as rows, and then of their results.
 * - Types: every array has any type, unless its function says otherwise. Elements are converted when loaded and stored: to an integer type by
 *   rounding to nearest even and saturation (NaN gives 0), to BOOL as 0 or 1, to F16, BF16 and F32 by rounding to nearest even.
 *   (i): if all arrays have integer types (U8, S8, S16, S32, S64, BOOL), the function computes exactly, in s32 modulo 2^32. S64 elements
 *   saturate to s32 then, unless sidra_convert() or a function that only moves elements says otherwise.
 *   Everything else computes in f32.
 * - Accuracy: operations round once, to nearest even. The bounds of exp to cos are in units in the last place (ulp) of the exact result,
 *   before the conversion to the output's type. All engines give the same bits: docs/device.md, "Vector programs".
 * - `out` may be the same array as an input: at the same place, with the same strides and type. Otherwise it shares no byte with any.
 * - Indices: any array may have `index`, which takes its rows at indices (struct sidra_vector_operand). An index that is out of range faults
 *   the stream with the cause VALUE.
 * - Errors: INVALID_ARGUMENT (a NULL, a type, shape, stride, overlap or number that the function does not take), PERMISSION (`out` is
 *   read-only), INVALID_HANDLE, WRONG_CONTEXT, and those of the stream. The text names the argument.
 */
#ifndef SIDRA_FUNCTIONS_H
#define SIDRA_FUNCTIONS_H

#include "sidra.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef sidra_vector_operand sidra_array;

/* ---- Elementwise ------------------------------------------------------------------------------------------------ */

/* out = a + b, a - b, a * b (i). */
SIDRA_API sidra_status sidra_add(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
SIDRA_API sidra_status sidra_sub(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
SIDRA_API sidra_status sidra_mul(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
/* out = a / b, in f32 also for integers. */
SIDRA_API sidra_status sidra_div(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
/* The larger and the smaller one (i). NaN if one of them is; +0 is larger than -0. */
SIDRA_API sidra_status sidra_max(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
SIDRA_API sidra_status sidra_min(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b);
/* out = a * b + c (i), rounded once. With b and c repeated along rows it is a batch normalisation that was folded into scale and shift. */
SIDRA_API sidra_status sidra_fma(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				 const sidra_array *b, const sidra_array *c);
/* out = a * factor + term, in f32, rounded once. */
SIDRA_API sidra_status sidra_affine(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a, float factor,
				    float term);

/* out (an integer type or BOOL) = 1 if the comparison is true, else 0. In s32 if a and b have integer types. With NaN only not_equal is 1. */
SIDRA_API sidra_status sidra_equal(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				   const sidra_array *b);
SIDRA_API sidra_status sidra_not_equal(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				       const sidra_array *b);
SIDRA_API sidra_status sidra_less(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				  const sidra_array *b);
SIDRA_API sidra_status sidra_less_equal(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
					const sidra_array *b);
SIDRA_API sidra_status sidra_greater(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				     const sidra_array *b);
SIDRA_API sidra_status sidra_greater_equal(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
					   const sidra_array *b);
/* out = mask != 0 ? a : b (NaN is not 0). If out, a and b have one type (but S64), their bits are kept; else (i), whatever the mask's type. */
SIDRA_API sidra_status sidra_where(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *mask,
				   const sidra_array *a, const sidra_array *b);

/* -a, |a|, max(a, 0) (i). The s32 -2^31 stays itself. */
SIDRA_API sidra_status sidra_neg(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_abs(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_relu(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* min(max(a, low), high) (i); low <= high, infinite or not. In s32 the bounds are the integers between them; in f32 they are rounded. */
SIDRA_API sidra_status sidra_clamp(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a, double low,
				   double high);
/* The integer below, above, nearest (ties to even), or next towards zero. (i) keeps integers. */
SIDRA_API sidra_status sidra_floor(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_ceil(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_round(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_trunc(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* The square root, rounded once; 1 / sqrt(a), rounded twice. */
SIDRA_API sidra_status sidra_sqrt(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_rsqrt(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* e^a (1.1 ulp), natural logarithm (1.3), sine and cosine of radians (2.5, for |a| <= 2^22). */
SIDRA_API sidra_status sidra_exp(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_log(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_sin(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_cos(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* erf (1.3 ulp), tanh (1.5), 1 / (1 + e^-a) (2.5), a / (1 + e^-a) (3.5). */
SIDRA_API sidra_status sidra_erf(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_tanh(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_sigmoid(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_silu(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/*
 * GELU (Hendrycks and Gimpel, arXiv:1606.08415): 0.5 a (1 + erf(a / sqrt 2)), 10 ulp (6 for |a| <= 4); and its approximation
 * 0.5 a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))), 240 ulp where the result vanishes (3.5 for |a| <= 1).
 */
SIDRA_API sidra_status sidra_gelu(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_gelu_tanh(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);

/* ---- Conversion and quantisation -------------------------------------------------------------------------------- */

/*
 * out = a, converted from any type to any type: a copy of arrays with any strides. With one type for both, the bits are kept. For S64 to S64
 * that needs a dimension in which both have stride 8, or a dimension of size 1; else INVALID_ARGUMENT.
 */
SIDRA_API sidra_status sidra_convert(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/*
 * Codes of real numbers: out (U8, S8 or S16) = saturate(rne(a / step) + zero); dequantize: out = (a - zero) * step, of an integer type
 * (a - zero modulo 2^32). The step is `scale` if `scales` is NULL, else scale * scales: one for each column, row or element, as its strides
 * say. scale: finite and > 0. zero: a code of the type of the codes; NaN gives 0. (ONNX QuantizeLinear and DequantizeLinear.)
 */
SIDRA_API sidra_status sidra_quantize(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a, float scale,
				      const sidra_array *scales, int32_t zero);
SIDRA_API sidra_status sidra_dequantize(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
					float scale, const sidra_array *scales, int32_t zero);
/*
 * Dynamic quantisation of each row: m = max(max |a|, 1e-30), out (S8) = rne(a * (127 / m)), scales (F32, one for each row) = m / 127. So
 * `scales` are those of sidra_dequantize() with scale 1. A row with infinity or NaN has codes without meaning, and such a scale.
 */
SIDRA_API sidra_status sidra_quantize_rows(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *scales,
					   const sidra_array *a);

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* e^(a - m) / sum of e^(a - m), and (a - m) - log(sum of e^(a - m)); m: the largest element of the row. A row of -inf gives NaN. */
SIDRA_API sidra_status sidra_softmax(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_log_softmax(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/*
 * (a - mean) / sqrt(variance + epsilon) * gamma + beta (Ba and others, arXiv:1607.06450); the variance is the mean of (a - mean)^2. beta may be
 * NULL, or both. rms_norm: a / sqrt(mean of a^2 + epsilon) * gamma (Zhang and Sennrich, arXiv:1910.07467); gamma may be NULL. epsilon: finite
 * and >= 0.
 */
SIDRA_API sidra_status sidra_layer_norm(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
					const sidra_array *gamma, const sidra_array *beta, float epsilon);
SIDRA_API sidra_status sidra_rms_norm(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				      const sidra_array *gamma, float epsilon);

/* out (one for each row) = the sum (i), the largest (i), the smallest (i) element. f32 sums have 32 partial sums (docs/device.md). */
SIDRA_API sidra_status sidra_reduce_sum(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_reduce_max(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_reduce_min(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* The sum / columns; the sum of (a - mean)^2 / (columns - correction): correction 0 or 1, and less than the columns. */
SIDRA_API sidra_status sidra_reduce_mean(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_reduce_variance(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
					     uint32_t correction);
/* The column of the first largest, smallest element; of the first NaN if there is one. out: an integer type. In s32 if a has one. */
SIDRA_API sidra_status sidra_reduce_argmax(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
SIDRA_API sidra_status sidra_reduce_argmin(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);
/* out[c] = a[0] + ... + a[c] of each row (i), added in this order. */
SIDRA_API sidra_status sidra_cumsum(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a);

/* ---- Movement --------------------------------------------------------------------------------------------------- */

/*
 * Row r of out = row indices[r] of the `rows` rows of table: an embedding. r counts all rows of the space; the index takes the place of the
 * coordinate in dimension 2 of the table. indices: dense, S32 or S64, one for each row. Converts as sidra_convert() does.
 */
SIDRA_API sidra_status sidra_gather_rows(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *table,
					 uint32_t rows, sidra_ref indices, sidra_type index_type);
/*
 * Row indices[r] of the `rows` rows of out = row r of a, one row after the other: the last one stays. add: += row r of a (i), so that rows with
 * one index add up.
 */
SIDRA_API sidra_status sidra_scatter_rows(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, uint32_t rows,
					  sidra_ref indices, sidra_type index_type, const sidra_array *a);
SIDRA_API sidra_status sidra_scatter_add_rows(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, uint32_t rows,
					      sidra_ref indices, sidra_type index_type, const sidra_array *a);
/*
 * gather: out[c] = a[indices[c]] in each row, which has `columns` elements in a. scatter: out[indices[c]] = a[c] in each row, which has
 * `columns` elements in out; in order of c, so the last one stays; the others keep their values. indices: an array of any integer type.
 * If out and a have one type (but S64), their bits are kept; else (i), whatever the indices' type.
 */
SIDRA_API sidra_status sidra_gather(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				    uint32_t columns, const sidra_array *indices);
SIDRA_API sidra_status sidra_scatter(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, uint32_t columns,
				     const sidra_array *indices, const sidra_array *a);
/*
 * out = entry of the code a (U8, S8) in a dense table of 256 elements; a negative code c has the entry c + 256. If out and table have one type
 * (but S64), bits are kept; else (i), whatever the type of the codes.
 */
SIDRA_API sidra_status sidra_lookup(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				    sidra_ref table, sidra_type table_type);

/* ---- Random numbers --------------------------------------------------------------------------------------------- */

/*
 * Counter-based: numbers depend on seed, sequence and the element, and on nothing else. Give each call with one seed another sequence. A host
 * gets the same numbers with Philox4x32-10 (Salmon and others, SC 2011): element e (row * columns + column) has, in draw d, the word
 * bits = philox({e / 4, its high 32 bits, d, 0}, key {seed, sequence})[e % 4], and u(d) = (bits >> 8) * 2^-24.
 *   uniform:   u(0) * (high - low) + low, rounded once: in [low, high), but for rounding; high - low is an f32
 *   normal:    sqrt(-2 log(u(0) + 2^-24)) * cos(2 pi u(1)) * deviation + mean (Box and Muller 1958)
 *   bernoulli: 1 if u(0) < probability, else 0
 *   dropout:   0 if u(0) < probability, else a * f32(1 / (1 - probability)); probability < 1
 * low <= high, mean, deviation >= 0: finite. probability: 0..1.
 */
SIDRA_API sidra_status sidra_random_uniform(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, float low, float high,
					    uint32_t seed, uint32_t sequence);
SIDRA_API sidra_status sidra_random_normal(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, float mean, float deviation,
					   uint32_t seed, uint32_t sequence);
SIDRA_API sidra_status sidra_random_bernoulli(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, float probability,
					      uint32_t seed, uint32_t sequence);
SIDRA_API sidra_status sidra_dropout(sidra_stream *stream, const uint32_t size[4], const sidra_array *out, const sidra_array *a,
				     float probability, uint32_t seed, uint32_t sequence);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_FUNCTIONS_H */
