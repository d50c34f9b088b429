// Kernels that reduce long windows along one dimension without going through each window: the
// window reaches back to the beginning (cumulative sums) or on to the end, or slides.
//
// A sliding window of w elements is cut where a multiple of w lies in it: what is left of there is
// the end of one block of w, what is right of there the beginning of the next. So two scans of each
// block give w results, and blocks do not depend on each other. Sums of a scan are grouped by
// position alone: runs within runs, none of them long. What reducers that are not known to be
// associative come to from the beginning on is one run, in the order of the elements.
#include "core/codegen/emit/scan_kernel.h"

#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/reducers.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {
namespace {

using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kScanRun = 64;      // vectors, or elements of one lane, in a run
constexpr int64_t kRunOfRuns = 4096;  // the same in a run of runs
constexpr int64_t kMinSliding = 16;   // shorter windows are gone through one by one
// Rows that are so long are gone through one behind the other, in strips of kScanSlots vectors,
// kRows at a time: far from its neighbours, a vector takes longer to find than to read.
constexpr int64_t kScanSlots = 64, kMinStrips = 4, kRows = 8;

class ScanKernel {
 public:
  ScanKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
             const ScanForm& form)
      : kernel_(kernel),
        name_(name),
        form_(form),
        reducers_(kernel),
        function_(module, kernel, name, -1),
        sizes_(reducers_.sizes()),
        count_(sizes_[form.dimension]),
        behind_(ProductOf(sizes_.subspan(form.dimension + 1))) {
    in_lanes_ = behind_ == 1;
    const bool is_in_order = !reducers_.AreAssociative();
    width_ = in_lanes_ && is_in_order ? 1 : LanesAlong(kernel, in_lanes_ ? count_ : behind_);
    vectors_ = in_lanes_ ? 1 : (behind_ - 1) / width_ + 1;
    blocks_ = form.kind == ScanForm::Kind::kSliding ? (form.results - 1) / form.window + 1 : 1;
    const bool is_sliding = form.kind == ScanForm::Kind::kSliding;
    if (!is_in_order) levels_ = {kRunOfRuns, kScanRun};
    if (!is_in_order && !is_sliding && vectors_ >= kMinStrips * kScanSlots) slots_ = kScanSlots;
    strips_ = (vectors_ - 1) / slots_ + 1;
  }

