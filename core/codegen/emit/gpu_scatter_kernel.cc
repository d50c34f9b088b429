// Scatters on a GPU. A block has some of the places. It goes through all indices, a tile at a time,
// a thread each, and notes the updates that fall there, in their order; when enough are noted it
// applies them. Long windows are applied one after the other, a thread to each of their elements;
// of short ones the first update of each place is found, and its thread applies all that follow
// there. So updates of one element come in the order of the indices, as on the CPU.
#include <algorithm>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/scatter_windows.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kScatterThreads = 256;         // of a block, and updates of a tile
constexpr int64_t kNoted = 2 * kScatterThreads;  // updates that are noted at most
constexpr int64_t kRegistersOfScatter = 64;      // of a thread: four blocks at once
constexpr int64_t kLongWindow = 32;              // elements that are worth a thread each
constexpr int64_t kOfPart =
    4 * kScatterThreads;  // elements of a window that a block applies, about

class GpuScatterKernel {
 public:
  GpuScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        windows_(kernel),
        arity_(windows_.arity()),
        whole_(windows_.sizes()),
        updates_(windows_.update_sizes()),
        batch_(windows_.BatchDims()),
        function_(module, kernel, name, windows_.InPlace(kernel, 0), kScatterThreads),
        block_(function_),
        b_(function_.builder()),
        math_(b_, 1, 64),
        emitter_(kernel.module, math_, function_.Arrays()) {
    function_.AllowRegisters(kRegistersOfScatter);
    for (const size_t d : batch_) count_ *= updates_[d];
    window_ = std::max<int64_t>(1, ProductOf(updates_) / std::max<int64_t>(count_, 1));
    if (!windows_.may_meet() && window_ >= kLongWindow) {
      parts_ = std::clamp<int64_t>(window_ / kOfPart, 1, kMaxGpuGrains / windows_.grains());
    }
  }

  EmittedKernel Emit(const std::string& name) {
    EmittedKernel out = InGrains(name, windows_.grains() * parts_, 1, 1, 0);
    for (size_t i = 0; i < arity_; ++i) {
      out.code.in_place.push_back(windows_.InPlace(kernel_, i));
      if (out.code.in_place.back() < 0) return out;
    }
    out.block = kScatterThreads;
    Value* grain = b_.CreateURem(function_.begin(), Int(windows_.grains()));
    part_ = b_.CreateUDiv(function_.begin(), Int(windows_.grains()));
    windows_.Begin(function_, grain, b_.CreateAdd(grain, Int(1)));
    numbers_room_ = block_.Shared(b_.getInt64Ty(), kNoted);
    places_room_ = block_.Shared(b_.getInt64Ty(), kNoted);
    sums_room_ = block_.Shared(b_.getInt32Ty(), kScatterThreads / kWarp);
    lane_ = b_.CreateURem(function_.thread(), Int(kWarp));
    warp_ = b_.CreateUDiv(function_.thread(), Int(kWarp));
    const auto noted = function_.Loop(
        Int(0), Int(count_), kScatterThreads, {Int(0)},
        [&](Value* tile, const std::vector<Value*>& so_far) {
          Value* count = Note(tile, so_far[0]);
          // Room for one more tile, and nothing left behind the last one.
          Value* is_full =
              b_.CreateOr(b_.CreateICmpSGT(count, Int(kNoted - kScatterThreads)),
                          b_.CreateICmpSGE(b_.CreateAdd(tile, Int(kScatterThreads)), Int(count_)));
          block_.When(is_full, [&] { Apply(count); });
          return std::vector<Value*>{b_.CreateSelect(is_full, Int(0), count)};
        });
    function_.Finish();
    out.is_complete = !emitter_.has_failed() && !has_failed_;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }

  // ---- Which updates there are.

