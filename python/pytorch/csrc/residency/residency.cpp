// SPDX-License-Identifier: MIT
#include "residency/residency.h"

#include <c10/util/Exception.h>
#include <c10/util/hash.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "aten/alias.h"
#include "aten/quantised.h"
#include "profiler/profile.h"
#include "residency/quantise.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

// After so many writes to a matrix that was on crossbars it is not programmed again by itself: cells wear out.
constexpr uint32_t kStaleMax = 3;
// Its name in a profile.
constexpr const char* kProgram = "sidra::program";

std::atomic<MatmulMode> mode{MatmulMode::kInt8};
std::atomic<bool> checking{false};

struct Key {
    uint64_t uid;
    int64_t offset;
    std::array<int64_t, 4> size, stride;  // zeros behind those of a matrix
    at::ScalarType dtype;
    bool operator==(const Key&) const = default;
};
struct KeyHash {
    size_t operator()(const Key& key) const {
        return c10::get_hash(key.uid, key.offset, key.size[0], key.size[1], key.stride[0], key.stride[1]);
    }
};

// What goes on crossbars, [k][n].
at::Tensor matrix_of(const at::Tensor& weight) {
    return weight.dim() == 2 ? weight : weight.permute({2, 3, 1, 0}).reshape({-1, weight.size(0)});
}
int64_t inputs_of(const Key& key) { return key.size[2] == 0 ? key.size[0] : key.size[1] * key.size[2] * key.size[3]; }
int64_t outputs_of(const Key& key) { return key.size[2] == 0 ? key.size[1] : key.size[0]; }

// Frees the cells when the device is done with them.
struct Owned final : Resident {
    ~Owned() {
        // What is queued would fault if its weights ended before. A stream that has stopped computes nothing.
        for (const c10::StreamId user : users)
            static_cast<void>(sidra_stream_synchronize(device(index).stream(user), SIDRA_NEVER));
        static_cast<void>(sidra_event_destroy(programmed));
        static_cast<void>(sidra_weights_destroy(weights));
        static_cast<void>(sidra_buffer_destroy(tables));
    }
    c10::DeviceIndex index = 0;
    sidra_buffer* tables = nullptr;
    sidra_event* programmed = nullptr;  // the end of the programming
    bool ready = false;                 // that is reached
    std::vector<c10::StreamId> users;   // streams: that which programs it, and those that compute with it
};

// Where and how a matrix shall lie.
struct Wish {
    sidra_weights_encoding encoding = SIDRA_WEIGHTS_AUTO;
    std::span<const uint32_t> crossbars = {};  // of each tile; none: the driver chooses
};

struct Entry {
    std::shared_ptr<Owned> owned;  // null: not on crossbars
    uint64_t generation = 0;       // of the content on crossbars, or of the last time it was seen
    uint64_t hash = 0;             // of that content, if that is checked
    uint64_t uses = 0, programs = 0, used_at = 0;
    uint32_t went_stale = 0;
    bool pinned = false;
    std::optional<uint64_t> full;                          // Table::vacated when there was no room at this generation
    sidra_weights_encoding encoding = SIDRA_WEIGHTS_AUTO;  // that set_layout() has asked for
};

struct Table {
    std::mutex lock;
    std::unordered_map<Key, Entry, KeyHash> entries;
    uint64_t clock = 0;
    std::atomic<bool> streams_reset{false};  // since the lock was taken last
    // Grows when crossbars may have become free that a matrix without room could not take: of what was pinned, or of a
    // compiled region.
    std::atomic<uint64_t> vacated{0};
};
Table& table_of(c10::DeviceIndex index) {
    static auto* const all = new std::array<Table, 64>;
    return (*all)[static_cast<size_t>(index)];
}

// The matrix leaves the crossbars, if it is there.
void vacate(Table& table, Entry& entry) {
    if (entry.owned && entry.pinned) ++table.vacated;
    entry.owned.reset();
}

