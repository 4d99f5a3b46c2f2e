// SPDX-License-Identifier: MIT
// Which matrices are on crossbars. A matrix is a part of a storage with a shape and strides. Crossbars have what it was
// when they were programmed; a storage's generation, which grows with each write, tells whether it still is that.
#ifndef SIDRA_PYTORCH_RESIDENCY_H
#define SIDRA_PYTORCH_RESIDENCY_H

#include <ATen/core/Tensor.h>
#include <sidra/sidra.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sidra::pytorch {

// How products with weights are computed.
enum class MatmulMode {
    kInt8,     // on crossbars, once a matrix has been seen twice or torch.sidra.program() has named it
    kDigital,  // by the matrix engine, in f32
    kCpu
};
MatmulMode matmul_mode();
void set_matmul_mode(MatmulMode mode);

// A matrix on crossbars, and what a layer needs beside it.
struct Resident {
    sidra_weights* weights;
    uint32_t k, n;
    sidra_ref sums;   // S32[n]: of the codes of each column
    sidra_ref scale;  // F32[n]: of each column
    sidra_ref zeros;  // F32[n]: in place of a bias
};

// The matrix [k][n] as a tensor, in any strides (a weight of F.linear is [n][k]: give it transposed), or the kernel of
// a convolution [n][channels][height][width], whose k goes over height, width and channels. Gives what is resident for
// the calling thread's stream, and programs it if it was seen before with the same content; null: compute it otherwise.
std::shared_ptr<const Resident> resident(const at::Tensor& matrix);

// For torch.sidra.program(): programs the matrix now and keeps it until it is released or written to. A matrix that is
// on crossbars with older content stays on these, and its cells get pulses from where they are. Returns whether it is
// resident; `why` says why not.
bool program(const at::Tensor& matrix, std::string* why);
void release(const at::Tensor& matrix);

// How a matrix lies on crossbars.
struct Layout {
    uint32_t k, n;
    sidra_weights_encoding encoding;
    uint32_t tile_rows, tile_cols;    // the grid of tiles
    std::vector<uint32_t> crossbars;  // of each tile, row by row
};
// None: it is not on crossbars with its present content.
std::optional<Layout> layout_of(const at::Tensor& matrix);
struct ProgrammingCost {
    uint64_t device_ps, energy_pj;
};
// What it took to program it, by the cost model, when that is done; zeros if it is not on crossbars.
ProgrammingCost programming_cost(const at::Tensor& matrix);
// For torch.sidra.set_layout(): programs the matrix with this encoding (AUTO: as it is, or was) on these crossbars
// (none: the driver chooses), if it does not lie so already. The encoding holds for later programmings, too. Throws if
// that is not possible; where the crossbars were given, the matrix then stays as it was.
void set_layout(const at::Tensor& matrix, sidra_weights_encoding encoding, std::span<const uint32_t> crossbars,
                bool pin);

struct ResidencyRow {
    uint64_t uid;
    uint32_t k, n, crossbars;
    uint64_t uses, programs;  // products computed, times programmed
    bool pinned, stale, is_volatile;
    uint64_t program_device_ps, program_energy_pj;
    uint32_t wear;    // most programmings of one of its crossbars over their life
    uint64_t pulses;  // that its cells got since it is on these crossbars; 0 at level fast
};
std::vector<ResidencyRow> residency_rows(c10::DeviceIndex index);

// The storage ends: its matrices leave the crossbars.
void residency_forget(c10::DeviceIndex index, uint64_t uid) noexcept;

// Makes room for others by the matrix that was not used for the longest time. False: all are pinned, or there is none.
bool residency_make_room(c10::DeviceIndex index);

// A compiled region has left its crossbars: matrices that found no room try again. Takes no lock.
void residency_region_ended(c10::DeviceIndex index);

// Streams have been reset: matrices whose programming was dropped are not resident. Takes no lock, because whoever
// finds a stream that has stopped may hold any.
void residency_drop_failed(c10::DeviceIndex index);

// SIDRA_CHECK_RESIDENCY=1: compares the content at each use with what was programmed or compiled, and throws if they
// differ.
void set_residency_check(bool on);
bool residency_check();
// Of the content of a tensor on the device, for this check. Waits for the calling thread's stream.
uint64_t content_hash(const at::Tensor& tensor);

}  // namespace sidra::pytorch

#endif
