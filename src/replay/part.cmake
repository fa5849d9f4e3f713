target_compile_definitions(${PART} PRIVATE SLUICE_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
