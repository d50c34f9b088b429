// Cumulative reductions on a GPU: windows that reach back to the beginning of their line, or on to
// its end.
//
// A line lies in tiles of warps. Elements that lie side by side in memory are read by neighbouring
// lanes: those of a line where it is innermost (up to four of each thread, one turn of all lanes
// behind the other), else those of neighbouring lines. What stands before an element is combined
// by thread, then by shuffles, then over the warps through shared memory, then over the tiles.
// Where lines are few, parts of them have blocks of their own: a first launch reduces each part, a
// second one scans it behind what the parts before it came to.
#include <algorithm>
#include <optional>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/gpu_scan_shape.h"
#include "core/codegen/emit/reducers.h"
#include "core/codegen/emit/scan_kernel.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using llvm::Value;

class GpuScanKernel {
 public:
  GpuScanKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
                const ScanForm& form)
      : kernel_(kernel),
        name_(name),
        form_(form),
        reducers_(kernel),
        sizes_(reducers_.sizes()),
        shape_(sizes_, form.dimension, reducers_),
        function_(module, kernel, name, -1, shape_.threads) {}

  EmittedKernel Emit() {
    GpuBlock block(function_);
    block_ = &block;
    Builder& b = function_.builder();
    IndexMath math(b, 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    EmittedKernel out;
    out.code.name = name_;
    out.code.grains = shape_.blocks * shape_.parts;
    out.code.grain_bytes = 1;
    out.code.in_place.assign(reducers_.count(), -1);
    out.block = shape_.threads;
    identity_ = reducers_.Start(emitter, b, 1);
    reducers_.FixInitial(emitter);
    Place(b.CreateURem(function_.begin(), Int(shape_.blocks)));
    if (shape_.parts == 1) {
      Scan(Int(0), Int(shape_.tiles), {});
    } else {
      out.code.scratch_bytes = PartialsOf(reducers_.count());
      out.passes = {0, 1};
      Value* part = b.CreateUDiv(function_.begin(), Int(shape_.blocks));
      Value* from = b.CreateMul(part, Int(shape_.part_tiles));
      Value* to = function_.Smaller(b.CreateAdd(from, Int(shape_.part_tiles)), Int(shape_.tiles));
      // Nobody asks what the last part comes to.
      Value* is_first = b.CreateICmpEQ(function_.pass(), Int(0));
      Value* is_asked = b.CreateICmpSLT(part, Int(shape_.parts - 1));
      block.When(b.CreateAnd(is_first, is_asked), [&] { ReducePart(part, from, to); });
      block.When(b.CreateICmpEQ(function_.pass(), Int(1)),
                 [&] { Scan(from, to, BeforePart(part)); });
    }
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }

  // ---- Threads.

  // The line of a thread, and where in it the thread begins.
  void Place(Value* block) {
    Builder& b = function_.builder();
    Value* thread = function_.thread();
    Value* lane = b.CreateURem(thread, Int(kWarp));
    Value* warp = b.CreateUDiv(thread, Int(kWarp));
    Value* column = b.CreateURem(lane, Int(shape_.columns));
    Value* row = b.CreateUDiv(lane, Int(shape_.columns));
    row_ = b.CreateURem(row, Int(shape_.lanes));
    last_ = b.CreateAdd(b.CreateSub(lane, b.CreateMul(row_, Int(shape_.columns))),
                        Int((shape_.lanes - 1) * shape_.columns));
    warp_ = b.CreateURem(warp, Int(shape_.warps));
    Value* in_block =
        b.CreateAdd(b.CreateMul(b.CreateUDiv(warp, Int(shape_.warps)), Int(shape_.teams_in_warp)),
                    b.CreateUDiv(row, Int(shape_.lanes)));
    slot_ = b.CreateAdd(b.CreateMul(in_block, Int(shape_.columns)), column);
    Value* team = b.CreateAdd(b.CreateMul(block, Int(shape_.teams_in_block)), in_block);
    if (shape_.teams % shape_.teams_in_block != 0) {
      is_there_ = b.CreateICmpSLT(team, Int(shape_.teams));
      team = function_.Smaller(team, Int(shape_.teams - 1));
    }
    before_ = b.CreateUDiv(team, Int(shape_.teams_of_line));
    column_ = b.CreateAdd(
        b.CreateMul(b.CreateURem(team, Int(shape_.teams_of_line)), Int(shape_.columns)), column);
    if (shape_.behind % shape_.columns != 0) {
      is_there_ = And(is_there_, b.CreateICmpSLT(column_, Int(shape_.behind)));
      column_ = function_.Smaller(column_, Int(shape_.behind - 1));
    }
    line_ = b.CreateAdd(b.CreateMul(before_, Int(shape_.behind)), column_);
    first_ = b.CreateAdd(b.CreateMul(warp_, Int(shape_.lanes * shape_.items)), row_);
  }
  Value* And(Value* x, Value* y) {
    if (x == nullptr || y == nullptr) return x == nullptr ? y : x;
    return function_.builder().CreateAnd(x, y);
  }

  // ---- Elements.

  // Elements of a line side by side.
  struct Unit {
    Value* number = nullptr;     // of the first one, in memory
    Value* is_inside = nullptr;  // null: it is
    std::vector<Accumulators> elements;
  };

  std::vector<Unit> UnitsOf(Value* tile) {
    Builder& b = function_.builder();
    Value* first = b.CreateAdd(b.CreateMul(tile, Int(shape_.tile)), first_);
    std::vector<Unit> units(static_cast<size_t>(shape_.items));
    for (int64_t j = 0; j < shape_.items; ++j) {
      Unit& unit = units[static_cast<size_t>(j)];
      Value* number = b.CreateAdd(first, Int(j * shape_.lanes));
      unit.is_inside = is_there_;
      if (shape_.units % shape_.tile != 0) {
        unit.is_inside = And(unit.is_inside, b.CreateICmpSLT(number, Int(shape_.units)));
        number = function_.Smaller(number, Int(shape_.units - 1));
      }
      if (IsReversed()) number = b.CreateSub(Int(shape_.units - 1), number);
      unit.number = b.CreateMul(number, Int(shape_.side_by_side));
      for (int64_t e = 0; e < shape_.side_by_side; ++e) {
        Accumulators elements = Element(
            math_->AddConstant(math_->Multiply(math_->FromScalar(number), shape_.side_by_side), e));
        for (size_t k = 0; unit.is_inside != nullptr && k < elements.size(); ++k) {
          elements[k] = b.CreateSelect(unit.is_inside, elements[k], identity_[k]);
        }
        unit.elements.push_back(std::move(elements));
      }
      if (IsReversed()) std::ranges::reverse(unit.elements);
    }
    return units;
  }
  bool IsReversed() const { return form_.kind == ScanForm::Kind::kSuffix; }

  Accumulators Element(const LaneNumber& place) {
    Index index;
    if (form_.dimension > 0) index.groups.push_back({form_.dimension, math_->FromScalar(before_)});
    index.groups.push_back({1, place});
    if (const size_t rest = sizes_.size() - form_.dimension - 1; rest > 0) {
      index.groups.push_back({rest, math_->FromScalar(column_)});
    }
    return reducers_.Elements(*emitter_, function_.builder(), index, 1);
  }

  void Write(const Unit& unit, const std::vector<Accumulators>& values) {
    Builder& b = function_.builder();
    std::vector<Accumulators> results;
    for (const Accumulators& each : values)
      results.push_back(reducers_.Results(*emitter_, b, each));
    if (IsReversed()) std::ranges::reverse(results);
    const auto store = [&] {
      Value* row = b.CreateAdd(b.CreateMul(before_, Int(shape_.count)), unit.number);
      Value* at = b.CreateAdd(b.CreateMul(row, Int(shape_.behind)), column_);
      for (size_t k = 0; k < reducers_.count(); ++k) {
        for (size_t e = 0; e < results.size(); ++e) {
          function_.Store(results[e][k], reducers_.ResultType(k), function_.result(k),
                          b.CreateAdd(at, Int(static_cast<int64_t>(e))), 1);
        }
      }
    };
    unit.is_inside == nullptr ? store() : block_->When(unit.is_inside, store);
  }

  // ---- Combining.

  using Maybe = std::optional<Accumulators>;  // nothing: what leaves all as it is

  Accumulators Combine(const Accumulators& left, const Accumulators& right) {
    return reducers_.Combine(function_.builder(), left, right);
  }
  Accumulators Behind(const Maybe& left, const Accumulators& right) {
    return left.has_value() ? Combine(*left, right) : right;
  }

  // What lanes `distance` rows above have, where there are such.
  Accumulators FromAbove(const Accumulators& values, int64_t distance) {
    Builder& b = function_.builder();
    Value* is_there = b.CreateICmpSGE(row_, Int(distance));
    Accumulators out;
    for (size_t k = 0; k < values.size(); ++k) {
      Value* other = block_->FromLower(values[k], distance * shape_.columns);
      out.push_back(b.CreateSelect(is_there, other, identity_[k]));
    }
    return out;
  }

  // Each of the thread's elements behind all before it in the warp; what the warp comes to.
  Accumulators ScanInWarp(std::vector<Unit>& units) {
    Maybe before;
    for (Unit& unit : units) {
      for (size_t e = 1; e < unit.elements.size(); ++e) {
        unit.elements[e] = Combine(unit.elements[e - 1], unit.elements[e]);
      }
      Accumulators all = unit.elements.back();
      if (shape_.lanes > 1) {
        for (int64_t distance = 1; distance < shape_.lanes; distance *= 2) {
          all = Combine(FromAbove(all, distance), all);
        }
        if (unit.elements.size() == 1) {
          unit.elements[0] = all;
        } else {
          const Accumulators above = FromAbove(all, 1);
          for (Accumulators& each : unit.elements) each = Combine(above, each);
        }
        for (Value*& value : all) value = block_->FromLane(value, last_);
      }
      for (Accumulators& each : unit.elements) each = Behind(before, each);
      before = Behind(before, all);
    }
    return *before;
  }

  struct OfLine {
    Maybe before;      // what the warps before this one come to
    Accumulators all;  // what all of them come to
  };
  // `values`: what the warp comes to, in its last lanes at least.
  OfLine OverWarps(const Accumulators& values) {
    if (shape_.warps == 1) return {{}, values};
    Builder& b = function_.builder();
    const int64_t slots = shape_.teams_in_block * shape_.columns;
    if (rooms_.empty()) {
      for (Value* value : values) {
        rooms_.push_back(block_->Shared(value->getType(), shape_.warps * slots));
      }
    }
    block_->When(b.CreateICmpEQ(row_, Int(shape_.lanes - 1)), [&] {
      Value* at = b.CreateAdd(b.CreateMul(warp_, Int(slots)), slot_);
      for (size_t k = 0; k < values.size(); ++k) block_->Save(values[k], rooms_[k], at);
    });
    block_->Barrier();
    OfLine out;
    Maybe all;
    Accumulators before = identity_;
    for (int64_t warp = 0; warp < shape_.warps; ++warp) {
      Value* is_own = b.CreateICmpEQ(warp_, Int(warp));
      Accumulators each;
      for (size_t k = 0; k < values.size(); ++k) {
        if (all.has_value()) before[k] = b.CreateSelect(is_own, (*all)[k], before[k]);
        each.push_back(
            block_->Load(values[k]->getType(), rooms_[k], b.CreateAdd(slot_, Int(warp * slots))));
      }
      all = Behind(all, each);
    }
    block_->Barrier();
    return {before, *all};
  }

  // Tiles [from, to), behind what the tiles before them come to.
  void Scan(Value* from, Value* to, const Maybe& before) {
    const auto tile = [&](Value* number, const Maybe& so_far) {
      std::vector<Unit> units = UnitsOf(number);
      const OfLine line = OverWarps(ScanInWarp(units));
      Maybe start = so_far;
      if (line.before.has_value()) start = Behind(so_far, *line.before);
      for (Unit& unit : units) {
        for (Accumulators& each : unit.elements) each = Behind(start, each);
        Write(unit, unit.elements);
      }
      return line.all;
    };
    if (shape_.tiles == 1) {
      tile(Int(0), {});
      return;
    }
    function_.Loop(from, to, 1, before.value_or(identity_),
                   [&](Value* number, const Accumulators& so_far) {
                     return Combine(so_far, tile(number, so_far));
                   });
  }

  // ---- Parts.

  // Partial results: array by array, part by part.
  int64_t PartialsOf(size_t k) const {
    return reducers_.PartialsOf(k, shape_.parts * shape_.outer * shape_.behind);
  }
  Value* Partials(size_t k) {
    return function_.builder().CreateConstGEP1_64(function_.builder().getInt8Ty(),
                                                  function_.scratch(), PartialsOf(k));
  }
  Value* PartialPlace(Value* part) {
    Builder& b = function_.builder();
    return b.CreateAdd(b.CreateMul(part, Int(shape_.outer * shape_.behind)), line_);
  }

  // What all threads of a line have, in each of them.
  Accumulators Total(Accumulators values) {
    for (int64_t distance = shape_.columns; distance < shape_.columns * shape_.lanes;
         distance *= 2) {
      Accumulators others;
      for (Value* value : values) others.push_back(block_->Across(value, distance));
      values = Combine(values, others);
    }
    return OverWarps(values).all;
  }

  void ReducePart(Value* part, Value* from, Value* to) {
    const Accumulators sum =
        function_.Loop(from, to, 1, identity_, [&](Value* number, const Accumulators& so_far) {
          Maybe own;
          for (const Unit& unit : UnitsOf(number)) {
            for (const Accumulators& each : unit.elements) own = Behind(own, each);
          }
          return Combine(so_far, *own);
        });
    const Accumulators total = Total(sum);
    Builder& b = function_.builder();
    Value* is_one = b.CreateAnd(b.CreateICmpEQ(row_, Int(0)), b.CreateICmpEQ(warp_, Int(0)));
    block_->When(And(is_one, is_there_), [&] {
      for (size_t k = 0; k < total.size(); ++k) {
        function_.Store(total[k], reducers_.AccumulatorType(k), Partials(k), PartialPlace(part), 1);
      }
    });
  }

  Accumulators BeforePart(Value* part) {
    Builder& b = function_.builder();
    Value* first = b.CreateAdd(b.CreateMul(warp_, Int(shape_.lanes)), row_);
    const Accumulators sum =
        function_.Loop(first, part, shape_.warps * shape_.lanes, identity_,
                       [&](Value* each, const Accumulators& so_far) {
                         Accumulators values;
                         for (size_t k = 0; k < so_far.size(); ++k) {
                           values.push_back(function_.Load(reducers_.AccumulatorType(k),
                                                           Partials(k), PartialPlace(each), 1));
                         }
                         return Combine(so_far, values);
                       });
    return Total(sum);
  }

  const Kernel& kernel_;
  std::string name_;
  ScanForm form_;
  Reducers reducers_;
  GpuBlock* block_ = nullptr;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::span<const int64_t> sizes_;
  GpuScanShape shape_;
  KernelFunction function_;
  Accumulators identity_;
  std::vector<Value*> rooms_;
  // Of the thread: its row among the lanes of its line, the lane that has the last row, its warp
  // among those of the line, its line among those of the block.
  Value *row_ = nullptr, *last_ = nullptr, *warp_ = nullptr, *slot_ = nullptr;
  Value *before_ = nullptr, *column_ = nullptr, *line_ = nullptr;  // the line
  Value* first_ = nullptr;                                         // unit of a tile
  Value* is_there_ = nullptr;  // whether it has a line; null: it has
};

}  // namespace

EmittedKernel EmitGpuScan(llvm::Module& module, const Kernel& kernel, const std::string& name,
                          const ScanForm& form) {
  return GpuScanKernel(module, kernel, name, form).Emit();
}

}  // namespace hloscope::codegen
