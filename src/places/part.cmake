# libblkid tells the UUID of a file system where the kernel does not; places do without it.
if(SLUICE_OPTIONAL)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(BLKID IMPORTED_TARGET blkid)
  if(BLKID_FOUND)
    target_compile_definitions(${PART} PRIVATE SLUICE_HAVE_BLKID)
    target_link_libraries(${PART} PRIVATE PkgConfig::BLKID)
  endif()
endif()
