// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "keys.h"

// The macros of ncurses have the same names as other functions.
#define NCURSES_NOMACROS
#include <curses.h>
#include <term.h>
#undef OK
#undef ERR

namespace sidra::top {
namespace {

constexpr int kEscapeMs = 25;  // maximum time between the bytes of an escape sequence
constexpr int kNoKey = -1;

// Without colours, styles are distinguished by attributes.
attr_t plain_look(Style style) {
    switch (style) {
        case Style::kDim:
            return A_DIM;
        case Style::kTitle:
        case Style::kWarning:
            return A_BOLD;
        case Style::kCritical:
        case Style::kBar:
            return A_REVERSE;
        default:
            return A_NORMAL;
    }
}

std::string name_of_terminal() {
    const char* name = std::getenv("TERM");
    return name != nullptr ? name : "";
}

// Checked first, because ncurses would end the program itself.
void require_terminal() {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        throw NoTerminal("top needs a terminal as standard input and output (use sidra-smi watch)");
    int result = 0;
    if (setupterm(nullptr, STDOUT_FILENO, &result) != 0)
        throw NoTerminal(
            fmt::format("unknown terminal type '{}': set TERM, or use sidra-smi watch", name_of_terminal()));
    const bool able = tigetstr("cup") != nullptr;
    del_curterm(cur_term);
    if (!able)
        throw NoTerminal(
            fmt::format("the terminal type '{}' cannot move the cursor: use sidra-smi watch", name_of_terminal()));
}

}  // namespace

struct Terminal::Screen {
    Screen() : screen(newterm(nullptr, stdout, stdin)) {
        if (screen == nullptr) throw NoTerminal(fmt::format("cannot use the terminal '{}'", name_of_terminal()));
    }
    ~Screen() {
        erase();  // on a terminal without an alternate screen, clear what was drawn
        refresh();
        endwin();
        delscreen(screen);
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    SCREEN* screen;
    bool colours = false;
};

Terminal::Terminal() {
    std::setlocale(LC_CTYPE, "");
    require_terminal();
    screen_ = std::make_unique<Screen>();
    unicode_ = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
    cbreak();
    noecho();
    keypad(stdscr, true);
    nodelay(stdscr, true);
    set_escdelay(kEscapeMs);
    curs_set(0);
    const char* no_colour = std::getenv("NO_COLOR");
    if ((no_colour == nullptr || *no_colour == '\0') && has_colors()) {
        start_color();
        use_default_colors();
        const std::pair<Style, short> colours[] = {{Style::kTitle, COLOR_CYAN},
                                                   {Style::kGood, COLOR_GREEN},
                                                   {Style::kWarning, COLOR_YELLOW},
                                                   {Style::kCritical, COLOR_RED}};
        for (const auto& [style, colour] : colours) init_pair(static_cast<short>(style), colour, -1);
        screen_->colours = true;
    }
    resize();  // newterm() may use LINES and COLUMNS of the environment
}

Terminal::~Terminal() = default;

int Terminal::width() const { return getmaxx(stdscr); }
int Terminal::height() const { return getmaxy(stdscr); }

void Terminal::show(const Grid& grid) {
    erase();
    std::wstring run;
    for (int y = 0; y < grid.height(); ++y)
        for (int x = 0; x < grid.width();) {
            const Style style = grid.at(x, y).style;
            const int first = x;
            for (run.clear(); x < grid.width() && grid.at(x, y).style == style; ++x)
                run += static_cast<wchar_t>(grid.at(x, y).glyph);
            attr_t look = plain_look(style);
            const bool coloured = screen_->colours && (look == A_NORMAL || look == A_BOLD || style == Style::kCritical);
            attr_set(look, static_cast<short>(coloured && style != Style::kPlain ? static_cast<short>(style) : 0),
                     nullptr);
            mvaddnwstr(y, first, run.data(), static_cast<int>(run.size()));
        }
    refresh();
}

std::optional<int> Terminal::key() {
    const int key = getch();
    switch (key) {
        case kNoKey:
            return std::nullopt;
        case KEY_UP:
            return kKeyUp;
        case KEY_DOWN:
            return kKeyDown;
        case KEY_LEFT:
            return kKeyLeft;
        case KEY_RIGHT:
            return kKeyRight;
        case KEY_PPAGE:
            return kKeyPageUp;
        case KEY_NPAGE:
            return kKeyPageDown;
        default:
            return key;
    }
}

void Terminal::resize() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
}

void Terminal::suspend() {
    endwin();
    raise(SIGSTOP);
    refresh();
    clearok(curscr, true);
    resize();
}

}  // namespace sidra::top
