/* SPDX-License-Identifier: MIT */
/*
 * libsidra: compiled models. A file (.sidra, docs/sidra-format.md) has the matrices, programs, constants and calls of a network.
 *
 *   sidra_model_load()           reads the file
 *   sidra_model_deploy_async()   puts its matrices on crossbars
 *   sidra_model_run()            runs it once: copies inputs, computes, copies outputs
 *   sidra_model_run_async()      the same without copies: inputs and outputs are in a buffer that the model owns
 *   sidra_model_fault()          which call it was, if a stream has stopped
 *
 * The conventions of sidra.h apply. A model belongs to a context, and a context can have several. It has variants, each for one shape of every
 * input (for example batches of 1 and 32), which share matrices, programs and constants. Arguments named `variant`, `index` and so on count
 * from 0.
 *
 * A file is not trusted: all of its numbers are checked, those of a call as the arguments that they become. Its hashes detect damage. Errors
 * name the file and the part of it.
 *
 * Threads: as for other objects. All runs of a variant use one memory, so one runs at a time: a run that is queued while another stream has
 * one waits for that on the device, and sidra_model_run() waits for it, too. A call that would use a variant while another thread is in
 * sidra_model_run() with it is BUSY. While another thread queues a run of it, which may wait for room in that stream, a call waits:
 * sidra_model_run() until its deadline, sidra_model_run_async() until that of its stream (TIMEOUT).
 */
#ifndef SIDRA_MODEL_H
#define SIDRA_MODEL_H

#include "sidra.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidra_model sidra_model;

#define SIDRA_MODEL_RANK_MAX 8	/* most dimensions of an input or output */

/*
 * Loads a compiled model: reads and checks everything but the matrices, and makes its constants and programs for the context. The file may be
 * removed, but must not change, until the model is deployed.
 * NOT_FOUND: there is no such file. VERSION: a newer libsidra is needed to read it. INVALID_ARGUMENT: it is no compiled model, is damaged, or
 * has something that the device cannot compute.
 */
SIDRA_API sidra_status sidra_model_load(sidra_context *context, const char *path, sidra_model **model);
/*
 * Waits until the device no longer uses the model, then frees it with its weights, buffers and programs. A run that is still queued faults its
 * stream. NULL is allowed.
 */
SIDRA_API sidra_status sidra_model_destroy(sidra_model *model);

/* Texts are the model's own, valid until sidra_model_destroy(). They come from the file: bytes that are no text are possible. */
typedef struct sidra_model_info {
	size_t struct_size;
	const char *name;
	const char *producer;		/* the compiler and its version */
	const char *source;		/* the file that was compiled, and the hash of its content */
	const char *options;		/* of the compiler */
	uint32_t variants, matrices, programs;
	uint64_t weights;		/* elements of all matrices */
	uint64_t constant_bytes;
	bool deployed;			/* all matrices are programmed */
} sidra_model_info;
SIDRA_API sidra_status sidra_model_get_info(sidra_model *model, sidra_model_info *info);

typedef struct sidra_model_variant_info {
	size_t struct_size;
	uint32_t inputs, outputs;
	uint32_t calls;			/* operations of one run */
	uint64_t work_bytes;		/* memory of the runs: inputs, outputs and what lies between them */
	uint32_t host_calls;		/* those of its calls that the host computes */
} sidra_model_variant_info;
SIDRA_API sidra_status sidra_model_get_variant(sidra_model *model, uint32_t variant, sidra_model_variant_info *info);

/* An input or output: a dense, row-major array. */
typedef struct sidra_model_tensor {
	size_t struct_size;
	const char *name;		/* as texts of sidra_model_info */
	sidra_type type;
	uint32_t rank;			/* 0: one element */
	uint32_t shape[SIDRA_MODEL_RANK_MAX];	/* a size may be 0: there are no elements */
	size_t bytes;
	size_t offset;			/* in the buffer of its variant: sidra_model_get_buffer() */
} sidra_model_tensor;
SIDRA_API sidra_status sidra_model_get_input(sidra_model *model, uint32_t variant, uint32_t index, sidra_model_tensor *tensor);
SIDRA_API sidra_status sidra_model_get_output(sidra_model *model, uint32_t variant, uint32_t index, sidra_model_tensor *tensor);

/* A matrix of weights, k inputs x n outputs. */
typedef struct sidra_model_matrix {
	size_t struct_size;
	const char *name;		/* as texts of sidra_model_info */
	uint32_t k, n;
	sidra_weights_encoding encoding;	/* as the file has it; that of the weights is in sidra_weights_info */
	/* NULL until the model is deployed. The model's own, for example for sidra_weights_report(). */
	sidra_weights *weights;
} sidra_model_matrix;
SIDRA_API sidra_status sidra_model_get_matrix(sidra_model *model, uint32_t index, sidra_model_matrix *matrix);

