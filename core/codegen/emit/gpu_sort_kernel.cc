// Sorts on a GPU: a network that compares and exchanges elements; short lines a thread sorts by
// itself. An element is its place and, where they are small, its values, which lie in the results
// meanwhile. A launch is one layer of the network; or some that follow one another, for which a
// thread has all elements that meet; or all that stay inside pieces of a line, which lie in memory
// that a block shares. Whatever the comparator says, the places stay a permutation.
#include <bit>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/math/control_flow.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Up to here a thread sorts a line, as std::sort does: it shows where a comparator is no order.
constexpr int64_t kShort = 16;
constexpr int64_t kLongest = int64_t{1} << 31, kPlaceBytes = 4;
// Elements of a piece of a line; a thread has two of them, or more of a long one.
constexpr int64_t kLongPiece = 2048, kShortPiece = 64, kMaxSortThreads = 384;
// Passes that are no layer: runs of up to a piece are made, runs of so many times a piece are
// finished, elements are put where they belong.
constexpr int64_t kLayersAt = 40, kMaxLayers = 3;  // a bit of a pass; how many layers more
constexpr int64_t kSortRegisters = 168;            // of a thread; 170 are there for kMaxSortThreads
constexpr int64_t kMaxMoved = 16;                  // bytes of an element's values
constexpr size_t kShortComparator = 40;            // of comparators that may stand there often
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
  return passes;
}

class GpuSortKernel {
 public:
  GpuSortKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        sort_(kernel.roots[0]),
        operands_(kernel.module.operands(sort_)),
        length_(LengthOf(kernel)),
        piece_(std::clamp(PowerOfTwoFrom(length_), kShortPiece, kLongPiece)),
        function_(module, kernel, name, -1, IsShort() ? 1 : Threads()),
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
    int64_t bytes = 0;
    for (size_t k = 0; k < operands_.size(); ++k) bytes += hlo::StorageBytes(TypeOf(k));
    are_moved_ = bytes <= kMaxMoved && !IsShort();
    function_.AllowRegisters(kSortRegisters);
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
      out.block = Threads();
      out.passes = Passes(length_, piece_, MostLayers());
      if (!are_moved_) out.passes.push_back(kGather);
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
  int64_t Threads() const { return std::min(kMaxSortThreads, piece_ / 2); }
  bool IsShort() const { return length_ <= kShort; }
  Value* Int(int64_t value) { return function_.Int(value); }
  ElementType TypeOf(size_t k) const { return kernel_.module.shape(operands_[k]).element_type(); }

  // ---- Elements: values, where they are moved, and the place.

  using Element = std::vector<Value*>;

  Element Load(Value* i) {
    Element out;
    for (size_t k = 0; are_moved_ && k < operands_.size(); ++k) {
      out.push_back(LoadFrom(function_.result(k), k, AddressOf(i)));
    }
    out.push_back(LoadPlace(i));
    return out;
  }
  // As it is before any is moved.
  Element LoadFirst(Value* i) {
    Element out;
    for (size_t k = 0; are_moved_ && k < operands_.size(); ++k) {
      out.push_back(LoadFrom(arrays_[k], k, AddressOf(i)));
    }
    out.push_back(i);
    return out;
  }
  void Store(const Element& element, Value* i) {
    for (size_t k = 0; k + 1 < element.size(); ++k) {
      function_.Store(element[k], TypeOf(k), function_.result(k), AddressOf(i), 1);
    }
    StorePlace(i, Narrow(element.back()));
  }

  // The same in memory that the block shares.
  struct Rooms {
    std::vector<Value*> rooms;
    std::vector<llvm::Type*> types;
  };
  Rooms MakeRooms() {
    Rooms out;
    for (size_t k = 0; are_moved_ && k < operands_.size(); ++k) {
      out.types.push_back(RegisterType(b_, TypeOf(k)));
    }
    out.types.push_back(b_.getInt32Ty());
    for (llvm::Type* type : out.types) out.rooms.push_back(block_.Shared(type, piece_));
    return out;
  }
  void Save(const Element& element, const Rooms& rooms, Value* at) {
    for (size_t k = 0; k < element.size(); ++k) {
      const bool is_place = k + 1 == element.size();
      block_.Save(is_place ? Narrow(element[k]) : element[k], rooms.rooms[k], at);
    }
  }
  Element Take(const Rooms& rooms, Value* at) {
    Element out;
    for (size_t k = 0; k < rooms.rooms.size(); ++k) {
      out.push_back(block_.Load(rooms.types[k], rooms.rooms[k], at));
    }
    out.back() = b_.CreateZExt(out.back(), b_.getInt64Ty());
    return out;
  }

