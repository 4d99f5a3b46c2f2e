// SPDX-License-Identifier: MIT
// Compiled models: matrices from the file to crossbars, and the ranges of their ADCs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kept_error.h"
#include "model.h"
#include "report_line.h"
#include "stream.h"
#include "tiles.h"
#include "wait.h"
#include "weights.h"

namespace sidra {
namespace {

uint64_t crossbars_of(const format::Matrix& matrix, sidra_weights_encoding encoding) {
    return tiles_down(matrix.k()) * tiles_across(matrix.n(), encoding);
}

// The fewest crossbars that it needs; AUTO may choose offset.
uint64_t fewest_crossbars(const format::Matrix& matrix) {
    const bool differential = matrix.encoding() == format::Encoding::Differential;
    return crossbars_of(matrix, differential ? SIDRA_WEIGHTS_DIFFERENTIAL : SIDRA_WEIGHTS_OFFSET);
}

// Makes the weights of the matrices that have none. The model gets them when nothing can destroy them again, because
// other threads may use what it has.
class Creation {
   public:
    Creation(const char* call, sidra_model* model)
        : call_(call), model_(*model), manifest_(model->file.manifest()), made_(model->matrices.size()) {}
    Creation(const Creation&) = delete;
    Creation& operator=(const Creation&) = delete;
    // Destroys what was made, unless it was kept.
    ~Creation() {
        for (sidra_weights* weights : made_) static_cast<void>(sidra_weights_destroy(weights));
    }

    sidra_status run() {
        SIDRA_TRY(find_room());
        SIDRA_TRY(read_values());
        // What the file has placed comes first, so that nothing else takes its crossbars.
        for (uint32_t i = 0; i < model_.matrices.size(); ++i)
            if (missing(i) && manifest_.matrices()->Get(i)->crossbars() != nullptr) SIDRA_TRY(make_placed(i));
        for (uint32_t i = 0; i < model_.matrices.size(); ++i)
            if (missing(i)) SIDRA_TRY(make(i));
        if (displaced_ != 0)
            report_line(
                fmt::format("{} of {} matrices of model {} are not on the crossbars that the file names, because those "
                            "are in use, bad, or not on this device; the driver has chosen others",
                            displaced_, model_.matrices.size(), model_.id));
        if (reduced_ != 0)
            report_line(
                fmt::format("{} of {} matrices of model {} use the offset encoding, because differential needs more "
                            "crossbars than are free; their error is about 1.5 times as large",
                            reduced_, model_.matrices.size(), model_.id));
        return SIDRA_OK;
    }

    // Those of the model, or those that were made.
    sidra_weights* weights_of(uint32_t index) const {
        sidra_weights* const present = model_.matrices[index].load(std::memory_order_relaxed);
        return present != nullptr ? present : made_[index];
    }
    void keep() {
        for (uint32_t i = 0; i < made_.size(); ++i)
            if (made_[i] != nullptr)
                model_.matrices[i].store(std::exchange(made_[i], nullptr), std::memory_order_release);
    }

   private:
    bool missing(uint32_t index) const { return weights_of(index) == nullptr; }

    // Before anything is read.
    sidra_status find_room() {
        for (uint32_t i = 0; i < model_.matrices.size(); ++i)
            if (missing(i)) needed_ += fewest_crossbars(*manifest_.matrices()->Get(i));
        auto info = SIDRA_INIT(sidra_device_info);
        SIDRA_TRY(sidra_device_get_info(handle_of(model_.context->device), &info));
        if (needed_ > info.crossbars_free)
            return fail(SIDRA_ERROR_OUT_OF_CROSSBARS, call_,
                        "{}: its matrices need {} crossbars or more, but {} of {} are free; destroy weights and other "
                        "models, or evict names",
                        model_.file.path(), needed_, info.crossbars_free, info.crossbars_total);
        free_ = info.crossbars_free;
        return SIDRA_OK;
    }

    // All of them at once, before any crossbar is taken: the storage never waits.
    sidra_status read_values() {
        values_.resize(model_.matrices.size());
        std::vector<SectionRead> parts;
        std::vector<uint32_t> indices;
        for (uint32_t i = 0; i < model_.matrices.size(); ++i) {
            if (!missing(i)) continue;
            const format::Matrix& matrix = *manifest_.matrices()->Get(i);
            const std::string name = matrix_name(manifest_, i);
            if (const sidra_status status = stage_memory(call_, model_.context, matrix.k(), matrix.n(), &values_[i]);
                status != SIDRA_OK)
                return fail_part(call_, model_, name, status);
            parts.push_back({matrix.data(), values_[i].memory->host(), name});
            indices.push_back(i);
        }
        return model_.file.read(call_, parts, [&](size_t part, size_t at, size_t size) {
            Position& first = values_[indices[part]].minus_128;
            if (first.found) return;
            const std::byte* const values = parts[part].memory;
            const void* const found = std::memchr(values + at, 0x80, size);
            if (found == nullptr) return;
            const auto index = static_cast<uint64_t>(static_cast<const std::byte*>(found) - values);
            const uint32_t n = manifest_.matrices()->Get(indices[part])->n();
            first = {true, static_cast<uint32_t>(index / n), static_cast<uint32_t>(index % n)};
        });
    }

