// SPDX-License-Identifier: MIT
// What the chip is measured against, each in its best form. oneDNN and OpenBLAS may be missing from a build: then
// `make_...` gives nullptr and `..._version` "", and what they would be compared with is reported without that ratio.
#ifndef SIDRA_BENCH_PEERS_H
#define SIDRA_BENCH_PEERS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sidra::convnet {
struct Model;
}

namespace sidra::bench {

// One product, with everything that can be done before the timing done before it. Of matrices: out[batch][n] =
// in[batch][k] x w[k][n].
class MatmulPeer {
   public:
    MatmulPeer() = default;
    MatmulPeer(const MatmulPeer&) = delete;
    MatmulPeer& operator=(const MatmulPeer&) = delete;
    virtual ~MatmulPeer() = default;
    virtual void prepare() = 0;  // before a block: sets the number of threads
    virtual void run(uint64_t calls) = 0;
};

struct MatmulShape {
    uint32_t k, n, batch;
    uint32_t threads;
};

// u8 in, s8 weights, s32 out; the primitive cached, the weights reordered to the layout it likes best.
std::unique_ptr<MatmulPeer> make_onednn(const MatmulShape& shape);
std::string onednn_version();
// Of its next primitives and their execution. Its threads are those of the OpenMP library that it was linked with,
// which need not be that of this program's compiler. Only in a build with oneDNN.
void set_onednn_threads(uint32_t threads);
// The environment in which oneDNN uses no more than AVX-512 VNNI. A process reads it before its first primitive.
std::vector<std::pair<std::string, std::string>> onednn_vnni_only();

// Products of two matrices in memory, out[p] = a[p] x b[p], all of them dense.
struct ProductShape {
    uint32_t products, m, n, k;
};
class ProductPeer : public MatmulPeer {
   public:
    virtual std::string implementation() const = 0;  // without spaces: "brg:avx512_core_amx_int8"
};
// f32, or s8 with s32 sums; the primitive cached. The factors stay in their plain layout, as each call may have others.
std::unique_ptr<ProductPeer> make_onednn_product(const ProductShape& shape, bool bytes, uint32_t threads);

// One convolution of square windows, in NHWC order, s8 in and out: padded so that the output has the size of the input.
struct ConvShape {
    uint32_t size, kernel, channels, outputs;
    uint32_t threads;
};
// With a factor for each output and a bias.
std::unique_ptr<MatmulPeer> make_onednn_conv(const ConvShape& shape);

// The convolutional network for a batch of images. Its codes are u8 whose 0 is 0, as oneDNN likes them best; the chip's
// are s8 whose -128 is 0.
class NetworkPeer : public MatmulPeer {
   public:
    virtual std::span<uint8_t> pixels() = 0;
    virtual std::span<const float> logits() const = 0;
};
std::unique_ptr<NetworkPeer> make_onednn_network(const convnet::Model& model, uint32_t images, uint32_t threads);

// Single precision; a matrix-vector product for a batch of 1, where that is faster than a matrix product.
std::unique_ptr<MatmulPeer> make_openblas(const MatmulShape& shape);
std::string openblas_version();
// The kernels that it chose for this CPU ("SkylakeX").
std::string openblas_core();
// OpenBLAS of Debian 12 does not know newer CPUs and silently takes its oldest kernels for them, five times slower. If
// so, starts this program again with the right ones. To be called first thing in main().
void restart_with_best_openblas(char** argv);

// Sums `size` bytes as 64-bit words with `threads` threads: what a kernel that must read them all could reach at best.
class Reader {
   public:
    Reader(size_t size, uint32_t threads);
    ~Reader();
    void run(uint64_t calls);
    const char* kernel() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

// Two threads pass a word back and forth through two cache lines: the least that any hand-over and answer costs.
class SpinRoundTrip {
   public:
    SpinRoundTrip();
    ~SpinRoundTrip();
    void run(uint64_t calls);

   private:
    struct State;
    std::unique_ptr<State> state_;
};

// Flushes of an NVMe namespace by io_uring passthrough: a no-op of the best driver path in Linux.
class NvmeFlush {
   public:
    explicit NvmeFlush(const std::string& node);  // a generic namespace node such as /dev/ng0n1
    ~NvmeFlush();
    void run(uint32_t batch, uint64_t calls);  // `calls` times: submit `batch` (at most 64) and wait for all

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sidra::bench

#endif
