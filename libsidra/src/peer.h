// SPDX-License-Identifier: MIT
// Copies between contexts.
#ifndef SIDRA_PEER_H
#define SIDRA_PEER_H

#include "context.h"

namespace sidra {

// The copies that are not done let go of a context that has no stream any more; not on the thread of its callbacks. A
// stream of another context that waits for such a copy goes on if it was the source, and stops if it was the target.
void drop_peer_copies(sidra_context* context);

}  // namespace sidra

#endif
