// SPDX-License-Identifier: MIT
#ifndef SIDRA_GRAPH_H
#define SIDRA_GRAPH_H

#include "queue.h"

namespace sidra {

// As sidra_graph_launch_async() for a stream whose handle was checked. Waits for room in the ring until `latest` or the
// stream's deadline. `point` returns the point after the run.
sidra_status launch_graph(const char* call, sidra_stream* stream, sidra_graph* graph, uint64_t latest, Point* point);

// Whether a packet of a ring runs the graph; false if the handle is not good.
bool is_launch(const sidra_graph* graph, const sidra_cmd& packet);

}  // namespace sidra

#endif