    sidra_status make(uint32_t index) {
        const format::Matrix& matrix = *manifest_.matrices()->Get(index);
        const std::string name = matrix_name(manifest_, index);
        auto options = SIDRA_INIT(sidra_weights_options);
        options.encoding = choose_encoding(matrix);
        sidra_weights* weights = nullptr;
        if (const sidra_status status = create(index, &options, &weights); status != SIDRA_OK)
            return fail_part(call_, model_, name, status);
        return add(index, weights);
    }

    // Leaves the matrix without weights if its crossbars cannot be had.
    sidra_status make_placed(uint32_t index) {
        const format::Matrix& matrix = *manifest_.matrices()->Get(index);
        const std::string name = matrix_name(manifest_, index);
        auto options = SIDRA_INIT(sidra_weights_options);
        options.crossbar_count = matrix.crossbars()->size();
        options.crossbars = matrix.crossbars()->data();
        options.encoding = options.crossbar_count == crossbars_of(matrix, SIDRA_WEIGHTS_DIFFERENTIAL) &&
                                   matrix.encoding() != format::Encoding::Offset
                               ? SIDRA_WEIGHTS_DIFFERENTIAL
                               : SIDRA_WEIGHTS_OFFSET;
        const uint64_t others = needed_ - fewest_crossbars(matrix);
        if (options.crossbar_count + others > free_) {
            ++displaced_;
            return SIDRA_OK;
        }
        sidra_weights* weights = nullptr;
        const KeptError before;
        const sidra_status status = create(index, &options, &weights);
        bool good = status == SIDRA_OK;
        if (!good && status != SIDRA_ERROR_BUSY && status != SIDRA_ERROR_NOT_REPRESENTABLE &&
            status != SIDRA_ERROR_OUT_OF_CROSSBARS)
            return fail_part(call_, model_, name, status);
        for (uint32_t tile = 0; good && has_limit() && tile < options.crossbar_count; ++tile) {
            auto report = SIDRA_INIT(sidra_tile_report);
            if (const sidra_status failed = sidra_weights_report(weights, tile, &report); failed != SIDRA_OK) {
                static_cast<void>(sidra_weights_destroy(weights));
                return fail_part(call_, model_, name, failed);
            }
            good = report.stuck_cells <= manifest_.bad_cells();
        }
        if (!good) {
            if (weights != nullptr) SIDRA_TRY(sidra_weights_destroy(weights));
            before.restore();
            ++displaced_;
            return SIDRA_OK;
        }
        needed_ = others;
        return add(index, weights);
    }

    bool has_limit() const { return manifest_.bad_cells() != UINT32_MAX; }

    // Of the values that were read.
    sidra_status create(uint32_t index, sidra_weights_options* options, sidra_weights** weights) const {
        const format::Matrix& matrix = *manifest_.matrices()->Get(index);
        options->label = matrix.name()->c_str();
        return create_weights(call_, model_.context, matrix.k(), matrix.n(), values_[index],
                              std::vector<float>(matrix.n(), 1.0f), *options, weights);
    }

    sidra_status add(uint32_t index, sidra_weights* weights) {
        made_[index] = weights;
        values_[index] = {};
        auto info = SIDRA_INIT(sidra_weights_info);
        SIDRA_TRY(sidra_weights_get_info(weights, &info));
        free_ -= std::min<uint64_t>(free_, info.crossbars);
        return SIDRA_OK;
    }

    // AUTO takes differential only if the matrices behind it have crossbars, too.
    sidra_weights_encoding choose_encoding(const format::Matrix& matrix) {
        needed_ -= fewest_crossbars(matrix);
        const auto encoding = static_cast<sidra_weights_encoding>(matrix.encoding());
        if (encoding != SIDRA_WEIGHTS_AUTO || crossbars_of(matrix, SIDRA_WEIGHTS_DIFFERENTIAL) + needed_ <= free_)
            return encoding;
        ++reduced_;
        return SIDRA_WEIGHTS_OFFSET;
    }

