# SPDX-License-Identifier: MIT
# Completion of sidra-smi for fish, from what its --help offers.

# The commands on the command line so far. The value of an option is not mistaken for a command.
function __sidra_smi_chosen
    set -l chosen
    set -l known (__sidra_smi_commands | string replace -r '\t.*' '')
    set -l before ''
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $before; and contains -- $word $known
            set -a chosen $word
            set known (__sidra_smi_commands $chosen | string replace -r '\t.*' '')
        end
        set before $word
    end
    printf '%s\n' $chosen
end

# Commands below the given ones, with their descriptions.
function __sidra_smi_commands
    command sidra-smi $argv --help 2>/dev/null | awk 'tolower($0) ~ /^subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 }
        on && match($0, /^  [a-z]/) { name = $1; $1 = ""; sub(/^ +/, ""); print name "\t" $0 }'
end

function __sidra_smi_options
    command sidra-smi --help 2>/dev/null | string match -ra -- '--[a-z][a-z-]*'
    command sidra-smi (__sidra_smi_chosen) --help 2>/dev/null | string match -ra -- '--[a-z][a-z-]*'
end

function __sidra_smi_after
    contains -- (commandline -opc)[-1] $argv
end

function __sidra_smi_values
    set -l chosen (__sidra_smi_chosen)
    switch (commandline -opc)[-1]
        case --format
            command sidra-smi $chosen --help 2>/dev/null | string match -q '*text, csv or json*'; and echo csv
            printf '%s\n' text json
        case --level
            test "$chosen[1]" = diag; and printf '%s\n' quick full
        case --acknowledge --withdraw
            string split ' ' 'presence state firmware temperature power cells endurance converters link dma'
        case -i --chip
            command sidra-smi query --fields index,node --format csv 2>/dev/null | tail -n +2 | string split ,
        case --fields
            set -l before (string match -r '.*,' -- (commandline -ct))
            printf '%s\n' $before(printf '%s\n' all debug (command sidra-smi query --help-fields --format csv 2>/dev/null | tail -n +2 | string split -f 1 ,))
    end
end

complete -c sidra-smi -f
complete -c sidra-smi -n '__sidra_smi_after --format --level --acknowledge --withdraw -i --chip --fields' -a '(__sidra_smi_values)'
complete -c sidra-smi -n '__sidra_smi_after --root --runtime --save' -a '(__fish_complete_directories)'
complete -c sidra-smi -n '__sidra_smi_after -o --output' -F
complete -c sidra-smi -n 'not __sidra_smi_after --format --level --acknowledge --withdraw -i --chip --fields --root --runtime --save -o --output; and string match -q -- "-*" (commandline -ct)' -a '(__sidra_smi_options)'
complete -c sidra-smi -n 'not __sidra_smi_after --format --level --acknowledge --withdraw -i --chip --fields --root --runtime --save -o --output; and not string match -q "help" (__sidra_smi_chosen)[1]' -a '(__sidra_smi_commands (__sidra_smi_chosen))'
complete -c sidra-smi -n 'test (count (__sidra_smi_chosen)) = 1; and test (__sidra_smi_chosen)[1] = help' -a '(__sidra_smi_commands)'
