// SPDX-License-Identifier: MIT
#include "aten/fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "aten/alias.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/generator.h"

namespace sidra::pytorch {
namespace {

struct Counts {
    std::mutex lock;
    std::map<std::string, FallbackCount, std::less<>> all;
};
Counts& counts() {
    static Counts* const made = new Counts;  // read at the end of the process
    return *made;
}

std::atomic<FallbackMode> mode{FallbackMode::kWarn};
std::atomic<uint64_t> native{0};

void add(const FallbackCount& call) {
    bool first = false;
    {
        const std::lock_guard guard(counts().lock);
        FallbackCount& count = counts().all[call.op];
        first = count.calls == 0;
        count.op = call.op;
        count.calls += call.calls;
        count.in_place += call.in_place;
        count.copied += call.copied;
        count.nanoseconds += call.nanoseconds;
    }
    if (first && mode.load(std::memory_order_relaxed) == FallbackMode::kWarn)
        TORCH_WARN(call.op,
                   " runs on the CPU, in the device's memory (SIDRA_FALLBACK=silent: no such lines; "
                   "torch.sidra.fallbacks(): how often). "
                   "Said once for each operator.");
}

void require_allowed(const std::string& op) {
    TORCH_CHECK_NOT_IMPLEMENTED(mode.load(std::memory_order_relaxed) != FallbackMode::kError, op,
                                " does not run on the chip, and SIDRA_FALLBACK=error forbids the CPU to compute it");
}

// A tensor of the CPU, copied into the device's memory.
at::Tensor brought(const at::Tensor& tensor, c10::DeviceIndex index) {
    const at::Tensor plain = tensor.resolve_conj().resolve_neg();
    at::Tensor made = at::empty_strided(plain.sizes(), plain.strides(),
                                        plain.options().device(c10::Device(c10::DeviceType::PrivateUse1, index)));
    synchronize_current_stream(index);
    cpu_alias(made).copy_(plain);
    return made;
}

// Whether an argument may be of the CPU, as on other devices: lists of indices, and all arguments of a few operators.
bool takes_cpu_tensors(std::string_view name, bool indices) {
    static constexpr std::array<std::string_view, 3> kAny = {"aten::set_", "aten::index_fill_", "aten::index_fill"};
    return indices || std::ranges::find(kAny, name) != kAny.end();
}

std::string full_name(const c10::FunctionSchema& schema) {
    return schema.overload_name().empty() ? schema.name() : c10::str(schema.name(), ".", schema.overload_name());
}

// An argument of the device, and the tensor of the CPU in its place.
struct Pair {
    at::Tensor original, alias;
    bool written;
};

class Call {
   public:
    Call(const c10::OperatorHandle& op, torch::jit::Stack* stack) : op_(op), schema_(op.schema()), stack_(stack) {}

    void run() {
        const size_t count = schema_.arguments().size();
        const size_t begin = stack_->size() - count;
        originals_.assign(stack_->begin() + static_cast<std::ptrdiff_t>(begin), stack_->end());
        writes_statistics_ = writes_statistics();
        find_device();
        if (device_ < 0) device_ = current_device();
        const DeviceScope scope(c10::Device(c10::DeviceType::PrivateUse1, device_));
        synchronize_current_stream(device_);
        for (size_t i = 0; i < count; ++i) (*stack_)[begin + i] = on_cpu(originals_[i], schema_.arguments()[i]);
        const std::string name = full_name(schema_);
        const OnHost span(device_, HostWork::kFallback, name.c_str());
        const auto start = std::chrono::steady_clock::now();
        try {
            op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
        } catch (...) {  // it may have written a part
            for (const Pair& pair : pairs_) {
                if (pair.written) mark_written(pair.original);
            }
            throw;
        }
        nanoseconds_ = static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
        for (const Pair& pair : pairs_) {
            if (pair.written) settle(pair);
        }
        const size_t results = schema_.returns().size(), first = stack_->size() - results;
        for (size_t i = 0; i < results; ++i)
            (*stack_)[first + i] = on_device((*stack_)[first + i], schema_.returns()[i]);
        add({name, 1, in_place_, copied_, nanoseconds_});
    }