/*
 * The variant whose inputs have exactly these shapes. shapes: one pointer for each input, to ranks[i] sizes (any pointer if that is 0).
 * NOT_FOUND: there is none; the text has the shapes that the model takes.
 */
SIDRA_API sidra_status sidra_model_find_variant(sidra_model *model, const uint32_t *const *shapes, const uint32_t *ranks, uint32_t inputs,
						uint32_t *variant);

/*
 * To be called before the deployment: the matrices of `model` that `with` has on crossbars, with the same values and encoding, become those of
 * `model`, too. So networks that were compiled apart, for several shapes for example, need crossbars once. Shared matrices stay until the last of
 * their models is destroyed. Matrices whose ADCs have ranges of their own (calibration) are not shared. shared (or NULL): how many matrices that
 * was. Values are compared by their hashes in the files, so both files must come from somebody who is trusted.
 * INVALID_ARGUMENT: both are one model. WRONG_CONTEXT: they have different contexts.
 */
SIDRA_API sidra_status sidra_model_share_matrices(sidra_model *model, sidra_model *with, uint32_t *shared);

/*
 * Puts the matrices on crossbars: reads them from the file, checks their hashes, reserves crossbars for all of them, and queues their
 * programming in the order of the file. Runs that are queued behind it in the same stream need not wait for it. With the encoding AUTO, a matrix
 * is differential as long as there are crossbars for all others.
 *
 * If it fails before it has queued anything, it changes nothing. If the stream stops, or its ring stays full until its deadline, the call (or the
 * stream's next one) fails, and what was programmed by then stays so: after sidra_stream_reset() or sidra_context_recover() the next call queues
 * the rest. Of a deployed model it does nothing.
 */
SIDRA_API sidra_status sidra_model_deploy_async(sidra_stream *stream, sidra_model *model);
/* Progress of the deployment, in weights; it is complete when done == total. Either may be NULL. */
SIDRA_API sidra_status sidra_model_progress(sidra_model *model, uint64_t *done, uint64_t *total);

/*
 * The buffer that has the inputs and outputs of a variant, at the offsets of their sidra_model_tensor; the first call makes it. It is the model's
 * own, and valid until sidra_model_destroy(). If the application destroys it, this call and runs of the variant are INVALID_HANDLE from then on.
 * The host must not touch it while a run is queued; sidra_stream_synchronize() waits for that. The content of inputs and outputs is undefined
 * after a run: only outputs of the last run may be read.
 */
SIDRA_API sidra_status sidra_model_get_buffer(sidra_model *model, uint32_t variant, sidra_buffer **buffer);

/*
 * Queues one run of a variant, with the inputs that are in its buffer. The first run of a variant also records its calls; later ones queue one
 * packet, and two more for each function of the host. UNPROGRAMMED: the model is not deployed. INVALID_ARGUMENT: a call of the file is wrong;
 * the text names it. In the fault of a run (sidra_fault_info), `cookie` is the number of the call.
 *
 * What the chip cannot compute is a function of the host. A thread of the library computes it when the stream has come to it: that of the
 * callbacks (sidra_stream_add_callback()), so a callback must not wait for such a run. If a function refuses its inputs, for example an index
 * out of range, the stream stops with the cause PRODUCER; this call fails with FAULT if that happens before it has queued all of the run.
 */
SIDRA_API sidra_status sidra_model_run_async(sidra_stream *stream, sidra_model *model, uint32_t variant);
/*
 * Copies the inputs into the variant's buffer, runs it, waits, and copies the outputs out. inputs, outputs: one pointer for each input or output,
 * to as many bytes as it has. A pointer that is NULL leaves that one in the buffer; for NULL instead of the array, all stay there.
 * TIMEOUT: the deadline passed; the run continues if it was queued, and no output was copied. FAULT: the stream has stopped. BUSY: a callback
 * would wait for a function of the host.
 */
SIDRA_API sidra_status sidra_model_run(sidra_stream *stream, sidra_model *model, uint32_t variant, const void *const *inputs, void *const *outputs,
				       uint64_t deadline);

/* The call of a model at which a stream has stopped. */
typedef struct sidra_model_fault_info {
	size_t struct_size;
	uint32_t variant, call;		/* their numbers */
	const char *name;		/* of the call, as texts of sidra_model_info */
	char text[256];			/* all of this and the reason as a sentence, of which it may be the beginning only */
} sidra_model_fault_info;
/*
 * Between a fault and sidra_stream_reset(), when only the stream is known: errors of sidra_model_run() name the call already. If the stream waited
 * for another stream of the context, the call is the one at which that has stopped (sidra_fault_info::root_stream).
 * NOT_FOUND: the stream has not stopped, or not at a call of this model. WRONG_CONTEXT: stream and model have different contexts.
 */
SIDRA_API sidra_status sidra_model_fault(sidra_model *model, sidra_stream *stream, sidra_model_fault_info *info);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_MODEL_H */
