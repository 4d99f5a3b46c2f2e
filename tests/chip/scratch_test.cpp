// SPDX-License-Identifier: MIT
// Contexts share the chip's threads and their scratch memory. Packets of one context that fault half-way, in every unit
// that gathers, must not change the results of another when its packet continues.
#include <algorithm>
#include <memory>
#include <random>

#include "bench.h"
#include "packets.h"
#include "vectors.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kInputs = 256, kOutputs = 2048, kVectors = 4;

std::vector<sidra_vector_instruction> assemble(const std::string& text) {
    auto code = std::get<program::Code>(program::assemble(text)).instructions;
    for (auto& i : code)  // o5, o6, o7: SUMS, CODES, INPUT
        if (i.operand >= 5) i.operand = static_cast<uint8_t>(SIDRA_OPERAND_SUMS + i.operand - 5);
    return code;
}

// Work of several units, and what it must store: 4 bytes an element.
class Victim {
   public:
    explicit Victim(Bench& bench) : context_(bench.context()), queue_(context_.queue()) {}
    virtual ~Victim() = default;
    void submit() {
        queue_.push(fill(out_, want_.size() * 4, 0xdd, 1));
        queue_.push(cmd_);
        queue_.publish();
        queue_.doorbell();
    }
    bool done() const { return queue_.timeline() == queue_.next(); }
    size_t wrong() const {
        const auto got = context_.get<uint32_t>(out_, want_.size());
        size_t count = 0;
        for (size_t i = 0; i < got.size(); i++) count += got[i] != want_[i];
        return count;
    }

   protected:
    Context& context_;
    Queue& queue_;
    sidra_cmd cmd_{};
    uint64_t out_ = 0;
    std::vector<uint32_t> want_;
};

// Products with eight columns of tiles. The reference engine needs several units for the columns of one block of
// vectors, and converts that block once.
class Products : public Victim {
   protected:
    explicit Products(Bench& bench) : Victim(bench) {
        std::mt19937_64 random(3);
        std::vector<int8_t> w(size_t{kInputs} * kOutputs);
        for (int8_t& value : w) value = static_cast<int8_t>(random());
        x_.resize(size_t{kInputs} * kVectors);
        for (int8_t& value : x_) value = static_cast<int8_t>(random() % 128);
        out_ = context_.alloc(uint64_t{kVectors} * kOutputs * 4);
        weights_ = static_cast<uint16_t>(context_.weights({.rows = kInputs, .cols = kOutputs}));
        queue_.submit(program(weights_, 0, kInputs, 0, kOutputs, context_.put(w), kOutputs));
        bench.run();
        EXPECT_TRUE(retired(queue_));
        for (uint32_t b = 0; b < kVectors; b++)
            for (uint32_t n = 0; n < kOutputs; n++) {
                int32_t sum = 0;
                for (uint32_t k = 0; k < kInputs; k++) sum += x_[b * kInputs + k] * w[size_t{k} * kOutputs + n];
                want_.push_back(static_cast<uint32_t>(sum));
            }
    }

    std::vector<int8_t> x_;
    uint16_t weights_;
};

class Mvm : public Products {
   public:
    Mvm(Bench& bench, uint32_t in_type) : Products(bench) {
        const uint64_t in =
            in_type == SIDRA_TYPE_F32 ? context_.put(std::vector<float>(x_.begin(), x_.end())) : context_.put(x_);
        cmd_ =
            mvm(weights_, in_type, SIDRA_TYPE_S32, kVectors, in, kInputs * element_size(in_type), out_, kOutputs * 4);
    }
};

// A matrix of `rows` rows, as a pattern.
sidra_pattern matrix(uint64_t addr, uint32_t rows, uint32_t cols, uint32_t type, uint64_t stride) {
    sidra_pattern p{};
    p.addr = addr, p.type = static_cast<uint8_t>(type), p.codes = SIDRA_TYPE_U8;
    p.height = 1, p.width = rows, p.channels = cols;
    p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
    p.pixel_stride = stride;
    return p;
}

// `text`: the prologue, of `prologue` instructions, and the epilogue.
sidra_cmd layer(Context& context, uint32_t weights, const std::string& text, uint32_t prologue,
                const sidra_pattern& pattern, const std::vector<sidra_operand>& operands) {
    const auto code = assemble(text);
    sidra_cmd cmd = blank(SIDRA_CMD_LAYER);
    cmd.layer.weights = static_cast<uint16_t>(weights);
    cmd.layer.program = context.put(code);
    cmd.layer.operands = context.put(operands);
    cmd.layer.pattern = context.put(std::vector<sidra_pattern>{pattern});
    cmd.layer.size[0] = cmd.layer.size[1] = 1;
    cmd.layer.size[2] = pattern.width - pattern.kernel_w + 1;
    cmd.layer.prologue = static_cast<uint8_t>(prologue);
    cmd.layer.epilogue = static_cast<uint8_t>(code.size() - prologue);
    cmd.layer.operand_count = static_cast<uint8_t>(operands.size());
    return cmd;
}

