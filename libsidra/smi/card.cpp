// SPDX-License-Identifier: MIT
#include "card.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>

#include "clients.h"
#include "file.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr size_t kAttributeLimit = 4096;  // a page: the limit of sysfs

// Parses N of sidraN.
Maybe<uint64_t> node_number(const std::string& name) {
    constexpr std::string_view kPrefix = "sidra";
    if (!name.starts_with(kPrefix)) return Maybe<uint64_t>::none(EINVAL);
    return to_number(std::string_view(name).substr(kPrefix.size()));
}

}  // namespace

Card::Card(std::string root, std::string node, std::string bdf)
    : root_(std::move(root)),
      node_(std::move(node)),
      bdf_(std::move(bdf)),
      device_("/dev/" + node_),
      folder_(root_ + "/sys/class/sidra/" + node_),
      function_(node_.empty() ? root_ + "/sys/bus/pci/devices/" + bdf_ : folder_ + "/device") {}

Sample Card::read() const {
    Sample sample;
    const auto line = [this](const char* name) { return to_line(read_file(attribute(name), kAttributeLimit)); };
    const auto number = [&line](const char* name, int base = 10) { return to_number(line(name), base); };
    const auto pci = [this](const char* name) { return to_line(read_file(function(name), kAttributeLimit)); };
    if (!node_.empty()) {
        const Maybe<std::string> page = read_file(attribute("telemetry"), kAttributeLimit);
        sample.telemetry = page ? to_telemetry(page.value) : Maybe<sidra_telemetry>::none(page.error);
        sample.uuid = line("uuid");
        sample.hardware = line("hw_version");
        sample.driver = line("driver_version");
        sample.firmware = line("firmware_version");
        sample.generation =
            sample.telemetry ? Maybe<uint64_t>(sample.telemetry.value.generation) : number("generation");
        sample.resets = number("resets");
        sample.features = number("features", 16);
        const Maybe<std::string> geometry = line("geometry");
        const std::vector<std::string_view> parts = words(geometry.value);
        const auto part = [&](size_t n) {
            if (!geometry) return Maybe<uint64_t>::none(geometry.error);
            return parts.size() == 3 ? to_number(parts[n]) : Maybe<uint64_t>::none(EINVAL);
        };
        sample.clusters = part(0);
        sample.cus_per_cluster = part(1);
        sample.xbars_per_cu = part(2);
        sample.l3_size = number("l3_size");
        sample.l3_used = number("l3_free");
        if (!sample.l3_size) sample.l3_used = sample.l3_size;
        if (sample.l3_used) {
            if (sample.l3_used.value <= sample.l3_size.value)
                sample.l3_used.value = sample.l3_size.value - sample.l3_used.value;
            else sample.l3_used = Maybe<uint64_t>::none(EPROTO);
        }
        sample.nvm_size = number("nvm_size");
        read_clients(*this, sample);
    } else {
        sample.clients_error = ENODEV;
    }
    sample.link_speed = pci("current_link_speed");
    sample.link_speed_max = pci("max_link_speed");
    sample.link_width = to_number(pci("current_link_width"));
    sample.link_width_max = to_number(pci("max_link_width"));
    sample.cpus = pci("local_cpulist");
    sample.numa_node = to_signed(pci("numa_node"));
    if (sample.numa_node && sample.numa_node.value < 0) sample.numa_node = Maybe<int64_t>::none(ENODATA);
    const Maybe<std::string> place = link_target(root_ + "/sys/bus/pci/devices/" + bdf_);
    const std::string_view parent = std::string_view(place.value).substr(0, place.value.rfind('/'));
    sample.bridge = place ? to_bdf(parent.substr(parent.rfind('/') + 1)) : place;
    sample.read_ns = sample.data_ns = now_ns();
    return sample;
}

int CardReader::start(const std::shared_ptr<Card>& card) noexcept try {
    auto result = std::make_shared<Maybe<Sample>>();
    const int error = aside_.start([card, result] {
        try {
            *result = card->read();
        } catch (const std::bad_alloc&) {
            *result = Maybe<Sample>::none(ENOMEM);
        }
    });
    if (error == 0) result_ = std::move(result);
    return error;
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

Maybe<Sample> CardReader::finish(uint64_t deadline_ns) noexcept {
    if (!aside_.wait_until(deadline_ns)) return Maybe<Sample>::none(ETIMEDOUT);
    Maybe<Sample> result = std::move(*result_);
    result_.reset();
    return result;
}

bool CardReader::complete() { return result_ && aside_.wait_until(0); }

std::vector<std::shared_ptr<Card>> find_cards(const std::string& root) {
    std::vector<std::pair<uint64_t, std::shared_ptr<Card>>> nodes;
    std::set<std::string> bound;
    for (const std::string& name : list_folder(root + "/sys/class/sidra").value) {
        const Maybe<uint64_t> number = node_number(name);
        if (!number) continue;
        const Maybe<std::string> link = link_target(fmt::format("{}/sys/class/sidra/{}/device", root, name));
        const Maybe<std::string> bdf = link ? to_bdf(link.value.substr(link.value.rfind('/') + 1)) : link;
        bound.insert(bdf.value);
        nodes.emplace_back(number.value, std::make_shared<Card>(root, name, bdf.value));
    }
    std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::shared_ptr<Card>> cards;
    cards.reserve(nodes.size());
    for (auto& node : nodes) cards.push_back(std::move(node.second));
    const std::string functions = root + "/sys/bus/pci/devices";
    for (const std::string& name : list_folder(functions).value) {
        const Maybe<std::string> bdf = to_bdf(name);
        if (!bdf || bound.contains(bdf.value)) continue;
        const auto id = [&](const char* file) {
            return to_number(read_file(fmt::format("{}/{}/{}", functions, name, file), kAttributeLimit), 16);
        };
        const Maybe<uint64_t> vendor = id("vendor");
        if (!vendor || vendor.value != SIDRA_PCI_VENDOR_ID) continue;
        const Maybe<uint64_t> device = id("device");
        if (device && device.value == SIDRA_PCI_DEVICE_ID) cards.push_back(std::make_shared<Card>(root, "", bdf.value));
    }
    return cards;
}

}  // namespace sidra::smi
