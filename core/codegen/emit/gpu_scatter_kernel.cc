// Scatters on a GPU. A block has some of the places. It goes through all indices, a tile at a time,
// a thread each, and notes the updates that fall there, in their order; when enough are noted it
// applies them. Each long window is applied by the team of threads that has its place, a thread to
// some of its elements; of short ones the first update of each place is found, and its thread
// applies all that follow there. So updates of one element come in the order of the indices, as on
// the CPU. Where their order makes no difference, of integers, a thread has an element of an update
// and applies it at once.
#include <algorithm>
#include <bit>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/gpu_scatter_form.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/scatter_windows.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kRegistersOfScatter = 64;       // of a thread: two blocks at once at least
constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  // times a place: high bits that differ

class GpuScatterKernel {
 public:
  GpuScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        windows_(kernel),
        arity_(windows_.arity()),
        whole_(windows_.sizes()),
        updates_(windows_.update_sizes()),
        batch_(windows_.BatchDims()),
        of_(kernel, windows_),
        function_(module, kernel, name, windows_.InPlace(kernel, 0), of_.threads),
        block_(function_),
        b_(function_.builder()),
        math_(b_, 1, 64),
        emitter_(kernel.module, math_, function_.Arrays()) {
    function_.AllowRegisters(kRegistersOfScatter);
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t blocks = of_.atomic.empty() ? windows_.grains() * of_.parts
                                              : (of_.count * of_.window - 1) / of_.threads + 1;
    EmittedKernel out = InGrains(name, blocks, 1, 1, 0);
    for (size_t i = 0; i < arity_; ++i) {
      out.code.in_place.push_back(windows_.InPlace(kernel_, i));
      if (out.code.in_place.back() < 0) return out;
    }
    out.block = of_.threads;
    of_.atomic.empty() ? InOrder() : AtOnce();
    function_.Finish();
    out.is_complete = !emitter_.has_failed() && !has_failed_;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }

  void AtOnce() {
    windows_.Begin(function_, Int(0), Int(windows_.grains()));
    Value* own =
        b_.CreateAdd(b_.CreateMul(function_.begin(), Int(of_.threads)), function_.thread());
    const int64_t units = of_.count * of_.window;
    Value* unit = function_.Smaller(own, Int(units - 1));
    Value* number = b_.CreateUDiv(unit, Int(of_.window));
    Value* element = b_.CreateURem(unit, Int(of_.window));
    const auto [place, fits] = PlaceOf(number);
    Value* is_one = Both(math_, b_.CreateICmpSLT(own, Int(units)), fits);
    block_.When(is_one, [&] {
      Value* at = b_.CreateAdd(place, OffsetOf(element));
      const std::vector<Value*> updates = Updates(number, element);
      for (size_t i = 0; i < arity_; ++i) {
        llvm::Type* type = MemoryType(b_, TypeOf(i));
        b_.CreateAtomicRMW(of_.atomic[i], b_.CreateGEP(type, function_.result(i), at),
                           ToMemory(b_, updates[i], TypeOf(i)), {}, llvm::AtomicOrdering::Monotonic,
                           b_.getContext().getOrInsertSyncScopeID("device"));
      }
    });
  }

  void InOrder() {
    Value* grain = b_.CreateURem(function_.begin(), Int(windows_.grains()));
    part_ = b_.CreateUDiv(function_.begin(), Int(windows_.grains()));
    windows_.Begin(function_, grain, b_.CreateAdd(grain, Int(1)));
    numbers_room_ = block_.Shared(b_.getInt64Ty(), of_.noted());
    places_room_ = block_.Shared(b_.getInt64Ty(), of_.noted());
    sums_room_ = block_.Shared(b_.getInt32Ty(), of_.threads / kWarp);
    lane_ = b_.CreateURem(function_.thread(), Int(kWarp));
    warp_ = b_.CreateUDiv(function_.thread(), Int(kWarp));
    const auto noted = function_.Loop(
        Int(0), Int(of_.count), of_.threads, {Int(0)},
        [&](Value* tile, const std::vector<Value*>& so_far) {
          Value* count = Note(tile, so_far[0]);
          // Room for one more tile, and nothing left behind the last one.
          Value* is_full =
              b_.CreateOr(b_.CreateICmpSGT(count, Int(of_.noted() - of_.threads)),
                          b_.CreateICmpSGE(b_.CreateAdd(tile, Int(of_.threads)), Int(of_.count)));
          block_.When(is_full, [&] { Apply(count); });
          return std::vector<Value*>{b_.CreateSelect(is_full, Int(0), count)};
        });
  }

  // ---- Which updates there are.

  // Where the window of update `number` begins, and whether it is in the block's places (null: it
  // is).
  std::pair<Value*, Value*> PlaceOf(Value* number) {
    emitter_.Forget();
    Index of_batch;
    if (!batch_.empty()) of_batch.groups.push_back({batch_.size(), math_.FromScalar(number)});
    const ScatterWindows::Start start = windows_.StartOf(emitter_, math_, std::move(of_batch));
    Index to;
    for (const LaneNumber& each : start.numbers) to.groups.push_back({1, each});
    return {math_.Offset(to, whole_).base, start.fits};
  }

