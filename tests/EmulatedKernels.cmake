# The tests of cpu/ once more, with the AVX-VNNI kernels emulated, and the AVX-512 kernels by SIMDe,
# where it is installed. Not on other machines, and not with ThreadSanitizer: it takes very long
# over the emulation, which has no threads of its own.
find_path(SIMDE_INCLUDE_DIR simde/x86/avx512.h)
if(SIMDE_INCLUDE_DIR AND NOT TROUPE_SANITIZE STREQUAL "thread"
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  file(GLOB kernel_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cpu/*.cpp)
  # Thousands of plans are for kernels that run at their own speed.
  list(FILTER kernel_tests EXCLUDE REGEX "/differential_test\\.cpp$")
  set(emulated ${CMAKE_CURRENT_SOURCE_DIR}/emulated/avx512_avx2.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/emulated/avxvnni_avx2.cpp)
  # Vectors of 64 bytes travel as structs on both sides of each call here: the ABI note is moot.
  set_source_files_properties(${emulated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "-mavx2;-mfma;-mf16c;-Wno-psabi")
  add_executable(test_cpu_emulated emulated/isa.cpp ${emulated} ${kernel_tests})
  target_include_directories(test_cpu_emulated SYSTEM PRIVATE ${SIMDE_INCLUDE_DIR})
  target_link_libraries(test_cpu_emulated PRIVATE troupe_cpu troupe_tests_main)
  target_compile_options(test_cpu_emulated PRIVATE -O1)
  troupe_precompile_tests(test_cpu_emulated)
  add_test(NAME cpu_emulated COMMAND test_cpu_emulated WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(cpu_emulated PROPERTIES TIMEOUT 600)
endif()