sidra_operand operand_at(uint64_t addr, uint32_t type, uint64_t row, bool write = false) {
    sidra_operand o{};
    o.addr = addr, o.type = static_cast<uint8_t>(type), o.flags = write ? SIDRA_OPERAND_WRITE : 0;
    o.stride[2] = row, o.stride[3] = element_size(type);
    return o;
}

// With a prologue that leaves codes and a scalar of each row for the units of a block.
class Layer : public Products {
   public:
    explicit Layer(Bench& bench) : Products(bench) {
        const uint64_t in = context_.put(std::vector<float>(x_.begin(), x_.end()));
        cmd_ = layer(context_, weights_,
                     "pass:\nv0 = load o7\ns0 = reduce_max v0\nstore o6, v0\n"
                     "pass:\nv0 = load o5\nv1 = mul v0, s0\nstore o0, v1\n",
                     3, matrix(in, kVectors, kInputs, SIDRA_TYPE_F32, kInputs * 4),
                     {operand_at(out_, SIDRA_TYPE_F32, kOutputs * 4, true)});
        for (uint32_t b = 0; b < kVectors; b++) {
            const int8_t most = *std::max_element(&x_[b * kInputs], &x_[b * kInputs] + kInputs);
            for (uint32_t n = 0; n < kOutputs; n++) {
                uint32_t& want = want_[b * kOutputs + n];
                want = f32_bits(static_cast<float>(static_cast<int32_t>(want)) * most);
            }
        }
    }
};

// The VECTOR victim's program, and where it is, and its operands. An attacker has the same there, but in its own
// context.
constexpr uint32_t kRows = 1024, kCols = 256, kAdditions = 60;
constexpr uint64_t kProgramAt = 0x7000'0000, kOperandsAt = kProgramAt + kPage;
std::string vector_text() {
    std::string text = "pass:\nv0 = load o0\nv1 = max v0, 0.0\n";
    for (uint32_t i = 0; i < kAdditions; i++) text += "v1 = add v1, 1.0\n";
    return text + "store o1, v1\n";
}

sidra_cmd at_common_places(Context& context, const RowsAt& in, const RowsAt& out) {
    sidra_cmd cmd = vector_rows(context, vector_text(), kRows, kCols, {in, out});
    const auto code = context.get<sidra_vector_instruction>(cmd.vector.program, cmd.vector.instructions);
    const auto operands = context.get<sidra_operand>(cmd.vector.operands, 2);
    context.map(kProgramAt, context.bus().alloc_page());
    context.map(kOperandsAt, context.bus().alloc_page());
    context.write(kProgramAt, code.data(), code.size() * sizeof code[0]);
    context.write(kOperandsAt, operands.data(), operands.size() * sizeof operands[0]);
    cmd.vector.program = kProgramAt, cmd.vector.operands = kOperandsAt;
    return cmd;
}

class Vectors : public Victim {
   public:
    explicit Vectors(Bench& bench) : Victim(bench) {
        std::vector<float> x(size_t{kRows} * kCols);
        for (size_t i = 0; i < x.size(); i++) {
            x[i] = static_cast<float>(i % 1000) - 300;
            want_.push_back(f32_bits(std::max(x[i], 0.0f) + kAdditions));
        }
        out_ = context_.alloc(x.size() * 4);
        cmd_ = at_common_places(context_, {context_.put(x)}, {out_});
    }
};

struct Attack {
    const char* name;
    sidra_cmd cmd;
};

