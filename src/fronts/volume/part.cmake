# The plug-in of nbdkit, where its header is installed.
find_package(PkgConfig REQUIRED)
if(SLUICE_OPTIONAL)
  pkg_check_modules(NBDKIT IMPORTED_TARGET nbdkit)
  if(NBDKIT_FOUND)
    add_library(sluice_nbdkit MODULE ${CMAKE_CURRENT_LIST_DIR}/nbdkit/main.cc)
    target_link_libraries(sluice_nbdkit PRIVATE ${PART} PkgConfig::NBDKIT)
    set_target_properties(sluice_nbdkit PROPERTIES PREFIX "" OUTPUT_NAME nbdkit-sluice-plugin
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  endif()
endif()