  EmittedKernel Emit() {
    const int64_t units = ProductOf(sizes_.first(form_.dimension)) * strips_ * blocks_;
    const int64_t bytes = std::min(count_, form_.window) * width_ * slots_ *
                          BytesPerElement(kernel_, ProductOf(sizes_));
    const int64_t grain = std::clamp<int64_t>(GrainLimit(kernel_, kGrainBytes) / bytes, 1, units);
    EmittedKernel out = InGrains(name_, units, grain, bytes, reducers_.count());
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    identity_ = reducers_.Start(emitter, b, width_);
    reducers_.FixInitial(emitter);
    function_.ForUnits(units, grain, [&](Value* unit) { Unit(unit); });
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  // Positions of a scan, of the input or of the result: origin + i, or origin - i.
  struct Line {
    Value* origin;
    bool is_reversed;
    int64_t size;     // positions from 0 to here are inside
    bool is_clipped;  // there may be others
  };

  Value* Int(int64_t value) { return function_.Int(value); }

  void Unit(Value* unit) {
    Builder& b = function_.builder();
    Value* block = b.CreateURem(unit, Int(blocks_));
    Value* rest = b.CreateUDiv(unit, Int(blocks_));
    before_ = b.CreateUDiv(rest, Int(strips_));
    Value* first = b.CreateMul(b.CreateURem(rest, Int(strips_)), Int(slots_));
    lane_ = in_lanes_ ? Int(0) : LaneOf(first);
    if (form_.kind == ScanForm::Kind::kSliding) return Slide(block);
    const bool is_reversed = form_.kind == ScanForm::Kind::kSuffix;
    const Line line{Int(is_reversed ? count_ - 1 : 0), is_reversed, count_, false};
    if (slots_ > 1) return Strip(line, first);
    Scan(count_, line, [&](Value* i, const Accumulators& values) {
      Write(line, i, count_, reducers_.Results(*emitter_, b, values));
    });
  }
  Value* LaneOf(Value* vector) {
    return function_.Smaller(function_.builder().CreateMul(vector, Int(width_)),
                             Int(behind_ - width_));
  }

  // The results of one block, whose windows all reach `border`, where the next block of the input
  // begins, or end right before it.
  void Slide(Value* block) {
    Builder& b = function_.builder();
    const int64_t window = form_.window;
    Value* first = b.CreateMul(block, Int(window));  // result
    Value* border = b.CreateSub(b.CreateAdd(first, Int(window)), Int(form_.padding_low));
    const Line left{b.CreateSub(border, Int(1)), true, count_, true};
    const Line left_out{b.CreateAdd(first, Int(window - 1)), true, form_.results, true};
    Scan(window, left, [&](Value* i, const Accumulators& values) {
      Write(left_out, i, window, reducers_.Results(*emitter_, b, values));
    });
    const Line right{border, false, count_, true};
    const Line right_out{b.CreateAdd(first, Int(1)), false, form_.results, true};
    Scan(window - 1, right, [&](Value* i, const Accumulators& values) {
      Write(right_out, i, window - 1, reducers_.Combine(b, Read(right_out, i, window - 1), values));
    });
  }

  // ---- Vectors from `first` on of neighbouring lines, one row of theirs behind the other as they
  // lie in memory; each number as Scan() makes it.

  void Strip(const Line& line, Value* first) {
    Builder& b = function_.builder();
    Value* end = function_.Smaller(b.CreateAdd(first, Int(slots_)), Int(vectors_));
    const EachSlot each_slot = [&](const std::function<void(Value*)>& body) {
      function_.Loop(first, end, 1, [&](Value* vector) {
        lane_ = LaneOf(vector);
        body(b.CreateSub(vector, first));
      });
    };
    StripRuns(count_, Int(0), line, levels_, {}, each_slot);
  }

  using EachSlot = std::function<void(const std::function<void(Value*)>&)>;

  // As ScanRuns(): `outer` are the rooms of what came before; returns that of what the run comes
  // to.
  Slots StripRuns(int64_t length, Value* from, const Line& line, std::vector<int64_t> levels,
                  const std::vector<Slots>& outer, const EachSlot& each_slot) {
    Builder& b = function_.builder();
    while (!levels.empty() && levels.front() >= length) levels.erase(levels.begin());
    Value* to = function_.Smaller(b.CreateAdd(from, Int(length)), Int(count_));
    const Slots own(b, reducers_, width_, slots_);
    each_slot([&](Value* slot) { own.Save(slot, identity_); });
    if (levels.empty()) {
      Value* whole = b.CreateAnd(b.CreateSub(to, from), Int(-kRows));
      Value* rest = b.CreateAdd(from, whole);
      for (const int64_t rows : {kRows, int64_t{1}}) {
        function_.Loop(rows == 1 ? rest : from, rows == 1 ? to : rest, rows, [&](Value* i) {
          each_slot([&](Value* slot) { StripRows(line, i, rows, slot, own, outer); });
        });
      }
      return own;
    }
    const int64_t run = levels.front();
    levels.erase(levels.begin());
    std::vector<Slots> around = outer;
    around.push_back(own);
    function_.Loop(from, to, run, [&](Value* i) {
      const Slots inner = StripRuns(run, i, line, levels, around, each_slot);
      each_slot([&](Value* slot) {
        own.Save(slot, reducers_.Combine(b, own.Load(slot), inner.Load(slot)));
      });
    });
    return own;
  }

  // All rows are read before one is written: a processor that compares addresses by their last 12
  // bits else waits for the one with the other.
  void StripRows(const Line& line, Value* i, int64_t rows, Value* slot, const Slots& own,
                 const std::vector<Slots>& outer) {
    Builder& b = function_.builder();
    Accumulators sums = own.Load(slot);
    std::vector<Accumulators> before, elements, results;
    for (const Slots& each : outer) before.push_back(each.Load(slot));
    for (int64_t k = 0; k < rows; ++k) {
      elements.push_back(Elements(line, b.CreateAdd(i, Int(k)), count_));
    }
    for (const Accumulators& each : elements) {
      sums = reducers_.Combine(b, sums, each);
      Accumulators all = sums;
      for (size_t k = before.size(); k-- > 0;) all = reducers_.Combine(b, before[k], all);
      results.push_back(reducers_.Results(*emitter_, b, all));
    }
    for (int64_t k = 0; k < rows; ++k) {
      Write(line, b.CreateAdd(i, Int(k)), count_, results[static_cast<size_t>(k)]);
    }
    own.Save(slot, sums);
  }

  using Body = std::function<void(Value*, const Accumulators&)>;

  // Calls body(i, what elements 0 to i of the line come to) for i below `count`, in vectors.
  void Scan(int64_t count, const Line& line, const Body& body) {
    ScanRuns(count, count, Int(0), line, levels_, {}, body);
  }

  // A run of elements [from, from + length) below `count`, in runs of the lengths of `levels`.
  // `outer`: what came before this run, one for each level around it. Returns what it comes to.
  Accumulators ScanRuns(int64_t length, int64_t count, Value* from, const Line& line,
                        std::vector<int64_t> levels, const std::vector<Accumulators>& outer,
                        const Body& body) {
    Builder& b = function_.builder();
    const int64_t step = in_lanes_ ? width_ : 1;
    while (!levels.empty() && levels.front() * step >= length) levels.erase(levels.begin());
    Value* to = function_.Smaller(b.CreateAdd(from, Int(length)), Int(count));
    if (levels.empty()) {
      return function_.Loop(from, to, step, identity_, [&](Value* i, const Accumulators& so_far) {
        Accumulators own = reducers_.Combine(b, so_far, WithinVector(Elements(line, i, count)));
        Accumulators all = own;
        for (size_t k = outer.size(); k-- > 0;) all = reducers_.Combine(b, outer[k], all);
        body(i, all);
        return in_lanes_ ? LastLane(own) : own;
      });
    }
    const int64_t run = levels.front() * step;
    levels.erase(levels.begin());
    return function_.Loop(from, to, run, identity_, [&](Value* i, const Accumulators& so_far) {
      std::vector<Accumulators> around = outer;
      around.push_back(so_far);
      return reducers_.Combine(b, so_far, ScanRuns(run, count, i, line, levels, around, body));
    });
  }

  // Lane l: what lanes 0 to l come to.
  Accumulators WithinVector(Accumulators values) {
    if (!in_lanes_) return values;
    Builder& b = function_.builder();
    for (int distance = 1; distance < width_; distance *= 2) {
      std::vector<int> lanes;
      for (int lane = 0; lane < width_; ++lane) {
        lanes.push_back(lane < distance ? lane : width_ + lane - distance);
      }
      Accumulators moved;
      for (size_t k = 0; k < values.size(); ++k) {
        moved.push_back(b.CreateShuffleVector(identity_[k], values[k], lanes));
      }
      values = reducers_.Combine(b, moved, values);
    }
    return values;
  }
  Accumulators LastLane(Accumulators values) {
    if (width_ == 1) return values;
    const std::vector<int> lanes(static_cast<size_t>(width_), width_ - 1);
    for (Value*& value : values) value = function_.builder().CreateShuffleVector(value, lanes);
    return values;
  }

  // ---- Memory.

  // Where element i of a line stands, in all lanes.
  LaneNumber Position(const Line& line, Value* i) {
    Builder& b = function_.builder();
    Value* base = line.is_reversed ? b.CreateSub(line.origin, i) : b.CreateAdd(line.origin, i);
    const int64_t step = in_lanes_ && width_ > 1 ? (line.is_reversed ? -1 : 1) : 0;
    return {base, step, nullptr, 1};
  }
  // The lanes whose elements are below `count` and inside of the line; null: all.
  Value* Mask(const Line& line, Value* i, int64_t count) {
    Builder& b = function_.builder();
    Value* mask = nullptr;
    const auto add = [&](const LaneNumber& number, int64_t limit) {
      Value* lanes = math_->Vector(number);
      Value* is_below = b.CreateICmpULT(lanes, IntegerLike(lanes, limit));
      mask = mask == nullptr ? is_below : b.CreateAnd(mask, is_below);
    };
    if (in_lanes_ && count % width_ != 0) add(LanesFrom(i, width_), count);
    if (line.is_clipped) add(Position(line, i), line.size);
    return mask;
  }

  Accumulators Elements(const Line& line, Value* i, int64_t count) {
    Builder& b = function_.builder();
    Index index;
    if (form_.dimension > 0) index.groups.push_back({form_.dimension, math_->FromScalar(before_)});
    index.groups.push_back({1, Position(line, i)});
    if (const size_t rest = sizes_.size() - form_.dimension - 1; rest > 0) {
      const int64_t step = in_lanes_ || width_ == 1 ? 0 : 1;
      index.groups.push_back({rest, {lane_, step, nullptr, 1}});
    }
    index.mask = Mask(line, i, count);
    Accumulators elements = reducers_.Elements(*emitter_, b, index, width_);
    if (index.mask == nullptr) return elements;
    for (size_t k = 0; k < elements.size(); ++k) {
      elements[k] = b.CreateSelect(index.mask, elements[k], identity_[k]);
    }
    return elements;
  }

  // The address of a vector of results, and its mask, in the order of memory.
  std::pair<Value*, Value*> Place(const Line& line, Value* i, int64_t count, size_t k) {
    Builder& b = function_.builder();
    Value* at = Position(line, i).base;
    Value* mask = Mask(line, i, count);
    if (in_lanes_ && line.is_reversed && width_ > 1) {
      at = b.CreateSub(at, Int(width_ - 1));
      if (mask != nullptr) mask = b.CreateVectorReverse(mask);
    }
    Value* row = b.CreateAdd(b.CreateMul(before_, Int(form_.results)), at);
    Value* offset = b.CreateAdd(b.CreateMul(row, Int(behind_)), lane_);
    llvm::Type* type = MemoryType(b, reducers_.ResultType(k));
    return {b.CreateGEP(type, function_.result(k), offset), mask};
  }
  Value* Ordered(const Line& line, Value* vector) {
    const bool is_turned = in_lanes_ && line.is_reversed && width_ > 1;
    return is_turned ? function_.builder().CreateVectorReverse(vector) : vector;
  }
  llvm::Align AlignOf(size_t k) const {
    return llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(reducers_.ResultType(k))));
  }
  // A mask for memory: scalars have branches of their own.
  static bool IsVector(Value* value) { return value->getType()->isVectorTy(); }

  void Write(const Line& line, Value* i, int64_t count, const Accumulators& values) {
    Builder& b = function_.builder();
    for (size_t k = 0; k < values.size(); ++k) {
      const auto [address, mask] = Place(line, i, count, k);
      Value* value = Ordered(line, ToMemory(b, values[k], reducers_.ResultType(k)));
      if (mask == nullptr) {
        b.CreateAlignedStore(value, address, AlignOf(k));
      } else {
        b.CreateMaskedStore(AsVector(value), address, AlignOf(k), AsVector(mask));
      }
    }
  }
  Accumulators Read(const Line& line, Value* i, int64_t count) {
    Builder& b = function_.builder();
    Accumulators values;
    for (size_t k = 0; k < reducers_.count(); ++k) {
      const auto [address, mask] = Place(line, i, count, k);
      llvm::Type* type = llvm::FixedVectorType::get(MemoryType(b, reducers_.ResultType(k)),
                                                    static_cast<unsigned>(width_));
      Value* value = b.CreateMaskedLoad(type, address, AlignOf(k), AsVector(mask));
      if (width_ == 1) value = b.CreateExtractElement(value, uint64_t{0});
      values.push_back(FromMemory(b, Ordered(line, value), reducers_.ResultType(k)));
    }
    return values;
  }
  // In as many lanes as vectors have, be it one.
  Value* AsVector(Value* value) {
    if (IsVector(value)) return value;
    return function_.builder().CreateVectorSplat(static_cast<unsigned>(width_), value);
  }

  const Kernel& kernel_;
  std::string name_;
  ScanForm form_;
  Reducers reducers_;
  KernelFunction function_;
  std::span<const int64_t> sizes_;
  int64_t count_, behind_;  // elements along the dimension, and in those behind it
  bool in_lanes_ = false;   // lanes are neighbours along the dimension, not behind it
  int width_ = 1;
  int64_t vectors_ = 1, blocks_ = 1;
  int64_t slots_ = 1, strips_ = 1;  // vectors of a strip, and strips of all
  std::vector<int64_t> levels_;     // lengths of runs within runs, from the longest on
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  Accumulators identity_;
  Value *before_ = nullptr, *lane_ = nullptr;  // where the unit at hand is
};

}  // namespace

