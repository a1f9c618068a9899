# Flags that every file of ours is compiled with. -ffp-contract=off is part of the numerics
# (docs/numerics.md section 1): gcc would otherwise fuse multiply and add where the target has FMA.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Sanitizers need lines, not every variable; half the optimisation compiles in half the time.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
add_library(troupe_flags INTERFACE)
target_compile_options(troupe_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off -fno-math-errno
  # GCC's -Wconversion leaves signs alone in C++; both compilers shall want the same.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
target_include_directories(troupe_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_include_directories(troupe_flags SYSTEM INTERFACE ${CMAKE_SOURCE_DIR}/third_party)

if(TROUPE_SANITIZE)
  add_compile_options(-fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TROUPE_SANITIZE})
  if(TROUPE_SANITIZE MATCHES "undefined")
    # CAF 0.17 binds null references in init_fun_factory.hpp.
    add_compile_options(-fno-sanitize=null -fno-sanitize-recover=undefined)
  endif()
endif()

if(TROUPE_FUZZ)
  # The fuzzer has to see which branches of the parsers an input reached.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Code that no fuzzer is led through: counting its branches makes kernels take five times as long to
# compile.
function(troupe_without_coverage target)
  if(TROUPE_FUZZ)
    target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

find_program(CCACHE ccache)
if(CCACHE)
  # Without this sloppiness ccache leaves every file alone that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# Compiles up to ten files of a folder as one: from nothing, most of the time goes into headers. Off
# for those who work on the code and compile one file again and again.
option(TROUPE_UNITY "Compile several files of a folder as one" OFF)
function(troupe_unity target)
  if(TROUPE_UNITY)
    # A local name may be that of something in another file of the batch.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10
      UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  endif()
endfunction()

# Precompiles headers that are not ours: the compiler spends more time in CAF, JSON and the standard
# library than in our files. With clang nothing is precompiled, so a file that lacks an include of
# its own is found there.
option(TROUPE_PRECOMPILE "Precompile the headers of libraries (GCC)" ON)
set(TROUPE_STANDARD_HEADERS <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <filesystem>
  <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <utility>
  <vector>)
function(troupe_precompile target)
  if(TROUPE_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess -Winvalid-pch)
    target_precompile_headers(${target} PRIVATE ${TROUPE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# Files named after an instruction set (*_avx2.cpp) are compiled for it and are called only after
# the CPU was asked. Sanitized, kernels are without the checks of each address that make clang
# compile one for ten minutes instead of twenty seconds: ASan sees what lies outside of memory.
function(troupe_isa_flags)
  if(TROUPE_SANITIZE)
    foreach(file ${ARGN})
      if(file MATCHES "/kernels_")
        set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
          "-fno-sanitize=alignment,object-size,pointer-overflow,bounds")
      endif()
    endforeach()
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    foreach(file ${ARGN})
      if(file MATCHES "_neon\\.cpp$")
        set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-march=armv8.2-a+dotprod")
      endif()
    endforeach()
    return()
  endif()
  foreach(file ${ARGN})
    if(file MATCHES "_avx2\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    elseif(file MATCHES "_avxvnni\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
        "-mavxvnni;-mavx2;-mfma;-mf16c")
    elseif(file MATCHES "_avx512\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mavx2;-mfma;-mf16c")
    elseif(file MATCHES "_shani\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-msha;-msse4.1;-mssse3")
    elseif(file MATCHES "_vpclmul\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
        "-mvpclmulqdq;-mpclmul;-mavx2;-msse4.2")
    elseif(file MATCHES "_sse42\\.cpp$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-msse4.2")
    endif()
  endforeach()
endfunction()

# The kernels of other machines are not compiled at all.
function(troupe_leave_out_kernels variable)
  set(kept ${${variable}})
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(FILTER kept EXCLUDE REGEX "/kernels_avx[0-9a-z]*\\.cpp$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(FILTER kept EXCLUDE REGEX "/kernels_neon\\.cpp$")
  endif()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()
