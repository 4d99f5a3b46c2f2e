// SPDX-License-Identifier: MIT
#include "peers.h"

#if SIDRA_BENCH_OPENBLAS

#include <cblas.h>
#include <stdlib.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include "memory.h"

namespace sidra::bench {
namespace {

class OpenBlas final : public MatmulPeer {
   public:
    explicit OpenBlas(const MatmulShape& shape)
        : shape_(shape),
          in_(sizeof(float) * shape.batch * shape.k),
          weights_(sizeof(float) * shape.k * shape.n),
          out_(sizeof(float) * shape.batch * shape.n) {
        fill_random<float>({weights_.as<float>(), size_t{shape.k} * shape.n}, -127, 127, 1);
        fill_random<float>({in_.as<float>(), size_t{shape.batch} * shape.k}, 0, 255, 2);
    }

    void prepare() override { openblas_set_num_threads(static_cast<int>(shape_.threads)); }

    void run(uint64_t calls) override {
        const auto k = static_cast<blasint>(shape_.k);
        const auto n = static_cast<blasint>(shape_.n);
        const auto batch = static_cast<blasint>(shape_.batch);
        for (uint64_t i = 0; i < calls; ++i) {
            if (batch == 1) {
                cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1.0F, weights_.as<float>(), n, in_.as<float>(), 1, 0.0F,
                            out_.as<float>(), 1);
            } else {
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, batch, n, k, 1.0F, in_.as<float>(), k,
                            weights_.as<float>(), n, 0.0F, out_.as<float>(), n);
            }
        }
    }

   private:
    MatmulShape shape_;
    Memory in_, weights_, out_;
};

// Kernels that OpenBLAS ought to take at least.
const char* best_core() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return nullptr;
}

}  // namespace

std::unique_ptr<MatmulPeer> make_openblas(const MatmulShape& shape) { return std::make_unique<OpenBlas>(shape); }

std::string openblas_version() {
    std::istringstream words(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
    std::string name, version;
    words >> name >> version;
    return version;
}

std::string openblas_core() { return openblas_get_corename(); }

void restart_with_best_openblas(char** argv) {
    const char* best = best_core();
    if (best == nullptr || std::string_view(openblas_get_corename()) != "Prescott" ||
        getenv("OPENBLAS_CORETYPE") != nullptr) {
        return;
    }
    setenv("OPENBLAS_CORETYPE", best, 1);
    execv("/proc/self/exe", argv);
    unsetenv("OPENBLAS_CORETYPE");  // not possible: the report names the kernels in use
}

}  // namespace sidra::bench

#else

namespace sidra::bench {

std::unique_ptr<MatmulPeer> make_openblas(const MatmulShape&) { return nullptr; }
std::string openblas_version() { return ""; }
std::string openblas_core() { return ""; }
void restart_with_best_openblas(char**) {}

}  // namespace sidra::bench

#endif