std::optional<ScanForm> ScanFormOf(const Kernel& kernel) {
  const Reducers reducers(kernel);
  const hlo::Window* window = hlo::FindWindow(kernel.module, kernel.roots[0]);
  const auto sizes = reducers.sizes();
  if (window == nullptr) return {};
  std::optional<ScanForm> form;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const hlo::WindowDimension& w = window->dimensions[d];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return {};
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    if (form.has_value()) return {};
    form = {d, ScanForm::Kind::kSliding, w.size, w.padding_low,
            sizes[d] + w.padding_low + w.padding_high - w.size + 1};
    const bool reaches_all = w.size >= sizes[d] && form->results == sizes[d];
    if (reaches_all && w.padding_high == 0) form->kind = ScanForm::Kind::kPrefix;
    if (reaches_all && w.padding_low == 0) form->kind = ScanForm::Kind::kSuffix;
  }
  if (!reducers.AreAssociative()) {
    const bool is_in_order =
        form.has_value() && form->kind == ScanForm::Kind::kPrefix && !kernel.is_for_gpu();
    return is_in_order ? form : std::nullopt;
  }
  if (!form.has_value() || form->kind != ScanForm::Kind::kSliding) return form;
  // Scans of blocks are kept in the result.
  for (size_t k = 0; k < reducers.count(); ++k) {
    if (reducers.AccumulatorType(k) != reducers.ResultType(k)) return {};
  }
  const bool is_worth_it =
      form->window >= kMinSliding && form->window <= 2 * sizes[form->dimension];
  return is_worth_it ? form : std::nullopt;
}

EmittedKernel EmitScan(llvm::Module& module, const Kernel& kernel, const std::string& name,
                       const ScanForm& form) {
  return ScanKernel(module, kernel, name, form).Emit();
}

}  // namespace hloscope::codegen
