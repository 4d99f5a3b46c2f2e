// SPDX-License-Identifier: MIT
// What libsidra-smi would say to the command: the functions that it calls, with chips that a test makes up.
#ifndef SIDRA_TESTS_CDI_SESSION_H
#define SIDRA_TESTS_CDI_SESSION_H

#include <deque>
#include <string>

#include "sidra/smi.h"

struct sidra_smi_chip {
    std::string node, uuid;  // "": absent
    sidra_smi_kind kind = SIDRA_SMI_CARD;
    bool gone = false;
};

struct sidra_smi {
    std::deque<sidra_smi_chip> chips;
    sidra_smi_status status = SIDRA_SMI_OK;  // of refresh
};

#endif
