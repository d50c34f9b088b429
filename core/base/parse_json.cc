// Nesting is counted before a tree is made.
#include "core/base/parse_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/base/counted.h"
#include "core/base/json.h"
#include "core/base/memory_limit.h"

namespace hloscope {
namespace {

struct Extent {
  int64_t depth = 0;
  size_t values = 1;  // at most
};

// Counts brackets and commas outside of strings. In a text that is not JSON the counts may be off
// only behind the place where parsing stops.
Extent ExtentOf(std::string_view text) {
  Extent extent;
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      extent.depth = std::max(extent.depth, ++depth);
      ++extent.values;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++extent.values;
    }
  }
  return extent;
}

template <typename Tree>
Result<Tree> Parse(std::string_view text, const Limits& limits) {
  const Extent extent = ExtentOf(text);
  if (extent.depth > limits.nesting) {
    return InputError(fmt::format("JSON nested deeper than {}", Counted(limits.nesting, "level")),
                      "raise it with --limit nesting=N");
  }
  return WithinMemory(limits, "", [&]() -> Result<Tree> {
    constexpr bool kThrows = false;
    Tree tree = Tree::parse(text, nullptr, kThrows);
    if (tree.is_discarded()) return InputError("not JSON");
    // Its destructor, which must not fail, lists what is inside: there has to be room for that.
    const auto room = static_cast<int64_t>(2 * extent.values * sizeof(Tree));
    if (!MemoryLimit::Charge(room)) throw std::bad_alloc();
    MemoryLimit::TryCharge(-room);
    return tree;
  });
}

void AppendTree(std::string& out, const nlohmann::ordered_json& tree) {
  if (tree.is_string()) {
    out += JsonString(tree.get_ref<const std::string&>());
  } else if (!tree.is_structured()) {
    out += tree.dump();
  } else {
    out += tree.is_object() ? '{' : '[';
    const size_t first = out.size();
    for (const auto& [key, value] : tree.items()) {
      if (out.size() > first) out += ',';
      if (tree.is_object()) out += JsonString(key) + ':';
      AppendTree(out, value);
    }
    out += tree.is_object() ? '}' : ']';
  }
}

}  // namespace

std::string JsonText(const nlohmann::ordered_json& tree) {
  std::string out;
  AppendTree(out, tree);
  return out;
}

Result<nlohmann::json> ParseJson(std::string_view text, const Limits& limits) {
  return Parse<nlohmann::json>(text, limits);
}

Result<nlohmann::ordered_json> ParseOrderedJson(std::string_view text, const Limits& limits) {
  return Parse<nlohmann::ordered_json>(text, limits);
}

}  // namespace hloscope
