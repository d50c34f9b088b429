// From the instructions of a computation as read to those of a module: ids looked up, put in order.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/counted.h"
#include "core/hlo/comparison.h"
#include "core/hlo/proto/proto_computation.h"

namespace hloscope::hlo {
namespace {

// Ids are looked up by their low half: newer protos put the computation in the high one, and some
// references leave it out.
uint32_t LocalId(int64_t id) { return static_cast<uint32_t>(static_cast<uint64_t>(id)); }

// Opcodes with an attribute whose form depends on the shape of the first operand.
bool DependsOnOperand(Opcode opcode) {
  return opcode == Opcode::kCompare || opcode == Opcode::kConditional ||
         opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
}

}  // namespace

Status IdIndex::Build(const std::vector<ReadInstruction>& instructions) {
  ids_.clear();
  uint32_t least = ~0u, most = 0;
  for (const ReadInstruction& i : instructions) {
    least = std::min(least, LocalId(i.id));
    most = std::max(most, LocalId(i.id));
  }
  // Nearly always the ids are dense; where they are not, a sorted list answers.
  dense_ = !instructions.empty() && most - least < 4 * instructions.size() + 1024;
  least_ = least;
  if (dense_) {
    ids_.assign(most - least + 1, {0, kNone});
    for (uint32_t k = 0; k < instructions.size(); ++k) {
      auto& [id, position] = ids_[LocalId(instructions[k].id) - least];
      if (position != kNone) return Duplicate(instructions[k].id);
      position = k;
    }
    return {};
  }
  for (uint32_t k = 0; k < instructions.size(); ++k) {
    ids_.emplace_back(LocalId(instructions[k].id), k);
  }
  std::ranges::sort(ids_);
  for (size_t k = 1; k < ids_.size(); ++k) {
    if (ids_[k].first == ids_[k - 1].first) return Duplicate(instructions[ids_[k].second].id);
  }
  return {};
}

uint32_t IdIndex::Find(int64_t id) const {
  uint32_t local = LocalId(id);
  if (dense_) {
    if (local < least_ || local - least_ >= ids_.size()) return kNone;
    return ids_[local - least_].second;
  }
  auto it = std::ranges::lower_bound(ids_, local, {}, &std::pair<uint32_t, uint32_t>::first);
  return it != ids_.end() && it->first == local ? it->second : kNone;
}

std::unexpected<Error> IdIndex::Duplicate(int64_t id) {
  return InputError(fmt::format("two instructions have id {}", id));
}

Status ComputationReader::Finish(InstructionBatch& batch, int64_t root_id,
                                 const std::vector<int64_t>* schedule, ComputationId id,
                                 StringId thread) {
  batch_ = &batch;
  HLOSCOPE_TRY(index_.Build(batch.instructions));
  HLOSCOPE_TRY(Resolve(batch.operands, operands_, &ReadInstruction::operands, "operand"));
  HLOSCOPE_TRY(
      Resolve(batch.controls, controls_, &ReadInstruction::controls, "control predecessor"));
  HLOSCOPE_TRY(schedule != nullptr ? OrderBySchedule(*schedule) : OrderByIds());
  uint32_t root = index_.Find(root_id);
  if (root == IdIndex::kNone) {
    return InputError(fmt::format("root_id is {}, but it has no such instruction", root_id));
  }
  scope_.builder.BeginComputation(id);
  uint32_t base = scope_.builder.NextInstruction().index;
  for (uint32_t k : order_) AddInstruction(k, base);
  scope_.builder.EndComputation(InstructionId(base + place_[root]), thread);
  return {};
}

Status ComputationReader::Resolve(const std::vector<int64_t>& ids, std::vector<uint32_t>& positions,
                                  ReadInstruction::Range ReadInstruction::* of,
                                  std::string_view what) {
  positions.clear();
  for (int64_t id : ids) {
    uint32_t position = index_.Find(id);
    if (position == IdIndex::kNone) return Dangling(id, positions.size(), of, what);
    positions.push_back(position);
  }
  return {};
}

std::unexpected<Error> ComputationReader::Dangling(int64_t id, size_t at,
                                                   ReadInstruction::Range ReadInstruction::* of,
                                                   std::string_view what) const {
  uint32_t k = 0;
  while (at - (batch_->instructions[k].*of).first >= (batch_->instructions[k].*of).count) ++k;
  return InputError(
      fmt::format("instruction `{}`: {} {} has id {}, which no instruction of this computation has",
                  NameOf(k), what, at - (batch_->instructions[k].*of).first, id));
}

Status ComputationReader::OrderBySchedule(const std::vector<int64_t>& schedule) {
  order_.clear();
  place_.assign(batch_->instructions.size(), IdIndex::kNone);
  for (int64_t id : schedule) {
    uint32_t position = index_.Find(id);
    if (position == IdIndex::kNone || place_[position] != IdIndex::kNone) {
      return InputError(
          fmt::format("the schedule names instruction {}, which {}", id,
                      position == IdIndex::kNone ? "it does not have" : "it named before"));
    }
    place_[position] = static_cast<uint32_t>(order_.size());
    order_.push_back(position);
  }
  if (order_.size() != place_.size()) {
    return InputError(fmt::format("the schedule has {} of {}", order_.size(),
                                  Counted(place_.size(), "instruction")));
  }
  for (uint32_t k = 0; k < place_.size(); ++k) {
    for (uint32_t operand : OperandsOf(k)) {
      if (place_[operand] < place_[k]) continue;
      return InputError(fmt::format("the schedule puts `{}` before its operand `{}`", NameOf(k),
                                    NameOf(operand)));
    }
  }
  return {};
}

bool ComputationReader::IsOrdered() const {
  for (uint32_t k = 0; k < place_.size(); ++k) {
    for (uint32_t operand : OperandsOf(k)) {
      if (place_[operand] >= place_[k]) return false;
    }
  }
  return true;
}

Status ComputationReader::OrderByIds() {
  const auto& instructions = batch_->instructions;
  auto count = static_cast<uint32_t>(instructions.size());
  order_.resize(count);
  place_.resize(count);
  std::iota(order_.begin(), order_.end(), 0u);
  auto id = [&](uint32_t k) { return LocalId(instructions[k].id); };
  if (!std::ranges::is_sorted(order_, {}, id)) {
    std::ranges::sort(order_, {}, id);
    for (uint32_t k = 0; k < count; ++k) place_[order_[k]] = k;
    if (IsOrdered()) return {};
    std::iota(order_.begin(), order_.end(), 0u);
  }
  std::iota(place_.begin(), place_.end(), 0u);
  return IsOrdered() ? Status() : Sort();
}

// Depth first, each instruction after its operands, the stored order where it is free.
Status ComputationReader::Sort() {
  auto count = static_cast<uint32_t>(batch_->instructions.size());
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(count, kNew);
  std::vector<uint32_t> work;
  order_.clear();
  for (uint32_t first = 0; first < count; ++first) {
    work.assign(1, first);
    while (!work.empty()) {
      uint32_t k = work.back();
      if (state[k] != kNew) {
        work.pop_back();
        if (state[k] == kOpen) {
          state[k] = kDone;
          place_[k] = static_cast<uint32_t>(order_.size());
          order_.push_back(k);
        }
        continue;
      }
      state[k] = kOpen;
      auto operands = OperandsOf(k);
      for (size_t i = operands.size(); i-- > 0;) {
        if (state[operands[i]] == kOpen) {
          return InputError(fmt::format("instruction `{}` depends on itself", NameOf(operands[i])));
        }
        if (state[operands[i]] == kNew) work.push_back(operands[i]);
      }
    }
  }
  return {};
}

void ComputationReader::AddInstruction(uint32_t k, uint32_t base) {
  const ReadInstruction& i = batch_->instructions[k];
  operand_ids_.clear();
  for (uint32_t operand : OperandsOf(k)) {
    operand_ids_.push_back(InstructionId(base + place_[operand]));
  }
  attributes_.assign(batch_->attributes.begin() + i.attributes.first,
                     batch_->attributes.begin() + i.attributes.first + i.attributes.count);
  if (DependsOnOperand(i.opcode)) AdjustToOperand(k);
  if (i.controls.count > 0) {
    std::vector<uint32_t> ids;
    ids.reserve(i.controls.count);
    for (uint32_t c = 0; c < i.controls.count; ++c) {
      ids.push_back(base + place_[controls_[i.controls.first + c]]);
    }
    attributes_.push_back(scope_.builder.MakeIds(AttributeKey::kControlPredecessors, ids));
  }
  InstructionId id =
      scope_.builder.AddInstruction(i.name, i.opcode, i.shape, operand_ids_, attributes_);
  scope_.builder.SetProtoId(id, i.id);
  if (i.unknown >= 0) {
    scope_.builder.AddUnknownFields(MessageKind::kInstruction, id.index,
                                    std::move(batch_->unknown[static_cast<size_t>(i.unknown)]));
  }
}

void ComputationReader::DropDefaultComparison(ElementType type) {
  // Integers are totally ordered without saying so. A total order of floats has a field of its own
  // since 2026; the type repeats it for older readers.
  auto order =
      IsFloat(type) || IsComplex(type) ? ComparisonOrder::kPartial : ComparisonOrder::kTotal;
  bool says_order = false;
  std::erase_if(attributes_, [&](const Attribute& a) {
    if (a.key != AttributeKey::kOrder) return false;
    bool is_default = a.value == static_cast<uint32_t>(order);
    says_order |= !is_default;
    return is_default;
  });
  std::erase_if(attributes_, [&](const Attribute& a) {
    if (a.key != AttributeKey::kComparisonType) return false;
    auto given = static_cast<ComparisonType>(a.value);
    return given == DefaultComparisonType(type) ||
           (says_order && given == ComparisonType::kTotalOrder);
  });
}

void ComputationReader::AdjustToOperand(uint32_t k) {
  if (OperandsOf(k).empty()) return;
  const ReadInstruction& operand = batch_->instructions[OperandsOf(k)[0]];
  const Module& module = scope_.builder.module();
  ElementType type = module[operand.shape].element_type();
  if (batch_->instructions[k].opcode == Opcode::kCompare) return DropDefaultComparison(type);
  for (size_t i = 0; i < attributes_.size(); ++i) {
    Attribute a = attributes_[i];
    if (a.key == AttributeKey::kPermuteSliceSizes) {
      const ReadInstruction& starts = batch_->instructions[OperandsOf(k)[OperandsOf(k).size() / 2]];
      attributes_[i] = AdjustSliceSizes(a, module[operand.shape], module[starts.shape]);
    }
    if (a.key == AttributeKey::kBranchComputations && type == ElementType::kPred) {
      auto ids = module.IdsOf(a);
      if (ids.size() != 2) return;
      attributes_[i] =
          scope_.builder.MakeComputation(AttributeKey::kTrueComputation, ComputationId(ids[0]));
      attributes_.push_back(
          scope_.builder.MakeComputation(AttributeKey::kFalseComputation, ComputationId(ids[1])));
      return;
    }
  }
}

// `{{1,2},{3}}` from the flat list: a list for every start, as long as the array it is a start in.
// The starts of one array are a tuple of scalars, several starts a tuple of such tuples, and for a
// tuple of arrays there is one of these for each of them.
Attribute ComputationReader::AdjustSliceSizes(const Attribute& flat, const Shape& operand,
                                              const Shape& starts) {
  auto sizes = scope_.builder.module().IntsOf(flat);
  std::string text = "{";
  size_t next = 0;
  auto append = [&](const Shape& array, const Shape& start) {
    bool several = !start.elements().empty() && start.elements()[0].IsTuple();
    for (size_t n = several ? start.elements().size() : 1; n > 0; --n) {
      text += text.size() == 1 ? "{" : ",{";
      for (size_t d = 0; d < array.rank() && next < sizes.size(); ++d, ++next) {
        text += (d == 0 ? "" : ",") + std::to_string(sizes[next]);
      }
      text += '}';
    }
  };
  if (!operand.IsTuple()) append(operand, starts);
  for (size_t e = 0; e < std::min(operand.elements().size(), starts.elements().size()); ++e) {
    append(operand.elements()[e], starts.elements()[e]);
  }
  text += '}';
  constexpr AttributeKey kKey = AttributeKey::kPermuteSliceSizes;
  return scope_.builder.Make(kKey, RawAttribute{.name = scope_.builder.Intern(Info(kKey).text),
                                                .text = scope_.builder.Intern(text)});
}

}  // namespace hloscope::hlo
