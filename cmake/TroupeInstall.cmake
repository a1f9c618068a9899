# What `cmake --install` puts where: the binary, one static library with its public headers, a CMake
# package (find_package(Troupe), target Troupe::troupe), a pkg-config file, and the manifests.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folders' archives as one, so that a program links one library of ours.
set(parts base text model kv engine cpu schemas_generated schemas transport actors launch library)
set(archive ${CMAKE_BINARY_DIR}/lib/libtroupe.a)
set(script "create ${archive}\n")
set(targets)
foreach(part ${parts})
  string(APPEND script "addlib $<TARGET_FILE:troupe_${part}>\n")
  list(APPEND targets troupe_${part})
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/archive.mri CONTENT "${script}save\nend\n")
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} -M < ${CMAKE_BINARY_DIR}/archive.mri
  DEPENDS ${targets} ${CMAKE_BINARY_DIR}/archive.mri
  COMMENT "Joining the folders' archives into libtroupe.a"
  VERBATIM)
add_custom_target(troupe_archive ALL DEPENDS ${archive})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Troupe)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TroupeConfig.cmake.in
  ${CMAKE_BINARY_DIR}/TroupeConfig.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# Relative, so that `cmake --install --prefix` may put it elsewhere.
file(RELATIVE_PATH troupe_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/troupe.pc.in ${CMAKE_BINARY_DIR}/troupe.pc @ONLY)

install(TARGETS troupe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/troupe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
# The one header of the lower house that the public ones include.
install(FILES ${CMAKE_SOURCE_DIR}/base/result.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe/base)
install(FILES ${CMAKE_BINARY_DIR}/TroupeConfig.cmake ${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake
  DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/troupe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/deploy DESTINATION ${CMAKE_INSTALL_DATADIR}/troupe)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
