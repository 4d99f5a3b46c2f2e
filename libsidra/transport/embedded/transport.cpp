// SPDX-License-Identifier: MIT
// libsidra's transport to a chip inside the process: the chips of the process, and opens of them.
#include "transport.h"

#include <pthread.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "chip_host.h"
#include "driver.h"
#include "session.h"
#include "uuid.h"

namespace sidra {
namespace {

using namespace embedded;

// A powered chip and, while it is open, its driver.
struct Card {
    Card(const sidra_chip_config& its_config, std::string its_gdb)
        : state_file(its_config.state_file != nullptr ? its_config.state_file : ""),
          trace_file(its_config.trace_file != nullptr ? its_config.trace_file : ""),
          gdb(std::move(its_gdb)),
          config(its_config) {
        make_uuid(config.uuid);  // unique, whatever the seed
        if (!state_file.empty()) config.state_file = state_file.c_str();
        if (!trace_file.empty()) config.trace_file = trace_file.c_str();
    }
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;
    const std::string state_file;  // "": state is lost when the chip ends
    const std::string trace_file;  // "": no trace
    const std::string gdb;         // "": no debugger
    sidra_chip_config config;
    std::unique_ptr<ChipHost> host;
    std::shared_ptr<Driver> driver;
    uint32_t opens = 0;
    bool used = false;  // an earlier driver has used the chip
};

bool same(const sidra_chip_config& a, const sidra_chip_config& b) {
    const auto name = [](const char* file) { return std::string_view(file != nullptr ? file : ""); };
    return a.profile == b.profile && a.engine == b.engine && a.workers == b.workers && a.seed == b.seed &&
           a.level == b.level && a.stuck_ppm == b.stuck_ppm && name(a.state_file) == name(b.state_file) &&
           name(a.trace_file) == name(b.trace_file);
}

// The number in an enum field, which a C caller may have set to any value.
template <class Enum>
uint32_t bits_of(const Enum& field) {
    static_assert(sizeof(Enum) == sizeof(uint32_t));
    uint32_t bits;
    std::memcpy(&bits, &field, sizeof bits);
    return bits;
}

// All cards of this process. Never destroyed: chips with named weights stay powered until the process ends, like a
// card; but not if a state file keeps the names.
struct Registry {
    std::mutex lock;                                  // also held across fork(), so that a child finds consistent data
    std::map<uint32_t, std::shared_ptr<Card>> cards;  // shared ones, by index
    std::vector<std::shared_ptr<void>> abandoned;     // inherited objects that a forked child can neither use nor free

    static Registry& instance() {
        static Registry* const registry = [] {
            auto* fresh = new Registry;
            pthread_atfork([] { instance().lock.lock(); }, [] { instance().lock.unlock(); },
                           [] { instance().after_fork(); });
            return fresh;
        }();
        return *registry;
    }

    // Called in the child by its only thread (the one that took the lock before). The parent's chips run in the parent:
    // the child starts without any.
    void after_fork() {
        for (auto& [index, card] : cards) abandoned.push_back(std::move(card));
        cards.clear();
        lock.unlock();
    }
};

class EmbeddedTransport final : public Transport {
   public:
    EmbeddedTransport(std::shared_ptr<Card> card, bool shared)
        : card_(std::move(card)),
          shared_(shared),
          host_(card_->host.get()),
          session_(std::make_unique<Session>(card_->driver)) {}

    ~EmbeddedTransport() override;

    int ioctl(unsigned long request, void* argument, std::string* detail) override {
        std::string text;
        int result;
        try {
            result = session_->ioctl(request, argument, text);
        } catch (const std::bad_alloc&) {
            result = -ENOMEM;
            text = "the system has no memory for the driver's own tables";
        }
        if (result != 0 && detail != nullptr) *detail = std::move(text);
        return result;
    }

    void* map(uint64_t offset, size_t size, bool writable) override {
        Session::Mapping mapping = session_->map(offset, size, writable);
        if (mapping.address == nullptr) {
            errno = -mapping.error;
            return nullptr;
        }
        try {
            std::lock_guard guard(mappings_lock_);
            mappings_.emplace(mapping.address, mapping.owner);
        } catch (const std::bad_alloc&) {
            session_->release(std::move(mapping.owner));
            errno = ENOMEM;
            return nullptr;
        }
        return mapping.address;
    }

    void unmap(void* address, size_t) override {
        std::shared_ptr<void> owner;
        {
            std::lock_guard guard(mappings_lock_);
            const auto place = mappings_.find(address);
            if (place == mappings_.end()) return;
            owner = std::move(place->second);
            mappings_.erase(place);
        }
        session_->release(std::move(owner));
    }

    uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) override {
        return session_->doorbell(doorbell_offset, queue);
    }
    void ring(uintptr_t doorbell) override { host_->doorbell(doorbell); }
    bool help() override { return host_->help(); }

    const char* kind() const override { return "embedded"; }
    std::string engine() const override { return sidra_chip_engine_name(host_->chip()); }

    int telemetry(sidra_telemetry* out) override {
        // Not through the register window, which would serialise its readers.
        if (host_->read_register(SIDRA_REG_ID, sizeof(uint32_t)) != SIDRA_ID_MAGIC) return -ENODEV;
        sidra_chip_get_telemetry(host_->chip(), out);
        return 0;
    }

