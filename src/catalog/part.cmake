find_package(SQLite3 REQUIRED)
target_link_libraries(${PART} PRIVATE SQLite::SQLite3)
