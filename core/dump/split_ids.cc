// A beginning without an end and an end without a beginning are one where their parameters agree.
#include "core/dump/split_ids.h"

#include <algorithm>
#include <charconv>

#include "core/hlo/element_type.h"

namespace hloscope::dump {
namespace {

int64_t NumberAt(std::string_view text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Passes over a group in braces that `text` begins with.
void SkipGroup(std::string_view& text) {
  size_t depth = 0, at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) break;
  }
  text.remove_prefix(std::min(at + 1, text.size()));
}

// `[8,<=16]`, from the bracket on.
std::vector<int64_t> TakeDimensions(std::string_view& text) {
  std::vector<int64_t> dimensions;
  const size_t end = std::min(text.find(']'), text.size());
  std::string_view list = text.substr(1, end - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_of("0123456789"), one.size()));
    dimensions.push_back(NumberAt(one));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return dimensions;
}

// Into how many parts a dimension may be cut.
std::vector<int64_t> DivisorsOf(int64_t partitions) {
  std::vector<int64_t> divisors;
  for (int64_t k = 2; k <= partitions; ++k) {
    if (partitions % k == 0) divisors.push_back(k);
  }
  return divisors;
}

bool MayBecome(const EntryArrays::Array& before, const EntryArrays::Array& after,
               std::span<const int64_t> cuts) {
  if (before.type != after.type || before.dimensions.size() != after.dimensions.size())
    return false;
  for (size_t d = 0; d < before.dimensions.size(); ++d) {
    const int64_t whole = before.dimensions[d], part = after.dimensions[d];
    const bool fits = whole == part || std::ranges::any_of(cuts, [&](int64_t k) {
                        return whole / k + (whole % k == 0 ? 0 : 1) == part;
                      });
    if (!fits) return false;
  }
  return true;
}

void AddArrays(const hlo::Shape& shape, EntryArrays& out) {
  if (shape.IsTuple()) {
    for (const hlo::Shape& element : shape.elements()) AddArrays(element, out);
  } else if (shape.IsArray()) {
    const auto dimensions = shape.dimensions();
    out.arrays.push_back(
        {std::string(hlo::ToString(shape.element_type())), {dimensions.begin(), dimensions.end()}});
  }
}

}  // namespace

std::optional<EntryArrays> EntryArraysOf(std::string_view text) {
  constexpr std::string_view kLayout = "entry_computation_layout={(",
                             kPartitions = "num_partitions=";
  text.remove_prefix(std::min(text.find("HloModule"), text.size()));
  std::string_view header = text.substr(0, text.find('\n'));
  EntryArrays out;
  if (const size_t at = header.find(kPartitions); at != header.npos)
    out.partitions = NumberAt(header.substr(at + kPartitions.size()));
  const size_t begin = header.find(kLayout);
  if (begin == header.npos) return std::nullopt;
  header.remove_prefix(begin + kLayout.size());
  size_t depth = 1;
  while (!header.empty() && depth > 0) {
    if (header.starts_with("/*")) {
      header.remove_prefix(std::min(header.find("*/"), header.size()));
      continue;
    }
    const char c = header.front();
    if (c == '{') {
      SkipGroup(header);
      continue;
    }
    const size_t word =
        std::min(header.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), header.size());
    if (word > 0 && header.substr(word).starts_with('[')) {
      std::string type(header.substr(0, word));
      header.remove_prefix(word);
      std::vector<int64_t> dimensions = TakeDimensions(header);
      out.arrays.push_back({std::move(type), std::move(dimensions)});
      continue;
    }
    if (c == '(') ++depth;
    if (c == ')') --depth;
    header.remove_prefix(std::max<size_t>(word, 1));
  }
  return out;
}

EntryArrays EntryArraysOf(const hlo::Module& module) {
  EntryArrays out;
  out.partitions = module.header().num_partitions;
  for (const hlo::InstructionId parameter : module.Parameters(module.entry_id())) {
    if (parameter.valid()) AddArrays(module.shape(parameter), out);
  }
  return out;
}

bool MayBecome(const EntryArrays& before, const EntryArrays& after) {
  constexpr int64_t kMaxPartitions = 1 << 16;
  if (before.arrays.size() != after.arrays.size()) return false;
  if (before.arrays == after.arrays) return true;
  const std::vector<int64_t> cuts =
      DivisorsOf(std::min(std::max(before.partitions, after.partitions), kMaxPartitions));
  return std::ranges::equal(before.arrays, after.arrays, [&](const auto& whole, const auto& part) {
    return MayBecome(whole, part, cuts);
  });
}

SplitIds FindSplitIds(std::span<const NumberedModule> modules,
                      const std::function<Result<EntryArrays>(int32_t file)>& arrays_of) {
  SplitIds found;
  struct Open {
    size_t module = 0;
    EntryArrays arrays;
  };
  std::vector<Open> open;
  const auto is_end = [](const NumberedModule& m) { return m.has_end && !m.has_begin; };
  const bool any_end = std::ranges::any_of(modules, is_end);
  for (size_t k = 0; k < modules.size() && any_end; ++k) {
    const NumberedModule& module = modules[k];
    if (module.has_begin == module.has_end) continue;
    if (is_end(module) && open.empty()) continue;
    Result<EntryArrays> arrays = arrays_of(module.file);
    if (!arrays) continue;  // who reads the module says so
    if (module.has_begin) {
      open.push_back({k, *std::move(arrays)});
      continue;
    }
    std::vector<size_t> fitting;
    for (size_t o = 0; o < open.size() && fitting.size() < 2; ++o) {
      if (MayBecome(open[o].arrays, *arrays)) fitting.push_back(o);
    }
    if (fitting.size() > 1) found.unclear.push_back(k);
    if (fitting.size() != 1) continue;
    found.pairs.push_back({open[fitting.front()].module, k});
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(fitting.front()));
  }
  return found;
}

}  // namespace hloscope::dump
