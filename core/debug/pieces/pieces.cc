#include "core/debug/pieces/pieces.h"

#include <algorithm>
#include <map>
#include <queue>

#include "core/hlo/rewrite/module_copier.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// A constant whose elements are known, or one spread or reshaped.
bool IsConstant(const Module& module, InstructionId id) {
  constexpr int kLongest = 8;
  for (int step = 0; step < kLongest; ++step) {
    const hlo::Instruction& instruction = module[id];
    if (instruction.opcode == Opcode::kConstant) {
      const auto* value = module.Get<hlo::Literal>(instruction, AttributeKey::kConstantValue);
      return value != nullptr && !value->elided();
    }
    if (instruction.opcode == Opcode::kIota) return true;
    if (instruction.opcode != Opcode::kBroadcast && instruction.opcode != Opcode::kReshape) {
      return false;
    }
    id = module.operands(id)[0];
  }
  return false;
}

// Takes instructions over and finds what they need.
class Cutter {
 public:
  Cutter(const Module& module, const OwnValues& own) : module_(module), own_(own) {}

  bool is_own(InstructionId id) const { return !own_.empty() && own_[id.index]; }

  struct Visit {
    InstructionId id;
    int64_t depth;
  };

  // Breadth first, so that each is reached with the largest depth left.
  void Take(InstructionId root, int64_t depth) {
    std::queue<Visit> pending;
    taken_[root] = true;
    pending.push({root, depth});
    while (!pending.empty()) {
      const Visit visit = pending.front();
      pending.pop();
      const Opcode opcode = module_[visit.id].opcode;
      const bool is_free =
          NeedsItsStart(opcode) || opcode == Opcode::kGetTupleElement || opcode == Opcode::kTuple;
      for (InstructionId operand : module_.operands(visit.id)) {
        if (taken_.contains(operand) && taken_[operand]) continue;
        const bool constant = IsConstant(module_, operand);
        if (!constant && !IsWanted(visit.id, operand, visit.depth)) {
          taken_.try_emplace(operand, false);
          continue;
        }
        taken_[operand] = true;
        const bool costs_nothing = is_free || constant || is_own(operand);
        pending.push({operand, costs_nothing ? visit.depth : visit.depth - 1});
      }
    }
  }

  Piece Finish(std::vector<InstructionId> results) const {
    Piece piece;
    for (const auto& [id, taken] : taken_) (taken ? piece.taken : piece.frontier).push_back(id);
    piece.results = std::move(results);
    return piece;
  }

 private:
  bool IsWanted(InstructionId user, InstructionId operand, int64_t depth) const {
    if (NeedsItsStart(module_[user].opcode) || is_own(operand)) return true;
    if (is_own(user) && hlo::IsShardingAt(module_, user, operand)) return true;
    const Opcode opcode = module_[operand].opcode;
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) return false;
    return depth > 0;
  }

  const Module& module_;
  const OwnValues& own_;
  std::map<InstructionId, bool> taken_;  // false: on the frontier
};

// A value from outside: a parameter, or a token made anew.
InstructionId AddFrontier(const Module& module, InstructionId id, hlo::ModuleCopier& copier,
                          hlo::ModuleBuilder& builder, std::vector<InstructionId>& parameters) {
  std::vector<hlo::Attribute> attributes;
  Opcode opcode = Opcode::kAfterAll;
  if (!module.shape(id).IsToken()) {
    opcode = Opcode::kParameter;
    attributes.push_back(builder.MakeInt(AttributeKey::kParameterNumber, std::ssize(parameters)));
    parameters.push_back(id);
  }
  return builder.AddInstruction(copier.Copy(module[id].name), opcode, copier.Copy(module[id].shape),
                                {}, attributes);
}

