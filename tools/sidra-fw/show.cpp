// SPDX-License-Identifier: MIT
#include "show.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "diagnosis.h"
#include "hex.h"
#include "image_file.h"

namespace sidra::fw {
namespace {

using tools::Json;

const char* tlv_name(uint16_t type) {
    switch (type) {
        case SIDRA_FW_TLV_SHA256:
            return "sha256";
        case SIDRA_FW_TLV_KEY_HASH:
            return "key hash";
        case SIDRA_FW_TLV_ED25519:
            return "ed25519";
        case SIDRA_FW_TLV_LOG_STRINGS:
            return "log strings";
        default:
            return "unknown";
    }
}

std::string time_text(uint64_t seconds) {
    constexpr uint64_t kYear10000 = 253402300800;
    if (seconds == 0) return "unknown";
    if (seconds >= kYear10000) return std::to_string(seconds);
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string steppings_text(uint32_t mask) {
    if (mask == 0) return "none";
    if (mask == UINT32_MAX) return "all";
    std::string text;
    for (uint32_t bit = 0; bit < 32; ++bit)
        if (mask >> bit & 1) text += fmt::format("{}{}", text.empty() ? "" : ", ", bit);
    return text;
}

class Listing {
   public:
    Listing(const std::string& path, std::span<const uint8_t> bytes, std::vector<Key> keys)
        : path_(path), bytes_(bytes), keys_(std::move(keys)) {
        keys_.push_back(development_key());
        for (const Key& key : keys_) public_keys_.push_back(key.public_key);
    }

    Shown make() {
        row("file", path_);
        row("size", fmt::format("{} bytes", bytes_.size()));
        const sidra_image_result header = sidra_image_check_header(bytes_.data(), bytes_.size(), &image_);
        policy_ = own_policy(image_.header);
        policy_.chip_id = SIDRA_PCI_DEVICE_ID;
        policy_.keys = reinterpret_cast<const uint8_t(*)[SIDRA_IMAGE_KEY_SIZE]>(public_keys_.data());
        policy_.keys_count = public_keys_.size();
        note(header);
        const bool recognised = header != SIDRA_IMAGE_TOO_SHORT && header != SIDRA_IMAGE_MAGIC;
        if (recognised) show_header();
        // Where payload and TLVs are is known only from a header that is right.
        if (header == SIDRA_IMAGE_OK) {
            note(sidra_image_check_fit(&image_, &policy_));
            note(sidra_image_check_tlvs(&image_));
            show_tlvs();
            show_digest();
            show_signature();
        }
        return finish(recognised);
    }

   private:
    void row(std::string_view name, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "{:<18}{}\n", name, value);
    }

    void note(sidra_image_result result) {
        if (result == SIDRA_IMAGE_OK) return;
        const std::string why = explain(result, image_, policy_, keys_);
        problems_.emplace_back(
            Json::Object{{"family", sidra_image_family_text(sidra_image_family_of(result))}, {"text", why}});
        problem_lines_ += fmt::format("{:<18}{}\n", "PROBLEM", why);
    }

    void show_header() {
        const sidra_fw_header& h = image_.header;
        const bool debug = (h.flags & SIDRA_IMAGE_FLAG_DEBUG) != 0;
        row("type", type_text(h.type) + (debug ? ", debug build" : ""));
        row("version", version_text(h.version));
        row("security version", std::to_string(h.security_version));
        row("build", fmt::format("{}, time: {}", hex(h.build_id), time_text(h.build_time)));
        row("chip", fmt::format("{:#06x}, steppings: {}", h.chip_id, steppings_text(h.stepping_mask)));
        row("load address", fmt::format("{:#010x}, entry {:#010x}", h.load_address, h.entry));
        row("payload", fmt::format("{} bytes, RAM {} bytes, stack {} bytes", h.image_size, h.ram_size, h.stack_size));
        row("driver", h.min_driver == 0 ? "any" : version_text(h.min_driver) + " or newer");
        Json::Object apis;
        std::string api_text;
        for (size_t i = 0; i < SIDRA_FW_API_COUNT; ++i) {
            if (h.api[i] == 0) continue;
            const char* known = api_name(i);
            const std::string name = known != nullptr ? known : fmt::format("api{}", i);
            const std::string version = fmt::format("{}.{}", h.api[i] >> 16, h.api[i] & 0xffff);
            api_text += fmt::format("{}{} {}", api_text.empty() ? "" : ", ", name, version);
            apis.emplace_back(name, version);
        }
        row("interfaces", api_text.empty() ? "none" : api_text);
        header_ = Json::Object{{"header_version", h.header_version},
                               {"type", type_text(h.type)},
                               {"flags", h.flags},
                               {"debug", debug},
                               {"chip_id", h.chip_id},
                               {"stepping_mask", h.stepping_mask},
                               {"load_address", h.load_address},
                               {"entry", h.entry},
                               {"image_size", h.image_size},
                               {"ram_size", h.ram_size},
                               {"stack_size", h.stack_size},
                               {"version", version_text(h.version)},
                               {"security_version", h.security_version},
                               {"min_driver", version_text(h.min_driver)},
                               {"build_id", hex(h.build_id)},
                               // A number of JSON is exact up to 63 bits here; who builds later than that is lying.
                               {"build_time", std::min<uint64_t>(h.build_time, std::numeric_limits<int64_t>::max())},
                               {"api", std::move(apis)},
                               {"tlv_size", h.tlv_size},
                               {"crc32", h.crc32}};
    }

    void show_tlvs() {
        uint32_t offset = 0;
        while (offset < image_.header.tlv_size) {
            const uint32_t at = offset;
            sidra_image_tlv tlv{};
            if (sidra_image_next_tlv(image_.tlvs, image_.header.tlv_size, &offset, &tlv) != SIDRA_IMAGE_OK) break;
            const uint64_t place = uint64_t{SIDRA_FW_HEADER_SIZE} + image_.header.image_size + at;
            row("TLV", fmt::format("{:#x}: type {} ({}), {} bytes", place, tlv.type, tlv_name(tlv.type), tlv.length));
            tlvs_.emplace_back(Json::Object{
                {"offset", place}, {"type", tlv.type}, {"name", tlv_name(tlv.type)}, {"length", tlv.length}});
        }
    }

    void show_digest() {
        const sidra_image_result result = sidra_image_check_digest(bytes_.data(), &crypto(), &image_);
        note(result);
        if (image_.digest.value == nullptr) return;
        whole_ = result == SIDRA_IMAGE_OK;
        const std::string stored = hex({image_.digest.value, image_.digest.length});
        row("SHA-256", stored + (*whole_ ? ", OK" : ", MISMATCH"));
        digest_ = Json::Object{{"stored", stored}, {"computed", hex(image_.computed)}, {"matches", *whole_}};
    }

    void show_signature() {
        const bool has_signature = image_.signature.value != nullptr, has_key = image_.key_hash.value != nullptr;
        if (!has_signature && !has_key) return row("signature", "none");
        // Half a signature is a problem, and so is a wrong one; one by a key that is not at hand is not.
        const sidra_image_result result =
            whole_.has_value() ? sidra_image_check_signature(&policy_, &crypto(), &image_) : SIDRA_IMAGE_NO_DIGEST;
        if (result != SIDRA_IMAGE_UNTRUSTED_KEY && result != SIDRA_IMAGE_NO_DIGEST) note(result);
        if (!has_key) return row("signature", "present, but the image does not name its key");
        Digest hash{};
        std::copy_n(image_.key_hash.value, hash.size(), hash.begin());
        development_ = is_development(hash);
        const auto known = std::ranges::find(keys_, hash, &Key::hash);
        const std::string by = known != keys_.end() ? fmt::format("{} ({})", known->name, hex(hash)) : hex(hash);
        row("key", by);
        std::string_view verdict = "not checked; give the public key with --key";
        Json verifies;
        if (result == SIDRA_IMAGE_OK) {
            // Over what the image is now; that this is what it was when it was built, the SHA-256 says.
            verdict = "OK";
            verifies = true;
        } else if (known != keys_.end()) {
            verdict = has_signature ? "MISMATCH" : "none";
            verifies = false;
        }
        row("signature", verdict);
        signature_ = Json::Object{{"key_hash", hex(hash)},
                                  {"key", known != keys_.end() ? Json(known->name) : Json()},
                                  {"development", development_},
                                  {"verifies", verifies}};
    }

    Shown finish(bool recognised) {
        Json json = Json::Object{{"schema", "sidra-fw/1"},
                                 {"file", path_},
                                 {"size", bytes_.size()},
                                 {"header", std::move(header_)},
                                 {"tlvs", std::move(tlvs_)},
                                 {"sha256", std::move(digest_)},
                                 {"signature", std::move(signature_)},
                                 {"problems", std::move(problems_)}};
        return {.text = text_ + problem_lines_,
                .json = std::move(json),
                .recognised = recognised,
                .development = development_};
    }

    const std::string& path_;
    std::span<const uint8_t> bytes_;
    std::vector<Key> keys_;
    std::vector<PublicKey> public_keys_;
    sidra_image image_{};
    sidra_image_policy policy_{};
    std::string text_, problem_lines_;
    Json header_, digest_, signature_;
    Json::Array tlvs_, problems_;
    std::optional<bool> whole_;
    bool development_ = false;
};

}  // namespace

Shown show(const std::string& path, std::span<const uint8_t> bytes, std::vector<Key> keys) {
    return Listing(path, bytes, std::move(keys)).make();
}

}  // namespace sidra::fw
