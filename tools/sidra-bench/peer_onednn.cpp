// SPDX-License-Identifier: MIT
#include "peers.h"

#if SIDRA_BENCH_ONEDNN

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "error.h"
#include "memory.h"

namespace sidra::bench {
namespace {

// One primitive with its arguments.
template <class Peer>
class OneDnn : public Peer {
   public:
    void prepare() override { set_onednn_threads(threads_); }

    void run(uint64_t calls) override {
        for (uint64_t i = 0; i < calls; ++i) {
            primitive_.execute(stream_, arguments_);
            stream_.wait();
        }
    }

   protected:
    using Memory = dnnl::memory;
    using Tag = Memory::format_tag;
    using Type = Memory::data_type;

    explicit OneDnn(uint32_t threads) : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        set_onednn_threads(threads_);  // the primitive is built for a number of threads
    }

    Memory allocate(const Memory::desc& description) {
        return {description, engine_, memory_.emplace_back(description.get_size()).data()};
    }
    // Random weights in the layout that the primitive likes best.
    Memory best_weights(const Memory::desc& plain, const Memory::desc& best) {
        const bench::Memory values(plain.get_size());
        fill_random<int8_t>({values.as<int8_t>(), plain.get_size()}, -127, 127, 1);
        Memory from(plain, engine_, values.data());
        Memory to = allocate(best);
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
        return to;
    }

    uint32_t threads_;
    std::vector<bench::Memory> memory_;
    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::primitive primitive_;
    std::unordered_map<int, Memory> arguments_;
};

class OneDnnMatmul final : public OneDnn<MatmulPeer> {
   public:
    explicit OneDnnMatmul(const MatmulShape& shape) try : OneDnn(shape.threads) {
        const Memory::dim batch = shape.batch;
        const Memory::dim k = shape.k;
        const Memory::dim n = shape.n;
        const Memory::desc in({batch, k}, Type::u8, Tag::ab);
        const Memory::desc weights({k, n}, Type::s8, Tag::any);
        const Memory::desc out({batch, n}, Type::s32, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc description(engine_, in, weights, out);
#else
        const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(in, weights, out), engine_);
#endif
        primitive_ = dnnl::matmul(description);
        Memory inputs = allocate(description.src_desc());
        fill_random<uint8_t>({static_cast<uint8_t*>(inputs.get_data_handle()), size_t{shape.batch} * shape.k}, 0, 255,
                             2);
        arguments_ = {{DNNL_ARG_SRC, inputs},
                      {DNNL_ARG_WEIGHTS, best_weights({{k, n}, Type::s8, Tag::ab}, description.weights_desc())},
                      {DNNL_ARG_DST, allocate(description.dst_desc())}};
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }
};

class OneDnnConv final : public OneDnn<MatmulPeer> {
   public:
    explicit OneDnnConv(const ConvShape& shape) try : OneDnn(shape.threads) {
        const Memory::dim size = shape.size, kernel = shape.kernel, channels = shape.channels, outputs = shape.outputs;
        const Memory::dims ones = {1, 1}, pads = {kernel / 2, kernel / 2};
        const Memory::desc in({1, channels, size, size}, Type::s8, Tag::nhwc);
        const Memory::desc weights({outputs, channels, kernel, kernel}, Type::s8, Tag::any);
        const Memory::desc bias({outputs}, Type::f32, Tag::a);
        const Memory::desc out({1, outputs, size, size}, Type::s8, Tag::nhwc);
        constexpr auto kForward = dnnl::prop_kind::forward_inference;
        constexpr auto kDirect = dnnl::algorithm::convolution_direct;
        constexpr int kEachOutput = 1;
        constexpr float kFactor = 0.0007f;
        dnnl::primitive_attr attributes;
#if DNNL_VERSION_MAJOR >= 3
        attributes.set_scales_mask(DNNL_ARG_WEIGHTS, kEachOutput);
        const dnnl::convolution_forward::primitive_desc description(engine_, kForward, kDirect, in, weights, bias, out,
                                                                    ones, pads, pads, attributes);
#else
        attributes.set_output_scales(kEachOutput << 1, std::vector<float>(shape.outputs, kFactor));
        const dnnl::convolution_forward::primitive_desc description(
            dnnl::convolution_forward::desc(kForward, kDirect, in, weights, bias, out, ones, pads, pads), attributes,
            engine_);
#endif
        primitive_ = dnnl::convolution_forward(description);
        Memory inputs = allocate(description.src_desc());
        fill_random<int8_t>({static_cast<int8_t*>(inputs.get_data_handle()), inputs.get_desc().get_size()}, -127, 127,
                            2);
        const auto row_of = [&](float value) {
            Memory row = allocate(bias);
            std::fill_n(static_cast<float*>(row.get_data_handle()), shape.outputs, value);
            return row;
        };
        arguments_ = {{DNNL_ARG_SRC, inputs},
                      {DNNL_ARG_WEIGHTS, best_weights({{outputs, channels, kernel, kernel}, Type::s8, Tag::hwio},
                                                      description.weights_desc())},
                      {DNNL_ARG_BIAS, row_of(1.5f)},
                      {DNNL_ARG_DST, allocate(description.dst_desc())}};
#if DNNL_VERSION_MAJOR >= 3
        arguments_.insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, row_of(kFactor)});
#endif
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }
};

