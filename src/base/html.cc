#include "base/html.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {

std::string html_page(std::string_view title, std::span<const Fact> facts, std::string_view svg) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n<style>\n"
      "body {{ font-family: sans-serif; margin: 2em auto; padding: 0 1em; max-width: 860px; color: #202020; "
      "background: #ffffff; }}\n"
      "table {{ border-collapse: collapse; margin-bottom: 2em; }}\n"
      "th, td {{ text-align: left; vertical-align: top; padding: 0.25em 1em 0.25em 0; "
      "border-bottom: 1px solid #e0e0e0; }}\n"
      "th {{ font-weight: normal; color: #606060; white-space: nowrap; }}\n"
      "td {{ overflow-wrap: anywhere; }}\n"
      "svg {{ max-width: 100%; height: auto; }}\n"
      "</style>\n</head>\n<body>\n<h1>{0}</h1>\n<table>\n",
      escape_xml(title));
  for (const Fact& fact : facts) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_xml(fact.name), escape_xml(fact.value));
  }
  return out + fmt::format("</table>\n{}</body>\n</html>\n", svg);
}

}  // namespace sluice
