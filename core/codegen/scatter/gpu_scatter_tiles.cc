// Scatters tile by tile. Each block goes through all indices, a thread each, and notes the updates
// that fall into its places, in their order; when enough are noted it applies them. Each long
// window is applied by the team of threads that has its place, a thread to some of its elements; of
// short ones the first update of each place is found, and its thread applies all that follow there.
#include <algorithm>
#include <bit>

#include "core/codegen/scatter/gpu_scatter_kernel.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  // times a place: high bits that differ

}  // namespace

void GpuScatterKernel::InTiles() {
  Value* grain = b_.CreateURem(function_.begin(), Int(windows_.grains()));
  part_ = b_.CreateUDiv(function_.begin(), Int(windows_.grains()));
  windows_.Begin(function_, grain, b_.CreateAdd(grain, Int(1)));
  BeginTiles();
  GoThrough(
      of_.count, [&](Value* number) { return PlaceOf(number); },
      [&](Value* count) { Apply(count); });
}

void GpuScatterKernel::BeginTiles() {
  numbers_room_ = block_.Shared(b_.getInt64Ty(), of_.noted());
  places_room_ = block_.Shared(b_.getInt64Ty(), of_.noted());
  sums_room_ = block_.Shared(b_.getInt32Ty(), of_.threads / kWarp);
  lane_ = b_.CreateURem(function_.thread(), Int(kWarp));
  warp_ = b_.CreateUDiv(function_.thread(), Int(kWarp));
}

// Looks at all of `count` updates, and applies those that are noted.
void GpuScatterKernel::GoThrough(int64_t count, const Look& look,
                                 const std::function<void(Value*)>& apply) {
  function_.Loop(Int(0), Int(count), of_.threads, {Int(0)},
                 [&](Value* tile, const std::vector<Value*>& so_far) {
                   Value* noted = Note(tile, so_far[0], count, look);
                   // Room for one more tile, and nothing left behind the last one.
                   Value* is_full = b_.CreateOr(
                       b_.CreateICmpSGT(noted, Int(of_.noted() - of_.threads)),
                       b_.CreateICmpSGE(b_.CreateAdd(tile, Int(of_.threads)), Int(count)));
                   block_.When(is_full, [&] {
                     apply(noted);
                     emitter_.Forget();
                     block_.Barrier();
                   });
                   return std::vector<Value*>{b_.CreateSelect(is_full, Int(0), noted)};
                 });
}

// Looks at the updates of a tile. Returns how many are noted by then.
Value* GpuScatterKernel::Note(Value* tile, Value* before, int64_t count, const Look& look) {
  Value* own = b_.CreateAdd(tile, function_.thread());
  Value* is_one = b_.CreateICmpSLT(own, Int(count));
  Value* number = function_.Smaller(own, Int(count - 1));
  const auto [place, fits] = look(number);
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

Value* GpuScatterKernel::CountOf(Value* lanes) {
  return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes);
}

// In lane i the sum of what the warps up to number i have.
Value* GpuScatterKernel::SumOfWarps(Value* own) {
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

Value* GpuScatterKernel::NumberAt(Value* i) {
  return block_.Load(b_.getInt64Ty(), numbers_room_, i);
}
Value* GpuScatterKernel::PlaceAt(Value* i) { return block_.Load(b_.getInt64Ty(), places_room_, i); }

// ---- Applying those that are noted.

void GpuScatterKernel::Apply(Value* count) {
  if (!of_.is_long) {
    ShortWindows(count, of_.window,
                 [&](Value* number, Value* element) { return Updates(number, element); });
  } else if (of_.team == of_.threads) {
    function_.Loop(Int(0), count, 1, [&](Value* i) {
      LongWindow(i);
      // Windows that share elements: the next one has other threads for them.
      if (windows_.may_meet()) block_.Barrier();
    });
  } else {
    LongWindowsOfTeams(count);
  }
}

// The lanes of a warp look at as many updates, and it applies those of its team's places.
void GpuScatterKernel::LongWindowsOfTeams(Value* count) {
  Value* team = b_.CreateUDiv(function_.thread(), Int(of_.team));
  const auto bits = std::bit_width(static_cast<uint64_t>(of_.threads / of_.team)) - 1;
  function_.Loop(Int(0), count, kWarp, [&](Value* first) {
    Value* i = b_.CreateAdd(first, lane_);
    Value* spread = b_.CreateMul(PlaceAt(function_.Smaller(i, b_.CreateSub(count, Int(1)))),
                                 b_.getInt64(kSpread));
    Value* is_own = b_.CreateICmpEQ(b_.CreateLShr(spread, Int(64 - bits)), team);
    Value* lanes = block_.Ballot(b_.CreateAnd(b_.CreateICmpSLT(i, count), is_own));
    function_.Loop(
        Int(0), b_.CreateZExt(CountOf(lanes), b_.getInt64Ty()), 1, {lanes},
        [&](Value*, const std::vector<Value*>& rest) {
          Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest[0], b_.getTrue());
          LongWindow(b_.CreateAdd(first, b_.CreateZExt(lane, b_.getInt64Ty())));
          return std::vector<Value*>{b_.CreateAnd(rest[0], b_.CreateSub(rest[0], b_.getInt32(1)))};
        });
  });
}

// What a thread has of the window of update i.
void GpuScatterKernel::LongWindow(Value* i) {
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

// Windows of so many elements, whose updates the function gives by number and element.
void GpuScatterKernel::ShortWindows(
    Value* count, int64_t window,
    const std::function<std::vector<Value*>(Value* number, Value* element)>& updates) {
  Value* units = b_.CreateMul(count, Int(window));
  function_.Loop(function_.thread(), units, of_.threads, [&](Value* unit) {
    Value* own = b_.CreateUDiv(unit, Int(window));
    Value* element = b_.CreateURem(unit, Int(window));
    Value* place = PlaceAt(own);
    const auto earlier = function_.Loop(
        Int(0), own, 1, {b_.getFalse()}, [&](Value* i, const std::vector<Value*>& so_far) {
          Value* is_same = b_.CreateICmpEQ(PlaceAt(i), place);
          return std::vector<Value*>{b_.CreateOr(so_far[0], is_same)};
        });
    block_.When(b_.CreateNot(earlier[0]), [&] {
      Value* at = window == 1 ? place : b_.CreateAdd(place, OffsetOf(element));
      const auto values =
          function_.Loop(own, count, 1, Load(at), [&](Value* i, std::vector<Value*> so_far) {
            Value* is_same = b_.CreateICmpEQ(PlaceAt(i), place);
            return function_.Loop(Int(0), b_.CreateZExt(is_same, b_.getInt64Ty()), 1,
                                  std::move(so_far), [&](Value*, std::vector<Value*> these) {
                                    return Combined(std::move(these),
                                                    updates(NumberAt(i), element));
                                  });
          });
      Store(values, at);
    });
  });
}

}  // namespace hloscope::codegen
