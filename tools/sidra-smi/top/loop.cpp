// SPDX-License-Identifier: MIT
#include "loop.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "collect.h"
#include "common/signals.h"
#include "keys.h"
#include "screen.h"
#include "terminal.h"

namespace sidra::top {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMapAgain(5);

size_t nearest(double interval) {
    const auto distance = [&](double other) { return std::abs(std::log(other / interval)); };
    const auto closer = [&](double a, double b) { return distance(a) < distance(b); };
    return static_cast<size_t>(std::min_element(kIntervals.begin(), kIntervals.end(), closer) - kIntervals.begin());
}

class Top {
   public:
    Top(sidra_smi* session, std::vector<sidra_smi_chip*> chips, bool others, double interval)
        : session_(session), others_(others), shown_(std::move(chips)) {
        choice_.interval = nearest(interval);
        take();
    }

    // Returns the signal that ended it; 0: the user quit.
    int run(Terminal& terminal, tools::Signals& signals);

    sidra_smi_status status() const { return status_; }

   private:
    void take();
    // Reads details of the selected chip.
    void look_closer();
    bool read() {
        status_ = sidra_smi_refresh(session_);
        if (status_ == SIDRA_SMI_OK) take();
        return status_ == SIDRA_SMI_OK;
    }
    bool obey_keys(Terminal& terminal);

    sidra_smi* session_;
    bool others_;
    std::vector<sidra_smi_chip*> shown_;
    sidra_smi_status status_ = SIDRA_SMI_OK;
    std::vector<Chip> chips_;
    Choice choice_;
    sidra_smi_chip* without_map_ = nullptr;  // its crossbars could not be read
    Clock::time_point map_again_;
};

void Top::take() {
    for (uint32_t i = 0; others_ && i < sidra_smi_count(session_); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session_, i);
        if (!sidra_smi_gone(chip) && std::find(shown_.begin(), shown_.end(), chip) == shown_.end())
            shown_.push_back(chip);
    }
    chips_.resize(shown_.size());
    for (size_t i = shown_.size(); i-- > 0;) {
        collect(shown_[i], chips_[i]);
        // Remove models whose processes have ended, except the selected one.
        if (!others_ || !chips_[i].gone || i == choice_.chip || sidra_smi_kind_of(shown_[i]) == SIDRA_SMI_CARD)
            continue;
        shown_.erase(shown_.begin() + static_cast<ptrdiff_t>(i));
        chips_.erase(chips_.begin() + static_cast<ptrdiff_t>(i));
        if (i < choice_.chip) --choice_.chip;
    }
    look_closer();
}

void Top::look_closer() {
    Chip& chip = chips_[choice_.chip];
    sidra_smi_chip* from = shown_[choice_.chip];
    if (chip.gone) return;
    collect_processes(from, chip);
    if (from == without_map_ && Clock::now() < map_again_) return;
    // A chip that does not answer must not delay the keys each time.
    const bool found = collect_crossbars(from, chip);
    without_map_ = found ? nullptr : from;
    map_again_ = Clock::now() + kMapAgain;
}

// Returns false if a key quits.
bool Top::obey_keys(Terminal& terminal) {
    const size_t before = choice_.chip;
    while (const auto key = terminal.key())
        if (press(choice_, *key, chips_.size(), chips_[choice_.chip].processes.size()) == Result::kQuit) return false;
    if (choice_.chip != before) look_closer();
    return true;
}

int Top::run(Terminal& terminal, tools::Signals& signals) {
    const auto interval = [this] {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kIntervals[choice_.interval]));
    };
    // Utilization and rates need two readings, so take the second one soon.
    Clock::time_point last = Clock::now(),
                      next = last + std::min(interval(), Clock::duration(std::chrono::milliseconds(200)));
    while (true) {
        const Clock::time_point now = Clock::now();
        if (!choice_.paused && now >= next) {
            if (!read()) return 0;
            last = now;
            next = last + interval();
        }
        terminal.show(draw(chips_, choice_, terminal.width(), terminal.height(), terminal.unicode()));
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
        pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
        const int timeout = choice_.paused ? -1 : static_cast<int>(std::max<decltype(left)>(left, 0));
        if (poll(waits, 2, timeout) < 0) continue;
        while (const int signal = signals.next()) {
            if (signal == SIGWINCH) terminal.resize();
            else if (signal == SIGTSTP) terminal.suspend();
            else return signal;
        }
        if ((waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return SIGHUP;
        const size_t before = choice_.interval;
        if (waits[0].revents != 0 && !obey_keys(terminal)) return 0;
        if (choice_.interval != before) next = last + interval();
    }
}

}  // namespace

sidra_smi_status run(sidra_smi* session, std::vector<sidra_smi_chip*> chips, bool others, double interval) {
    int ended = 0;
    {
        tools::Signals signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
        Top top(session, std::move(chips), others, interval);
        {
            Terminal terminal;
            ended = top.run(terminal, signals);
        }
        if (ended == 0) return top.status();
        signal(ended, SIG_DFL);  // ncurses has its own handler
    }
    raise(ended);  // so that the parent process sees the signal
    return SIDRA_SMI_OK;
}

}  // namespace sidra::top
