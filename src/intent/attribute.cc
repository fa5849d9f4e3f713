#include "intent/attribute.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/reach.h"
#include "base/sys.h"
#include "base/text.h"

namespace sluice {

Result<std::optional<Statement>> attribute_statement(const std::string& path, const Sigdefs& sigdefs) {
  if (!answers(path, file_patience)) {
    return std::optional<Statement>{};
  }
  std::string text(65536, '\0');  // the kernel's limit for one value
  const ssize_t size = sys().getxattr(path.c_str(), intent_attribute, text.data(), text.size());
  const std::string origin = fmt::format("attribute {} of {}", intent_attribute, quote(path));
  if (size < 0) {
    return std::optional<Statement>{};
  }
  text.resize(static_cast<std::size_t>(size));
  auto intent = parse_intent(text, sigdefs);
  if (!intent) {
    return intent.error().error(origin);
  }
  return std::optional(Statement{
      .intent = std::move(*intent), .strength = Strength::attribute, .origin = origin, .literals = 0});
}

}  // namespace sluice
