/* SPDX-License-Identifier: MIT */
/*
 * libsidra: compiled models on several chips. A file that was compiled for several chips has a stage for each of them. The stages work at the same
 * time on successive runs, and copies between chips go on beside the computation.
 *
 *   sidra_pipeline_create()         loads the stages, each into the context of another chip
 *   sidra_pipeline_deploy_async()   puts their matrices on crossbars
 *   sidra_pipeline_submit()         begins a run, with a copy of its inputs
 *   sidra_pipeline_receive()        waits for the oldest run, and copies its outputs
 *
 * The conventions of sidra.h and model.h apply. A file for one chip is a pipeline of one stage. The contexts must stay until the pipeline is
 * destroyed. They may be of one device, which then needs crossbars for all of their stages.
 *
 * Threads: as for other objects. Runs end in the order of their submission; several threads that receive get one each.
 *
 * Errors: if a stage fails, runs that it had not finished fail, too, and the text names the stage and its device. After that nothing can be
 * submitted until sidra_pipeline_reset().
 */
#ifndef SIDRA_PIPELINE_H
#define SIDRA_PIPELINE_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidra_pipeline sidra_pipeline;

/*
 * contexts: one for each stage, in their order. The file may be removed, but must not change, until the pipeline is deployed.
 * INVALID_ARGUMENT: the file has another number of stages, or what sidra_model_load() says.
 */
SIDRA_API sidra_status sidra_pipeline_create(sidra_context *const *contexts, uint32_t count, const char *path, sidra_pipeline **pipeline);
/* Drops the runs that are not done, and frees the stages. No other call may use the pipeline meanwhile. NULL is allowed. */
SIDRA_API sidra_status sidra_pipeline_destroy(sidra_pipeline *pipeline);

/* Stages of a file, which is how many contexts it needs; 1 if it is for one chip. Fails as sidra_model_load(). */
SIDRA_API sidra_status sidra_pipeline_stages(const char *path, uint32_t *stages);

typedef struct sidra_pipeline_info {
	size_t struct_size;
	uint32_t stages;
	uint32_t variants;
	uint32_t runs_max;	/* runs that can be under way at once, with those whose outputs were not received */
	uint32_t runs;		/* those that are */
} sidra_pipeline_info;
SIDRA_API sidra_status sidra_pipeline_get_info(sidra_pipeline *pipeline, sidra_pipeline_info *info);
/*
 * The model of a stage, for its queries: sidra_model_get_input() of the first stage says what the pipeline takes, sidra_model_get_output() of the
 * last one what it gives, and sidra_model_find_variant() of the first one finds variants. The pipeline's own: only the pipeline may run, deploy or
 * destroy it.
 */
SIDRA_API sidra_status sidra_pipeline_get_stage(sidra_pipeline *pipeline, uint32_t stage, sidra_model **model);

/* As sidra_model_deploy_async(), for all stages. If it fails for one, earlier ones stay deployed, and the next call continues. */
SIDRA_API sidra_status sidra_pipeline_deploy_async(sidra_pipeline *pipeline);
/* As sidra_model_progress(), of all stages. */
SIDRA_API sidra_status sidra_pipeline_progress(sidra_pipeline *pipeline, uint64_t *done, uint64_t *total);

/*
 * Begins a run of a variant, and does not wait for it. inputs: a pointer for each input, to as many bytes as it has; they are copied.
 * BUSY: runs_max runs are under way; receive one first. UNPROGRAMMED: the pipeline is not deployed.
 */
SIDRA_API sidra_status sidra_pipeline_submit(sidra_pipeline *pipeline, uint32_t variant, const void *const *inputs);
/*
 * Waits for the oldest run that was not received, and copies its outputs. outputs: a pointer for each output, to as many bytes as it has; NULL: that
 * one is not wanted. Not in a callback of a stream.
 * TIMEOUT: the deadline passed, and the run goes on; or another thread still receives at the deadline. NOT_FOUND: no run is under way. FAULT: a
 * stage has failed, or sidra_pipeline_reset() was called meanwhile.
 */
SIDRA_API sidra_status sidra_pipeline_receive(sidra_pipeline *pipeline, void *const *outputs, uint64_t deadline);
/* Waits until all that was queued is done: programming and runs. TIMEOUT at the deadline. */
SIDRA_API sidra_status sidra_pipeline_synchronize(sidra_pipeline *pipeline, uint64_t deadline);

/* Drops all runs, also those that were not received, and recovers contexts that were lost. The matrices stay on their crossbars. */
SIDRA_API sidra_status sidra_pipeline_reset(sidra_pipeline *pipeline);

/* As sidra_stream_device_time(), of all that a stage has done on its chip. Copies between chips are made by the host. */
SIDRA_API sidra_status sidra_pipeline_device_time(sidra_pipeline *pipeline, uint32_t stage, uint64_t *picoseconds, uint64_t *picojoules);

#ifdef __cplusplus
}
#endif

#endif /* SIDRA_PIPELINE_H */