  // Looks at the updates of a tile. Returns how many are noted by then.
  Value* Note(Value* tile, Value* before) {
    Value* own = b_.CreateAdd(tile, function_.thread());
    Value* is_one = b_.CreateICmpSLT(own, Int(of_.count));
    Value* number = function_.Smaller(own, Int(of_.count - 1));
    const auto [place, fits] = PlaceOf(number);
    is_one = Both(math_, is_one, fits);

    // How many there are in lower lanes, then in the warps before.
    Value* lanes = block_.Ballot(is_one);
    Value* lane_bit = b_.CreateShl(b_.getInt32(1), b_.CreateTrunc(lane_, b_.getInt32Ty()));
    Value* at = CountOf(b_.CreateAnd(lanes, b_.CreateSub(lane_bit, b_.getInt32(1))));
    Value* all = CountOf(lanes);
    if (of_.threads > kWarp) {
      Value* sum = SumOfWarps(all);
      Value* lower = block_.FromLane(sum, b_.CreateSub(warp_, Int(1)));
      at = b_.CreateAdd(at, b_.CreateSelect(b_.CreateICmpEQ(warp_, Int(0)), b_.getInt32(0), lower));
      all = block_.FromLane(sum, Int(of_.threads / kWarp - 1));
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

  Value* CountOf(Value* lanes) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes); }

  // In lane i the sum of what the warps up to number i have.
  Value* SumOfWarps(Value* own) {
    const int64_t warps = of_.threads / kWarp;
    block_.When(b_.CreateICmpEQ(lane_, Int(0)), [&] { block_.Save(own, sums_room_, warp_); });
    block_.Barrier();
    Value* warp = b_.CreateURem(lane_, Int(warps));
    Value* sum = block_.Load(b_.getInt32Ty(), sums_room_, warp);
    for (int64_t distance = 1; distance < warps; distance *= 2) {
      Value* both = b_.CreateAdd(sum, block_.FromLower(sum, distance));
      sum = b_.CreateSelect(b_.CreateICmpUGE(warp, Int(distance)), both, sum);
    }
    return sum;
  }

  Value* NumberAt(Value* i) { return block_.Load(b_.getInt64Ty(), numbers_room_, i); }
  Value* PlaceAt(Value* i) { return block_.Load(b_.getInt64Ty(), places_room_, i); }

  // ---- Applying those that are noted.

  void Apply(Value* count) {
    if (!of_.is_long) {
      ShortWindows(count);
    } else if (of_.team == of_.threads) {
      function_.Loop(Int(0), count, 1, [&](Value* i) {
        LongWindow(i);
        // Windows that share elements: the next one has other threads for them.
        if (windows_.may_meet()) block_.Barrier();
      });
    } else {
      LongWindowsOfTeams(count);
    }
    emitter_.Forget();
    block_.Barrier();
  }

  // The lanes of a warp look at as many updates, and it applies those of its team's places.
  void LongWindowsOfTeams(Value* count) {
    Value* team = b_.CreateUDiv(function_.thread(), Int(of_.team));
    const auto bits = std::bit_width(static_cast<uint64_t>(of_.threads / of_.team)) - 1;
    function_.Loop(Int(0), count, kWarp, [&](Value* first) {
      Value* i = b_.CreateAdd(first, lane_);
      Value* spread = b_.CreateMul(PlaceAt(function_.Smaller(i, b_.CreateSub(count, Int(1)))),
                                   b_.getInt64(kSpread));
      Value* is_own = b_.CreateICmpEQ(b_.CreateLShr(spread, Int(64 - bits)), team);
      Value* lanes = block_.Ballot(b_.CreateAnd(b_.CreateICmpSLT(i, count), is_own));
      function_.Loop(Int(0), b_.CreateZExt(CountOf(lanes), b_.getInt64Ty()), 1, {lanes},
                     [&](Value*, const std::vector<Value*>& rest) {
                       Value* lane =
                           b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest[0], b_.getTrue());
                       LongWindow(b_.CreateAdd(first, b_.CreateZExt(lane, b_.getInt64Ty())));
                       return std::vector<Value*>{
                           b_.CreateAnd(rest[0], b_.CreateSub(rest[0], b_.getInt32(1)))};
                     });
    });
  }

  // What a thread has of the window of update i.
  void LongWindow(Value* i) {
    const int64_t of_part = (of_.window - 1) / of_.parts + 1;
    Value* first = b_.CreateMul(part_, Int(of_part));
    Value* last = function_.Smaller(b_.CreateAdd(first, Int(of_part)), Int(of_.window));
    Value* own = b_.CreateURem(function_.thread(), Int(of_.team));
    Value *number = NumberAt(i), *place = PlaceAt(i);
    function_.Loop(b_.CreateAdd(first, own), last, of_.team, [&](Value* element) {
      Value* at = b_.CreateAdd(place, OffsetOf(element));
      Store(Combined(Load(at), Updates(number, element)), at);
    });
  }

  void ShortWindows(Value* count) {
    Value* units = b_.CreateMul(count, Int(of_.window));
    function_.Loop(function_.thread(), units, of_.threads, [&](Value* unit) {
      Value* own = b_.CreateUDiv(unit, Int(of_.window));
      Value* element = b_.CreateURem(unit, Int(of_.window));
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
  GpuScatterForm of_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  IndexMath math_;
  ElementEmitter emitter_;
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
