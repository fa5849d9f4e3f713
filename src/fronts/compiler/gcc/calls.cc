#include "fronts/compiler/gcc/calls.h"

#include <fcntl.h>

#include "fronts/compiler/gcc/settings.h"
//
#include "fronts/compiler/gcc/headers.inc"

namespace sluice {
namespace {

std::string_view name_of(tree decl) {
  return decl != NULL_TREE && DECL_P(decl) && DECL_NAME(decl) != NULL_TREE
             ? IDENTIFIER_POINTER(DECL_NAME(decl))
             : std::string_view{};
}

// "space::Class::function"
std::string qualified_name(tree decl) {
  std::string out(name_of(decl));
  for (tree around = DECL_CONTEXT(decl); around != NULL_TREE;) {
    tree named = TYPE_P(around) ? TYPE_NAME(around) : around;
    if (named == NULL_TREE || !DECL_P(named) || TREE_CODE(named) == TRANSLATION_UNIT_DECL ||
        name_of(named) == "::" || name_of(named).empty()) {
      break;
    }
    out = std::string(name_of(named)) + "::" + out;
    around = DECL_CONTEXT(named);
  }
  return out;
}

bool is_char_pointer(tree type) {
  return POINTER_TYPE_P(type) && TYPE_MAIN_VARIANT(TREE_TYPE(type)) == char_type_node;
}

// As declared: an argument itself may have lost conversions that mean nothing, such as that of a literal's
// array.
tree parameter_type(gcall* call, unsigned index) {
  tree list = TYPE_ARG_TYPES(TREE_TYPE(gimple_call_fndecl(call)));
  for (unsigned i = 0; i < index && list != NULL_TREE; ++i) {
    list = TREE_CHAIN(list);
  }
  return list != NULL_TREE && TREE_VALUE(list) != void_type_node ? TREE_VALUE(list)
                                                                 : TREE_TYPE(gimple_call_arg(call, index));
}

// libc's, and not a function of the program that has its name.
bool is_of_libc(tree function) {
  const tree around = DECL_CONTEXT(function);
  const bool outside = around == NULL_TREE || TREE_CODE(around) == TRANSLATION_UNIT_DECL ||
                       TREE_CODE(around) == NAMESPACE_DECL;
  return outside && TREE_PUBLIC(function) && TREE_CODE(TREE_TYPE(function)) == FUNCTION_TYPE &&
         !std::string_view(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function))).starts_with("_Z");
}

std::optional<OpeningCall> by_opener(const Opener& opener, gcall* call, tree function) {
  const bool method = TREE_CODE(TREE_TYPE(function)) == METHOD_TYPE;
  OpeningCall out{.path = opener.path + (method ? 1 : 0),
                  .how = opener.how,
                  .detail = opener.detail,
                  .folder = opener.folder,
                  .always = opener.creates ? static_cast<unsigned long>(O_CREAT | O_WRONLY | O_TRUNC) : 0,
                  .instead = {}};
  const unsigned given = gimple_call_num_args(call);
  if (opener.own) {
    out.no_char_path = out.path >= given || !is_char_pointer(parameter_type(call, out.path));
    return out;
  }
  const bool enough = out.path < given && (out.detail == no_argument || out.detail < given);
  if (!enough || !is_char_pointer(parameter_type(call, out.path))) {
    return std::nullopt;  // a program's own function of that name
  }
  return out;
}

// The path follows `this`, and in a constructor of a base class the table of virtual bases.
std::optional<OpeningCall> by_stream(const FileStream& stream, gcall* call) {
  for (unsigned i = 1; i + 1 < gimple_call_num_args(call); ++i) {
    tree type = parameter_type(call, i);
    const bool object = POINTER_TYPE_P(type) && TREE_CODE(TREE_TYPE(type)) == RECORD_TYPE;
    if (object || is_char_pointer(type)) {
      return OpeningCall{.path = i,
                         .how = How::openmode,
                         .detail = i + 1,
                         .always = stream.always,
                         .instead = object ? stream.with_char_path : std::string{}};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<OpeningCall> opening_call(gcall* call) {
  tree function = gimple_call_fndecl(call);
  const std::string_view name = name_of(function);
  if (name.empty()) {
    return std::nullopt;
  }
  for (const Opener& opener : settings().openers) {
    if (opener.name == name ||
        (opener.name.find(':') != std::string::npos && qualified_name(function) == opener.name)) {
      return by_opener(opener, call, function);
    }
  }
  for (const Opener& opener : known_openers()) {
    if (opener.name == name && is_of_libc(function)) {
      return by_opener(opener, call, function);
    }
  }
  if (TREE_CODE(TREE_TYPE(function)) == METHOD_TYPE) {
    if (const auto stream = find_stream(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function)))) {
      return by_stream(*stream, call);
    }
  }
  return std::nullopt;
}

SourcePosition where_used(SourceLocation location) {
  const location_t used =
      get_pure_location(linemap_resolve_location(line_table, location, LRK_MACRO_EXPANSION_POINT, nullptr));
  const expanded_location where = expand_location(used);
  return {
      .file = where.file != nullptr ? where.file : "",
      .position = {.line = static_cast<unsigned>(where.line), .column = static_cast<unsigned>(where.column)},
      .location = used};
}

}  // namespace sluice
