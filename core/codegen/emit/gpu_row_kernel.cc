// Kernels of compile::RowForm on a GPU: a team of threads has a row and goes through it once for
// each stage. Up to some length of rows a thread keeps its elements in registers, so that each is
// read and computed once; longer rows are read again in every stage.
#include <algorithm>
#include <bit>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/reducers.h"

namespace hloscope::codegen {
namespace {

using compile::RowForm;
using compile::RowRole;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

constexpr int64_t kMaxKept = 16;  // elements of a thread that stay in registers
constexpr int64_t kMaxRowThreads = 1024, kUsualThreads = 128;  // of a block
constexpr int64_t kSideBySide = 4;     // elements that a thread reads at once
constexpr int64_t kMaxWritten = 4000;  // instructions that may stand in the code

class GpuRowKernel {
 public:
  GpuRowKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
               const RowForm& form)
      : kernel_(kernel),
        name_(name),
        form_(form),
        rank_(kernel.module.shape(kernel.module.operands(form.first_reduce)[0]).rank()) {
    for (size_t k = 0; k < kernel.instructions.size(); ++k) {
      position_[kernel.instructions[k].index] = k;
      last_stage_ = std::max(last_stage_, form.stages[k]);
      if (!IsReduce(kernel.instructions[k])) continue;
      Kernel alone = kernel;
      alone.roots = {kernel.instructions[k]};
      const auto [it, _] = reducers_.emplace(alone.roots[0].index, Reducers(alone));
      has_failed_ |= !it->second.AreAssociative();
    }
    ChooseThreads();
    function_ = std::make_unique<KernelFunction>(module, kernel, name, -1, teams_ * lanes_);
  }

  EmittedKernel Emit() {
    if (has_failed_) {
      function_->Finish();
      return {};
    }
    EmittedKernel out =
        InGrains(name_, (form_.rows - 1) / teams_ + 1, 1, form_.row_size, kernel_.roots.size());
    out.block = teams_ * lanes_;
    Builder& b = function_->builder();
    GpuBlock block(*function_);
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    ElementEmitter scalars(kernel_.module, math, function_->Arrays());
    block_ = &block;
    math_ = &math;
    emitter_ = &emitter;
    scalars_ = &scalars;
    team_ = b.CreateUDiv(function_->thread(), Int(lanes_));
    lane_ = b.CreateURem(function_->thread(), Int(lanes_));
    Value* row = b.CreateAdd(b.CreateMul(function_->begin(), Int(teams_)), team_);
    has_row_ = b.CreateICmpSLT(row, Int(form_.rows));
    row_ = function_->Smaller(row, Int(form_.rows - 1));
    PlaceElements();
    for (int stage = 0; stage <= last_stage_; ++stage) {
      for (size_t k = 0; k < kernel_.instructions.size(); ++k) {
        if (form_.roles[k] == RowRole::kOfRow && form_.stages[k] == stage) {
          OfRow(kernel_.instructions[k]);
        }
      }
      RunThrough(stage);
    }
    function_->Finish();
    out.is_complete = !emitter.has_failed() && !scalars.has_failed() && !has_failed_;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_->Int(value); }
  bool IsReduce(InstructionId id) const { return kernel_.module[id].opcode == Opcode::kReduce; }
  ElementType TypeOf(InstructionId id) const { return kernel_.module.shape(id).element_type(); }
  InstructionId InputOf(InstructionId reduce) const { return kernel_.module.operands(reduce)[0]; }
  const Reducers& Of(InstructionId reduce) const { return reducers_.at(reduce.index); }
  int StageOf(InstructionId id) const {
    const auto it = position_.find(id.index);
    return it == position_.end() ? 0 : form_.stages[it->second];
  }
  bool IsOfRow(InstructionId id) const {
    const auto it = position_.find(id.index);
    return it != position_.end() && form_.roles[it->second] == RowRole::kOfRow;
  }

  void ChooseThreads() {
    const int64_t size = form_.row_size;
    const int64_t wanted = PowerOfTwoFrom((size - 1) / kEnoughOfThread + 1);
    lanes_ = std::clamp(wanted, std::min(kWarp, PowerOfTwoFrom(size)), kMaxRowThreads);
    teams_ = std::min(std::max<int64_t>(1, kUsualThreads / lanes_), PowerOfTwoFrom(form_.rows));
    teams_ = std::max(teams_, kWarp / lanes_);
    side_by_side_ = size % kSideBySide == 0 && size >= kSideBySide * lanes_ ? kSideBySide : 1;
    turns_ = (size - 1) / (lanes_ * side_by_side_) + 1;
    is_kept_ = turns_ * side_by_side_ <= kMaxKept &&
               turns_ * side_by_side_ * std::ssize(kernel_.instructions) <= kMaxWritten;
  }

  // ---- Where the elements of a thread are.

  struct Place {
    Value* at;                // in the row
    Value* is_new = nullptr;  // null: it is one; else false where another thread has it
  };

  // Element `k` of the turn that begins with group number `group` of elements side by side.
  Place PlaceOf(Value* group, int64_t k) {
    Builder& b = function_->builder();
    const int64_t groups = form_.row_size / side_by_side_;
    Place place;
    if (groups % lanes_ != 0) {
      place.is_new = b.CreateICmpSLT(group, Int(groups));
      group = function_->Smaller(group, Int(groups - 1));
    }
    place.at = b.CreateAdd(b.CreateMul(group, Int(side_by_side_)), Int(k));
    return place;
  }
  void PlaceElements() {
    if (!is_kept_) return;
    Builder& b = function_->builder();
    for (int64_t turn = 0; turn < turns_; ++turn) {
      Value* group = b.CreateAdd(lane_, Int(turn * lanes_));
      for (int64_t k = 0; k < side_by_side_; ++k) places_.push_back(PlaceOf(group, k));
    }
  }
  Index IndexOf(const Place& place) {
    Index index;
    if (form_.leading > 0) index.groups.push_back({form_.leading, math_->FromScalar(row_)});
    index.groups.push_back({rank_ - form_.leading, math_->FromScalar(place.at)});
    return index;
  }

