// SPDX-License-Identifier: MIT
// Shows a grid on a terminal through ncurses. The destructor restores the terminal, however the program ends.
#ifndef SIDRA_SMI_TOP_TERMINAL_H
#define SIDRA_SMI_TOP_TERMINAL_H

#include <memory>
#include <optional>
#include <stdexcept>

#include "grid.h"

namespace sidra::top {

// There is no suitable terminal.
class NoTerminal : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

class Terminal {
   public:
    // Uses standard input and output. Throws NoTerminal if they are not a terminal, or one that cannot move its cursor.
    // No colours with NO_COLOR in the environment, or on a terminal without colours.
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int width() const;
    int height() const;
    // Whether locale and terminal support more than ASCII.
    bool unicode() const { return unicode_; }

    void show(const Grid& grid);
    // Returns a pressed key, as a character or a number of keys.h; nothing if there is none.
    std::optional<int> key();
    // Called when the size has changed.
    void resize();
    // Restores the terminal, and stops the program until it is continued.
    void suspend();

   private:
    struct Screen;
    std::unique_ptr<Screen> screen_;
    bool unicode_ = false;
};

}  // namespace sidra::top

#endif