// Packets that gather some rows, all 0x5a, and fault on the next one. `weights`: 256 x 16, programmed.
std::vector<Attack> attacks(Context& context, uint16_t weights, uint64_t rows) {
    // Rows three pages apart: the first is mapped, the second is not.
    context.map(rows, context.bus().alloc_page());
    const std::vector<uint8_t> bytes(kPage, 0x5a);
    context.write(rows, bytes.data(), kPage);
    const uint64_t out = context.alloc(4 * kPage);
    constexpr uint32_t kStride = 3 * kPage;
    constexpr uint32_t kF32 = SIDRA_TYPE_F32, kU8 = SIDRA_TYPE_U8;
    std::vector<Attack> list;

    sidra_pattern pattern{};
    pattern.addr = rows, pattern.type = kU8;
    pattern.height = 2, pattern.width = 256, pattern.channels = 1;
    pattern.kernel_h = 2, pattern.kernel_w = pattern.stride_h = pattern.stride_w = 1;
    pattern.dilation_h = pattern.dilation_w = 1;
    pattern.row_stride = kStride, pattern.pixel_stride = 1;
    sidra_cmd pool = blank(SIDRA_CMD_POOL);
    pool.pool.op = SIDRA_POOL_MAX;
    pool.pool.pattern = context.put(std::vector<sidra_pattern>{pattern});
    pool.pool.out = out;
    pool.pool.size[0] = pool.pool.size[1] = 1, pool.pool.size[2] = 256;
    pool.pool.out_stride[2] = 1;
    list.push_back({"POOL", pool});

    sidra_cmd sorted = sort(kF32, 2, 256, rows, out);
    sorted.sort.in_stride = kStride;
    list.push_back({"SORT", sorted});
    list.push_back({"VECTOR", relu(context, 2, 256, {rows, kF32, kStride}, {out})});
    list.push_back({"VECTOR, second operand", add(context, 2, 256, {out}, {rows, kF32, kStride}, {out})});
    list.push_back({"VECTOR, output", relu(context, 2, 256, {out}, {rows, kF32, kStride})});
    list.push_back(
        {"VECTOR, sums of rows", vector_rows(context, "pass:\nv0 = load o0\ns0 = reduce_sum v0\nstore o1, s0\n", 2, 256,
                                             {{rows, kF32, kStride}, {out, kF32, 0, true}})});
    sidra_cmd columns = relu(context, 256, 2, {rows, kU8, 1}, {out, kU8});  // columns three pages apart
    auto operand = context.get<sidra_operand>(columns.vector.operands, 1).at(0);
    operand.stride[3] = kStride;
    context.write(columns.vector.operands, &operand, sizeof operand);
    list.push_back({"VECTOR, transposed", columns});
    // A row that crosses into an unmapped page.
    list.push_back({"VECTOR, at an index", relu(context, 1, 256, {rows + kPage - 128, kU8}, {out, kU8})});
    operand = context.get<sidra_operand>(list.back().cmd.vector.operands, 1).at(0);
    operand.index = context.put(std::vector<int32_t>{0});
    operand.index_type = SIDRA_TYPE_S32, operand.extent = 1;
    context.write(list.back().cmd.vector.operands, &operand, sizeof operand);

    list.push_back({"VECTOR, the victim's addresses", at_common_places(context, {rows, kF32, kStride}, {out})});

    sidra_cmd product = blank(SIDRA_CMD_MATMUL);
    const auto sums = assemble("pass:\nv0 = load o5\nstore o2, v0\n");
    product.matmul.program = context.put(sums);
    product.matmul.instructions = static_cast<uint16_t>(sums.size());
    product.matmul.operand_count = 3;
    product.matmul.batch[0] = product.matmul.batch[1] = 1;
    for (const uint32_t type : {kF32, kU8}) {
        product.matmul.m = 2, product.matmul.n = 4, product.matmul.k = 256;
        const uint64_t size = element_size(type);
        const sidra_operand result = operand_at(out, kF32, 16, true);
        product.matmul.operands = context.put(std::vector<sidra_operand>{
            operand_at(rows, type, kStride), operand_at(out + kPage, type, 4 * size), result});
        list.push_back({"MATMUL, first factor", product});
        product.matmul.k = 2;
        product.matmul.operands = context.put(std::vector<sidra_operand>{operand_at(out + kPage, type, 2 * size),
                                                                         operand_at(rows, type, kStride), result});
        list.push_back({"MATMUL, second factor", product});
    }
    product.matmul.operands = context.put(std::vector<sidra_operand>{
        operand_at(out + kPage, kF32, 8), operand_at(out + kPage, kF32, 16), operand_at(rows, kF32, kStride, true)});
    list.push_back({"MATMUL, output", product});

    const sidra_operand columns_out = operand_at(out, kF32, 64, true);
    const std::string epilogue = "pass:\nv0 = load o5\nstore o0, v0\n";
    const std::string prologue = "pass:\nv0 = load o7\ns0 = reduce_max v0\nstore o6, v0\n";
    sidra_pattern windows = matrix(rows, 2, 256, kU8, kStride);
    list.push_back({"LAYER, rows", layer(context, weights, epilogue, 0, windows, {columns_out})});
    windows.width = 1, windows.height = 2, windows.kernel_h = 2, windows.channels = 128, windows.row_stride = kStride;
    list.push_back({"LAYER, rows of a window", layer(context, weights, epilogue, 0, windows, {columns_out})});
    list.push_back({"LAYER, rows of a prologue", layer(context, weights, prologue + epilogue, 3,
                                                       matrix(rows, 2, 256, kF32, kStride), {columns_out})});
    list.push_back(
        {"LAYER, operand of a prologue",
         layer(context, weights,
               "pass:\nv0 = load o7\nv1 = load o1\nv1 = add v0, v1\ns0 = reduce_max v1\nstore o6, v1\n" + epilogue, 5,
               matrix(rows, 2, 256, kF32, 1024), {columns_out, operand_at(rows, kF32, kStride)})});
    list.push_back({"LAYER, output", layer(context, weights, prologue + epilogue, 3, matrix(rows, 2, 256, kF32, 1024),
                                           {operand_at(rows + kPage - 64, kF32, kStride, true)})});

    for (const uint32_t type : {kU8, uint32_t{SIDRA_TYPE_S8}, kF32})
        list.push_back({"MVM", mvm(weights, type, SIDRA_TYPE_S32, 2, rows, kStride, out, 64)});
    list.push_back({"MVM, output", mvm(weights, kU8, kF32, 2, rows, 256, rows, kStride)});
    list.push_back({"COPY", copy_2d(out, 256, rows, kStride, 256, 2)});
    list.push_back({"COPY, output", copy_2d(rows, kStride, out, 256, 256, 2)});
    list.push_back({"PROGRAM", program(weights, 0, 2, 0, 16, rows, kStride)});
    return list;
}

