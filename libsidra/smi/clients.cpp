// SPDX-License-Identifier: MIT
#include "clients.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "file.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr size_t kPidsLimit = 1 << 16, kFdinfoLimit = 1 << 14;

void copy_name(sidra_smi_client& client, std::string_view name) {
    const std::string text = clean(name);
    const size_t length = std::min(text.size(), sizeof client.name - 1);
    std::memcpy(client.name, text.data(), length);
    client.name[length] = '\0';
}

// Parses "12 ns", "12 KiB" or "12".
Maybe<uint64_t> amount(std::string_view text) {
    const size_t blank = text.find(' ');
    Maybe<uint64_t> number = to_number(text.substr(0, blank));
    if (!number || blank == std::string_view::npos) return number;
    const std::string_view unit = trim(text.substr(blank));
    const int shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : 0;
    if (number.value > UINT64_MAX >> shift) return Maybe<uint64_t>::none(EINVAL);
    number.value <<= shift;
    return number;
}

}  // namespace

sidra_smi_client no_client(int32_t pid) {
    sidra_smi_client client{};
    client.pid = pid;
    client.contexts = client.queues = client.memory = UINT64_MAX;
    std::fill(std::begin(client.engine_ns), std::end(client.engine_ns), UINT64_MAX);
    std::fill(std::begin(client.utilization), std::end(client.utilization), -1);
    return client;
}

Maybe<Fdinfo> to_fdinfo(std::string_view text) {
    Fdinfo info{{}, no_client(0)};
    bool ours = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const std::string_view key = line.substr(0, colon), value = trim(line.substr(colon + 1));
        const Maybe<uint64_t> number = amount(value);
        if (key == "drm-driver") ours = value == "sidra";
        if (key == "drm-pdev") info.pdev = to_bdf(value).value;
        if (!number) continue;
        if (key == "drm-client-id") info.client.client = number.value;
        if (key == "sidra-contexts") info.client.contexts = number.value;
        if (key == "sidra-queues") info.client.queues = number.value;
        if (key.starts_with("drm-total-")) {
            const uint64_t before = info.client.memory == UINT64_MAX ? 0 : info.client.memory;
            if (number.value < UINT64_MAX - before) info.client.memory = before + number.value;
        }
        constexpr std::string_view kEngine = "drm-engine-";
        for (uint32_t n = 0; n < SIDRA_HW_ENGINE_COUNT; ++n)
            if (key.starts_with(kEngine) && key.substr(kEngine.size()) == sidra_smi_engine_name(n))
                info.client.engine_ns[n] = number.value;
    }
    if (!ours) return Maybe<Fdinfo>::none(ENODEV);
    return info;
}

void read_clients(const Card& card, Sample& sample) {
    const Maybe<std::string> pids = read_file(card.attribute("pids"), kPidsLimit);
    sample.clients_error = pids.error;
    if (!pids) return;
    std::set<uint64_t> numbers;
    for (std::string_view text = pids.value; !text.empty();) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const Maybe<uint64_t> pid = to_number(line);
        if (pid && pid.value > 0 && pid.value <= INT32_MAX) numbers.insert(pid.value);
    }
    std::set<uint64_t> seen;  // a file that two processes share is one client
    for (const uint64_t number : numbers) {
        const std::string folder = fmt::format("{}/proc/{}", card.root(), number);
        sidra_smi_client process = no_client(static_cast<int32_t>(number));
        struct stat info;
        if (stat(folder.c_str(), &info) != 0) continue;  // it has exited meanwhile
        process.uid = info.st_uid;
        copy_name(process, trim(read_file(folder + "/comm", kFdinfoLimit).value));
        const Maybe<std::vector<std::string>> files = list_folder(folder + "/fdinfo");
        bool found = false, listed = false;
        for (const std::string& file : files.value) {
            const Maybe<std::string> link = link_target(folder + "/fd/" + file);
            if (link && !link.value.starts_with("/dev/")) continue;
            const Maybe<std::string> text = read_file(folder + "/fdinfo/" + file, kFdinfoLimit);
            const Maybe<Fdinfo> fdinfo = text ? to_fdinfo(text.value) : Maybe<Fdinfo>::none(text.error);
            if (!fdinfo || fdinfo.value.pdev != card.bdf()) continue;
            found = true;
            if (!seen.insert(fdinfo.value.client.client).second) continue;
            sidra_smi_client client = fdinfo.value.client;
            client.pid = process.pid;
            client.uid = process.uid;
            std::memcpy(client.name, process.name, sizeof client.name);
            sample.clients.push_back(client);
            listed = true;
        }
        if (listed || found) continue;
        process.error = files ? ENOENT : files.error;
        sample.clients.push_back(process);
    }
}

}  // namespace sidra::smi
