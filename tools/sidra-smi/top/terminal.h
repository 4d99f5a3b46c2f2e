// SPDX-License-Identifier: MIT
// A grid on a terminal, through ncurses. Whatever ends the program: when this is destroyed the terminal is as it was.
#ifndef SIDRA_SMI_TOP_TERMINAL_H
#define SIDRA_SMI_TOP_TERMINAL_H

#include <memory>
#include <optional>
#include <stdexcept>

#include "grid.h"

namespace sidra::top {

// There is none that could show it.
class NoTerminal : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

class Terminal {
   public:
    // Standard input and output. Throws NoTerminal if they are no terminal, or one that cannot place its cursor.
    // NO_COLOR in the environment, or a terminal without colours: there are none.
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int width() const;
    int height() const;
    // The locale and the terminal can do more than ASCII.
    bool unicode() const { return unicode_; }

    void show(const Grid& grid);
    // A key that was pressed, or of which keys.h knows the number; nothing if there is none.
    std::optional<int> key();
    // Its size has changed.
    void resize();
    // Gives the terminal back, and stops the program until somebody continues it.
    void suspend();

   private:
    struct Screen;
    std::unique_ptr<Screen> screen_;
    bool unicode_ = false;
};

}  // namespace sidra::top

#endif
