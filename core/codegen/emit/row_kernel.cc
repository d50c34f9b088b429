// Kernels that go through arrays row by row, each row several times while it is in the cache: once
// for each stage of compile::RowForm. What is dear and needed in a later stage is kept in memory
// for one row; everything else is computed anew.
#include <algorithm>
#include <numeric>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/reducers.h"
#include "core/compile/fusion/index_map.h"

namespace hloscope::codegen {
namespace {

using compile::RowForm;
using compile::RowRole;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

constexpr double kWorthKeeping = 200;  // picoseconds an element: more than reading it again
constexpr int64_t kMaxKept = 1 << 18;  // bytes of a row
constexpr size_t kRowTurns = 4;        // accumulators in turn

class RowKernel {
 public:
  RowKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
            const RowForm& form)
      : kernel_(kernel),
        name_(name),
        form_(form),
        function_(module, kernel, name, -1),
        rank_(kernel.module.shape(kernel.module.operands(form.first_reduce)[0]).rank()) {
    width_ = LanesAlong(kernel, form.row_size);
    for (size_t k = 0; k < kernel.instructions.size(); ++k) {
      position_[kernel.instructions[k].index] = k;
      last_stage_ = std::max(last_stage_, form.stages[k]);
      if (!IsReduce(kernel.instructions[k])) continue;
      Kernel alone = kernel;
      alone.roots = {kernel.instructions[k]};
      const auto [it, _] = reducers_.emplace(alone.roots[0].index, Reducers(alone));
      has_failed_ |= !it->second.AreAssociative();
    }
    FindNeeds();
    FindKept();
  }

  EmittedKernel Emit() {
    if (has_failed_) {
      function_.Finish();
      return {};
    }
    const int64_t row_bytes =
        form_.row_size * BytesPerElement(kernel_, form_.rows * form_.row_size);
    const int64_t grain =
        std::clamp<int64_t>(GrainLimit(kernel_, kGrainBytes) / row_bytes, 1, form_.rows);
    EmittedKernel out = InGrains(name_, form_.rows, grain, row_bytes, kernel_.roots.size());
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    if (!kernel_.is_for_gpu()) emitter.ReadAhead(kAhead);
    for (auto& [id, room] : kept_) room = Room(InstructionId(id));
    function_.ForUnits(form_.rows, grain, [&](Value* row) { Row(row); });
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }
  bool IsReduce(InstructionId id) const { return kernel_.module[id].opcode == Opcode::kReduce; }
  ElementType TypeOf(InstructionId id) const { return kernel_.module.shape(id).element_type(); }
  bool IsRoot(InstructionId id) const {
    return std::ranges::find(kernel_.roots, id) != kernel_.roots.end();
  }
  // The array of a row's elements that a reduce takes.
  InstructionId InputOf(InstructionId reduce) const { return kernel_.module.operands(reduce)[0]; }

  // By position among the instructions.
  RowRole Role(size_t k) const { return form_.roles[k]; }
  int Stage(size_t k) const { return form_.stages[k]; }
  int StageOf(InstructionId id) const {
    const auto it = position_.find(id.index);
    return it == position_.end() ? 0 : Stage(it->second);
  }
  bool IsOfRow(InstructionId id) const {
    const auto it = position_.find(id.index);
    return it != position_.end() && Role(it->second) == RowRole::kOfRow;
  }

  // What the loop of a stage yields: inputs of reduces, and roots with an element for each place.
  std::vector<InstructionId> Targets(int stage) const {
    std::vector<InstructionId> targets;
    for (const InstructionId id : kernel_.instructions) {
      if (IsReduce(id) && StageOf(id) == stage + 1) targets.push_back(InputOf(id));
    }
    for (const InstructionId root : kernel_.roots) {
      if (!IsOfRow(root) && StageOf(root) == stage) targets.push_back(root);
    }
    return targets;
  }

  // By stage and position: what its loop computes if nothing is kept.
  void FindNeeds() {
    for (int stage = 0; stage <= last_stage_; ++stage) {
      std::vector<bool> needs(kernel_.instructions.size());
      for (const InstructionId target : Targets(stage)) {
        if (const auto it = position_.find(target.index); it != position_.end()) {
          needs[it->second] = true;
        }
      }
      for (size_t k = needs.size(); k-- > 0;) {
        if (!needs[k] || Role(k) == RowRole::kOfRow) continue;
        for (const InstructionId operand : kernel_.module.operands(kernel_.instructions[k])) {
          const auto it = position_.find(operand.index);
          if (it != position_.end() && !IsOfRow(operand)) needs[it->second] = true;
        }
      }
      needs_.push_back(std::move(needs));
    }
  }

