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

// oneDNN's threads are those of the OpenMP library that it was linked with, which need not be this program's
// compiler's.
void set_openmp_threads(uint32_t threads) {
    using Set = void (*)(int);
    static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set != nullptr) set(static_cast<int>(threads));
}

class OneDnn final : public MatmulPeer {
   public:
    explicit OneDnn(const MatmulShape& shape) try
        : threads_(shape.threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        using Memory = dnnl::memory;
        using Tag = Memory::format_tag;
        using Type = Memory::data_type;
        set_openmp_threads(threads_);  // the primitive is built for a number of threads
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
        matmul_ = dnnl::matmul(description);

        const size_t elements = size_t{shape.k} * shape.n;
        const bench::Memory plain(elements);
        fill_random<int8_t>({plain.as<int8_t>(), elements}, -127, 127, 1);
        Memory plain_weights({{k, n}, Type::s8, Tag::ab}, engine_, plain.data());
        Memory best_weights = allocate(description.weights_desc());
        dnnl::reorder(plain_weights, best_weights).execute(stream_, plain_weights, best_weights);
        stream_.wait();

        Memory inputs = allocate(description.src_desc());
        fill_random<uint8_t>({static_cast<uint8_t*>(inputs.get_data_handle()), size_t{shape.batch} * shape.k}, 0, 255,
                             2);
        arguments_ = {
            {DNNL_ARG_SRC, inputs}, {DNNL_ARG_WEIGHTS, best_weights}, {DNNL_ARG_DST, allocate(description.dst_desc())}};
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }

    void prepare() override { set_openmp_threads(threads_); }

    void run(uint64_t calls) override {
        for (uint64_t i = 0; i < calls; ++i) {
            matmul_.execute(stream_, arguments_);
            stream_.wait();
        }
    }

   private:
    dnnl::memory allocate(const dnnl::memory::desc& description) {
        return {description, engine_, memory_.emplace_back(description.get_size()).data()};
    }

    uint32_t threads_;
    std::vector<bench::Memory> memory_;
    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::matmul matmul_;
    std::unordered_map<int, dnnl::memory> arguments_;
};

class OneDnnProduct final : public ProductPeer {
   public:
    OneDnnProduct(const ProductShape& shape, bool bytes, uint32_t threads) try
        : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        using Memory = dnnl::memory;
        using Type = Memory::data_type;
        set_openmp_threads(threads_);
        const Memory::dim p = shape.products, m = shape.m, n = shape.n, k = shape.k;
        const Type factor = bytes ? Type::s8 : Type::f32;
        const auto tag = Memory::format_tag::abc;
        const Memory::desc a({p, m, k}, factor, tag), b({p, k, n}, factor, tag),
            out({p, m, n}, bytes ? Type::s32 : Type::f32, tag);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc description(engine_, a, b, out);
#else
        const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, out), engine_);
#endif
        implementation_ = description.impl_info_str();
        std::replace(implementation_.begin(), implementation_.end(), ' ', '_');
        matmul_ = dnnl::matmul(description);
        for (const auto& [argument, desc] : {std::pair{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, out}}) {
            const bench::Memory& memory = memory_.emplace_back(desc.get_size());
            const size_t elements = desc.get_size() / (bytes ? 1 : 4);
            if (bytes) fill_random<int8_t>({memory.as<int8_t>(), elements}, -127, 127, 1);
            else fill_random<float>({memory.as<float>(), elements}, -127, 127, 1);
            arguments_.insert({argument, dnnl::memory(desc, engine_, memory.data())});
        }
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }

    void prepare() override { set_openmp_threads(threads_); }
    void run(uint64_t calls) override {
        for (uint64_t i = 0; i < calls; ++i) {
            matmul_.execute(stream_, arguments_);
            stream_.wait();
        }
    }
    std::string implementation() const override { return implementation_; }

   private:
    uint32_t threads_;
    std::vector<bench::Memory> memory_;
    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::matmul matmul_;
    std::string implementation_;
    std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

std::unique_ptr<ProductPeer> make_onednn_product(const ProductShape& shape, bool bytes, uint32_t threads) {
    return std::make_unique<OneDnnProduct>(shape, bytes, threads);
}

std::unique_ptr<MatmulPeer> make_onednn(const MatmulShape& shape) { return std::make_unique<OneDnn>(shape); }

std::string onednn_version() {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace sidra::bench

#else

namespace sidra::bench {

std::unique_ptr<MatmulPeer> make_onednn(const MatmulShape&) { return nullptr; }
std::unique_ptr<ProductPeer> make_onednn_product(const ProductShape&, bool, uint32_t) { return nullptr; }
std::string onednn_version() { return ""; }

}  // namespace sidra::bench

#endif
