// Kernels that reduce arrays of the same dimensions over the same of them.
//
// Lanes are elements that are combined with each other (rows) or elements of the result (columns).
// Associative reducers combine in a tree that depends on the sizes alone: several accumulators in
// turn, runs of a bounded length one behind the other, parts of their own grains where the results
// alone would be too few of them.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/reducers.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kPartBytes = 1 << 18;  // read for one part of a result, at least
constexpr int64_t kEnoughGrains = 16;    // results that are so many need no parts
constexpr int64_t kMaxParts = 64;
constexpr int64_t kRun = 256;   // combined one after the other, before the sum joins others
constexpr int64_t kTurns = 4;   // accumulators in turn
constexpr int64_t kSlots = 64;  // vectors of results that one unit makes
constexpr int64_t kRows = 8;    // that a block of columns takes at a time
constexpr int64_t kLongColumns = 2048;
constexpr int64_t kNearBytes = 1 << 16;
constexpr size_t kMaxSimple = 8;  // instructions of a kernel whose code may be repeated for them

struct Group : LoopGroup {
  bool is_reduced = false;
};

class ReduceKernel {
 public:
  ReduceKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : module_(module),
        kernel_(kernel),
        name_(name),
        reducers_(kernel),
        function_(std::make_unique<KernelFunction>(module, kernel, name, -1)) {
    MakeGroups();
    ChooseLanes();
    ChooseGrains();
  }