// Matrices whose programming was dropped are not resident.
void drop_failed(Table& table) {
    for (auto& [key, entry] : table.entries) {
        if (!entry.owned || entry.owned->ready) continue;
        const sidra_status status = sidra_event_query(entry.owned->programmed);
        entry.owned->ready = status == SIDRA_OK;
        if (status != SIDRA_OK && status != SIDRA_ERROR_NOT_READY) vacate(table, entry);
    }
}

// Takes the table's lock. The streams of its device may be reset while somebody has it, also by its holder, who finds
// one that has stopped; the next holder does what is left to do then.
std::unique_lock<std::mutex> hold(Table& table) {
    std::unique_lock guard(table.lock);
    if (table.streams_reset.exchange(false)) drop_failed(table);
    return guard;
}

// Call it with the table's lock. From now on the end of the block is the end of its entries.
Entry& entry_of(Table& table, const Key& key, Block& block) {
    block.programmed.store(true, std::memory_order_relaxed);
    return table.entries[key];
}

std::optional<Key> key_of(const at::Tensor& weight, Block** block) {
    *block = block_of(weight);
    if (*block == nullptr || (weight.dim() != 2 && weight.dim() != 4) || weight.numel() == 0) return std::nullopt;
    Key key{(*block)->uid, weight.storage_offset(), {}, {}, weight.scalar_type()};
    std::copy(weight.sizes().begin(), weight.sizes().end(), key.size.begin());
    std::copy(weight.strides().begin(), weight.strides().end(), key.stride.begin());
    return key;
}

// The codes of the matrix, [k][n]; what a layer needs beside them goes into the tables. False: a value is not finite.
bool quantise(const at::Tensor& matrix, Owned& owned, std::vector<int8_t>& codes) {
    void* tables = nullptr;
    check(sidra_buffer_map(owned.tables, &tables));
    const size_t n = owned.n;
    codes.resize(owned.k * n);
    return quantise_columns(matrix, codes, {static_cast<float*>(tables) + n, n}, {static_cast<int32_t*>(tables), n});
}

bool has_code_minus_128(const at::Tensor& matrix) {
    if (matrix.scalar_type() != at::kChar) return false;
    synchronize_current_stream(matrix.device().index());
    return cpu_alias(matrix).eq(-128).any().item<bool>();
}

// The calling thread's stream has queued the programming; others wait for its end.
void record_programming(Owned& owned) {
    owned.users = {current_stream_id(owned.index)};
    owned.ready = false;
    check(sidra_event_record(owned.programmed, current_stream(owned.index)));
}

// Queues the programming. Null: the matrix has a value that is not finite or that the encoding cannot represent, or
// there is no room (`full`). Throws if the crossbars that were wished for cannot be had.
std::shared_ptr<Owned> make(const at::Tensor& matrix, const Wish& wish, bool* full) {
    const c10::DeviceIndex index = matrix.device().index();
    synchronize_current_stream(index);
    const at::Tensor values = matrix_of(cpu_alias(matrix));
    const auto k = static_cast<uint32_t>(values.size(0)), n = static_cast<uint32_t>(values.size(1));
    auto owned = std::make_shared<Owned>();
    owned->weights = nullptr;
    owned->k = k, owned->n = n;
    owned->index = index;
    check(sidra_buffer_create(device(index).context(), size_t{n} * 12, SIDRA_BUFFER_HOST, &owned->tables));
    owned->sums = {owned->tables, 0};
    owned->scale = {owned->tables, size_t{n} * 4};
    owned->zeros = {owned->tables, size_t{n} * 8};
    std::vector<int8_t> codes;
    if (!quantise(values, *owned, codes)) return nullptr;
    auto options = SIDRA_INIT(sidra_weights_options);
    options.encoding = wish.encoding;
    options.crossbars = wish.crossbars.empty() ? nullptr : wish.crossbars.data();
    options.crossbar_count = static_cast<uint32_t>(wish.crossbars.size());
    const sidra_status status =
        sidra_weights_create_s8(device(index).context(), k, n, codes.data(), n, nullptr, &options, &owned->weights);
    // LIMIT: the context has as many matrices as it can have.
    if (wish.crossbars.empty() && (status == SIDRA_ERROR_OUT_OF_CROSSBARS || status == SIDRA_ERROR_LIMIT ||
                                   status == SIDRA_ERROR_INVALID_ARGUMENT)) {
        *full = true;
        return nullptr;
    }
    // A code that the encoding lacks came with a write behind set_layout(), which checks that.
    if (wish.crossbars.empty() && status == SIDRA_ERROR_NOT_REPRESENTABLE) return nullptr;
    check(status);
    check(sidra_event_create(device(index).context(), SIDRA_EVENT_DEFAULT, &owned->programmed));
    check(sidra_weights_program_async(OnStream(index, kProgram), owned->weights));
    record_programming(*owned);
    return owned;
}