// A result as the root's tuple takes it: XLA finds nothing but elements at what returns a tuple.
InstructionId AddResult(InstructionId id, const hlo::Shape& shape, Opcode opcode,
                        hlo::ModuleBuilder& builder) {
  if (!shape.IsTuple() || opcode == Opcode::kTuple) return id;
  std::vector<InstructionId> elements;
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    const hlo::Attribute index = builder.MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i));
    elements.push_back(builder.AddInstruction(builder.Intern("element"), Opcode::kGetTupleElement,
                                              builder.InternShape(shape.elements()[i]), {{id}},
                                              {{index}}));
  }
  return builder.AddInstruction(builder.Intern("result"), Opcode::kTuple,
                                builder.InternShape(shape), elements, {});
}

bool HasDeviceWork(const Module& module) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (hlo::IsDeviceWork(module, InstructionId(i))) return true;
  }
  return false;
}

}  // namespace

bool NeedsItsStart(Opcode opcode) {
  return hlo::HasFlag(opcode, hlo::kFlagDone) || opcode == Opcode::kAsyncUpdate;
}

bool RunsWithItsDone(Opcode opcode) {
  return hlo::HasFlag(opcode, hlo::kFlagStart) || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

bool ForwardsOperand(Opcode opcode) {
  return opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement || RunsWithItsDone(opcode);
}

Piece CutPiece(const Module& module, InstructionId root, int64_t depth, const OwnValues& own) {
  Cutter cutter(module, own);
  cutter.Take(root, depth);
  return cutter.Finish({root});
}

Piece CutRange(const Module& module, InstructionId begin, InstructionId end,
               std::span<const InstructionId> results, const OwnValues& own) {
  Cutter cutter(module, own);
  for (uint32_t i = end.index; i-- > begin.index;) {
    const Opcode opcode = module[InstructionId(i)].opcode;
    // A constant without elements is computed too: a platform may make them up. Starts come along
    // with their dones, manual regions with what leaves them.
    if (opcode == Opcode::kParameter || RunsWithItsDone(opcode)) continue;
    if (cutter.is_own(InstructionId(i))) continue;
    cutter.Take(InstructionId(i), 0);
  }
  return cutter.Finish({results.begin(), results.end()});
}

JoinedPieces JoinPieces(const Module& module, std::span<const Piece> pieces, PieceDevices devices) {
  JoinedPieces joined;
  hlo::ModuleBuilder builder;
  hlo::ModuleCopier copier(module, builder);
  builder.header().name = builder.Intern(module.name());
  copier.CopyHeader();
  for (const Piece& piece : pieces) copier.CopyCallees(piece.taken);
  const hlo::ComputationId entry = builder.DeclareComputation(builder.Intern("pieces"));
  builder.BeginComputation(entry);
  std::vector<InstructionId> results;
  std::vector<hlo::Shape> shapes;
  std::vector<InstructionId> new_ids(module.instructions().size());
  for (const Piece& piece : pieces) {
    for (InstructionId id : piece.frontier) {
      new_ids[id.index] = AddFrontier(module, id, copier, builder, joined.parameters);
    }
    for (InstructionId id : piece.taken) {
      std::vector<InstructionId> operands;
      for (InstructionId operand : module.operands(id)) operands.push_back(new_ids[operand.index]);
      new_ids[id.index] = copier.CopyInstruction(id, operands);
    }
    for (InstructionId id : piece.results) {
      results.push_back(AddResult(new_ids[id.index], module.shape(id), module[id].opcode, builder));
      shapes.push_back(module.shape(id));
    }
  }
  const InstructionId root = builder.AddInstruction(
      builder.Intern("results"), Opcode::kTuple,
      builder.InternShape(hlo::Shape::Tuple(std::move(shapes))), results, {});
  builder.EndComputation(root);
  builder.SetEntry(entry);
  if (devices == PieceDevices::kAll ||
      (devices == PieceDevices::kIfNeeded && HasDeviceWork(builder.module()))) {
    builder.header().replica_count = module.header().replica_count;
    builder.header().num_partitions = module.header().num_partitions;
  }
  joined.module = builder.Build();
  return joined;
}

}  // namespace hloscope::debug
