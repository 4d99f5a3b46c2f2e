// SPDX-License-Identifier: MIT
// Chips with engines from elsewhere.
#ifndef SIDRA_CHIP_CREATE_H
#define SIDRA_CHIP_CREATE_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine.h"
#include "sidra_chip.h"

namespace sidra::chip {

// As sidra_chip_create(), with an engine that `make` makes.
using MakeEngine = std::unique_ptr<engine::Engine> (*)(sidra_chip_engine id, uint32_t threads);
int create(const sidra_chip_config* config, const sidra_chip_host* host, MakeEngine make, sidra_chip** chip,
           char* error, size_t error_size);

}  // namespace sidra::chip

#endif