// New content for the same cells, which get pulses from where they are. False: it must be made anew, because a value is
// not finite, the first programming was dropped, or another thread is about to compute with the old content.
bool renew(const std::shared_ptr<Owned>& owned, const at::Tensor& matrix) {
    if (!owned || owned.use_count() > 1) return false;
    // What is queued computes with the old content, also with that of the tables.
    for (const c10::StreamId user : owned->users) {
        if (sidra_stream_synchronize(device(owned->index).stream(user), SIDRA_NEVER) != SIDRA_OK) return false;
    }
    synchronize_current_stream(owned->index);
    std::vector<int8_t> codes;
    if (!quantise(matrix_of(cpu_alias(matrix)), *owned, codes)) return false;
    if (sidra_weights_update_async(OnStream(owned->index, kProgram), owned->weights, 0, owned->k, 0, owned->n,
                                   codes.data(), owned->n) != SIDRA_OK)
        return false;
    record_programming(*owned);
    return true;
}

sidra_weights_info info_of(const Resident& resident) {
    auto info = SIDRA_INIT(sidra_weights_info);
    check(sidra_weights_get_info(resident.weights, &info));
    return info;
}

std::vector<uint32_t> crossbars_of(const Resident& resident) {
    std::vector<uint32_t> crossbars(info_of(resident).crossbars);
    auto count = static_cast<uint32_t>(crossbars.size());
    check(sidra_weights_crossbars(resident.weights, crossbars.data(), &count));
    return crossbars;
}

// Whether the matrix could be on crossbars if it and all that is not pinned left them. Compiled regions, and others
// that use the device, have some, too.
bool could_fit(const Table& table, const Entry* self, const Key& key, sidra_weights_encoding encoding,
               c10::DeviceIndex index) {
    auto info = SIDRA_INIT(sidra_device_info);
    check(sidra_device_get_info(device(index).device().get(), &info));
    const auto tiles = [](int64_t size, uint32_t tile) { return (static_cast<uint64_t>(size) + tile - 1) / tile; };
    const uint32_t columns = encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? info.cols / 2 : info.cols;
    uint64_t available = info.crossbars_free;
    for (const auto& [other, entry] : table.entries) {
        if (entry.owned && (&entry == self || !entry.pinned)) available += info_of(*entry.owned).crossbars;
    }
    return tiles(inputs_of(key), info.rows) * tiles(outputs_of(key), columns) <= available;
}

// Makes room by the matrix that was not used for the longest time. False: there is none to evict.
bool evict_one(Table& table, const Entry* keep) {
    Entry* oldest = nullptr;
    for (auto& [key, entry] : table.entries) {
        if (&entry != keep && entry.owned && !entry.pinned && (oldest == nullptr || entry.used_at < oldest->used_at))
            oldest = &entry;
    }
    if (oldest == nullptr) return false;
    oldest->owned.reset();
    return true;
}

void count_programming(Table& table, Entry& entry, const at::Tensor& matrix) {
    ++entry.programs;
    entry.used_at = ++table.clock;  // the next ones do not take its room at once
    if (checking.load(std::memory_order_relaxed)) entry.hash = content_hash(matrix);
}

