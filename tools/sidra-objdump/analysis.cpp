// SPDX-License-Identifier: MIT
#include "analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "cost_model.h"
#include "host.h"
#include "program/program_text.h"
#include "sidra_cmd.h"
#include "verify_packet.h"

namespace sidra::objdump {
namespace {

using chip::Cost;
using management::kClockNominal;
using vector::element_size;

constexpr uint64_t kPage = 4096;
constexpr uint32_t kNoProgram = UINT32_MAX;  // of a Matmul

// Why the chip would refuse a call.
class Refused : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

void require(const vector::Verdict& verdict) {
    if (!verdict) return;
    std::string place;
    if (verdict.instruction != SIDRA_PROGRAM_NONE) place += fmt::format(", instruction {}", verdict.instruction);
    if (verdict.operand != SIDRA_PROGRAM_NONE) place += fmt::format(", operand {}", verdict.operand);
    throw Refused(fmt::format("the chip refuses its program, operands or sizes (sidra_program_error {}{})",
                              static_cast<uint32_t>(verdict.error), place));
}

// Addresses of the two memories, as if they were on a chip.
class Memories {
   public:
    Memories(const format::Model& model, const format::Variant& variant) {
        constexpr uint64_t kEnd = uint64_t{1} << SIDRA_VA_BITS;
        constants_ = model.constants() != nullptr ? model.constants()->size() : 0;
        work_ = variant.work();
        if (constants_ > kEnd / 4 || work_ > kEnd / 4) throw Refused("its memory is larger than that of a chip");
        work_at_ = (kConstantsAt + constants_ + kPage - 1) / kPage * kPage;
    }

    uint64_t address(const format::Place& place) const {
        return (place.memory() == format::Memory::Constants ? kConstantsAt : work_at_) + place.offset();
    }

    // Adds what lies between two addresses, of which the first was made of `place`.
    void add(const format::Place& place, const vector::Extent& extent, bool write, const std::string& what,
             std::vector<Access>* accesses) const {
        const bool constant = place.memory() == format::Memory::Constants;
        const uint64_t at = constant ? kConstantsAt : work_at_, size = constant ? constants_ : work_;
        if (extent.end - at > size)
            throw Refused(fmt::format("{} ends at byte {} of the {} memory, which has {}", what, extent.end - at,
                                      constant ? "constant" : "work", size));
        if (constant && write) throw Refused(what + " is stored to, but constants are read-only");
        if (!constant) accesses->push_back({extent.first - at, extent.end - at, write});
    }

   private:
    static constexpr uint64_t kConstantsAt = kPage;
    uint64_t constants_, work_, work_at_;
};

struct Code {
    std::vector<sidra_vector_instruction> instructions;
    size_t prologue = 0;
};

Code code_of(const format::Program& program) {
    Code code;
    code.instructions.resize(program.code()->size() / sizeof(sidra_vector_instruction));
    std::memcpy(code.instructions.data(), program.code()->data(), program.code()->size());
    code.prologue = program.prologue();
    return code;
}

// What libsidra takes if a product has no program: it stores the sums.
Code plain_code(bool floats) {
    const auto text =
        floats ? "pass:\nv0 = load sums\nstore o2, v0\n" : "pass:\nv0 = load_int sums\nstore_int o2, v0\n";
    const program::Assembly assembly = program::assemble(text);
    return {std::get<program::Code>(assembly).instructions, 0};
}

class Analysis {
   public:
    Analysis(const format::Model& model, const format::Variant& variant, const Placement& placement)
        : model_(model), memories_(model, variant), placement_(placement) {}

    void run(const format::Call& call, CallAnalysis* to) {
        to_ = to;
        switch (call.step_type()) {
            case format::Step::Vector:
                return run(*call.step_as_Vector());
            case format::Step::Layer:
                return run(*call.step_as_Layer());
            case format::Step::Matmul:
                return run(*call.step_as_Matmul());
            case format::Step::Pool:
                return run(*call.step_as_Pool());
            case format::Step::Sort:
                return run(*call.step_as_Sort());
            default:
                return run(*call.step_as_Host());
        }
    }

   private:
    using Table = flatbuffers::Vector<flatbuffers::Offset<format::Operand>>;

