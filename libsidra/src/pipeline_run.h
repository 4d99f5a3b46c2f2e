// SPDX-License-Identifier: MIT
#ifndef SIDRA_PIPELINE_RUN_H
#define SIDRA_PIPELINE_RUN_H

#include "pipeline.h"

namespace sidra {

sidra_status check_stage(const char* call, const sidra_pipeline& pipeline, uint32_t stage);

}  // namespace sidra

#endif
