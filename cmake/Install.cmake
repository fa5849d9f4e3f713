# `cmake --install` gives a tree that people, CMake projects and pkg-config can use;
# tests/cases/install/consume does all three.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
install(TARGETS sluice)
install(TARGETS sluice_preload)
install(TARGETS sluice_replay_program DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice)
install(TARGETS sluice_shared EXPORT sluice)
install(TARGETS sluice_stub)
if(TARGET sluice_plugin)
  install(TARGETS sluice_plugin DESTINATION ${CMAKE_INSTALL_LIBDIR}/sluice)
endif()
install(PROGRAMS ${SLUICE_WRAPPERS} DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${SLUICE_MAN_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${SLUICE_COMPLETION} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/sluice)

install(EXPORT sluice NAMESPACE sluice:: FILE sluice-targets.cmake DESTINATION ${package})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/sluice-config.cmake.in sluice-config.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file(sluice-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sluice-config.cmake ${CMAKE_BINARY_DIR}/sluice-config-version.cmake
        ${CMAKE_SOURCE_DIR}/cmake/sluice-enable.cmake DESTINATION ${package})

# From sluice.pc back to the prefix.
file(RELATIVE_PATH SLUICE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/sluice.pc.in sluice.pc @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/cmake/sluice-compiler.pc.in sluice-compiler.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sluice.pc ${CMAKE_BINARY_DIR}/sluice-compiler.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