    // Operands as a packet has them. Those that a program stores to are marked.
    std::vector<sidra_operand> operands(const Table& table, const Code& code) const {
        std::vector<sidra_operand> made;
        for (const format::Operand* from : table) {
            sidra_operand& to = made.emplace_back();
            to = {};
            to.addr = memories_.address(*from->at());
            std::ranges::copy(*from->stride(), to.stride);
            to.extent = from->extent();
            to.type = static_cast<uint8_t>(from->type());
            if (from->index() != nullptr) {
                to.index = memories_.address(*from->index());
                to.index_type = static_cast<uint8_t>(from->index_type());
            }
        }
        for (const sidra_vector_instruction& i : code.instructions) {
            const vector::Kind kind = vector::rule(i.op).kind;
            if ((kind == vector::Kind::kStore || kind == vector::Kind::kScatter) && i.operand < made.size())
                made[i.operand].flags = SIDRA_OPERAND_WRITE;
        }
        return made;
    }

    void add(const Table& table, std::span<const sidra_operand> made, uint32_t n, const vector::Sizes& size,
             const vector::Traits& traits) const {
        const bool write = (traits.stored >> n & 1) != 0;
        const vector::Extent extent = vector::extent(made[n], n, size, traits);
        memories_.add(*table[n]->at(), extent, write, fmt::format("operand {}", n), &to_->accesses);
        // A program may also load what it stores.
        if (write && (traits.loaded >> n & 1) != 0)
            memories_.add(*table[n]->at(), extent, false, fmt::format("operand {}", n), &to_->accesses);
        if (table[n]->index() == nullptr) return;
        const uint64_t rows = uint64_t{size[0]} * size[1] * size[2];
        const vector::Extent indices{made[n].index, made[n].index + rows * element_size(made[n].index_type)};
        memories_.add(*table[n]->index(), indices, false, fmt::format("the index of operand {}", n), &to_->accesses);
    }

    void set_time(const Cost& product, const Cost& compute) const {
        const Cost packet = chip::packet_cost(kClockNominal);
        to_->product_ps = product.device_ps, to_->compute_ps = compute.device_ps, to_->packet_ps = packet.device_ps;
        to_->energy_pj = product.energy_pj + compute.energy_pj + packet.energy_pj;
        to_->timed = true;
    }

    void run(const format::Vector& call) {
        const Code code = code_of(*model_.programs()->Get(call.program()));
        const std::vector<sidra_operand> made = operands(*call.operands(), code);
        vector::Sizes size;
        std::ranges::copy(*call.size(), size);
        vector::Traits traits;
        require(vector::verify(code.instructions, made, &traits));
        require(vector::verify_space(made, size, traits));
        for (uint32_t n = 0; n < made.size(); ++n) add(*call.operands(), made, n, size, traits);
        const uint64_t elements = uint64_t{size[0]} * size[1] * size[2] * size[3];
        set_time({}, chip::vec_cost(elements * std::max(traits.cost, 1u), kClockNominal));
    }

    // Dense strides in the place of 0. Checks what the functions below take for granted.
    sidra_pattern pattern(const format::Windows& w) const {
        sidra_pattern p{};
        const uint32_t element = element_size(static_cast<uint32_t>(w.type()));
        const auto within = [](const char* name, uint32_t value, uint32_t least, uint32_t most) {
            if (value < least || value > most)
                throw Refused(fmt::format("windows.{} is {}: must be {}..{}", name, value, least, most));
            return value;
        };
        const auto within_16 = [&](const char* name, uint32_t value, uint32_t least, uint32_t most = UINT16_MAX) {
            return static_cast<uint16_t>(within(name, value, least, most));
        };
        p.height = within("height", w.height(), 1, SIDRA_PATTERN_IMAGE_MAX);
        p.width = within("width", w.width(), 1, SIDRA_PATTERN_IMAGE_MAX);
        p.channels = within("channels", w.channels(), 1, SIDRA_PATTERN_CHANNELS_MAX);
        p.kernel_h = within_16("kernel_h", w.kernel_h(), 1, SIDRA_PATTERN_KERNEL_MAX);
        p.kernel_w = within_16("kernel_w", w.kernel_w(), 1, SIDRA_PATTERN_KERNEL_MAX);
        p.stride_h = within_16("stride_h", w.stride_h(), 1), p.stride_w = within_16("stride_w", w.stride_w(), 1);
        p.dilation_h = within_16("dilation_h", w.dilation_h(), 1);
        p.dilation_w = within_16("dilation_w", w.dilation_w(), 1);
        p.pad_h = within_16("pad_h", w.pad_h(), 0), p.pad_w = within_16("pad_w", w.pad_w(), 0);
        uint64_t windows = 1;
        for (const uint32_t count :
             {within("images", w.images(), 1, SIDRA_LAYER_ROWS_MAX), within("rows", w.rows(), 1, SIDRA_LAYER_ROWS_MAX),
              within("columns", w.columns(), 1, SIDRA_LAYER_ROWS_MAX)})
            windows = std::min<uint64_t>(windows * count, uint64_t{SIDRA_LAYER_ROWS_MAX} + 1);
        if (windows > SIDRA_LAYER_ROWS_MAX)
            throw Refused(fmt::format("it has more than {} windows", SIDRA_LAYER_ROWS_MAX));
        p.pixel_stride = w.pixel_stride() != 0 ? w.pixel_stride() : uint64_t{p.channels} * element;
        bool whole = true;
        p.row_stride = w.row_stride(), p.image_stride = w.image_stride();
        if (p.row_stride == 0) whole = !__builtin_mul_overflow(p.pixel_stride, uint64_t{p.width}, &p.row_stride);
        if (p.image_stride == 0 && whole)
            whole = !__builtin_mul_overflow(p.row_stride, uint64_t{p.height}, &p.image_stride);
        p.type = static_cast<uint8_t>(w.type()), p.codes = static_cast<uint8_t>(w.codes());
        p.addr = memories_.address(*w.at());
        uint64_t bytes = 0, end = 0;
        if (!whole || !vector::pattern_bytes(p, w.images(), &bytes) || __builtin_add_overflow(p.addr, bytes, &end))
            throw Refused("the images of its windows are larger than the memory of a chip");
        memories_.add(*w.at(), {p.addr, end}, false, "windows", &to_->accesses);
        return p;
    }

