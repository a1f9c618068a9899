# One folder of the house = one static library troupe_<folder> made of all its .cpp files.
function(troupe_folder folder)
  cmake_parse_arguments(ARG "PROTO" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cpp$")
  troupe_isa_flags(${sources})
  if(ARG_PROTO)
    file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.proto)
    set(generated)
    foreach(proto ${protos})
      get_filename_component(stem ${proto} NAME_WE)
      set(out ${CMAKE_BINARY_DIR}/generated/${folder}/${stem}.pb)
      add_custom_command(OUTPUT ${out}.cc ${out}.h
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated/${folder}
        COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/generated
                -I${CMAKE_SOURCE_DIR} ${proto}
        DEPENDS ${protos})
      list(APPEND generated ${out}.cc)
    endforeach()
    add_library(troupe_${folder}_generated STATIC ${generated})
    target_include_directories(troupe_${folder}_generated
      SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
    target_link_libraries(troupe_${folder}_generated PUBLIC troupe::protobuf)
    list(APPEND ARG_LINK troupe_${folder}_generated)
  endif()
  if(sources)
    add_library(troupe_${folder} STATIC ${sources})
    target_link_libraries(troupe_${folder} PUBLIC troupe_flags ${ARG_LINK})
  else()
    add_library(troupe_${folder} INTERFACE)
    target_link_libraries(troupe_${folder} INTERFACE troupe_flags ${ARG_LINK})
  endif()
endfunction()

# tests/<folder>/*.cpp become the one binary test_<folder>, a ctest of the same name.
function(troupe_tests folder)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LINK;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${folder} ${sources} ${CMAKE_SOURCE_DIR}/tests/main.cpp)
  target_link_libraries(test_${folder} PRIVATE ${ARG_LINK})
  # Compiled once, run for seconds: tests gain nothing from a slow compilation.
  target_compile_options(test_${folder} PRIVATE -O1)
  target_compile_definitions(test_${folder} PRIVATE
    TROUPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TROUPE_BINARY_DIR="${CMAKE_BINARY_DIR}/bin")
  add_test(NAME ${folder} COMMAND test_${folder} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${folder} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
