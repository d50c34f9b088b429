// Prefixes and numbers.
#include "core/dump/tensors/tensor_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>

namespace hloscope::dump {
namespace {

constexpr std::string_view kLeafPrefix = "value[";  // as NamedValue calls leaves of a literal
constexpr std::array<std::string_view, 3> kInputs = {"in", "input_", "arr_"};
constexpr std::array<std::string_view, 3> kOutputs = {"out", "output_", "arr_"};

std::span<const std::string_view> PrefixesOf(TensorNames side) {
  return side == TensorNames::kInputs ? kInputs : kOutputs;
}

std::optional<int64_t> NumberFrom(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, problem] = std::from_chars(text.data(), end, number);
  if (text.empty() || text[0] == '-' || after != end || problem != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<TensorNumber> TensorNumberOf(std::string_view name, TensorNames side) {
  TensorNumber found;
  if (const size_t at = name.find('@'); at != std::string_view::npos) {
    const std::optional<int64_t> device = NumberFrom(name.substr(at + 1));
    if (!device) return std::nullopt;
    found.device = *device;
    name = name.substr(0, at);
  }
  for (const std::string_view prefix : PrefixesOf(side)) {
    if (name.starts_with(prefix)) {
      if (const auto number = NumberFrom(name.substr(prefix.size()))) {
        found.number = *number;
        return found;
      }
    }
    ++found.rank;
  }
  return std::nullopt;
}

bool NameSameTensor(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto number_of = [](std::string_view name,
                            TensorNames side) -> std::optional<TensorNumber> {
    if (name.starts_with(kLeafPrefix) && name.ends_with(']')) {
      name.remove_prefix(kLeafPrefix.size());
      name.remove_suffix(1);
      const auto leaf = NumberFrom(name);
      return leaf ? std::optional(TensorNumber{.number = *leaf}) : std::nullopt;
    }
    return TensorNumberOf(name, side);
  };
  for (const TensorNames side : {TensorNames::kOutputs, TensorNames::kInputs}) {
    const auto of_a = number_of(a, side), of_b = number_of(b, side);
    if (of_a && of_b && of_a->number == of_b->number && of_a->device == of_b->device) return true;
  }
  return false;
}

std::vector<std::string> NamesOfTensor(TensorNames side, int64_t leaf, int64_t array) {
  std::vector<std::string> names;
  for (const std::string_view prefix : PrefixesOf(side)) {
    names.push_back(fmt::format("{}{}", prefix, prefix == "arr_" ? array : leaf));
  }
  return names;
}

}  // namespace hloscope::dump