    void run(const format::Layer& call) {
        const Code code = code_of(*model_.programs()->Get(call.program()));
        const format::Matrix& matrix = *model_.matrices()->Get(call.matrix());
        const format::Windows& w = *call.windows();
        const sidra_pattern p = pattern(w);
        if (const uint64_t inputs = uint64_t{p.kernel_h} * p.kernel_w * p.channels; inputs != matrix.k())
            throw Refused(fmt::format("a window has {} elements, but the matrix has {} inputs", inputs, matrix.k()));
        const std::vector<sidra_operand> made = operands(*call.operands(), code);
        vector::LayerRules rules =
            vector::layer_rules(p, {w.images(), w.rows(), w.columns()}, code.prologue, matrix.k(), matrix.n());
        require(vector::verify(code.instructions, made, rules.packet, &rules.prologue, &rules.epilogue));
        require(vector::verify_layer_space(made, p, &rules));
        for (uint32_t n = 0; n < made.size(); ++n) {
            const bool early = (rules.prologue.used() >> n & 1) != 0;
            add(*call.operands(), made, n, early ? rules.before : rules.after, early ? rules.prologue : rules.epilogue);
        }
        if (call.matrix() >= placement_.matrices.size()) return;  // it has no crossbars
        const uint64_t rows = uint64_t{w.images()} * w.rows() * w.columns();
        const uint64_t before = code.prologue != 0 ? rows * matrix.k() * std::max(rules.prologue.cost, 1u) : 0;
        set_time(chip::mvm_cost(placement_.matrices[call.matrix()].crossbars.size(), rows, kClockNominal),
                 chip::vec_cost(rows * matrix.n() * std::max(rules.epilogue.cost, 1u) + before, kClockNominal));
    }

    void run(const format::Matmul& call) {
        if (call.operands()->size() < 2) throw Refused("it has fewer than two operands");
        const bool floats = vector::is_float(static_cast<uint32_t>(call.operands()->Get(0)->type()));
        const Code code =
            call.program() != kNoProgram ? code_of(*model_.programs()->Get(call.program())) : plain_code(floats);
        const std::vector<sidra_operand> made = operands(*call.operands(), code);
        vector::MatmulRules rules{
            {std::max(call.batch()->Get(0), 1u), std::max(call.batch()->Get(1), 1u), call.m(), call.n()}, call.k()};
        require(vector::verify_factors(made, &rules));
        vector::Traits none;
        require(vector::verify(code.instructions, made, rules.packet, &none, &rules.traits));
        require(vector::verify_matmul_space(made, &rules));
        for (uint32_t n = 0; n < made.size(); ++n) {
            vector::Sizes size;
            rules.size_of(n, size);
            add(*call.operands(), made, n, size, rules.traits);
        }
        const uint64_t results = uint64_t{rules.size[0]} * rules.size[1] * call.m() * call.n();
        Cost cost = chip::matmul_cost(results * call.k(), floats, kClockNominal);
        cost += chip::vec_cost(results * std::max(rules.traits.cost, 1u), kClockNominal);
        set_time({}, cost);
    }

