// SPDX-License-Identifier: MIT
#include "device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"
#include "device_select.h"
#include "structs.h"

namespace sidra {
namespace {

sidra_status open_device(const char* call, uint32_t index, const sidra_device_options* options, sidra_device** device) {
    if (device == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`device` is NULL; it takes the new handle");
    sidra_device_options whole;
    SIDRA_TRY(read_options(call, options, &whole));
    if (whole.private_chip && index != 0)
        return fail(SIDRA_ERROR_NO_DEVICE, call, "`index` is {}, but a private chip has index 0", index);
    DeviceChoice choice;
    SIDRA_TRY(choose_device(call, {}, whole.private_chip, &choice));
    if (index >= choice.count())
        return fail(SIDRA_ERROR_NO_DEVICE, call, "there is no device {}: {} found; see sidra_device_count()", index,
                    choice.count());
    ChipEnvironment environment;
    if (choice.embedded) environment.chip = choice.chips[index];
    SIDRA_TRY(complete_options(call, options, &whole, &environment));
    std::unique_ptr<Transport> transport;
    std::string detail;
    if (!choice.embedded) {
        const std::string& node = choice.nodes[index];
        if (const int error = open_kernel(node, &transport, &detail); error != 0)
            return fail_errno(call, error, fmt::format("opening {}", node), detail,
                              {{ENOENT, SIDRA_ERROR_NO_DEVICE},
                               {ENOTDIR, SIDRA_ERROR_NO_DEVICE},
                               {ENAMETOOLONG, SIDRA_ERROR_NO_DEVICE},
                               {ELOOP, SIDRA_ERROR_NO_DEVICE},
                               {ENODEV, SIDRA_ERROR_NO_DEVICE},
                               {ENXIO, SIDRA_ERROR_NO_DEVICE}});
        return adopt_transport(call, index, node.substr(node.rfind('/') + 1), std::move(transport), device);
    }
    if (choice.by_default) announce_embedded();

    const int error = open_embedded(environment.chip, whole, &transport, &detail, options == nullptr);
    if (error != 0) {
        // If the file name comes from the environment, the message must say so.
        if (detail.ends_with('.') && !environment.variables.empty())
            detail += fmt::format(" The environment sets {}.", fmt::join(environment.variables, " and "));
        // The options were validated, so the chip must lack something else here: the requested engine, if any.
        return fail_errno(
            call, error, fmt::format("opening embedded device {}", index), detail,
            {{ENODEV, whole.engine != SIDRA_ENGINE_AUTO ? SIDRA_ERROR_NOT_SUPPORTED : SIDRA_ERROR_NO_DEVICE},
             {EAGAIN, SIDRA_ERROR_LIMIT},  // no thread can be created to run the chip
             {EADDRINUSE, SIDRA_ERROR_BUSY},
             {ENAMETOOLONG, SIDRA_ERROR_INVALID_ARGUMENT},
             {ENOTDIR, SIDRA_ERROR_INVALID_ARGUMENT}});
    }
    return adopt_transport(call, index, fmt::format("sidra{}", environment.chip), std::move(transport), device);
}

}  // namespace

sidra_status adopt_transport(const char* call, uint32_t index, std::string name, std::unique_ptr<Transport> transport,
                             sidra_device** device) {
    std::string detail;
    sidra_query_device info{};
    if (const int error = query_device(*transport, SIDRA_QUERY_DEVICE, &info, &detail); error != 0)
        return fail_errno(call, error, fmt::format("querying device {}", index), detail);
    const auto major = [](uint32_t version) { return version >> 16; };
    const auto text = [](uint32_t version) { return fmt::format("{}.{}", version >> 16, version & 0xffff); };
    if (major(info.uapi_version) != SIDRA_UAPI_VERSION_MAJOR || major(info.hw_version) != SIDRA_HW_VERSION_MAJOR)
        return fail(SIDRA_ERROR_VERSION, call,
                    "device {} speaks driver interface {} and hardware interface {}, but this libsidra needs {}.x and "
                    "{}.x; install a libsidra and a driver of the same version",
                    index, text(info.uapi_version), text(info.hw_version), SIDRA_UAPI_VERSION_MAJOR,
                    SIDRA_HW_VERSION_MAJOR);
    auto* made = HandleTable<sidra_device>::make();
    made->name = std::move(name);
    made->transport = std::move(transport);
    made->info = info;
    *device = handle_of(made);
    return SIDRA_OK;
}

}  // namespace sidra

using namespace sidra;

uint64_t sidra_deadline_after_ns(uint64_t ns) {
    const uint64_t now = monotonic_ns();
    return ns > SIDRA_NEVER - now ? SIDRA_NEVER : now + ns;
}

sidra_status sidra_device_count(uint32_t* count) {
    return guarded(__func__, [&, call = __func__] {
        if (count == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`count` is NULL");
        DeviceChoice choice;
        SIDRA_TRY(choose_device(call, {}, false, &choice));
        *count = choice.count();
        return SIDRA_OK;
    });
}

sidra_status sidra_device_open(uint32_t index, const sidra_device_options* options, sidra_device** device) {
    return guarded(__func__, [&, call = __func__] { return open_device(call, index, options, device); });
}

sidra_status sidra_device_close(sidra_device* device) {
    if (device == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_device> claim;
        SIDRA_TRY(claim.take(call, "device", device));
        if (const uint32_t contexts = device->contexts.load(); contexts != 0)
            return fail(SIDRA_ERROR_BUSY, call, "device {} still has {}; destroy them first", device->id,
                        count_of(Kind::kContext, contexts));
        claim.destroy();
        return SIDRA_OK;
    });
}

sidra_status sidra_device_get_info(sidra_device* device, sidra_device_info* info) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        SIDRA_TRY(check_struct(call, "sidra_device_info", info));
        std::string detail;
        const sidra_query_device& fixed = device->info;
        sidra_query_status status{};
        if (const int error = query_device(*device->transport, SIDRA_QUERY_STATUS, &status, &detail); error != 0)
            return fail_errno(call, error, fmt::format("querying device {}", device->id), detail);
        sidra_device_info result{};
        const auto copy_text = [](char* to, size_t size, std::string_view from) { from.copy(to, size - 1); };
        copy_text(result.name, sizeof result.name, device->name);
        copy_text(result.transport, sizeof result.transport, device->transport->kind());
        copy_text(result.engine, sizeof result.engine, device->transport->engine());
        std::memcpy(result.uuid, fixed.uuid, sizeof result.uuid);
        result.model = (fixed.kind & SIDRA_DEVICE_MODEL) != 0;
        result.driver_version = fixed.driver_version;
        result.hw_version = fixed.hw_version;
        result.firmware_version = status.firmware_version;
        result.clusters = fixed.clusters;
        result.cus_per_cluster = fixed.cus_per_cluster;
        result.crossbars_per_cu = fixed.xbars_per_cu;
        result.rows = fixed.rows;
        result.cols = fixed.cols;
        result.crossbars_total = fixed.xbars_total;
        result.crossbars_free = status.xbars_free;
        result.l3_size = fixed.l3_size;
        result.l3_free = status.l3_free;
        result.contexts_max = fixed.contexts_max;
        result.queues_max = fixed.queues_max;
        result.generation = status.generation;
        fill_struct(info, result);
        return SIDRA_OK;
    });
}

