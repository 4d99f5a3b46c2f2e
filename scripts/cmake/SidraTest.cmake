# SPDX-License-Identifier: MIT
# sidra_test(<part> [THREADS] [CROSS] [GUEST | GUEST_TOO] [SHARDS <count>] [EXCEPT <cases>] [LONG <cases>] LINK <targets>... [INCLUDE <folders>...])
#   Builds one GoogleTest executable sidra-test-<part> from all sources in tests/<part>, and registers it as one ctest entry <tree>/<part>,
#   which writes its cases to results/<part>.xml in the build folder (scripts/summary.py counts them).
#   SHARDS: number of entries <part>-1, -2, ... that share the cases, so that a long test does not run alone at the end.
#   EXCEPT: cases (GoogleTest patterns, separated by `:`) that do not run in this tree.
#   LONG: cases (`*`: all) with separate entries <part>-long-1, ..., labelled `long`: only `make check-long` runs them.
#   THREADS: also runs under ThreadSanitizer (other tests do not); `sidra-tests-threads` builds only these.
#   CROSS: also runs, under an emulator, in a tree for another processor (other tests do not): the cases LONG, by default all.
#   `sidra-tests-cross` builds only these.
#   GUEST: a list of tests/vm runs it in the VM; here it is only built, and not with sanitizers. `sidra-guest` builds only these.
#   GUEST_TOO: also runs in the VM.
#   INCLUDE: folders, relative to the top of the tree.
#   DEFINE: as for target_compile_definitions.
# sidra_script_test(<name> [LONG] <script> <arguments>...)
#   Registers a script as a ctest entry; exit status 77 means skipped. LONG: as above, the whole script.

# Ends hangs. No test needs it, even with a sanitizer on a machine that several runs share.
set(SIDRA_TEST_TIMEOUT 1200)
set(SIDRA_TEST_LAUNCHER ${CMAKE_CROSSCOMPILING_EMULATOR})
set(SIDRA_TEST_ENVIRONMENT
    ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
    UBSAN_OPTIONS=print_stacktrace=1
    # die_after_fork=0: the tests fork while threads run, and the child uses the library.
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0)
if(SIDRA_SANITIZE)
    # The sanitizer runtimes of GCC 12 do not support the address-space layouts of kernels with much ASLR entropy, and crash at times.
    execute_process(COMMAND setarch -R true RESULT_VARIABLE no_setarch OUTPUT_QUIET ERROR_QUIET)
    if(NOT no_setarch)
        set(SIDRA_TEST_LAUNCHER setarch -R)
    endif()
endif()

add_custom_target(sidra-tests-threads)
add_custom_target(sidra-tests-cross)
add_custom_target(sidra-guest)
get_filename_component(SIDRA_TREE ${CMAKE_BINARY_DIR} NAME)

# The code under test is compiled as shipped; the tests themselves need no -O3. GoogleTest's macros contain an if without braces and a parameter
# `info`. -fpch-preprocess is for ccache. GCC 12 sees accesses outside of std::string where it is precompiled (and there are none).
set(SIDRA_TEST_OPTIONS $<$<CONFIG:Release>:-O1> $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-else> $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds>
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow>)

# Registers ctest entries for the cases that a filter selects, in shards. Without a filter, the caller's GTEST_FILTER applies.
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
    cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;CROSS;GUEST;GUEST_TOO" "SHARDS;EXCEPT;LONG" "LINK;INCLUDE;DEFINE")
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${part}/*.cpp ${CMAKE_SOURCE_DIR}/tests/${part}/*.c)
    if(NOT sources OR (arg_GUEST AND SIDRA_SANITIZE))
        return()
    endif()
    set(target sidra-test-${part})
    add_executable(${target} ${sources})
    list(TRANSFORM arg_INCLUDE PREPEND ${CMAKE_SOURCE_DIR}/)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/${part} ${arg_INCLUDE})
    target_link_libraries(${target} PRIVATE ${arg_LINK} sidra_test_paths GTest::gtest_main Threads::Threads)
    target_compile_definitions(${target} PRIVATE ${arg_DEFINE})
    target_precompile_headers(${target} REUSE_FROM sidra-test-headers)
    list(FILTER sources INCLUDE REGEX "\\.c$")
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    target_compile_options(${target} PRIVATE ${SIDRA_TEST_OPTIONS})
    if(arg_THREADS)
        add_dependencies(sidra-tests-threads ${target})
    endif()
    if(arg_CROSS)
        add_dependencies(sidra-tests-cross ${target})
    endif()
    if(arg_GUEST OR arg_GUEST_TOO)
        add_dependencies(sidra-guest ${target})
    endif()
    if(arg_GUEST OR (SIDRA_SANITIZE STREQUAL "thread" AND NOT arg_THREADS) OR (CMAKE_CROSSCOMPILING AND NOT arg_CROSS))
        return()
    endif()
    if(CMAKE_CROSSCOMPILING)
        set(arg_SHARDS 4) # an emulator is slow
        if(NOT arg_LONG)
            set(arg_LONG *)
        endif()
    endif()
    if(NOT arg_SHARDS)
        set(arg_SHARDS 1)
    endif()
    if(arg_LONG OR arg_EXCEPT)
        set(filter *-${arg_EXCEPT}:${arg_LONG})
    else()
        set(filter "")
    endif()
    if(NOT arg_LONG STREQUAL "*" AND NOT CMAKE_CROSSCOMPILING)
        sidra_test_entries(${target} ${part} ${arg_SHARDS} "${filter}")
    endif()
    if(arg_LONG)
        sidra_test_entries(${target} ${part}-long ${arg_SHARDS} ${arg_LONG}-${arg_EXCEPT} long)
    endif()
endfunction()

function(sidra_script_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "LONG" "" "")
    list(POP_FRONT arg_UNPARSED_ARGUMENTS script)
    add_test(NAME ${SIDRA_TREE}/${name} COMMAND ${CMAKE_SOURCE_DIR}/${script} ${arg_UNPARSED_ARGUMENTS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    if(arg_LONG)
        set_tests_properties(${SIDRA_TREE}/${name} PROPERTIES LABELS long)
    endif()
    set_tests_properties(${SIDRA_TREE}/${name} PROPERTIES TIMEOUT ${SIDRA_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
