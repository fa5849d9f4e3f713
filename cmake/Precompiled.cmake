# What most sources include anyway is compiled once for all parts that are compiled alike. A source still includes all
# that it uses: the preset minimal builds without (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON), and headers that are compiled
# alone (SLUICE_HEADERS) have none of it.
set(SLUICE_STANDARD_HEADERS <algorithm> <array> <atomic> <cerrno> <cstdint> <cstdio> <cstring> <span> <string_view>)
set(SLUICE_COMMON_HEADERS ${SLUICE_STANDARD_HEADERS} <cmath> <functional> <map> <memory> <optional> <set> <string>
    <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)

# The program's verbs all make JSON, whose definition is as long as everything else.
target_precompile_headers(sluice_cli PRIVATE ${SLUICE_COMMON_HEADERS} <nlohmann/json.hpp>)
# What is preloaded is compiled without exceptions. It may need nothing but libc: these make no code by themselves.
target_precompile_headers(sluice_pipeline PRIVATE ${SLUICE_STANDARD_HEADERS})
target_precompile_headers(sluice_stages REUSE_FROM sluice_pipeline)
target_precompile_headers(sluice_fronts_preload REUSE_FROM sluice_pipeline)
target_precompile_headers(sluice_base PRIVATE ${SLUICE_COMMON_HEADERS})
foreach(part IN LISTS SLUICE_PARTS)
  string(REPLACE "/" "_" target sluice_${part})
  get_target_property(own ${target} PRECOMPILE_HEADERS)
  get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(NOT own AND NOT reused)
    target_precompile_headers(${target} REUSE_FROM sluice_base)
  endif()
endforeach()
