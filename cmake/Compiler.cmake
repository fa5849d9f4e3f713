# How everything is compiled: standard, warnings, sanitizers, ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(sluice_flags INTERFACE)
target_compile_definitions(sluice_flags INTERFACE SLUICE_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
  -Wformat=2 -Wundef -Wnull-dereference -Wdouble-promotion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wextra-semi>
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>
  $<$<BOOL:${SLUICE_WERROR}>:-Werror>)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
  if(SLUICE_SANITIZE STREQUAL thread)
    target_compile_options(sluice_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)  # it does not know fences
  endif()
endif()
