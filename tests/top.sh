#!/bin/bash
# SPDX-License-Identifier: MIT
# top.sh SIDRA_SMI: `sidra-smi top` on a real terminal (of tmux), with simulated key presses and checks of the screen.
set -euo pipefail
smi=$1
command -v tmux >/dev/null || { echo "top: tmux is not here; not checked"; [[ ! ${CI:-} ]] || exit 1; exit 77; }
folder=$(mktemp -d)
mux=(tmux -S "$folder/mux" -f /dev/null)
clean() {
    "${mux[@]}" kill-server 2>/dev/null || :
    [[ -z ${publisher:-} ]] || kill "$publisher" 2>/dev/null || :
    rm -rf "$folder"
}
trap clean EXIT
screen() { "${mux[@]}" capture-pane -p; }
fail() {
    echo "top: $*; the screen:" >&2
    screen >&2 || :
    exit 1
}
press() { "${mux[@]}" send-keys "$@"; }
# shows TEXT: waits up to ten seconds for it. `hides` waits for its absence, which `not shows` cannot.
waits() { # condition...
    local tries
    for ((tries = 0; tries < 200; ++tries)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
has() { grep -qF -- "$1" <(screen); }
has_not() { ! has "$1"; }
shows() { waits has "$1" || fail "does not show '$1'"; }
hides() { waits has_not "$1" || fail "still shows '$1'"; }
is() { [[ $("${mux[@]}" display-message -p "$1") == "$2" ]]; }
# starts [NAME=VALUE...]: top, from a shell.
starts() { press "clear; echo marked; env $* $smi --runtime $folder/run top -n 0.1" Enter; }
# The shell's terminal settings and screen are restored.
restored() { # status [TERM without an alternate screen]
    waits is '#{alternate_on} #{cursor_flag}' '0 1' || fail "the terminal is not as it was"
    press "echo ended with \$?" Enter
    shows "ended with $1"
    [[ ${2:-} == TERM=vt100 ]] || has marked || fail "what was on the screen before is lost"
    press "stty -a | md5sum >$folder/after; cmp $folder/before $folder/after && echo same modes" Enter
    shows "same modes"
}

# Two chips with known values.
coproc PUBLISHER { exec tests/publish.py "$folder/run" 2 0.1; }
publisher=$PUBLISHER_PID
to_publisher=${PUBLISHER[1]}
read -r first <&"${PUBLISHER[0]}"
read -r second <&"${PUBLISHER[0]}"

export LC_ALL=C.UTF-8
unset NO_COLOR
"${mux[@]}" -u new-session -d -x 80 -y 24 "PS1='> ' exec bash --norc --noprofile -i"
"${mux[@]}" set-option -g window-size manual
press "stty -a | md5sum >$folder/before; echo ready" Enter
shows ready

# The whole screen at 80x24, with the published values.
starts
shows "41 %"
for text in "#0 of 2  model $first ready" "publisher" "every 0.1 s" "  # CHIP          STATUS " "  1 model " "Busy 45 %   Clock 800 of 1000 MHz   L3 4.0M of 16M   Firmware 1.2.3   Queues 2" "MVM " "Vector         12 %" "Copy           7 %" "Program         3 %" \
    "Power 22.5 of 75 W" "Temp    61/95/105 C" "DMA      1.50 GB/s" "Cells      25.0 k/s" "Crossbars: use   3 of 32 programmed" \
    "█········▒······" "···············░" "shade = rows used, 0 ·░▒▓█ 256; 1 line = 1 cluster, 1 character = 1 crossbar" "Processes: 1, by use" "2.0M  publisher" \
    "q quit  h help  Tab chip  a all  m map  s sort  r order  Space pause"; do
    shows "$text"
done
[[ $(screen | wc -l) == 24 ]] || fail "not 24 rows"

press m
shows "Crossbars: wear"
shows "shade = times programmed, 0 ·░▒▓█ 7"
press m
shows "Crossbars: stuck cells"
press s r
shows "by memory, reversed"
press Tab
shows "#1 of 2  model $second ready"
shows "62/95/105 C"
press 0
shows "#0 of 2  model $first"
press a
hides "Crossbars"
shows "model ${second:0:7}"
press a
shows "Crossbars"
press h
shows "select the sort key of processes"
press h
hides "select the sort key of processes"
press - -
shows "every 0.5 s"
press +
shows "every 0.2 s"
press + Space
shows "ready paused"
press Space
hides "paused"

# Any size, at any time.
"${mux[@]}" resize-window -x 20 -y 5
shows "MVM   41 %"
for text in "ready #0 model" "Power 22.5 of 75 W" "Temp  61/95/105 C" "q quit  h help"; do shows "$text"; done
hides "Crossbars"
"${mux[@]}" resize-window -x 200 -y 50
shows "throttles at 95, stops at 105"
for text in "Crossbars: stuck cells" "Processes: 1" "Up/Down scroll"; do shows "$text"; done
"${mux[@]}" resize-window -x 1 -y 1
waits is '#{window_width}' 1 || fail "not 1x1"
"${mux[@]}" resize-window -x 80 -y 24
shows "Temp    61/95/105 C"

# Stopped and continued, like any program.
press C-z
shows "Stopped"
waits is '#{alternate_on} #{cursor_flag}' '0 1' || fail "stopped with the terminal in its hands"
press fg Enter
shows "Temp    61/95/105 C"

# A stopped process: its chip is marked as stale, without current values.
press 1
echo "stale 1" >&"$to_publisher"
shows "#1 of 2  model $second stale"
hides "62/95/105 C"

# A chip that disappears while it is displayed, and one that is too hot.
press 1
shows "#1 of 2  model $second stale"
echo "gone 1" >&"$to_publisher"
shows "#1 of 2  model $second gone"
press 0
echo hot >&"$to_publisher"
shows "106/95/105 C"
press q
restored 0

# Every other end.
pid_of() { pgrep -f "^$smi --runtime $folder/run top"; }
starts
shows "41 %"
press C-c
restored 130
for ending in TERM:143 HUP:129 QUIT:131; do
    starts
    shows "41 %"
    kill -"${ending%:*}" "$(pid_of)"
    restored "${ending#*:}"
done

# Colours, and no colours if disabled or unsupported by the terminal.
colours() { grep -qE $'\033\\[[0-9;]*3[0-7]m' <("${mux[@]}" capture-pane -p -e); }
starts
shows "41 %"
colours || fail "no colours"
press q
restored 0
for none in NO_COLOR=1 TERM=vt100; do
    starts "$none"
    shows "41 %"
    shows "106/95/105 C"
    colours && fail "colours with $none"
    press q
    restored 0 "$none"
    hides "Power"
done

# ASCII only.
starts LC_ALL=C
shows "@........*......"
screen | LC_ALL=C grep -q '[^ -~]' && fail "more than ASCII in the locale C"
press q
restored 0

# Terminals that cannot show it.
fails() { # status, text, command...
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >"$folder/said" 2>&1 || status=$?
    [[ $status == "$wanted" && $(wc -l <"$folder/said") == 1 ]] && grep -qF -- "$text" "$folder/said" && return 0
    cat "$folder/said" >&2
    fail "status $status instead of $wanted, or more than one line with '$text': $*"
}
top=("$smi" --runtime "$folder/run" top)
fails 2 "top needs a terminal" "${top[@]}" </dev/null
fails 2 "--interval" "${top[@]}" -n 0
fails 1 "no SIDRA card" "$smi" --runtime "$folder/none" --root "$folder" top
for name in dumb:'cannot move the cursor' nobody-has-this:'unknown terminal type' ; do
    press "clear; TERM=${name%%:*} $smi --runtime $folder/run top; echo ended with \$?" Enter
    shows "ended with 2"
    shows "${name#*:}"
done

# Every option is in the manual.
for option in $("$smi" top --help | grep -oE -- '--[a-z-]+' | sort -u); do
    [[ $option =~ ^--(help|chip|root|runtime|version)$ ]] || grep -qF -- "$option" <(sed 's/\\-/-/g' tools/sidra-smi/top/sidra-smi-top.1) || fail "the manual page does not know $option"
done

# The terminal is closed.
starts
shows "41 %"
pid=$(pid_of)
"${mux[@]}" kill-server
ended() { ! kill -0 "$pid" 2>/dev/null; }
waits ended || { echo "top: goes on without a terminal" >&2; exit 1; }
echo "top shows what is published, at every size, and leaves terminals as they were"
