# A stage is a folder here with a file of its name that defines `stage_NAME`; stages.inc lists them, so that none is
# named twice.
file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/src/stages/*)
set(lines "")
foreach(folder IN LISTS folders)
  if(IS_DIRECTORY ${folder})
    cmake_path(GET folder FILENAME name)
    string(REPLACE "-" "_" name ${name})
    string(APPEND lines "SLUICE_STAGE(${name})\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/stages.inc CONTENT "${lines}" @ONLY)
target_include_directories(${PART} PRIVATE ${CMAKE_BINARY_DIR}/generated)
# A thread that is cancelled is unwound through these, by whatever unwinder the program has.
target_compile_options(${PART} PRIVATE -fno-exceptions)