  // Whether element a comes behind element c; of equal ones the one that came first stays first.
  Value* IsBehind(const Element& a, const Element& c) {
    Value* is_tie = b_.CreateAnd(b_.CreateNot(Less(a, c)), b_.CreateICmpSLT(c.back(), a.back()));
    return b_.CreateOr(Less(c, a), is_tie);
  }

  // ---- Passes: what a block does in each with the piece of its line from `first` on.

  void Piece(Value* first) {
    Value* pass = function_.pass();
    const auto each = [&](const auto& body) {
      Value* end = function_.Smaller(b_.CreateAdd(first, Int(piece_)), Int(length_));
      function_.Loop(b_.CreateAdd(first, function_.thread()), end, Threads(), body);
    };
    if (!are_moved_) {
      When(b_.CreateICmpEQ(pass, Int(kGather)), [&] { each([&](Value* i) { Gather(i); }); });
    }
    Value* more = b_.CreateAShr(pass, kLayersAt);
    for (int64_t layers = 2; layers <= MostLayers(); ++layers) {
      When(b_.CreateICmpEQ(more, Int(layers - 1)), [&] {
        Value* mask = b_.CreateAnd(pass, Int((int64_t{1} << kLayersAt) - 1));
        Value* half = b_.CreateUDiv(first, Int(2));
        function_.Loop(function_.thread(), Int(piece_ / 2), Threads(),
                       [&](Value* k) { Layers(layers, mask, b_.CreateAdd(half, k)); });
      });
    }
    When(b_.CreateAnd(b_.CreateICmpSGT(pass, Int(kRuns)), b_.CreateICmpEQ(more, Int(0))), [&] {
      each([&](Value* i) {
        Value* other = b_.CreateXor(i, pass);
        Value* is_pair =
            b_.CreateAnd(b_.CreateICmpSGT(other, i), b_.CreateICmpSLT(other, Int(length_)));
        When(is_pair, [&] {
          const Element a = Load(i), c = Load(other);
          When(IsBehind(a, c), [&] {
            Store(c, i);
            Store(a, other);
          });
        });
      });
    });
    Value* is_runs = b_.CreateICmpEQ(pass, Int(kRuns));
    When(b_.CreateOr(is_runs, b_.CreateICmpEQ(pass, Int(kFinish))), [&] {
      const Rooms rooms = MakeRooms();
      const auto in = [&](Value* i) { return b_.CreateSub(i, first); };
      each([&](Value* i) {
        When(is_runs, [&] { Save(LoadFirst(i), rooms, in(i)); });
        When(b_.CreateNot(is_runs), [&] { Save(Load(i), rooms, in(i)); });
      });
      Inside(rooms, function_.Smaller(Int(piece_), b_.CreateSub(Int(length_), first)), is_runs);
      each([&](Value* i) { Store(Take(rooms, in(i)), i); });
    });
  }

  // The layers inside a piece of `count` elements: all of its runs, or those that finish one.
  void Inside(const Rooms& rooms, Value* count, Value* is_runs) {
    // Bits from `from` down to 0; the first layer of a run, where `mirrored` is its bit, mirrors
    // it.
    const auto layers = [&](Value* from, Value* mirrored) {
      While(
          b_, {from}, [&](const std::vector<Value*>& v) { return b_.CreateICmpSGE(v[0], Int(0)); },
          [&](const std::vector<Value*>& v) -> std::vector<Value*> {
            block_.Barrier();
            Value* mask = b_.CreateShl(Int(1), v[0]);
            Value* whole = b_.CreateSub(b_.CreateShl(mask, 1), Int(1));
            mask = b_.CreateSelect(b_.CreateICmpEQ(v[0], mirrored), whole, mask);
            function_.Loop(function_.thread(), Int(piece_ / 2), Threads(), [&](Value* number) {
              Value* i = WithZero(number, v[0]);
              Value* other = b_.CreateXor(i, mask);
              When(b_.CreateICmpSLT(other, count), [&] {
                const Element a = Take(rooms, i), c = Take(rooms, other);
                When(IsBehind(a, c), [&] {
                  Save(c, rooms, i);
                  Save(a, rooms, other);
                });
              });
            });
            return {b_.CreateSub(v[0], Int(1))};
          });
    };
    const int64_t bits = std::bit_width(static_cast<uint64_t>(piece_)) - 1;
    function_.Loop(Int(0), b_.CreateSelect(is_runs, Int(bits), Int(0)), 1,
                   [&](Value* bit) { layers(bit, bit); });
    layers(b_.CreateSelect(is_runs, Int(-1), Int(bits - 1)), Int(-1));
    block_.Barrier();
  }

