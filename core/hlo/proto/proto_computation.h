// Putting the instructions of one computation, as read from a proto, into a module.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/proto/proto_reader.h"

namespace hloscope::hlo {

// From the id of an instruction to its position in the file.
class IdIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;
  // Fails if two instructions have one id.
  Status Build(const std::vector<ReadInstruction>& instructions);
  // kNone where there is no such instruction.
  uint32_t Find(int64_t id) const;

 private:
  static std::unexpected<Error> Duplicate(int64_t id);

  std::vector<std::pair<uint32_t, uint32_t>> ids_;  // by id; all from least_ on where dense
  uint32_t least_ = 0;
  bool dense_ = false;
};

class ComputationReader {
 public:
  explicit ComputationReader(ReadScope& scope) : scope_(scope) {}
  // Adds the instructions as computation `id`, in the order of `schedule` (64-bit ids) if there is
  // one, else that of their ids, as XLA keeps them, or as they come where an operand has a higher
  // id than its user, or sorted where it comes after it too.
  Status Finish(InstructionBatch& batch, int64_t root_id, const std::vector<int64_t>* schedule,
                ComputationId id, StringId thread);

 private:
  Status Resolve(const std::vector<int64_t>& ids, std::vector<uint32_t>& positions,
                 ReadInstruction::Range ReadInstruction::* of, std::string_view what);
  // The error of the instruction that names `id` at position `at` of all of that kind.
  std::unexpected<Error> Dangling(int64_t id, size_t at,
                                  ReadInstruction::Range ReadInstruction::* of,
                                  std::string_view what) const;
  Status OrderBySchedule(const std::vector<int64_t>& schedule);
  Status OrderByIds();
  bool IsOrdered() const;  // every operand before its users, by place_
  Status Sort();
  void AddInstruction(uint32_t k, uint32_t base);
  void AdjustToOperand(uint32_t k);
  void DropDefaultComparison(ElementType type);
  Attribute AdjustSliceSizes(const Attribute& flat, const Shape& operand, const Shape& starts);
  std::span<const uint32_t> OperandsOf(uint32_t k) const {
    const auto& range = batch_->instructions[k].operands;
    return std::span(operands_).subspan(range.first, range.count);
  }
  std::string_view NameOf(uint32_t k) const {
    return scope_.builder.module()[batch_->instructions[k].name];
  }

  ReadScope& scope_;
  InstructionBatch* batch_ = nullptr;
  IdIndex index_;
  std::vector<uint32_t> operands_, controls_;  // positions in the batch
  std::vector<uint32_t> order_, place_;        // positions in order, and where each position went
  std::vector<InstructionId> operand_ids_;
  std::vector<Attribute> attributes_;
};

}  // namespace hloscope::hlo
