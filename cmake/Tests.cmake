# Nothing registers a test: files are found by where they lie. tests/README.md says where, and
# tests/checks/every-test-runs proves that none was missed.
find_package(GTest REQUIRED)  # libgtest-dev; -DSLUICE_TESTS=OFF builds without

# Beside the code, src/<part>/**/*_test.cc: one executable and one ctest test a part. A process for every
# single test case would cost more in start-up than the cases take. All are compiled alike, so the first
# has their headers precompiled for all of them (see Precompiled).
set(first_test "")
foreach(part IN LISTS SLUICE_PARTS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${part}/*_test.cc)
  if(sources)
    string(REPLACE "/" "_" name ${part})
    add_executable(${name}_test ${sources})
    target_link_libraries(${name}_test PRIVATE sluice_${name} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                               SLUICE_PROGRAM="$<TARGET_FILE:sluice>")
    # Optimizing the tests themselves takes longer than it saves.
    target_compile_options(${name}_test PRIVATE -O0)
    if(first_test)
      target_precompile_headers(${name}_test REUSE_FROM ${first_test})
    else()
      set(first_test ${name}_test)
      target_precompile_headers(${first_test} PRIVATE ${SLUICE_COMMON_HEADERS} <filesystem> <fstream> <random>
                                <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    add_dependencies(${name}_test sluice)
    add_test(NAME unit:${part} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(unit:${part} PROPERTIES TIMEOUT 600 COST 600)
  endif()
endforeach()

# What cases need that is made of our own code, tests/tools/NAME.cc: bin/NAME.
file(GLOB tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tools/*.cc)
foreach(file IN LISTS tools)
  cmake_path(GET file STEM name)
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE sluice_report)
endforeach()

# What cases run that is written for them alone, tests/programs/<part>/<case>/NAME.c or NAME.cc: each is
# programs/<part>/<case>/NAME in the build. Nothing of ours is linked, and warnings do not count: these programs do
# what others do. A first line "// build: FLAG..." adds to how they are compiled.
file(GLOB programs CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests/programs
     ${CMAKE_SOURCE_DIR}/tests/programs/*/*/*.c ${CMAKE_SOURCE_DIR}/tests/programs/*/*/*.cc)
foreach(file IN LISTS programs)
  cmake_path(REMOVE_EXTENSION file LAST_ONLY OUTPUT_VARIABLE path)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET path FILENAME name)
  string(MAKE_C_IDENTIFIER "program/${path}" target)
  set(file ${CMAKE_SOURCE_DIR}/tests/programs/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} flags LIMIT_COUNT 1)
  if(NOT flags MATCHES "^// build: (.*)$")
    set(CMAKE_MATCH_1 "")
  endif()
  separate_arguments(flags UNIX_COMMAND "-O0 -g0 -w -UNDEBUG ${CMAKE_MATCH_1}")
  add_executable(${target} ${file})
  target_compile_options(${target} PRIVATE ${flags})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs/${folder})
endforeach()

# Every header compiles alone: a translation unit for each, with what its part may see. A fifth of the build,
# so scripts/check does it and scripts/test does not.
function(sluice_add_headers target part folder)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/${part}/*.h
       ${folder}/${part}/*.hpp)
  set(units "")
  foreach(header IN LISTS headers)
    set(languages cc)
    file(STRINGS ${folder}/${header} c REGEX "^extern \"C\" {")
    if(c)
      list(APPEND languages c)
    endif()
    foreach(language IN LISTS languages)
      set(unit ${CMAKE_BINARY_DIR}/generated/headers/${header}.${language})
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"  // NOLINT\n" @ONLY)
      list(APPEND units ${unit})
    endforeach()
  endforeach()
  if(units)
    add_library(${target} OBJECT ${units})
    target_include_directories(${target} PRIVATE ${folder})
    # A unit without code needs neither optimizing nor debug information.
    target_compile_options(${target} PRIVATE -O0 -g0)
    target_link_libraries(${target} PRIVATE ${ARGN})
  endif()
endfunction()
if(SLUICE_HEADERS)
  foreach(part IN LISTS SLUICE_PARTS)
    string(REPLACE "/" "_" name ${part})
    sluice_add_headers(${name}_headers ${part} ${CMAKE_SOURCE_DIR}/src sluice_${name})
  endforeach()
  sluice_add_headers(public_headers sluice ${CMAKE_SOURCE_DIR}/include sluice_flags)
endif()

# System tests: executable files that tests/run starts. Lines at their top say how:
#   # users: root user     as whom (default: whoever runs the tests); in brackets: labelled `double`, which
#                          scripts/test leaves out where root runs it
#   # timeout: 300         seconds (default 120)
#   # alone                while no other test runs
function(sluice_add_case name file)
  # A changed header line must count.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} header LIMIT_COUNT 20 REGEX "^# (users|timeout|alone)")
  set(limit 120)
  set(runs "")
  set(alone OFF)
  foreach(line IN LISTS header)
    if(line MATCHES "^# timeout: ([0-9]+)$")
      set(limit ${CMAKE_MATCH_1})
    elseif(line MATCHES "^# users: (root|user|root user|root \\(user\\))$")
      string(REPLACE " " ";" runs ${CMAKE_MATCH_1})
    elseif(line MATCHES "^# alone$")
      set(alone ON)
    else()
      message(FATAL_ERROR "${file}: cannot understand \"${line}\"")
    endif()
  endforeach()
  if(NOT runs)
    set(runs any)
  endif()
  # tests/run enforces the limit and cleans up; ctest's own is for a runner that hangs.
  math(EXPR outer "${limit} + 60")
  foreach(who IN LISTS runs)
    set(labels "")
    if(who STREQUAL "(user)")
      set(who user)
      set(labels double)
    endif()
    set(test ${name})
    set(as --as ${who})
    if(who STREQUAL "any")
      set(as "")
    elseif(who STREQUAL "user")
      string(APPEND test @user)
    endif()
    add_test(NAME ${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/run --build ${CMAKE_BINARY_DIR} ${as} ${file})
    # What may take longest starts first: a long case that starts last runs while a core has nothing to do.
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${outer} COST ${limit}
                         RUN_SERIAL ${alone} LABELS "${labels}")
  endforeach()
endfunction()

file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cases/*/* ${CMAKE_SOURCE_DIR}/tests/checks/*)
foreach(file IN LISTS files)
  execute_process(COMMAND test -f ${file} -a -x ${file} RESULT_VARIABLE unfit)
  if(unfit OR file MATCHES "\\.sh$")
    continue()
  endif()
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE name)
  string(REGEX REPLACE "^(case|check)s/" "\\1:" name ${name})
  sluice_add_case(${name} ${file})
endforeach()
