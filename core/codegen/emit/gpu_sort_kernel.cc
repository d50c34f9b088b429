// Sorts on a GPU: a network that compares and exchanges places of elements; short lines a thread
// sorts by itself. A launch is one layer of the network, or all that follow one another and stay
// inside pieces of a line, whose places lie in memory that a block shares; whatever the comparator
// says, the places stay a permutation.
#include <bit>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/math/device_loops.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Up to here a thread sorts a line, as std::sort does: it shows where a comparator is no order.
constexpr int64_t kShort = 16;
constexpr int64_t kLongest = int64_t{1} << 31, kPlaceBytes = 4;
// Elements of a piece of a line; a thread has two of them.
constexpr int64_t kLongPiece = 1024, kShortPiece = 64;
// Passes that are no layer: runs of up to a piece are made, runs of so many times a piece are
// finished, elements are put where they belong.
constexpr int64_t kLayersAt = 40, kMostLayers = 3;  // a bit of a pass; how many layers more
constexpr size_t kFewInstructions = 12;             // of comparators that may stand there often
constexpr int64_t kRuns = 0, kFinish = -1, kGather = -2;

// The layers of a bitonic network all of whose exchanges put the smaller element first: element i
// meets element i ^ mask. Such a network sorts any number of elements: those behind the last stand
// for larger ones (Batcher 1968; Knuth, The Art of Computer Programming 3, 5.3.4).
std::vector<int64_t> Passes(int64_t length, int64_t piece, int64_t most) {
  std::vector<int64_t> passes = {kRuns};
  for (int64_t run = 2 * piece; run < 2 * length; run *= 2) {
    passes.push_back(run - 1);
    // Of three layers or two a thread has all elements that meet; else a pair of each.
    for (int64_t mask = run / 4; mask >= piece;) {
      int64_t layers = 1;
      while (layers < most && mask >> layers >= piece) ++layers;
      passes.push_back(mask | ((layers - 1) << kLayersAt));
      mask >>= layers;
    }
    passes.push_back(kFinish);
  }
  passes.push_back(kGather);
  return passes;
}

