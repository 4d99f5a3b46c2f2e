# SPDX-License-Identifier: MIT
# Physics of the cells and their wires, as engines.cmake: include it in the directory that makes the target. No contraction: sums are
# fused where the source says so, so that all instruction sets give the same bits.

set(_physics ${CMAKE_CURRENT_LIST_DIR})
set(SIDRA_PHYSICS_SOURCES
    ${_physics}/cells.cpp ${_physics}/check.cpp ${_physics}/instruction_set.cpp ${_physics}/ispp.cpp ${_physics}/ispp_scalar.cpp
    ${_physics}/offset.cpp ${_physics}/readout.cpp ${_physics}/relax.cpp ${_physics}/relax_scalar.cpp ${_physics}/wires.cpp ${_physics}/wires_scalar.cpp)
set_source_files_properties(${SIDRA_PHYSICS_SOURCES} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

function(_sidra_physics_for set flags)
    foreach(part ispp relax wires)
        set_source_files_properties(${_physics}/${part}_${set}.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;${flags}")
        list(APPEND SIDRA_PHYSICS_SOURCES ${_physics}/${part}_${set}.cpp)
    endforeach()
    set(SIDRA_PHYSICS_SOURCES ${SIDRA_PHYSICS_SOURCES} PARENT_SCOPE)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    _sidra_physics_for(avx2 "-mavx2;-mfma")
    _sidra_physics_for(avx512 "-mavx512f")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    _sidra_physics_for(neon "")
endif()
