# SPDX-License-Identifier: MIT
# sidra_test(<part> [THREADS] [GUEST | GUEST_TOO] [SHARDS <count>] [EXCEPT <cases>] [LONG <cases>] LINK <targets>... [INCLUDE <folders>...])
#   One GoogleTest executable sidra-test-<part> of all sources in tests/<part>, registered as one ctest entry <tree>/<part>, which leaves
#   its cases in results/<part>.xml of the build folder (scripts/summary.py counts them).
#   SHARDS: that many entries <part>-1, -2, ... with a share of the cases each: what takes long must not be the last one to run alone.
#   EXCEPT: cases (GoogleTest's patterns, a `:` between them) that do not run in this tree.
#   LONG: cases (`*`: all) that are entries <part>-long-1, ... of their own, labelled `long`: `make check` leaves them to `make check-long`.
#   THREADS: runs under ThreadSanitizer, too (the other tests do not); `sidra-tests-threads` builds just these.
#   GUEST: a list of tests/vm runs it in the VM; here it is only built, and not under a sanitizer. `sidra-guest` builds just what runs there.
#   GUEST_TOO: runs in the VM, too.
#   INCLUDE: folders, from the top of the tree.
#   DEFINE: as for target_compile_definitions.
# sidra_script_test(<name> <script> <arguments>...)
#   A script as a ctest entry; exit status 77 means skipped.

# Ends a hang. No test needs a tenth of it, also under a sanitizer on a loaded machine.
set(SIDRA_TEST_TIMEOUT 600)
set(SIDRA_TEST_LAUNCHER "")
set(SIDRA_TEST_ENVIRONMENT
    ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
    UBSAN_OPTIONS=print_stacktrace=1
    # die_after_fork: the tests fork with threads running, and the child uses the library.
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0)
if(SIDRA_SANITIZE)
    # GCC 12's sanitizer run times do not know the address-space layouts of kernels with much ASLR entropy, and die now and then.
    execute_process(COMMAND setarch -R true RESULT_VARIABLE no_setarch OUTPUT_QUIET ERROR_QUIET)
    if(NOT no_setarch)
        set(SIDRA_TEST_LAUNCHER setarch -R)
    endif()
endif()

add_custom_target(sidra-tests-threads)
add_custom_target(sidra-guest)
get_filename_component(SIDRA_TREE ${CMAKE_BINARY_DIR} NAME)

# Entries of ctest: the cases of a GoogleTest executable that a filter takes, in shares. Without one, a GTEST_FILTER of the caller's holds.
function(sidra_test_entries target name shards filter)
    foreach(shard RANGE 1 ${shards})
        set(entry ${name})
        set(environment ${SIDRA_TEST_ENVIRONMENT})
        if(filter)
            list(APPEND environment GTEST_FILTER=${filter})
        endif()
        if(shards GREATER 1)
            string(APPEND entry -${shard})
            math(EXPR index "${shard} - 1")
            list(APPEND environment GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index})
        endif()
        add_test(NAME ${SIDRA_TREE}/${entry} COMMAND ${SIDRA_TEST_LAUNCHER} $<TARGET_FILE:${target}> --gtest_brief=1
                                                     --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${entry}.xml)
        set_tests_properties(${SIDRA_TREE}/${entry} PROPERTIES TIMEOUT ${SIDRA_TEST_TIMEOUT} ENVIRONMENT "${environment}" LABELS "${ARGN}")
    endforeach()
endfunction()

function(sidra_test part)
    cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;GUEST;GUEST_TOO" "SHARDS;EXCEPT;LONG" "LINK;INCLUDE;DEFINE")
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${part}/*.cpp ${CMAKE_SOURCE_DIR}/tests/${part}/*.c)
    if(NOT sources OR (arg_GUEST AND SIDRA_SANITIZE))
        return()
    endif()
    set(target sidra-test-${part})
    add_executable(${target} ${sources})
    list(TRANSFORM arg_INCLUDE PREPEND ${CMAKE_SOURCE_DIR}/)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/${part} ${arg_INCLUDE})
    target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gtest_main Threads::Threads)
    target_compile_definitions(${target} PRIVATE ${arg_DEFINE})
    # What is tested is compiled as it is shipped; the tests themselves need not wait for -O3.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    # GoogleTest's macros are an if without braces, and have a parameter `info`.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-else> $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
    if(arg_THREADS)
        add_dependencies(sidra-tests-threads ${target})
    endif()
    if(arg_GUEST OR arg_GUEST_TOO)
        add_dependencies(sidra-guest ${target})
    endif()
    if(arg_GUEST OR (SIDRA_SANITIZE STREQUAL "thread" AND NOT arg_THREADS))
        return()
    endif()
    if(NOT arg_SHARDS)
        set(arg_SHARDS 1)
    endif()
    if(arg_LONG OR arg_EXCEPT)
        set(filter *-${arg_EXCEPT}:${arg_LONG})
    else()
        set(filter "")
    endif()
    if(NOT arg_LONG STREQUAL "*")
        sidra_test_entries(${target} ${part} ${arg_SHARDS} "${filter}")
    endif()
    if(arg_LONG)
        sidra_test_entries(${target} ${part}-long ${arg_SHARDS} ${arg_LONG}-${arg_EXCEPT} long)
    endif()
endfunction()

function(sidra_script_test name script)
    add_test(NAME ${SIDRA_TREE}/${name} COMMAND ${CMAKE_SOURCE_DIR}/${script} ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${SIDRA_TREE}/${name} PROPERTIES TIMEOUT ${SIDRA_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
