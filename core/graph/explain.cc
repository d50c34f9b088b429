// What a reader is told about a node when the pointer rests on it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/graph/cost.h"
#include "core/graph/svg.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

constexpr size_t kLongestText = 400;
constexpr size_t kMostNames = 8;

std::string Short(std::string_view text) {
  if (text.size() <= kLongestText) return std::string(text);
  return fmt::format("{} …", text.substr(0, kLongestText));
}

std::string NamesOf(const hlo::Module& module, std::span<const hlo::InstructionId> ids) {
  std::string out;
  for (size_t k = 0; k < ids.size() && k < kMostNames; ++k) {
    if (k > 0) out += ", ";
    out += Short(module.name(ids[k]));
  }
  if (ids.size() > kMostNames) out += fmt::format(" and {} more", ids.size() - kMostNames);
  return out;
}

std::string WhereFrom(const hlo::Module& module, const hlo::Instruction& i) {
  const auto* metadata = module.Get<hlo::OpMetadata>(i, hlo::AttributeKey::kMetadata);
  if (metadata == nullptr) return {};
  std::string out;
  if (metadata->op_name.valid()) out += "\nop_name: " + Short(module[metadata->op_name]);
  if (metadata->source_file.valid() && metadata->source_line > 0) {
    out +=
        fmt::format("\nsource: {}:{}", Short(module[metadata->source_file]), metadata->source_line);
  }
  return out;
}

void AddPlace(std::string& out, const debug::Placement& placement, hlo::InstructionId id) {
  const debug::PlacedInstruction& placed = placement.instructions[id.index];
  if (placement.compiled) {
    out += fmt::format("\nruns as: {}", debug::Describe(placed.place));
    if (!placed.library.empty()) out += fmt::format(" ({})", placed.library);
  }
  if (placed.reason != debug::FallbackReason::kNone)
    out += fmt::format("\nnot on the device because: {}", debug::Describe(placed.reason));
  auto transfer = std::ranges::find(placement.transfers, id, &debug::Transfer::instruction);
  if (transfer == placement.transfers.end()) return;
  out += transfer->direction == debug::TransferDirection::kToHost ? "\nmoves to the host: "
                                                                  : "\nmoves to the device: ";
  out += transfer->bytes < 0 ? "size unknown" : BytesText(transfer->bytes);
  if (transfer->executions > 1) out += fmt::format(" × {}", transfer->executions);
}

// What is in a group: its opcodes, most first, and what they cost.
std::string ExplainGroup(const Tree& tree, NodeId id) {
  const Node& node = tree[id];
  std::map<std::string_view, int64_t> counts;
  Cost sum;
  tree.ForEachInstruction(id, [&](hlo::InstructionId each) {
    ++counts[ToString(tree.module()[each].opcode)];
    const Cost cost = CostOf(tree.module(), each);
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
  });
  std::string out =
      fmt::format("{}\n{} in {}", Short(tree.Title(id)), Counted(node.instructions, "instruction"),
                  Counted(node.child_count, "box", "boxes"));
  std::vector<std::pair<int64_t, std::string_view>> sorted;
  for (const auto& [opcode, count] : counts) sorted.emplace_back(-count, opcode);
  std::ranges::sort(sorted);
  out += "\nopcodes:";
  for (size_t k = 0; k < sorted.size() && k < kMostNames; ++k)
    out += fmt::format("{} {} {}", k == 0 ? "" : ",", -sorted[k].first, sorted[k].second);
  if (sorted.size() > kMostNames) out += fmt::format(" and {} more", sorted.size() - kMostNames);
  out += fmt::format("\nestimate: {}, {} read and written", FlopsText(sum.flops),
                     BytesText(static_cast<int64_t>(std::min(sum.bytes, 9e18))));
  return out;
}

}  // namespace

std::string Explain(const Tree& tree, NodeId id, const debug::Placement* placement) {
  const Node& node = tree[id];
  const hlo::Module& module = tree.module();
  if (node.kind != NodeKind::kInstruction) return ExplainGroup(tree, id);
  const hlo::Instruction& i = module[node.instruction];
  std::string out = Short(module.name(node.instruction));
  out +=
      fmt::format("\n{} {}", ToString(i.opcode), Short(ToString(module.shape(node.instruction))));
  auto operands = module.operands(i);
  if (!operands.empty()) out += "\noperands: " + NamesOf(module, operands);
  auto users = tree.users().users(node.instruction);
  if (!users.empty()) out += "\nusers: " + NamesOf(module, users);
  std::vector<hlo::ComputationId> called = module.CalledComputations(i);
  for (size_t k = 0; k < called.size() && k < kMostNames; ++k)
    out += "\ncalls: " + Short(module[module[called[k]].name]);
  out += WhereFrom(module, i);
  if (placement != nullptr) AddPlace(out, *placement, node.instruction);
  return out;
}

}  // namespace hloscope::graph
