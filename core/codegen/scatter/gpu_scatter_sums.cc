// Sums of f32 that many updates fall into: the same bits in whatever order they are added. A block
// has a range of the array's elements, in memory that its threads share, and a chunk of the units.
// First it finds the largest exponent of what is added to each element, then it adds up whole
// multiples of a power of two that many bits below that: nothing is lost but what lies below
// 2^-(kSumBits - log2(units)) of the largest number. A second launch adds up the chunks in f64 and
// rounds once.
#include <algorithm>
#include <bit>
#include <limits>

#include "core/codegen/scatter/gpu_scatter_kernel.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

// What was added to an element: nothing, zeros alone, or 2 more than the largest exponent, of
// subnormals 1; of infinities and NaN the last.
constexpr uint32_t kNothing = 0, kMinusZeros = 1, kZeros = 2, kNonFinite = 257;
// What an element's sum is then, where it is not finite.
constexpr uint64_t kInfinity = 1, kMinusInfinity = 2, kNan = 4;

constexpr uint64_t kMantissaBits = 23, kBias = 127, kBiasOfDouble = 1023, kMantissaOfDouble = 52;
constexpr int64_t kSumBits = 61;  // of a sum of numbers whose largest is below 2

// Bits behind the point of a chunk's numbers, the largest of which is from 1 to 2.
int64_t PointOf(int64_t units) { return kSumBits - std::bit_width(static_cast<uint64_t>(units)); }

}  // namespace

void GpuScatterKernel::BySums() {
  windows_.BeginAll();
  InPass(0, [&] { SumChunk(); });
  InPass(1, [&] {
    const int64_t lanes = std::min(PowerOfTwoFrom(of_.chunks), kWarp);
    const int64_t teams = of_.threads / lanes;
    Value* lane = b_.CreateURem(function_.thread(), Int(lanes));
    Value* team = b_.CreateUDiv(function_.thread(), Int(lanes));
    const int64_t step = of_.blocks(windows_) * teams;
    function_.Loop(b_.CreateMul(function_.begin(), Int(teams)), Int(of_.elements), step,
                   [&](Value* first) { AddChunks(first, team, teams, lane, lanes); });
  });
}

// The keys of all elements by chunk, then their sums.
Value* GpuScatterKernel::KeyOfChunk(Value* at) {
  return b_.CreateGEP(b_.getInt32Ty(), function_.scratch(), at);
}
Value* GpuScatterKernel::SumOfChunk(Value* at) {
  Value* sums =
      b_.CreateConstGEP1_64(b_.getInt8Ty(), function_.scratch(),
                            static_cast<uint64_t>((of_.chunks * of_.elements * 4 + 7) / 8 * 8));
  return b_.CreateGEP(b_.getInt64Ty(), sums, at);
}

void GpuScatterKernel::SumChunk() {
  Value* keys = block_.Shared(b_.getInt32Ty(), of_.range);
  Value* sums = block_.Shared(b_.getInt64Ty(), of_.range);
  Value* first = b_.CreateMul(b_.CreateURem(function_.begin(), Int(of_.ranges)), Int(of_.range));
  Value* chunk = b_.CreateUDiv(function_.begin(), Int(of_.ranges));
  Value* own = function_.Smaller(Int(of_.range), b_.CreateSub(Int(of_.elements), first));
  function_.Loop(function_.thread(), Int(of_.range), of_.threads, [&](Value* i) {
    block_.Save(b_.getInt32(kNothing), keys, i);
    block_.Save(b_.getInt64(0), sums, i);
  });
  block_.Barrier();
  const int64_t of_chunk = (of_.units() - 1) / of_.chunks + 1;
  Value* from = b_.CreateMul(chunk, Int(of_chunk));
  Value* to = function_.Smaller(b_.CreateAdd(from, Int(of_chunk)), Int(of_.units()));
  const auto for_own = [&](const std::function<void(Value * bits, Value * place)>& body) {
    function_.Loop(b_.CreateAdd(from, function_.thread()), to, of_.threads, [&](Value* unit) {
      const auto [at, fits] = PlaceOfUnit(unit);
      Value* place = b_.CreateSub(at, first);
      block_.When(Both(math_, b_.CreateICmpULT(place, own), fits),
                  [&] { body(b_.CreateBitCast(UpdatesOfUnit(unit)[0], b_.getInt32Ty()), place); });
    });
  };
  for_own([&](Value* bits, Value* place) {
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::UMax, b_.CreateGEP(b_.getInt32Ty(), keys, place),
                       KeyOf(bits), {}, llvm::AtomicOrdering::Monotonic);
  });
  block_.Barrier();
  for_own([&](Value* bits, Value* place) {
    Value* key = block_.Load(b_.getInt32Ty(), keys, place);
    Value* is_finite = b_.CreateICmpNE(key, b_.getInt32(kNonFinite));
    Value* address = b_.CreateGEP(b_.getInt64Ty(), sums, place);
    block_.When(is_finite, [&] {
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, Multiple(bits, key, PointOf(of_chunk)),
                         {}, llvm::AtomicOrdering::Monotonic);
    });
    block_.When(b_.CreateNot(is_finite), [&] {
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, address, NonFinite(bits), {},
                         llvm::AtomicOrdering::Monotonic);
    });
  });
  block_.Barrier();
  Value* begin = b_.CreateAdd(b_.CreateMul(chunk, Int(of_.elements)), first);
  function_.Loop(function_.thread(), own, of_.threads, [&](Value* i) {
    Value* at = b_.CreateAdd(begin, i);
    b_.CreateStore(block_.Load(b_.getInt32Ty(), keys, i), KeyOfChunk(at));
    b_.CreateStore(block_.Load(b_.getInt64Ty(), sums, i), SumOfChunk(at));
  });
}

