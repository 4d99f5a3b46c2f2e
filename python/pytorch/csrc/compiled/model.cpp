// SPDX-License-Identifier: MIT
#include "compiled/model.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <utility>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "profiler/profile.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/error.h"

namespace sidra::pytorch {

Contents::Constant::Constant(const at::Tensor& from)
    : tensor(from.getIntrusivePtr()), uid(0), generation(0), offset(from.storage_offset()) {
    const Block* block = block_of(from);
    TORCH_CHECK(block != nullptr, "a weight of the compiled model is not in the device's memory");
    uid = block->uid;
    generation = block->generation.load(std::memory_order_relaxed);
    if (residency_check()) hash = content_hash(from);
}

bool Contents::Constant::is_current() const {
    const auto held = tensor.lock();
    if (!held) return false;
    const Block* block = block_of(held->storage().data_ptr());
    if (block == nullptr || block->uid != uid || block->generation.load(std::memory_order_relaxed) != generation ||
        held->storage_offset() != offset)
        return false;
    TORCH_CHECK(!hash || content_hash(at::Tensor(held)) == *hash, "SIDRA_CHECK_RESIDENCY: a weight of the shape ",
                held->sizes(),
                " was changed, and the compiled region that has it as a constant was not told. Whoever "
                "writes to its memory without an operator of PyTorch's must call torch.sidra.mark_written(tensor).");
    return true;
}

Contents::Contents(const std::vector<at::Tensor>& tensors) {
    for (const at::Tensor& tensor : tensors)
        if (tensor.numel() != 0) tensors_.emplace_back(tensor);
}

bool Contents::are_current() const {
    return std::all_of(tensors_.begin(), tensors_.end(), [](const Constant& tensor) { return tensor.is_current(); });
}

// Runs use one memory, so a stream waits for what the others have queued with it, also if that has failed half way. The
// latest run does not stand for those before it: a reset drops a run together with its wait for them. The lock is held.
class Model::Turn {
   public:
    explicit Turn(Model& model) : user_(model.user_of(current_stream(model.index_))) {
        for (const User& other : model.users_)
            if (other.stream != user_.stream) wait_for(model.index_, other.end);
    }
    ~Turn() { static_cast<void>(sidra_event_record(user_.end, user_.stream)); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const User& user() const { return user_; }

   private:
    // What was dropped or lost is over, also if that happens meanwhile.
    static void wait_for(c10::DeviceIndex index, sidra_event* end) {
        const auto queue = [&] { return sidra_stream_wait_event(OnStream(index, "sidra::wait"), end); };
        const auto is_over = [&] { return sidra_event_query(end) != SIDRA_ERROR_NOT_READY; };
        if (is_over() || queue() == SIDRA_OK || is_over()) return;
        check(queue());  // the stream itself cannot wait: raises why not
    }

    const User user_;
};

Model::User Model::user_of(sidra_stream* stream) {
    const auto found = std::ranges::find(users_, stream, &User::stream);
    if (found != users_.end()) return *found;
    User made{stream, nullptr};
    check(sidra_event_create(device(index_).context(), SIDRA_EVENT_DEFAULT, &made.end));
    return users_.emplace_back(made);
}

Model::Model(int index, const std::string& path, const std::string& region, std::shared_ptr<const Contents> constants,
             const std::vector<std::shared_ptr<Model>>& others)
    : index_(static_cast<c10::DeviceIndex>(index)), constants_(std::move(constants)) {
    check(sidra_model_load(device(index_).context(), path.c_str(), &model_));
    sidra_status status = SIDRA_OK;
    for (const std::shared_ptr<Model>& other : others)
        if (status == SIDRA_OK) status = sidra_model_share_matrices(model_, other->model_, nullptr);
    if (status == SIDRA_OK && describe()) {
        named_ = std::make_unique<NamedModel>(index_, region, model_);
        return;
    }
    static_cast<void>(sidra_model_destroy(model_));
    if (status != SIDRA_OK) fail(status);
    TORCH_CHECK_NOT_IMPLEMENTED(false, "PyTorch has no type for an input or output of the compiled model");
}

Model::~Model() {
    for (const User& user : users_) static_cast<void>(sidra_event_synchronize(user.end, SIDRA_NEVER));
    named_.reset();
    static_cast<void>(sidra_model_destroy(model_));
    residency_region_ended(index_);
    for (const User& user : users_) static_cast<void>(sidra_event_destroy(user.end));
}

void Model::deploy() {
    const std::lock_guard guard(lock_);
    const Turn turn(*this);
    queue_programming();
}

std::vector<at::Tensor> Model::run(const std::vector<at::Tensor>& inputs) {
    if (!constants_->are_current()) return {};
    const c10::Device where(c10::DeviceType::PrivateUse1, index_);
    if (inputs.size() != inputs_.size()) return {};
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].device() != where || inputs[i].scalar_type() != inputs_[i].dtype ||
            inputs[i].sizes() != inputs_[i].shape)
            return {};
    const DeviceScope scope(where);
    std::vector<at::Tensor> results;
    results.reserve(outputs_.size());
    for (const Place& output : outputs_)
        results.push_back(at::empty(output.shape, at::device(where).dtype(output.dtype)));