  // ---- A stage.

  // A value of the row: reduces are there already.
  void OfRow(InstructionId id) {
    if (!IsReduce(id)) {
      Index index;
      if (const size_t rank = kernel_.module.shape(id).rank(); rank > 0) {
        index.groups.push_back({rank, math_->FromScalar(row_)});
      }
      if (!is_kept_) emitter_->Forget();
      Fix(id, emitter_->Emit(id, std::move(index)));
    }
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      if (kernel_.roots[k] != id) continue;
      Value* value = emitter_->EmitScalar(id);
      Builder& b = function_->builder();
      block_->When(b.CreateAnd(has_row_, b.CreateICmpEQ(lane_, Int(0))),
                   [&] { function_->Store(value, TypeOf(id), function_->result(k), row_, 1); });
    }
  }
  void Fix(InstructionId id, Value* value) {
    emitter_->Fix(id, value);
    scalars_->Fix(id, value);
  }

  void RunThrough(int stage) {
    Builder& b = function_->builder();
    std::vector<InstructionId> reduces;
    for (const InstructionId id : kernel_.instructions) {
      if (IsReduce(id) && StageOf(id) == stage + 1) reduces.push_back(id);
    }
    std::vector<size_t> roots;
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      const InstructionId root = kernel_.roots[k];
      if (!IsOfRow(root) && StageOf(root) == stage) roots.push_back(k);
    }
    if (reduces.empty() && roots.empty()) return;
    Accumulators sums;
    for (const InstructionId id : reduces) sums.push_back(Of(id).Start(*scalars_, b, 1)[0]);
    if (is_kept_) {
      for (const Place& place : places_) sums = Add(reduces, place, sums);
      Store(roots, places_);
    } else {
      sums = function_->Loop(lane_, Int(turns_ * lanes_), lanes_, sums,
                             [&](Value* group, Accumulators values) {
                               emitter_->Forget();
                               std::vector<Place> places;
                               for (int64_t k = 0; k < side_by_side_; ++k) {
                                 places.push_back(PlaceOf(group, k));
                                 values = Add(reduces, places.back(), values);
                               }
                               Store(roots, places);
                               return values;
                             });
    }
    for (size_t r = 0; r < reduces.size(); ++r) {
      const Reducers& reducers = Of(reduces[r]);
      const Accumulators total = block_->Combined(
          {sums[r]}, lanes_, team_, teams_, [&](const Accumulators& x, const Accumulators& y) {
            return reducers.Combine(function_->builder(), x, y);
          });
      Fix(reduces[r], reducers.Results(*scalars_, b, total)[0]);
    }
  }

  Accumulators Add(const std::vector<InstructionId>& reduces, const Place& place,
                   const Accumulators& sums) {
    Builder& b = function_->builder();
    Accumulators next;
    for (size_t r = 0; r < reduces.size(); ++r) {
      Value* element = emitter_->Emit(InputOf(reduces[r]), IndexOf(place));
      const Reducers& reducers = Of(reduces[r]);
      Value* sum = reducers.Combine(b, {sums[r]}, {reducers.AsAccumulator(b, element, 1)})[0];
      next.push_back(place.is_new == nullptr ? sum : b.CreateSelect(place.is_new, sum, sums[r]));
    }
    return next;
  }

  // Values first, where nothing is in the way, then stores.
  void Store(const std::vector<size_t>& roots, const std::vector<Place>& places) {
    if (roots.empty()) return;
    Builder& b = function_->builder();
    std::vector<Value*> values;
    for (const size_t k : roots) {
      for (const Place& place : places) {
        values.push_back(emitter_->Emit(kernel_.roots[k], IndexOf(place)));
      }
    }
    Value* before = b.CreateMul(row_, Int(form_.row_size));
    const auto side = static_cast<size_t>(side_by_side_);
    for (size_t p = 0; p < places.size(); p += side) {
      Value* is_own = has_row_;
      if (places[p].is_new != nullptr) is_own = b.CreateAnd(is_own, places[p].is_new);
      block_->When(is_own, [&] {
        for (size_t r = 0; r < roots.size(); ++r) {
          for (size_t k = p; k < p + side; ++k) {
            function_->Store(values[r * places.size() + k], TypeOf(kernel_.roots[roots[r]]),
                             function_->result(roots[r]), b.CreateAdd(before, places[k].at), 1);
          }
        }
      });
    }
  }

  const Kernel& kernel_;
  std::string name_;
  const RowForm& form_;
  std::unique_ptr<KernelFunction> function_;
  size_t rank_;
  int last_stage_ = 0;
  std::unordered_map<uint32_t, size_t> position_;  // by instruction
  std::unordered_map<uint32_t, Reducers> reducers_;
  int64_t lanes_ = 1, teams_ = 1;  // threads of a row, rows of a block; powers of two
  int64_t side_by_side_ = 1, turns_ = 1;
  bool is_kept_ = true;
  std::vector<Place> places_;
  GpuBlock* block_ = nullptr;
  IndexMath* math_ = nullptr;
  ElementEmitter *emitter_ = nullptr, *scalars_ = nullptr;
  Value *team_ = nullptr, *lane_ = nullptr, *row_ = nullptr, *has_row_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitGpuRows(llvm::Module& module, const Kernel& kernel, const std::string& name,
                          const RowForm& form) {
  return GpuRowKernel(module, kernel, name, form).Emit();
}

}  // namespace hloscope::codegen