class OneDnnProduct final : public OneDnn<ProductPeer> {
   public:
    OneDnnProduct(const ProductShape& shape, bool bytes, uint32_t threads) try : OneDnn(threads) {
        const Memory::dim p = shape.products, m = shape.m, n = shape.n, k = shape.k;
        const Type factor = bytes ? Type::s8 : Type::f32;
        const Memory::desc a({p, m, k}, factor, Tag::abc), b({p, k, n}, factor, Tag::abc),
            out({p, m, n}, bytes ? Type::s32 : Type::f32, Tag::abc);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc description(engine_, a, b, out);
#else
        const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, out), engine_);
#endif
        implementation_ = description.impl_info_str();
        std::replace(implementation_.begin(), implementation_.end(), ' ', '_');
        primitive_ = dnnl::matmul(description);
        for (const auto& [argument, desc] : {std::pair{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, out}}) {
            const Memory memory = allocate(desc);
            const size_t elements = desc.get_size() / (bytes ? 1 : 4);
            if (bytes) fill_random<int8_t>({static_cast<int8_t*>(memory.get_data_handle()), elements}, -127, 127, 1);
            else fill_random<float>({static_cast<float*>(memory.get_data_handle()), elements}, -127, 127, 1);
            arguments_.insert({argument, memory});
        }
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }

    std::string implementation() const override { return implementation_; }

   private:
    std::string implementation_;
};

}  // namespace

void set_onednn_threads(uint32_t threads) {
    using Set = void (*)(int);
    static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set != nullptr) set(static_cast<int>(threads));
}

std::unique_ptr<ProductPeer> make_onednn_product(const ProductShape& shape, bool bytes, uint32_t threads) {
    return std::make_unique<OneDnnProduct>(shape, bytes, threads);
}
std::unique_ptr<MatmulPeer> make_onednn(const MatmulShape& shape) { return std::make_unique<OneDnnMatmul>(shape); }
std::unique_ptr<MatmulPeer> make_onednn_conv(const ConvShape& shape) { return std::make_unique<OneDnnConv>(shape); }

std::string onednn_version() {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace sidra::bench

#else

namespace sidra::bench {

std::unique_ptr<ProductPeer> make_onednn_product(const ProductShape&, bool, uint32_t) { return nullptr; }
std::unique_ptr<MatmulPeer> make_onednn(const MatmulShape&) { return nullptr; }
std::unique_ptr<MatmulPeer> make_onednn_conv(const ConvShape&) { return nullptr; }
std::string onednn_version() { return ""; }

}  // namespace sidra::bench

#endif

namespace sidra::bench {

std::vector<std::pair<std::string, std::string>> onednn_vnni_only() {
    constexpr const char* kLimit = "AVX512_CORE_VNNI";
    return {{"ONEDNN_MAX_CPU_ISA", kLimit}, {"DNNL_MAX_CPU_ISA", kLimit}};
}

}  // namespace sidra::bench