// Under the table's lock.
void program_entry(Table& table, const Key& key, Entry& entry, const at::Tensor& matrix, uint64_t generation) {
    entry.generation = generation;
    entry.full.reset();
    bool renewed = false;
    try {
        renewed = renew(entry.owned, matrix);
    } catch (...) {  // the cells have the former content, or a part of the new one
        vacate(table, entry);
        throw;
    }
    if (!renewed) {
        vacate(table, entry);
        const uint64_t vacated = table.vacated;
        const bool fits = could_fit(table, &entry, key, entry.encoding, matrix.device().index());
        bool full = false;
        while (fits && !(entry.owned = make(matrix, {entry.encoding}, &full)) && full && evict_one(table, &entry))
            full = false;
        if (!entry.owned) {
            entry.full = vacated;
            return;
        }
    }
    count_programming(table, entry, matrix);
}

// Which matrices of the table have crossbars that are wished for, for a message.
std::string holders(const Table& table, const Entry& self, std::span<const uint32_t> wished) {
    std::string text;
    for (const auto& [key, entry] : table.entries) {
        if (!entry.owned) continue;
        for (const uint32_t crossbar : crossbars_of(*entry.owned)) {
            if (std::find(wished.begin(), wished.end(), crossbar) == wished.end()) continue;
            text += c10::str("\nCrossbar ", crossbar, " has ",
                             &entry == &self ? std::string("this matrix itself")
                                             : c10::str("a matrix of ", inputs_of(key), " x ", outputs_of(key)),
                             "; torch.sidra.release() takes it off.");
        }
    }
    return text;
}

// Whether it lies as it shall.
bool lies_so(const Resident& resident, const Wish& wish) {
    if (wish.encoding != SIDRA_WEIGHTS_AUTO && info_of(resident).encoding != wish.encoding) return false;
    return wish.crossbars.empty() || std::ranges::equal(crossbars_of(resident), wish.crossbars);
}

// What `ask` says of a matrix on crossbars; none: it is not there with its present content.
template <typename F>
auto of_resident(const at::Tensor& matrix, F&& ask) -> std::optional<decltype(ask(std::declval<const Owned&>()))> {
    Block* block = nullptr;
    const std::optional<Key> key = key_of(matrix, &block);
    if (!key) return std::nullopt;
    Table& table = table_of(matrix.device().index());
    const auto guard = hold(table);
    const auto found = table.entries.find(*key);
    if (found == table.entries.end() || !found->second.owned ||
        found->second.generation != block->generation.load(std::memory_order_relaxed))
        return std::nullopt;
    return ask(*found->second.owned);
}

// The calling thread's stream computes with the cells from now on, and not before another one has programmed them.
void use(Owned& owned) {
    const c10::StreamId stream = current_stream_id(owned.index);
    // Each time, because another thread's wait may be dropped by a reset that only that thread is told of.
    if (!owned.ready && stream != owned.users.front()) {
        owned.ready = sidra_event_query(owned.programmed) == SIDRA_OK;
        if (!owned.ready) check(sidra_stream_wait_event(OnStream(owned.index, "sidra::wait"), owned.programmed));
    }
    if (std::find(owned.users.begin(), owned.users.end(), stream) == owned.users.end()) owned.users.push_back(stream);
}

}  // namespace

MatmulMode matmul_mode() { return mode.load(std::memory_order_relaxed); }
void set_matmul_mode(MatmulMode to) { mode.store(to, std::memory_order_relaxed); }
void set_residency_check(bool on) { checking.store(on, std::memory_order_relaxed); }
bool residency_check() { return checking.load(std::memory_order_relaxed); }