   private:
    template <typename F>
    void for_each_tensor(const c10::IValue& value, F&& visit) const {
        if (value.isTensor()) {
            if (value.toTensor().defined()) visit(value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorVector()) {
                if (tensor.defined()) visit(tensor);
            }
        } else if (value.isOptionalTensorList()) {
            for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
                if (tensor && tensor->defined()) visit(*tensor);
            }
        }
    }

    void find_device() {
        const at::Tensor* stranger = nullptr;
        for (size_t i = 0; i < originals_.size(); ++i) {
            const c10::IValue& value = originals_[i];
            const bool written = is_written(schema_.arguments()[i]);
            if (value.isDevice() && value.toDevice().type() == c10::DeviceType::PrivateUse1 &&
                value.toDevice().has_index())
                device_ = value.toDevice().index();
            for_each_tensor(value, [&](const at::Tensor& tensor) {
                if (!is_sidra(tensor)) {
                    // A number of the CPU is taken, but not as a place for the result.
                    if ((tensor.dim() != 0 || written) && stranger == nullptr &&
                        !takes_cpu_tensors(schema_.name(), value.isOptionalTensorList()))
                        stranger_ = tensor, stranger = &stranger_;
                    return;
                }
                TORCH_CHECK(device_ < 0 || device_ == tensor.device().index(), schema_.name(),
                            ": Expected all tensors to be on the same device, but found sidra:",
                            static_cast<int>(device_), " and ", tensor.device(), "; move one with .to()");
                device_ = tensor.device().index();
            });
        }
        TORCH_CHECK(stranger == nullptr, schema_.name(),
                    ": Expected all tensors to be on the same device, but found at least two devices, sidra:",
                    static_cast<int>(device_), " and ", stranger_.defined() ? stranger_.device() : at::Device("cpu"),
                    "; move one with .to()");
    }

    // As on the CPU, the operator sees which arguments are the same tensor, and which share memory.
    at::Tensor alias_of(const at::Tensor& tensor, bool written) {
        if (!tensor.defined() || !is_sidra(tensor)) return tensor;
        const auto [known, is_new] = numbers_.try_emplace(tensor.unsafeGetTensorImpl(), pairs_.size());
        if (is_new) {
            c10::Storage& storage = storages_[tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()];
            if (!storage) storage = cpu_storage(tensor);
            pairs_.push_back({tensor, cpu_alias(tensor, storage), false});
        }
        Pair& pair = pairs_[known->second];
        pair.written |= written;
        return pair.alias;
    }

    bool is_written(const c10::Argument& argument) const {
        return (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
               (writes_statistics_ && (argument.name() == "running_mean" || argument.name() == "running_var"));
    }
    // In training it writes them, of which its schema says nothing.
    bool writes_statistics() const {
        if (schema_.name() == "aten::batch_norm_update_stats") return true;
        if (schema_.name() != "aten::native_batch_norm") return false;
        const std::optional<int> training = schema_.argumentIndexWithName("training");
        return training && originals_[static_cast<size_t>(*training)].toBool();
    }

    c10::IValue on_cpu(const c10::IValue& value, const c10::Argument& argument) {
        const bool written = is_written(argument);
        if (value.isTensor()) return alias_of(value.toTensor(), written);
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(alias_of(tensor, written));
            return list;
        }
        if (value.isOptionalTensorList()) {
            c10::List<std::optional<at::Tensor>> list;
            for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
                list.push_back(tensor ? std::optional(alias_of(*tensor, written)) : std::nullopt);
            return list;
        }
        if (value.isDevice()) return c10::Device(c10::DeviceType::CPU);
        if (is_generator(argument)) return cpu_generator(value);
        return value;
    }

    static bool is_generator(const c10::Argument& argument) {
        const c10::TypePtr& type = argument.real_type();
        const auto optional = type->cast<c10::OptionalType>();
        return (optional ? optional->getElementType() : type)->kind() == c10::TypeKind::GeneratorType;
    }
    // One that continues the device's: seeded with the next key.
    c10::IValue cpu_generator(const c10::IValue& value) const {
        std::optional<at::Generator> own;
        if (!value.isNone()) own = value.toGenerator();
        if (own && own->device().type() != c10::DeviceType::PrivateUse1) return value;
        const Generator::Key key = next_key(own, device_);
        return at::make_generator<at::CPUGeneratorImpl>(uint64_t{key.seed} << 32 | key.sequence);
    }

