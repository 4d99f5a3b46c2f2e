/* SPDX-License-Identifier: MIT */
/*
 * The compiler's C interface: from a network to a file that libsidra runs (sidra/model.h), and what the file does. It does not need a device.
 *
 * Threads: any thread may call it, several at a time.
 */
#ifndef SIDRA_COMPILER_H
#define SIDRA_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SIDRA_COMPILER_BUILD) && defined(__GNUC__)
#define SIDRA_COMPILER_API __attribute__((visibility("default")))
#else
#define SIDRA_COMPILER_API
#endif

/*
 * The size of a dimension that the network only names, such as a batch. One name may have several sizes: the file then has a variant (sidra/model.h)
 * for each combination of sizes, at most 64.
 */
typedef struct sidra_compile_dimension {
	const char *name;
	int64_t size;	/* elements, at least 1 */
} sidra_compile_dimension;

/* An input that is a constant, such as a shape: the file has a tensor in ONNX's format (a TensorProto). */
typedef struct sidra_compile_value {
	const char *name;
	const char *file;
} sidra_compile_value;

/*
 * Inputs as they will be, for the calibration: values of one input for one run after another, in the input's type and shape, dense and row-major.
 */
typedef struct sidra_compile_samples {
	const char *input;	/* its name; NULL: the only one */
	uint32_t type;		/* of the elements, enum sidra_type of sidra/sidra.h: that of the input */
	const void *data;	/* not kept */
	size_t bytes;		/* those of as many whole runs as fit are used, of the input that has the fewest */
} sidra_compile_samples;

/* How much the compiler optimises. A level does what those below it do, and more. */
typedef enum sidra_optimization {
	SIDRA_OPTIMIZATION_DEFAULT = 0,	/* the highest level */
	SIDRA_OPTIMIZATION_0 = 1,	/* a call for each operation, and a matrix for each product with a constant */
	SIDRA_OPTIMIZATION_1 = 2,	/* fewer calls, copies and matrices, with the arithmetic of the network, but for fused products and sums */
	SIDRA_OPTIMIZATION_2 = 3	/* also other arithmetic with the same result but for rounding, as GELU in one operation */
} sidra_optimization;

#define SIDRA_CHIPS_AUTO 0xffffffffu

