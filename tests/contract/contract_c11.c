/* SPDX-License-Identifier: MIT */
#include "contract.h"