  // Kept are the dear ones that the loop of their stage computes and that what only a later one can
  // compute reads.
  void FindKept() {
    const auto row_of = kernel_.module.shape(InputOf(form_.first_reduce)).dimensions();
    std::vector<double> cost;
    int64_t bytes = 0;
    for (size_t k = 0; k < kernel_.instructions.size(); ++k) {
      const InstructionId id = kernel_.instructions[k];
      cost.push_back(compile::CostOf(kernel_.module[id].opcode));
      for (const InstructionId operand : kernel_.module.operands(id)) {
        const auto it = position_.find(operand.index);
        if (it == position_.end() || IsOfRow(operand) || kept_.contains(operand.index)) continue;
        cost[k] = std::min(cost[k] + cost[it->second], 1e6);
      }
      const auto stage = static_cast<size_t>(Stage(k));
      if (Role(k) == RowRole::kOfRow || cost[k] < kWorthKeeping || !needs_[stage][k] ||
          !std::ranges::equal(kernel_.module.shape(id).dimensions(), row_of) || !IsReadInStep(k) ||
          !IsReadLater(k)) {
        continue;
      }
      bytes += form_.row_size * hlo::StorageBytes(TypeOf(id));
      if (bytes > kMaxKept) return;
      kept_.emplace(id.index, nullptr);
    }
  }
  // True if all that is computed from it, up to reduces, is for the same place of the row.
  bool IsReadInStep(size_t k) const {
    for (size_t user = k + 1; user < kernel_.instructions.size(); ++user) {
      const InstructionId id = kernel_.instructions[user];
      const auto operands = kernel_.module.operands(id);
      if (IsReduce(id) || std::ranges::find(operands, kernel_.instructions[k]) == operands.end()) {
        continue;
      }
      if (hlo::Info(kernel_.module[id].opcode).category != hlo::Category::kElementwise ||
          !IsReadInStep(user)) {
        return false;
      }
    }
    return true;
  }
  bool IsReadLater(size_t k) const {
    for (size_t user = k + 1; user < kernel_.instructions.size(); ++user) {
      const auto operands = kernel_.module.operands(kernel_.instructions[user]);
      if (std::ranges::find(operands, kernel_.instructions[k]) == operands.end()) continue;
      for (size_t stage = static_cast<size_t>(Stage(k)) + 1; stage < needs_.size(); ++stage) {
        if (needs_[stage][user] && Stage(user) > Stage(k) && Role(user) != RowRole::kOfRow) {
          return true;
        }
      }
    }
    return false;
  }

  Value* Room(InstructionId id) {
    Builder& b = function_.builder();
    llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
    Builder at(&entry, entry.begin());
    auto* room = at.CreateAlloca(MemoryType(b, TypeOf(id)),
                                 at.getInt64(static_cast<uint64_t>(form_.row_size)));
    room->setAlignment(llvm::Align(64));
    return room;
  }

  // ---- A row.

  void Row(Value* row) {
    row_ = row;
    for (int stage = 0; stage <= last_stage_; ++stage) {
      for (size_t k = 0; k < kernel_.instructions.size(); ++k) {
        if (Role(k) == RowRole::kOfRow && Stage(k) == stage) OfRow(kernel_.instructions[k]);
      }
      if (!Targets(stage).empty()) RunThrough(stage);
    }
  }

  // A value of the row: reduces are there already.
  void OfRow(InstructionId id) {
    if (!IsReduce(id)) {
      emitter_->Forget();
      Index index;
      if (const size_t rank = kernel_.module.shape(id).rank(); rank > 0) {
        index.groups.push_back({rank, math_->FromScalar(row_)});
      }
      emitter_->Fix(id, emitter_->Emit(id, std::move(index)));
    }
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      if (kernel_.roots[k] != id) continue;
      function_.Store(emitter_->EmitScalar(id), TypeOf(id), function_.result(k), row_, 1);
    }
  }