  int64_t MostLayers() const {
    const auto applied =
        kernel_.module.GetComputation(kernel_.module[sort_], AttributeKey::kToApply);
    return kernel_.module[applied].instruction_count <= kShortComparator ? kMaxLayers : 1;
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
      std::vector<Value*> at, is_there;
      std::vector<Element> elements;
      for (int64_t k = 0; k < count; ++k) {
        at.push_back(b_.CreateAdd(start, b_.CreateMul(step, Int(k))));
        is_there.push_back(b_.CreateICmpSLT(at.back(), Int(length_)));
        elements.push_back(Load(b_.CreateSelect(is_there.back(), at.back(), start)));
      }
      for (int64_t apart = count / 2; apart > 0; apart /= 2) {
        for (int64_t k = 0; k < count; ++k) {
          if ((k & apart) != 0) continue;
          Element& a = elements[static_cast<size_t>(k)];
          Element& c = elements[static_cast<size_t>(k + apart)];
          Value* is_turned = b_.CreateAnd(is_there[static_cast<size_t>(k + apart)], IsBehind(a, c));
          for (size_t part = 0; part < a.size(); ++part) {
            Value* least = b_.CreateSelect(is_turned, c[part], a[part]);
            c[part] = b_.CreateSelect(is_turned, a[part], c[part]);
            a[part] = least;
          }
        }
      }
      for (size_t k = 0; k < elements.size(); ++k) {
        When(is_there[k], [&] { Store(elements[k], at[k]); });
      }
    });
  }

  // A number's bits with a 0 among them, at that place.
  Value* WithZero(Value* number, Value* bit) {
    Value* low = b_.CreateAnd(number, b_.CreateSub(b_.CreateShl(Int(1), bit), Int(1)));
    return b_.CreateOr(b_.CreateShl(b_.CreateSub(number, low), 1), low);
  }

  void Gather(Value* i) {
    Value* from = AddressOf(LoadPlace(i));
    for (size_t k = 0; k < operands_.size(); ++k) {
      function_.Store(LoadFrom(arrays_[k], k, from), TypeOf(k), function_.result(k), AddressOf(i),
                      1);
    }
  }

  // By insertion, from the second on: to the front where it is less than the first, else behind
  // the last that it is not less than.
  void ShortLine(Value* line) {
    line_ = line;
    function_.Loop(Int(0), Int(length_), 1, [&](Value* i) { StorePlace(i, Narrow(i)); });
    function_.Loop(Int(1), Int(length_), 1, [&](Value* i) {
      Value* is_front = Less({i}, {LoadPlace(Int(0))});
      const auto at = While(
          b_, {i},
          [&](const std::vector<Value*>& j) -> Value* {
            Value* before =
                LoadPlace(Call(b_, llvm::Intrinsic::smax, {b_.CreateSub(j[0], Int(1)), Int(0)}));
            Value* moves = b_.CreateOr(is_front, Less({i}, {before}));
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
  Value* LoadFrom(Value* array, size_t k, Value* at) {
    return function_.Load(TypeOf(k), array, at, 1);
  }

  Value* Less(const Element& left, const Element& right) {
    std::vector<Value*> arguments;
    for (size_t k = 0; k < operands_.size(); ++k) {
      for (const Element* each : {&left, &right}) {
        arguments.push_back(are_moved_ ? (*each)[k]
                                       : LoadFrom(arrays_[k], k, AddressOf(each->back())));
      }
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
  bool are_moved_ = false;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitGpuSort(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuSortKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