class GpuSortKernel {
 public:
  GpuSortKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        sort_(kernel.roots[0]),
        operands_(kernel.module.operands(sort_)),
        length_(LengthOf(kernel)),
        piece_(std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length_))),
                          kShortPiece, kLongPiece)),
        function_(module, kernel, name, -1, IsShort() ? 1 : piece_ / 2),
        block_(function_),
        b_(function_.builder()) {
    const auto sizes = kernel.module.shape(operands_[0]).dimensions();
    const auto dimension = static_cast<size_t>(
        kernel.module.GetInts(kernel.module[sort_], AttributeKey::kDimensions)[0]);
    stride_ = ProductOf(sizes.subspan(dimension + 1));
    count_ = ProductOf(sizes);
    for (const InstructionId operand : operands_) {
      arrays_.push_back(function_.Arrays().at(operand.index).address);
    }
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t lines = count_ / length_, pieces = (length_ - 1) / piece_ + 1;
    const int64_t units = IsShort() ? lines : lines * pieces;
    EmittedKernel out =
        InGrains(name, units, 1, BytesPerElement(kernel_, count_), operands_.size());
    out.code.scratch_bytes = count_ * kPlaceBytes;
    if (IsShort()) {
      function_.ForUnits(units, 1, [&](Value* line) { ShortLine(line); });
    } else {
      out.block = piece_ / 2;
      out.passes = Passes(length_, piece_, MostLayers());
      line_ = b_.CreateUDiv(function_.begin(), Int(pieces));
      Piece(b_.CreateMul(b_.CreateURem(function_.begin(), Int(pieces)), Int(piece_)));
    }
    function_.Finish();
    out.is_complete = !has_failed_ && length_ < kLongest;
    return out;
  }

 private:
  static int64_t LengthOf(const Kernel& kernel) {
    const InstructionId sort = kernel.roots[0];
    const auto sizes = kernel.module.shape(kernel.module.operands(sort)[0]).dimensions();
    return sizes[static_cast<size_t>(
        kernel.module.GetInts(kernel.module[sort], AttributeKey::kDimensions)[0])];
  }
  bool IsShort() const { return length_ <= kShort; }
  Value* Int(int64_t value) { return function_.Int(value); }
  ElementType TypeOf(size_t k) const { return kernel_.module.shape(operands_[k]).element_type(); }

  // What a block does in a pass with the piece of its line from `first` on.
  void Piece(Value* first) {
    Value* pass = function_.pass();
    Value* thread = function_.thread();
    const auto both = [&](const auto& body) {
      for (int64_t k = 0; k < 2; ++k) {
        Value* i = b_.CreateAdd(first, b_.CreateAdd(thread, Int(k * piece_ / 2)));
        When(b_.CreateICmpSLT(i, Int(length_)), [&] { body(i); });
      }
    };
    When(b_.CreateICmpEQ(pass, Int(kGather)), [&] { both([&](Value* i) { Gather(i); }); });
    Value* more = b_.CreateAShr(pass, kLayersAt);
    for (int64_t layers = 2; layers <= MostLayers(); ++layers) {
      When(b_.CreateICmpEQ(more, Int(layers - 1)), [&] {
        Value* mask = b_.CreateAnd(pass, Int((int64_t{1} << kLayersAt) - 1));
        Value* number = b_.CreateAdd(b_.CreateUDiv(first, Int(2)), thread);
        Layers(layers, mask, number);
      });
    }
    When(b_.CreateAnd(b_.CreateICmpSGT(pass, Int(kRuns)), b_.CreateICmpEQ(more, Int(0))), [&] {
      both([&](Value* i) {
        Value* other = b_.CreateXor(i, pass);
        When(b_.CreateICmpSGT(other, i), [&] { MeetIn(nullptr, i, other, Int(length_)); });
      });
    });
    Value* is_runs = b_.CreateICmpEQ(pass, Int(kRuns));
    When(b_.CreateOr(is_runs, b_.CreateICmpEQ(pass, Int(kFinish))), [&] {
      Value* places = block_.Shared(b_.getInt32Ty(), piece_);
      Value* inside = function_.Smaller(Int(piece_), b_.CreateSub(Int(length_), first));
      both([&](Value* i) {
        Value* place = b_.CreateSelect(is_runs, i, Int(0));
        When(b_.CreateNot(is_runs),
             [&] { block_.Save(Narrow(LoadPlace(i)), places, b_.CreateSub(i, first)); });
        When(is_runs, [&] { block_.Save(Narrow(place), places, b_.CreateSub(i, first)); });
      });
      const auto layers = [&](Value* from, Value* run_bits, bool is_first_mirrored) {
        // Bits from `from` down to 0; the first layer of a run mirrors it.
        While(
            b_, {from},
            [&](const std::vector<Value*>& v) { return b_.CreateICmpSGE(v[0], Int(0)); },
            [&](const std::vector<Value*>& v) -> std::vector<Value*> {
              block_.Barrier();
              Value* i = WithZero(thread, v[0]);
              Value* mask = b_.CreateShl(Int(1), v[0]);
              if (is_first_mirrored) {
                Value* whole = b_.CreateSub(b_.CreateShl(mask, 1), Int(1));
                mask = b_.CreateSelect(b_.CreateICmpEQ(v[0], run_bits), whole, mask);
              }
              MeetIn(places, i, b_.CreateXor(i, mask), inside, first);
              return {b_.CreateSub(v[0], Int(1))};
            });
      };
      const int64_t bits = std::bit_width(static_cast<uint64_t>(piece_)) - 1;
      Value* runs = b_.CreateSelect(is_runs, Int(bits), Int(0));
      function_.Loop(Int(0), runs, 1, [&](Value* bit) { layers(bit, bit, true); });
      layers(b_.CreateSelect(is_runs, Int(-1), Int(bits - 1)), nullptr, false);
      block_.Barrier();
      both([&](Value* i) {
        StorePlace(i, block_.Load(b_.getInt32Ty(), places, b_.CreateSub(i, first)));
      });
    });
  }

  int64_t MostLayers() const {
    const auto applied =
        kernel_.module.GetComputation(kernel_.module[sort_], AttributeKey::kToApply);
    return kernel_.module[applied].instruction_count <= kFewInstructions ? kMostLayers : 1;
  }

  // The layers of a mask and those below it, for the elements whose numbers differ in these bits
  // alone from `number`, put around them.
  void Layers(int64_t layers, Value* mask, Value* number) {
    Value* step = b_.CreateLShr(mask, static_cast<uint64_t>(layers - 1));
    Value* low = b_.CreateAnd(number, b_.CreateSub(step, Int(1)));
    Value* start =
        b_.CreateOr(b_.CreateShl(b_.CreateSub(number, low), static_cast<uint64_t>(layers)), low);
    When(b_.CreateICmpSLT(start, Int(length_)), [&] {
      const int64_t count = int64_t{1} << layers;
      std::vector<Value*> at, is_there, places;
      for (int64_t k = 0; k < count; ++k) {
        at.push_back(b_.CreateAdd(start, b_.CreateMul(step, Int(k))));
        is_there.push_back(b_.CreateICmpSLT(at.back(), Int(length_)));
        places.push_back(LoadPlace(b_.CreateSelect(is_there.back(), at.back(), start)));
      }
      for (int64_t apart = count / 2; apart > 0; apart /= 2) {
        for (int64_t k = 0; k < count; ++k) {
          if ((k & apart) != 0) continue;
          Value*& a = places[static_cast<size_t>(k)];
          Value*& c = places[static_cast<size_t>(k + apart)];
          Value* is_turned = b_.CreateAnd(is_there[static_cast<size_t>(k + apart)], IsBehind(a, c));
          Value* least = b_.CreateSelect(is_turned, c, a);
          c = b_.CreateSelect(is_turned, a, c);
          a = least;
        }
      }
      for (size_t k = 0; k < places.size(); ++k) {
        When(is_there[k], [&] { StorePlace(at[k], Narrow(places[k])); });
      }
    });
  }

  // Whether element a comes behind element c; of equal ones the one that came first stays first.
  Value* IsBehind(Value* a, Value* c) {
    Value* is_tie = b_.CreateAnd(b_.CreateNot(Less(a, c)), b_.CreateICmpSLT(c, a));
    return b_.CreateOr(Less(c, a), is_tie);
  }

  // A number's bits with a 0 among them, at that place.
  Value* WithZero(Value* number, Value* bit) {
    Value* low = b_.CreateAnd(number, b_.CreateSub(b_.CreateShl(Int(1), bit), Int(1)));
    return b_.CreateOr(b_.CreateShl(b_.CreateSub(number, low), 1), low);
  }

  void Gather(Value* i) {
    Value* from = AddressOf(LoadPlace(i));
    for (size_t k = 0; k < operands_.size(); ++k) {
      function_.Store(Load(k, from), TypeOf(k), function_.result(k), AddressOf(i), 1);
    }
  }

  // By insertion, from the second on: to the front where it is less than the first, else behind
  // the last that it is not less than.
  void ShortLine(Value* line) {
    line_ = line;
    function_.Loop(Int(0), Int(length_), 1, [&](Value* i) { StorePlace(i, Narrow(i)); });
    function_.Loop(Int(1), Int(length_), 1, [&](Value* i) {
      Value* is_front = Less(i, LoadPlace(Int(0)));
      const auto at = While(
          b_, {i},
          [&](const std::vector<Value*>& j) -> Value* {
            Value* before =
                LoadPlace(Call(b_, llvm::Intrinsic::smax, {b_.CreateSub(j[0], Int(1)), Int(0)}));
            Value* moves = b_.CreateOr(is_front, Less(i, before));
            return b_.CreateAnd(b_.CreateICmpSGT(j[0], Int(0)), moves);
          },
          [&](const std::vector<Value*>& j) -> std::vector<Value*> {
            Value* before = b_.CreateSub(j[0], Int(1));
            StorePlace(j[0], Narrow(LoadPlace(before)));
            return {before};
          });
      StorePlace(at[0], Narrow(i));
    });
    function_.Loop(Int(0), Int(length_), 1, [&](Value* i) { Gather(i); });
  }

  // Elements i < other below `end` meet, by their places in the scratch, or in memory that the
  // block shares, which has those from `first` on.
  void MeetIn(Value* places, Value* i, Value* other, Value* end, Value* first = nullptr) {
    const auto load = [&](Value* at) {
      if (first == nullptr) return LoadPlace(at);
      return static_cast<Value*>(
          b_.CreateZExt(block_.Load(b_.getInt32Ty(), places, at), b_.getInt64Ty()));
    };
    const auto save = [&](Value* at, Value* place) {
      if (first == nullptr) return StorePlace(at, Narrow(place));
      block_.Save(Narrow(place), places, at);
    };
    When(b_.CreateICmpSLT(other, end), [&] {
      Value* a = load(i);
      Value* c = load(other);
      When(IsBehind(a, c), [&] {
        save(i, c);
        save(other, a);
      });
    });
  }

  template <typename Body>
  void When(Value* condition, const Body& body) {
    function_.Loop(Int(0), b_.CreateZExt(condition, b_.getInt64Ty()), 1, [&](Value*) { body(); });
  }

  Value* Narrow(Value* place) { return b_.CreateTrunc(place, b_.getInt32Ty()); }
  Value* PlaceAt(Value* i) {
    Value* at = b_.CreateAdd(b_.CreateMul(line_, Int(length_)), i);
    return b_.CreateGEP(b_.getInt32Ty(), function_.scratch(), at);
  }
  void StorePlace(Value* i, Value* place) {
    b_.CreateAlignedStore(place, PlaceAt(i), llvm::Align(kPlaceBytes));
  }
  Value* LoadPlace(Value* i) {
    Value* place = b_.CreateAlignedLoad(b_.getInt32Ty(), PlaceAt(i), llvm::Align(kPlaceBytes));
    return b_.CreateZExt(place, b_.getInt64Ty());
  }

  // Where element i of the line lies in the arrays.
  Value* AddressOf(Value* i) {
    Value* outer = b_.CreateMul(b_.CreateUDiv(line_, Int(stride_)), Int(length_ * stride_));
    Value* inner = b_.CreateURem(line_, Int(stride_));
    return b_.CreateAdd(b_.CreateAdd(outer, inner), b_.CreateMul(i, Int(stride_)));
  }
  Value* Load(size_t k, Value* address) {
    llvm::Type* type = MemoryType(b_, TypeOf(k));
    Value* at = b_.CreateGEP(type, arrays_[k], address);
    const auto align = llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(TypeOf(k))));
    return FromMemory(b_, b_.CreateAlignedLoad(type, at, align), TypeOf(k));
  }

  Value* Less(Value* left, Value* right) {
    std::vector<Value*> arguments;
    for (size_t k = 0; k < operands_.size(); ++k) {
      arguments.push_back(Load(k, AddressOf(left)));
      arguments.push_back(Load(k, AddressOf(right)));
    }
    const auto comparator =
        kernel_.module.GetComputation(kernel_.module[sort_], AttributeKey::kToApply);
    const auto results = Applied(b_, kernel_.module, comparator, arguments);
    has_failed_ |= results.empty();
    return results.empty() ? b_.getFalse() : results[0];
  }

  const Kernel& kernel_;
  InstructionId sort_;
  std::span<const InstructionId> operands_;
  int64_t length_, piece_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  int64_t stride_ = 1, count_ = 1;
  std::vector<Value*> arrays_;  // by operand
  Value* line_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitGpuSort(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuSortKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
