// The plug-in for GCC: reads its arguments and says when GCC is to call the rest.
#include <string>
#include <string_view>

#include "fronts/compiler/gcc/match.h"
#include "fronts/compiler/gcc/pragmas.h"
#include "fronts/compiler/gcc/settings.h"
//
#include "fronts/compiler/gcc/headers.inc"

extern "C" {
__attribute__((visibility("default"))) int plugin_is_GPL_compatible = 1;
}

namespace sluice {

Settings& settings() {
  static Settings value;
  return value;
}

namespace {

const pass_data about = {SIMPLE_IPA_PASS, "sluice", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

class Pass : public simple_ipa_opt_pass {
 public:
  explicit Pass(gcc::context* context) : simple_ipa_opt_pass(about, context) {}
  bool gate(function* /*unused*/) override { return !pragmas().empty(); }
  unsigned int execute(function* /*unused*/) override {
    apply_pragmas();
    return 0;
  }
};

bool read_argument(std::string_view key, std::string_view value) {
  if (key == "mode" && (value == "run" || value == "compile")) {
    settings().compile_time = value == "compile";
    return true;
  }
  if (key == "program" && !value.empty()) {
    settings().program = value;
    return true;
  }
  if (key == "opener") {
    auto opener = parse_opener(value);
    if (opener) {
      settings().openers.push_back(std::move(*opener));
      return true;
    }
    error("%<-fplugin-arg-sluice-opener%>: %s", opener.error().text().c_str());
    return false;
  }
  error(
      "%<-fplugin-arg-sluice-%s=%s%> is unknown; there are %<mode=run%>, %<mode=compile%>, "
      "%<opener=name:argument%> and %<program=PATH%>",
      std::string(key).c_str(), std::string(value).c_str());
  return false;
}

}  // namespace
}  // namespace sluice

__attribute__((visibility("default"))) int plugin_init(plugin_name_args* info, plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) {
    error("the plug-in %qs was built for GCC %s and this is GCC %s", info->full_name, gcc_version.basever,
          version->basever);
    return 1;
  }
  if (!sluice::reads_pragmas()) {
    return 0;
  }
  sluice::settings().plugin = info->full_name;
  for (int i = 0; i < info->argc; ++i) {
    const plugin_argument& argument = info->argv[i];
    if (!sluice::read_argument(argument.key, argument.value != nullptr ? argument.value : "")) {
      return 0;  // said; GCC stops by it
    }
  }
  static plugin_info text = {SLUICE_VERSION, "Reads #pragma sig and #pragma sigdef; see sluice-cc(1)."};
  register_callback(info->base_name, PLUGIN_INFO, nullptr, &text);
  register_callback(
      info->base_name, PLUGIN_PRAGMAS, [](void*, void*) { sluice::register_pragmas(); }, nullptr);
  // Every function is known and lowered there, none has been inlined, and what LTO writes comes later.
  register_pass_info pass = {new sluice::Pass(g), "*free_lang_data", 1, PASS_POS_INSERT_BEFORE};
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &pass);
  return 0;
}
