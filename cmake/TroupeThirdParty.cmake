# Libraries of the distribution, each behind a target of ours. Headers are SYSTEM: their warnings
# are not ours.
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(NCURSES REQUIRED ncursesw)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
find_package(yaml-cpp REQUIRED)

add_library(troupe::pcre2 INTERFACE IMPORTED)
target_link_libraries(troupe::pcre2 INTERFACE PkgConfig::PCRE2)
add_library(troupe::lzma INTERFACE IMPORTED)
target_link_libraries(troupe::lzma INTERFACE PkgConfig::LZMA)
add_library(troupe::prometheus INTERFACE IMPORTED)
target_link_libraries(troupe::prometheus INTERFACE PkgConfig::PROMETHEUS)
add_library(troupe::ncurses INTERFACE IMPORTED)
# Without its compile flags: they would choose another C library interface for whole folders.
target_link_libraries(troupe::ncurses INTERFACE ${NCURSES_LINK_LIBRARIES})
add_library(troupe::protobuf INTERFACE IMPORTED)
target_link_libraries(troupe::protobuf INTERFACE protobuf::libprotobuf)
add_library(troupe::openssl INTERFACE IMPORTED)
target_link_libraries(troupe::openssl INTERFACE OpenSSL::SSL OpenSSL::Crypto)
add_library(troupe::cli11 INTERFACE IMPORTED)
target_link_libraries(troupe::cli11 INTERFACE CLI11::CLI11)
add_library(troupe::yaml INTERFACE IMPORTED)
target_link_libraries(troupe::yaml INTERFACE yaml-cpp)

# Headers alone: Asio and Beast.
find_path(BOOST_INCLUDE_DIR boost/beast.hpp REQUIRED)
add_library(troupe::boost INTERFACE IMPORTED)
target_include_directories(troupe::boost INTERFACE ${BOOST_INCLUDE_DIR})

# UCX: the system's, or another one with -DUCX_ROOT=.
find_path(UCX_INCLUDE_DIR ucp/api/ucp.h HINTS ${UCX_ROOT}/include REQUIRED)
find_library(UCP_LIBRARY ucp HINTS ${UCX_ROOT}/lib REQUIRED)
find_library(UCS_LIBRARY ucs HINTS ${UCX_ROOT}/lib REQUIRED)
add_library(troupe::ucp INTERFACE IMPORTED)
target_include_directories(troupe::ucp INTERFACE ${UCX_INCLUDE_DIR})
target_link_libraries(troupe::ucp INTERFACE ${UCP_LIBRARY} ${UCS_LIBRARY})

# Debian's libcaf-dev has neither a CMake package nor a pkg-config file.
find_path(CAF_INCLUDE_DIR caf/all.hpp REQUIRED)
add_library(troupe::caf INTERFACE IMPORTED)
target_include_directories(troupe::caf INTERFACE ${CAF_INCLUDE_DIR})
foreach(part openssl io core)
  find_library(CAF_${part}_LIBRARY caf_${part} REQUIRED)
  target_link_libraries(troupe::caf INTERFACE ${CAF_${part}_LIBRARY})
endforeach()
target_link_libraries(troupe::caf INTERFACE Threads::Threads OpenSSL::SSL OpenSSL::Crypto)
