// SPDX-License-Identifier: MIT
#include "handle.h"

#include <pthread.h>

#include <array>

#include "structs.h"

namespace sidra {
namespace {

struct KindText {
    const char* one;
    const char* many;
};
constexpr std::array<KindText, static_cast<size_t>(Kind::kCount)> kKinds = {{
    {"device", "devices"},
    {"context", "contexts"},
    {"buffer", "buffers"},
    {"stream", "streams"},
    {"event", "events"},
    {"weights", "weights"},
    {"graph", "graphs"},
    {"program", "programs"},
    {"model", "models"},
    {"pipeline", "pipelines"},
}};

struct Shared {
    std::mutex mutex;
    std::array<std::atomic<uint32_t>, static_cast<size_t>(Kind::kCount)> ids{};
    std::array<std::atomic<HandleLook (*)(HandleParts)>, static_cast<size_t>(Kind::kCount)> tables{};

    Shared();
};

Shared& shared() {
    static auto* instance = new Shared;  // never destroyed, so it outlives the application's static objects
    return *instance;
}

Shared::Shared() {
    pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); }, [] { shared().mutex.unlock(); });
}

}  // namespace

const char* kind_name(Kind kind) { return kKinds[static_cast<size_t>(kind)].one; }

std::string count_of(Kind kind, uint32_t count) {
    const KindText& text = kKinds[static_cast<size_t>(kind)];
    return fmt::format("{} {}", count, count == 1 ? text.one : text.many);
}

std::mutex& handle_mutex() { return shared().mutex; }

uint32_t next_object_id(Kind kind) {
    return shared().ids[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed) + 1;
}

void add_handle_table(Kind kind, HandleLook (*look)(HandleParts)) {
    shared().tables[static_cast<size_t>(kind)].store(look, std::memory_order_release);
}

sidra_status bad_handle(const char* call, const char* argument, Kind kind, HandleParts handle) {
    const char* wanted = kind_name(kind);
    if (handle.value == 0)
        return fail(SIDRA_ERROR_INVALID_HANDLE, call, "`{}` is NULL; a {} handle is needed", argument, wanted);
    HandleLook seen{};
    if (handle.kind() < kKinds.size())
        if (auto* look = shared().tables[handle.kind()].load(std::memory_order_acquire); look != nullptr)
            seen = look(handle);
    if (!seen.made)
        return fail(SIDRA_ERROR_INVALID_HANDLE, call, "`{}` ({:#x}) is not a handle of libsidra; a {} handle is needed",
                    argument, handle.value, wanted);
    const char* given = kKinds[handle.kind()].one;
    if (seen.live == nullptr)
        return fail(SIDRA_ERROR_INVALID_HANDLE, call,
                    "`{}` ({:#x}) was a handle of {} {} that has been destroyed; do not use a handle after that",
                    argument, handle.value, handle.kind() == static_cast<uint32_t>(Kind::kEvent) ? "an" : "a", given);
    if (handle.kind() != static_cast<uint32_t>(kind))
        return fail(SIDRA_ERROR_INVALID_HANDLE, call, "`{}` is {} {}, but a {} handle is needed", argument, given,
                    seen.live->id, wanted);
    return fail(SIDRA_ERROR_INVALID_HANDLE, call,
                "another thread is destroying the {} of `{}` ({:#x}); only one may destroy it", given, argument,
                handle.value);
}

sidra_status forked_handle(const char* call, const char* argument, Kind kind, const Handle& object) {
    return fail(SIDRA_ERROR_FORKED, call,
                "`{}` ({} {}) belongs to the parent process; a child opens the device anew with sidra_device_open()",
                argument, kind_name(kind), object.id);
}

sidra_status bad_struct(const char* call, const char* type, size_t given, size_t known, const void* data) {
    if (data == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL", type);
    if (given < known)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "struct_size of `{}` is {}, but at least {} is needed; initialise it with SIDRA_INIT({})", type,
                    given, known, type);
    if (given > kStructSizeMax)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "struct_size of `{}` is {}: not initialised? Use SIDRA_INIT({})", type, given, type);
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = known; i < given; ++i)
        if (bytes[i] != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`{}` has a field at byte {} that this libsidra does not know, and it is not zero; use a newer "
                        "libsidra",
                        type, i);
    return SIDRA_OK;
}

}  // namespace sidra
