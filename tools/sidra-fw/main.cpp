// SPDX-License-Identifier: MIT
// sidra-fw: builds, signs, shows and verifies firmware images. docs: sidra-fw(1), docs/firmware.md.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <algorithm>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/input_file.h"
#include "common/number.h"
#include "common/output_file.h"
#include "common/program.h"
#include "diagnosis.h"
#include "elf.h"
#include "error.h"
#include "hex.h"
#include "image_file.h"
#include "include/sidra_boot.h"
#include "key.h"
#include "show.h"

namespace sidra::fw {
namespace {

constexpr size_t kElfLimit = 256 << 20;  // with the debug information of a large build
constexpr size_t kLogStringsLimit = 4 << 20;

Error usage(const std::string& what) { return Error(what, kUsage); }

uint32_t number(const std::string& option, const std::string& text, uint32_t highest = UINT32_MAX) {
    const auto value = tools::parse_number(text);
    if (!value) throw usage(fmt::format("{}: '{}' is not a number (decimal, or hexadecimal with 0x)", option, text));
    if (*value > highest)
        throw usage(fmt::format("{}: {} is too large; the highest value is {}", option, text, highest));
    return static_cast<uint32_t>(*value);
}

// Exactly as many numbers as limits, with dots between them.
template <size_t N>
std::array<uint32_t, N> dotted(const std::string& option, std::string_view text,
                               const std::array<uint32_t, N>& highest) {
    const std::string whole(text);
    std::array<uint32_t, N> parts{};
    for (size_t i = 0; i < N; ++i) {
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
        const bool dot = stop != text.data() + text.size() && *stop == '.';
        const bool end = stop == text.data() + text.size();
        if (error != std::errc{} || parts[i] > highest[i] || (i + 1 < N ? !dot : !end))
            throw usage(fmt::format("{}: '{}' is not {} numbers separated by dots, at most {}", option, whole, N,
                                    fmt::join(highest, ".")));
        text.remove_prefix(static_cast<size_t>(stop - text.data()) + (dot ? 1 : 0));
    }
    return parts;
}

uint32_t version(const std::string& option, const std::string& text) {
    const auto [major, minor, patch] = dotted<3>(option, text, {255, 255, 65535});
    return major << 24 | minor << 16 | patch;
}

// What app.parse() filled in, as text: an option that was not given is empty.
struct Options {
    // build
    std::string input, output, type, version, security_version, min_driver, build_id, build_time, chip_id, steppings,
        stack, load_address, entry, ram_size, log_strings;
    std::vector<std::string> apis;
    bool debug = false, flat = false;
    // keygen
    std::string name, private_path, public_path;
    // sign, show, verify
    std::string image;
    std::vector<std::string> keys;
    bool json = false;
    std::string min_security_version, ram, stepping, driver;
};

uint32_t type_of(const std::string& text) {
    if (text == "runtime") return SIDRA_FW_RUNTIME;
    if (text == "recovery") return SIDRA_FW_RECOVERY;
    throw usage(fmt::format("--type: '{}' is not a type; give runtime or recovery", text));
}

// name=major.minor
void add_api(sidra_fw_header& header, const std::string& text) {
    const size_t equals = text.find('=');
    for (size_t i = 0; i < SIDRA_FW_API_COUNT && equals != std::string::npos; ++i) {
        if (api_name(i) == nullptr || text.substr(0, equals) != api_name(i)) continue;
        const auto [major, minor] = dotted<2>("--api", std::string_view(text).substr(equals + 1), {65535, 65535});
        if (header.api[i] != 0)
            throw usage(fmt::format("--api: {} is given twice; give each interface once", api_name(i)));
        if (major == 0) throw usage(fmt::format("--api: '{}' has the major version 0; versions begin with 1.0", text));
        header.api[i] = major << 16 | minor;
        return;
    }
    throw usage(
        fmt::format("--api: '{}' is not NAME=MAJOR.MINOR; the names are boot, mailbox, telemetry, log and dump", text));
}

// The time of the sources, not of the build: same input, same bytes.
uint64_t build_time(const Options& options) {
    const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
    const bool given = !options.build_time.empty();
    if (!given && epoch == nullptr) return 0;
    const std::string text = given ? options.build_time : epoch;
    const auto seconds = tools::parse_number(text);
    if (!seconds)
        throw usage(
            fmt::format("{}: '{}' is not a number of seconds", given ? "--build-time" : "SOURCE_DATE_EPOCH", text));
    return *seconds;
}

Program load_program(const Options& options) {
    const std::vector<uint8_t> file = tools::read_file(options.input, kElfLimit).bytes;
    const bool placed = !options.load_address.empty() || !options.entry.empty() || !options.ram_size.empty();
    if (!options.flat) {
        if (placed)
            throw usage("--load-address, --entry and --ram-size need --flat; an ELF file contains these values");
        if (!is_elf(file))
            throw Error(
                fmt::format("{} is not an ELF file; for a flat binary, add --flat and --load-address", options.input));
        return load_elf(options.input, file);
    }
    if (is_elf(file)) throw usage(fmt::format("{} is an ELF file; remove --flat", options.input));
    if (options.load_address.empty()) throw usage("--flat needs --load-address");
    if (file.empty()) throw Error(fmt::format("{} is empty", options.input));
    if (file.size() > kProgramLimit)
        throw Error(fmt::format("{} is longer than {} bytes", options.input, kProgramLimit));
    Program program;
    program.payload = file;
    program.payload.resize(aligned(file.size()));
    program.load_address = number("--load-address", options.load_address);
    program.entry = options.entry.empty() ? program.load_address : number("--entry", options.entry);
    program.ram_size = options.ram_size.empty() ? static_cast<uint32_t>(program.payload.size())
                                                : number("--ram-size", options.ram_size);
    return program;
}

void build(const Options& options) {
    Parts parts;
    sidra_fw_header& header = parts.header;
    header.type = type_of(options.type.empty() ? "runtime" : options.type);
    header.flags = options.debug ? SIDRA_IMAGE_FLAG_DEBUG : 0;
    header.chip_id = options.chip_id.empty() ? uint32_t{SIDRA_PCI_DEVICE_ID} : number("--chip-id", options.chip_id);
    header.stepping_mask = options.steppings.empty() ? 1 : number("--steppings", options.steppings);
    header.stack_size = options.stack.empty() ? 0 : number("--stack", options.stack);
    header.version = version("--version", options.version);
    header.security_version = number("--security-version", options.security_version);
    header.min_driver = options.min_driver.empty() ? 0 : version("--min-driver", options.min_driver);
    if (!options.build_id.empty() && !parse_hex(options.build_id, header.build_id))
        throw usage(fmt::format("--build-id: '{}' is not 40 hexadecimal digits", options.build_id));
    header.build_time = build_time(options);
    for (const std::string& api : options.apis) add_api(header, api);
    std::error_code none;
    if (std::filesystem::equivalent(options.input, options.output, none))
        throw usage(fmt::format("the image would overwrite its input {}; name another file", options.input));

    Program program = load_program(options);
    if (options.build_id.empty()) {
        const Digest digest = sha256(program.payload);
        std::copy_n(digest.begin(), sizeof header.build_id, header.build_id);
    }
    header.load_address = program.load_address;
    header.entry = program.entry;
    header.ram_size = program.ram_size;
    parts.payload = std::move(program.payload);
    if (!options.log_strings.empty())
        parts.tlvs.push_back({SIDRA_FW_TLV_LOG_STRINGS, tools::read_file(options.log_strings, kLogStringsLimit).bytes});
    const std::vector<uint8_t> image = compose(std::move(parts), nullptr);

    // What the chip would refuse is not even written.
    sidra_image found;
    sidra_image_result result = sidra_image_check_header(image.data(), image.size(), &found);
    const sidra_image_policy policy = own_policy(found.header);
    if (result == SIDRA_IMAGE_OK) result = sidra_image_check_fit(&found, &policy);
    if (result != SIDRA_IMAGE_OK)
        throw Error(fmt::format("{} was not written, because a chip would refuse it: {}", options.output,
                                explain(result, found, policy, {})));
    tools::write_file(options.output, {reinterpret_cast<const char*>(image.data()), image.size()});
}

void keygen(const Options& options) {
    if (!valid_name(options.name))
        throw usage(fmt::format("--name: '{}' is not 1 to 64 letters, digits, '.', '_' and '-'", options.name));
    std::filesystem::path other = options.private_path;
    const std::string public_path =
        !options.public_path.empty() ? options.public_path : other.replace_extension(".pub").string();
    if (public_path == options.private_path)
        throw usage(fmt::format("{} cannot be both the private and the public key; name two files", public_path));
    Key key;
    key.name = options.name;
    key.seed = random_seed();
    key.public_key = public_key(*key.seed);
    tools::write_new_file(options.private_path, private_text(key), true);
    try {
        tools::write_new_file(public_path, public_text(key), false);
    } catch (...) {
        unlink(options.private_path.c_str());  // half a pair is none
        throw;
    }
    fmt::print("{}: wrote the private key '{}' (mode 0600)\n{}: wrote the public key (hash {})\n", options.private_path,
               key.name, public_path, hex(key.hash()));
}

void warn_of_development_key(const std::string& image) {
    fmt::print(stderr, "sidra-fw: WARNING: {} is {}\n", image, kDevelopmentWarning);
}

void sign_file(const Options& options) {
    const Key key = read_private_key(options.keys.front());
    const std::vector<uint8_t> bytes = tools::read_file(options.image, kImageLimit).bytes;
    const std::vector<uint8_t> image = sign_image(options.image, bytes, key);
    const std::string& output = options.output.empty() ? options.image : options.output;
    tools::write_file(output, {reinterpret_cast<const char*>(image.data()), image.size()});
    fmt::print("{}: signed by {} ({})\n", output, key.name, hex(key.hash()));
    if (is_development(key.hash())) warn_of_development_key(output);
}

std::vector<Key> read_public_keys(const Options& options) {
    std::vector<Key> keys;
    for (const std::string& path : options.keys) keys.push_back(read_public_key(path));
    return keys;
}

void show_file(const Options& options) {
    const std::vector<Key> keys = read_public_keys(options);
    const std::vector<uint8_t> bytes = tools::read_file(options.image, kImageLimit).bytes;
    const Shown shown = show(options.image, bytes, keys);
    if (!shown.recognised) {
        if (options.json) fmt::print("{}\n", shown.json.text());
        throw Error(fmt::format("{} is not a firmware image: it is shorter than 256 bytes, or does not begin with SDFW",
                                options.image));
    }
    if (options.json) fmt::print("{}\n", shown.json.text());
    else fmt::print("{}", shown.text);
    if (shown.development) warn_of_development_key(options.image);
}

void verify_file(const Options& options) {
    const std::vector<Key> keys = read_public_keys(options);
    std::vector<PublicKey> public_keys;
    public_keys.reserve(keys.size());
    for (const Key& key : keys) public_keys.push_back(key.public_key);
    sidra_image_policy policy{};
    policy.ram_begin = SIDRA_BOOT_RAM_BEGIN;
    policy.ram_end = SIDRA_BOOT_RAM_END;
    if (!options.ram.empty()) {
        const size_t colon = options.ram.find(':');
        if (colon == std::string::npos)
            throw usage(fmt::format("--ram: '{}' is not BEGIN:SIZE, such as 0x10000000:0x40000", options.ram));
        policy.ram_begin = number("--ram", options.ram.substr(0, colon));
        policy.ram_end = policy.ram_begin + number("--ram", options.ram.substr(colon + 1));
    }
    policy.chip_id = options.chip_id.empty() ? uint32_t{SIDRA_PCI_DEVICE_ID} : number("--chip-id", options.chip_id);
    policy.stepping = options.stepping.empty() ? 0 : number("--stepping", options.stepping, 31);
    policy.type = options.type.empty() ? 0 : type_of(options.type);
    policy.driver_version = options.driver.empty() ? 0 : version("--driver", options.driver);
    policy.min_security_version =
        options.min_security_version.empty() ? 0 : number("--min-security-version", options.min_security_version);
    sidra_fw_header wanted{};
    for (const std::string& api : options.apis) add_api(wanted, api);
    for (size_t i = 0; i < SIDRA_FW_API_COUNT; ++i) policy.api_major[i] = static_cast<uint16_t>(wanted.api[i] >> 16);
    policy.keys = reinterpret_cast<const uint8_t(*)[SIDRA_IMAGE_KEY_SIZE]>(public_keys.data());
    policy.keys_count = public_keys.size();

    const std::vector<uint8_t> bytes = tools::read_file(options.image, kImageLimit).bytes;
    sidra_image image;
    const sidra_image_result result = sidra_image_verify(bytes.data(), bytes.size(), &policy, &crypto(), &image);
    if (result != SIDRA_IMAGE_OK)
        throw Error(fmt::format("{}: {}", options.image, explain(result, image, policy, keys)), status_of(result));
    const Key& by = keys[image.key];
    fmt::print("{}: {} {}, security version {}, signed by {} ({})\n", options.image, type_text(image.header.type),
               version_text(image.header.version), image.header.security_version, by.name, hex(by.hash()));
    if (is_development(by.hash())) warn_of_development_key(options.image);
}

void add_build(CLI::App& app, Options& o) {
    auto* build = app.add_subcommand("build", "Build an unsigned image from a program");
    build->add_option("input", o.input, "Program: an ELF file for RV32IM, or a flat binary")->required();
    build->add_option("output", o.output, "Image file to write")->required();
    build->add_option("--version", o.version, "Version of the firmware, MAJOR.MINOR.PATCH")->required();
    build
        ->add_option("--security-version", o.security_version,
                     "Security version; raise it when older images must not run anymore")
        ->required();
    build->add_option("--type", o.type, "Type of the image: runtime (default) or recovery");
    build->add_option("--api", o.apis, "Interface that the firmware provides, NAME=MAJOR.MINOR; may be repeated")
        ->take_all();
    build->add_option("--min-driver", o.min_driver,
                      "Oldest driver that it works with, MAJOR.MINOR.PATCH (default: any)");
    build->add_option("--stack", o.stack, "Stack above its RAM in bytes (default 0: the program has its own)");
    build->add_option("--chip-id", o.chip_id, "Chip that it runs on (default: the Y1)");
    build->add_option("--steppings", o.steppings, "Steppings that it runs on, as a bit mask (default 1: stepping 0)");
    build->add_option("--build-id", o.build_id,
                      "Commit hash, 40 hexadecimal digits (default: first 40 digits of the program's SHA-256)");
    build->add_option("--build-time", o.build_time,
                      "Time of the sources, in seconds since 1970 (default: SOURCE_DATE_EPOCH, else unknown)");
    build->add_option("--log-strings", o.log_strings, "File with the texts of the firmware's log");
    build->add_flag("--debug", o.debug, "Mark the image as a debug build");
    build->add_flag("--flat", o.flat, "The program is a flat binary");
    build->add_option("--load-address", o.load_address, "Load address of a flat binary");
    build->add_option("--entry", o.entry, "Entry of a flat binary (default: its load address)");
    build->add_option("--ram-size", o.ram_size,
                      "RAM of a flat binary, including its bss, in bytes (default: its size)");
}

void add_others(CLI::App& app, Options& o) {
    auto* keygen = app.add_subcommand("keygen", "Make a new key pair");
    keygen->add_option("--name", o.name, "Name of the key")->required();
    keygen->add_option("private", o.private_path, "File for the private key; it must not exist yet")->required();
    keygen->add_option("public", o.public_path, "File for the public key (default: the same name with .pub)");
    auto* sign = app.add_subcommand("sign", "Sign an image; replaces an earlier signature");
    sign->add_option("-k,--key", o.keys, "File of the private key")->required()->expected(1);
    sign->add_option("-o,--output", o.output, "File for the signed image (default: replace the image)")
        ->check([](const std::string& name) { return name.empty() ? "the name is empty" : ""; });
    sign->add_option("image", o.image, "Image file")->required();
    auto* show = app.add_subcommand("show", "Show the content of an image, and its problems");
    show->add_option("-k,--key", o.keys, "Public key that may have signed the image; may be repeated")
        ->take_all()
        ->expected(1);
    show->add_flag("--json", o.json, "Print JSON");
    show->add_option("image", o.image, "Image file")->required();
    auto* verify = app.add_subcommand("verify", "Verify an image as a chip does");
    verify->add_option("-k,--key", o.keys, "Trusted public key; may be repeated")->required()->take_all()->expected(1);
    verify->add_option("--min-security-version", o.min_security_version,
                       "Lowest security version that may run (default 0)");
    verify->add_option("--type", o.type, "Required type: runtime or recovery (default: any)");
    verify->add_option("--api", o.apis, "Required interface, NAME=MAJOR.0; may be repeated")->take_all();
    verify->add_option("--driver", o.driver, "Version of the driver, MAJOR.MINOR.PATCH (default: any)");
    verify->add_option("--chip-id", o.chip_id, "Chip (default: the Y1)");
    verify->add_option("--stepping", o.stepping, "Stepping of the chip, 0 (default) to 31");
    verify->add_option("--ram", o.ram, "RAM for images, BEGIN:SIZE (default: that of the Y1)");
    verify->add_option("image", o.image, "Image file")->required();
}

void main_inner(int argc, char** argv) {
    Options options;
    CLI::App app("Builds, signs, shows and verifies firmware images of SIDRA chips.", "sidra-fw");
    app.require_subcommand(1);
    add_build(app, options);
    add_others(app, options);
    if (!tools::parse_arguments(app, argc, argv)) return;
    if (app.got_subcommand("build")) build(options);
    if (app.got_subcommand("keygen")) keygen(options);
    if (app.got_subcommand("sign")) sign_file(options);
    if (app.got_subcommand("show")) show_file(options);
    if (app.got_subcommand("verify")) verify_file(options);
}

}  // namespace
}  // namespace sidra::fw

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-fw", [&] { sidra::fw::main_inner(argc, argv); });
}
