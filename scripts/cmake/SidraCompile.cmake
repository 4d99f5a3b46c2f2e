# SPDX-License-Identifier: MIT
# Compiler settings of the whole tree: language levels, warnings, sanitizers, ccache.

# The top of this tree, even if another project includes parts of it.
get_filename_component(SIDRA_TOP ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

option(SIDRA_WERROR "Warnings are errors" ON)
set(SIDRA_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: \"address,undefined\" or \"thread\"")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla -fno-common)
# Omitted fields of an initialiser are zero; the structs of the contracts are designed for that.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(SIDRA_WERROR)
    add_compile_options(-Werror)
endif()

# Position-independent code may also be inlined, and called directly, where it is global: nobody replaces our functions.
add_compile_options(-fno-semantic-interposition)

# Identical float results on every machine and compiler: no contraction to FMA, whatever -march allows.
add_compile_options(-ffp-contract=off)

if(SIDRA_SANITIZE)
    add_compile_options(-fsanitize=${SIDRA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${SIDRA_SANITIZE})
    if(SIDRA_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        # ThreadSanitizer does not model fences. Ours only order a store and a load of atomics, which is not needed for its analysis.
        add_compile_options(-Wno-tsan)
    endif()
endif()

option(SIDRA_FUZZ "Build the libFuzzer targets, and everything with the coverage that libFuzzer steers by (needs clang)" OFF)
if(SIDRA_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Not for debug builds: a debugger looks for sources in the checkout that compiled the object, which the cache shares between checkouts.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(CMAKE_C_COMPILER_LAUNCHER ${SIDRA_TOP}/scripts/cmake/ccache.sh)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SIDRA_TOP}/scripts/cmake/ccache.sh)
endif()

# Adds a part of the tree if it exists.
function(sidra_subdirectory folder)
    if(EXISTS ${SIDRA_TOP}/${folder}/CMakeLists.txt)
        add_subdirectory(${SIDRA_TOP}/${folder} ${CMAKE_BINARY_DIR}/${folder})
    endif()
endfunction()