  void RunThrough(int stage) {
    Builder& b = function_.builder();
    std::vector<InstructionId> reduces;
    for (const InstructionId id : kernel_.instructions) {
      if (IsReduce(id) && StageOf(id) == stage + 1) reduces.push_back(id);
    }
    const int64_t vectors = (form_.row_size - 1) / width_ + 1;
    const size_t turns =
        vectors >= 2 * static_cast<int64_t>(kRowTurns) && reduces.size() <= 2 ? kRowTurns : 1;
    Accumulators all;
    for (size_t turn = 0; turn < turns; ++turn) {
      for (const InstructionId reduce : reduces) {
        all.push_back(Of(reduce).Start(*emitter_, b, width_)[0]);
      }
    }
    all = function_.Loop(
        Int(0), Int(form_.row_size), width_, all,
        [&](Value* i, const Accumulators& values) { return Vector(stage, reduces, i, values); });
    for (size_t r = 0; r < reduces.size(); ++r) {
      Accumulators total = {all[r]};
      for (size_t turn = 1; turn < turns; ++turn) {
        total = Of(reduces[r]).Combine(b, total, {all[turn * reduces.size() + r]});
      }
      total = Of(reduces[r]).CombineLanes(b, std::move(total));
      emitter_->Fix(reduces[r], Of(reduces[r]).Results(*emitter_, b, std::move(total))[0]);
    }
    // From the next stage on what was kept is read.
    for (const auto& [id, room] : kept_) {
      if (StageOf(InstructionId(id)) != stage) continue;
      llvm::Type* type = MemoryType(b, TypeOf(InstructionId(id)));
      Value* before = b.CreateNeg(b.CreateMul(row_, Int(form_.row_size)));
      emitter_->Fix(InstructionId(id), Array{b.CreateGEP(type, room, before), false});
    }
  }
  const Reducers& Of(InstructionId reduce) const { return reducers_.at(reduce.index); }

  // Accumulators take turns: those behind move to the front.
  Accumulators Vector(int stage, const std::vector<InstructionId>& reduces, Value* i,
                      Accumulators values) {
    Builder& b = function_.builder();
    const bool is_even = form_.row_size % width_ == 0;
    Value* at = is_even ? i : function_.Smaller(i, Int(form_.row_size - width_));
    const LaneNumber lanes = LanesFrom(at, width_, std::gcd(form_.row_size, width_));
    Index index;
    if (form_.leading > 0) index.groups.push_back({form_.leading, math_->FromScalar(row_)});
    index.groups.push_back({rank_ - form_.leading, lanes});
    emitter_->Forget();
    Value* is_new = nullptr;
    if (!is_even) {
      LaneNumber numbers = math_->Constant(0);
      numbers.step = 1;
      is_new = b.CreateICmpUGE(math_->Vector(numbers),
                               math_->Vector(math_->FromScalar(b.CreateSub(i, at))));
    }
    Accumulators next;
    for (size_t r = 0; r < reduces.size(); ++r) {
      Value* element = emitter_->Emit(InputOf(reduces[r]), index);
      const Accumulators combined =
          Of(reduces[r])
              .Combine(b, {values[r]}, {Of(reduces[r]).AsAccumulator(b, element, width_)});
      next.push_back(is_new == nullptr ? combined[0]
                                       : b.CreateSelect(is_new, combined[0], values[r]));
    }
    for (const auto& [id, room] : kept_) {
      const InstructionId kept(id);
      if (StageOf(kept) == stage) {
        function_.Store(emitter_->Emit(kept, index), TypeOf(kept), room, at, width_);
      }
    }
    Value* base = b.CreateAdd(b.CreateMul(row_, Int(form_.row_size)), at);
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      const InstructionId root = kernel_.roots[k];
      if (IsOfRow(root) || StageOf(root) != stage) continue;
      function_.Store(emitter_->Emit(root, index), TypeOf(root), function_.result(k), base, width_);
    }
    values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(reduces.size()));
    values.insert(values.end(), next.begin(), next.end());
    return values;
  }

  const Kernel& kernel_;
  std::string name_;
  const RowForm& form_;
  KernelFunction function_;
  size_t rank_;
  int width_ = 1, last_stage_ = 0;
  std::unordered_map<uint32_t, size_t> position_;  // by instruction
  std::unordered_map<uint32_t, Reducers> reducers_;
  std::vector<std::vector<bool>> needs_;
  std::map<uint32_t, Value*> kept_;  // by instruction: where a row of it is
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  Value* row_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitRows(llvm::Module& module, const Kernel& kernel, const std::string& name,
                       const RowForm& form) {
  return RowKernel(module, kernel, name, form).Emit();
}

}  // namespace hloscope::codegen