    // What the CPU's operator did to a tensor that it writes: it may have given it another shape, or other memory.
    void settle(const Pair& pair) {
        const at::Tensor &original = pair.original, &alias = pair.alias;
        const bool moved = alias.storage().data() != original.storage().data();
        if (moved || alias.sizes() != original.sizes() || alias.strides() != original.strides()) {
            c10::TensorImpl* impl = original.unsafeGetTensorImpl();
            if (moved) {
                const size_t bytes = alias.storage().nbytes();
                c10::DataPtr data = c10::GetAllocator(c10::DeviceType::PrivateUse1)->allocate(bytes);
                synchronize_current_stream(device_);
                std::memcpy(data.get(), alias.storage().data(), bytes);
                original.storage().set_data_ptr_noswap(std::move(data));
                original.storage().set_nbytes(bytes);
                // Others that share the storage have moved along.
                alias.storage().set_data_ptr_noswap({original.storage().mutable_data(), at::kCPU});
            }
            impl->set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
            ++copied_;
        } else {
            ++in_place_;
        }
        mark_written(original);
    }

    at::Tensor tensor_on_device(const at::Tensor& result) {
        if (!result.defined() || result.device().type() != c10::DeviceType::CPU) return result;
        for (const Pair& pair : pairs_) {
            if (result.is_same(pair.alias)) return pair.original;
        }
        for (const Pair& pair : pairs_) {
            if (result.storage().data() == nullptr || result.storage().data() != pair.original.storage().data())
                continue;
            ++in_place_;  // a view
            at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
                c10::TensorImpl::VIEW, c10::Storage(pair.original.storage()),
                c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), result.dtype());
            view.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides(),
                                                              result.storage_offset());
            view._set_conj(result.is_conj());
            view._set_neg(result.is_neg());
            return view;
        }
        ++copied_;
        return brought(result, device_);
    }

    c10::IValue on_device(const c10::IValue& value, const c10::Argument&) {
        if (value.isTensor()) return tensor_on_device(value.toTensor());
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(tensor_on_device(tensor));
            return list;
        }
        return value;
    }

    const c10::OperatorHandle& op_;
    const c10::FunctionSchema& schema_;
    torch::jit::Stack* stack_;
    std::vector<c10::IValue> originals_;
    bool writes_statistics_ = false;
    std::vector<Pair> pairs_;
    std::unordered_map<c10::TensorImpl*, size_t> numbers_;          // of the pair of a tensor
    std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;  // of the aliases
    at::Tensor stranger_;
    c10::DeviceIndex device_ = -1;
    uint64_t in_place_ = 0, copied_ = 0, nanoseconds_ = 0;
};

}  // namespace

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (mode.load(std::memory_order_relaxed) == FallbackMode::kError) require_allowed(full_name(op.schema()));
    Call(op, stack).run();
}

FallbackStart begin_fallback(const char* op, c10::DeviceIndex device) {
    require_allowed(op);
    synchronize_current_stream(device);
    add({op, 1, 0, 0, 0});
    return {op, device, std::chrono::steady_clock::now(), {device, HostWork::kFallback, op}};
}

at::Tensor end_fallback(const FallbackStart& start, const at::Tensor& result) {
    if (!result.defined()) return result;
    const auto taken = std::chrono::steady_clock::now() - start.at;
    add({start.op, 0, 0, 1, static_cast<uint64_t>(taken.count())});
    return brought(result, start.device);
}

FallbackMode fallback_mode() { return mode.load(); }
void set_fallback_mode(FallbackMode to) { mode.store(to); }

std::vector<FallbackCount> fallback_counts() {
    const std::lock_guard guard(counts().lock);
    std::vector<FallbackCount> all;
    for (const auto& [name, count] : counts().all) all.push_back(count);
    return all;
}

void reset_fallback_counts() {
    const std::lock_guard guard(counts().lock);
    counts().all.clear();
    native.store(0);
}

void count_native() { native.fetch_add(1, std::memory_order_relaxed); }
uint64_t native_calls() { return native.load(); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
// Kernels for all devices that ask for a kernel of the device which no other one has; and one that resizes its result,
// with a warning, where PyTorch has made it.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    for (const char* name : {"kaiser_window", "kaiser_window.periodic", "kaiser_window.beta", "smooth_l1_loss"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

}  // namespace sidra::pytorch
