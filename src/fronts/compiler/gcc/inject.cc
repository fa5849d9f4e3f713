#include "fronts/compiler/gcc/inject.h"

#include <vector>

#include "fronts/compiler/gcc/calls.h"
//
#include "fronts/compiler/gcc/headers.inc"

namespace sluice {
namespace {

tree char_pointer() {
  return build_pointer_type(build_qualified_type(char_type_node, TYPE_QUAL_CONST));
}

// Statements before a call, in its place of the source. The function is lowered and not in SSA form yet.
class Before {
 public:
  explicit Before(gcall* call) : at_(gsi_for_stmt(call)), location_(gimple_location(call)) {}

  tree assign(tree type, tree_code code, tree left, tree right = NULL_TREE) {
    tree out = create_tmp_var(type, "sluice");
    insert(right != NULL_TREE ? gimple_build_assign(out, code, left, right)
                              : gimple_build_assign(out, code, left));
    return out;
  }

  tree call(tree function, const std::vector<tree>& arguments) {
    tree out = create_tmp_var(TREE_TYPE(TREE_TYPE(function)), "sluice");
    vec<tree> list = vNULL;
    for (tree argument : arguments) {
      list.safe_push(argument);
    }
    gcall* statement = gimple_build_call_vec(function, list);
    list.release();
    gimple_call_set_lhs(statement, out);
    gimple_call_set_nothrow(statement, true);
    insert(statement);
    return out;
  }

  tree as_number(tree value) {
    if (TREE_CODE(value) == INTEGER_CST) {
      return fold_convert(long_unsigned_type_node, value);
    }
    return assign(long_unsigned_type_node, NOP_EXPR, value);
  }

 private:
  void insert(gimple* statement) {
    gimple_set_location(statement, location_);
    gsi_insert_before(&at_, statement, GSI_SAME_STMT);
  }

  gimple_stmt_iterator at_;
  location_t location_;
};

tree declare(const char* name, tree type) {
  tree out = build_fn_decl(name, type);
  SET_DECL_ASSEMBLER_NAME(out, get_identifier(name));
  TREE_NOTHROW(out) = 1;
  return out;
}

tree stub(bool link, bool in_folder) {
  tree text = char_pointer();
  if (in_folder) {
    return declare(link ? "sluice_stub_linkat" : "sluice_stub_pathat",
                   build_function_type_list(text, integer_type_node, text, text, integer_type_node,
                                            long_unsigned_type_node, NULL_TREE));
  }
  return declare(
      link ? "sluice_stub_link" : "sluice_stub_path",
      build_function_type_list(text, text, text, integer_type_node, long_unsigned_type_node, NULL_TREE));
}

// The bytes of a std::string or std::filesystem::path: in libstdc++ the pointer to them is their first
// member.
tree bytes_of(Before& before, tree object) {
  tree any = build_pointer_type_for_mode(char_pointer(), VOIDmode, true);  // may alias anything
  return before.assign(char_pointer(), MEM_REF,
                       build2(MEM_REF, char_pointer(), object, build_int_cst(any, 0)));
}

// The stream's function that takes a const char*, which libstdc++ has compiled. The one that takes an object
// does no more than to call it.
void call_with_chars(gcall* call, const OpeningCall& about) {
  tree old = gimple_call_fndecl(call);
  tree symbol = get_identifier(about.instead.c_str());
  symtab_node* known = symtab_node::get_for_asmname(symbol);
  tree function = NULL_TREE;
  if (known != nullptr && TREE_CODE(known->decl) == FUNCTION_DECL) {
    function = known->decl;
  } else {
    tree arguments = NULL_TREE;
    for (unsigned i = gimple_call_num_args(call); i-- > 0;) {
      tree type = i == about.path ? char_pointer() : TREE_TYPE(gimple_call_arg(call, i));
      arguments = tree_cons(NULL_TREE, type, arguments == NULL_TREE ? void_list_node : arguments);
    }
    function =
        build_fn_decl(about.instead.c_str(), build_function_type(TREE_TYPE(TREE_TYPE(old)), arguments));
    SET_DECL_ASSEMBLER_NAME(function, symbol);
    TREE_NOTHROW(function) = 0;  // as build_fn_decl() has it otherwise
  }
  gimple_call_set_fndecl(call, function);
  gimple_call_set_fntype(call, TREE_TYPE(function));
}

}  // namespace

void inject(gcall* call, const OpeningCall& about, const Injection& what) {
  Before before(call);
  tree path = gimple_call_arg(call, about.path);
  if (!about.instead.empty()) {
    path = bytes_of(before, path);
  }
  tree detail = build_int_cst(long_unsigned_type_node, static_cast<HOST_WIDE_INT>(about.always));
  if (about.detail != no_argument) {
    tree said = before.as_number(gimple_call_arg(call, about.detail));
    detail = about.always != 0 ? before.assign(long_unsigned_type_node, BIT_IOR_EXPR, said, detail) : said;
  }
  std::vector<tree> arguments = {
      path, build_string_literal(static_cast<unsigned>(what.text.size() + 1), what.text.c_str()),
      build_int_cst(integer_type_node, static_cast<int>(about.how)), detail};
  if (about.folder != no_argument) {
    arguments.insert(arguments.begin(), gimple_call_arg(call, about.folder));
  }
  tree other = before.call(stub(what.link, about.folder != no_argument), arguments);
  gimple_call_set_arg(call, about.path, other);
  if (!about.instead.empty()) {
    call_with_chars(call, about);
  }
  update_stmt(call);
}

}  // namespace sluice