    void run(const format::Pool& call) {
        const format::Windows& w = *call.windows();
        const sidra_pattern p = pattern(w);
        if (call.operation() < format::Pooling::MIN || call.operation() > format::Pooling::MAX)
            throw Refused(fmt::format("operation {} does not exist", static_cast<uint32_t>(call.operation())));
        const uint32_t element = call.operation() == format::Pooling::Argmax ? sizeof(int32_t) : element_size(p.type);
        const uint32_t size[] = {w.images(), w.rows(), w.columns()};
        uint64_t stride[SIDRA_PATTERN_DIMS], dense = uint64_t{p.channels} * element;
        for (uint32_t d = SIDRA_PATTERN_DIMS; d-- > 0;) {
            const uint64_t given = call.out_stride() != nullptr ? call.out_stride()->Get(d) : 0;
            stride[d] = given != 0 ? given : dense;
            if (__builtin_mul_overflow(stride[d], uint64_t{size[d]}, &dense)) dense = UINT64_MAX;
        }
        const vector::PoolResult result = vector::pool_result(stride, size, uint64_t{p.channels} * element);
        const uint64_t at = memories_.address(*call.out());
        uint64_t end = 0;
        if (__builtin_add_overflow(at, result.bytes, &end) || result.overlapping != SIDRA_PATTERN_DIMS)
            throw Refused("its results overlap, or are larger than the memory of a chip");
        memories_.add(*call.out(), {at, end}, true, "out", &to_->accesses);
        const uint64_t windows = uint64_t{w.images()} * w.rows() * w.columns();
        const uint64_t window = uint64_t{p.kernel_h} * p.kernel_w * p.channels;
        if (window > SIDRA_CMD_POOL_WINDOW_MAX) throw Refused(fmt::format("a window has {} elements", window));
        set_time({}, chip::vec_cost(windows * window, kClockNominal));
    }

    void run(const format::Sort& call) {
        if (call.rows() == 0 || call.cols() == 0 || call.count() == 0 || call.count() > call.cols())
            throw Refused(
                fmt::format("{} of {} x {} elements cannot be sorted", call.count(), call.rows(), call.cols()));
        const auto rows_of = [&](const format::Place* place, uint64_t stride, uint64_t elements, format::Type type,
                                 const char* what, bool write) {
            if (place == nullptr) return;
            const uint64_t row = elements * format::type_size(type), at = memories_.address(*place);
            uint64_t end = 0;
            if (__builtin_mul_overflow(stride != 0 ? stride : row, uint64_t{call.rows() - 1}, &end) ||
                __builtin_add_overflow(end, row, &end) || __builtin_add_overflow(end, at, &end))
                throw Refused(fmt::format("{} is larger than the memory of a chip", what));
            memories_.add(*place, {at, end}, write, what, &to_->accesses);
        };
        rows_of(call.in(), call.in_stride(), call.cols(), call.type(), "in", false);
        rows_of(call.values(), call.values_stride(), call.count(), call.type(), "values", true);
        rows_of(call.indices(), call.indices_stride(), call.count(), call.index_type(), "indices", true);
        set_time({}, chip::sort_cost(call.rows(), call.cols(), call.count(), kClockNominal));
    }

    // The chip takes no time for what the host computes.
    void run(const format::Host& call) {
        const format::HostCall host = format::host_call(call);
        const auto add_array = [&](const format::Array& array, const format::HostArray& of, bool write,
                                   const std::string& what) {
            const uint64_t at = memories_.address(*array.at());
            memories_.add(*array.at(), {at, at + format::bytes_of(of)}, write, what, &to_->accesses);
        };
        for (uint32_t i = 0; i < call.inputs()->size(); ++i)
            add_array(*call.inputs()->Get(i), host.inputs[i], false, fmt::format("input {}", i));
        add_array(*call.output(), host.output, true, "output");
        to_->timed = true;
    }

    const format::Model& model_;
    const Memories memories_;
    const Placement& placement_;
    CallAnalysis* to_ = nullptr;
};

}  // namespace

std::vector<CallAnalysis> analyse(const format::Model& model, const format::Variant& variant,
                                  const Placement& placement) {
    std::vector<CallAnalysis> all(variant.calls()->size());
    try {
        Analysis analysis(model, variant, placement);
        for (uint32_t i = 0; i < all.size(); ++i) {
            try {
                analysis.run(*variant.calls()->Get(i), &all[i]);
            } catch (const Refused& refused) {
                all[i].problem = refused.what();
            }
        }
    } catch (const Refused& refused) {  // of the variant
        for (CallAnalysis& call : all) call.problem = refused.what();
    }
    return all;
}

}  // namespace sidra::objdump
