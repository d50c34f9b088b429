// What a reader is told about a node when the pointer rests on it.
#include "core/graph/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/graph/count_text.h"
#include "core/graph/labels.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

constexpr size_t kLongestText = 400;
constexpr size_t kMaxNames = 8;

std::string Short(std::string_view text) {
  if (text.size() <= kLongestText) return std::string(text);
  return fmt::format("{} …", text.substr(0, kLongestText));
}

std::string NamesOf(const hlo::Module& module, std::span<const hlo::InstructionId> ids) {
  std::string out;
  for (size_t k = 0; k < ids.size() && k < kMaxNames; ++k) {
    if (k > 0) out += ", ";
    out += Short(module.name(ids[k]));
  }
  if (ids.size() > kMaxNames) out += fmt::format(" and {} more", ids.size() - kMaxNames);
  return out;
}

std::string WhereFrom(const hlo::Module& module, const hlo::Instruction& i) {
  const auto* metadata = module.Get<hlo::OpMetadata>(i, hlo::AttributeKey::kMetadata);
  if (metadata == nullptr) return {};
  std::string out;
  if (metadata->op_name.valid()) {
    const std::vector<std::string_view> names = hlo::NamesIn(module[metadata->op_name]);
    for (size_t k = 0; k < names.size() && k < kMaxNames; ++k)
      out += "\nop_name: " + Short(names[k]);
    if (names.size() > kMaxNames)
      out += fmt::format("\nand {} more names", names.size() - kMaxNames);
  }
  if (metadata->source_file.valid() && metadata->source_line > 0) {
    out +=
        fmt::format("\nsource: {}:{}", Short(module[metadata->source_file]), metadata->source_line);
  }
  return out;
}

void AddPlace(std::string& out, const analysis::Placement& placement, hlo::InstructionId id) {
  const analysis::PlacedInstruction& placed = placement.instructions[id.index];
  if (placement.compiled) {
    out += fmt::format("\nruns as: {}", Describe(placed.place));
    if (!placed.library.empty()) out += fmt::format(" ({})", placed.library);
  }
  if (placed.reason != hlo::FallbackReason::kNone)
    out += fmt::format("\nnot on the device because: {}", Describe(placed.reason));
  auto transfer = std::ranges::find(placement.transfers, id, &analysis::Transfer::instruction);
  if (transfer == placement.transfers.end()) return;
  out += transfer->direction == analysis::TransferDirection::kToHost ? "\nmoves to the host: "
                                                                     : "\nmoves to the device: ";
  out += transfer->bytes < 0 ? "size unknown" : BytesText(transfer->bytes);
  if (transfer->executions > 1) out += fmt::format(" × {}", transfer->executions);
}

// What is in a group: its opcodes, most first, and what they cost.
std::string ExplainGroup(const Tree& tree, NodeId id) {
  const Node& node = tree[id];
  const GroupSums sums = SumsOf(tree, id);
  std::string out = fmt::format("{}\n{} in {}", Short(tree.Title(id)),
                                CountedText(node.instructions, "instruction"),
                                CountedText(node.child_count, "box", "boxes"));
  out += "\nopcodes:";
  for (size_t k = 0; k < sums.opcodes.size() && k < kMaxNames; ++k)
    out += fmt::format("{} {} {}", k == 0 ? "" : ",", sums.opcodes[k].second,
                       ToString(sums.opcodes[k].first));
  if (sums.opcodes.size() > kMaxNames)
    out += fmt::format(" and {} more", sums.opcodes.size() - kMaxNames);
  return out + "\n" + CostText(sums);
}

}  // namespace

GroupSums SumsOf(const Tree& tree, NodeId id) {
  std::map<hlo::Opcode, int64_t> counts;
  GroupSums sums;
  const hlo::CostModel& costs = hlo::CostsOf(tree.module());
  tree.ForEachInstruction(id, [&](hlo::InstructionId each) {
    ++counts[tree.module()[each].opcode];
    sums.cost += costs.Of(each);
  });
  sums.opcodes.assign(counts.begin(), counts.end());
  std::ranges::sort(sums.opcodes, {},
                    [](const auto& each) { return std::pair(-each.second, ToString(each.first)); });
  return sums;
}

std::string CostText(const GroupSums& sums) {
  return fmt::format("estimate: {}{}, {} read and written", sums.cost.is_known ? "" : "at least ",
                     FlopsText(sums.cost.flops + sums.cost.transcendentals),
                     BytesText(hlo::WholeBytes(sums.cost.bytes())));
}

std::string Explain(const Tree& tree, NodeId id, const analysis::Placement* placement) {
  const Node& node = tree[id];
  const hlo::Module& module = tree.module();
  if (node.kind != NodeKind::kInstruction) return ExplainGroup(tree, id);
  const hlo::Instruction& i = module[node.instruction];
  const hlo::Shape& shape = module.shape(node.instruction);
  std::string out = Short(module.name(node.instruction));
  const std::string detail = DetailOf(module, node.instruction);
  out += fmt::format("\n{}{}{} {}", ToString(i.opcode), detail.empty() ? "" : " ", Short(detail),
                     Short(ToString(shape)));
  if (shape.IsTuple() && shape.elements().size() > 1) {
    out += fmt::format("\nvalues: {}, {} in all", Short(ToString(shape, false)),
                       shape.elements().size());
  }
  auto operands = module.operands(i);
  if (!operands.empty()) out += "\noperands: " + NamesOf(module, operands);
  auto users = tree.users().users(node.instruction);
  if (!users.empty()) out += "\nusers: " + NamesOf(module, users);
  std::vector<hlo::ComputationId> called = module.CalledComputations(i);
  for (size_t k = 0; k < called.size() && k < kMaxNames; ++k)
    out += "\ncalls: " + Short(module[module[called[k]].name]);
  out += WhereFrom(module, i);
  if (placement != nullptr) AddPlace(out, *placement, node.instruction);
  return out;
}

}  // namespace hloscope::graph