  EmittedKernel Emit() {
    EmittedKernel out;
    out.code.name = name_;
    out.code.grains = ((units_ - 1) / grain_ + 1) * parts_;
    out.code.scratch_bytes = parts_ > 1 ? ScratchBytes() : 0;
    out.code.grain_bytes = grain_ * UnitElements() / parts_ * bytes_;
    out.code.in_place.assign(reducers_.count(), -1);
    out.has_finish = parts_ > 1;
    IndexMath math(function_->builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    math_ = &math;
    emitter_ = &emitter;
    emitter.ReadAhead(AheadOf());
    // Grains of one part stand behind those of the part before.
    function_->Loop(function_->begin(), function_->end(), 1, [&](Value* number) {
      Builder& b = function_->builder();
      Value* per_part = Int((units_ - 1) / grain_ + 1);
      Value* from = b.CreateMul(b.CreateURem(number, per_part), Int(grain_));
      Value* to = function_->Smaller(b.CreateAdd(from, Int(grain_)), Int(units_));
      part_ = parts_ > 1 ? b.CreateUDiv(number, per_part) : nullptr;
      function_->Loop(from, to, 1, [&](Value* unit) { Unit(unit); });
    });
    function_->Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    if (parts_ > 1) out.is_complete &= EmitFinish();
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_->Int(value); }

  void MakeGroups() {
    sizes_ = reducers_.sizes();
    const auto dimensions = reducers_.dimensions();
    const auto is_reduced = [&](size_t d) {
      return std::ranges::find(dimensions, static_cast<int64_t>(d)) != dimensions.end();
    };
    auto borders = Borders(kernel_, reducers_.inputs(), sizes_);
    std::vector<size_t> longer;  // dimensions of more than one element
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] == 1) continue;
      if (!longer.empty() && is_reduced(longer.back()) != is_reduced(d)) borders[d] = true;
      longer.push_back(d);
    }
    size_t d = 0;
    for (const LoopGroup& group : Grouped(sizes_, borders)) {
      groups_.push_back({group, false});
      for (const size_t end = d + group.count; d < end; ++d) {
        if (sizes_[d] != 1) groups_.back().is_reduced = is_reduced(d);
      }
      (groups_.back().is_reduced ? reduced_ : kept_) *= group.size;
    }
    bytes_ = BytesPerElement(kernel_, kept_ * reduced_);
  }

  // The last group of the kind with at least so many elements; -1 if there is none.
  int LastGroup(bool is_reduced, int64_t at_least) const {
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_[g].is_reduced != is_reduced) continue;
      // Results are written by lane only along their last dimension.
      return groups_[g].size >= at_least ? static_cast<int>(g) : -1;
    }
    return -1;
  }

  // The group along which all large parameters are read element after element, where that is not
  // the last one; -1 if there is none, or it is short.
  int GroupReadAlong() const {
    const Transposition transposition = FindTransposition(kernel_, reducers_.inputs(), sizes_);
    if (transposition.dimension < 0 || !transposition.is_only) return -1;
    size_t g = 0, end = groups_[0].count;
    while (end <= static_cast<size_t>(transposition.dimension)) end += groups_[++g].count;
    return groups_[g].size >= kFewLanes ? static_cast<int>(g) : -1;
  }

  void ChooseLanes() {
    const int kept = LastGroup(false, kFewLanes), reduced = LastGroup(true, kFewLanes);
    const int minor = static_cast<int>(groups_.size()) - 1;
    if (!reducers_.AreAssociative()) {
      lane_ = LastGroup(false, 2);
    } else if (kept == minor || (kept >= 0 && reduced != minor)) {
      lane_ = kept;
    } else {
      lane_ = reduced >= 0 ? reduced : minor;
    }
    if (const int across = GroupReadAlong(); across >= 0 && reducers_.AreAssociative()) {
      if (across == kept || groups_[static_cast<size_t>(across)].is_reduced) lane_ = across;
    }
    // Lanes that are combined run innermost.
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].is_reduced && static_cast<int>(g) != lane_) order_.push_back(g);
    }
    if (lane_ >= 0 && !HasKeptLanes()) order_.push_back(static_cast<size_t>(lane_));
    const int64_t size = lane_ < 0 ? 1 : groups_[static_cast<size_t>(lane_)].size;
    width_ = LanesAlong(kernel_, size);
    slots_ = 1;
    if (HasKeptLanes()) {
      const int64_t vectors = (size - 1) / width_ + 1;
      slots_ = lane_ == minor && !kernel_.is_for_gpu() ? std::min(vectors, kSlots) : 1;
      blocks_ = (vectors - 1) / slots_ + 1;
    }
  }
  bool HasKeptLanes() const {
    return lane_ >= 0 && !groups_[static_cast<size_t>(lane_)].is_reduced;
  }

  int64_t UnitElements() const { return reduced_ * (HasKeptLanes() ? slots_ * width_ : 1); }

  void ChooseGrains() {
    units_ = HasKeptLanes() ? kept_ / groups_[static_cast<size_t>(lane_)].size * blocks_ : kept_;
    const int64_t unit_bytes = UnitElements() * bytes_;
    grain_ = std::clamp<int64_t>(
        GrainLimit(kernel_, kGrainBytes) / std::max<int64_t>(1, unit_bytes), 1, units_);
    if (!reducers_.AreAssociative() || units_ / grain_ >= kEnoughGrains) return;
    const int64_t parts = std::min(kMaxParts, reduced_ * kept_ * bytes_ / kPartBytes);
    // The longest reduced group is cut into parts of whole vectors.
    int64_t longest = 1;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].is_reduced || groups_[g].size <= longest) continue;
      longest = groups_[g].size;
      cut_ = static_cast<int>(g);
    }
    if (parts < 2 || longest < 2 * width_) {
      cut_ = -1;
      return;
    }
    part_size_ = (longest - 1) / parts + 1;
    part_size_ = (part_size_ + width_ - 1) / width_ * width_;
    parts_ = (longest - 1) / part_size_ + 1;
    if (parts_ == 1) cut_ = -1;
  }

  // How many elements loops along memory look ahead. Blocks of columns go through rows as they lie,
  // and asking for the next ones takes longer than the processor's own reading ahead, by a quarter
  // where they come from memory.
  int64_t AheadOf() const {
    if (kernel_.is_for_gpu()) return 0;
    if (lane_ < 0 || lane_ + 1 != static_cast<int>(groups_.size()) || HasKeptLanes()) return 0;
    return groups_.back().size >= kMinAhead ? kAhead : 0;
  }

  // Partial results: array by array, part by part.
  int64_t PartialsOf(size_t i) const { return reducers_.PartialsOf(i, parts_ * kept_); }
  int64_t ScratchBytes() const { return PartialsOf(reducers_.count()); }

  Accumulators Start() { return reducers_.Start(*emitter_, function_->builder(), width_); }
  Accumulators Combine(const Accumulators& left, const Accumulators& right) {
    Accumulators out = reducers_.Combine(function_->builder(), left, right);
    if (out.empty()) {
      has_failed_ = true;
      return left;
    }
    return out;
  }

  // ---- A unit: one result, or a block of lanes of results.

  void Unit(Value* unit) {
    Builder& b = function_->builder();
    numbers_.assign(groups_.size(), math_->Constant(0));
    Value* rest = unit;
    Value* block = nullptr;
    if (HasKeptLanes()) {
      block = b.CreateURem(rest, Int(blocks_));
      rest = b.CreateUDiv(rest, Int(blocks_));
    }
    Value* result = Int(0);  // the first of the unit, without its lanes
    int64_t stride = 1;
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_[g].is_reduced) continue;
      if (static_cast<int>(g) != lane_) {
        numbers_[g] = math_->TakeLast(rest, groups_[g].size);
        result = b.CreateAdd(result, b.CreateMul(numbers_[g].base, Int(stride)));
      }
      stride *= groups_[g].size;
    }
    if (!HasKeptLanes()) {
      Accumulators total = Fold(0, Start());
      if (lane_ >= 0) total = reducers_.CombineLanes(b, total);
      return Write(total, result, 1);
    }
    const int64_t size = groups_[static_cast<size_t>(lane_)].size;
    Value* first = b.CreateMul(block, Int(slots_));
    if (slots_ == 1) {
      Value* at = LaneStart(first, size);
      numbers_[static_cast<size_t>(lane_)] = Lanes(at);
      return Write(Fold(0, Start()), b.CreateAdd(result, at), width_);
    }
    const int64_t vectors = (size - 1) / width_ + 1;
    Value* end = function_->Smaller(b.CreateAdd(first, Int(slots_)), Int(vectors));
    Block(first, end, result, size);
  }

  // The element at which vector number `vector` of a dimension begins; the last one is moved back.
  Value* LaneStart(Value* vector, int64_t size) {
    Value* at = function_->builder().CreateMul(vector, Int(width_));
    return size % width_ == 0 ? at : function_->Smaller(at, Int(size - width_));
  }
  LaneNumber Lanes(Value* at) const { return LanesFrom(at, width_); }

  void Write(const Accumulators& values, Value* result, int lanes) {
    Builder& b = function_->builder();
    if (parts_ == 1) {
      const Accumulators results = reducers_.Results(*emitter_, b, values);
      for (size_t i = 0; i < results.size(); ++i) {
        function_->Store(results[i], reducers_.ResultType(i), function_->result(i), result, lanes);
      }
      return;
    }
    Value* at = b.CreateAdd(result, b.CreateMul(part_, Int(kept_)));
    for (size_t i = 0; i < values.size(); ++i) {
      function_->Store(values[i], reducers_.AccumulatorType(i), Partials(i), at, lanes);
    }
  }
  Value* Partials(size_t i) {
    return function_->builder().CreateGEP(function_->builder().getInt8Ty(), function_->scratch(),
                                          Int(PartialsOf(i)));
  }

  // ---- Folds.

  bool IsLast(size_t level) const { return level + 1 == order_.size(); }

  // The range of group g that this part takes.
  std::pair<Value*, Value*> RangeOf(size_t g) {
    if (static_cast<int>(g) != cut_) return {Int(0), Int(groups_[g].size)};
    Builder& b = function_->builder();
    Value* from = b.CreateMul(part_, Int(part_size_));
    return {from, function_->Smaller(b.CreateAdd(from, Int(part_size_)), Int(groups_[g].size))};
  }

  // Combines `total` with all elements of the loops from `level` on.
  Accumulators Fold(size_t level, const Accumulators& total) {
    if (level == order_.size()) return Combine(total, Element());
    const size_t g = order_[level];
    const auto [from, to] = RangeOf(g);
    const int64_t step = static_cast<int>(g) == lane_ ? width_ : 1;
    const int64_t longest = static_cast<int>(g) == cut_ ? part_size_ : groups_[g].size;
    const int64_t run = kRun * step * (step > 1 ? kTurns : 1);
    if (!reducers_.AreAssociative() || longest <= run) return Run(level, from, to, step, total);
    return function_->Loop(from, to, run, total, [&](Value* i, const Accumulators& so_far) {
      Value* end = function_->Smaller(function_->builder().CreateAdd(i, Int(run)), to);
      return Combine(so_far, Run(level, i, end, step, Start()));
    });
  }

  // The same for a part of the loop, one after the other.
  Accumulators Run(size_t level, Value* from, Value* to, int64_t step, const Accumulators& total) {
    if (step > 1) return InTurns(order_[level], from, to, total);
    return function_->Loop(from, to, 1, total, [&](Value* i, const Accumulators& so_far) {
      numbers_[order_[level]] = math_->FromScalar(i);
      if (IsLast(level) || !reducers_.AreAssociative()) return Fold(level + 1, so_far);
      return Combine(so_far, Fold(level + 1, Start()));
    });
  }

  // Lanes along the last reduced group: accumulators take turns, so that one need not wait for the
  // other.
  Accumulators InTurns(size_t g, Value* from, Value* to, const Accumulators& total) {
    const size_t count = total.size();
    const auto turns =
        static_cast<size_t>(groups_[g].size >= 2 * kTurns * width_ && count <= 2 ? kTurns : 1);
    Accumulators all = total;
    for (size_t turn = 1; turn < turns; ++turn) {
      const Accumulators more = Start();
      all.insert(all.end(), more.begin(), more.end());
    }
    const int64_t size = groups_[g].size;
    const bool is_even = size % width_ == 0;
    all = function_->Loop(from, to, width_, all, [&](Value* i, Accumulators values) {
      Builder& b = function_->builder();
      Value* at = is_even ? i : function_->Smaller(i, b.CreateSub(to, Int(width_)));
      numbers_[g] = {at, 1, nullptr, is_even ? width_ : 1};
      const Accumulators own(values.begin(), values.begin() + static_cast<ptrdiff_t>(count));
      Accumulators next = Combine(own, Element());
      if (!is_even) {  // lanes that were taken already
        Value* is_new = IsFrom(b.CreateSub(i, at));
        for (size_t k = 0; k < count; ++k) next[k] = b.CreateSelect(is_new, next[k], own[k]);
      }
      values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(count));
      values.insert(values.end(), next.begin(), next.end());
      return values;
    });
    Accumulators sum(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
    for (size_t turn = 1; turn < turns; ++turn) {
      const auto first = all.begin() + static_cast<ptrdiff_t>(turn * count);
      sum = Combine(sum, Accumulators(first, first + static_cast<ptrdiff_t>(count)));
    }
    return sum;
  }
  // Lanes number `first` and up.
  Value* IsFrom(Value* first) {
    Builder& b = function_->builder();
    LaneNumber lanes = math_->Constant(0);
    lanes.step = 1;
    return b.CreateICmpUGE(math_->Vector(lanes), math_->Vector(math_->FromScalar(first)));
  }

  Accumulators Element() {
    Index index;
    for (size_t g = 0; g < groups_.size(); ++g) {
      index.groups.push_back({groups_[g].count, numbers_[g]});
    }
    return reducers_.Elements(*emitter_, function_->builder(), index, width_);
  }

  // ---- Blocks of columns: accumulators in memory, rows as they lie.

  void Block(Value* first, Value* end, Value* result, int64_t size) {
    Builder& b = function_->builder();
    const bool in_runs = reducers_.AreAssociative() && reduced_ > 2 * kRun;
    const Slots places(b, reducers_, width_, slots_);
    const Slots totals = in_runs ? Slots(b, reducers_, width_, slots_) : places;
    const auto each_slot = [&](const std::function<void(Value*, Value*)>& body) {
      function_->Loop(first, end, 1, [&](Value* vector) {
        body(vector, function_->builder().CreateSub(vector, first));
      });
    };
    each_slot([&](Value*, Value* slot) { totals.Save(slot, Start()); });
    Rows(
        0, in_runs,
        [&](bool begins_run) {
          if (begins_run) {
            each_slot([&](Value*, Value* slot) { places.Save(slot, Start()); });
            return;
          }
          each_slot([&](Value* vector, Value* slot) {
            numbers_[static_cast<size_t>(lane_)] = Lanes(LaneStart(vector, size));
            places.Save(slot, WithRows(places.Load(slot)));
          });
        },
        [&] {
          each_slot([&](Value*, Value* slot) {
            totals.Save(slot, Combine(totals.Load(slot), places.Load(slot)));
          });
        });
    each_slot([&](Value* vector, Value* slot) {
      Write(totals.Load(slot), b.CreateAdd(result, LaneStart(vector, size)), width_);
    });
  }

  // Several rows at a time where they are long, so that memory is asked for more of what comes
  // next, and where all are near, so that sums are read and written less often. Other short ones
  // are read ahead by the processor, as long as they are read as they lie.
  bool HasSimpleRows(size_t g) const {
    const bool is_near = reduced_ * kept_ * bytes_ <= kNearBytes;
    return !kernel_.is_for_gpu() && groups_[g].size >= 4 * kRows &&
           (is_near || groups_.back().size >= kLongColumns) &&
           kernel_.instructions.size() <= kMaxSimple;
  }

  // Combines `sum` with the elements of those rows, one after the other.
  Accumulators WithRows(Accumulators sum) {
    if (rows_.empty()) return Combine(sum, Element());
    for (const LaneNumber& row : rows_) {
      numbers_[order_.back()] = row;
      sum = Combine(sum, Element());
    }
    return sum;
  }

  // Calls row(false) for every few rows, rows_, of the loops from `level` on; the last one's rows
  // in runs, each begun by row(true) and ended by end_run().
  void Rows(size_t level, bool in_runs, const std::function<void(bool)>& row,
            const std::function<void()>& end_run) {
    if (level == order_.size()) return row(false);
    const size_t g = order_[level];
    const auto [from, to] = RangeOf(g);
    const auto each_of = [&](Value* begin, Value* end, int64_t together) {
      function_->Loop(begin, end, together, [&](Value* i) {
        if (!IsLast(level)) {
          numbers_[g] = math_->FromScalar(i);
          return Rows(level + 1, in_runs, row, end_run);
        }
        rows_.clear();
        for (int64_t k = 0; k < together; ++k) {
          rows_.push_back(math_->FromScalar(function_->builder().CreateAdd(i, Int(k))));
        }
        row(false);
      });
    };
    const auto each = [&](Value* begin, Value* end) {
      if (!IsLast(level) || !HasSimpleRows(g)) return each_of(begin, end, 1);
      Builder& b = function_->builder();
      Value* whole = b.CreateMul(b.CreateUDiv(b.CreateSub(end, begin), Int(kRows)), Int(kRows));
      Value* rest = b.CreateAdd(begin, whole);
      each_of(begin, rest, kRows);
      each_of(rest, end, 1);
    };
    if (!in_runs || !IsLast(level)) return each(from, to);
    function_->Loop(from, to, kRun, [&](Value* begin) {
      row(true);
      each(begin, function_->Smaller(function_->builder().CreateAdd(begin, Int(kRun)), to));
      end_run();
    });
  }

  // ---- The second function: the parts of each result, in order.

  bool EmitFinish() {
    function_ = std::make_unique<KernelFunction>(module_, kernel_, name_ + kFinishSuffix, -1);
    Builder& b = function_->builder();
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_->Arrays());
    const auto partial = [&](Value* part, Value* result) {
      Accumulators values;
      Value* at = b.CreateAdd(result, b.CreateMul(part, Int(kept_)));
      for (size_t i = 0; i < reducers_.count(); ++i) {
        const ElementType type = reducers_.AccumulatorType(i);
        llvm::Type* in_memory = MemoryType(b, type);
        Value* value = b.CreateLoad(in_memory, b.CreateGEP(in_memory, Partials(i), at));
        values.push_back(FromMemory(b, value, type));
      }
      return values;
    };
    function_->Loop(Int(0), Int(kept_), 1, [&](Value* result) {
      const Accumulators total =
          function_->Loop(Int(1), Int(parts_), 1, partial(Int(0), result),
                          [&](Value* part, const Accumulators& sum) {
                            return reducers_.Combine(b, sum, partial(part, result));
                          });
      const Accumulators results = reducers_.Results(emitter, b, total);
      for (size_t i = 0; i < results.size(); ++i) {
        function_->Store(results[i], reducers_.ResultType(i), function_->result(i), result, 1);
      }
    });
    function_->Finish();
    return !emitter.has_failed();
  }

  llvm::Module& module_;
  const Kernel& kernel_;
  std::string name_;
  Reducers reducers_;
  std::unique_ptr<KernelFunction> function_;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  bool has_failed_ = false;

  std::span<const int64_t> sizes_;
  std::vector<Group> groups_;
  int64_t kept_ = 1, reduced_ = 1;  // elements of the result, and combined into each
  int64_t bytes_ = 1;               // read and written per element
  std::vector<size_t> order_;       // reduced groups, as they are looped over
  int lane_ = -1;                   // the group that lanes run along; -1: there are none
  int width_ = 1;
  int64_t slots_ = 1, blocks_ = 1;  // vectors of results in a unit, units along the lanes
  int64_t units_ = 1, grain_ = 1;   // in all, in a grain
  int cut_ = -1;                    // the group that is cut into parts
  int64_t parts_ = 1, part_size_ = 1;
  Value* part_ = nullptr;
  std::vector<LaneNumber> numbers_;  // by group, where we are
  std::vector<LaneNumber> rows_;     // of a block of columns: in the last reduced group
};

}  // namespace

EmittedKernel EmitReduce(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return ReduceKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
