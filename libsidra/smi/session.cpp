// SPDX-License-Identifier: MIT
#include "session.h"

#include <algorithm>
#include <cstring>

#include "file.h"
#include "rates.h"
#include "text.h"

namespace sidra::smi {
namespace {

// For all cards together. A card has more time for its first two readings: they are all that commands such as `health`
// judge it by, also on a busy machine.
constexpr uint64_t kReadTimeoutNs = 500'000'000, kFirstTimeoutNs = 5'000'000'000;
constexpr size_t kGoneMost = 256;

sidra_smi_chip& place_for(sidra_smi& session) {
    // Forget old chips: many processes may come and go during a long session.
    sidra_smi_chip* oldest = nullptr;
    size_t gone = 0;
    for (const auto& chip : session.chips) {
        if (!chip->gone || chip->kind != SIDRA_SMI_MODEL) continue;
        ++gone;
        if (oldest == nullptr || chip->now.read_ns < oldest->now.read_ns) oldest = chip.get();
    }
    if (gone > kGoneMost) {
        const uint32_t index = oldest->index;
        *oldest = sidra_smi_chip{};
        oldest->index = index;
        oldest->session = &session;
        return *oldest;
    }
    auto& chip = *session.chips.emplace_back(std::make_unique<sidra_smi_chip>());
    chip.session = &session;
    chip.index = static_cast<uint32_t>(session.chips.size() - 1);
    return chip;
}

sidra_smi_chip* known(sidra_smi& session, const std::string& key) {
    for (const auto& chip : session.chips)
        if (chip->key == key) return chip.get();
    return nullptr;
}

// A card with a driver is identified by its node and BDF: another card with the same number is another chip.
std::string key_of(const Card& card) { return "card " + card.node() + " " + card.bdf(); }
std::string key_of(const Model& model) { return "model " + model.path(); }

void forget_rates(sidra_smi_chip& chip) {
    chip.later = chip.earlier = Maybe<sidra_telemetry>();
    chip.later_ns = chip.clients_before_ns = 0;
    chip.clients_before.clear();
    chip.heartbeat_moved_ns = Maybe<uint64_t>();
}

// Utilization of the clients of a card: growth of the driver's counters per time between two readings.
void rate_clients(sidra_smi_chip& chip) {
    const double passed = static_cast<double>(chip.now.read_ns - chip.clients_before_ns);
    if (chip.clients_before_ns == 0 || passed <= 0) return;
    for (sidra_smi_client& client : chip.now.clients) {
        const auto same = [&client](const sidra_smi_client& c) {
            return c.pid == client.pid && c.client == client.client;
        };
        const auto before = std::find_if(chip.clients_before.begin(), chip.clients_before.end(), same);
        if (before == chip.clients_before.end()) continue;
        for (size_t n = 0; n < SIDRA_HW_ENGINE_COUNT; ++n) {
            const uint64_t from = before->engine_ns[n], to = client.engine_ns[n];
            if (from == UINT64_MAX || to == UINT64_MAX || to < from) continue;
            // The driver adds the time of a job when the job completes, so the sum may exceed the interval.
            const double queues =
                client.queues == UINT64_MAX ? 1 : std::max<double>(1, static_cast<double>(client.queues));
            client.utilization[n] = std::min(100 * queues, 100 * static_cast<double>(to - from) / passed);
        }
    }
}

// A process that has a chip to itself causes all of its load. It publishes at its own pace, so the time of the reading
// does not matter.
void rate_process(sidra_smi_chip& chip) {
    if (!chip.now.telemetry || chip.stale()) return;
    for (sidra_smi_client& client : chip.now.clients)
        for (size_t n = 0; n < SIDRA_HW_ENGINE_COUNT; ++n) {
            const Maybe<double> use = rate(chip, 100, [n](const sidra_telemetry& page) { return page.engine_ns[n]; });
            if (use && client.engine_ns[n] != UINT64_MAX) client.utilization[n] = use.value;
        }
}

// Appends the telemetry to what rates are computed from. `before`: telemetry of the previous reading, at `before_ns`.
void follow(sidra_smi_chip& chip, const Maybe<sidra_telemetry>& before, uint64_t before_ns) {
    const Maybe<sidra_telemetry>& telemetry = chip.now.telemetry;
    if (!telemetry) return;
    const sidra_telemetry& page = telemetry.value;
    // A clock that went backwards belongs to another power-on: nothing can be compared.
    if (chip.later && page.clock_ns < chip.later.value.clock_ns) forget_rates(chip);
    if (before && before.value.heartbeat != page.heartbeat) chip.heartbeat_moved_ns = chip.now.read_ns;
    if (!chip.heartbeat_moved_ns && before) chip.heartbeat_moved_ns = before_ns;
    if (chip.later && page.clock_ns == chip.later.value.clock_ns) return;
    chip.earlier = chip.later ? chip.later : chip.now.before;
    chip.later = telemetry;
    chip.later_ns = chip.now.data_ns;
}

void read_model(sidra_smi_chip& chip) {
    Maybe<Sample> sample = chip.model->read();
    if (sample) take(chip, std::move(sample.value));
    else if (sample.error == ESRCH) chip.gone = true;
    // For a file that changes too fast to be read, keep the former values.
    else if (sample.error != EAGAIN || chip.now.read_ns == 0)
        chip.now.telemetry = Maybe<sidra_telemetry>::none(sample.error);
}

sidra_smi_status read_cards(sidra_smi& session) {
    struct Asked {
        sidra_smi_chip* chip;
        Maybe<Sample> sample;
    };
    std::vector<Asked> asked;
    asked.reserve(session.chips.size());
    const sidra_smi_chip* unread = nullptr;
    uint64_t timeout_ns = kReadTimeoutNs;
    // Nothing may throw from here on until all threads were waited for: a thread that is still busy at the next refresh
    // would make its card look hung.
    for (const auto& chip : session.chips) {
        if (chip->gone || chip->card == nullptr) continue;
        // A card whose previous reading has not ended is not read again. If it ended after its deadline, it counts if
        // the new one misses its deadline, too: on a slow machine no reading may ever be in time.
        Maybe<Sample> late = chip->reader.complete() ? chip->reader.finish(0) : Maybe<Sample>::none(ETIMEDOUT);
        if (late && now_ns() - late.value.read_ns > kStaleNs) late = Maybe<Sample>::none(ETIMEDOUT);
        if (!chip->earlier && !chip->hung) timeout_ns = kFirstTimeoutNs;
        const int error = chip->reader.start(chip->card);
        chip->hung = error == EBUSY;
        if (error == 0) asked.push_back({chip.get(), std::move(late)});
        else if (!chip->hung) unread = chip.get();
    }
    const uint64_t deadline = now_ns() + timeout_ns;
    for (Asked& each : asked) {
        Maybe<Sample> sample = each.chip->reader.finish(deadline);
        if (sample.error != ETIMEDOUT || !each.sample) each.sample = std::move(sample);
    }
    for (Asked& each : asked) {
        each.chip->hung = each.sample.error == ETIMEDOUT;
        if (each.sample.error == ENOMEM) unread = each.chip;
        if (each.sample) take(*each.chip, std::move(each.sample.value));
    }
    for (const auto& chip : session.chips)
        if (chip->hung && chip->now.read_ns == 0) chip->now.telemetry = Maybe<sidra_telemetry>::none(ETIMEDOUT);
    if (unread == nullptr) return SIDRA_SMI_OK;
    return fail(&session, SIDRA_SMI_INTERNAL,
                "cannot read " + unread->name + ": the system is out of memory or threads (ulimit -u)");
}

}  // namespace

sidra_smi_status fail(sidra_smi* session, sidra_smi_status status, std::string_view sentence) {
    try {
        if (session != nullptr) session->error = sentence;
    } catch (const std::bad_alloc&) {
        session->error.clear();
    }
    return status;
}

sidra_smi_status status_of(int error) {
    switch (error) {
        case 0:
            return SIDRA_SMI_OK;
        case EACCES:
        case EPERM:
            return SIDRA_SMI_PERMISSION;
        case EBUSY:
        case EAGAIN:
            return SIDRA_SMI_BUSY;
        case ETIMEDOUT:
            return SIDRA_SMI_TIMEOUT;
        case ENODEV:
        case ENXIO:
        case ESRCH:
            return SIDRA_SMI_LOST;
        case ENOENT:
            return SIDRA_SMI_NO_DRIVER;
        default:
            return SIDRA_SMI_INTERNAL;
    }
}

void find_chips(sidra_smi& session) {
    const auto cards = find_cards(session.root);
    const auto models = find_models(session.root, session.runtime);
    std::vector<const sidra_smi_chip*> here;
    const auto find = [&](const std::string& key, sidra_smi_kind kind, const std::string& name) -> sidra_smi_chip& {
        sidra_smi_chip* chip = known(session, key);
        if (chip == nullptr) chip = &place_for(session);
        if (chip->gone) forget_rates(*chip);
        chip->key = key;
        chip->kind = kind;
        chip->name = name;
        chip->gone = false;
        here.push_back(chip);
        return *chip;
    };
    for (const auto& card : cards) {
        sidra_smi_chip& chip = find(key_of(*card), SIDRA_SMI_CARD, card->node().empty() ? card->bdf() : card->node());
        if (chip.card == nullptr) chip.card = card;
    }
    session.left_out = models.left_out;
    for (const auto& model : models.all) {
        sidra_smi_chip& chip = find(key_of(*model), SIDRA_SMI_MODEL, model->name());
        if (chip.model == nullptr) chip.model = model;
    }
    for (const auto& chip : session.chips)
        if (std::find(here.begin(), here.end(), chip.get()) == here.end()) chip->gone = true;
}

void take(sidra_smi_chip& chip, Sample sample) {
    chip.clients_before = std::move(chip.now.clients);
    chip.clients_before_ns = chip.now.clients_error == 0 ? chip.now.read_ns : 0;
    const uint64_t before_ns = chip.now.read_ns;
    Maybe<sidra_telemetry> before = chip.now.telemetry;
    // A process that closes a chip and makes another one gives that the same name.
    const bool another = chip.now.uuid && sample.uuid && chip.now.uuid.value != sample.uuid.value;
    chip.now = std::move(sample);
    if (another) {
        forget_rates(chip);
        before = Maybe<sidra_telemetry>();
    }
    follow(chip, before, before_ns);
    if (chip.kind == SIDRA_SMI_MODEL) rate_process(chip);
    else rate_clients(chip);
}

}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_open(const sidra_smi_options* options, sidra_smi** session) {
    if (session == nullptr) return SIDRA_SMI_USAGE;
    *session = nullptr;
    sidra_smi_options given = {};
    if (!take_options(options, given)) return SIDRA_SMI_USAGE;
    return guarded(nullptr, [&] {
        auto opened = std::make_unique<sidra_smi>();
        if (given.root != nullptr) opened->root = given.root;
        while (opened->root.ends_with('/')) opened->root.pop_back();
        if (given.runtime != nullptr) opened->runtime = given.runtime;
        opened->health.locate(opened->root, given.policy != nullptr ? given.policy : "",
                              given.state != nullptr ? given.state : "");
        find_chips(*opened);
        *session = opened.release();
        return SIDRA_SMI_OK;
    });
}