    const char* const call_;
    sidra_model& model_;
    const format::Model& manifest_;
    uint64_t needed_ = 0, free_ = 0;    // crossbars: of the matrices to come, and on the device
    std::vector<StagedValues> values_;  // of each matrix that had no weights
    std::vector<sidra_weights*> made_;  // handles by matrix; null: it had weights, or they were kept
    uint32_t displaced_ = 0;            // matrices that are not where the file has placed them
    uint32_t reduced_ = 0;              // matrices that would be differential if there were more crossbars
};

// Which the application, or another model, may have queued in another stream.
sidra_status wait_for_programming(const char* call, sidra_stream* stream, sidra_weights* weights) {
    Point point;
    {
        const std::lock_guard lock(weights->mutex);
        point = weights->program_point;
    }
    return point.queue ? wait_point(call, stream, point) : SIDRA_OK;
}

sidra_status queue_programming(const char* call, sidra_stream* stream, sidra_model* model, Creation* creation) {
    for (uint32_t i = 0; i < model->matrices.size(); ++i) {
        sidra_weights* const handle = creation->weights_of(i);
        sidra_weights* weights = handle;
        SIDRA_TRY(check(call, "weights of the model", weights));
        const Programming programming = programming_of(weights);
        if (programming == Programming::kNeeded) {
            if (const sidra_status status = sidra_weights_program_async(handle_of(stream), handle); status != SIDRA_OK)
                return fail_part(call, *model, matrix_name(model->file.manifest(), i), status);
            creation->keep();
        }
        const bool calibrate = model->calibration.state(i) == Programming::kNeeded;
        if (programming == Programming::kQueued && (calibrate || model->sharers[i] != nullptr))
            SIDRA_TRY(wait_for_programming(call, stream, weights));
        if (!calibrate) continue;
        if (const sidra_status status = model->calibration.queue(call, handle_of(stream), i, handle);
            status != SIDRA_OK)
            return fail_part(call, *model, matrix_name(model->file.manifest(), i), status);
    }
    return SIDRA_OK;
}

bool are_equal(const format::Matrix& one, const format::Matrix& other) {
    const format::Section &values = *one.data(), &others = *other.data();
    return one.k() == other.k() && one.n() == other.n() && one.encoding() == other.encoding() &&
           one.calibration() == nullptr && other.calibration() == nullptr && values.size() == others.size() &&
           values.hash() == others.hash();
}

// Both are locked.
uint32_t share_matrices(sidra_model* model, sidra_model* with) {
    const auto &own = *model->file.manifest().matrices(), &others = *with->file.manifest().matrices();
    uint32_t shared = 0;
    for (uint32_t i = 0; i < own.size(); ++i)
        for (uint32_t j = 0; j < others.size() && model->matrices[i].load(std::memory_order_relaxed) == nullptr; ++j) {
            sidra_weights* const weights = with->matrices[j].load(std::memory_order_relaxed);
            if (weights == nullptr || !are_equal(*own[i], *others[j])) continue;
            if (with->sharers[j] == nullptr) with->sharers[j] = std::make_shared<std::atomic<uint32_t>>(1);
            model->sharers[i] = with->sharers[j];
            ++*model->sharers[i];
            model->matrices[i].store(weights, std::memory_order_release);
            ++shared;
        }
    return shared;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_model_share_matrices(sidra_model* model, sidra_model* with, uint32_t* shared) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        SIDRA_TRY(check(call, "with", with));
        SIDRA_TRY(check_context(call, "with", with, model->context));
        if (model == with)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`model` and `with` are both model {}; another one's matrices are needed", model->id);
        const std::scoped_lock lock(model->mutex, with->mutex);
        const uint32_t count = share_matrices(model, with);
        if (shared != nullptr) *shared = count;
        return SIDRA_OK;
    });
}

sidra_status sidra_model_deploy_async(sidra_stream* stream, sidra_model* model) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        SIDRA_TRY(check(call, "model", model));
        SIDRA_TRY(check_context(call, "model", model, stream->context));
        const std::lock_guard lock(model->mutex);
        Creation creation(call, model);
        SIDRA_TRY(creation.run());
        SIDRA_TRY(model->calibration.read(call, model->context, model->file));
        SIDRA_TRY(queue_programming(call, stream, model, &creation));
        model->file.close();  // the weights have all of it
        return SIDRA_OK;
    });
}

sidra_status sidra_model_progress(sidra_model* model, uint64_t* done, uint64_t* total) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        uint64_t all_done = 0, all = 0;
        for (uint32_t i = 0; i < model->matrices.size(); ++i) {
            const format::Matrix& matrix = *model->file.manifest().matrices()->Get(i);
            all += uint64_t{matrix.k()} * matrix.n();
            sidra_weights* weights = model->matrices[i].load(std::memory_order_acquire);
            if (weights == nullptr) continue;
            SIDRA_TRY(check(call, "weights of the model", weights));
            uint32_t rows_done = 0, rows = 0;
            SIDRA_TRY(query_progress(call, weights, &rows_done, &rows));
            all_done += uint64_t{matrix.k()} * matrix.n() * rows_done / rows;
        }
        if (done != nullptr) *done = all_done;
        if (total != nullptr) *total = all;
        return SIDRA_OK;
    });
}