    const std::lock_guard guard(lock_);
    const Turn turn(*this);
    if (!programmed_) queue_programming();
    named_->set_run(turn.user().stream, turn.user().end);
    sidra_buffer* buffer = nullptr;
    check(sidra_model_get_buffer(model_, 0, &buffer));
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs_[i].bytes == 0) continue;
        const at::Tensor from = inputs[i].resolve_conj().resolve_neg().contiguous();
        check(sidra_copy_async(OnStream(index_, "sidra::copy", inputs_[i].bytes), {buffer, inputs_[i].offset},
                               place_of(from), inputs_[i].bytes));
    }
    check(sidra_model_run_async(OnStream(index_, "sidra::model"), model_, 0));
    for (size_t i = 0; i < results.size(); ++i)
        if (outputs_[i].bytes != 0)
            check(sidra_copy_async(OnStream(index_, "sidra::copy", outputs_[i].bytes), place_of(results[i]),
                                   {buffer, outputs_[i].offset}, outputs_[i].bytes));
    return results;
}

// Returns false if PyTorch lacks a type.
bool Model::describe() {
    auto info = SIDRA_INIT(sidra_model_variant_info);
    check(sidra_model_get_variant(model_, 0, &info));
    const auto add = [](const sidra_model_tensor& tensor, std::vector<Place>* places) {
        for (const at::ScalarType dtype :
             {at::kFloat, at::kLong, at::kBool, at::kInt, at::kHalf, at::kBFloat16, at::kByte, at::kChar, at::kShort}) {
            if (type_of(dtype) != tensor.type) continue;
            places->push_back({dtype, {tensor.shape, tensor.shape + tensor.rank}, tensor.offset, tensor.bytes});
            return true;
        }
        return false;
    };
    bool known = true;
    auto tensor = SIDRA_INIT(sidra_model_tensor);
    for (uint32_t i = 0; i < info.inputs; ++i) {
        check(sidra_model_get_input(model_, 0, i, &tensor));
        known &= add(tensor, &inputs_);
    }
    for (uint32_t i = 0; i < info.outputs; ++i) {
        check(sidra_model_get_output(model_, 0, i, &tensor));
        known &= add(tensor, &outputs_);
    }
    return known;
}

// Again, as long as programming is not complete: a stream that was reset has dropped what it had of it.
void Model::queue_programming() {
    sidra_status status = SIDRA_OK;
    do {
        status = sidra_model_deploy_async(OnStream(index_, "sidra::program"), model_);
    } while ((status == SIDRA_ERROR_OUT_OF_CROSSBARS || status == SIDRA_ERROR_LIMIT) && residency_make_room(index_));
    check(status);
    auto info = SIDRA_INIT(sidra_model_info);
    check(sidra_model_get_info(model_, &info));
    programmed_ = info.deployed;
}

TORCH_LIBRARY_FRAGMENT(sidra, m) {
    // Tensors of the CPU on the same memory, which the device no longer writes to. They must not outlive the tensors.
    m.def("on_host(Tensor[] tensors) -> Tensor[]", [](const at::TensorList tensors) {
        std::vector<at::Tensor> all;
        for (const at::Tensor& tensor : tensors) {
            if (is_sidra(tensor)) device(tensor.device().index()).synchronize();
            all.push_back(cpu_alias(tensor));
        }
        return all;
    });
}

}  // namespace sidra::pytorch