Value* GpuScatterKernel::KeyOf(Value* bits) {
  Value* size = b_.CreateAnd(bits, b_.getInt32(0x7fffffff));
  Value* exponent = b_.CreateLShr(size, kMantissaBits);
  Value* key = b_.CreateAdd(Call(b_, llvm::Intrinsic::umax, {exponent, b_.getInt32(1)}),
                            b_.getInt32(kZeros));
  Value* is_negative = b_.CreateICmpSLT(bits, b_.getInt32(0));
  Value* zero = b_.CreateSelect(is_negative, b_.getInt32(kMinusZeros), b_.getInt32(kZeros));
  return b_.CreateSelect(b_.CreateICmpEQ(size, b_.getInt32(0)), zero, key);
}

// A finite number in units of 2^-point of the largest one's power of two, rounded to the nearest.
Value* GpuScatterKernel::Multiple(Value* bits, Value* key, int64_t point) {
  Value* size = b_.CreateAnd(bits, b_.getInt32(0x7fffffff));
  Value* exponent = b_.CreateLShr(size, kMantissaBits);
  Value* mantissa = b_.CreateAnd(size, b_.getInt32((1 << kMantissaBits) - 1));
  Value* is_normal = b_.CreateICmpNE(exponent, b_.getInt32(0));
  mantissa = b_.CreateOr(
      mantissa, b_.CreateSelect(is_normal, b_.getInt32(1 << kMantissaBits), b_.getInt32(0)));
  exponent = Call(b_, llvm::Intrinsic::umax, {exponent, b_.getInt32(1)});
  Value* below = b_.CreateSub(b_.CreateSub(key, b_.getInt32(kZeros)), exponent);
  // Of zeros alone the difference is no number, and there is nothing to move.
  const auto most = static_cast<uint32_t>(point) - kMantissaBits;
  Value* is_up = b_.CreateICmpULE(below, b_.getInt32(static_cast<uint32_t>(most)));
  Value* wide = b_.CreateZExt(mantissa, b_.getInt64Ty());
  const auto within = [&](Value* shift, uint64_t limit) {
    shift = b_.CreateZExt(shift, b_.getInt64Ty());
    return Call(b_, llvm::Intrinsic::umin, {shift, b_.getInt64(limit)});
  };
  Value* up = b_.CreateShl(
      wide, within(b_.CreateSub(b_.getInt32(static_cast<uint32_t>(most)), below), most));
  constexpr uint64_t kAll = 40;  // bits that leave nothing of a mantissa
  Value* down = within(b_.CreateSub(below, b_.getInt32(static_cast<uint32_t>(most))), kAll);
  Value* half = b_.CreateLShr(b_.CreateShl(b_.getInt64(1), down), 1);
  Value* rounded = b_.CreateLShr(b_.CreateAdd(wide, half), down);
  Value* whole = b_.CreateSelect(is_up, up, rounded);
  Value* is_negative = b_.CreateICmpSLT(bits, b_.getInt32(0));
  return b_.CreateSelect(is_negative, b_.CreateNeg(whole), whole);
}

