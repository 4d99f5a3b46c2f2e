// SPDX-License-Identifier: MIT
// Sharing of weights beyond one handle: names on the array, and file descriptors. The per-column factors are stored
// with them as data.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "label.h"
#include "weights.h"

namespace sidra {
namespace {

constexpr size_t kDataMax = SIDRA_WEIGHTS_DATA_MAX;
constexpr size_t kDataFirst = size_t{64} << 10;  // first attempt: enough for nearly all objects

sidra_status check_name(const char* call, const char* name) {
    const size_t length = name != nullptr ? strnlen(name, SIDRA_WEIGHTS_NAME_MAX + 1) : 0;
    if (length >= 1 && length <= SIDRA_WEIGHTS_NAME_MAX) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`name` {}; a name has 1..{} bytes",
                name == nullptr ? "is NULL" : (length == 0 ? "is empty" : "is too long"), SIDRA_WEIGHTS_NAME_MAX);
}

// Names appear in terminals and logs.
sidra_status check_new_name(const char* call, const char* name) {
    SIDRA_TRY(check_name(call, name));
    for (const char* at = name; *at != '\0'; ++at)
        if (const auto byte = static_cast<unsigned char>(*at); byte < 0x20 || byte == 0x7f)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`name` has the control character {:#04x} at byte {}; choose a name without", byte, at - name);
    return SIDRA_OK;
}

sidra_status check_data_size(const char* call, const sidra_weights& weights) {
    if (weights.n * sizeof(float) <= kDataMax) return SIDRA_OK;
    return fail(SIDRA_ERROR_LIMIT, call,
                "weights {} have {} columns, but the factors of at most {} fit; split the matrix", weights.id,
                weights.n, kDataMax / sizeof(float));
}

// While the factors of weights are handed to others, and ever after, they must not change.
class Sharing {
   public:
    explicit Sharing(sidra_weights* weights) : weights_(weights) {}
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    ~Sharing() {
        if (!mine_) return;
        const std::lock_guard lock(weights_->mutex);
        weights_->shared = false;
    }
    sidra_status begin(const char* call) {
        const std::lock_guard lock(weights_->mutex);
        if (weights_->updates.busy())
            return fail(SIDRA_ERROR_BUSY, call, "the factors of weights {} are being updated; wait for the stream",
                        weights_->id);
        mine_ = !weights_->shared;
        weights_->shared = true;
        return SIDRA_OK;
    }
    // It has succeeded.
    void keep() { mine_ = false; }

   private:
    sidra_weights* const weights_;
    bool mine_ = false;
};

// Repeats a request that returns data until its buffer is large enough. `ask` sets data and data_size and returns
// -errno.
template <typename Ask>
int ask_with_data(std::vector<float>* data, Ask&& ask) {
    uint64_t size = kDataFirst;
    for (;;) {
        data->resize(size / sizeof(float));
        const uint64_t room = size;
        const int error = ask(reinterpret_cast<uintptr_t>(data->data()), &size);
        // Only a size that is larger says that the buffer was the problem.
        if (error == -ENOSPC && size > room && size <= kDataMax) continue;
        if (error == 0) data->resize(size / sizeof(float));
        return error;
    }
}

// Creates a handle for an object that the driver granted, with its factors (none: all 1).
sidra_status adopt_granted(const char* call, sidra_context* context, const WeightsGrant& grant, std::vector<float> data,
                           const NamedEntry& named, std::string_view label, sidra_weights** weights) {
    if (!data.empty() && data.size() != grant.n) {
        drop_grant(*context, grant.index);
        return fail(SIDRA_ERROR_VERSION, call,
                    "the data kept with the weights has {} factors, but they have {} columns; they were not made by "
                    "this library",
                    data.size(), grant.n);
    }
    sidra_weights* made = nullptr;
    const WeightsOrigin origin{.named = named, .label = label};
    SIDRA_TRY(adopt_weights(call, context, grant, std::move(data), origin, &made));
    *weights = handle_of(made);
    return SIDRA_OK;
}

sidra_status remove_name(const char* call, sidra_context* context, const char* name, uint32_t flags, const char* verb) {
    SIDRA_TRY(check(call, "context", context));
    SIDRA_TRY(check_name(call, name));
    std::string detail;
    sidra_ioctl_weights_unlink unlink{};
    unlink.name = reinterpret_cast<uintptr_t>(name);
    unlink.flags = flags;
    unlink.owner = SIDRA_OWNER_CALLER;
    if (const int error = request(*context->transport, SIDRA_IOCTL_WEIGHTS_UNLINK, &unlink, &detail); error != 0)
        return fail_errno(call, error, fmt::format("{} weights \"{}\"", verb, name), detail);
    return SIDRA_OK;
}

// Gets the next entry at or after *cursor and advances the cursor; -ENOENT: none.
int next_entry(const sidra_context& context, uint32_t* cursor, sidra_weights_entry* entry, std::string* detail) {
    sidra_ioctl_weights_list list{};
    list.entries = reinterpret_cast<uintptr_t>(entry);
    list.count = 1;
    list.stride = sizeof *entry;
    list.cursor = *cursor;
    const int error = request(*context.transport, SIDRA_IOCTL_WEIGHTS_LIST, &list, detail);
    if (error != 0) return error;
    *cursor = list.cursor;
    return list.count != 0 ? 0 : -ENOENT;
}

enum class Owner { kCaller, kOther };

sidra_status list_name(const char* call, sidra_context* context, Owner whose, uint32_t* cursor, char* name,
                       size_t name_size, uint32_t* owner) {
    SIDRA_TRY(check(call, "context", context));
    if (cursor == nullptr || name == nullptr || owner == nullptr || name_size <= SIDRA_WEIGHTS_NAME_MAX)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "`cursor`, `name`{} are needed, and room for {} bytes in `name`",
                    whose == Owner::kOther ? " and `owner`" : "", SIDRA_WEIGHTS_NAME_MAX + 1);
    std::string detail;
    sidra_weights_entry entry{};
    int error;
    do {
        error = next_entry(*context, cursor, &entry, &detail);
    } while (error == 0 && (entry.owner == geteuid()) != (whose == Owner::kCaller));
    if (error == -ENOENT) return fail(SIDRA_ERROR_NOT_FOUND, call, "no more names");
    if (error != 0) return fail_errno(call, error, "listing names", detail);
    std::memcpy(name, entry.name, SIDRA_WEIGHTS_NAME_MAX + 1);
    name[SIDRA_WEIGHTS_NAME_MAX] = '\0';
    *owner = entry.owner;
    return SIDRA_OK;
}

sidra_status open_weights(const char* call, sidra_context* context, uint32_t owner, const char* name,
                          sidra_weights** weights) {
    SIDRA_TRY(check(call, "context", context));
    if (weights == nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`weights` is NULL; it takes the new handle");
    SIDRA_TRY(check_name(call, name));
    std::string detail;
    std::vector<float> data;
    sidra_ioctl_weights_open open{};
    const auto open_with = [&](uint32_t rights) {
        return ask_with_data(&data, [&](uintptr_t address, uint64_t* size) {
            open = {};
            open.context = context->number;
            open.rights = rights;
            open.name = reinterpret_cast<uintptr_t>(name);
            open.data = address;
            open.data_size = *size;
            open.owner = owner;
            const int result = request(*context->transport, SIDRA_IOCTL_WEIGHTS_OPEN, &open, &detail);
            *size = open.data_size;
            return result;
        });
    };
    uint32_t rights = SIDRA_WEIGHTS_RIGHTS;
    int error = open_with(rights);
    if (error == -EACCES) error = open_with(rights = SIDRA_WEIGHTS_COMPUTE);  // readable, but owned by another user
    if (error != 0) return fail_errno(call, error, fmt::format("opening weights \"{}\"", name), detail);
    return adopt_granted(call, context, {open.index, open.rows, open.cols, open.encoding, rights, open.xbars},
                         std::move(data), {.known = true, .uid = open.uid}, name, weights);
}

}  // namespace

sidra_status query_name(const char* call, sidra_weights* weights, std::string* name) {
    NamedEntry named;
    {
        const std::lock_guard lock(weights->mutex);
        named = weights->named;
    }
    name->clear();
    if (!named.known) return SIDRA_OK;
    uint32_t cursor = 0;
    sidra_weights_entry entry{};
    std::string detail;
    int error;
    while ((error = next_entry(*weights->context, &cursor, &entry, &detail)) == 0) {
        const bool same = named.uid != 0 ? entry.uid == named.uid
                                         : std::equal(named.uuid.begin(), named.uuid.end(), std::begin(entry.uuid));
        if (!same) continue;
        name->assign(entry.name, strnlen(entry.name, sizeof entry.name));
        return SIDRA_OK;
    }
    if (error == -ENOENT) return SIDRA_OK;
    return fail_errno(call, error, fmt::format("looking for the name of weights {}", weights->id), detail);
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_weights_publish(sidra_weights* weights, const char* name, uint32_t mode) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        constexpr uint32_t kDefaultMode = 0600;
        SIDRA_TRY(check(call, "weights", weights));
        SIDRA_TRY(check_new_name(call, name));
        if ((mode & ~uint32_t{0777}) != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`mode` is {:#o}: only permission bits (0777) are allowed",
                        mode);
        SIDRA_TRY(check_data_size(call, *weights));
        Sharing sharing(weights);
        SIDRA_TRY(sharing.begin(call));
        std::string detail;
        sidra_ioctl_weights_publish publish{};
        publish.context = weights->context->number;
        publish.index = weights->index;
        publish.name = reinterpret_cast<uintptr_t>(name);
        publish.data = reinterpret_cast<uintptr_t>(weights->scale());
        publish.data_size = weights->n * sizeof(float);
        publish.mode = mode != 0 ? mode : kDefaultMode;
        if (const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_PUBLISH, &publish, &detail);
            error != 0)
            return fail_errno(call, error, fmt::format("publishing weights {} as \"{}\"", weights->id, name), detail);
        sharing.keep();
        {
            const std::lock_guard lock(weights->mutex);
            weights->named = {.known = true};
            std::copy(std::begin(publish.uuid), std::end(publish.uuid), weights->named.uuid.begin());
            if (!weights->label.empty()) return SIDRA_OK;
        }
        set_label(weights, name);
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_open(sidra_context* context, const char* name, sidra_weights** weights) {
    return guarded(__func__,
                   [&, call = __func__] { return open_weights(call, context, SIDRA_OWNER_CALLER, name, weights); });
}

sidra_status sidra_weights_open_of(sidra_context* context, uint32_t owner, const char* name, sidra_weights** weights) {
    return guarded(__func__, [&, call = __func__] { return open_weights(call, context, owner, name, weights); });
}

sidra_status sidra_weights_unlink(sidra_context* context, const char* name) {
    return guarded(__func__, [&, call = __func__] { return remove_name(call, context, name, 0, "unlinking"); });
}

sidra_status sidra_weights_evict(sidra_context* context, const char* name) {
    return guarded(__func__,
                   [&, call = __func__] { return remove_name(call, context, name, SIDRA_UNLINK_EVICT, "evicting"); });
}

sidra_status sidra_weights_list(sidra_context* context, uint32_t* cursor, char* name, size_t name_size) {
    return guarded(__func__, [&, call = __func__] {
        uint32_t owner = 0;
        return list_name(call, context, Owner::kCaller, cursor, name, name_size, &owner);
    });
}

sidra_status sidra_weights_list_of_others(sidra_context* context, uint32_t* cursor, char* name, size_t name_size,
                                          uint32_t* owner) {
    return guarded(__func__, [&, call = __func__] {
        return list_name(call, context, Owner::kOther, cursor, name, name_size, owner);
    });
}

sidra_status sidra_weights_export(sidra_weights* weights, bool allow_readback, int* fd) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "weights", weights));
        if (fd == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`fd` is NULL");
        if (allow_readback && (weights->rights & SIDRA_WEIGHTS_READBACK) == 0)
            return fail(SIDRA_ERROR_PERMISSION, call,
                        "this handle of weights {} may not read them back, so it cannot give that right away",
                        weights->id);
        SIDRA_TRY(check_data_size(call, *weights));
        Sharing sharing(weights);
        SIDRA_TRY(sharing.begin(call));
        std::string detail;
        sidra_ioctl_weights_share share{};
        share.context = weights->context->number;
        share.index = weights->index;
        share.rights = SIDRA_WEIGHTS_COMPUTE;
        if (allow_readback) share.rights |= SIDRA_WEIGHTS_READBACK;
        share.data = reinterpret_cast<uintptr_t>(weights->scale());
        share.data_size = weights->n * sizeof(float);
        if (const int error = request(*weights->context->transport, SIDRA_IOCTL_WEIGHTS_SHARE, &share, &detail);
            error != 0)
            return fail_errno(call, error, fmt::format("exporting weights {}", weights->id), detail);
        sharing.keep();
        *fd = share.fd;
        return SIDRA_OK;
    });
}

sidra_status sidra_weights_import(sidra_context* context, int fd, sidra_weights** weights) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (weights == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`weights` is NULL; it takes the new handle");
        std::string detail;
        std::vector<float> data;
        sidra_ioctl_weights_import import{};
        const int error = ask_with_data(&data, [&](uintptr_t address, uint64_t* size) {
            import = {};
            import.context = context->number;
            import.fd = fd;
            import.data = address;
            import.data_size = *size;
            const int result = request(*context->transport, SIDRA_IOCTL_WEIGHTS_IMPORT, &import, &detail);
            *size = import.data_size;
            return result;
        });
        if (error != 0)
            return fail_errno(call, error, fmt::format("importing weights from file descriptor {}", fd), detail,
                              {{EBADF, SIDRA_ERROR_INVALID_ARGUMENT}});
        return adopt_granted(call, context,
                             {import.index, import.rows, import.cols, import.encoding, import.rights, import.xbars},
                             std::move(data), {}, "", weights);
    });
}
