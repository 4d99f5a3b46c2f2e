# SPDX-License-Identifier: MIT
# The engines: sources for this processor, and the flags of each file. Include this in the directory that defines the
# target (the flags of a file apply only there), and give it SIDRA_ENGINE_SOURCES. Only the SIMD files get instruction
# set flags, and find.cpp checks the CPU before any of them runs: the rest must run on every machine.
# -ffp-contract=off: the compiler must not fuse a multiplication and an addition that numerics.h rounds separately.

set(_engine ${CMAKE_CURRENT_LIST_DIR})
set(SIDRA_ENGINE_SOURCES ${_engine}/find.cpp ${_engine}/helpers.cpp ${_engine}/host_engine.cpp ${_engine}/portable.cpp ${_engine}/scalar.cpp
    ${_engine}/sense_scalar.cpp ${_engine}/sort.cpp ${_engine}/staging.cpp)
set_source_files_properties(${SIDRA_ENGINE_SOURCES} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(_avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mprefer-vector-width=512)
    list(APPEND SIDRA_ENGINE_SOURCES ${_engine}/avx2.cpp ${_engine}/avx_vnni.cpp ${_engine}/avx512.cpp ${_engine}/avx512_mvm.cpp ${_engine}/amx.cpp
         ${_engine}/sense_avx2.cpp ${_engine}/sense_avx512.cpp)
    set_source_files_properties(${_engine}/avx2.cpp ${_engine}/sense_avx2.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-mavx2;-mfma")
    set_source_files_properties(${_engine}/avx_vnni.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-mavx2;-mfma;-mavxvnni")
    set_source_files_properties(${_engine}/sense_avx512.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-mavx512f")
    set_source_files_properties(${_engine}/avx512_mvm.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;${_avx512}")
    # Mixes the operations of two vectors that a function computes at a time, for which there are enough registers. Clang does so by itself.
    set_source_files_properties(${_engine}/avx512.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;${_avx512};$<$<CXX_COMPILER_ID:GNU>:-fschedule-insns>")
    set_source_files_properties(${_engine}/amx.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;${_avx512};-mamx-tile;-mamx-int8;-mxsave")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND SIDRA_ENGINE_SOURCES ${_engine}/neon.cpp ${_engine}/neon_dot.cpp ${_engine}/sense_neon.cpp)
    set_source_files_properties(${_engine}/neon.cpp ${_engine}/sense_neon.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
    set_source_files_properties(${_engine}/neon_dot.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-march=armv8.2-a+dotprod")
endif()