    int set_fault_knob(const std::string& name, uint64_t value) override {
        for (uint32_t knob = 0; knob < SIDRA_KNOB_COUNT; knob++) {
            const char* known = sidra_chip_knob_name(knob);
            if (known == nullptr || name != known) continue;
            const bool allowed = sidra_chip_set_knob(host_->chip(), knob, value);
            host_->interrupts().service();
            return allowed ? 0 : -EINVAL;
        }
        return -ENOENT;
    }

   private:
    const std::shared_ptr<Card> card_;
    const bool shared_;
    ChipHost* const host_;  // the card's host: saves one load when ringing a doorbell
    std::unique_ptr<Session> session_;
    std::mutex mappings_lock_;  // protects mappings_
    std::multimap<void*, std::shared_ptr<void>> mappings_;
    const uint32_t forks_ = fork_generation();
};

EmbeddedTransport::~EmbeddedTransport() {
    Registry& registry = Registry::instance();
    std::lock_guard guard(registry.lock);
    if (forks_ != fork_generation()) {
        // In a child: threads that do not exist here may hold locks, and the chip belongs to the parent.
        registry.abandoned.push_back(std::shared_ptr<Session>(session_.release(), [](Session*) {}));
        registry.abandoned.push_back(card_);
        for (auto& [address, owner] : mappings_) registry.abandoned.push_back(std::move(owner));
        mappings_.clear();
        return;
    }
    for (auto& [address, owner] : mappings_) session_->release(std::move(owner));
    mappings_.clear();
    session_.reset();
    if (--card_->opens != 0) return;
    const bool keep = shared_ && card_->state_file.empty() && card_->driver->weights().names() != 0;
    card_->driver.reset();
    card_->used = true;
    if (keep) {
        sidra_chip_sync(card_->host->chip());  // it ends with the process, without notice
        return;
    }
    if (shared_) std::erase_if(registry.cards, [&](const auto& entry) { return entry.second == card_; });
    card_->host.reset();
}

// The registry's lock is held. Returns the card with this index, with these options unless it is taken as it is;
// creates it if necessary.
int find_card(uint32_t index, const sidra_chip_config& config, const std::string& gdb, bool shared, bool as_open,
              std::shared_ptr<Card>* card, std::string* detail) {
    Registry& registry = Registry::instance();
    if (shared) {
        if (const auto place = registry.cards.find(index); place != registry.cards.end()) {
            const Card& found = *place->second;
            if (!as_open && (!same(found.config, config) || found.gdb != gdb))
                return fail(
                    *detail, -EBUSY,
                    "embedded chip {} {} with other options (profile {}, engine {}, {} workers, seed {}, level {}, "
                    "stuck_ppm {}, {}{}, {}{}, {}{}); open it with those, or a private chip.",
                    index, found.opens != 0 ? "is open" : "holds named weights and runs", found.config.profile,
                    found.config.engine, found.config.workers, found.config.seed, found.config.level,
                    found.config.stuck_ppm, found.state_file.empty() ? "no state file" : "state file ",
                    found.state_file, found.gdb.empty() ? "no gdb" : "gdb ", found.gdb,
                    found.trace_file.empty() ? "no trace" : "trace ", found.trace_file);
            *card = place->second;
            return 0;
        }
    }
    auto fresh = std::make_shared<Card>(config, gdb);
    int error = 0;
    std::string reason;
    fresh->host = ChipHost::create(fresh->config, &error, &reason);
    if (fresh->host && !gdb.empty()) error = fresh->host->listen_for_gdb(gdb, &reason);
    // Messages about files, engine and debugger already say what to do.
    if (error != 0)
        return fail(*detail, error, "the chip model cannot start: {}{}", reason, error == -ENOMEM ? "" : ".");
    *card = std::move(fresh);
    return 0;
}

}  // namespace

int open_embedded(uint32_t index, const sidra_device_options& options, std::unique_ptr<Transport>* transport,
                  std::string* detail, bool as_open) {
    std::string text;
    std::string& why = detail != nullptr ? *detail : text;
    try {
        const sidra_chip_config config = {
            .profile = bits_of(options.profile),
            .engine = bits_of(options.engine),
            .workers = options.workers,
            .seed = options.seed + (options.private_chip ? 0 : index),  // chips of one process differ
            .state_file = options.state_file,
            .level = bits_of(options.level),
            .stuck_ppm = options.stuck_ppm,
            .trace_file = options.trace_file,
        };
        const bool shared = !options.private_chip;
        Registry& registry = Registry::instance();
        std::lock_guard guard(registry.lock);
        std::shared_ptr<Card> card;
        if (int error =
                find_card(index, config, options.gdb != nullptr ? options.gdb : "", shared, as_open, &card, &why))
            return error;
        if (!card->driver) {
            int error = 0;
            card->driver = Driver::probe(*card->host, card->used, DriverTuning{}, &error, why);
            if (!card->driver) return error;
        }
        const bool first = shared && registry.cards.emplace(index, card).second;
        try {
            *transport = std::make_unique<EmbeddedTransport>(card, shared);
        } catch (...) {
            if (first) registry.cards.erase(index);
            throw;
        }
        card->opens++;
        return 0;
    } catch (const std::bad_alloc&) {
        return fail(why, -ENOMEM, "the system has no memory for an embedded chip");
    } catch (const std::system_error& error) {
        return fail(why, -error.code().value(), "{}", error.what());
    }
}

}  // namespace sidra
