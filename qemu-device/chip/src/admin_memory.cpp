// SPDX-License-Identifier: MIT
#include "admin_memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace sidra::chip {
namespace {

constexpr uint64_t kMemoryMax = 65536;  // bytes of one NVM command
constexpr uint64_t kTestMax = 4096;
constexpr uint64_t kHeadersMax = 1024;
constexpr uint64_t kReportsMax = 64;

bool inside(uint64_t offset, uint64_t count, uint64_t size) { return offset <= size && count <= size - offset; }

uint8_t done(bool good) { return good ? SIDRA_ADMIN_OK : SIDRA_ADMIN_BUS_ERROR; }

}  // namespace

std::optional<uint8_t> AdminMemory::step(const AdminCommand& command) {
    try {
        return step_now(command);
    } catch (const std::bad_alloc&) {  // as if the host refused the transfer: nothing has changed
        return SIDRA_ADMIN_BUS_ERROR;
    }
}

uint8_t AdminMemory::give(uint64_t bus, const void* data, uint64_t bytes) {
    return done(bus_.write({Space::kBus, bus, bytes}, data));
}

std::optional<uint8_t> AdminMemory::step_now(const AdminCommand& command) {
    const uint64_t a = command.arg[0], b = command.arg[1], n = command.arg[2];
    switch (command.op()) {
        case SIDRA_ADMIN_TEST_DMA: {
            if (n > kTestMax) return SIDRA_ADMIN_BAD_ARG;
            uint8_t data[kTestMax];
            return bus_.read({Space::kBus, a, n}, data) ? give(b, data, n) : uint8_t{SIDRA_ADMIN_BUS_ERROR};
        }
        case SIDRA_ADMIN_NVM_READ: {
            const auto nvm = array_.nvm();
            if (n > kMemoryMax || !inside(a, n, nvm.size())) return SIDRA_ADMIN_BAD_ARG;
            if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
            const std::vector<uint8_t> ones(knobs_.lies(SIDRA_LIE_NVM) ? n : 0, 0xff);
            return give(b, ones.empty() ? nvm.data() + a : ones.data(), n);
        }
        case SIDRA_ADMIN_NVM_WRITE: {
            if (n > kMemoryMax || !inside(a, n, array_.nvm().size())) return SIDRA_ADMIN_BAD_ARG;
            std::vector<uint8_t> data(n);  // copied first: all or nothing
            return done(bus_.read({Space::kBus, b, n}, data.data()) && array_.write_nvm(a, data));
        }
        case SIDRA_ADMIN_XBAR_READ: {
            if (n > kHeadersMax || !inside(a, n, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            std::vector<sidra_hw_xbar> headers(n);
            for (uint64_t i = 0; i < n; i++) headers[i] = array_.header(static_cast<uint32_t>(a + i));
            if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
            if (knobs_.lies(SIDRA_LIE_XBAR_HEADERS)) std::memset(headers.data(), 0xff, n * sizeof headers[0]);
            return give(b, headers.data(), n * sizeof headers[0]);
        }
        case SIDRA_ADMIN_XBAR_REPORT: {
            if (n > kReportsMax || !inside(a, n, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            std::vector<sidra_hw_xbar_report> reports(n);
            for (uint64_t i = 0; i < n; i++)
                reports[i] = array_.report(static_cast<uint32_t>(a + i), array_.cells_now(clock_));
            if (knobs_.lies(SIDRA_LIE_SHORT_READ)) return SIDRA_ADMIN_OK;
            if (knobs_.lies(SIDRA_LIE_XBAR_HEADERS)) std::memset(reports.data(), 0xff, n * sizeof reports[0]);
            return give(b, reports.data(), n * sizeof reports[0]);
        }
        case SIDRA_ADMIN_XBAR_ERASE: {
            if (!inside(a, b, array_.xbars())) return SIDRA_ADMIN_BAD_ARG;
            const auto first = static_cast<uint32_t>(a) + erased_, left = static_cast<uint32_t>(b) - erased_;
            const uint32_t batch = std::min(left, Array::kEraseBatch - first % Array::kEraseBatch);
            if (!array_.erase(first, batch)) return SIDRA_ADMIN_BUS_ERROR;
            erased_ += batch;
            return batch < left ? std::nullopt : std::optional<uint8_t>{SIDRA_ADMIN_OK};
        }
        case SIDRA_ADMIN_L3_ZERO:
            if (a % SIDRA_PAGE_SIZE || b % SIDRA_PAGE_SIZE || !inside(a, b, l3_.size())) return SIDRA_ADMIN_BAD_ARG;
            std::fill_n(l3_.data() + a, b, uint8_t{0});
            return SIDRA_ADMIN_OK;
        default:
            return SIDRA_ADMIN_BAD_OP;
    }
}

}  // namespace sidra::chip
