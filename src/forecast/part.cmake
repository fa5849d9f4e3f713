find_package(Threads REQUIRED)
target_link_libraries(${PART} PRIVATE Threads::Threads)
