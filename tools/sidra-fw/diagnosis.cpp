// SPDX-License-Identifier: MIT
#include "diagnosis.h"

#include <fmt/format.h>

#include "hex.h"

namespace sidra::fw {
namespace {

std::string_view advice(sidra_image_family family) {
    switch (family) {
        case SIDRA_IMAGE_FAMILY_TRANSFER:
            return "copy the file again";
        case SIDRA_IMAGE_FAMILY_CORRUPT:
            return "delete it, and get the image again from its builder";
        case SIDRA_IMAGE_FAMILY_AUTHENTICITY:
            return "do not run it; if you built it, sign it (sidra-fw sign), or give the right key";
        case SIDRA_IMAGE_FAMILY_ROLLBACK:
            return "get a newer image";
        case SIDRA_IMAGE_FAMILY_UNFIT:
            return "get or build the image for this chip";
        case SIDRA_IMAGE_FAMILY_NONE:
        case SIDRA_IMAGE_FAMILY_UNKNOWN:
            break;
    }
    return "this machine could not check the image; check the machine";
}

std::string api_mismatch(const sidra_fw_header& header, const sidra_image_policy& policy) {
    for (size_t i = 0; i < SIDRA_FW_API_COUNT; ++i) {
        const uint32_t provided = header.api[i] >> 16;
        if (policy.api_major[i] == 0 || provided == policy.api_major[i]) continue;
        const char* name = api_name(i);
        const std::string known = name != nullptr ? name : std::to_string(i);
        return provided == 0
                   ? fmt::format("{}: major version {} is required, the image has none", known, policy.api_major[i])
                   : fmt::format("{}: major version {} is required, the image has {}", known, policy.api_major[i],
                                 provided);
    }
    return "";
}

std::string key_mismatch(const sidra_image& image, std::span<const Key> keys) {
    std::string trusted;
    for (const Key& key : keys)
        trusted += fmt::format("{}{} ({})", trusted.empty() ? "" : ", ", key.name, hex(key.hash()));
    return fmt::format("its key is {}; trusted keys: {}", hex({image.key_hash.value, image.key_hash.length}),
                       trusted.empty() ? "none" : trusted);
}

// The numbers behind a failure; empty where the text says it all.
std::string details(sidra_image_result result, const sidra_image& image, const sidra_image_policy& policy,
                    std::span<const Key> keys) {
    const sidra_fw_header& header = image.header;
    const auto ram = [&] { return fmt::format("RAM {:#x} to {:#x}", policy.ram_begin, policy.ram_end); };
    switch (result) {
        case SIDRA_IMAGE_HEADER_CRC:
            return fmt::format("the header has {:#010x}", header.crc32);
        case SIDRA_IMAGE_TRUNCATED:
        case SIDRA_IMAGE_TRAILING:
            return fmt::format("its header announces {} bytes",
                               uint64_t{SIDRA_FW_HEADER_SIZE} + header.image_size + header.tlv_size);
        case SIDRA_IMAGE_HEADER_VERSION:
            return fmt::format("it is {}", header.header_version);
        case SIDRA_IMAGE_HEADER_SIZE:
            return fmt::format("it is {}", header.header_size);
        case SIDRA_IMAGE_IMAGE_SIZE:
            return fmt::format("{} bytes", header.image_size);
        case SIDRA_IMAGE_TLV_SIZE:
        case SIDRA_IMAGE_TLV_TOO_LARGE:
            return fmt::format("{} bytes", header.tlv_size);
        case SIDRA_IMAGE_LOAD_ADDRESS:
            return fmt::format("{:#x}; {}", header.load_address, ram());
        case SIDRA_IMAGE_RAM_SIZE:
            return fmt::format("{:#x} bytes at {:#x}, payload {:#x} bytes, TLVs {:#x} bytes; {}", header.ram_size,
                               header.load_address, header.image_size, header.tlv_size, ram());
        case SIDRA_IMAGE_STACK_SIZE:
            return fmt::format("{:#x} bytes above {:#x}; {}", header.stack_size,
                               uint64_t{header.load_address} + header.ram_size, ram());
        case SIDRA_IMAGE_ENTRY:
            return fmt::format("{:#x}; payload {:#x} to {:#x}", header.entry, header.load_address,
                               uint64_t{header.load_address} + header.image_size);
        case SIDRA_IMAGE_CHIP:
            return fmt::format("the image is for {:#x}, the chip is {:#x}", header.chip_id, policy.chip_id);
        case SIDRA_IMAGE_STEPPING:
            return header.stepping_mask == 0 ? "it is for no stepping"
                                             : fmt::format("the image has mask {:#x}, the chip has stepping {}",
                                                           header.stepping_mask, policy.stepping);
        case SIDRA_IMAGE_TYPE:
            return policy.type == 0
                       ? type_text(header.type)
                       : fmt::format("the image is {}, {} is required", type_text(header.type), type_text(policy.type));
        case SIDRA_IMAGE_API:
            return api_mismatch(header, policy);
        case SIDRA_IMAGE_DRIVER:
            return fmt::format("the image needs driver {} or newer, the driver is {}", version_text(header.min_driver),
                               version_text(policy.driver_version));
        case SIDRA_IMAGE_DIGEST:
            return fmt::format("stored {}, computed {}", hex({image.digest.value, image.digest.length}),
                               hex(image.computed));
        case SIDRA_IMAGE_UNTRUSTED_KEY:
            return key_mismatch(image, keys);
        case SIDRA_IMAGE_ROLLBACK:
            return fmt::format("it is {}, the lowest allowed is {}", header.security_version,
                               policy.min_security_version);
        default:
            return "";
    }
}

}  // namespace

Status status_of(sidra_image_result result) {
    switch (sidra_image_family_of(result)) {
        case SIDRA_IMAGE_FAMILY_NONE:
            return kOk;
        case SIDRA_IMAGE_FAMILY_TRANSFER:
            return kTransfer;
        case SIDRA_IMAGE_FAMILY_CORRUPT:
            return kCorrupt;
        case SIDRA_IMAGE_FAMILY_AUTHENTICITY:
            return kAuthenticity;
        case SIDRA_IMAGE_FAMILY_ROLLBACK:
            return kRollback;
        case SIDRA_IMAGE_FAMILY_UNFIT:
            return kUnfit;
        case SIDRA_IMAGE_FAMILY_UNKNOWN:
            break;
    }
    return kFailed;
}

std::string explain(sidra_image_result result, const sidra_image& image, const sidra_image_policy& policy,
                    std::span<const Key> keys) {
    const sidra_image_family family = sidra_image_family_of(result);
    const std::string numbers = details(result, image, policy, keys);
    return fmt::format("{}: {}{}; {}", sidra_image_family_text(family), sidra_image_text(result),
                       numbers.empty() ? "" : " (" + numbers + ")", advice(family));
}

std::string version_text(uint32_t version) {
    return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

std::string type_text(uint32_t type) {
    if (type == SIDRA_FW_RUNTIME) return "runtime";
    if (type == SIDRA_FW_RECOVERY) return "recovery";
    return fmt::format("unknown type {}", type);
}

const char* api_name(size_t index) {
    switch (index) {
        case SIDRA_FW_API_BOOT:
            return "boot";
        case SIDRA_FW_API_MAILBOX:
            return "mailbox";
        case SIDRA_FW_API_TELEMETRY:
            return "telemetry";
        case SIDRA_FW_API_LOG:
            return "log";
        case SIDRA_FW_API_DUMP:
            return "dump";
        default:
            return nullptr;
    }
}

}  // namespace sidra::fw
