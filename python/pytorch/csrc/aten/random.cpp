// SPDX-License-Identifier: MIT
// Random numbers of the chip's counter-based generator.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cmath>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/generator.h"

namespace sidra::pytorch {
namespace {

// Calls a function of libsidra with the stream, the tensor as an array, and the next key of the generator. False: the
// chip does not take the type or shape, and no key is taken.
template <typename F>
bool draw(const at::Tensor& self, const std::optional<at::Generator>& generator, F&& function) {
    const std::optional<sidra_type> type = type_of(self.scalar_type());
    if (!is_sidra(self) || !type || self.numel() == 0 || self.numel() > int64_t{1} << 24) return false;
    const DeviceScope scope(self.device());
    const at::Tensor to = self.is_non_overlapping_and_dense() ? self : at::empty(self.sizes(), self.options());
    const Sizes sizes = {1, 1, 1, static_cast<uint32_t>(self.numel())};
    const sidra_array out = sidra_operand_dense(place_of(to), *type, sizes.data());
    const Generator::Key key = next_key(generator, self.device().index());
    TORCH_CHECK(queued(function(OnStream(self.device().index(), "sidra::random").get(), sizes.data(), &out, key)),
                "the chip refused to draw random numbers: ", sidra_last_error());
    mark_written(to);
    if (!to.is_same(self)) self.copy_(to);
    return true;
}

at::Tensor& uniform(at::Tensor& self, double from, double to, std::optional<at::Generator> generator) {
    if (self.numel() == 0 && is_float(self.scalar_type())) return self;
    const bool takes = is_float(self.scalar_type()) && from <= to && std::isfinite(static_cast<float>(to - from));
    if (takes && draw(self, generator, [&](auto* stream, auto* size, auto* out, Generator::Key key) {
            return sidra_random_uniform(stream, size, out, static_cast<float>(from), static_cast<float>(to), key.seed,
                                        key.sequence);
        })) {
        // An f32 of 24 bits is below `to`, unless `from` is added to it; with fewer bits it may be rounded up to `to`.
        if (self.scalar_type() != at::kFloat || from != 0) self.masked_fill_(self.ge(to), from);
        return self;
    }
    return SIDRA_FALL_BACK(uniform_)(self, from, to, generator);
}

at::Tensor& normal(at::Tensor& self, double mean, double deviation, std::optional<at::Generator> generator) {
    if (self.numel() == 0 && is_float(self.scalar_type())) return self;
    const bool takes = is_float(self.scalar_type()) && deviation >= 0 && std::isfinite(static_cast<float>(deviation)) &&
                       std::isfinite(static_cast<float>(mean));
    if (takes && draw(self, generator, [&](auto* stream, auto* size, auto* out, Generator::Key key) {
            return sidra_random_normal(stream, size, out, static_cast<float>(mean), static_cast<float>(deviation),
                                       key.seed, key.sequence);
        }))
        return self;
    return SIDRA_FALL_BACK(normal_)(self, mean, deviation, generator);
}

at::Tensor& bernoulli(at::Tensor& self, double probability, std::optional<at::Generator> generator) {
    if (self.numel() == 0 && is_float(self.scalar_type())) return self;
    const bool takes = probability >= 0 && probability <= 1 && self.scalar_type() != at::kLong;
    if (takes && draw(self, generator, [&](auto* stream, auto* size, auto* out, Generator::Key key) {
            return sidra_random_bernoulli(stream, size, out, static_cast<float>(probability), key.seed, key.sequence);
        }))
        return self;
    return SIDRA_FALL_BACK2(bernoulli_, float)(self, probability, generator);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("uniform_", uniform);
    m.impl("normal_", normal);
    m.impl("bernoulli_.float", bernoulli);
}

}  // namespace
}  // namespace sidra::pytorch