struct Kind {
    const char* name;
    std::unique_ptr<Victim> (*make)(Bench&);
};
template <uint32_t type>
std::unique_ptr<Victim> make_mvm(Bench& bench) {
    return std::make_unique<Mvm>(bench, type);
}
template <typename Of>
std::unique_ptr<Victim> make(Bench& bench) {
    return std::make_unique<Of>(bench);
}

class Scratch : public ::testing::TestWithParam<Kind> {};

TEST_P(Scratch, FaultOfOneContextChangesNoResultOfAnother) {
    Bench bench({.profile = SIDRA_CHIP_Y1, .engine = SIDRA_CHIP_ENGINE_SCALAR});
    // Crossbar 8 is the attacker's.
    const std::unique_ptr<Victim> victim = GetParam().make(bench);
    victim->submit();
    bench.run();
    ASSERT_TRUE(victim->done());
    ASSERT_EQ(victim->wrong(), 0u) << "without an attack";
    Context& other = bench.context();
    Queue& queue = other.queue();
    const auto weights = static_cast<uint16_t>(other.weights({.rows = 256, .cols = 16, .crossbars = {8}}));
    queue.submit(program(weights, 0, 256, 0, 16, other.put(std::vector<int8_t>(256 * 16, 1)), 16));
    bench.run();
    ASSERT_TRUE(retired(queue));
    const uint64_t rows = other.reserve(4 * kRows * kPage);
    for (const Attack& attack : attacks(other, weights, rows)) {
        SCOPED_TRACE(attack.name);
        victim->submit();
        unsigned rounds = 0;
        for (; !victim->done() && rounds < 1000; rounds++) {
            const uint64_t at = queue.submit(attack.cmd);
            for (unsigned slices = 0; slices < 100 && queue.run_state() != SIDRA_QUEUE_FAULTED; slices++)
                bench.run_once();
            ASSERT_TRUE(faulted(queue, at, attack.cmd, {{SIDRA_FAULT_TRANSLATION}})) << "the attack is one";
            const uint64_t where = queue.state().fault.address;
            ASSERT_TRUE(where >= rows + kPage && where < rows + 4 * kPage) << "behind the first row";
            queue.reset();
        }
        bench.run();
        ASSERT_TRUE(victim->done());
        EXPECT_GT(rounds, 3u) << "it came between the victim's units";
        EXPECT_EQ(victim->wrong(), 0u);
    }
}

constexpr Kind kVictims[] = {{"MvmU8", make_mvm<SIDRA_TYPE_U8>},
                             {"MvmS8", make_mvm<SIDRA_TYPE_S8>},
                             {"MvmF32", make_mvm<SIDRA_TYPE_F32>},
                             {"Layer", make<Layer>},
                             {"Vector", make<Vectors>}};
INSTANTIATE_TEST_SUITE_P(, Scratch, ::testing::ValuesIn(kVictims),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sidra::chip_test