// What a number leaves in a sum that is not finite: nothing where it is finite itself.
Value* GpuScatterKernel::NonFinite(Value* bits) {
  Value* size = b_.CreateAnd(bits, b_.getInt32(0x7fffffff));
  Value* infinity = b_.getInt32(0x7f800000);
  Value* is_negative = b_.CreateICmpSLT(bits, b_.getInt32(0));
  Value* of_infinity =
      b_.CreateSelect(is_negative, b_.getInt64(kMinusInfinity), b_.getInt64(kInfinity));
  return b_.CreateSelect(
      b_.CreateICmpUGT(size, infinity), b_.getInt64(kNan),
      b_.CreateSelect(b_.CreateICmpEQ(size, infinity), of_infinity, b_.getInt64(0)));
}

// Adds up the chunks of element first + team, by the team's lanes.
void GpuScatterKernel::AddChunks(Value* first, Value* team, int64_t teams, Value* lane,
                                 int64_t lanes) {
  Value* element = b_.CreateAdd(first, team);
  Value* is_one = b_.CreateICmpSLT(element, Int(of_.elements));
  Value* own = function_.Smaller(element, Int(of_.elements - 1));
  const int64_t of_chunk = (of_.units() - 1) / of_.chunks + 1;
  const auto larger = [&](Value* a, Value* b) { return Call(b_, llvm::Intrinsic::umax, {a, b}); };
  llvm::Type* real = b_.getDoubleTy();
  const GpuBlock::Values start = {llvm::ConstantFP::get(real, 0.0), b_.getInt32(kNothing),
                                  b_.getInt64(0)};
  const auto combine = [&](const GpuBlock::Values& x, const GpuBlock::Values& y) {
    return GpuBlock::Values{b_.CreateFAdd(x[0], y[0]), larger(x[1], y[1]), b_.CreateOr(x[2], y[2])};
  };
  const GpuBlock::Values of_lane = function_.Loop(
      lane, Int(of_.chunks), lanes, start, [&](Value* chunk, const GpuBlock::Values& so_far) {
        Value* at = b_.CreateAdd(b_.CreateMul(chunk, Int(of_.elements)), own);
        Value* key = b_.CreateLoad(b_.getInt32Ty(), KeyOfChunk(at));
        Value* sum = b_.CreateLoad(b_.getInt64Ty(), SumOfChunk(at));
        Value* is_finite = b_.CreateICmpNE(key, b_.getInt32(kNonFinite));
        // 2^(exponent - kBias - point)
        Value* exponent = b_.CreateZExt(larger(key, b_.getInt32(kZeros + 1)), b_.getInt64Ty());
        const int64_t bias = static_cast<int64_t>(kBiasOfDouble - kBias - kZeros);
        Value* scale = b_.CreateBitCast(
            b_.CreateShl(b_.CreateAdd(exponent, Int(bias - PointOf(of_chunk))), kMantissaOfDouble),
            real);
        Value* number = b_.CreateFMul(b_.CreateSIToFP(sum, real), scale);
        return combine(so_far, {b_.CreateSelect(is_finite, number, start[0]), key,
                                b_.CreateSelect(is_finite, b_.getInt64(0), sum)});
      });
  const GpuBlock::Values all = block_.Combined(of_lane, lanes, team, teams, combine);
  Value* is_changed = b_.CreateICmpNE(all[1], b_.getInt32(kNothing));
  Value* is_first = b_.CreateICmpEQ(lane, Int(0));
  block_.When(b_.CreateAnd(b_.CreateAnd(is_one, is_first), is_changed), [&] {
    Value* before = Load(own)[0];
    Value* sum = b_.CreateFAdd(all[0], b_.CreateFPExt(before, real));
    Value* result = b_.CreateFPTrunc(sum, b_.getFloatTy());
    const auto plus = [&](double number) {
      return b_.CreateFAdd(before, llvm::ConstantFP::get(b_.getFloatTy(), number));
    };
    const auto has = [&](uint64_t flags) {
      return b_.CreateICmpEQ(b_.CreateAnd(all[2], b_.getInt64(flags)), b_.getInt64(flags));
    };
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    Value* of_non_finite = b_.CreateSelect(has(kInfinity), plus(kInfinite), plus(-kInfinite));
    of_non_finite = b_.CreateSelect(b_.CreateOr(has(kNan), has(kInfinity | kMinusInfinity)),
                                    llvm::ConstantFP::getNaN(b_.getFloatTy()), of_non_finite);
    result = b_.CreateSelect(b_.CreateICmpEQ(all[1], b_.getInt32(kMinusZeros)), plus(-0.0), result);
    result =
        b_.CreateSelect(b_.CreateICmpEQ(all[1], b_.getInt32(kNonFinite)), of_non_finite, result);
    Store({result}, own);
  });
}

}  // namespace hloscope::codegen