/* Initialise all fields to zero but struct_size. Strings are UTF-8, and are not kept. */
typedef struct sidra_compile_options {
	size_t struct_size;
	const sidra_compile_dimension *dimensions;
	size_t dimension_count;
	const sidra_compile_value *values;
	size_t value_count;
	/*
	 * The passes that run, in MLIR's textual form ("builtin.module(canonicalize,xnn-weights)"); NULL: those that make a file. With a pipeline
	 * the result is text: the module behind its last pass.
	 */
	const char *pipeline;
	const char *dump;	/* a folder for the module behind each pass, one file each; NULL: none */
	const char *reproducer;	/* a file for the module and the passes, should a pass crash; NULL: none */
	/*
	 * Gets a table of the layers: matrices, crossbars, products, and the copies that a full chip would have room for. With samples it then gets
	 * a table of what each optimisation does to time, energy and accuracy, for which the network is compiled and runs several times. NULL: none.
	 */
	void (*report)(void *user, const char *text);
	void *user;
	/*
	 * Samples for all inputs. The network runs with them, on an embedded chip, and each layer's inputs get codes for the values that they had
	 * there. Without samples each row of an input gets a step and a zero of its own when it is computed, which takes longer.
	 */
	const sidra_compile_samples *samples;
	size_t sample_count;
	/* How the range of codes follows from the values: "minmax", "moving", "percentile", "mse" or "entropy"; NULL: "mse". */
	const char *observer;
	/*
	 * Layers whose results would have a lower signal-to-noise ratio than this with one range of inputs of 8 bits, in decibels, get a range for each
	 * row, or, if that is not enough or the layer is a convolution, inputs of 16 bits, which take two products; 0: 20.
	 */
	double signal_to_noise;
	/*
	 * So many matrices for each layer, on crossbars of their own; its result is their mean. Errors of cells and noise become smaller by the
	 * root of the number, and a run takes so many times as long. Up to 64; 0: 1.
	 */
	uint32_t copies;
	/*
	 * Above 0: the share, up to 1, of the tests whose largest score has the number of their label: scores are the first output, of f32, with a
	 * row for each label. The file is judged on embedded chips of the levels fast and accurate, and compiled again with more effort until the
	 * share is reached at both: more layers with 16 bits, then copies (by layer if there are samples) and triple modular redundancy, up to eight
	 * crossbars for each one that a layer needs, each without and with predistort. If nothing suffices the result is SIDRA_COMPILE_TARGET_MISSED.
	 */
	double target_accuracy;
	const sidra_compile_samples *tests;
	size_t test_count;
	const int64_t *labels;	/* not kept */
	size_t label_count;
	void (*progress)(void *user, size_t done, size_t runs);	/* of the runs with samples; NULL: nobody wants to know */
	/*
	 * Compiled files are kept in $XDG_CACHE_HOME/sidra/compiled (otherwise ~/.cache/sidra/compiled), and a file whose network, options and compiler
	 * are the same is copied from there. With pipeline, dump, reproducer or report the network is always compiled.
	 */
	bool no_cache;
	uint64_t cache_limit;	/* bytes that all kept files may have, 0: 4 GiB; those that were not used for the longest time are removed */
	/*
	 * Gets a sentence about what people may want to know: what the cache did, which nodes the host computes because the chip cannot, and what a
	 * target for the accuracy needs; NULL: none.
	 */
	void (*note)(void *user, const char *text);
	sidra_optimization optimization;	/* not with a pipeline */
	/* With samples, what codes do to the mean of each column of a layer's results is subtracted from them; true: it is not. */
	bool no_bias_correction;
	/* At level 2, channels between two layers get factors where that makes the errors of codes smaller; true: they do not. */
	bool no_equalisation;
	/*
	 * With samples and copies: all layers together take as many crossbars as `copies` of each would, at most those of a chip, but those get copies
	 * first in which another crossbar removes the most noise of the outputs at level accurate. Measuring this takes a run with samples for each layer.
	 */
	bool copies_by_layer;
	/*
	 * A file with the map of a chip, as `sidra-smi map` writes it: the file names crossbars of this chip for its matrices, near each other and
	 * none that is in use or bad. libsidra uses them if they are free and good when it deploys the model, and others otherwise. NULL: libsidra
	 * chooses. Not with a pipeline.
	 */
	const char *chip_map;
	uint32_t bad_cells;	/* from so many bad cells on a crossbar counts as bad; 0: 656, which is 1 % */
	/*
	 * Chips that share the network: it is cut into so many stages, 2 to 16, whose slowest one takes as little time as possible. sidra/pipeline.h
	 * runs such a file. SIDRA_CHIPS_AUTO: as few as have crossbars for the matrices. 0 and 1: one chip. Not with a target for the accuracy.
	 */
	uint32_t chips;
	/*
	 * Triple modular redundancy: this share of each layer's columns, from 0 to 1, those whose errors cost most, are on three crossbars, and the
	 * median of the three results counts. It is right even if one of the crossbars is broken. 0: none.
	 */
	double tmr;
	/*
	 * Weights are changed so that they are right behind the wires of a crossbar, which lose voltage: for analog hardware, and level accurate. At
	 * level fast, whose wires lose nothing, results then have an error of that size. It holds for matrices in the differential encoding.
	 */
	bool predistort;
	/*
	 * A file for a report about one run of each variant on embedded chips: time, energy, crossbars and, with samples, accuracy by layer and, with one
	 * chip, what each optimisation does. JSON if its name ends in .json (sidra-compile(1) has the schema), otherwise a page of HTML that needs no
	 * other file. The network is then always compiled. NULL: none. Not with a pipeline.
	 */
	const char *report_file;
	/*
	 * With samples: the file has inputs of each matrix, up to 128 vectors of codes, of which the ADCs of its crossbars learn a range when the
	 * model is deployed, as sidra_weights_calibrate_async() does it. The range is then the same for all products, as simpler ADCs have it;
	 * otherwise it follows each product. At level fast results do not change.
	 */
	bool adc_ranges;
} sidra_compile_options;

typedef enum sidra_compile_status {
	SIDRA_COMPILE_OK = 0,
	SIDRA_COMPILE_FAILED = 1,		/* the network or the options are refused, or a file or memory is missing */
	SIDRA_COMPILE_TARGET_MISSED = 2		/* the network can be compiled, but not so that it meets target_accuracy */
} sidra_compile_status;

/*
 * Compiles the network in the file `input` (.onnx, or .mlir without constants of a store) to the file `output`, which appears complete or not at
 * all. options may be NULL. After a failure the first `capacity` bytes at `error` have a sentence about it, with the name of the node in question,
 * ended by a zero byte.
 */
SIDRA_COMPILER_API sidra_compile_status sidra_compile(const char *input, const char *output, const sidra_compile_options *options, char *error,
				     size_t capacity);

/*
 * Calls `take` once, with the calls and programs of the compiled model in the file `model` as `sidra-objdump --calls --programs` prints them; json: as
 * an object with the members `calls` and `program_texts` of its JSON (sidra-objdump(1)). stage: which one of a model for several chips; 0: the first,
 * or the model for one chip. The text is valid during the call.
 */
SIDRA_COMPILER_API sidra_compile_status sidra_list_calls(const char *model, uint32_t stage, bool json, void (*take)(void *user, const char *text),
				     void *user, char *error, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_COMPILER_H */
