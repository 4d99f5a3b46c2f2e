# SPDX-License-Identifier: MIT
# cmake -DEXPECT=<regex> -DSTATUS=<number> -P run_and_match.cmake -- <command> [<argument>...]
# Passes if the command ends with this status and its output matches.
set(command "")
set(begun OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
    if(begun)
        list(APPEND command "${CMAKE_ARGV${index}}")
    elseif(CMAKE_ARGV${index} STREQUAL "--")
        set(begun ON)
    endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT status STREQUAL STATUS)
    message(FATAL_ERROR "status ${status}, expected ${STATUS}")
endif()
if(NOT output MATCHES "${EXPECT}")
    message(FATAL_ERROR "the output does not match: ${EXPECT}")
endif()
