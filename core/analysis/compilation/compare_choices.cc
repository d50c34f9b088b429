// Which choices differ between two compilations, and which of them may change bits of the results.
#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/compilation/autotuning.h"

namespace hloscope::analysis {
namespace {

using dump::AutotuneConfig;

std::string Value(const AutotuneConfig& config, std::string_view name, std::string absent) {
  for (const auto& [field, value] : config.fields) {
    if (field == name) return value;
  }
  return absent;
}

// What the difference does to the order in which elements are added up.
std::pair<ChangesBits, std::string> Judge(const AutotuneConfig& a, const AutotuneConfig& b) {
  if (a.kind != b.kind)
    return {ChangesBits::kYes, "another kind of kernel: " + a.kind + ", " + b.kind};
  const std::string split_a = Value(a, "split_k", "1"), split_b = Value(b, "split_k", "1");
  if (split_a != split_b)
    return {ChangesBits::kYes, "sums are split along k: split_k " + split_a + ", " + split_b};
  if (a.kind == "cublas" || a.kind == "cudnn")
    return {ChangesBits::kPossibly, "another algorithm of the library"};
  if (a.kind == "__triton")
    return {ChangesBits::kPossibly, "reductions inside a tile may add up in another order"};
  if (Value(a, "block_k", "") != Value(b, "block_k", ""))
    return {ChangesBits::kPossibly, "other steps along k"};
  return {ChangesBits::kNo, "tiles, stages and warps of a product: the order along k is the same"};
}

}  // namespace

std::string_view ToString(ChangesBits changes) {
  switch (changes) {
    case ChangesBits::kYes:
      return "yes";
    case ChangesBits::kPossibly:
      return "possibly";
    default:
      return "no";
  }
}

std::vector<ChoiceDifference> CompareChoices(const Autotuning& a, const Autotuning& b) {
  // Module numbers count all compilations of a process: modules pair by their names.
  auto name_of = [](const Choice& choice) {
    const size_t dot = choice.module.starts_with("module_") ? choice.module.find('.') : 0;
    return choice.module.substr(dot == choice.module.npos ? 0 : dot);
  };
  std::multimap<std::pair<std::string, std::string>, const Choice*> by_name, by_code;
  for (const Choice& choice : b.choices) {
    by_name.emplace(std::pair(name_of(choice), choice.instruction), &choice);
    if (!choice.hlo.empty()) by_code.emplace(std::pair(name_of(choice), choice.hlo), &choice);
  }
  std::set<const Choice*> taken;
  auto take = [&](auto& table, const std::string& module, const std::string& key) -> const Choice* {
    const auto [begin, end] = table.equal_range(std::pair(module, key));
    for (auto at = begin; at != end; ++at) {
      if (taken.insert(at->second).second) return at->second;
    }
    return nullptr;
  };
  std::vector<ChoiceDifference> out;
  for (const Choice& choice : a.choices) {
    const std::string module = name_of(choice);
    const Choice* other = take(by_name, module, choice.instruction);
    if (other == nullptr && !choice.hlo.empty()) other = take(by_code, module, choice.hlo);
    if (other != nullptr && other->config == choice.config) continue;
    ChoiceDifference& difference = out.emplace_back();
    difference.module = choice.module;
    difference.instruction = choice.instruction;
    difference.a = choice.config;
    if (other == nullptr) {
      difference.changes = ChangesBits::kPossibly;
      difference.why = "only the first has this instruction";
      continue;
    }
    difference.instruction_b = other->instruction;
    difference.b = other->config;
    std::tie(difference.changes, difference.why) = Judge(choice.config, other->config);
  }
  for (const Choice& choice : b.choices) {
    if (taken.contains(&choice)) continue;
    ChoiceDifference& difference = out.emplace_back();
    difference.module = choice.module;
    difference.instruction_b = choice.instruction;
    difference.b = choice.config;
    difference.changes = ChangesBits::kPossibly;
    difference.why = "only the second has this instruction";
  }
  std::ranges::stable_sort(out, std::greater(), &ChoiceDifference::changes);
  return out;
}

}  // namespace hloscope::analysis
