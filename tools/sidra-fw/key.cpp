// SPDX-License-Identifier: MIT
#include "key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/input_file.h"
#include "error.h"
#include "hex.h"

namespace sidra::fw {
namespace {

constexpr std::string_view kFormat = "sidra-firmware-key 1";
constexpr size_t kFileLimit = 4096, kNameLimit = 64;
constexpr std::array<std::string_view, 6> kFields = {"kind", "algorithm", "name", "public", "hash", "seed"};

using Fields = std::map<std::string_view, std::string_view>;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw Error(fmt::format("cannot use the key {}: {}", path, why));
}

Fields parse_fields(const std::string& path, std::string_view text) {
    Fields fields;
    bool first = true;
    for (int line_number = 1; !text.empty(); ++line_number) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#') continue;
        if (first) {
            if (line != kFormat)
                fail(path,
                     fmt::format("line {} is not '{}'; this is another kind of file, or it needs a newer sidra-fw",
                                 line_number, kFormat));
            first = false;
            continue;
        }
        const size_t colon = line.find(": ");
        const std::string_view field = line.substr(0, std::min(colon, line.size()));
        if (colon == std::string_view::npos || std::ranges::find(kFields, field) == kFields.end())
            fail(path, fmt::format("line {} is not a known field", line_number));
        if (!fields.emplace(field, line.substr(colon + 2)).second)
            fail(path, fmt::format("line {} repeats the field '{}'", line_number, field));
    }
    if (first) fail(path, "it is empty");
    return fields;
}

std::string_view take(const std::string& path, const Fields& fields, std::string_view name) {
    const auto found = fields.find(name);
    if (found == fields.end()) fail(path, fmt::format("it has no field '{}'", name));
    return found->second;
}

template <size_t N>
std::array<uint8_t, N> take_bytes(const std::string& path, const Fields& fields, std::string_view name) {
    std::array<uint8_t, N> bytes{};
    if (!parse_hex(take(path, fields, name), bytes))
        fail(path, fmt::format("its field '{}' is not {} bytes in hexadecimal", name, N));
    return bytes;
}

std::string text(const Key& key, std::string_view comment) {
    return fmt::format("{}\n{}\nkind: {}\nalgorithm: ed25519\nname: {}\npublic: {}\nhash: {}\n", comment, kFormat,
                       key.seed ? "private" : "public", key.name, hex(key.public_key), hex(key.hash()));
}

}  // namespace

const Key& development_key() {
    static const Key key = [] {
        Key made;
        made.name = "development";
        if (!parse_hex(SIDRA_FW_DEVELOPMENT_PUBLIC, made.public_key))
            throw Error("this program was built without the development key: firmware/keys/development.pub is damaged");
        return made;
    }();
    return key;
}

bool is_development(const Digest& hash) { return hash == development_key().hash(); }

bool valid_name(std::string_view name) {
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= kNameLimit && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Key parse_key(const std::string& path, std::string_view text) {
    const Fields fields = parse_fields(path, text);
    const std::string_view kind = take(path, fields, "kind");
    if (kind != "private" && kind != "public") fail(path, fmt::format("its kind is neither private nor public"));
    if (take(path, fields, "algorithm") != "ed25519") fail(path, "its algorithm is not ed25519");
    Key key;
    key.name = take(path, fields, "name");
    if (!valid_name(key.name)) fail(path, "its name is not 1 to 64 letters, digits, '.', '_' and '-'");
    key.public_key = take_bytes<SIDRA_IMAGE_KEY_SIZE>(path, fields, "public");
    if (take_bytes<SIDRA_IMAGE_DIGEST_SIZE>(path, fields, "hash") != key.hash())
        fail(path, "its fields 'public' and 'hash' do not match; the file is damaged");
    if (kind == "private") {
        Seed seed;
        seed.bytes = take_bytes<sizeof(Seed::bytes)>(path, fields, "seed");
        if (public_key(seed) != key.public_key)
            fail(path, "its fields 'seed' and 'public' do not match; the file is damaged");
        key.seed = seed;
    } else if (fields.contains("seed")) {
        fail(path, "it is a public key, but contains the secret 'seed'");
    }
    return key;
}

Key read_private_key(const std::string& path) {
    const tools::InputFile file = tools::read_file(path, kFileLimit);
    Key key = parse_key(path, {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
    if (!key.seed) fail(path, "it is a public key; sign with the private key");
    if ((file.mode & 077) != 0 && !is_development(key.hash()))
        fail(path,
             fmt::format("other users can read it (mode {:04o}); run chmod 600, and consider who may have copied it",
                         file.mode));
    return key;
}

Key read_public_key(const std::string& path) {
    const tools::InputFile file = tools::read_file(path, kFileLimit);
    Key key = parse_key(path, {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
    key.seed.reset();
    return key;
}

std::string private_text(const Key& key) {
    std::string all =
        text(key,
             "# A private key for firmware images. Whoever has it can sign images that chips with this key run.\n"
             "# Keep it where nobody else can read it, and keep a second copy in a safe place.");
    return all + "seed: " + hex(key.seed->bytes) + '\n';
}

std::string public_text(const Key& key) {
    Key half = key;
    half.seed.reset();
    return text(half,
                "# A public key for firmware images. It verifies signatures of its private key, and is not secret.");
}

}  // namespace sidra::fw
