// SPDX-License-Identifier: MIT
// Compiled models on tensors of the device, by which regions of torch.compile() run.
#ifndef SIDRA_PYTORCH_COMPILED_MODEL_H
#define SIDRA_PYTORCH_COMPILED_MODEL_H

#include <ATen/core/Tensor.h>
#include <sidra/model.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiled/regions.h"
#include "runtime/device.h"

namespace sidra::pytorch {

// Tensors of which the compiler makes constants, as they are now. Does not keep them alive.
class Contents {
   public:
    explicit Contents(const std::vector<at::Tensor>& tensors);
    // Whether all of them still exist, and nothing has written to them. With SIDRA_CHECK_RESIDENCY=1 it throws if
    // somebody has, and has not said so.
    bool are_current() const;

   private:
    // What a tensor's content was.
    struct Constant {
        c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
        uint64_t uid, generation;
        int64_t offset;
        std::optional<uint64_t> hash;  // if contents are checked

        explicit Constant(const at::Tensor& from);
        bool is_current() const;
    };
    std::vector<Constant> tensors_;
};

// A model in the context that all tensors of its device have. Any thread; runs of one model take turns.
class Model {
   public:
    // region: its name, for errors. others: models of the same region; what they have on crossbars is not put there
    // once more.
    Model(int index, const std::string& path, const std::string& region, std::shared_ptr<const Contents> constants,
          const std::vector<std::shared_ptr<Model>>& others);
    // Waits for its runs, which would fault their streams otherwise.
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Queues the programming of its matrices, for which others leave the crossbars. Throws if there is no room for
    // them.
    void deploy();

    // Queues a run of the first variant: copies the inputs to where the model has them, and the results to new tensors.
    // Nothing is queued, and the list is empty, if a constant has changed or the inputs have other types or shapes.
    std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

    const std::string& region() const { return named_->region(); }

   private:
    // An input or output in the model's memory.
    struct Place {
        at::ScalarType dtype;
        std::vector<int64_t> shape;
        size_t offset, bytes;
    };
    // A stream that has run it, and the end of its latest run.
    struct User {
        sidra_stream* stream;
        sidra_event* end;
    };
    class Turn;

    User user_of(sidra_stream* stream);
    bool describe();
    void queue_programming();

    const c10::DeviceIndex index_;
    const std::shared_ptr<const Contents> constants_;
    std::vector<Place> inputs_, outputs_;
    sidra_model* model_ = nullptr;
    std::mutex lock_;
    std::vector<User> users_;
    bool programmed_ = false;
    std::unique_ptr<NamedModel> named_;
};

}  // namespace sidra::pytorch

#endif