  // Looks at the updates of a tile. Returns how many are noted by then.
  Value* Note(Value* tile, Value* before) {
    Value* own = b_.CreateAdd(tile, function_.thread());
    Value* is_one = b_.CreateICmpSLT(own, Int(count_));
    Value* number = function_.Smaller(own, Int(count_ - 1));
    emitter_.Forget();
    Index of_batch;
    if (!batch_.empty()) of_batch.groups.push_back({batch_.size(), math_.FromScalar(number)});
    const ScatterWindows::Start start = windows_.StartOf(emitter_, math_, std::move(of_batch));
    if (start.fits != nullptr) is_one = b_.CreateAnd(is_one, start.fits);
    Index to;
    for (const LaneNumber& each : start.numbers) to.groups.push_back({1, each});
    Value* place = math_.Offset(to, whole_).base;

    // How many there are in lower lanes, then in the warps before.
    const auto count_of = [&](Value* lanes) {
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes);
    };
    Value* lanes = block_.Ballot(is_one);
    Value* lane_bit = b_.CreateShl(b_.getInt32(1), b_.CreateTrunc(lane_, b_.getInt32Ty()));
    Value* at = count_of(b_.CreateAnd(lanes, b_.CreateSub(lane_bit, b_.getInt32(1))));
    block_.When(b_.CreateICmpEQ(lane_, Int(0)),
                [&] { block_.Save(count_of(lanes), sums_room_, warp_); });
    block_.Barrier();
    Value* all = b_.getInt32(0);
    for (int64_t warp = 0; warp < kScatterThreads / kWarp; ++warp) {
      Value* each = block_.Load(b_.getInt32Ty(), sums_room_, Int(warp));
      Value* is_before = b_.CreateICmpSGT(warp_, Int(warp));
      at = b_.CreateAdd(at, b_.CreateSelect(is_before, each, b_.getInt32(0)));
      all = b_.CreateAdd(all, each);
    }
    at = b_.CreateAdd(before, b_.CreateZExt(at, b_.getInt64Ty()));
    all = b_.CreateAdd(before, b_.CreateZExt(all, b_.getInt64Ty()));
    block_.When(is_one, [&] {
      block_.Save(number, numbers_room_, at);
      block_.Save(place, places_room_, at);
    });
    block_.Barrier();
    return all;
  }

  Value* NumberAt(Value* i) { return block_.Load(b_.getInt64Ty(), numbers_room_, i); }
  Value* PlaceAt(Value* i) { return block_.Load(b_.getInt64Ty(), places_room_, i); }

  // ---- Applying those that are noted.

  void Apply(Value* count) {
    windows_.may_meet() || window_ >= kLongWindow ? LongWindows(count) : ShortWindows(count);
    emitter_.Forget();
    block_.Barrier();
  }

  void LongWindows(Value* count) {
    const int64_t of_part = (window_ - 1) / parts_ + 1;
    Value* first = b_.CreateMul(part_, Int(of_part));
    Value* last = function_.Smaller(b_.CreateAdd(first, Int(of_part)), Int(window_));
    function_.Loop(Int(0), count, 1, [&](Value* i) {
      Value *number = NumberAt(i), *place = PlaceAt(i);
      function_.Loop(b_.CreateAdd(first, function_.thread()), last, kScatterThreads,
                     [&](Value* element) {
                       Value* at = b_.CreateAdd(place, OffsetOf(element));
                       Store(Combined(Load(at), Updates(number, element)), at);
                     });
      // Windows that share elements: the next one has other threads for them.
      if (windows_.may_meet()) block_.Barrier();
    });
  }

  void ShortWindows(Value* count) {
    Value* units = b_.CreateMul(count, Int(window_));
    function_.Loop(function_.thread(), units, kScatterThreads, [&](Value* unit) {
      Value* own = b_.CreateUDiv(unit, Int(window_));
      Value* element = b_.CreateURem(unit, Int(window_));
      Value* place = PlaceAt(own);
      const auto earlier = function_.Loop(
          Int(0), own, 1, {b_.getFalse()}, [&](Value* i, const std::vector<Value*>& so_far) {
            Value* is_same = b_.CreateICmpEQ(PlaceAt(i), place);
            return std::vector<Value*>{b_.CreateOr(so_far[0], is_same)};
          });
      block_.When(b_.CreateNot(earlier[0]), [&] {
        Value* at = b_.CreateAdd(place, OffsetOf(element));
        const auto values =
            function_.Loop(own, count, 1, Load(at), [&](Value* i, std::vector<Value*> so_far) {
              Value* is_same = b_.CreateICmpEQ(PlaceAt(i), place);
              return function_.Loop(Int(0), b_.CreateZExt(is_same, b_.getInt64Ty()), 1,
                                    std::move(so_far), [&](Value*, std::vector<Value*> these) {
                                      return Combined(std::move(these),
                                                      Updates(NumberAt(i), element));
                                    });
            });
        Store(values, at);
      });
    });
  }

  // Where an element of a window lies, from the window's first on.
  Value* OffsetOf(Value* element) {
    std::vector<LaneNumber> numbers(whole_.size(), math_.Constant(0));
    Value* rest = element;
    const std::vector<size_t>& dimensions = windows_.dimensions();
    for (size_t i = dimensions.size(); i-- > 0;) {
      numbers[dimensions[i]] = math_.TakeLast(rest, updates_[windows_.UpdateDim(i)]);
    }
    Index index;
    for (const LaneNumber& each : numbers) index.groups.push_back({1, each});
    return math_.Offset(index, whole_).base;
  }

  // Those of update `number` for an element of its window.
  std::vector<Value*> Updates(Value* number, Value* element) {
    emitter_.Forget();
    std::vector<LaneNumber> numbers(updates_.size(), math_.Constant(0));
    Value *rest = number, *inner = element;
    for (size_t i = batch_.size(); i-- > 0;) {
      numbers[batch_[i]] = math_.TakeLast(rest, updates_[batch_[i]]);
    }
    for (size_t i = windows_.dimensions().size(); i-- > 0;) {
      const size_t d = windows_.UpdateDim(i);
      numbers[d] = math_.TakeLast(inner, updates_[d]);
    }
    Index from;
    for (const LaneNumber& each : numbers) from.groups.push_back({1, each});
    std::vector<Value*> updates;
    for (size_t i = 0; i < arity_; ++i) updates.push_back(emitter_.Emit(windows_.update(i), from));
    return updates;
  }

  std::vector<Value*> Combined(std::vector<Value*> values, const std::vector<Value*>& updates) {
    values.insert(values.end(), updates.begin(), updates.end());
    const auto applied =
        kernel_.module.GetComputation(kernel_.module[kernel_.roots[0]], AttributeKey::kToApply);
    std::vector<Value*> results = Applied(b_, kernel_.module, applied, values);
    has_failed_ |= results.size() != arity_;
    return has_failed_ ? std::vector<Value*>(values.begin(),
                                             values.begin() + static_cast<ptrdiff_t>(arity_))
                       : results;
  }

  ElementType TypeOf(size_t i) const {
    return kernel_.module.shape(windows_.array(i)).element_type();
  }
  std::vector<Value*> Load(Value* at) {
    std::vector<Value*> values;
    for (size_t i = 0; i < arity_; ++i) {
      values.push_back(function_.Load(TypeOf(i), function_.result(i), at, 1));
    }
    return values;
  }
  void Store(const std::vector<Value*>& values, Value* at) {
    for (size_t i = 0; i < arity_; ++i) {
      function_.Store(values[i], TypeOf(i), function_.result(i), at, 1);
    }
  }

  const Kernel& kernel_;
  ScatterWindows windows_;
  size_t arity_;
  std::span<const int64_t> whole_, updates_;
  std::vector<size_t> batch_;  // dimensions of the updates that tell windows apart
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  IndexMath math_;
  ElementEmitter emitter_;
  int64_t count_ = 1, window_ = 1;  // updates; elements of each
  int64_t parts_ = 1;               // of a window, each with blocks of its own
  Value *part_ = nullptr, *lane_ = nullptr, *warp_ = nullptr;
  // Numbers and places of the updates that are noted; how many each warp has of a tile.
  Value *numbers_room_ = nullptr, *places_room_ = nullptr, *sums_room_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitGpuScatter(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuScatterKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