uint64_t content_hash(const at::Tensor& tensor) {
    synchronize_current_stream(tensor.device().index());
    const at::Tensor content = cpu_alias(tensor).contiguous();
    const auto* bytes = static_cast<const unsigned char*>(content.const_data_ptr());
    uint64_t hash = 14695981039346656037ull;  // FNV-1a
    for (size_t i = 0; i < content.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    return hash;
}

std::shared_ptr<const Resident> resident(const at::Tensor& matrix) {
    Block* block = nullptr;
    const std::optional<Key> key = key_of(matrix, &block);
    if (!key) return nullptr;
    const uint64_t generation = block->generation.load(std::memory_order_relaxed);
    const c10::DeviceIndex index = matrix.device().index();
    // What was never programmed and not seen at this generation needs no table: an activation is seen once.
    if (!block->programmed.load(std::memory_order_relaxed) &&
        block->seen.exchange(generation + 1, std::memory_order_relaxed) != generation + 1)
        return nullptr;

    Table& table = table_of(index);
    const auto guard = hold(table);
    Entry& entry = entry_of(table, *key, *block);
    if (entry.owned && entry.generation != generation) {
        vacate(table, entry);
        ++entry.went_stale;
        entry.pinned = false;
        entry.full.reset();
        entry.generation = generation;
        return nullptr;  // seen once with this content
    }
    if (!entry.owned) {
        if (entry.generation != generation) {
            const bool again = entry.programs > 0 || entry.went_stale > 0;
            entry.generation = generation;
            entry.full.reset();
            if (again) return nullptr;
        }
        if (entry.full == table.vacated.load() || entry.went_stale > kStaleMax) return nullptr;
        program_entry(table, *key, entry, matrix, generation);
        if (!entry.owned) return nullptr;
    }
    if (checking.load(std::memory_order_relaxed)) {
        TORCH_CHECK(content_hash(matrix) == entry.hash, "SIDRA_CHECK_RESIDENCY: a matrix of ", inputs_of(*key), " x ",
                    outputs_of(*key),
                    " was changed, and its crossbars were not told. Whoever writes to its memory without an operator "
                    "of PyTorch's must call "
                    "torch.sidra.mark_written(tensor).");
    }
    ++entry.uses;
    entry.used_at = ++table.clock;
    use(*entry.owned);
    return entry.owned;
}

bool program(const at::Tensor& matrix, std::string* why) {
    Block* block = nullptr;
    const std::optional<Key> key = key_of(matrix, &block);
    if (!key) {
        *why = "it is not a matrix in the memory of a sidra device";
        return false;
    }
    Table& table = table_of(matrix.device().index());
    const auto guard = hold(table);
    Entry& entry = entry_of(table, *key, *block);
    const uint64_t generation = block->generation.load(std::memory_order_relaxed);
    entry.went_stale = 0;
    if (!entry.owned || entry.generation != generation) program_entry(table, *key, entry, matrix, generation);
    entry.pinned = entry.owned != nullptr;
    if (!entry.owned)
        *why =
            "no crossbars are free for it, or it has values that are not finite, or that its encoding cannot represent";
    return entry.pinned;
}

std::optional<Layout> layout_of(const at::Tensor& matrix) {
    return of_resident(matrix, [](const Owned& owned) {
        const sidra_weights_info info = info_of(owned);
        return Layout{info.k, info.n, info.encoding, info.tile_rows, info.tile_cols, crossbars_of(owned)};
    });
}

ProgrammingCost programming_cost(const at::Tensor& matrix) {
    const auto cost = of_resident(matrix, [](const Owned& owned) {
        const sidra_weights_info info = info_of(owned);
        return ProgrammingCost{info.program_device_ps, info.program_energy_pj};
    });
    return cost.value_or(ProgrammingCost{});
}

void set_layout(const at::Tensor& matrix, sidra_weights_encoding encoding, std::span<const uint32_t> crossbars,
                bool pin) {
    Block* block = nullptr;
    const std::optional<Key> key = key_of(matrix, &block);
    TORCH_CHECK(key, "it is not a matrix in the memory of a sidra device");
    Table& table = table_of(matrix.device().index());
    const auto guard = hold(table);
    Entry& entry = entry_of(table, *key, *block);
    const uint64_t generation = block->generation.load(std::memory_order_relaxed);
    const bool current = entry.owned && entry.generation == generation;
    Wish wish{encoding, crossbars};
    if (encoding == SIDRA_WEIGHTS_AUTO && !crossbars.empty())
        wish.encoding = current                                ? info_of(*entry.owned).encoding
                        : entry.encoding != SIDRA_WEIGHTS_AUTO ? entry.encoding
                                                               : SIDRA_WEIGHTS_DIFFERENTIAL;
    if (!current || !lies_so(*entry.owned, wish)) {
        // Until it is sure that there are crossbars, everything stays as it is.
        if (crossbars.empty()) {
            const sidra_weights_encoding wanted = wish.encoding != SIDRA_WEIGHTS_AUTO ? wish.encoding : entry.encoding;
            TORCH_CHECK(could_fit(table, &entry, *key, wanted, matrix.device().index()),
                        "it needs more crossbars than the device has beside pinned matrices and compiled models");
            TORCH_CHECK(wanted != SIDRA_WEIGHTS_DIFFERENTIAL || !has_code_minus_128(matrix),
                        "it has the code -128, which the encoding \"differential\" cannot represent; \"offset\" can");
            entry.encoding = wanted;
            if (entry.owned && !lies_so(*entry.owned, wish)) vacate(table, entry);
            program_entry(table, *key, entry, matrix, generation);
            TORCH_CHECK(entry.owned, "no crossbars are free for it, or it has values that are not finite");
        } else {
            bool full = false;
            std::shared_ptr<Owned> made;
            try {
                made = make(matrix, wish, &full);
            } catch (const c10::Error& error) {
                TORCH_CHECK(false, error.what_without_backtrace(), holders(table, entry, crossbars));
            }
            TORCH_CHECK(made, "it has values that are not finite");
            vacate(table, entry);
            entry.owned = std::move(made);
            entry.generation = generation;
            entry.full.reset();
            entry.encoding = wish.encoding;
            count_programming(table, entry, matrix);
        }
        entry.went_stale = 0;
    }
    if (entry.pinned && !pin) ++table.vacated;
    entry.pinned = pin;
}

void release(const at::Tensor& matrix) {
    Block* block = nullptr;
    const std::optional<Key> key = key_of(matrix, &block);
    if (!key) return;
    Table& table = table_of(matrix.device().index());
    const auto guard = hold(table);
    const auto found = table.entries.find(*key);
    if (found == table.entries.end()) return;
    vacate(table, found->second);
    table.entries.erase(found);
}

std::vector<ResidencyRow> residency_rows(c10::DeviceIndex index) {
    drop_ended_layers(index);
    Table& table = table_of(index);
    const auto guard = hold(table);
    std::vector<ResidencyRow> rows;
    for (const auto& [key, entry] : table.entries) {
        ResidencyRow row{};
        row.uid = key.uid;
        row.k = static_cast<uint32_t>(inputs_of(key)), row.n = static_cast<uint32_t>(outputs_of(key));
        row.uses = entry.uses, row.programs = entry.programs;
        row.pinned = entry.pinned, row.is_volatile = entry.went_stale > kStaleMax;
        row.stale = !entry.owned;
        if (entry.owned) {
            const sidra_weights_info info = info_of(*entry.owned);
            row.crossbars = info.crossbars;
            row.program_device_ps = info.program_device_ps, row.program_energy_pj = info.program_energy_pj;
            for (uint32_t tile = 0; tile < info.tile_rows * info.tile_cols; ++tile) {
                auto report = SIDRA_INIT(sidra_tile_report);
                check(sidra_weights_report(entry.owned->weights, tile, &report));
                row.wear = std::max(row.wear, report.crossbar_programs);
                row.pulses += report.set_pulses + report.reset_pulses;
            }
        }
        rows.push_back(row);
    }
    return rows;
}

void residency_drop_failed(c10::DeviceIndex index) { table_of(index).streams_reset.store(true); }

void residency_region_ended(c10::DeviceIndex index) { ++table_of(index).vacated; }

bool residency_make_room(c10::DeviceIndex index) {
    Table& table = table_of(index);
    const auto guard = hold(table);
    return evict_one(table, nullptr);
}

void residency_forget(c10::DeviceIndex index, uint64_t uid) noexcept {
    Table& table = table_of(index);
    const auto guard = hold(table);
    for (auto& [key, entry] : table.entries) {
        if (key.uid == uid) vacate(table, entry);
    }
    std::erase_if(table.entries, [&](const auto& item) { return item.first.uid == uid; });
}

}  // namespace sidra::pytorch
