find_package(PkgConfig REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
target_link_libraries(${PART} PUBLIC tl::expected fmt::fmt nlohmann_json::nlohmann_json
                      tomlplusplus::tomlplusplus)
