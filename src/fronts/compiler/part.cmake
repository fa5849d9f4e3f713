# The plug-in needs GCC's headers and is loaded by GCC itself, which can take no sanitizer; without it there are the
# stub, and tests that say why they were skipped.
get_target_property(all ${PART} SOURCES)
set(plugin_sources ${all})
list(FILTER plugin_sources INCLUDE REGEX "/compiler/gcc/")
list(FILTER all EXCLUDE REGEX "/compiler/gcc/")
set_property(TARGET ${PART} PROPERTY SOURCES ${all})

file(GLOB stub_sources CONFIGURE_DEPENDS ${folder}/stub/*.c)
add_library(sluice_stub STATIC ${stub_sources})
target_include_directories(sluice_stub PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(sluice_stub PRIVATE sluice_flags)
# It becomes part of other people's programs, whatever we are built for.
set_source_files_properties(${stub_sources} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O2;-g0")
set_target_properties(sluice_stub PROPERTIES OUTPUT_NAME sluice-stub C_VISIBILITY_PRESET hidden
                      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

set(plugin_headers "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT SLUICE_SANITIZE)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=plugin OUTPUT_VARIABLE plugin_headers
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(EXISTS "${plugin_headers}/include/gcc-plugin.h")
  # MODULE: nobody links with it. -fPLUGIN-arg-NAME-... takes the name of the file, so that it is not libsluice.
  add_library(sluice_plugin MODULE ${plugin_sources})
  target_include_directories(sluice_plugin SYSTEM PRIVATE ${plugin_headers}/include)
  target_link_libraries(sluice_plugin PRIVATE ${PART})
  # GCC has no type information, so that nothing may ask for that of its classes. Its own inline functions are seen as
  # dereferencing null, which a system header does not excuse.
  set_source_files_properties(${plugin_sources} PROPERTIES COMPILE_OPTIONS "-fno-rtti;-Wno-null-dereference")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/plugin.map
       CONTENT "{ global: plugin_init; plugin_is_GPL_compatible; local: *; };\n" @ONLY)
  target_link_options(sluice_plugin PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--as-needed
                      -Wl,--version-script=${CMAKE_BINARY_DIR}/generated/plugin.map)
  set_target_properties(sluice_plugin PROPERTIES PREFIX "" OUTPUT_NAME sluice
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/sluice)
else()
  message(STATUS "GCC 12 with its plug-in headers (gcc-12-plugin-dev), without sanitizers: no. No compiler plug-in")
endif()
