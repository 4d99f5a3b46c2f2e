// SPDX-License-Identifier: MIT
#include "board.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "check.h"
#include "engine.h"
#include "job.h"

namespace sidra::fuzz {
namespace {

// Operations of one call of an engine, which nothing can interrupt: some milliseconds, where a driver gives up after
// two seconds.
constexpr uint64_t kWorkMost = 1 << 26;  // multiply-accumulates
constexpr uint64_t kElementsMost = chip::kUnitMax.operations;

const engine::Kernels& real() {
    static const engine::Kernels& kernels = *engine::find(SIDRA_CHIP_ENGINE_AUTO);
    return kernels;
}

enum Kind : uint8_t { kMvm, kVector, kMatmul, kPool, kKinds };
constexpr const char* kNames[kKinds] = {"MVM", "VECTOR", "MATMUL", "POOL"};

// For libFuzzer, which keeps an input whose units are twice as large as any before, and goes on from there.
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t sizes[kKinds][64];

void bound(Kind kind, uint64_t operations, uint64_t most) {
    if (operations > most)
        fail("one unit of %s has %llu operations", kNames[kind], static_cast<unsigned long long>(operations));
    sizes[kind][std::bit_width(operations)] = 1;
}

}  // namespace

// The kernels of this machine, which say before they work how much that is.
struct Counted {
    static void mvm(const engine::ColumnMvm& m) {
        bound(kMvm, uint64_t{m.rows} * m.cols * m.batch, kWorkMost);
        real().mvm(m);
    }
    static engine::VectorEnd run_vector(const engine::VectorRows& v, uint8_t* scratch, int64_t* bad) {
        if (v.operand[0] && Memory::is_idle(v.operand[0][0])) return engine::VectorEnd::kDone;
        bound(kVector, uint64_t{v.rows} * v.cols, kElementsMost);
        return real().run_vector(v, scratch, bad);
    }
    static void matmul(const engine::Matmul& m, uint8_t* scratch) {
        bound(kMatmul, uint64_t{m.rows} * m.cols * m.inner, kWorkMost * 8);
        real().matmul(m, scratch);
    }
    static void pool_windows(const engine::PoolWindows& p) {
        bound(kPool, uint64_t{p.begin[p.windows]} * p.channels, kElementsMost);
        real().pool_windows(p);
    }
    static engine::Kernels kernels() {
        engine::Kernels counted = real();
        counted.mvm = mvm;
        counted.run_vector = run_vector;
        counted.matmul = matmul;
        counted.pool_windows = pool_windows;
        return counted;
    }
};

Board::Board() {
    static const engine::Kernels counted = Counted::kernels();
    chip::Geometry geometry = chip::kGeometrySmall;
    geometry.l3_size = geometry.nvm_size = 64 << 10;  // an input may have changed all of it
    chip_ = std::make_unique<chip::Chip>(geometry, engine::make(counted, 1), 1, false, nullptr, memory.host());
    for (int boot = 0; boot < 100; boot++) {
        memory.clock_ns += 1'000'000;
        while (run()) {
        }
    }
    write64(SIDRA_REG_CONTEXT_TABLE, Memory::kTable);
    write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
}

bool Board::run() {
    memory.begin_slice();
    const bool worked = chip_->run({});
    memory.end_slice();
    return worked;
}

bool Board::run_one_turn() {
    memory.begin_slice();
    const bool worked = chip_->run({[](void*) { return true; }, nullptr});
    memory.end_slice();
    return worked;
}

uint32_t Board::admin(uint32_t op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    tag_ = (tag_ + 1) & 0xffff;
    write64(SIDRA_REG_ADMIN_ARG0, arg0);
    write64(SIDRA_REG_ADMIN_ARG1, arg1);
    write64(SIDRA_REG_ADMIN_ARG2, arg2);
    write32(SIDRA_REG_ADMIN_CMD, op | tag_ << 16);
    // The command goes before any queue.
    for (int i = 0; i < 4; i++) {
        const auto status = static_cast<uint32_t>(chip_->mmio_read(SIDRA_REG_ADMIN_STATUS, 4));
        if (status >> 16 == tag_ && !(status & SIDRA_ADMIN_BUSY)) return status & SIDRA_ADMIN_RESULT_MASK;
        run_one_turn();
    }
    fail("admin command %u does not end", op);
}

namespace {

bool write(void* opaque, const void* data, size_t size) {
    auto& to = *static_cast<std::vector<uint8_t>*>(opaque);
    const auto* const bytes = static_cast<const uint8_t*>(data);
    to.insert(to.end(), bytes, bytes + size);
    return true;
}

struct Reader {
    const std::vector<uint8_t>& stream;
    size_t at = 0;
    static bool read(void* opaque, void* data, size_t size) {
        auto& from = *static_cast<Reader*>(opaque);
        if (size > from.stream.size() - from.at) return false;
        if (size) std::memcpy(data, from.stream.data() + from.at, size);
        from.at += size;
        return true;
    }
};

}  // namespace

void Board::save(std::vector<uint8_t>& stream) {
    if (!chip_->stream().save(write, &stream)) fail("a chip can't be saved");
}

void Board::save(std::vector<uint8_t>& part, std::vector<uint8_t>& stream) {
    chip_->stream().precopy_begin();
    if (!chip_->stream().precopy(write, &part, UINT32_MAX)) fail("cells can't be saved");
    save(stream);
}

std::string Board::load(const std::vector<uint8_t>& stream) {
    Reader reader{stream};
    std::string why;
    if (!chip_->stream().load(Reader::read, &reader, &why) && why.empty()) fail("a stream is refused without a reason");
    return why;
}

std::string Board::load_part(const std::vector<uint8_t>& part) {
    Reader reader{part};
    std::string why;
    if (!chip_->stream().load_precopy(Reader::read, &reader, &why) && why.empty())
        fail("cells are refused without a reason");
    return why;
}

void Board::reset() {
    chip_->reset();
    if (chip_->mmio_read(SIDRA_REG_ID, 4) != SIDRA_ID_MAGIC ||
        !(chip_->mmio_read(SIDRA_REG_STATUS, 4) & SIDRA_STATUS_READY))
        fail("the chip is not ready after a reset");
}

sidra_hw_xbar Board::crossbar(uint32_t number) const {
    sidra_hw_xbar header{};
    if (!chip_->xbar_headers(number, 1, &header)) fail("there is no crossbar %u", number);
    return header;
}

}  // namespace sidra::fuzz