void sidra_smi_close(sidra_smi* session) { delete session; }

const char* sidra_smi_error(const sidra_smi* session) {
    return session == nullptr ? "no session" : session->error.c_str();
}

sidra_smi_status sidra_smi_refresh(sidra_smi* session) {
    if (session == nullptr) return SIDRA_SMI_USAGE;
    return guarded(session, [&] {
        find_chips(*session);
        for (const auto& chip : session->chips)
            if (!chip->gone && chip->model != nullptr) read_model(*chip);
        return read_cards(*session);
    });
}

uint32_t sidra_smi_count(const sidra_smi* session) {
    return session == nullptr ? 0 : static_cast<uint32_t>(session->chips.size());
}

uint64_t sidra_smi_left_out(const sidra_smi* session) { return session == nullptr ? 0 : session->left_out; }

sidra_smi_chip* sidra_smi_chip_at(sidra_smi* session, uint32_t index) {
    return index < sidra_smi_count(session) ? session->chips[index].get() : nullptr;
}

sidra_smi_kind sidra_smi_kind_of(const sidra_smi_chip* chip) { return chip == nullptr ? SIDRA_SMI_CARD : chip->kind; }

bool sidra_smi_gone(const sidra_smi_chip* chip) { return chip == nullptr || chip->gone; }

sidra_smi_status sidra_smi_clients(sidra_smi_chip* chip, const sidra_smi_client** clients, uint32_t* count) {
    if (chip == nullptr || clients == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    *clients = chip->now.clients.data();
    *count = static_cast<uint32_t>(chip->now.clients.size());
    if (chip->now.clients_error == 0) return SIDRA_SMI_OK;
    return fail(chip->session, SIDRA_SMI_PERMISSION,
                "cannot list the processes that use " + chip->name + ": " + std::strerror(chip->now.clients_error));
}