sidra_status sidra_device_clock(sidra_device* device, uint64_t* device_ns, uint64_t* monotonic) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        if (device_ns == nullptr || monotonic == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL",
                        device_ns == nullptr ? "device_ns" : "monotonic_ns");
        std::string detail;
        sidra_query_clock clock{};
        if (const int error = query_device(*device->transport, SIDRA_QUERY_CLOCK, &clock, &detail); error != 0)
            return fail_errno(call, error, fmt::format("reading the clock of device {}", device->id), detail);
        *device_ns = clock.device_ns;
        *monotonic = clock.monotonic_ns;
        return SIDRA_OK;
    });
}

sidra_status sidra_device_telemetry(sidra_device* device, void* telemetry, size_t size) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        if (telemetry == nullptr || size == 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`telemetry` needs room for a struct sidra_telemetry ({} bytes)", sizeof(::sidra_telemetry));
        ::sidra_telemetry now{};
        if (const int error = device->transport->telemetry(&now); error != 0)
            return fail_errno(call, error, fmt::format("reading telemetry of device {}", device->id), {});
        std::memcpy(telemetry, &now, std::min(size, sizeof now));
        return SIDRA_OK;
    });
}

sidra_status sidra_device_reset(sidra_device* device) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        std::string detail;
        sidra_ioctl_device_reset reset{};
        if (const int error = request(*device->transport, SIDRA_IOCTL_DEVICE_RESET, &reset, &detail); error != 0)
            return fail_errno(call, error, fmt::format("resetting device {}", device->id), detail);
        return SIDRA_OK;
    });
}

sidra_status sidra_device_set_fault_knob(sidra_device* device, const char* name, uint64_t value) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        if (name == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`name` is NULL");
        const int error = device->transport->set_fault_knob(name, value);
        if (error == -ENOENT)
            return fail(SIDRA_ERROR_NOT_FOUND, call, "there is no fault knob \"{}\"; docs/device.md has the list",
                        name);
        if (error != 0)
            return fail_errno(call, error,
                              fmt::format("setting fault knob \"{}\" of device {} to {}", name, device->id, value), {});
        return SIDRA_OK;
    });
}
