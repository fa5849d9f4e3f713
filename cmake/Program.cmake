# What users get: the program, the shared library, and the pages that the program writes about itself.

# A verb is a file in src/cli/verbs, lab-up.cc for `sluice lab up`; verbs.inc lists them for main, so that no
# verb is named twice.
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/verbs/*.cc)
list(FILTER files EXCLUDE REGEX "_test\\.cc$")
set(SLUICE_VERBS "")
set(lines "")
foreach(file IN LISTS files)
  cmake_path(GET file STEM verb)
  list(APPEND SLUICE_VERBS ${verb})
endforeach()
list(SORT SLUICE_VERBS)
foreach(verb IN LISTS SLUICE_VERBS)
  string(REPLACE "-" "_" name ${verb})
  string(APPEND lines "SLUICE_VERB(${name})\n")
endforeach()
# CONFIGURE writes only when the content changed: a new configuration alone must not recompile.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/verbs.inc CONTENT "${lines}" @ONLY)
target_include_directories(sluice_cli PUBLIC ${CMAKE_BINARY_DIR}/generated)

add_executable(sluice ${CMAKE_SOURCE_DIR}/src/cli/main.cc)
target_link_libraries(sluice PRIVATE sluice_cli)

# What `sluice replay` has the operations of a trace done by: small, so that it forks as quickly as programs do.
add_executable(sluice_replay_program ${CMAKE_SOURCE_DIR}/src/replay/main.cc)
target_link_libraries(sluice_replay_program PRIVATE sluice_replay)
set_target_properties(sluice_replay_program PROPERTIES OUTPUT_NAME sluice-replay)
add_dependencies(sluice sluice_replay_program)

# The objects themselves and not the archive, whose members nobody refers to would be dropped.
add_library(sluice_shared SHARED $<TARGET_OBJECTS:sluice_fronts_api>)
target_link_libraries(sluice_shared PRIVATE sluice_fronts_api)
target_include_directories(sluice_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(sluice_shared INTERFACE cxx_std_17)  # what the C++ headers need
# Hidden visibility does not reach the templates of libraries that we instantiate; the version script does.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/sluice.map
     CONTENT "SLUICE_${PROJECT_VERSION_MAJOR} { global: sluice_*; local: *; };\n" @ONLY)
target_link_options(sluice_shared PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/generated/sluice.map)
if(NOT SLUICE_SANITIZE)  # whose run-time symbols come from the program
  target_link_options(sluice_shared PRIVATE -Wl,-z,defs)
endif()
set_target_properties(sluice_shared PROPERTIES OUTPUT_NAME sluice EXPORT_NAME sluice LINKER_LANGUAGE CXX
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# What stands between other programs and libc: their own libraries are theirs, so it brings its C++ along, shows
# nothing but the functions it stands in for, and needs libc alone.
add_library(sluice_preload SHARED $<TARGET_OBJECTS:sluice_fronts_preload> $<TARGET_OBJECTS:sluice_stages>
            $<TARGET_OBJECTS:sluice_pipeline>)
target_link_libraries(sluice_preload PRIVATE sluice_flags)
target_link_options(sluice_preload PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--as-needed
                    -Wl,-z,now -Wl,--wrap=syscall)
set_target_properties(sluice_preload PROPERTIES OUTPUT_NAME sluice-preload LINKER_LANGUAGE CXX)
add_dependencies(sluice sluice_preload)

# The program writes its own manual and completion, from the table of options that it parses with. It runs
# in an empty environment and configuration: those of whoever builds must not end up in them.
set(SLUICE_MAN_FOLDER ${CMAKE_BINARY_DIR}/share/man/man1)
set(SLUICE_COMPLETION ${CMAKE_BINARY_DIR}/share/bash-completion/completions/sluice)
file(MAKE_DIRECTORY ${SLUICE_MAN_FOLDER} ${CMAKE_BINARY_DIR}/share/bash-completion/completions)
function(sluice_add_page output)
  add_custom_command(OUTPUT ${output} DEPENDS sluice VERBATIM COMMENT "Writing ${output}"
                     COMMAND env -i LC_ALL=C.UTF-8 $<TARGET_FILE:sluice> help --config=/dev/null ${ARGN} > ${output})
endfunction()
set(SLUICE_MAN_PAGES ${SLUICE_MAN_FOLDER}/sluice.1)
sluice_add_page(${SLUICE_MAN_FOLDER}/sluice.1 --man)
foreach(verb IN LISTS SLUICE_VERBS)
  string(REGEX REPLACE "^([^-]*)-(.*)$" "\\1;\\2" words ${verb})  # volume-add-tier: "volume add-tier"
  sluice_add_page(${SLUICE_MAN_FOLDER}/sluice-${verb}.1 --man ${words})
  list(APPEND SLUICE_MAN_PAGES ${SLUICE_MAN_FOLDER}/sluice-${verb}.1)
endforeach()
sluice_add_page(${SLUICE_COMPLETION} --completion)

# The wrappers of compilers: one script and one page, under two names.
set(SLUICE_WRAPPERS "")
function(sluice_add_wrapper NAME COMPILER VARIABLE SOURCE OBJECT)
  set(folder ${CMAKE_SOURCE_DIR}/src/fronts/compiler)
  string(TOUPPER ${NAME} NAME_UPPER)
  configure_file(${folder}/sluice-cc ${CMAKE_BINARY_DIR}/bin/${NAME} COPYONLY)
  configure_file(${folder}/sluice-cc.1.in ${SLUICE_MAN_FOLDER}/${NAME}.1 @ONLY)
  set(SLUICE_WRAPPERS ${SLUICE_WRAPPERS} ${CMAKE_BINARY_DIR}/bin/${NAME} PARENT_SCOPE)
  set(SLUICE_MAN_PAGES ${SLUICE_MAN_PAGES} ${SLUICE_MAN_FOLDER}/${NAME}.1 PARENT_SCOPE)
endfunction()
sluice_add_wrapper(sluice-cc gcc SLUICE_CC program.c program.o)
sluice_add_wrapper(sluice-c++ g++ SLUICE_CXX program.cc program.o)

add_custom_target(pages ALL DEPENDS ${SLUICE_MAN_PAGES} ${SLUICE_COMPLETION})
